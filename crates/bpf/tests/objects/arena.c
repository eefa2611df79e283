/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* An arena: lists of the program's own making, in memory that user space sees as well. */
#include "lab.h"

struct { __uint(type, MAP_ARENA); __uint(map_flags, 1 << 10); __uint(max_entries, 16); } arena SEC(".maps");

struct cell {
	struct cell __arena *next;
	u64 value;
};

u64 __arena in_arena = 40;
struct cell __arena *first;

SEC("syscall")
u64 build(void *ctx)
{
	struct cell __arena *page = bpf_arena_alloc_pages(&arena, NULL, 1, -1, 0);

	if (!page)
		return 1;
	for (int i = 0; i < 10; i++) {
		struct cell __arena *c = &page[i];

		c->value = i;
		c->next = first;
		first = c;
	}
	u64 sum = 0;
	for (struct cell __arena *c = first; c; c = c->next)
		sum = sum * 2 + c->value;
	in_arena += 2;
	return sum * 100 + in_arena;
}

SEC("syscall")
u64 refill(void *ctx)
{
	u64 n = 0;

	for (int i = 0; i < 100; i++) {
		void __arena *page = bpf_arena_alloc_pages(&arena, NULL, 3, -1, 0);

		if (!page)
			break;
		n += 1;
		if (i < 50)
			bpf_arena_free_pages(&arena, page, 3);
	}
	return n;
}

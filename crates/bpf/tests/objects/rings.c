/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Ring buffers to and from user space. */
#include "lab.h"

struct { __uint(type, MAP_RINGBUF); __uint(max_entries, 4096); } events SEC(".maps");
struct { __uint(type, MAP_USER_RINGBUF); __uint(max_entries, 4096); } orders SEC(".maps");

struct event {
	u32 id;
	u32 what;
};

SEC("syscall")
u64 produce(void *ctx)
{
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0), out = { 3, 30 };

	if (!e)
		return 1;
	e->id = 1;
	e->what = 10;
	struct event *lost = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!lost)
		return 2;
	bpf_ringbuf_discard(lost, 0);
	bpf_ringbuf_submit(e, 0);
	return bpf_ringbuf_output(&events, &out, sizeof(out), 0);
}

SEC("syscall")
u64 fill(void *ctx)
{
	struct event out = { 4, 40 };
	u64 n = 0;

	while (n < 10000 && !bpf_ringbuf_output(&events, &out, sizeof(out), 0))
		n++;
	return n;
}

static long take(struct bpf_dynptr *order, u64 *sum)
{
	u32 first = 0, *second = bpf_dynptr_data(order, 4, 4);

	if (bpf_dynptr_read(&first, sizeof(first), order, 0, 0))
		return 1;
	*sum = *sum * 1000 + first * 10 + (second ? *second : 0);
	return bpf_dynptr_data(order, 8, 1) != NULL;
}

SEC("syscall")
u64 consume(void *ctx)
{
	u64 sum = 0;
	long n = bpf_user_ringbuf_drain(&orders, take, &sum, 0);

	return sum * 10 + n;
}

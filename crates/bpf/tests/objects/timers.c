/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Timers in values of maps. */
#include "lab.h"

struct slot {
	u64 fired;
	struct bpf_timer timer;
};

struct { __uint(type, MAP_ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, struct slot); } slots SEC(".maps");
struct { __uint(type, MAP_HASH); __uint(max_entries, 4); __type(key, u64); __type(value, struct slot); } by_id SEC(".maps");

u64 last;

static int fire(void *map, u32 *key, struct slot *s)
{
	s->fired += 1;
	last = *key * 100 + s->fired;
	if (s->fired < 3)
		bpf_timer_start(&s->timer, 1000 * s->fired, 0);
	return 0;
}

static int fire_hash(void *map, u64 *key, struct slot *s)
{
	last = *key;
	return 0;
}

SEC("syscall")
u64 start(void *ctx)
{
	u32 key = 2;
	struct slot *s = bpf_map_lookup_elem(&slots, &key);

	if (!s || bpf_timer_start(&s->timer, 5, 0) != -22)
		return 1;
	if (bpf_timer_init(&s->timer, &slots, 1) || bpf_timer_init(&s->timer, &slots, 1) != -16)
		return 2;
	if (bpf_timer_start(&s->timer, 5, 0) != -22)
		return 3;
	bpf_timer_set_callback(&s->timer, fire);
	return bpf_timer_start(&s->timer, 500, 0);
}

SEC("syscall")
u64 start_hash(void *ctx)
{
	u64 key = 0x1234567890;
	struct slot empty = {}, *s;

	bpf_map_update_elem(&by_id, &key, &empty, 0);
	s = bpf_map_lookup_elem(&by_id, &key);
	if (!s)
		return 1;
	bpf_timer_init(&s->timer, &by_id, 1);
	bpf_timer_set_callback(&s->timer, fire_hash);
	return bpf_timer_start(&s->timer, 700, 0);
}

SEC("syscall")
u64 delete_hash(void *ctx)
{
	u64 key = 0x1234567890;

	return bpf_map_delete_elem(&by_id, &key);
}

SEC("syscall")
u64 cancel(void *ctx)
{
	u32 key = 2;
	struct slot *s = bpf_map_lookup_elem(&slots, &key);

	return s ? bpf_timer_cancel(&s->timer) * 10 + bpf_timer_cancel(&s->timer) : 5;
}

/* A value that is replaced loses its timer. */
SEC("syscall")
u64 replace_hash(void *ctx)
{
	u64 key = 0x1234567890;
	struct slot empty = {};

	return bpf_map_update_elem(&by_id, &key, &empty, 0);
}

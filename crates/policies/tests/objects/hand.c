/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* A timer hands out what waits: each CPU that has nothing gets a task on its local queue, the
   timer's own CPU among them. No CPU fetches anything itself. */
#include "scx.h"

#define FRESH 1
#define PERIOD_NS 100000

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static long (*const bpf_timer_start)(struct bpf_timer *timer, u64 ns, u64 flags) = (void *)171;
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;

struct clock {
	struct bpf_timer timer;
};

struct {
	__uint(type, 2); /* an array */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct clock);
} clocks SEC(".maps");

const volatile u32 nr_cpu_ids = 1;
/* 1: all of them go to the timer's own CPU; 2: another operation moves a task, which may not be. */
const volatile u32 fault;
const char text[] = "still on its queue: %llu";

SEC("struct_ops/hand_enqueue")
int hand_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], FRESH, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

static inline bool give(u64 to)
{
	u32 before = scx_bpf_dsq_nr_queued(FRESH);
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	bool moved = 0;

	bpf_iter_scx_dsq_new(&it, FRESH, 0);
	p = bpf_iter_scx_dsq_next(&it);
	if (p)
		moved = move(&it, p, to);
	bpf_iter_scx_dsq_destroy(&it);
	if (moved && scx_bpf_dsq_nr_queued(FRESH) != before - 1) {
		u64 all[1] = { before };

		scx_bpf_error_bstr((char *)text, all, sizeof(all));
	}
	return moved;
}

static int hand_out(void *map, u32 *key, struct clock *clock)
{
	for (u32 cpu = 0; cpu < 512 && cpu < nr_cpu_ids; cpu++) {
		u64 to = fault == 1 ? SCX_DSQ_LOCAL : SCX_DSQ_LOCAL_ON | cpu;

		if (!scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu) && !give(to))
			break;
	}
	bpf_timer_start(&clock->timer, PERIOD_NS, 0);
	return 0;
}

SEC("struct_ops/hand_stopping")
int hand_stopping(u64 *ctx)
{
	if (fault == 2)
		give(SCX_DSQ_LOCAL);
	return 0;
}

SEC("struct_ops.s/hand_init")
s32 hand_init(u64 *ctx)
{
	u32 key = 0;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &key);

	if (!clock)
		return -2;
	bpf_timer_init(&clock->timer, &clocks, 0);
	bpf_timer_set_callback(&clock->timer, hand_out);
	bpf_timer_start(&clock->timer, PERIOD_NS, 0);
	return scx_bpf_create_dsq(FRESH, -1);
}

SEC("struct_ops/hand_select_cpu")
s32 hand_select_cpu(u64 *ctx)
{
	return ctx[1];
}

SEC(".struct_ops.link")
struct sched_ext_ops hand_ops = {
	.select_cpu = (void *)hand_select_cpu,
	.enqueue = (void *)hand_enqueue,
	.stopping = (void *)hand_stopping,
	.init = (void *)hand_init,
	.name = "hand",
};

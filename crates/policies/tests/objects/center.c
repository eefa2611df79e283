/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* CPU 0 decides for all: tasks wait in a map by pid, and a timer has CPU 0 look again. */
#include "scx.h"

#define PERIOD_NS 1000000
#define FALLBACK 5

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static long (*const bpf_timer_start)(struct bpf_timer *timer, u64 ns, u64 flags) = (void *)171;
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
extern u32 scx_bpf_dispatch_nr_slots(void) __ksym;

struct {
	__uint(type, 22); /* a queue */
	__uint(max_entries, 4096);
	__type(value, s32);
} waiting SEC(".maps");

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

SEC("struct_ops/center_select_cpu")
s32 center_select_cpu(u64 *ctx)
{
	return 0;
}

SEC("struct_ops/center_enqueue")
int center_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	s32 pid = p->pid;

	if (bpf_map_push_elem(&waiting, &pid, 0))
		insert(p, FALLBACK, SCX_SLICE_INF, ctx[1]);
	else
		scx_bpf_kick_cpu(0, SCX_KICK_PREEMPT);
	return 0;
}

static inline bool give(s32 cpu)
{
	struct task_struct *p;
	s32 pid;

	if (bpf_map_pop_elem(&waiting, &pid))
		return 0;
	p = bpf_task_from_pid(pid);
	if (!p)
		return 1;
	insert(p, SCX_DSQ_LOCAL_ON | cpu, SCX_SLICE_INF, 0);
	bpf_task_release(p);
	return 1;
}

SEC("struct_ops/center_dispatch")
int center_dispatch(u64 *ctx)
{
	s32 cpu = ctx[0];

	if (cpu) {
		move_to_local(FALLBACK);
		return 0;
	}
	/* CPU 0 last: it is to decide again soon. */
	for (u32 i = 1; i < 1024 && i <= nr_cpu_ids; i++) {
		s32 to = i == nr_cpu_ids ? 0 : i;

		if (scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | to))
			continue;
		if (!scx_bpf_dispatch_nr_slots() || !give(to))
			break;
	}
	return 0;
}

static int look_again(void *map, u32 *key, struct clock *clock)
{
	/* Who has others behind it has run long enough. */
	for (u32 cpu = 0; cpu < 1024 && cpu < nr_cpu_ids; cpu++)
		if (scx_bpf_dsq_nr_queued(SCX_DSQ_LOCAL_ON | cpu))
			scx_bpf_kick_cpu(cpu, SCX_KICK_PREEMPT);
	scx_bpf_kick_cpu(0, SCX_KICK_PREEMPT);
	bpf_timer_start(&clock->timer, PERIOD_NS, 0);
	return 0;
}

SEC("struct_ops.s/center_init")
s32 center_init(u64 *ctx)
{
	u32 key = 0;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &key);

	if (!clock)
		return -2;
	bpf_timer_init(&clock->timer, &clocks, 0);
	bpf_timer_set_callback(&clock->timer, look_again);
	bpf_timer_start(&clock->timer, PERIOD_NS, 0);
	return scx_bpf_create_dsq(FALLBACK, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops center_ops = {
	.select_cpu = (void *)center_select_cpu,
	.enqueue = (void *)center_enqueue,
	.dispatch = (void *)center_dispatch,
	.init = (void *)center_init,
	.flags = SCX_OPS_ENQ_LAST,
	.name = "center",
};

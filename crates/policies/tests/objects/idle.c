/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* It keeps track of idle CPUs itself, and may not ask the kernel for any. */
#include "scx.h"

#define SHARED 4
#define WORDS 8

const volatile u32 nr_cpu_ids = 1;
const volatile u32 fault;
static u64 idle[WORDS];

static inline bool claim(u32 cpu)
{
	u64 bit = 1ULL << (cpu & 63);
	u64 *word = &idle[cpu / 64 % WORDS];

	return __sync_fetch_and_and(word, ~bit) & bit;
}

SEC("struct_ops/idle_update_idle")
int idle_update_idle(u64 *ctx)
{
	u32 cpu = ctx[0];

	if ((bool)ctx[1])
		__sync_fetch_and_or(&idle[cpu / 64 % WORDS], 1ULL << (cpu & 63));
	else
		claim(cpu);
	return 0;
}

SEC("struct_ops/idle_select_cpu")
s32 idle_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if (fault == 1)
		scx_bpf_pick_idle_cpu(p->cpus_ptr, 0);
	for (u32 cpu = 0; cpu < WORDS * 64 && cpu < nr_cpu_ids; cpu++) {
		if (p->cpus_ptr->bits[cpu / 64] >> (cpu & 63) & 1 && claim(cpu)) {
			insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
			return cpu;
		}
	}
	return ctx[1];
}

SEC("struct_ops/idle_enqueue")
int idle_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], SHARED, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops/idle_dispatch")
int idle_dispatch(u64 *ctx)
{
	move_to_local(SHARED);
	return 0;
}

SEC("struct_ops.s/idle_init")
s32 idle_init(u64 *ctx)
{
	/* Nobody tells of CPUs that idle already. */
	for (u32 cpu = 0; cpu < WORDS * 64 && cpu < nr_cpu_ids; cpu++)
		idle[cpu / 64] |= 1ULL << (cpu & 63);
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops idle_ops = {
	.update_idle = (void *)idle_update_idle,
	.select_cpu = (void *)idle_select_cpu,
	.enqueue = (void *)idle_enqueue,
	.dispatch = (void *)idle_dispatch,
	.init = (void *)idle_init,
	.name = "idle",
};

/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Each task goes to the local queue of the next CPU, wherever it is enqueued. */
#include "scx.h"

const volatile u32 nr_cpu_ids = 1;
static u32 next;

SEC("struct_ops/spread_enqueue")
int spread_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 cpu = next++ % nr_cpu_ids;

	insert(p, SCX_DSQ_LOCAL_ON | cpu, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops/spread_select_cpu")
s32 spread_select_cpu(u64 *ctx)
{
	return ctx[1];
}

SEC(".struct_ops.link")
struct sched_ext_ops spread_ops = {
	.select_cpu = (void *)spread_select_cpu,
	.enqueue = (void *)spread_enqueue,
	.name = "spread",
};

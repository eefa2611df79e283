/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* One queue by arrival, but tasks called "front" are inserted with the flags of a constant:
   SCX_ENQ_HEAD puts them first in that queue, SCX_ENQ_PREEMPT on the CPU at once. */
#include "scx.h"

#define READY 1

const volatile u64 flags;

SEC("struct_ops/front_enqueue")
int front_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if (p->comm[0] != 'f')
		insert(p, READY, SCX_SLICE_DFL, 0);
	else if (flags & SCX_ENQ_PREEMPT)
		insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, flags);
	else
		insert(p, READY, SCX_SLICE_DFL, flags);
	return 0;
}

SEC("struct_ops/front_dispatch")
int front_dispatch(u64 *ctx)
{
	move_to_local(READY);
	return 0;
}

SEC("struct_ops.s/front_init")
s32 front_init(u64 *ctx)
{
	return scx_bpf_create_dsq(READY, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops front_ops = {
	.enqueue = (void *)front_enqueue,
	.dispatch = (void *)front_dispatch,
	.init = (void *)front_init,
	.name = "front",
};

/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* One queue for the whole machine, by weighted run time. */
#include "scx.h"

#define SHARED 7

const volatile u64 slice_ns = SCX_SLICE_DFL;
static u64 vtime_now;

static inline bool is_before(u64 a, u64 b)
{
	return (s64)(a - b) < 0;
}

SEC("struct_ops/vtime_select_cpu")
s32 vtime_select_cpu(u64 *ctx)
{
	return select_idle(ctx, slice_ns);
}

SEC("struct_ops/vtime_enqueue")
int vtime_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 vtime = p->scx.dsq_vtime;

	/* A sleeper is at most one slice ahead. */
	if (is_before(vtime, vtime_now - slice_ns))
		vtime = vtime_now - slice_ns;
	insert_vtime(p, SHARED, slice_ns, vtime, ctx[1]);
	return 0;
}

SEC("struct_ops/vtime_dispatch")
int vtime_dispatch(u64 *ctx)
{
	move_to_local(SHARED);
	return 0;
}

SEC("struct_ops/vtime_running")
int vtime_running(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	if (is_before(vtime_now, p->scx.dsq_vtime))
		vtime_now = p->scx.dsq_vtime;
	return 0;
}

SEC("struct_ops/vtime_stopping")
int vtime_stopping(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 left = p->scx.slice;
	u64 used = left < slice_ns ? slice_ns - left : 0;

	p->scx.dsq_vtime += used * 100 / p->scx.weight;
	return 0;
}

SEC("struct_ops/vtime_enable")
int vtime_enable(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	p->scx.dsq_vtime = vtime_now;
	return 0;
}

SEC("struct_ops.s/vtime_init")
s32 vtime_init(u64 *ctx)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops vtime_ops = {
	.select_cpu = (void *)vtime_select_cpu,
	.enqueue = (void *)vtime_enqueue,
	.dispatch = (void *)vtime_dispatch,
	.running = (void *)vtime_running,
	.stopping = (void *)vtime_stopping,
	.enable = (void *)vtime_enable,
	.init = (void *)vtime_init,
	.name = "vtime",
};

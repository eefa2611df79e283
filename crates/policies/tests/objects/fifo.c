/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* One queue for the whole machine, first come first served. */
#include "scx.h"

#define SHARED 0

const volatile u64 slice_ns = SCX_SLICE_DFL;

SEC("struct_ops/fifo_select_cpu")
s32 fifo_select_cpu(u64 *ctx)
{
	return select_idle(ctx, slice_ns);
}

SEC("struct_ops/fifo_enqueue")
int fifo_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], SHARED, slice_ns, ctx[1]);
	return 0;
}

SEC("struct_ops/fifo_dispatch")
int fifo_dispatch(u64 *ctx)
{
	move_to_local(SHARED);
	return 0;
}

SEC("struct_ops.s/fifo_init")
s32 fifo_init(u64 *ctx)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops fifo_ops = {
	.select_cpu = (void *)fifo_select_cpu,
	.enqueue = (void *)fifo_enqueue,
	.dispatch = (void *)fifo_dispatch,
	.init = (void *)fifo_init,
	.name = "fifo",
};

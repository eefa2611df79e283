/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Tasks wait in one queue; each dispatch moves the last of them to a sorted one, and the first of
   that to its CPU. */
#include "scx.h"

#define FRESH 1
#define SORTED 2
#define SLICE_NS 3000000

static u64 n_sorted;

SEC("struct_ops/moves_select_cpu")
s32 moves_select_cpu(u64 *ctx)
{
	return select_idle(ctx, SCX_SLICE_DFL);
}

SEC("struct_ops/moves_enqueue")
int moves_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], FRESH, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops/moves_dispatch")
int moves_dispatch(u64 *ctx)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	bpf_iter_scx_dsq_new(&it, FRESH, SCX_DSQ_ITER_REV);
	p = bpf_iter_scx_dsq_next(&it);
	if (p) {
		u64 n = n_sorted++;

		move_vtime(&it, p, SORTED, SLICE_NS, n * 7 % 5);
	}
	bpf_iter_scx_dsq_destroy(&it);
	bpf_iter_scx_dsq_new(&it, SORTED, 0);
	p = bpf_iter_scx_dsq_next(&it);
	if (p)
		move(&it, p, SCX_DSQ_LOCAL_ON | (u32)ctx[0]);
	bpf_iter_scx_dsq_destroy(&it);
	return 0;
}

SEC("struct_ops.s/moves_init")
s32 moves_init(u64 *ctx)
{
	s32 error = scx_bpf_create_dsq(FRESH, -1);

	return error ? error : scx_bpf_create_dsq(SORTED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops moves_ops = {
	.select_cpu = (void *)moves_select_cpu,
	.enqueue = (void *)moves_enqueue,
	.dispatch = (void *)moves_dispatch,
	.init = (void *)moves_init,
	.name = "moves",
};

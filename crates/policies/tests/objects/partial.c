/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* It schedules only tasks that ask for it, which is not modeled. */
#include "scx.h"

SEC("struct_ops/partial_enqueue")
int partial_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops partial_ops = {
	.enqueue = (void *)partial_enqueue,
	.flags = 1 << 3,
	.name = "partial",
};

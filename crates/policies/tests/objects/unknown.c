/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* It wants what no kernel has. */
#include "scx.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct___other {
	s32 not_there;
};
#pragma clang attribute pop

extern void scx_bpf_not_there(void) __ksym __weak;

SEC("struct_ops/unknown_enqueue")
int unknown_enqueue(u64 *ctx)
{
	struct task_struct___other *p = (void *)ctx[0];

	if (ctx[1])
		scx_bpf_not_there();
	return p->not_there;
}

SEC(".struct_ops.link")
struct sched_ext_ops unknown_ops = {
	.enqueue = (void *)unknown_enqueue,
	.name = "unknown",
};

/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* A set of operations, as a scheduler defines one. */
#include "lab.h"

struct lab_ops {
	s32 (*choose)(void *task, s32 prev, u64 flags);
	void (*enqueue)(void *task, u64 flags);
	void (*unused)(void *task);
	u64 flags;
	u32 timeout_ms;
	char name[16];
};

extern void lab_insert(void *task, u64 queue, u64 slice, u64 flags) __ksym;
extern s32 lab_idle(s32 prev) __ksym;

const volatile u64 slice_ns = 20000000;
u64 n_enqueued;

SEC("struct_ops/choose")
s32 choose(u64 *ctx)
{
	void *task = (void *)ctx[0];
	s32 prev = ctx[1];
	s32 cpu = lab_idle(prev);

	if (cpu >= 0) {
		lab_insert(task, 1, slice_ns, 0);
		return cpu;
	}
	return prev;
}

SEC("struct_ops/enqueue")
int enqueue(u64 *ctx)
{
	n_enqueued++;
	lab_insert((void *)ctx[0], 2, slice_ns, ctx[1]);
	return 0;
}

SEC("?struct_ops/never")
int never(u64 *ctx)
{
	return 1;
}

SEC(".struct_ops.link")
struct lab_ops ops = {
	.choose = (void *)choose,
	.enqueue = (void *)enqueue,
	.flags = 0x11,
	.timeout_ms = 5000,
	.name = "lab",
};

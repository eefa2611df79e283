/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* It schedules only tasks that ask for it, and ends when others have taken CPUs often enough. */
#include "scx.h"

#define SCX_CPU_PREEMPT_UNKNOWN 3

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct scx_cpu_release_args {
	s32 reason;
	struct task_struct *task;
};
#pragma clang attribute pop

/* It ends at this loss of a CPU; 0: never. */
const volatile u32 last_loss = 0;

static u32 tasks, enabled, losses;
static const char text[] = "%u of %u tasks, %u for %d";

SEC("struct_ops/partial_init_task")
s32 partial_init_task(u64 *ctx)
{
	tasks++;
	return 0;
}

SEC("struct_ops/partial_enable")
int partial_enable(u64 *ctx)
{
	enabled++;
	return 0;
}

SEC("struct_ops/partial_enqueue")
int partial_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops/partial_cpu_release")
int partial_cpu_release(u64 *ctx)
{
	struct scx_cpu_release_args *args = (void *)ctx[1];
	u64 all[4] = { enabled, tasks, losses, 0 };

	if (args->reason != SCX_CPU_PREEMPT_UNKNOWN || ++losses != last_loss)
		return 0;
	all[2] = losses;
	all[3] = args->task ? args->task->pid : 0;
	scx_bpf_error_bstr((char *)text, all, sizeof(all));
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops partial_ops = {
	.init_task = (void *)partial_init_task,
	.enable = (void *)partial_enable,
	.enqueue = (void *)partial_enqueue,
	.cpu_release = (void *)partial_cpu_release,
	.flags = 1 << 3,
	.name = "partial",
};

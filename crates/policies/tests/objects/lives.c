/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Counts the tasks that it has been given and that have left again. The task called "last" ends the
   run when it runs for the second time, with what the counts are then. While a CPU idles, the
   kernel's own search among a task's CPUs finds one. */
#include "scx.h"

#define READY 1

extern s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev, u64 wake_flags,
				  const struct cpumask *mask, u64 flags) __ksym;

const char text[] = "%llu tasks, %llu enabled";
const char none[] = "no idle CPU: %lld";
u64 n_tasks, n_enabled, n_last;

SEC("struct_ops/lives_select_cpu")
s32 lives_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	s32 cpu = scx_bpf_select_cpu_and(p, ctx[1], ctx[2], p->cpus_ptr, 0);
	u64 answer = cpu;

	if (cpu < 0)
		scx_bpf_error_bstr((char *)none, &answer, sizeof(answer));
	insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	return cpu;
}

SEC("struct_ops/lives_enqueue")
int lives_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], READY, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops/lives_dispatch")
int lives_dispatch(u64 *ctx)
{
	move_to_local(READY);
	return 0;
}

SEC("struct_ops/lives_running")
int lives_running(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 counts[2] = { n_tasks, n_enabled };

	if (p->comm[0] == 'l' && ++n_last == 2)
		scx_bpf_error_bstr((char *)text, counts, sizeof(counts));
	return 0;
}

SEC("struct_ops/lives_init_task")
s32 lives_init_task(u64 *ctx)
{
	n_tasks++;
	return 0;
}

SEC("struct_ops/lives_exit_task")
int lives_exit_task(u64 *ctx)
{
	n_tasks--;
	return 0;
}

SEC("struct_ops/lives_enable")
int lives_enable(u64 *ctx)
{
	n_enabled++;
	return 0;
}

SEC("struct_ops/lives_disable")
int lives_disable(u64 *ctx)
{
	n_enabled--;
	return 0;
}

SEC("struct_ops.s/lives_init")
s32 lives_init(u64 *ctx)
{
	return scx_bpf_create_dsq(READY, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops lives_ops = {
	.select_cpu = (void *)lives_select_cpu,
	.enqueue = (void *)lives_enqueue,
	.dispatch = (void *)lives_dispatch,
	.running = (void *)lives_running,
	.init_task = (void *)lives_init_task,
	.exit_task = (void *)lives_exit_task,
	.enable = (void *)lives_enable,
	.disable = (void *)lives_disable,
	.init = (void *)lives_init,
	.name = "lives",
};

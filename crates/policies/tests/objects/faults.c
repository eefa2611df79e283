/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* A FIFO that does one thing that it may not, or need not, if it is told to. */
#include "scx.h"

#define SHARED 3

const volatile u32 fault;
const char text[] = "task %d";
static struct task_struct *last;
static u64 lost;

SEC("struct_ops/faults_select_cpu")
s32 faults_select_cpu(u64 *ctx)
{
	if (fault == 4)
		return 4096;
	return ctx[1];
}

SEC("struct_ops/faults_enqueue")
int faults_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	volatile u64 n = 0;
	u64 pid = p->pid;

	if (fault == 1)
		scx_bpf_error_bstr((char *)text, &pid, sizeof(pid));
	if (fault == 2)
		insert(p, 99, SCX_SLICE_DFL, 0);
	if (fault == 3)
		insert(p, SHARED, SCX_SLICE_DFL, 0);
	if (fault == 5)
		while (n < 1000000000)
			n++;
	if (fault == 6)
		insert_vtime(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 1, 0);
	if (fault == 7)
		p->scx.weight = 7;
	if (fault == 9)
		move_to_local(SHARED);
	if (fault == 10 && last)
		p = last;
	last = (void *)ctx[0];
	if (fault == 11 && (!lost || lost == pid)) {
		lost = pid;
		return 0;
	}
	insert(p, SHARED, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops/faults_dispatch")
int faults_dispatch(u64 *ctx)
{
	/* It still runs, or has gone to sleep: nobody gave it to us. */
	if (fault == 12 && ctx[1])
		insert((void *)ctx[1], SHARED, SCX_SLICE_DFL, 0);
	move_to_local(SHARED);
	return 0;
}

SEC("struct_ops/faults_init_task")
s32 faults_init_task(u64 *ctx)
{
	return fault == 8 ? -12 : 0;
}

SEC("struct_ops.s/faults_init")
s32 faults_init(u64 *ctx)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops faults_ops = {
	.select_cpu = (void *)faults_select_cpu,
	.enqueue = (void *)faults_enqueue,
	.dispatch = (void *)faults_dispatch,
	.init_task = (void *)faults_init_task,
	.init = (void *)faults_init,
	.timeout_ms = 100,
	.name = "faults",
};

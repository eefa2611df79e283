/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Parents and states of tasks, variables that each CPU has, and what a loader says of the machine. */
#include "scx.h"

#define __kconfig __attribute__((section(".kconfig")))

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct___kin {
	s32 pid;
	u32 __state;
	struct task_struct___kin *real_parent;
};
struct rq___kin {
	s32 cpu;
	struct task_struct *curr;
	u64 clock;
	u64 clock_task;
	u64 clock_pelt;
	u64 lost_idle_time;
};
struct cpufreq_policy {
	u32 max;
};
#pragma clang attribute pop

static void *(*const bpf_per_cpu_ptr)(const void *variable, u32 cpu) = (void *)153;
static void *(*const bpf_this_cpu_ptr)(const void *variable) = (void *)154;
static u64 (*const bpf_get_current_pid_tgid)(void) = (void *)14;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_probe_read_kernel)(void *dst, u32 size, const void *src) = (void *)113;

extern struct rq___kin runqueues __ksym;
extern struct cpufreq_policy *cpufreq_cpu_data __ksym;
extern unsigned long CONFIG_NR_CPUS __kconfig;

const volatile u32 nr_cpu_ids = 1;
/* How fast the PELT clock is, of 1024. */
const volatile u64 scale = 1024;
const char text[] = "fault %llu: %llu of %llu";
static u64 n_children;

/* What a loader says of the machine; the sums are what the test expects. */
const volatile u32 n_llcs, n_nodes, llc_of[512], node_of_llc[64];
const volatile s32 sibling_of[512];
const volatile u64 cpus_of_llc[64][8];
const volatile u32 expected[4];
struct domain {
	u64 cpus[8];
	u8 n_near, near[16];
	bool is_there;
} domains[64];

static void fault(u64 number, u64 is, u64 wanted)
{
	u64 all[3] = { number, is, wanted };

	scx_bpf_error_bstr((char *)text, all, sizeof(all));
}

static void expect(u64 number, u64 is, u64 wanted)
{
	if (is != wanted)
		fault(number, is, wanted);
}

SEC("struct_ops/kin_enqueue")
int kin_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops/kin_running")
int kin_running(u64 *ctx)
{
	struct task_struct___kin *p = (void *)ctx[0];
	struct rq___kin *rq = bpf_this_cpu_ptr(&runqueues);
	u32 cpu = bpf_get_smp_processor_id();
	struct cpufreq_policy *freq = (void *)1;
	u64 now = bpf_ktime_get_ns();
	/* The task before still has the CPU. */
	u64 pid = rq->curr->pid;

	expect(1, p->__state, 0);
	expect(2, rq->cpu, cpu);
	rq = bpf_per_cpu_ptr(&runqueues, nr_cpu_ids - 1);
	expect(3, rq->cpu, nr_cpu_ids - 1);
	expect(4, (u64)bpf_per_cpu_ptr(&runqueues, nr_cpu_ids), 0);
	expect(5, rq->clock, now);
	expect(6, rq->clock_task, now);
	expect(7, rq->clock_pelt - rq->lost_idle_time, now * scale / 1024);
	expect(8, bpf_probe_read_kernel(&freq, sizeof(freq), &cpufreq_cpu_data + cpu), 0);
	expect(9, (u64)freq, 0);
	expect(10, bpf_get_current_pid_tgid(), pid << 32 | pid);
	return 0;
}

SEC("struct_ops/kin_quiescent")
int kin_quiescent(u64 *ctx)
{
	struct task_struct___kin *p = (void *)ctx[0];

	/* It sleeps, or has exited. */
	if (p->__state != 1 && p->__state != 0x80)
		fault(11, p->__state, 1);
	return 0;
}

SEC("struct_ops.s/kin_init_task")
s32 kin_init_task(u64 *ctx)
{
	struct task_struct___kin *p = (void *)ctx[0];
	struct scx_init_task_args *args = (void *)ctx[1];
	struct task_struct *parent;

	if (!args->fork) {
		expect(12, p->real_parent->pid, 0);
		return 0;
	}
	parent = bpf_task_from_pid(p->real_parent->pid);
	if (!parent || p->real_parent->pid == p->pid) {
		fault(13, p->pid, n_children);
		return -3;
	}
	n_children++;
	bpf_task_release(parent);
	return 0;
}

SEC("struct_ops.s/kin_init")
s32 kin_init(u64 *ctx)
{
	struct rq___kin *rq = bpf_this_cpu_ptr(&runqueues);
	u64 sums[4] = {}, bits;
	u32 i, j;

	/* The idle task has a slice that nobody uses. */
	rq->curr->scx.slice = 1;
	expect(14, CONFIG_NR_CPUS >= nr_cpu_ids, 1);
	for (i = 0; i < nr_cpu_ids && i < 512; i++)
		sums[0] += (llc_of[i] + 1) * (i + 1) + (sibling_of[i] + 1) * (i + 2);
	for (i = 0; i < n_llcs && i < 64; i++) {
		expect(15, domains[i].is_there, 1);
		for (j = 0; j < 8; j++) {
			bits = cpus_of_llc[i][j];
			expect(16, domains[i].cpus[j], bits);
			while (bits) {
				bits &= bits - 1;
				sums[1] += i + 1;
			}
		}
		sums[2] += node_of_llc[i] * (i + 1);
		for (j = 0; j < domains[i].n_near && j < 16; j++)
			sums[3] += domains[i].near[j] * (j + 1) * (i + 1);
	}
	for (i = 0; i < 4; i++)
		expect(20 + i, sums[i], expected[i]);
	expect(24, n_nodes > 0, 1);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops kin_ops = {
	.enqueue = (void *)kin_enqueue,
	.running = (void *)kin_running,
	.quiescent = (void *)kin_quiescent,
	.init_task = (void *)kin_init_task,
	.init = (void *)kin_init,
	.name = "kin",
};

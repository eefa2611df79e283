/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Asks the kernel at each tick what is known already, and ends the run where an answer is another:
   who is current on a CPU runs there, the idle task, too; threads of the kernel and idle tasks have
   their flags, and only they. */
#include "scx.h"

#define FRESH 1
#define PF_IDLE 0x00000002
#define PF_KTHREAD 0x00200000

extern u32 scx_bpf_nr_cpu_ids(void) __ksym;
extern struct rq *scx_bpf_cpu_rq(s32 cpu) __ksym;
extern bool scx_bpf_task_running(const struct task_struct *p) __ksym;
extern bool scx_bpf_test_and_clear_cpu_idle(s32 cpu) __ksym;
extern u32 scx_bpf_cpuperf_cap(s32 cpu) __ksym;
extern u32 scx_bpf_cpuperf_cur(s32 cpu) __ksym;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static struct task_struct *(*const bpf_get_current_task_btf)(void) = (void *)158;

const volatile u32 nr_cpu_ids = 1;
const char text[] = "answer %llu of CPU %llu";

static inline void must(bool holds, u64 answer, u64 cpu)
{
	u64 all[2] = { answer, cpu };

	if (!holds)
		scx_bpf_error_bstr((char *)text, all, sizeof(all));
}

SEC("struct_ops/asks_tick")
int asks_tick(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u32 here = bpf_get_smp_processor_id();

	must(scx_bpf_nr_cpu_ids() == nr_cpu_ids, 1, here);
	must(scx_bpf_task_running(p), 2, here);
	must(scx_bpf_task_cpu(p) == here, 3, here);
	must(bpf_get_current_task_btf() == p, 4, here);
	must(!scx_bpf_test_and_clear_cpu_idle(here), 5, here);
	must(scx_bpf_cpuperf_cap(here) == 1024, 6, here);
	must(scx_bpf_cpuperf_cur(here) == 1024, 7, here);
	/* Threads of the kernel are called so. */
	must(p->flags == (p->comm[0] == 'k' ? PF_KTHREAD : 0), 11, p->flags);
	for (u32 cpu = 0; cpu < 512 && cpu < nr_cpu_ids; cpu++) {
		struct task_struct *curr = scx_bpf_cpu_rq(cpu)->curr;

		must(scx_bpf_task_running(curr), 8, cpu);
		must(scx_bpf_task_cpu(curr) == cpu, 9, cpu);
		must((curr == p) == (cpu == here), 10, cpu);
		if (!curr->pid)
			must(curr->flags == (PF_IDLE | PF_KTHREAD), 12, curr->flags);
	}
	return 0;
}

SEC("struct_ops/asks_enqueue")
int asks_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], FRESH, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops/asks_dispatch")
int asks_dispatch(u64 *ctx)
{
	move_to_local(FRESH);
	return 0;
}

SEC("struct_ops.s/asks_init")
s32 asks_init(u64 *ctx)
{
	return scx_bpf_create_dsq(FRESH, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops asks_ops = {
	.tick = (void *)asks_tick,
	.enqueue = (void *)asks_enqueue,
	.dispatch = (void *)asks_dispatch,
	.init = (void *)asks_init,
	.name = "asks",
};

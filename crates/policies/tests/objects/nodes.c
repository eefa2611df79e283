/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* It looks for idle CPUs node by node, and checks what it is told of them. Its flag,
   SCX_OPS_BUILTIN_IDLE_PER_NODE, its loader sets. */
#include "scx.h"

#define SCX_PICK_IDLE_IN_NODE 2ULL
#define NO_NODE (-1)
#define ENOENT 2
#define EBUSY 16

extern s32 scx_bpf_pick_any_cpu(const struct cpumask *mask, u64 flags) __ksym;
extern const struct cpumask *scx_bpf_get_idle_cpumask(void) __ksym;
extern const struct cpumask *scx_bpf_get_idle_smtmask(void) __ksym;
extern void scx_bpf_put_idle_cpumask(const struct cpumask *mask) __ksym;
extern s32 scx_bpf_cpu_node(s32 cpu) __ksym;
extern s32 scx_bpf_pick_idle_cpu_node(const struct cpumask *mask, s32 node, u64 flags) __ksym;
extern s32 scx_bpf_pick_any_cpu_node(const struct cpumask *mask, s32 node, u64 flags) __ksym;
extern const struct cpumask *scx_bpf_get_idle_cpumask_node(s32 node) __ksym;
extern const struct cpumask *scx_bpf_get_idle_smtmask_node(s32 node) __ksym;
extern s32 scx_bpf_select_cpu_and(struct task_struct *p, s32 prev, u64 wake_flags,
				  const struct cpumask *mask, u64 flags) __ksym;

const volatile u32 nr_cpu_ids = 1;
/* 1 to 5: calls that end the run; 6: another search. */
const volatile u32 fault;
const char text[] = "wrong: %llu, CPU %llu, node %llu";

static inline void wrong(u64 what, u64 cpu, u64 node)
{
	u64 all[3] = { what, cpu, node };

	scx_bpf_error_bstr((char *)text, all, sizeof(all));
}

static inline bool has(const struct cpumask *mask, u32 cpu)
{
	return mask->bits[cpu / 64 % 8] >> (cpu & 63) & 1;
}

/* The masks of a node have CPUs of that node only, and cores whose CPUs idle. */
static inline void look(s32 node)
{
	const struct cpumask *cpus = scx_bpf_get_idle_cpumask_node(node);
	const struct cpumask *cores = scx_bpf_get_idle_smtmask_node(node);
	const struct cpumask *none = scx_bpf_get_idle_cpumask_node(NO_NODE);

	for (u32 cpu = 0; cpu < 512 && cpu < nr_cpu_ids; cpu++) {
		if (has(cpus, cpu) && scx_bpf_cpu_node(cpu) != node)
			wrong(1, cpu, node);
		if (has(cores, cpu) && !has(cpus, cpu))
			wrong(2, cpu, node);
		if (has(none, cpu))
			wrong(3, cpu, node);
	}
	scx_bpf_put_idle_cpumask(cpus);
	scx_bpf_put_idle_cpumask(cores);
	scx_bpf_put_idle_cpumask(none);
}

static inline void misuse(const struct cpumask *mask)
{
	switch (fault) {
	case 1:
		scx_bpf_pick_idle_cpu(mask, 0);
		break;
	case 2:
		scx_bpf_pick_any_cpu(mask, 0);
		break;
	case 3:
		scx_bpf_get_idle_cpumask();
		break;
	case 4:
		scx_bpf_get_idle_smtmask();
		break;
	case 5:
		scx_bpf_pick_idle_cpu_node(mask, 99, 0);
		break;
	}
}

/* The kernel's own search, held in the node: also a waker elsewhere is no answer. */
static inline s32 stay(struct task_struct *p, s32 prev, u64 wake_flags, s32 node)
{
	s32 cpu = scx_bpf_select_cpu_and(p, prev, wake_flags, p->cpus_ptr, SCX_PICK_IDLE_IN_NODE);

	if (cpu >= 0 && scx_bpf_cpu_node(cpu) != node)
		wrong(8, cpu, node);
	if (cpu == -EBUSY)
		return prev;
	insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	return cpu;
}

SEC("struct_ops/nodes_select_cpu")
s32 nodes_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	s32 prev = ctx[1], node = scx_bpf_cpu_node(prev), cpu;

	look(node);
	if (fault == 6)
		return stay(p, prev, ctx[2], node);
	misuse(p->cpus_ptr);
	if (scx_bpf_pick_idle_cpu_node(p->cpus_ptr, NO_NODE, 0) != -ENOENT)
		wrong(4, prev, node);
	cpu = scx_bpf_pick_idle_cpu_node(p->cpus_ptr, node, SCX_PICK_IDLE_IN_NODE);
	if (cpu >= 0 && scx_bpf_cpu_node(cpu) != node)
		wrong(5, cpu, node);
	if (cpu == -EBUSY) {
		s32 any = scx_bpf_pick_any_cpu_node(p->cpus_ptr, node, SCX_PICK_IDLE_IN_NODE);

		if (any >= 0 && scx_bpf_cpu_node(any) != node)
			wrong(6, any, node);
		cpu = scx_bpf_pick_idle_cpu_node(p->cpus_ptr, node, 0);
		/* Had one of this node been idle, it had been found before. */
		if (cpu >= 0 && scx_bpf_cpu_node(cpu) == node)
			wrong(7, cpu, node);
	}
	if (cpu < 0)
		return prev;
	insert(p, SCX_DSQ_LOCAL, SCX_SLICE_DFL, 0);
	return cpu;
}

SEC("struct_ops/nodes_enqueue")
int nodes_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops nodes_ops = {
	.select_cpu = (void *)nodes_select_cpu,
	.enqueue = (void *)nodes_enqueue,
	.name = "nodes",
};

/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* One queue per cgroup; the CPU goes to the one that has run the least for its weight. */
#include "cgroup.h"

const volatile u64 slice_ns = 5000000;

struct share {
	u64 weight;
	/* CPU time for weight 100. */
	u64 vtime;
};

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, s32);
	__type(value, struct share);
} shares SEC(".maps");

/* When the current task of a CPU began to run. */
struct {
	__uint(type, 1); /* BPF_MAP_TYPE_HASH */
	__uint(max_entries, 4096);
	__type(key, s32);
	__type(value, u64);
} began SEC(".maps");

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 u64 flags) = (void *)2;

static struct share *share_of(struct cgroup *cgrp)
{
	return bpf_cgrp_storage_get(&shares, cgrp, 0, 0);
}

static u64 run_time(struct task_struct *p)
{
	return ((struct task_struct___run *)p)->se.sum_exec_runtime;
}

SEC("struct_ops/shares_select_cpu")
s32 shares_select_cpu(u64 *ctx)
{
	return ctx[1];
}

SEC("struct_ops/shares_enqueue")
int shares_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);

	insert(p, cgrp->kn->id, slice_ns, ctx[1]);
	bpf_cgroup_release(cgrp);
	return 0;
}

/* The cgroup with a task that waits that is the furthest behind. */
static u64 next(void)
{
	struct cgroup *root = bpf_cgroup_from_id(1);
	struct cgroup_subsys_state *at;
	struct bpf_iter_css it;
	u64 found = 0, least = 0;

	if (!root)
		return 0;
	bpf_iter_css_new(&it, &root->self, BPF_CGROUP_ITER_DESCENDANTS_PRE);
	while ((at = bpf_iter_css_next(&it))) {
		u64 id = at->cgroup->kn->id;
		struct share *share = share_of(at->cgroup);

		if (!share || !scx_bpf_dsq_nr_queued(id))
			continue;
		if (!found || (s64)(share->vtime - least) < 0) {
			found = id;
			least = share->vtime;
		}
	}
	bpf_iter_css_destroy(&it);
	bpf_cgroup_release(root);
	return found;
}

SEC("struct_ops/shares_dispatch")
int shares_dispatch(u64 *ctx)
{
	u64 id = next();

	if (id)
		move_to_local(id);
	return 0;
}

SEC("struct_ops/shares_running")
int shares_running(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	u64 now = run_time(p);
	s32 pid = p->pid;

	bpf_map_update_elem(&began, &pid, &now, 0);
	return 0;
}

SEC("struct_ops/shares_stopping")
int shares_stopping(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct cgroup *cgrp = scx_bpf_task_cgroup(p);
	struct share *share = share_of(cgrp);
	s32 pid = p->pid;
	u64 *since = bpf_map_lookup_elem(&began, &pid);

	if (share && since)
		share->vtime += (run_time(p) - *since) * 100 / share->weight;
	bpf_cgroup_release(cgrp);
	return 0;
}

SEC("struct_ops.s/shares_cgroup_init")
s32 shares_cgroup_init(u64 *ctx)
{
	struct cgroup *cgrp = (void *)ctx[0];
	struct scx_cgroup_init_args *args = (void *)ctx[1];
	struct share *share;

	share = bpf_cgrp_storage_get(&shares, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!share)
		return -12;
	share->weight = args->weight;
	return scx_bpf_create_dsq(cgrp->kn->id, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops shares_ops = {
	.select_cpu = (void *)shares_select_cpu,
	.enqueue = (void *)shares_enqueue,
	.dispatch = (void *)shares_dispatch,
	.running = (void *)shares_running,
	.stopping = (void *)shares_stopping,
	.cgroup_init = (void *)shares_cgroup_init,
	.flags = SCX_OPS_HAS_CGROUP_WEIGHT,
	.name = "shares",
};

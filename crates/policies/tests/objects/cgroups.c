/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Ends itself with what it hears of cgroups at one point of its start: `stop_at`. */
#include "cgroup.h"

enum {
	NEVER,
	/* In the call number `nth` of `cgroup_init` or `init_task`. */
	CGROUP,
	LIMIT,
	TASK,
	/* When all tasks of the first cgroup have run. */
	STORED,
	ANCESTORS,
	WALK,
	/* What may not be done, or fails. */
	FOREIGN,
	UNLOCKED,
	ERROR,
	IN_USE,
};

const volatile u32 stop_at;
const volatile u32 nth;
/* Where a walk begins, and which way it goes. */
const volatile u64 start = 1;
const volatile u32 way = BPF_CGROUP_ITER_DESCENDANTS_PRE;

const char cgroup_text[] = "id %llu, level %llu, weight %llu, in %llu";
const char limit_text[] = "%llu of %llu us, burst %llu";
const char task_text[] = "pid %llu in %llu, tasks %llu, cgroups %llu";
const char number_text[] = "%llx";
static u32 n_cgroups, n_tasks;
static struct task_struct *first;

struct own {
	u64 id;
	u64 n_tasks;
	u64 n_run;
};

struct {
	__uint(type, BPF_MAP_TYPE_CGRP_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, s32);
	__type(value, struct own);
} owns SEC(".maps");

#define TELL(text, ...)                                                        \
	({                                                                     \
		u64 all[] = { __VA_ARGS__ };                                   \
		scx_bpf_error_bstr((char *)text, all, sizeof(all));            \
	})

SEC("struct_ops.s/cgroups_cgroup_init")
s32 cgroups_cgroup_init(u64 *ctx)
{
	struct cgroup *cgrp = (void *)ctx[0];
	struct scx_cgroup_init_args *args = (void *)ctx[1];
	struct cgroup_subsys_state *parent = cgrp->self.parent;
	struct own *own;
	u64 id = cgrp->kn->id;

	if (n_tasks || bpf_cgrp_storage_get(&owns, cgrp, 0, 0))
		return -7;
	own = bpf_cgrp_storage_get(&owns, cgrp, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!own || bpf_cgroup_from_id(id) != cgrp)
		return -12;
	own->id = id;
	if (nth == n_cgroups++) {
		if (stop_at == CGROUP)
			TELL(cgroup_text, id, cgrp->level, args->weight,
			     parent ? parent->cgroup->kn->id : 0);
		if (stop_at == LIMIT && __builtin_preserve_field_info(args->bw_quota_us, 2))
			TELL(limit_text, args->bw_quota_us, args->bw_period_us, args->bw_burst_us);
		if (stop_at == ERROR)
			return -28;
	}
	return scx_bpf_create_dsq(id, -1);
}

SEC("struct_ops.s/cgroups_init_task")
s32 cgroups_init_task(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct scx_init_task_args *args = (void *)ctx[1];
	struct own *own = bpf_cgrp_storage_get(&owns, args->cgroup, 0, 0);

	if (!own || own->id != args->cgroup->kn->id)
		return -2;
	own->n_tasks++;
	if (stop_at == UNLOCKED)
		scx_bpf_task_cgroup(p);
	if (nth == n_tasks++ && stop_at == TASK)
		TELL(task_text, p->pid, own->id, own->n_tasks, n_cgroups);
	return 0;
}

SEC("struct_ops/cgroups_select_cpu")
s32 cgroups_select_cpu(u64 *ctx)
{
	return ctx[1];
}

/* Levels below the task's cgroup have no ancestor; the others as digits, the root's last. */
static u64 ancestors(struct cgroup *cgrp)
{
	u64 ids = 0;

	for (s32 level = -1; level < 8; level++) {
		struct cgroup *at = bpf_cgroup_ancestor(cgrp, level);

		if (!at)
			continue;
		ids |= (at->kn->id & 15) << 4 * (level & 15);
		bpf_cgroup_release(at);
	}
	return ids;
}

static u64 walk(void)
{
	struct cgroup *from = bpf_cgroup_from_id(start);
	struct cgroup_subsys_state *at;
	struct bpf_iter_css it;
	u64 ids = 0;

	if (!from || bpf_iter_css_new(&it, &from->self, way))
		return ~0ULL;
	while ((at = bpf_iter_css_next(&it)))
		ids = ids << 4 | (at->cgroup->kn->id & 15);
	bpf_iter_css_destroy(&it);
	bpf_cgroup_release(from);
	return ids;
}

SEC("struct_ops/cgroups_enqueue")
int cgroups_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	struct cgroup *cgrp = bpf_cgroup_acquire(scx_bpf_task_cgroup(p));
	struct own *own = bpf_cgrp_storage_get(&owns, cgrp, 0, 0);

	if (!own)
		return 0;
	own->n_run++;
	if (stop_at == STORED && own->n_run == own->n_tasks && own->id != 1)
		TELL(task_text, p->pid, own->id, own->n_run, n_cgroups);
	if (stop_at == ANCESTORS)
		TELL(number_text, ancestors(cgrp));
	if (stop_at == WALK)
		TELL(number_text, walk());
	if (stop_at == FOREIGN && first && first != p)
		scx_bpf_task_cgroup(first);
	first = p;
	insert(p, own->id, SCX_SLICE_DFL, ctx[1]);
	bpf_cgroup_release(cgrp);
	bpf_cgroup_release(cgrp);
	return 0;
}

/* Whatever waits, whose ever it is. */
SEC("struct_ops/cgroups_dispatch")
int cgroups_dispatch(u64 *ctx)
{
	for (u32 id = 1; id <= 8; id++) {
		if (stop_at == IN_USE && scx_bpf_dsq_nr_queued(id) > 0)
			scx_bpf_destroy_dsq(id);
		if (bpf_cgroup_from_id(id) && move_to_local(id))
			break;
	}
	return 0;
}

SEC("struct_ops/cgroups_cgroup_exit")
int cgroups_cgroup_exit(u64 *ctx)
{
	struct cgroup *cgrp = (void *)ctx[0];

	bpf_cgrp_storage_delete(&owns, cgrp);
	return 0;
}

/* A queue that is given up may be made again, and one that is not there is passed over. */
SEC("struct_ops.s/cgroups_init")
s32 cgroups_init(u64 *ctx)
{
	if (n_cgroups || scx_bpf_create_dsq(2, -1))
		return -7;
	scx_bpf_destroy_dsq(2);
	scx_bpf_destroy_dsq(77);
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops cgroups_ops = {
	.select_cpu = (void *)cgroups_select_cpu,
	.enqueue = (void *)cgroups_enqueue,
	.dispatch = (void *)cgroups_dispatch,
	.init_task = (void *)cgroups_init_task,
	.cgroup_init = (void *)cgroups_cgroup_init,
	.cgroup_exit = (void *)cgroups_cgroup_exit,
	.init = (void *)cgroups_init,
	.name = "cgroups",
};

/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What schedulers of these tests need of a kernel that knows cgroups, besides scx.h. */
#pragma once

/* The operations, with one more. */
#define sched_ext_ops sched_ext_ops___less
#define scx_init_task_args scx_init_task_args___less
#include "scx.h"
#undef sched_ext_ops
#undef scx_init_task_args

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct kernfs_node {
	u64 id;
};
struct cgroup;
struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};
struct cgroup {
	struct cgroup_subsys_state self;
	s32 level;
	struct kernfs_node *kn;
};
struct scx_init_task_args {
	bool fork;
	struct cgroup *cgroup;
};
struct scx_cgroup_init_args {
	u32 weight;
	u64 bw_period_us;
	u64 bw_quota_us;
	u64 bw_burst_us;
};
struct sched_entity {
	u64 sum_exec_runtime;
};
/* The part of a task_struct that scx.h leaves out. */
struct task_struct___run {
	struct sched_entity se;
};
#pragma clang attribute pop

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	s32 (*cgroup_init)(struct cgroup *cgrp, struct scx_cgroup_init_args *args);
	void (*cgroup_exit)(struct cgroup *cgrp);
	s32 (*init)(void);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

#define SCX_OPS_HAS_CGROUP_WEIGHT (1ULL << 16)
#define BPF_MAP_TYPE_CGRP_STORAGE 32
#define BPF_F_NO_PREALLOC 1
#define BPF_LOCAL_STORAGE_GET_F_CREATE 1
#define BPF_CGROUP_ITER_DESCENDANTS_PRE 2
#define BPF_CGROUP_ITER_DESCENDANTS_POST 3
#define BPF_CGROUP_ITER_ANCESTORS_UP 4

struct bpf_iter_css {
	u64 opaque[3];
} __attribute__((aligned(8)));

extern void scx_bpf_destroy_dsq(u64 dsq_id) __ksym;
extern struct cgroup *scx_bpf_task_cgroup(struct task_struct *p) __ksym;
extern struct cgroup *bpf_cgroup_from_id(u64 id) __ksym;
extern struct cgroup *bpf_cgroup_ancestor(struct cgroup *cgrp, s32 level) __ksym;
extern struct cgroup *bpf_cgroup_acquire(struct cgroup *cgrp) __ksym;
extern void bpf_cgroup_release(struct cgroup *cgrp) __ksym;
extern int bpf_iter_css_new(struct bpf_iter_css *it, struct cgroup_subsys_state *start,
			    u32 flags) __ksym;
extern struct cgroup_subsys_state *bpf_iter_css_next(struct bpf_iter_css *it) __ksym;
extern void bpf_iter_css_destroy(struct bpf_iter_css *it) __ksym;

static void *(*const bpf_cgrp_storage_get)(void *map, struct cgroup *cgrp, void *value,
					   u64 flags) = (void *)210;
static long (*const bpf_cgrp_storage_delete)(void *map, struct cgroup *cgrp) = (void *)211;

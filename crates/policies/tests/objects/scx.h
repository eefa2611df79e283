/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What the schedulers of these tests need of a kernel, and nothing else. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int s32;
typedef long long s64;
typedef _Bool bool;

#define SEC(name) __attribute__((section(name), used))
#define __ksym __attribute__((section(".ksyms")))
#define __weak __attribute__((weak))
#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name

/* Of the kernel's types the fields that are used; a loader finds where they are. */
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct cpumask {
	u64 bits[8];
};
struct sched_ext_entity {
	u64 slice;
	u64 dsq_vtime;
	u32 weight;
	u32 flags;
};
struct task_struct {
	s32 pid;
	u32 flags;
	s32 nr_cpus_allowed;
	const struct cpumask *cpus_ptr;
	char comm[16];
	struct sched_ext_entity scx;
};
struct rq {
	struct task_struct *curr;
};
struct scx_init_task_args {
	bool fork;
};
#pragma clang attribute pop

/* The kernel's interface. */
#define SCX_SLICE_DFL 20000000ULL
#define SCX_SLICE_INF (~0ULL)
#define SCX_DSQ_GLOBAL 0x8000000000000001ULL
#define SCX_DSQ_LOCAL 0x8000000000000002ULL
#define SCX_DSQ_LOCAL_ON 0xc000000000000000ULL
#define SCX_ENQ_PREEMPT (1ULL << 32)
#define SCX_ENQ_REENQ (1ULL << 40)
#define SCX_KICK_IDLE 1ULL
#define SCX_KICK_PREEMPT 2ULL
#define SCX_OPS_ENQ_LAST 2ULL

struct sched_ext_ops {
	s32 (*select_cpu)(struct task_struct *p, s32 prev, u64 wake_flags);
	void (*enqueue)(struct task_struct *p, u64 enq_flags);
	void (*dequeue)(struct task_struct *p, u64 deq_flags);
	void (*dispatch)(s32 cpu, struct task_struct *prev);
	void (*tick)(struct task_struct *p);
	void (*runnable)(struct task_struct *p, u64 enq_flags);
	void (*running)(struct task_struct *p);
	void (*stopping)(struct task_struct *p, bool runnable);
	void (*quiescent)(struct task_struct *p, u64 deq_flags);
	void (*update_idle)(s32 cpu, bool idle);
	void (*set_weight)(struct task_struct *p, u32 weight);
	void (*set_cpumask)(struct task_struct *p, const struct cpumask *mask);
	void (*cpu_release)(s32 cpu, void *args);
	s32 (*init_task)(struct task_struct *p, struct scx_init_task_args *args);
	void (*exit_task)(struct task_struct *p, void *args);
	void (*enable)(struct task_struct *p);
	void (*disable)(struct task_struct *p);
	s32 (*init)(void);
	void (*exit)(void *info);
	u64 flags;
	u32 timeout_ms;
	char name[128];
};

extern s32 scx_bpf_create_dsq(u64 dsq_id, s32 node) __ksym;
extern s32 scx_bpf_select_cpu_dfl(struct task_struct *p, s32 prev, u64 wake_flags,
				  bool *is_idle) __ksym;
extern s32 scx_bpf_dsq_nr_queued(u64 dsq_id) __ksym;
extern void scx_bpf_kick_cpu(s32 cpu, u64 flags) __ksym;
extern s32 scx_bpf_task_cpu(struct task_struct *p) __ksym;
extern s32 scx_bpf_pick_idle_cpu(const struct cpumask *mask, u64 flags) __ksym;
extern struct task_struct *bpf_task_from_pid(s32 pid) __ksym;
extern void bpf_task_release(struct task_struct *p) __ksym;
extern void scx_bpf_error_bstr(char *fmt, u64 *data, u32 len) __ksym;

/* Names before and since 6.13. */
extern void scx_bpf_dispatch(struct task_struct *p, u64 dsq_id, u64 slice,
			     u64 enq_flags) __ksym __weak;
extern void scx_bpf_dispatch_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				   u64 enq_flags) __ksym __weak;
extern bool scx_bpf_consume(u64 dsq_id) __ksym __weak;
extern void scx_bpf_dsq_insert(struct task_struct *p, u64 dsq_id, u64 slice,
			       u64 enq_flags) __ksym __weak;
extern void scx_bpf_dsq_insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				     u64 enq_flags) __ksym __weak;
extern bool scx_bpf_dsq_move_to_local(u64 dsq_id) __ksym __weak;

/* Iterators over queues, and moves of what they find. */
struct bpf_iter_scx_dsq {
	u64 opaque[6];
} __attribute__((aligned(8)));
#define SCX_DSQ_ITER_REV (1ULL << 16)
extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *it, u64 dsq_id, u64 flags) __ksym;
extern struct task_struct *bpf_iter_scx_dsq_next(struct bpf_iter_scx_dsq *it) __ksym;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *it) __ksym;
extern void scx_bpf_dispatch_from_dsq_set_slice(struct bpf_iter_scx_dsq *it,
						u64 slice) __ksym __weak;
extern void scx_bpf_dispatch_from_dsq_set_vtime(struct bpf_iter_scx_dsq *it,
						u64 vtime) __ksym __weak;
extern bool scx_bpf_dispatch_from_dsq(struct bpf_iter_scx_dsq *it, struct task_struct *p,
				      u64 dsq_id, u64 enq_flags) __ksym __weak;
extern bool scx_bpf_dispatch_vtime_from_dsq(struct bpf_iter_scx_dsq *it, struct task_struct *p,
					    u64 dsq_id, u64 enq_flags) __ksym __weak;
extern void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *it, u64 slice) __ksym __weak;
extern void scx_bpf_dsq_move_set_vtime(struct bpf_iter_scx_dsq *it, u64 vtime) __ksym __weak;
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			     u64 enq_flags) __ksym __weak;
extern bool scx_bpf_dsq_move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
				   u64 enq_flags) __ksym __weak;
extern u32 scx_bpf_reenqueue_local(void) __ksym;

static inline bool move(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id)
{
	if (scx_bpf_dsq_move)
		return scx_bpf_dsq_move(it, p, dsq_id, 0);
	return scx_bpf_dispatch_from_dsq(it, p, dsq_id, 0);
}

static inline bool move_vtime(struct bpf_iter_scx_dsq *it, struct task_struct *p, u64 dsq_id,
			      u64 slice, u64 vtime)
{
	if (scx_bpf_dsq_move_vtime) {
		scx_bpf_dsq_move_set_slice(it, slice);
		scx_bpf_dsq_move_set_vtime(it, vtime);
		return scx_bpf_dsq_move_vtime(it, p, dsq_id, 0);
	}
	scx_bpf_dispatch_from_dsq_set_slice(it, slice);
	scx_bpf_dispatch_from_dsq_set_vtime(it, vtime);
	return scx_bpf_dispatch_vtime_from_dsq(it, p, dsq_id, 0);
}

static inline void insert(struct task_struct *p, u64 dsq_id, u64 slice, u64 enq_flags)
{
	if (scx_bpf_dsq_insert)
		scx_bpf_dsq_insert(p, dsq_id, slice, enq_flags);
	else
		scx_bpf_dispatch(p, dsq_id, slice, enq_flags);
}

static inline void insert_vtime(struct task_struct *p, u64 dsq_id, u64 slice, u64 vtime,
				u64 enq_flags)
{
	if (scx_bpf_dsq_insert_vtime)
		scx_bpf_dsq_insert_vtime(p, dsq_id, slice, vtime, enq_flags);
	else
		scx_bpf_dispatch_vtime(p, dsq_id, slice, vtime, enq_flags);
}

/* The kernel's choice; a task for which it is an idle CPU goes there at once. */
static inline s32 select_idle(u64 *ctx, u64 slice)
{
	struct task_struct *p = (void *)ctx[0];
	bool is_idle = 0;
	s32 cpu = scx_bpf_select_cpu_dfl(p, ctx[1], ctx[2], &is_idle);

	if (is_idle)
		insert(p, SCX_DSQ_LOCAL, slice, 0);
	return cpu;
}

static inline bool move_to_local(u64 dsq_id)
{
	if (scx_bpf_dsq_move_to_local)
		return scx_bpf_dsq_move_to_local(dsq_id);
	return scx_bpf_consume(dsq_id);
}

static long (*const bpf_map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*const bpf_map_pop_elem)(void *map, void *value) = (void *)88;

char LICENSE[] SEC("license") = "Dual MIT/GPL";

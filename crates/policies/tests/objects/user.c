/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Its process decides: tasks go out by one ring, and come back by another in the order to run. */
#include "scx.h"

#define MAP_RINGBUF 27
#define MAP_USER_RINGBUF 31
#define SHARED 1

extern u32 scx_bpf_dispatch_nr_slots(void) __ksym;

struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static long (*const bpf_dynptr_read)(void *dst, u32 len, const struct bpf_dynptr *src, u32 offset,
				     u64 flags) = (void *)201;
static long (*const bpf_user_ringbuf_drain)(void *ring, void *callback, void *ctx,
					    u64 flags) = (void *)209;

struct {
	__uint(type, MAP_RINGBUF);
	__uint(max_entries, 65536);
} waiting SEC(".maps");

struct {
	__uint(type, MAP_USER_RINGBUF);
	__uint(max_entries, 65536);
} decided SEC(".maps");

struct told {
	u64 n_back;
	u32 mark;
	s32 cpu;
};

/* What has gone out by one ring and come back by the other; user space marks its way. */
u64 n_sent, n_back, n_seen;
u64 seen_cpus[8];

/* The kernel's own choice would run tasks at once where a CPU is idle. */
SEC("struct_ops/user_select_cpu")
s32 user_select_cpu(u64 *ctx)
{
	return ctx[1];
}

SEC("struct_ops/user_enqueue")
int user_enqueue(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];
	s32 *pid = bpf_ringbuf_reserve(&waiting, sizeof(*pid), 0);

	if (!pid) {
		insert(p, SHARED, SCX_SLICE_DFL, ctx[1]);
		return 0;
	}
	*pid = p->pid;
	n_sent++;
	bpf_ringbuf_submit(pid, 0);
	return 0;
}

static long take(struct bpf_dynptr *order, void *ctx)
{
	struct task_struct *p;
	s32 pid;

	if (bpf_dynptr_read(&pid, sizeof(pid), order, 0, 0))
		return 1;
	n_back++;
	p = bpf_task_from_pid(pid);
	if (!p)
		return 0;
	insert(p, SHARED, SCX_SLICE_DFL, 0);
	bpf_task_release(p);
	/* The others stay in the ring. */
	return !scx_bpf_dispatch_nr_slots();
}

SEC("struct_ops/user_dispatch")
int user_dispatch(u64 *ctx)
{
	bpf_user_ringbuf_drain(&decided, take, 0, 0);
	move_to_local(SHARED);
	return 0;
}

/* Wakes a CPU, which drains the ring. */
SEC("syscall")
s32 wake(struct told *told)
{
	if (told->mark != 7)
		return -22;
	scx_bpf_kick_cpu(told->cpu, SCX_KICK_IDLE);
	told->n_back = n_back;
	return 0;
}

SEC("struct_ops.s/user_init")
s32 user_init(u64 *ctx)
{
	return scx_bpf_create_dsq(SHARED, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops user_ops = {
	.select_cpu = (void *)user_select_cpu,
	.enqueue = (void *)user_enqueue,
	.dispatch = (void *)user_dispatch,
	.init = (void *)user_init,
	.timeout_ms = 100,
	.name = "user",
};

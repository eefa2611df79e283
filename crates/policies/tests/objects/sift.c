/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* A timer sifts: what has waited in one queue is moved to another one, half of it at a time. It
   checks what iterators tell, and gives up if that is wrong. */
#include "scx.h"

#define FRESH 1
#define OLD 2
#define PERIOD_NS 500000

struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));

static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static long (*const bpf_timer_start)(struct bpf_timer *timer, u64 ns, u64 flags) = (void *)171;
static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;

struct clock {
	struct bpf_timer timer;
};

struct {
	__uint(type, 2); /* an array */
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct clock);
} clocks SEC(".maps");

const volatile u32 fault;
const char text[] = "wrong: %llu, %llu, %llu";
static u64 n_moved;

SEC("struct_ops/sift_enqueue")
int sift_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], FRESH, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops/sift_dispatch")
int sift_dispatch(u64 *ctx)
{
	if (!move_to_local(OLD))
		move_to_local(FRESH);
	return 0;
}

static inline u32 count(u64 dsq, u64 flags, s32 *first, s32 *last)
{
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;
	u32 n = 0;

	bpf_iter_scx_dsq_new(&it, dsq, flags);
	while ((p = bpf_iter_scx_dsq_next(&it)) && n < 4096) {
		if (!n++)
			*first = p->pid;
		*last = p->pid;
	}
	bpf_iter_scx_dsq_destroy(&it);
	return n;
}

static int sift(void *map, u32 *key, struct clock *clock)
{
	s32 first = 0, last = 0, back_first = 0, back_last = 0;
	u32 n = count(FRESH, 0, &first, &last), moved = 0, seen = 0;
	u32 back = count(FRESH, SCX_DSQ_ITER_REV, &back_first, &back_last);
	u32 left, queued = scx_bpf_dsq_nr_queued(FRESH);
	struct bpf_iter_scx_dsq it;
	struct task_struct *p;

	if (n != back || n != queued || first != back_last || last != back_first) {
		u64 all[3] = { n, back, queued };

		scx_bpf_error_bstr((char *)text, all, sizeof(all));
	}
	bpf_iter_scx_dsq_new(&it, FRESH, 0);
	while ((p = bpf_iter_scx_dsq_next(&it)) && seen < 4096)
		if (seen++ % 2 == 0)
			moved += move(&it, p, OLD);
	bpf_iter_scx_dsq_destroy(&it);
	n_moved += moved;
	left = scx_bpf_dsq_nr_queued(FRESH);
	if (seen != queued || moved != (queued + 1) / 2 || left + moved != queued + (fault == 1)) {
		u64 all[3] = { seen, moved, left };

		scx_bpf_error_bstr((char *)text, all, sizeof(all));
	}
	bpf_timer_start(&clock->timer, fault == 2 ? 0 : PERIOD_NS, 0);
	return 0;
}

SEC("struct_ops.s/sift_init")
s32 sift_init(u64 *ctx)
{
	u32 key = 0;
	struct clock *clock = bpf_map_lookup_elem(&clocks, &key);
	s32 error = scx_bpf_create_dsq(FRESH, -1);

	if (!clock || error)
		return -2;
	bpf_timer_init(&clock->timer, &clocks, 0);
	bpf_timer_set_callback(&clock->timer, sift);
	bpf_timer_start(&clock->timer, PERIOD_NS, 0);
	return scx_bpf_create_dsq(OLD, -1);
}

SEC(".struct_ops.link")
struct sched_ext_ops sift_ops = {
	.enqueue = (void *)sift_enqueue,
	.dispatch = (void *)sift_dispatch,
	.init = (void *)sift_init,
	.name = "sift",
};

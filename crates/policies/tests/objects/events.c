/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* It has the kernel enqueue, reads what the kernel has counted of that, and tells it by an error at
   the end. */
#include "scx.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
/* Not in the kernel's order, and not all. */
struct scx_event_stats {
	s64 SCX_EV_REFILL_SLICE_DFL;
	s64 SCX_EV_DISPATCH_KEEP_LAST;
	s64 SCX_EV_SELECT_CPU_FALLBACK;
	s64 SCX_EV_BYPASS_ACTIVATE;
	s64 room[8];
};
#pragma clang attribute pop

extern void scx_bpf_events(struct scx_event_stats *events, u64 bytes) __ksym;

/* 1: it chooses CPUs that tasks may not use. */
const volatile u32 fault;
const volatile u32 nr_cpu_ids = 1;
const volatile u32 n_told = 200;
const char text[] = "refilled %lld, kept %lld, fell back %lld, bypassed %lld, of %lld";
static u64 n_stopped;

SEC("struct_ops/events_select_cpu")
s32 events_select_cpu(u64 *ctx)
{
	struct task_struct *p = (void *)ctx[0];

	for (u32 cpu = 0; cpu < 64 && cpu < nr_cpu_ids && fault == 1; cpu++)
		if (!(p->cpus_ptr->bits[0] >> cpu & 1))
			return cpu;
	return ctx[1];
}

SEC("struct_ops/events_stopping")
int events_stopping(u64 *ctx)
{
	struct scx_event_stats e = {};

	if (++n_stopped == n_told) {
		scx_bpf_events(&e, sizeof(e));
		u64 all[5] = { e.SCX_EV_REFILL_SLICE_DFL, e.SCX_EV_DISPATCH_KEEP_LAST,
			       e.SCX_EV_SELECT_CPU_FALLBACK, e.SCX_EV_BYPASS_ACTIVATE, n_stopped };

		scx_bpf_error_bstr((char *)text, all, sizeof(all));
	}
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops events_ops = {
	.select_cpu = (void *)events_select_cpu,
	.stopping = (void *)events_stopping,
	.name = "events",
};

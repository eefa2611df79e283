/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What its loader does not tell it before the start, it misses. */
#include "scx.h"

#define CPUS_MAX 512

struct place {
	s32 cpu;
	s32 sibling;
	u16 llc;
	u8 node;
};

struct mode {
	u64 number;
	struct {
		bool on;
		s32 level;
	} part[2];
};

const volatile u32 nr_cpu_ids = 1;
/* The sums that come out on the machine of the test. */
const volatile u64 siblings = 0;
const volatile u64 llcs = 0;
const char text[] = "told %llu of the siblings and %llu of the LLCs";
static u64 n_told, sum_of_siblings, sum_of_llcs;
static s32 level;

SEC("syscall")
s32 tell(struct place *place)
{
	if (place->cpu < 0 || place->cpu >= nr_cpu_ids || place->cpu != n_told)
		return -22;
	n_told++;
	sum_of_siblings += (place->sibling + 1) * (place->cpu + 1);
	sum_of_llcs += place->llc * (place->cpu + 1) + place->node;
	return 0;
}

SEC("?syscall")
s32 set_mode(struct mode *mode)
{
	if (mode->number != 5 || mode->part[0].level || !mode->part[1].on)
		return -7;
	level = mode->part[1].level;
	return 0;
}

SEC("struct_ops/start_enqueue")
int start_enqueue(u64 *ctx)
{
	insert((void *)ctx[0], SCX_DSQ_GLOBAL, SCX_SLICE_DFL, ctx[1]);
	return 0;
}

SEC("struct_ops.s/start_init")
s32 start_init(u64 *ctx)
{
	u64 all[2] = { sum_of_siblings, sum_of_llcs };

	if (sum_of_siblings != siblings || sum_of_llcs != llcs)
		scx_bpf_error_bstr((char *)text, all, sizeof(all));
	return level == -3 ? 0 : -1;
}

SEC(".struct_ops.link")
struct sched_ext_ops start_ops = {
	.enqueue = (void *)start_enqueue,
	.init = (void *)start_init,
	.name = "start",
};

/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Global variables of all sections, and functions of all kinds. */
#include "lab.h"

const volatile u32 slice_us = 20;
const volatile bool is_wide;
const volatile u64 table[4] = { 1, 20, 300, 4000 };
u64 counter = 5;
u64 zeroed;
static u64 hidden_count;
struct pair {
	u32 first;
	s16 second;
} pair = { 7, -3 };

private(LOCKED) u64 in_own_section;

u64 per_cpu_counts[1] SEC(".data.per_cpu_counts") = { 3 };

__noinline u64 shared_add(u64 a, u64 b)
{
	return a + b + hidden_count++;
}

static __noinline u64 twice(u64 a)
{
	return shared_add(a, a);
}

SEC("syscall")
u64 read_rodata(void *ctx)
{
	u64 sum = slice_us;

	for (int i = 0; i < 4; i++)
		sum += table[i];
	return is_wide ? sum * 1000 : sum;
}

SEC("syscall")
u64 write_globals(void *ctx)
{
	counter += 1;
	zeroed += 2;
	pair.second -= 1;
	in_own_section = counter * 100;
	return counter * 1000 + zeroed * 10 - pair.second;
}

SEC("syscall")
u64 call_functions(void *ctx)
{
	return twice(10) + twice(20);
}

SEC("syscall")
u64 compare_text(void *ctx)
{
	char text[8] = "bpf";

	return bpf_strncmp(text, sizeof(text), "bpf") == 0 &&
	       bpf_strncmp(text, sizeof(text), "bpg") < 0;
}

SEC("syscall")
u64 read_context(u64 *ctx)
{
	return ctx[0] * 100 + ctx[1];
}

SEC("syscall")
u64 count(u32 *ctx)
{
	u32 cpu = ctx[0];

	barrier_var(cpu);
	return per_cpu_counts[cpu]++;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What a kernel may lack, behind all kinds of guards. */
#include "lab.h"

const volatile bool use_new;
const volatile u32 level = 2;
u32 unknown;

struct gone {
	int x;
} __attribute__((preserve_access_index));

/* A perf event array: no map that is known. */
struct { __uint(type, 4); __uint(max_entries, 4); __type(key, u32); __type(value, u32); } unknown_map SEC(".maps");

extern u64 lab_new(u64 n) __ksym __weak;
extern u64 lab_double___v1(u64 n) __ksym __weak;
extern u64 lab_double___v2(u64 n, u64 more) __ksym __weak;

static __noinline u64 far_away(u64 n, bool is_there)
{
	return is_there ? lab_new(n) : n + 1;
}

SEC("?syscall")
u64 by_constant(void *ctx)
{
	if (use_new)
		return lab_new(1);
	return 2;
}

SEC("?syscall")
u64 by_comparison(void *ctx)
{
	if (level > 3 || level == 1)
		return lab_new(1);
	return 3;
}

SEC("?syscall")
u64 by_argument(void *ctx)
{
	return far_away(10, use_new);
}

SEC("?syscall")
u64 by_both(struct gone *g)
{
	if (!use_new && __builtin_preserve_field_info(g->x, 2))
		return g->x;
	return 4;
}

SEC("?syscall")
u64 by_version(void *ctx)
{
	if (lab_double___v2)
		return lab_double___v2(20, 1);
	if (lab_double___v1)
		return lab_double___v1(10);
	return 0;
}

SEC("?syscall")
u64 by_variable(void *ctx)
{
	if (unknown)
		return lab_new(1);
	return 5;
}

SEC("?syscall")
u64 by_map(void *ctx)
{
	u32 key = 0;

	if (use_new)
		return bpf_map_lookup_elem(&unknown_map, &key) != NULL;
	return 6;
}

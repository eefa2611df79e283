/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Masks of CPUs: own ones, and one of the kernel. */
#include "lab.h"

struct cpumask;
struct bpf_cpumask {
	u64 opaque;
};

extern struct bpf_cpumask *bpf_cpumask_create(void) __ksym;
extern void bpf_cpumask_release(struct bpf_cpumask *mask) __ksym;
extern u32 bpf_cpumask_first(const struct cpumask *mask) __ksym;
extern u32 bpf_cpumask_first_zero(const struct cpumask *mask) __ksym;
extern u32 bpf_cpumask_first_and(const struct cpumask *a, const struct cpumask *b) __ksym;
extern void bpf_cpumask_set_cpu(u32 cpu, struct bpf_cpumask *mask) __ksym;
extern void bpf_cpumask_clear_cpu(u32 cpu, struct bpf_cpumask *mask) __ksym;
extern bool bpf_cpumask_test_cpu(u32 cpu, const struct cpumask *mask) __ksym;
extern bool bpf_cpumask_test_and_set_cpu(u32 cpu, struct bpf_cpumask *mask) __ksym;
extern void bpf_cpumask_setall(struct bpf_cpumask *mask) __ksym;
extern void bpf_cpumask_clear(struct bpf_cpumask *mask) __ksym;
extern bool bpf_cpumask_and(struct bpf_cpumask *to, const struct cpumask *a,
			    const struct cpumask *b) __ksym;
extern void bpf_cpumask_copy(struct bpf_cpumask *to, const struct cpumask *from) __ksym;
extern bool bpf_cpumask_empty(const struct cpumask *mask) __ksym;
extern bool bpf_cpumask_full(const struct cpumask *mask) __ksym;
extern bool bpf_cpumask_subset(const struct cpumask *a, const struct cpumask *b) __ksym;
extern bool bpf_cpumask_equal(const struct cpumask *a, const struct cpumask *b) __ksym;
extern bool bpf_cpumask_intersects(const struct cpumask *a, const struct cpumask *b) __ksym;
extern u32 bpf_cpumask_weight(const struct cpumask *mask) __ksym;

#define cast(mask) ((const struct cpumask *)(mask))

/* With 130 CPUs. The context has the kernel's mask: 3, 64, 129. */
SEC("syscall")
u64 masks(u64 *ctx)
{
	const struct cpumask *allowed = (void *)ctx[0];
	struct bpf_cpumask *m = bpf_cpumask_create();

	if (!m || bpf_cpumask_first(cast(m)) != 130 || !bpf_cpumask_empty(cast(m)))
		return 1;
	bpf_cpumask_setall(m);
	if (bpf_cpumask_weight(cast(m)) != 130 || !bpf_cpumask_full(cast(m)))
		return 2;
	if (bpf_cpumask_first_zero(cast(m)) != 130 || bpf_cpumask_test_cpu(130, cast(m)))
		return 3;
	bpf_cpumask_clear_cpu(0, m);
	bpf_cpumask_clear_cpu(64, m);
	if (bpf_cpumask_first_zero(cast(m)) != 0 || bpf_cpumask_test_cpu(64, cast(m)))
		return 4;
	if (!bpf_cpumask_and(m, cast(m), allowed) || bpf_cpumask_weight(cast(m)) != 2)
		return 5;
	if (!bpf_cpumask_subset(cast(m), allowed) || bpf_cpumask_subset(allowed, cast(m)))
		return 6;
	bpf_cpumask_clear_cpu(3, m);
	if (bpf_cpumask_first_and(cast(m), allowed) != 129)
		return 7;
	if (bpf_cpumask_test_and_set_cpu(64, m) || !bpf_cpumask_test_and_set_cpu(64, m))
		return 8;
	bpf_cpumask_copy(m, allowed);
	if (!bpf_cpumask_equal(cast(m), allowed) || !bpf_cpumask_intersects(cast(m), allowed))
		return 9;
	bpf_cpumask_release(m);
	m = bpf_cpumask_create();
	u64 first = m ? bpf_cpumask_first(cast(m)) : 0;
	if (m)
		bpf_cpumask_release(m);
	return first * 1000 + bpf_cpumask_first(allowed);
}

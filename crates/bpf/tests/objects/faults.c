/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What goes wrong, and where. */
#include "lab.h"

struct task {
	u64 id;
	u64 count;
};

const volatile u64 constant = 3;

static __noinline void spoil(struct task *t)
{
	t->count = 1; /* the bad store */
}

SEC("syscall")
u64 store_null(void *ctx)
{
	spoil((void *)0);
	return 0;
}

SEC("syscall")
u64 store_constant(void *ctx)
{
	*(volatile u64 *)&constant = 4;
	return 0;
}

SEC("syscall")
u64 load_null(void *ctx)
{
	struct task *t = NULL;
	u64 sum = 0;

	for (int i = 0; i < 3; i++) {
		barrier_var(t);
		sum += t->count;
	}
	return sum + 8;
}

SEC("syscall")
u64 forever(void *ctx)
{
	u64 n = 0;

	for (;;) {
		n++;
		barrier_var(n);
	}
	return n;
}

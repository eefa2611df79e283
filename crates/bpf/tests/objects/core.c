/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* CO-RE: the kernel's types are not those that this was compiled with. */
#include "lab.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct entity {
	u64 slice;
	u64 vtime;
};

enum kind { KIND_A = 1, KIND_B = 2, KIND_NEW = 3 };

struct task {
	int pid;
	struct entity scx;
	u32 cpus[4];
	u32 flags : 3;
	u32 state : 5;
	u32 grown;
	int grown_signed;
	int gone;
	char comm[16];
	union {
		u32 in_union;
		u64 wide;
	};
};

struct task___old {
	long renamed;
};

struct missing {
	int x;
};

typedef struct {
	u32 before;
	u32 value;
} plain_t;

#pragma clang attribute pop

SEC("syscall")
u64 offsets(u64 *ctx)
{
	struct task *p = (void *)ctx[0];

	return p->pid * 1000000ull + p->scx.vtime * 1000 + p->cpus[2] + p->in_union;
}

SEC("syscall")
u64 store(u64 *ctx)
{
	struct task *p = (void *)ctx[0];

	p->scx.slice = 77;
	return p->scx.slice;
}

/* The kernel's field has 8 bytes, this one 4: the load is made wider. */
SEC("syscall")
u64 sizes(u64 *ctx)
{
	struct task *p = (void *)ctx[0];

	return field_size(p->grown) * 100000 + field_size(p->comm) * 1000 + (u32)p->grown;
}

SEC("syscall")
u64 bits(u64 *ctx)
{
	struct task *p = (void *)ctx[0];
	u64 value = 0;

	switch (field_size(p->state)) {
	case 1: value = *(u8 *)((void *)p + field_offset(p->state)); break;
	case 2: value = *(u16 *)((void *)p + field_offset(p->state)); break;
	case 4: value = *(u32 *)((void *)p + field_offset(p->state)); break;
	case 8: value = *(u64 *)((void *)p + field_offset(p->state)); break;
	}
	value <<= field_lshift(p->state);
	return value >> field_rshift(p->state);
}

SEC("syscall")
u64 existence(u64 *ctx)
{
	struct task *p = (void *)ctx[0];
	struct task___old *old = (void *)p;
	u64 sum = 0;

	if (field_exists(p->pid))
		sum += 1;
	if (field_exists(p->gone))
		sum += 10 + p->gone;
	if (field_exists(old->renamed))
		sum += 100 + old->renamed;
	if (type_exists(struct task))
		sum += 1000;
	if (type_exists(struct missing))
		sum += 10000;
	if (enum_exists(enum kind, KIND_B))
		sum += 100000 * enum_value(enum kind, KIND_B);
	if (enum_exists(enum kind, KIND_NEW))
		sum += 10000000 * enum_value(enum kind, KIND_NEW);
	return sum;
}

SEC("syscall")
u64 type_info(u64 *ctx)
{
	struct task *p = (void *)ctx[0];

	return type_size(struct task) * 10 + field_signed(p->pid) + type_size(struct missing);
}

SEC("?syscall")
u64 by_typedef(u64 *ctx)
{
	plain_t *p = (void *)ctx[0];

	return p->value;
}

SEC("?syscall")
u64 narrow(u64 *ctx)
{
	struct task *p = (void *)ctx[0];

	return (u8)p->pid * 1000 + (u16)p->cpus[2];
}

SEC("?syscall")
u64 narrow_grown(u64 *ctx)
{
	struct task *p = (void *)ctx[0];

	return (u8)p->grown;
}

SEC("?syscall")
u64 signed_grown(u64 *ctx)
{
	struct task *p = (void *)ctx[0];

	return p->grown_signed;
}

SEC("?syscall")
u64 unguarded(u64 *ctx)
{
	struct task *p = (void *)ctx[0];

	return p->gone;
}

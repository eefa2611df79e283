/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Instructions of version 4, compiled with -mcpu=v4. */
#include "lab.h"

s64 a = -7, b = 2;
s8 small = -3;
s16 medium = -300;
s32 normal = -30000;
u32 word = 0x01020304;
u64 n_seen;

SEC("syscall")
u64 division(void *ctx)
{
	return (u64)(a / b) * 100 + (u64)(a % b);
}

SEC("syscall")
u64 signs(void *ctx)
{
	return (s64)small + medium + normal;
}

SEC("syscall")
u64 bytes(void *ctx)
{
	return __builtin_bswap32(word) + __builtin_bswap64(word);
}

SEC("syscall")
u64 atomics(void *ctx)
{
	u64 old = __sync_fetch_and_add(&n_seen, 5);

	old = old * 10 + __sync_fetch_and_or(&n_seen, 2);
	old = old * 10 + __sync_lock_test_and_set(&n_seen, 9);
	old = old * 10 + __sync_val_compare_and_swap(&n_seen, 9, 4);
	return old * 10 + n_seen;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Callbacks, loops, text, time; what comes from the host. */
#include "lab.h"

struct context {
	u64 sum;
	u32 stop_at;
};

static long step(u32 i, struct context *c)
{
	c->sum += i;
	return i == c->stop_at;
}

SEC("syscall")
u64 loop(void *ctx)
{
	struct context c = { 0, 100 }, stopped = { 0, 4 };
	long n = bpf_loop(10, step, &c, 0);
	long m = bpf_loop(10, step, &stopped, 0);

	return c.sum * 100000 + n * 1000 + stopped.sum * 10 + m;
}

static long inner_step(u32 i, u64 *sum)
{
	*sum += 1;
	return 0;
}

static long outer_step(u32 i, u64 *sum)
{
	bpf_loop(i, inner_step, sum, 0);
	return 0;
}

SEC("syscall")
u64 nested(void *ctx)
{
	u64 sum = 0, kept = 42;

	barrier_var(kept);
	bpf_loop(5, outer_step, &sum, 0);
	return kept * 100 + sum;
}

SEC("syscall")
u64 numbers(void *ctx)
{
	struct bpf_iter_num it;
	u64 sum = 0;
	int *v;

	bpf_iter_num_new(&it, 3, 7);
	while ((v = bpf_iter_num_next(&it)))
		sum = sum * 10 + *v;
	bpf_iter_num_destroy(&it);
	if (bpf_iter_num_new(&it, 7, 3) != -22 || bpf_iter_num_next(&it))
		return 0;
	return sum;
}

SEC("syscall")
u64 text(void *ctx)
{
	static const char fmt[] = "%d|%5u|%-4x|%s|%llx|%c|%%";
	char out[64], word[] = "word";
	u64 args[] = { (u64)-5, 42, 0xbe, (u64)word, 1ull << 40, 'z' };
	long n = bpf_snprintf(out, sizeof(out), fmt, args, sizeof(args));
	static const char line[] = "cpu %d at %llu\n";

	bpf_trace_printk(line, sizeof(line), bpf_get_smp_processor_id(), bpf_ktime_get_ns());
	return bpf_strncmp(out, sizeof(out), "-5|   42|be  |word|10000000000|z|%") == 0 ? n : 1000 + n;
}

SEC("syscall")
u64 probe(u64 *ctx)
{
	u64 value = 99;
	char name[8] = {};

	if (bpf_probe_read_kernel(&value, sizeof(value), (void *)16) != -14 || value)
		return 1;
	if (bpf_probe_read_kernel(&value, sizeof(value), (void *)ctx[0]))
		return 2;
	long n = bpf_probe_read_kernel_str(name, sizeof(name), "abc");
	char gone[4] = "xyz";

	if (bpf_probe_read_kernel_str(gone, sizeof(gone), (void *)16) != -14 || gone[1])
		return 3;
	return value * 100 + n * 10 + (name[2] == 'c');
}

SEC("syscall")
u64 endless(void *ctx)
{
	u64 n = 0;

	for (;;) {
		may_goto(out);
		n++;
		barrier_var(n);
	}
out:
	return n;
}

extern u64 lab_sleep(u64 ns) __ksym;
extern u64 lab_double(u64 n) __ksym;
extern u64 lab_new(u64 n) __ksym __weak;

static long sleepy(u32 i, u64 *sum)
{
	*sum += lab_sleep(i);
	return 0;
}

SEC("syscall")
u64 suspended(void *ctx)
{
	u64 sum = lab_sleep(100);

	bpf_loop(3, sleepy, &sum, 0);
	return sum + lab_double(1000);
}

SEC("syscall")
u64 weak(void *ctx)
{
	if (lab_new)
		return lab_new(5);
	return 1;
}

extern u64 lab_ask(u64 *answer) __ksym;

SEC("syscall")
u64 asks(void *ctx)
{
	u64 answer = 1, n = lab_ask(&answer);

	return n * 100 + answer;
}

extern int LINUX_KERNEL_VERSION __kconfig;
extern bool CONFIG_NOT_THERE __kconfig __weak;
extern const int lab_variable __ksym;

SEC("syscall")
u64 options(void *ctx)
{
	int value = 0;

	bpf_probe_read_kernel(&value, sizeof(value), &lab_variable);
	return LINUX_KERNEL_VERSION * 10 + CONFIG_NOT_THERE + value * 1000000ull;
}

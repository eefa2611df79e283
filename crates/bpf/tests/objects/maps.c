/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Every kind of map that holds values. */
#include "lab.h"

struct value {
	u64 n;
	struct bpf_spin_lock lock;
	u32 m;
};

struct { __uint(type, MAP_ARRAY); __uint(max_entries, 4); __type(key, u32); __type(value, struct value); } array SEC(".maps");
struct { __uint(type, MAP_HASH); __uint(max_entries, 3); __type(key, u64); __type(value, u32); } hash SEC(".maps");
struct { __uint(type, MAP_LRU_HASH); __uint(max_entries, 3); __type(key, u32); __type(value, u32); } lru SEC(".maps");
struct { __uint(type, MAP_PERCPU_ARRAY); __uint(max_entries, 2); __type(key, u32); __type(value, u64); } percpu SEC(".maps");
struct { __uint(type, MAP_PERCPU_HASH); __uint(max_entries, 2); __type(key, u32); __type(value, u64); } percpu_hash SEC(".maps");
struct { __uint(type, MAP_QUEUE); __uint(max_entries, 3); __type(value, u32); } queue SEC(".maps");
struct { __uint(type, MAP_STACK); __uint(max_entries, 3); __type(value, u32); } stack SEC(".maps");
struct { __uint(type, MAP_TASK_STORAGE); __uint(map_flags, 1); __type(key, int); __type(value, u64); } storage SEC(".maps");

struct inner { __uint(type, MAP_ARRAY); __uint(max_entries, 2); __type(key, u32); __type(value, u32); };
struct inner inner_a SEC(".maps");
struct inner inner_b SEC(".maps");
struct { __uint(type, MAP_ARRAY_OF_MAPS); __uint(max_entries, 3); __type(key, u32); __array(values, struct inner); }
outer SEC(".maps") = { .values = { [0] = &inner_a, [2] = &inner_b } };
struct { __uint(type, MAP_HASH_OF_MAPS); __uint(max_entries, 3); __type(key, u32); __type(value, u32); __array(values, struct inner); } outer_hash SEC(".maps");

SEC("syscall")
u64 use_array(void *ctx)
{
	u32 key = 2, beyond = 4;
	struct value new = { .n = 1000, .m = 7 }, *v = bpf_map_lookup_elem(&array, &key);

	if (!v || bpf_map_lookup_elem(&array, &beyond))
		return 0;
	v->n += 5;
	bpf_spin_lock(&v->lock);
	bpf_map_update_elem(&array, &key, &new, 0);
	/* The lock stays taken: an update leaves it alone. */
	v->n += v->lock.val;
	bpf_spin_unlock(&v->lock);
	if (bpf_map_update_elem(&array, &key, &new, 1) != -17)
		return 1;
	if (bpf_map_update_elem(&array, &beyond, &new, 0) != -7)
		return 2;
	if (bpf_map_delete_elem(&array, &key) != -22)
		return 3;
	return v->n + v->m + v->lock.val;
}

SEC("syscall")
u64 use_hash(void *ctx)
{
	u64 key;
	u32 one = 1, *v;

	for (key = 10; key < 13; key++)
		if (bpf_map_update_elem(&hash, &key, &one, 0))
			return 1;
	key = 13;
	if (bpf_map_update_elem(&hash, &key, &one, 0) != -7)
		return 2;
	if (bpf_map_update_elem(&hash, &key, &one, 2) != -2)
		return 3;
	key = 11;
	if (bpf_map_update_elem(&hash, &key, &one, 1) != -17)
		return 4;
	v = bpf_map_lookup_elem(&hash, &key);
	if (!v)
		return 5;
	*v = 50;
	if (bpf_map_delete_elem(&hash, &key) || bpf_map_delete_elem(&hash, &key) != -2)
		return 6;
	if (bpf_map_lookup_elem(&hash, &key))
		return 7;
	key = 13;
	if (bpf_map_update_elem(&hash, &key, &one, 0))
		return 8;
	v = bpf_map_lookup_elem(&hash, &key);
	return v ? 100 + *v : 9;
}

SEC("syscall")
u64 use_lru(void *ctx)
{
	u32 key, one = 1;

	for (key = 0; key < 3; key++)
		bpf_map_update_elem(&lru, &key, &one, 0);
	key = 0;
	bpf_map_lookup_elem(&lru, &key);
	key = 3;
	if (bpf_map_update_elem(&lru, &key, &one, 0))
		return 1;
	u32 found = 0;
	for (key = 0; key < 4; key++)
		if (bpf_map_lookup_elem(&lru, &key))
			found |= 1 << key;
	return found;
}

SEC("syscall")
u64 use_percpu(void *ctx)
{
	u32 key = 1, h = 77;
	u64 seven = 7, *own = bpf_map_lookup_elem(&percpu, &key), *other;

	if (!own)
		return 0;
	*own += 3;
	other = bpf_map_lookup_percpu_elem(&percpu, &key, 3);
	if (!other || bpf_map_lookup_percpu_elem(&percpu, &key, 4))
		return 1;
	*other += 40;
	bpf_map_update_elem(&percpu_hash, &h, &seven, 0);
	u64 *a = bpf_map_lookup_percpu_elem(&percpu_hash, &h, bpf_get_smp_processor_id());
	u64 *b = bpf_map_lookup_percpu_elem(&percpu_hash, &h, 0);
	if (!a || !b)
		return 2;
	return *a * 100 + *b * 10 + *own;
}

SEC("syscall")
u64 use_lines(void *ctx)
{
	u32 v, sum = 0;

	for (v = 1; v < 5; v++) {
		long full = bpf_map_push_elem(&queue, &v, 0);

		if ((full != 0) != (v == 4))
			return 1;
		bpf_map_push_elem(&stack, &v, 2);
	}
	bpf_map_pop_elem(&queue, &v);
	sum = sum * 10 + v;
	bpf_map_peek_elem(&queue, &v);
	sum = sum * 10 + v;
	bpf_map_pop_elem(&queue, &v);
	sum = sum * 10 + v;
	for (int i = 0; i < 3; i++) {
		bpf_map_pop_elem(&stack, &v);
		sum = sum * 10 + v;
	}
	return bpf_map_pop_elem(&stack, &v) == -2 ? sum : 2;
}

SEC("syscall")
u64 use_storage(u64 *ctx)
{
	void *task = (void *)ctx[0];
	u64 first = 11, *v = bpf_task_storage_get(&storage, task, NULL, 0);

	if (v)
		return 1;
	v = bpf_task_storage_get(&storage, task, &first, 1);
	if (!v)
		return 2;
	*v += 1;
	v = bpf_task_storage_get(&storage, task, NULL, 1);
	u64 sum = v ? *v : 0;
	if (bpf_task_storage_delete(&storage, task) || bpf_task_storage_get(&storage, task, NULL, 0))
		return 3;
	return sum;
}

SEC("syscall")
u64 use_outer(void *ctx)
{
	u32 key = 2, zero = 0, nine = 9, *v;
	void *in = bpf_map_lookup_elem(&outer, &key);

	if (!in)
		return 1;
	bpf_map_update_elem(in, &zero, &nine, 0);
	v = bpf_map_lookup_elem(&inner_b, &zero);
	key = 1;
	if (!v || bpf_map_lookup_elem(&outer, &key))
		return 2;
	key = 8;
	in = bpf_map_lookup_elem(&outer_hash, &key);
	return *v * 10 + (in != NULL);
}

static long add(void *map, u64 *key, u32 *value, u64 *sum)
{
	*sum = *sum * 100 + *key + *value;
	return *key == 22;
}

SEC("syscall")
u64 iterate(void *ctx)
{
	u64 sum = 0, key;
	u32 one = 1;

	for (key = 20; key < 23; key++)
		bpf_map_update_elem(&hash, &key, &one, 0);
	long n = bpf_for_each_map_elem(&hash, add, &sum, 0);
	return sum * 10 + n;
}

static long add_index(void *map, u32 *key, struct value *value, u64 *sum)
{
	*sum += *key;
	return 0;
}

SEC("syscall")
u64 iterate_array(void *ctx)
{
	u64 sum = 0;
	long n = bpf_for_each_map_elem(&array, add_index, &sum, 0);

	return sum * 10 + n;
}

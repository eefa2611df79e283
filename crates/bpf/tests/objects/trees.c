/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* Objects that programs allocate, in trees, lists and maps. */
#include "lab.h"

struct node {
	u64 key;
	u64 order;
	struct bpf_rb_node tree;
	struct bpf_list_node list;
	struct bpf_refcount refs;
};

struct holder {
	struct node __kptr *kept;
	u64 n;
};

struct { __uint(type, MAP_ARRAY); __uint(max_entries, 1); __type(key, u32); __type(value, struct holder); } holders SEC(".maps");
struct { __uint(type, MAP_HASH); __uint(max_entries, 4); __type(key, u32); __type(value, struct holder); } by_key SEC(".maps");

private(TREE) struct bpf_spin_lock lock;
private(TREE) struct bpf_rb_root root __contains(node, tree);
private(LIST) struct bpf_list_head head __contains(node, list);

static bool less(struct bpf_rb_node *a, const struct bpf_rb_node *b)
{
	return container_of(a, struct node, tree)->key < container_of(b, struct node, tree)->key;
}

static __noinline u64 put(u64 key, u64 order)
{
	struct node *n = new_object(struct node);

	if (!n)
		return 1;
	n->key = key;
	n->order = order;
	bpf_spin_lock(&lock);
	bpf_rbtree_add_impl(&root, &n->tree, less, NULL, 0);
	bpf_spin_unlock(&lock);
	return 0;
}

/* The smallest key first; equal ones in the order in which they came. */
SEC("syscall")
u64 sorted(void *ctx)
{
	static const u64 keys[] = { 5, 3, 8, 3, 1, 8 };
	struct bpf_rb_node *first;
	u64 sum = 0;

	for (int i = 0; i < 6; i++)
		put(keys[i], i);
	while ((first = bpf_rbtree_first(&root))) {
		struct node *n = container_of(first, struct node, tree);

		first = bpf_rbtree_remove(&root, first);
		if (!first || bpf_rbtree_remove(&root, first))
			return 0;
		sum = sum * 100 + n->key * 10 + n->order;
		drop_object(n);
	}
	return sum;
}

/* From the root to the smallest. */
SEC("syscall")
u64 walk(void *ctx)
{
	struct bpf_rb_node *at, *right;
	u64 sum = 0;

	for (u64 key = 1; key < 8; key++)
		put(key, 0);
	at = bpf_rbtree_root(&root);
	if (!at)
		return 0;
	right = bpf_rbtree_right(&root, at);
	sum = right ? container_of(right, struct node, tree)->key : 0;
	while (at) {
		sum = sum * 10 + container_of(at, struct node, tree)->key;
		at = bpf_rbtree_left(&root, at);
	}
	while ((at = bpf_rbtree_first(&root)))
		drop_object(container_of(bpf_rbtree_remove(&root, at), struct node, tree));
	return sum;
}

SEC("syscall")
u64 listed(void *ctx)
{
	struct bpf_list_node *l;
	u64 sum = 0;

	for (u64 i = 1; i < 5; i++) {
		struct node *n = new_object(struct node);

		if (!n)
			return 0;
		n->key = i;
		if (i & 1)
			bpf_list_push_back_impl(&head, &n->list, NULL, 0);
		else
			bpf_list_push_front_impl(&head, &n->list, NULL, 0);
	}
	l = bpf_list_pop_back(&head);
	while (l) {
		struct node *n = container_of(l, struct node, list);

		sum = sum * 10 + n->key;
		drop_object(n);
		l = bpf_list_pop_front(&head);
	}
	return sum;
}

SEC("syscall")
u64 kept(void *ctx)
{
	u32 key = 0;
	struct holder *h = bpf_map_lookup_elem(&holders, &key);
	struct node *n = new_object(struct node), *old;

	if (!h || !n)
		return 0;
	n->key = 6;
	if (bpf_kptr_xchg(&h->kept, n))
		return 1;
	old = bpf_kptr_xchg(&h->kept, NULL);
	if (!old || h->kept)
		return 2;
	n = bpf_refcount_acquire_impl(old, NULL);
	drop_object(old);
	u64 sum = n->key;
	drop_object(n);
	return sum;
}

/* What an element holds goes with it: memory does not grow. */
SEC("syscall")
u64 churn(void *ctx)
{
	struct holder empty = {}, *h;
	u32 key = 3;

	for (int i = 0; i < 1000; i++) {
		if (bpf_map_update_elem(&by_key, &key, &empty, 0))
			return 1;
		h = bpf_map_lookup_elem(&by_key, &key);
		struct node *n = new_object(struct node);
		if (!h || !n)
			return 2;
		n = bpf_kptr_xchg(&h->kept, n);
		if (n || bpf_map_delete_elem(&by_key, &key))
			return 3;
	}
	return 4;
}

/* SPDX-License-Identifier: MIT OR Apache-2.0 OR GPL-2.0 */
/* What the objects of these tests need of a kernel, and nothing else. */
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef _Bool bool;

#define NULL ((void *)0)
#define SEC(name) __attribute__((section(name), used))
#define __noinline __attribute__((noinline))
#define __hidden __attribute__((visibility("hidden")))
#define __ksym __attribute__((section(".ksyms")))
#define __kconfig __attribute__((section(".kconfig")))
#define __weak __attribute__((weak))
#define __kptr __attribute__((btf_type_tag("kptr")))
#define __arena __attribute__((address_space(1)))
#define __contains(name, node) __attribute__((btf_decl_tag("contains:" #name ":" #node)))

#define __uint(name, value) int (*name)[value]
#define __type(name, value) typeof(value) *name
#define __array(name, value) typeof(value) *name[]

/* Numbers of map types and helpers are the kernel's interface. */
enum {
	MAP_HASH = 1,
	MAP_ARRAY = 2,
	MAP_PERCPU_HASH = 5,
	MAP_PERCPU_ARRAY = 6,
	MAP_LRU_HASH = 9,
	MAP_ARRAY_OF_MAPS = 12,
	MAP_HASH_OF_MAPS = 13,
	MAP_QUEUE = 22,
	MAP_STACK = 23,
	MAP_RINGBUF = 27,
	MAP_TASK_STORAGE = 29,
	MAP_USER_RINGBUF = 31,
	MAP_CGRP_STORAGE = 32,
	MAP_ARENA = 33,
};

struct bpf_spin_lock {
	u32 val;
};
struct bpf_timer {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_rb_root {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_rb_node {
	u64 opaque[4];
} __attribute__((aligned(8)));
struct bpf_list_head {
	u64 opaque[2];
} __attribute__((aligned(8)));
struct bpf_list_node {
	u64 opaque[3];
} __attribute__((aligned(8)));
struct bpf_refcount {
	u32 opaque[1];
} __attribute__((aligned(4)));
struct bpf_iter_num {
	u64 opaque[1];
} __attribute__((aligned(8)));
struct bpf_dynptr {
	u64 opaque[2];
} __attribute__((aligned(8)));

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value,
					 u64 flags) = (void *)2;
static long (*const bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static long (*const bpf_trace_printk)(const char *fmt, u32 size, ...) = (void *)6;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static u32 (*const bpf_get_smp_processor_id)(void) = (void *)8;
static long (*const bpf_map_push_elem)(void *map, const void *value, u64 flags) = (void *)87;
static long (*const bpf_map_pop_elem)(void *map, void *value) = (void *)88;
static long (*const bpf_map_peek_elem)(void *map, void *value) = (void *)89;
static long (*const bpf_spin_lock)(struct bpf_spin_lock *lock) = (void *)93;
static long (*const bpf_spin_unlock)(struct bpf_spin_lock *lock) = (void *)94;
static long (*const bpf_probe_read_kernel)(void *to, u32 size, const void *from) = (void *)113;
static long (*const bpf_probe_read_kernel_str)(void *to, u32 size, const void *from) = (void *)115;
static long (*const bpf_ringbuf_output)(void *ring, void *data, u64 size, u64 flags) = (void *)130;
static void *(*const bpf_ringbuf_reserve)(void *ring, u64 size, u64 flags) = (void *)131;
static void (*const bpf_ringbuf_submit)(void *data, u64 flags) = (void *)132;
static void (*const bpf_ringbuf_discard)(void *data, u64 flags) = (void *)133;
static void *(*const bpf_task_storage_get)(void *map, void *task, void *value,
					   u64 flags) = (void *)156;
static long (*const bpf_task_storage_delete)(void *map, void *task) = (void *)157;
static long (*const bpf_for_each_map_elem)(void *map, void *callback, void *context,
					   u64 flags) = (void *)164;
static long (*const bpf_snprintf)(char *to, u32 size, const char *fmt, u64 *data,
				  u32 len) = (void *)165;
static long (*const bpf_timer_init)(struct bpf_timer *timer, void *map, u64 flags) = (void *)169;
static long (*const bpf_timer_set_callback)(struct bpf_timer *timer, void *callback) = (void *)170;
static long (*const bpf_timer_start)(struct bpf_timer *timer, u64 ns, u64 flags) = (void *)171;
static long (*const bpf_timer_cancel)(struct bpf_timer *timer) = (void *)172;
static long (*const bpf_loop)(u32 n, void *callback, void *context, u64 flags) = (void *)181;
static long (*const bpf_strncmp)(const char *a, u32 size, const char *b) = (void *)182;
static void *(*const bpf_kptr_xchg)(void *place, void *ptr) = (void *)194;
static void *(*const bpf_map_lookup_percpu_elem)(void *map, const void *key, u32 cpu) = (void *)195;
static long (*const bpf_dynptr_read)(void *to, u32 len, const struct bpf_dynptr *from, u32 off,
				     u64 flags) = (void *)201;
static void *(*const bpf_dynptr_data)(const struct bpf_dynptr *ptr, u32 off, u32 len) = (void *)203;
static long (*const bpf_user_ringbuf_drain)(void *map, void *callback, void *context,
					    u64 flags) = (void *)209;

extern void *bpf_obj_new_impl(u64 type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;
extern void *bpf_refcount_acquire_impl(void *object, void *meta) __ksym;
extern int bpf_rbtree_add_impl(struct bpf_rb_root *root, struct bpf_rb_node *node,
			       bool(less)(struct bpf_rb_node *a, const struct bpf_rb_node *b),
			       void *meta, u64 off) __ksym;
extern struct bpf_rb_node *bpf_rbtree_remove(struct bpf_rb_root *root,
					     struct bpf_rb_node *node) __ksym;
extern struct bpf_rb_node *bpf_rbtree_first(struct bpf_rb_root *root) __ksym;
extern struct bpf_rb_node *bpf_rbtree_root(struct bpf_rb_root *root) __ksym;
extern struct bpf_rb_node *bpf_rbtree_left(struct bpf_rb_root *root,
					   struct bpf_rb_node *node) __ksym;
extern struct bpf_rb_node *bpf_rbtree_right(struct bpf_rb_root *root,
					    struct bpf_rb_node *node) __ksym;
extern int bpf_list_push_front_impl(struct bpf_list_head *head, struct bpf_list_node *node,
				    void *meta, u64 off) __ksym;
extern int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node,
				   void *meta, u64 off) __ksym;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __ksym;
extern struct bpf_list_node *bpf_list_pop_back(struct bpf_list_head *head) __ksym;
extern int bpf_iter_num_new(struct bpf_iter_num *it, int start, int end) __ksym;
extern int *bpf_iter_num_next(struct bpf_iter_num *it) __ksym;
extern void bpf_iter_num_destroy(struct bpf_iter_num *it) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
extern void __arena *bpf_arena_alloc_pages(void *map, void __arena *at, u32 n, int node,
					   u64 flags) __ksym;
extern void bpf_arena_free_pages(void *map, void __arena *at, u32 n) __ksym;

#define LOCAL_TYPE_ID(type) __builtin_btf_type_id(*(typeof(type) *)0, 0)
#define new_object(type) ((type *)bpf_obj_new_impl(LOCAL_TYPE_ID(type), NULL))
#define drop_object(object) bpf_obj_drop_impl(object, NULL)
#define container_of(ptr, type, member) \
	((type *)((void *)(ptr) - __builtin_offsetof(type, member)))
#define private(name) SEC(".data." #name) __hidden __attribute__((aligned(8)))

/* As compilers do it for the existence, the size and the place of fields. */
#define field_exists(field) __builtin_preserve_field_info(field, 2)
#define field_size(field) __builtin_preserve_field_info(field, 1)
#define field_offset(field) __builtin_preserve_field_info(field, 0)
#define field_signed(field) __builtin_preserve_field_info(field, 3)
#define field_lshift(field) __builtin_preserve_field_info(field, 4)
#define field_rshift(field) __builtin_preserve_field_info(field, 5)
#define type_exists(type) __builtin_preserve_type_info(*(typeof(type) *)0, 0)
#define type_size(type) __builtin_preserve_type_info(*(typeof(type) *)0, 1)
#define enum_exists(type, value) __builtin_preserve_enum_value(*(typeof(type) *)value, 0)
#define enum_value(type, value) __builtin_preserve_enum_value(*(typeof(type) *)value, 1)

#define may_goto(label)                                                                            \
	asm volatile goto("may_goto %l[" #label "]" : : : : label)

#define barrier_var(var) asm volatile("" : "+r"(var))

char LICENSE[] SEC("license") = "Dual MIT/GPL";

//! Helpers and kfuncs that need no kernel: those of memory, maps, loops, text, objects and masks.
//!
//! What they do is in the files below; here are their names and numbers.

mod callback;
mod cpumask;
mod map;
mod object;
mod text;

pub(crate) use callback::{Pending, go_on};

use crate::errno;
use crate::fault::FaultKind;
use crate::host::Host;
use crate::map::MapId;
use crate::memory::{FUNCTIONS, Memory, OutOfMemory, offset_of, region_of};
use crate::run::Run;

/// How a native call ends.
pub(crate) enum Outcome {
    Value(u64),
    /// A callback has been entered; its end goes to [`go_on`].
    Entered,
    Fault(FaultKind),
}

impl Outcome {
    fn errno(errno: i64) -> Self {
        Self::Value(errno as u64)
    }
}

impl From<OutOfMemory> for Outcome {
    fn from(full: OutOfMemory) -> Self {
        Self::Fault(full.into())
    }
}

/// A native call under way.
pub(crate) struct Call<'a, H> {
    pub name: &'static str,
    /// `r1` to `r5`
    pub args: [u64; 5],
    pub run: &'a mut Run,
    pub memory: &'a mut Memory,
    pub host: &'a mut H,
}

impl<H: Host> Call<'_, H> {
    fn fault(&self, what: &'static str) -> Outcome {
        Outcome::Fault(FaultKind::Argument { call: self.name, what })
    }

    /// The map that an argument means.
    fn map(&self, arg: usize) -> Result<MapId, Outcome> {
        self.memory.map_at(self.args[arg]).ok_or_else(|| self.fault("this is no map"))
    }

    /// The first instruction of the function that an argument means.
    fn function(&self, arg: usize) -> Result<usize, Outcome> {
        let pointer = self.args[arg];
        let is_one = region_of(pointer) == FUNCTIONS;
        is_one.then(|| offset_of(pointer) as usize).ok_or_else(|| self.fault("this is no function"))
    }

    /// The CPU that executes, as far as there are values for it.
    fn cpu(&mut self) -> u32 {
        self.host.cpu().min(self.memory.n_cpus - 1)
    }
}

/// Does the work of a call that returns an outcome either way.
fn settle(result: Result<Outcome, Outcome>) -> Outcome {
    result.unwrap_or_else(|early| early)
}

macro_rules! natives {
    ($($variant:ident $number:literal $name:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u16)]
        enum Native { $($variant,)* }

        /// Name, number as a helper (0: a kfunc), and what it is.
        const TABLE: &[(&str, u32, Native)] = &[$(($name, $number, Native::$variant),)*];
    };
}

natives! {
    MapLookup 1 "bpf_map_lookup_elem";
    MapUpdate 2 "bpf_map_update_elem";
    MapDelete 3 "bpf_map_delete_elem";
    ProbeRead 4 "bpf_probe_read";
    KtimeGetNs 5 "bpf_ktime_get_ns";
    TracePrintk 6 "bpf_trace_printk";
    Random 7 "bpf_get_prandom_u32";
    Cpu 8 "bpf_get_smp_processor_id";
    ProbeReadStr 45 "bpf_probe_read_str";
    MapPush 87 "bpf_map_push_elem";
    MapPop 88 "bpf_map_pop_elem";
    MapPeek 89 "bpf_map_peek_elem";
    SpinLock 93 "bpf_spin_lock";
    SpinUnlock 94 "bpf_spin_unlock";
    ProbeReadUser 112 "bpf_probe_read_user";
    ProbeReadKernel 113 "bpf_probe_read_kernel";
    ProbeReadUserStr 114 "bpf_probe_read_user_str";
    ProbeReadKernelStr 115 "bpf_probe_read_kernel_str";
    KtimeGetBootNs 125 "bpf_ktime_get_boot_ns";
    RingbufOutput 130 "bpf_ringbuf_output";
    RingbufReserve 131 "bpf_ringbuf_reserve";
    RingbufSubmit 132 "bpf_ringbuf_submit";
    RingbufDiscard 133 "bpf_ringbuf_discard";
    RingbufQuery 134 "bpf_ringbuf_query";
    TaskStorageGet 156 "bpf_task_storage_get";
    TaskStorageDelete 157 "bpf_task_storage_delete";
    KtimeGetCoarseNs 160 "bpf_ktime_get_coarse_ns";
    ForEach 164 "bpf_for_each_map_elem";
    Snprintf 165 "bpf_snprintf";
    TimerInit 169 "bpf_timer_init";
    TimerSetCallback 170 "bpf_timer_set_callback";
    TimerStart 171 "bpf_timer_start";
    TimerCancel 172 "bpf_timer_cancel";
    TraceVprintk 177 "bpf_trace_vprintk";
    Loop 181 "bpf_loop";
    Strncmp 182 "bpf_strncmp";
    KptrXchg 194 "bpf_kptr_xchg";
    MapLookupPercpu 195 "bpf_map_lookup_percpu_elem";
    DynptrFromMem 197 "bpf_dynptr_from_mem";
    DynptrRead 201 "bpf_dynptr_read";
    DynptrWrite 202 "bpf_dynptr_write";
    DynptrData 203 "bpf_dynptr_data";
    KtimeGetTaiNs 208 "bpf_ktime_get_tai_ns";
    UserRingbufDrain 209 "bpf_user_ringbuf_drain";
    CgrpStorageGet 210 "bpf_cgrp_storage_get";
    CgrpStorageDelete 211 "bpf_cgrp_storage_delete";
    ObjNew 0 "bpf_obj_new_impl";
    ObjDrop 0 "bpf_obj_drop_impl";
    RefcountAcquire 0 "bpf_refcount_acquire_impl";
    RbtreeAdd 0 "bpf_rbtree_add_impl";
    RbtreeRemove 0 "bpf_rbtree_remove";
    RbtreeFirst 0 "bpf_rbtree_first";
    RbtreeRoot 0 "bpf_rbtree_root";
    RbtreeLeft 0 "bpf_rbtree_left";
    RbtreeRight 0 "bpf_rbtree_right";
    ListPushFront 0 "bpf_list_push_front_impl";
    ListPushBack 0 "bpf_list_push_back_impl";
    ListPopFront 0 "bpf_list_pop_front";
    ListPopBack 0 "bpf_list_pop_back";
    ListFront 0 "bpf_list_front";
    ListBack 0 "bpf_list_back";
    IterNumNew 0 "bpf_iter_num_new";
    IterNumNext 0 "bpf_iter_num_next";
    IterNumDestroy 0 "bpf_iter_num_destroy";
    RcuReadLock 0 "bpf_rcu_read_lock";
    RcuReadUnlock 0 "bpf_rcu_read_unlock";
    PreemptDisable 0 "bpf_preempt_disable";
    PreemptEnable 0 "bpf_preempt_enable";
    ResSpinLock 0 "bpf_res_spin_lock";
    ResSpinUnlock 0 "bpf_res_spin_unlock";
    ArenaAllocPages 0 "bpf_arena_alloc_pages";
    ArenaFreePages 0 "bpf_arena_free_pages";
    CpumaskCreate 0 "bpf_cpumask_create";
    CpumaskRelease 0 "bpf_cpumask_release";
    CpumaskAcquire 0 "bpf_cpumask_acquire";
    CpumaskFirst 0 "bpf_cpumask_first";
    CpumaskFirstZero 0 "bpf_cpumask_first_zero";
    CpumaskFirstAnd 0 "bpf_cpumask_first_and";
    CpumaskSet 0 "bpf_cpumask_set_cpu";
    CpumaskClear 0 "bpf_cpumask_clear_cpu";
    CpumaskTest 0 "bpf_cpumask_test_cpu";
    CpumaskTestAndSet 0 "bpf_cpumask_test_and_set_cpu";
    CpumaskTestAndClear 0 "bpf_cpumask_test_and_clear_cpu";
    CpumaskSetAll 0 "bpf_cpumask_setall";
    CpumaskClearAll 0 "bpf_cpumask_clear";
    CpumaskAnd 0 "bpf_cpumask_and";
    CpumaskOr 0 "bpf_cpumask_or";
    CpumaskXor 0 "bpf_cpumask_xor";
    CpumaskEqual 0 "bpf_cpumask_equal";
    CpumaskIntersects 0 "bpf_cpumask_intersects";
    CpumaskSubset 0 "bpf_cpumask_subset";
    CpumaskEmpty 0 "bpf_cpumask_empty";
    CpumaskFull 0 "bpf_cpumask_full";
    CpumaskCopy 0 "bpf_cpumask_copy";
    CpumaskAny 0 "bpf_cpumask_any_distribute";
    CpumaskAnyAnd 0 "bpf_cpumask_any_and_distribute";
    CpumaskWeight 0 "bpf_cpumask_weight";
}

/// The number in the table of a helper.
pub(crate) fn of_helper(number: u32) -> Option<i64> {
    TABLE.iter().position(|(_, n, _)| *n == number && number != 0).map(|at| at as i64)
}

/// The number in the table of a kfunc.
pub(crate) fn of_function(name: &str) -> Option<i64> {
    TABLE.iter().position(|(own, n, _)| *own == name && *n == 0).map(|at| at as i64)
}

/// Helpers that only a host can supply, for messages.
const OTHERS: &[(u32, &str)] = &[
    (12, "bpf_tail_call"),
    (14, "bpf_get_current_pid_tgid"),
    (15, "bpf_get_current_uid_gid"),
    (16, "bpf_get_current_comm"),
    (25, "bpf_perf_event_output"),
    (35, "bpf_get_current_task"),
    (42, "bpf_get_numa_node_id"),
    (55, "bpf_perf_event_read_value"),
    (80, "bpf_get_current_cgroup_id"),
    (118, "bpf_jiffies64"),
    (123, "bpf_get_current_ancestor_cgroup_id"),
    (126, "bpf_seq_printf"),
    (148, "bpf_copy_from_user"),
    (153, "bpf_per_cpu_ptr"),
    (154, "bpf_this_cpu_ptr"),
    (158, "bpf_get_current_task_btf"),
    (173, "bpf_get_func_ip"),
    (174, "bpf_get_attach_cookie"),
    (175, "bpf_task_pt_regs"),
    (183, "bpf_get_func_arg"),
    (184, "bpf_get_func_ret"),
    (191, "bpf_copy_from_user_task"),
    (198, "bpf_ringbuf_reserve_dynptr"),
];

/// The name of a helper.
pub(crate) fn helper_name(number: u32) -> &'static str {
    let own = TABLE.iter().find(|(_, n, _)| *n == number && number != 0).map(|(name, ..)| *name);
    let other = || OTHERS.iter().find(|(n, _)| *n == number).map(|(_, name)| *name);
    own.or_else(other).unwrap_or("a helper")
}

/// The names of all helpers and kfuncs of this crate, helpers first.
pub fn names() -> impl Iterator<Item = &'static str> {
    TABLE.iter().map(|(name, _, _)| *name)
}

/// Does the call with this number in the table.
pub(crate) fn call<H: Host>(
    number: i64,
    run: &mut Run,
    memory: &mut Memory,
    host: &mut H,
) -> Outcome {
    let Some((name, _, native)) = TABLE.get(number as usize) else {
        return Outcome::Fault(FaultKind::NoInstruction);
    };
    let [_, a, b, c, d, e, ..] = run.registers;
    let outcome = dispatch(*native, Call { name, args: [a, b, c, d, e], run, memory, host });
    while let Some(timer) = memory.timers.take_gone() {
        host.cancel_timer(timer);
    }
    outcome
}

fn dispatch<H: Host>(native: Native, mut call: Call<'_, H>) -> Outcome {
    use Native::*;
    let c = &mut call;
    match native {
        MapLookup => map::lookup(c),
        MapUpdate => settle(map::update(c)),
        MapDelete => settle(map::delete(c)),
        MapPush => settle(map::push(c)),
        MapPop => settle(map::next(c, false)),
        MapPeek => settle(map::next(c, true)),
        MapLookupPercpu => settle(map::lookup_percpu(c)),
        TaskStorageGet | CgrpStorageGet => settle(map::storage_get(c)),
        TaskStorageDelete | CgrpStorageDelete => settle(map::storage_delete(c)),
        RingbufOutput => settle(map::ring_output(c)),
        RingbufReserve => settle(map::ring_reserve(c)),
        RingbufSubmit => map::ring_finish(c, true),
        RingbufDiscard => map::ring_finish(c, false),
        RingbufQuery => settle(map::ring_query(c)),
        ArenaAllocPages => settle(map::arena_alloc(c)),
        ArenaFreePages => settle(map::arena_free(c)),
        ForEach => settle(callback::for_each(c)),
        Loop => settle(callback::bpf_loop(c)),
        UserRingbufDrain => settle(callback::drain(c)),
        RbtreeAdd => settle(callback::rbtree_add(c)),
        RbtreeRemove => object::rbtree_remove(c),
        RbtreeFirst => object::row_at(c, |_| 0),
        RbtreeRoot => object::row_at(c, |len| len / 2),
        RbtreeLeft => object::child(c, 0),
        RbtreeRight => object::child(c, 1),
        ListPushFront => object::list_push(c, crate::owned::End::Front),
        ListPushBack => object::list_push(c, crate::owned::End::Back),
        ListPopFront => object::list_pop(c, crate::owned::End::Front),
        ListPopBack => object::list_pop(c, crate::owned::End::Back),
        ListFront => object::row_at(c, |_| 0),
        ListBack => object::row_at(c, |len| len.saturating_sub(1)),
        ObjNew => object::new(c),
        ObjDrop => object::drop(c),
        RefcountAcquire => object::acquire(c),
        KptrXchg => object::xchg(c),
        TimerInit => object::timer_init(c),
        TimerSetCallback => settle(object::timer_set_callback(c)),
        TimerStart => object::timer_start(c),
        TimerCancel => object::timer_cancel(c),
        IterNumNew => object::iter_new(c),
        IterNumNext => object::iter_next(c),
        SpinLock | ResSpinLock => object::lock(c, 1),
        SpinUnlock | ResSpinUnlock => object::lock(c, 0),
        KtimeGetNs | KtimeGetBootNs | KtimeGetCoarseNs | KtimeGetTaiNs => {
            Outcome::Value(c.host.now_ns())
        }
        Random => Outcome::Value(u64::from(c.host.random())),
        Cpu => Outcome::Value(u64::from(c.host.cpu())),
        IterNumDestroy | RcuReadLock | RcuReadUnlock | PreemptDisable | PreemptEnable => {
            Outcome::Value(0)
        }
        ProbeRead | ProbeReadUser | ProbeReadKernel => text::probe_read(c),
        ProbeReadStr | ProbeReadUserStr | ProbeReadKernelStr => text::probe_read_str(c),
        TracePrintk => text::trace_printk(c),
        TraceVprintk => text::trace_vprintk(c),
        Snprintf => text::snprintf(c),
        Strncmp => text::strncmp(c),
        DynptrFromMem => text::dynptr_from_mem(c),
        DynptrRead => text::dynptr_copy(c, true),
        DynptrWrite => text::dynptr_copy(c, false),
        DynptrData => text::dynptr_data(c),
        _ => cpumask::call(c, native),
    }
}

/// An error for a bad address.
fn bad_address() -> Outcome {
    Outcome::errno(errno::EFAULT)
}

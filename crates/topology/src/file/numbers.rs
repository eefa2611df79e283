//! The constants: latencies, caches, idle states, kernel costs, locks, SMT factors.
//!
//! Bounds are generous; they catch a wrong unit, not an unusual machine.

use super::set;
use crate::{
    CState, Caches, CpuPlace, Distance, KernelCosts, LineLatency, LockCosts, SmtFactors,
    WorkqueueCosts,
};
use input::{Fallback, Fault, KeyDef, Kind, Table, Walk};

/// No kernel path takes longer than 10 ms.
const COST_NS: Kind = Kind::Int { min: 0, max: 10_000_000 };
/// Bounds of a tick's cost: even at 1200 Hz, at a tenth of full speed, tasks have some time left.
const TICK_NS: Kind = Kind::Int { min: 0, max: 50_000 };
const LINES: Kind = Kind::Int { min: 0, max: 64 };
const LINE_NS: Kind = Kind::Int { min: 1, max: 100_000 };
const KIB: Kind = Kind::Int { min: 1, max: 16 * 1024 * 1024 };
const MISSES: Kind = Kind::Int { min: 1, max: 64 };
const SHARE: Kind = Kind::Float { min: 0.1, max: 1.0 };

/// The keys of `[latency]`; which of them must be there depends on the machine.
pub(super) const LATENCY: &[KeyDef] = &[
    KeyDef::optional("smt_ns", LINE_NS),
    KeyDef::optional("llc_ns", LINE_NS),
    KeyDef::optional("node_ns", LINE_NS),
    KeyDef::optional("socket_ns", LINE_NS),
];

/// The keys of `[caches]`.
pub(super) const CACHES: &[KeyDef] = &[
    KeyDef::required("l1d_kib", KIB),
    KeyDef::required("l2_kib", KIB),
    KeyDef::required("l3_kib", KIB),
    KeyDef::required("l3_hit_ns", Kind::Int { min: 1, max: 10_000 }),
    KeyDef::required("mem_ns", Kind::Int { min: 1, max: 100_000 }),
    KeyDef::optional("mlp", MISSES),
    KeyDef::optional("stream_mlp", MISSES),
];

/// The keys of `[[cstate]]`.
pub(super) const CSTATE: &[KeyDef] = &[
    KeyDef::required("name", Kind::Text),
    KeyDef::required("exit_ns", COST_NS),
    KeyDef::optional("core_exit_ns", COST_NS),
    KeyDef::required("residency_ns", Kind::Int { min: 0, max: 10_000_000_000 }),
    KeyDef::required("polling", Kind::Switch),
];

/// The keys of `[costs]`.
pub(super) const COSTS: &[KeyDef] = &[
    KeyDef::optional("pick_ns", COST_NS),
    KeyDef::optional("dequeue_ns", COST_NS),
    KeyDef::optional("switch_ns", COST_NS),
    KeyDef::optional("mm_switch_ns", COST_NS),
    KeyDef::optional("tick_ns", TICK_NS),
    KeyDef::optional("irq_ns", COST_NS),
    KeyDef::optional("ttwu_fixed_ns", COST_NS),
    KeyDef::optional("enqueue_ns", COST_NS),
    KeyDef::optional("enqueue_rest_ns", COST_NS),
    KeyDef::optional("enqueue_remote_lines", LINES),
    KeyDef::optional("wake_list_lines", LINES),
    KeyDef::optional("ipi_send_ns", COST_NS),
    KeyDef::optional("ipi_delivery_ns", COST_NS),
    KeyDef::optional("idle_entry_ns", COST_NS),
    KeyDef::optional("idle_loop_ns", COST_NS),
    KeyDef::optional("scan_cpu_ns", COST_NS),
    KeyDef::optional("lb_domain_ns", COST_NS),
    KeyDef::optional("lb_cpu_ns", COST_NS),
    KeyDef::optional("blocked_ns", COST_NS),
    KeyDef::optional("blocked_group_ns", COST_NS),
    KeyDef::optional("pull_ns", COST_NS),
    KeyDef::optional("fork_ns", COST_NS),
];

/// The keys of `[locks]`.
pub(super) const LOCKS: &[KeyDef] = &[
    KeyDef::optional("fast_ns", COST_NS),
    KeyDef::optional("contended_lines", LINES),
    KeyDef::optional("queue_hold_ns", COST_NS),
];

/// The keys of `[workqueue]`.
pub(super) const WORKQUEUE: &[KeyDef] = &[
    KeyDef::optional("queue_ns", COST_NS),
    KeyDef::optional("work_ns", COST_NS),
    KeyDef::optional("lines", LINES),
    KeyDef::optional("create_worker_ns", COST_NS),
];

/// The keys of `[smt]`.
pub(super) const SMT: &[KeyDef] =
    &[KeyDef::optional("busy", SHARE), KeyDef::optional("spinning", SHARE)];

pub(super) const LATENCY_KEYS: [(&str, Distance); 4] = [
    ("smt_ns", Distance::Smt),
    ("llc_ns", Distance::Llc),
    ("node_ns", Distance::Node),
    ("socket_ns", Distance::Socket),
];

/// `[latency]`: distances that the machine has must be given; one that it lacks has the time of the
/// distance below.
pub(super) fn latency(
    walk: &mut Walk,
    top: &Table,
    places: Option<&[CpuPlace]>,
    line: &mut LineLatency,
) {
    let Some(table) = top.table(walk, "latency") else {
        return;
    };
    let mut nearer = ("", 0);
    for (key, distance) in LATENCY_KEYS {
        let given = table.int(walk, key);
        if places.is_some_and(|p| distance.occurs(p)) {
            table.require(walk, key);
        }
        if let Some(ns) = given {
            if ns < nearer.1 {
                let (near_key, near_ns) = nearer;
                let message = format!("`{key}` is {ns}, less than `{near_key}` = {near_ns}");
                let fault = Fault::at(table.span_of(key), message);
                walk.fault(fault.help("a transfer does not get faster with distance"));
            }
            nearer = (key, ns);
        }
        line.ns[distance as usize] = given.unwrap_or(nearer.1);
    }
}

/// `[caches]`: all sizes and latencies; `mlp` and `stream_mlp` have defaults.
pub(super) fn caches(walk: &mut Walk, top: &Table, caches: &mut Caches) {
    let Some(table) = top.table(walk, "caches") else {
        return;
    };
    for (key, field) in [
        ("l1d_kib", &mut caches.l1d_kib),
        ("l2_kib", &mut caches.l2_kib),
        ("l3_kib", &mut caches.l3_kib),
        ("l3_hit_ns", &mut caches.l3_hit_ns),
        ("mem_ns", &mut caches.mem_ns),
        ("mlp", &mut caches.mlp),
        ("stream_mlp", &mut caches.stream_mlp),
    ] {
        set(field, table.int(walk, key));
    }
}

/// `[[cstate]]`, shallow to deep.
pub(super) fn cstates(walk: &mut Walk, top: &Table, states: &mut Vec<CState>) {
    let Some(tables) = top.tables(walk, "cstate") else {
        return;
    };
    if tables.is_empty() {
        let fault = Fault::at(top.span_of("cstate"), "the list of C-states is empty");
        walk.fault(fault.help("a CPU must idle somehow; leave the key out for a plain C1"));
        return;
    }
    states.clear();
    for table in tables {
        let n_faults = walk.faults.len();
        let exit_ns = table.int(walk, "exit_ns").unwrap_or(0);
        let state = CState {
            name: table.text(walk, "name").unwrap_or_default(),
            exit_ns,
            core_exit_ns: table.int(walk, "core_exit_ns").unwrap_or(exit_ns),
            residency_ns: table.int(walk, "residency_ns").unwrap_or(0),
            polling: table.switch(walk, "polling").unwrap_or(false),
        };
        let required = CSTATE.iter().filter(|key| key.default == Fallback::Required);
        let is_whole = required.map(|key| key.name).all(|name| table.has(name));
        if is_whole
            && walk.faults.len() == n_faults
            && let Some(before) = states.last()
        {
            check_deeper(walk, &table, before, &state);
        }
        if is_whole {
            check_core_exit(walk, &table, &state);
        }
        states.push(state);
    }
}

/// A package that sleeps makes an exit longer, never shorter.
fn check_core_exit(walk: &mut Walk, table: &Table, state: &CState) {
    let CState { name, exit_ns, core_exit_ns, .. } = state;
    if core_exit_ns > exit_ns {
        let message =
            format!("{name} has `exit_ns` {exit_ns}, less than `core_exit_ns` {core_exit_ns}");
        let fault = Fault::at(table.span_of("core_exit_ns"), message);
        walk.fault(fault.help("it is the exit while another core of the package is awake"));
    }
}

fn check_deeper(walk: &mut Walk, table: &Table, before: &CState, state: &CState) {
    let pairs = [
        ("exit_ns", before.exit_ns, state.exit_ns),
        ("residency_ns", before.residency_ns, state.residency_ns),
    ];
    for (key, shallow, deep) in pairs {
        if deep < shallow {
            let (name, above) = (&state.name, &before.name);
            let message = format!("{name} has `{key}` {deep}, less than {above} before it");
            let fault = Fault::at(table.span_of(key), message);
            walk.fault(fault.help("list C-states from shallow to deep"));
        }
    }
}

/// `[costs]`: at the machine's own clock, in ns. What is absent keeps its scaled default.
pub(super) fn costs(walk: &mut Walk, top: &Table, costs: &mut KernelCosts) {
    let Some(table) = top.table(walk, "costs") else {
        return;
    };
    for (key, field) in time_fields(costs) {
        set(field, table.int(walk, key));
    }
    if !table.has("enqueue_rest_ns") {
        costs.enqueue_rest_ns = KernelCosts::rest_of_enqueue(costs.enqueue_ns);
    } else if costs.enqueue_rest_ns > costs.enqueue_ns {
        let KernelCosts { enqueue_ns, enqueue_rest_ns, .. } = costs;
        let message =
            format!("`enqueue_ns` is {enqueue_ns}, less than `enqueue_rest_ns` {enqueue_rest_ns}");
        let fault = Fault::at(table.span_of("enqueue_rest_ns"), message);
        walk.fault(fault.help("it is the part of the enqueue that comes after the append"));
    }
    for (key, field) in line_fields(costs) {
        set(field, table.int(walk, key));
    }
}

/// The keys of `[costs]` that are times, in ns.
pub(super) fn time_fields(costs: &mut KernelCosts) -> [(&'static str, &mut u64); 20] {
    [
        ("pick_ns", &mut costs.pick_ns),
        ("dequeue_ns", &mut costs.dequeue_ns),
        ("switch_ns", &mut costs.switch_ns),
        ("mm_switch_ns", &mut costs.mm_switch_ns),
        ("tick_ns", &mut costs.tick_ns),
        ("irq_ns", &mut costs.irq_ns),
        ("ttwu_fixed_ns", &mut costs.ttwu_fixed_ns),
        ("enqueue_ns", &mut costs.enqueue_ns),
        ("enqueue_rest_ns", &mut costs.enqueue_rest_ns),
        ("ipi_send_ns", &mut costs.ipi_send_ns),
        ("ipi_delivery_ns", &mut costs.ipi_delivery_ns),
        ("idle_entry_ns", &mut costs.idle_entry_ns),
        ("idle_loop_ns", &mut costs.idle_loop_ns),
        ("scan_cpu_ns", &mut costs.scan_cpu_ns),
        ("lb_domain_ns", &mut costs.lb_domain_ns),
        ("lb_cpu_ns", &mut costs.lb_cpu_ns),
        ("blocked_ns", &mut costs.blocked_ns),
        ("blocked_group_ns", &mut costs.blocked_group_ns),
        ("pull_ns", &mut costs.pull_ns),
        ("fork_ns", &mut costs.fork_ns),
    ]
}

/// The keys of `[costs]` that are numbers of cache lines.
pub(super) fn line_fields(costs: &mut KernelCosts) -> [(&'static str, &mut u32); 2] {
    [
        ("enqueue_remote_lines", &mut costs.enqueue_remote_lines),
        ("wake_list_lines", &mut costs.wake_list_lines),
    ]
}

/// `[locks]`: what is absent keeps its scaled default.
pub(super) fn locks(walk: &mut Walk, top: &Table, locks: &mut LockCosts) {
    let Some(table) = top.table(walk, "locks") else {
        return;
    };
    set(&mut locks.fast_ns, table.int(walk, "fast_ns"));
    set(&mut locks.contended_lines, table.int(walk, "contended_lines"));
    set(&mut locks.queue_hold_ns, table.int(walk, "queue_hold_ns"));
}

/// `[workqueue]`: what is absent keeps its scaled default.
pub(super) fn workqueue(walk: &mut Walk, top: &Table, costs: &mut WorkqueueCosts) {
    let Some(table) = top.table(walk, "workqueue") else {
        return;
    };
    let fields = [
        ("queue_ns", &mut costs.queue_ns),
        ("work_ns", &mut costs.work_ns),
        ("create_worker_ns", &mut costs.create_worker_ns),
    ];
    for (key, field) in fields {
        set(field, table.int(walk, key));
    }
    set(&mut costs.lines, table.int(walk, "lines"));
}

/// `[smt]`: shares of full speed.
pub(super) fn smt(walk: &mut Walk, top: &Table, smt: &mut SmtFactors) {
    let Some(table) = top.table(walk, "smt") else {
        return;
    };
    set(&mut smt.busy, table.float(walk, "busy"));
    set(&mut smt.spinning, table.float(walk, "spinning"));
}

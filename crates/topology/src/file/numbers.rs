//! The constants: latencies, caches, idle states, kernel costs, locks, SMT factors.
//!
//! Bounds are generous; they catch a wrong unit, not an unusual machine.

use super::asked::Takes;
use super::section::{Section, whole_number};
use crate::{
    CState, Caches, CpuPlace, Distance, Fault, KernelCosts, LineLatency, LockCosts, SmtFactors,
    WorkqueueCosts,
};
use std::ops::RangeInclusive;

/// No kernel path takes longer than 10 ms.
const COST_NS: RangeInclusive<u64> = 0..=10_000_000;
/// Bounds of a tick's cost: even at 1200 Hz, at a tenth of full speed, tasks have some time left.
const TICK_NS: RangeInclusive<u64> = 0..=50_000;
const LINES: RangeInclusive<u64> = 0..=64;

pub(super) const LATENCY_KEYS: [(&str, Distance); 4] = [
    ("smt_ns", Distance::Smt),
    ("llc_ns", Distance::Llc),
    ("node_ns", Distance::Node),
    ("socket_ns", Distance::Socket),
];

/// `[latency]`: distances that the machine has must be given; one that it lacks has the time of the
/// distance below.
pub(super) fn latency(
    top: &mut Section,
    places: Option<&[CpuPlace]>,
    line: &mut LineLatency,
    faults: &mut Vec<Fault>,
) {
    let Some(mut section) = top.section("latency") else {
        return;
    };
    let mut nearer = ("", 0);
    for (key, distance) in LATENCY_KEYS {
        let given = section.int(key, 1..=100_000);
        if places.is_some_and(|p| distance.occurs(p)) {
            section.require(key);
        }
        if let Some(ns) = given {
            if ns < nearer.1 {
                let (near_key, near_ns) = nearer;
                let message = format!("`{key}` is {ns}, less than `{near_key}` = {near_ns}");
                let fault = Fault::at(section.span_of(key), message);
                section.fault(fault.help("a transfer does not get faster with distance"));
            }
            nearer = (key, ns);
        }
        line.ns[distance as usize] = given.unwrap_or(nearer.1) as u32;
    }
    section.finish(faults);
}

/// `[caches]`: all sizes and latencies; `mlp` and `stream_mlp` have defaults.
pub(super) fn caches(top: &mut Section, caches: &mut Caches, faults: &mut Vec<Fault>) {
    let Some(mut section) = top.section("caches") else {
        return;
    };
    let kib = 1..=16 * 1024 * 1024;
    let fields = [
        ("l1d_kib", kib.clone(), &mut caches.l1d_kib),
        ("l2_kib", kib.clone(), &mut caches.l2_kib),
        ("l3_kib", kib, &mut caches.l3_kib),
        ("l3_hit_ns", 1..=10_000, &mut caches.l3_hit_ns),
        ("mem_ns", 1..=100_000, &mut caches.mem_ns),
    ];
    for (key, valid, field) in fields {
        section.require(key);
        *field = section.int(key, valid).map_or(*field, |n| n as u32);
    }
    for (key, field) in [("mlp", &mut caches.mlp), ("stream_mlp", &mut caches.stream_mlp)] {
        *field = section.int(key, 1..=64).map_or(*field, |n| n as u32);
    }
    section.finish(faults);
}

/// `[[cstate]]`, shallow to deep.
pub(super) fn cstates(top: &mut Section, states: &mut Vec<CState>, faults: &mut Vec<Fault>) {
    let Some(sections) = top.sections("cstate") else {
        return;
    };
    if sections.is_empty() {
        let fault = Fault::at(top.span_of("cstate"), "the list of C-states is empty");
        top.fault(fault.help("a CPU must idle somehow; leave the key out for a plain C1"));
        return;
    }
    states.clear();
    for mut section in sections {
        for key in ["name", "exit_ns", "residency_ns", "polling"] {
            section.require(key);
        }
        let state = CState {
            name: section.string("name").unwrap_or_default(),
            exit_ns: section.int("exit_ns", COST_NS).unwrap_or(0),
            residency_ns: section.int("residency_ns", 0..=10_000_000_000).unwrap_or(0),
            polling: section.bool("polling").unwrap_or(false),
        };
        if !section.has_faults()
            && let Some(before) = states.last()
        {
            check_deeper(&mut section, before, &state);
        }
        section.finish(faults);
        states.push(state);
    }
}

fn check_deeper(section: &mut Section, before: &CState, state: &CState) {
    let pairs = [
        ("exit_ns", before.exit_ns, state.exit_ns),
        ("residency_ns", before.residency_ns, state.residency_ns),
    ];
    for (key, shallow, deep) in pairs {
        if deep < shallow {
            let (name, above) = (&state.name, &before.name);
            let message = format!("{name} has `{key}` {deep}, less than {above} before it");
            let fault = Fault::at(section.span_of(key), message);
            section.fault(fault.help("list C-states from shallow to deep"));
        }
    }
}

/// `[costs]`: at the machine's own clock, in ns. What is absent keeps its scaled default.
pub(super) fn costs(top: &mut Section, costs: &mut KernelCosts, faults: &mut Vec<Fault>) {
    let Some(mut section) = top.section("costs") else {
        return;
    };
    for (key, field) in time_fields(costs) {
        let range = if key == "tick_ns" { TICK_NS } else { COST_NS };
        *field = section.int(key, range).unwrap_or(*field);
    }
    for (key, field) in line_fields(costs) {
        *field = section.int(key, LINES).map_or(*field, |n| n as u32);
    }
    lb_cpu(&mut section, &mut costs.lb_cpu_ns);
    section.finish(faults);
}

/// The keys of `[costs]` that are times, in ns.
pub(super) fn time_fields(costs: &mut KernelCosts) -> [(&'static str, &mut u64); 18] {
    [
        ("pick_ns", &mut costs.pick_ns),
        ("dequeue_ns", &mut costs.dequeue_ns),
        ("switch_ns", &mut costs.switch_ns),
        ("mm_switch_ns", &mut costs.mm_switch_ns),
        ("tick_ns", &mut costs.tick_ns),
        ("irq_ns", &mut costs.irq_ns),
        ("ttwu_fixed_ns", &mut costs.ttwu_fixed_ns),
        ("enqueue_ns", &mut costs.enqueue_ns),
        ("ipi_send_ns", &mut costs.ipi_send_ns),
        ("ipi_delivery_ns", &mut costs.ipi_delivery_ns),
        ("idle_entry_ns", &mut costs.idle_entry_ns),
        ("idle_loop_ns", &mut costs.idle_loop_ns),
        ("scan_cpu_ns", &mut costs.scan_cpu_ns),
        ("lb_domain_ns", &mut costs.lb_domain_ns),
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

/// `lb_cpu_ns = [same, smt, llc, node, socket]`.
fn lb_cpu(section: &mut Section, lb_cpu_ns: &mut [u64; 5]) {
    let Some(array) = section.array("lb_cpu_ns", Takes::ints(&COST_NS)) else {
        return;
    };
    if array.len() != lb_cpu_ns.len() {
        let message = format!("`lb_cpu_ns` has {} numbers; it must have 5", array.len());
        let fault = Fault::at(section.span_of("lb_cpu_ns"), message);
        section.fault(fault.help("the order is [same, smt, llc, node, socket]"));
        return;
    }
    for (value, field) in array.iter().zip(lb_cpu_ns) {
        let ns = section.check(whole_number("lb_cpu_ns", value, &COST_NS));
        *field = ns.unwrap_or(*field);
    }
}

/// `[locks]`: what is absent keeps its scaled default.
pub(super) fn locks(top: &mut Section, locks: &mut LockCosts, faults: &mut Vec<Fault>) {
    let Some(mut section) = top.section("locks") else {
        return;
    };
    locks.fast_ns = section.int("fast_ns", COST_NS).unwrap_or(locks.fast_ns);
    let lines = section.int("contended_lines", LINES);
    locks.contended_lines = lines.map_or(locks.contended_lines, |n| n as u32);
    let hold = section.int("queue_hold_ns", COST_NS);
    locks.queue_hold_ns = hold.unwrap_or(locks.queue_hold_ns);
    section.finish(faults);
}

/// `[workqueue]`: what is absent keeps its scaled default.
pub(super) fn workqueue(top: &mut Section, costs: &mut WorkqueueCosts, faults: &mut Vec<Fault>) {
    let Some(mut section) = top.section("workqueue") else {
        return;
    };
    let fields = [
        ("queue_ns", &mut costs.queue_ns),
        ("work_ns", &mut costs.work_ns),
        ("create_worker_ns", &mut costs.create_worker_ns),
    ];
    for (key, field) in fields {
        *field = section.int(key, COST_NS).unwrap_or(*field);
    }
    costs.lines = section.int("lines", LINES).map_or(costs.lines, |n| n as u32);
    section.finish(faults);
}

/// `[smt]`: shares of full speed.
pub(super) fn smt(top: &mut Section, smt: &mut SmtFactors, faults: &mut Vec<Fault>) {
    let Some(mut section) = top.section("smt") else {
        return;
    };
    smt.busy = section.float("busy", 0.1..=1.0).unwrap_or(smt.busy);
    smt.spinning = section.float("spinning", 0.1..=1.0).unwrap_or(smt.spinning);
    section.finish(faults);
}

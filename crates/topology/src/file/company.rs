//! `[[background]]` and `[variation]`: what the workload shares the machine with.

use super::set;
use crate::{BackgroundThread, CpuId, Per, Variation};
use input::{Fault, KeyDef, Kind, Table, Walk, words};

/// No thread works or sleeps for longer than a day.
pub(super) const DAY_NS: u64 = 86_400_000_000_000;

const WORK: Kind = Kind::Int { min: 1, max: DAY_NS as i64 };
const SHARE: Kind = Kind::Float { min: 0.0, max: 1.0 };

/// The keys of `[[background]]`.
pub(super) const BACKGROUND: &[KeyDef] = &[
    KeyDef::required("name", Kind::Text),
    KeyDef::optional("per", Kind::Word(&words(&Per::NAMES))),
    KeyDef::optional("cpu", Kind::Int { min: 0, max: u32::MAX as i64 }),
    KeyDef::optional("nice", Kind::Int { min: -20, max: 19 }),
    KeyDef::optional("kthread", Kind::Switch),
    KeyDef::required("run_ns", WORK),
    KeyDef::required("sleep_ns", Kind::Int { min: 1_000, max: DAY_NS as i64 }),
    KeyDef::optional("long_every", Kind::Int { min: 0, max: 1_000_000 }),
    KeyDef::optional("long_ns", WORK),
];

/// The keys of `[variation]`.
pub(super) const VARIATION: &[KeyDef] = &[
    KeyDef::required("slowdown", SHARE),
    KeyDef::optional("held", SHARE),
    KeyDef::optional("hold_ns", Kind::Int { min: 1_000_000, max: DAY_NS as i64 }),
];

/// `[[background]]`, any number of them. `n_cpus` is `None` if the machine's shape is faulty.
pub(super) fn background(
    walk: &mut Walk,
    top: &Table,
    n_cpus: Option<usize>,
    threads: &mut Vec<BackgroundThread>,
) {
    for table in top.tables(walk, "background").unwrap_or_default() {
        let last = n_cpus.map_or(u64::from(u32::MAX), |n| n.saturating_sub(1) as u64);
        let per = table.word(walk, "per", &Per::NAMES).unwrap_or_default();
        let cpu = table.int_within(walk, "cpu", 0..=last).map(|n| CpuId(n as u32));
        if cpu.is_some() && per != Per::Machine {
            let message = format!("`cpu` bounds one thread; there is one for each {}", per.name());
            walk.fault(Fault::at(table.span_of("cpu"), message).help("leave `cpu` out"));
        }
        threads.push(BackgroundThread {
            name: table.text(walk, "name").unwrap_or_default(),
            per,
            cpu,
            nice: table.int(walk, "nice").unwrap_or(0),
            kthread: table.switch(walk, "kthread").unwrap_or(true),
            run_ns: table.int(walk, "run_ns").unwrap_or(1),
            sleep_ns: table.int(walk, "sleep_ns").unwrap_or(DAY_NS),
            long_every: table.int(walk, "long_every").unwrap_or(0),
            long_ns: table.int(walk, "long_ns").unwrap_or(1),
        });
    }
}

/// `[variation]`: how the machine's speed varies.
pub(super) fn variation(walk: &mut Walk, top: &Table, variation: &mut Variation) {
    let Some(table) = top.table(walk, "variation") else {
        return;
    };
    set(&mut variation.slowdown, table.float(walk, "slowdown"));
    set(&mut variation.held, table.float(walk, "held"));
    if variation.held > 0.0 {
        table.require(walk, "hold_ns");
    }
    variation.hold_ns = table.int(walk, "hold_ns").unwrap_or(DAY_NS);
}

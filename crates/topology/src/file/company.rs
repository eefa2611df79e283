//! `[[background]]` and `[variation]`: what the workload shares the machine with.

use super::section::Section;
use crate::{BackgroundThread, CpuId, Fault, Variation};

/// No thread works or sleeps for longer than a day.
pub(super) const DAY_NS: u64 = 86_400_000_000_000;

/// `[[background]]`, any number of them. `n_cpus` is `None` if the machine's shape is faulty.
pub(super) fn background(
    top: &mut Section,
    n_cpus: Option<usize>,
    threads: &mut Vec<BackgroundThread>,
    faults: &mut Vec<Fault>,
) {
    for mut section in top.sections("background").unwrap_or_default() {
        for key in ["name", "run_ns", "sleep_ns"] {
            section.require(key);
        }
        let ever = u64::from(u32::MAX);
        let last = n_cpus.map_or(ever, |n| n.saturating_sub(1) as u64);
        let cpu = section.int_within("cpu", 0..=last, 0..=ever).map(|n| CpuId(n as u32));
        threads.push(BackgroundThread {
            name: section.string("name").unwrap_or_default(),
            cpu,
            nice: section.signed("nice", -20..=19).unwrap_or(0) as i8,
            kthread: section.bool("kthread").unwrap_or(true),
            run_ns: section.int("run_ns", 1..=DAY_NS).unwrap_or(1),
            sleep_ns: section.int("sleep_ns", 1_000..=DAY_NS).unwrap_or(DAY_NS),
            long_every: section.int("long_every", 0..=1_000_000).unwrap_or(0) as u32,
            long_ns: section.int("long_ns", 1..=DAY_NS).unwrap_or(1),
        });
        section.finish(faults);
    }
}

/// `[variation]`: how the machine's speed varies.
pub(super) fn variation(top: &mut Section, variation: &mut Variation, faults: &mut Vec<Fault>) {
    let Some(mut section) = top.section("variation") else {
        return;
    };
    section.require("slowdown");
    variation.slowdown = section.float("slowdown", 0.0..=1.0).unwrap_or(0.0);
    variation.held = section.float("held", 0.0..=1.0).unwrap_or(0.0);
    if variation.held > 0.0 {
        section.require("hold_ns");
    }
    variation.hold_ns = section.int("hold_ns", 1_000_000..=DAY_NS).unwrap_or(DAY_NS);
    section.finish(faults);
}

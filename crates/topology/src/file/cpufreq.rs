//! `[cpufreq]`: how the clock follows the load.

use crate::{CpuFreq, FreqGovernor};
use input::{Fault, KeyDef, Kind, Table, Walk, words};

const MHZ: Kind = Kind::Int { min: 100, max: 10_000 };

/// The keys of `[cpufreq]`.
pub(super) const CPUFREQ: &[KeyDef] = &[
    KeyDef::required("governor", Kind::Word(&words(&FreqGovernor::NAMES))),
    KeyDef::required("min_mhz", MHZ),
    KeyDef::required("max_mhz", MHZ),
    KeyDef::optional("sampling_us", Kind::Int { min: 100, max: 10_000_000 }),
    KeyDef::optional("io_is_busy", Kind::Switch),
];

/// `None` without the table.
pub(super) fn read(walk: &mut Walk, top: &Table) -> Option<CpuFreq> {
    let table = top.table(walk, "cpufreq")?;
    let governor = table.word(walk, "governor", &FreqGovernor::NAMES);
    let (min, max) = (table.int::<u32>(walk, "min_mhz"), table.int::<u32>(walk, "max_mhz"));
    let sampling_us = table.int(walk, "sampling_us");
    let io_is_busy = table.switch(walk, "io_is_busy");
    let (min_mhz, max_mhz) = (min?, max?);
    if min_mhz > max_mhz {
        let message = format!("the highest frequency, {max_mhz} MHz, is below the lowest");
        let help = format!("`min_mhz` is {min_mhz}");
        walk.fault(Fault::at(table.span_of("max_mhz"), message).help(help));
    }
    Some(CpuFreq {
        governor: governor?,
        min_mhz,
        max_mhz,
        sampling_us: sampling_us.unwrap_or(CpuFreq::DEFAULT_SAMPLING_US),
        io_is_busy: io_is_busy.unwrap_or(false),
    })
}

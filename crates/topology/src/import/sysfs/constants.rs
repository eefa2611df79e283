//! Numbers of the machine that a tree may tell: model, clock, cache sizes, idle states.
//!
//! One CPU speaks for all; if others differ, a remark says so. None of these files must be there,
//! and one that is unreadable for a simulator (a cache of 0K) counts as absent.

use super::super::FileTree;
use super::super::defaults::{CLOCK_MHZ, Maker, clock_of_model};
use super::super::found::Found;
use super::super::runs::CpuRuns;
use super::CPU;
use super::reader::Reader;
use crate::CState;
use std::collections::BTreeMap;

/// Exit latencies and residencies that a machine file accepts, in us.
const EXIT_US_MAX: i64 = 10_000;
const RESIDENCY_US_MAX: i64 = 10_000_000;

pub(super) fn read<T: FileTree>(reader: &Reader<'_, T>, online: &CpuRuns, found: &mut Found) {
    let Some(cpu) = online.iter().next() else {
        return;
    };
    let info = cpu_info(reader);
    let family = info.get("cpu family").and_then(|f| f.parse().ok()).unwrap_or(0);
    found.maker = Maker::new(info.get("vendor_id").map_or("", String::as_str), family);
    found.model = info.get("model name").filter(|m| !m.is_empty()).cloned();
    let flags = info.get("flags").map_or("", String::as_str);
    found.is_guest = flags.split(' ').any(|flag| flag == "hypervisor");
    found.clock = clock(reader, cpu, &info);
    caches(reader, online, found);
    found.cstates = idle_states(reader, cpu, &mut found.remarks);
}

/// The first paragraph of `/proc/cpuinfo`.
fn cpu_info<T: FileTree>(reader: &Reader<'_, T>) -> BTreeMap<String, String> {
    let text = reader.text_if_any("proc/cpuinfo").unwrap_or_default();
    let lines = text.lines().take_while(|line| !line.trim().is_empty());
    let pairs = lines.filter_map(|line| line.split_once(':'));
    pairs.map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned())).collect()
}

/// The clock while running, best evidence first: boost is not in the model.
fn clock<T: FileTree>(
    reader: &Reader<'_, T>,
    cpu: u32,
    info: &BTreeMap<String, String>,
) -> Option<(u32, &'static str)> {
    let dir = format!("{CPU}/cpu{cpu}");
    let in_mhz = |khz: Option<i64>| khz.map(|khz| khz / 1000);
    let base = in_mhz(reader.number_if_any(&format!("{dir}/cpufreq/base_frequency")));
    let nominal = reader.number_if_any(&format!("{dir}/acpi_cppc/nominal_freq"));
    let model = info.get("model name").and_then(|model| clock_of_model(model));
    let max = in_mhz(reader.number_if_any(&format!("{dir}/cpufreq/cpuinfo_max_freq")));
    let now = info.get("cpu MHz").and_then(|mhz| mhz.split('.').next()?.parse().ok());
    let evidence = [
        (base, "cpufreq/base_frequency: the base clock, boost would be faster"),
        (nominal, "acpi_cppc/nominal_freq: the base clock, boost would be faster"),
        (model, "the base clock in the model's name; boost would be faster"),
        (max, "cpufreq/cpuinfo_max_freq: the highest clock, sustained or not"),
        (now, "the clock of CPU 0 when /proc/cpuinfo was read"),
    ];
    let usable = |(mhz, text): (Option<i64>, _)| Some((u32::try_from(mhz?).ok()?, text));
    evidence.into_iter().filter_map(usable).find(|(mhz, _)| CLOCK_MHZ.contains(mhz))
}

/// Sizes by level: L1 data, L2, and the highest level.
fn caches<T: FileTree>(reader: &Reader<'_, T>, online: &CpuRuns, found: &mut Found) {
    let mut sizes: Vec<[Option<u32>; 3]> =
        online.iter().map(|cpu| cache_sizes(reader, cpu)).collect();
    [found.l1d_kib, found.l2_kib, found.llc_kib] = sizes.first().copied().unwrap_or_default();
    sizes.sort_unstable();
    sizes.dedup();
    if sizes.len() > 1 {
        let remark = "CPUs differ in the sizes of their caches; the machine has those of the first";
        found.remarks.push(remark.into());
    }
}

fn cache_sizes<T: FileTree>(reader: &Reader<'_, T>, cpu: u32) -> [Option<u32>; 3] {
    let dir = format!("{CPU}/cpu{cpu}/cache");
    let mut by_level: BTreeMap<i64, u32> = BTreeMap::new();
    for index in reader.numbered(&dir, "index") {
        let dir = format!("{dir}/index{index}");
        let kind = reader.text_if_any(&format!("{dir}/type")).unwrap_or_default();
        let size = reader.text_if_any(&format!("{dir}/size")).and_then(|text| kib(text.trim()));
        let level = reader.number_if_any(&format!("{dir}/level"));
        if let (Some(level), Some(size), true) = (level, size, kind.trim() != "Instruction") {
            by_level.insert(level, size);
        }
    }
    let last = by_level.last_key_value().filter(|(level, _)| **level >= 2);
    [by_level.get(&1).copied(), by_level.get(&2).copied(), last.map(|(_, kib)| *kib)]
}

/// `16384K`, as the kernel writes it; also `16M`.
fn kib(size: &str) -> Option<u32> {
    let (digits, unit) = match size.strip_suffix('K') {
        Some(digits) => (digits, 1),
        None => (size.strip_suffix('M')?, 1024),
    };
    let kib = digits.parse::<u32>().ok()?.checked_mul(unit)?;
    (1..=16 * 1024 * 1024).contains(&kib).then_some(kib)
}

/// The states of one CPU but POLL, which the idle loop enters by itself. `None` if there are none.
fn idle_states<T: FileTree>(
    reader: &Reader<'_, T>,
    cpu: u32,
    remarks: &mut Vec<String>,
) -> Option<Vec<CState>> {
    let dir = format!("{CPU}/cpu{cpu}/cpuidle");
    let mut states: Vec<CState> = Vec::new();
    for state in reader.numbered(&dir, "state") {
        let dir = format!("{dir}/state{state}");
        let name = reader.text_if_any(&format!("{dir}/name")).unwrap_or_default().trim().to_owned();
        if name.is_empty() || name == "POLL" {
            continue;
        }
        if reader.number_if_any(&format!("{dir}/disable")) == Some(1) {
            remarks.push(format!("the idle state {name} is disabled and left out"));
            continue;
        }
        let exit = reader.number_if_any(&format!("{dir}/latency"));
        let residency = reader.number_if_any(&format!("{dir}/residency")).or(exit);
        // intel_idle and acpi_idle write MWAIT into the description of such states only.
        let polling =
            reader.text_if_any(&format!("{dir}/desc")).is_some_and(|d| d.contains("MWAIT"));
        let times = exit.zip(residency).filter(|(exit, residency)| {
            (0..=EXIT_US_MAX).contains(exit) && (0..=RESIDENCY_US_MAX).contains(residency)
        });
        let state = times.map(|(exit, residency)| CState {
            name: name.clone(),
            exit_ns: exit as u64 * 1000,
            core_exit_ns: exit as u64 * 1000,
            residency_ns: residency as u64 * 1000,
            polling,
        });
        let deeper = |s: &CState| {
            let above = states.last();
            above.is_none_or(|a| a.exit_ns <= s.exit_ns && a.residency_ns <= s.residency_ns)
        };
        match state.filter(deeper) {
            Some(state) => states.push(state),
            None => remarks.push(format!(
                "the idle state {name} has no times or is not deeper than the one above: left out"
            )),
        }
    }
    (!states.is_empty()).then_some(states)
}

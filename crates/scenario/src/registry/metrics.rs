//! What is measured: name, unit, direction, help, who shows it, and how it is read.
//!
//! Runs tell metrics in the order of the rows.
//! A name that ends in `.` or `_` with an empty tail in the table (`spin_pct.`, `latency_`) stands
//! for a family: its members have its unit and direction.

use super::key::Better;
use crate::measured::Measured;
use crate::waits::Times;
use policies::fair::sites;
use sim_core::{IdleType, LbStat, Ns, SdStat, SisStat, Site, World};
use topology::{CpuId, Distance, Domain, Level};
use workloads::lock_sites;
use workloads::replay::Command;

/// Families whose tails are the names of threads in a recording; tables show this one.
const BY_COMMAND: [&str; 7] = [
    "run_ms.",
    "switches.",
    "wakeup_p50.",
    "wakeup_p90.",
    "wakeup_p99.",
    "wakeup_p999.",
    "wakeup_max.",
];
const A_COMMAND: &str = "COMMAND";

/// What is told of the lengths of requests and calls: `latency_p99`.
const LENGTHS: [&str; 7] = ["mean", "p50", "p90", "p95", "p99", "p999", "max"];

/// Levels of scheduling domains, as the names of metrics have them.
pub(crate) const LEVELS: [&str; 5] = ["smt", "mc", "pkg", "node", "numa"];

/// What mmtests' sparsetruncate tells of the times of its files: `time_min`.
const FILE_TIMES: [&str; 17] = [
    "min",
    "1st_qrtle",
    "2nd_qrtle",
    "3rd_qrtle",
    "max_90",
    "max_93",
    "max_95",
    "max_99",
    "max",
    "amean",
    "stddev",
    "best99_amean",
    "best95_amean",
    "best90_amean",
    "best75_amean",
    "best50_amean",
    "best25_amean",
];
/// … and besides, where a benchmark prints it.
const MORE_LENGTHS: [&str; 3] = ["min", "p75", "p995"];

/// Groups of call sites that `spin_pct.` adds up.
const SPIN_GROUPS: [&str; 3] = [sites::ENQUEUE, sites::REMOVE, Site::RQ_LOCKS];

/// One metric, or a family of them.
#[derive(Clone, Copy, Debug)]
pub struct MetricDef {
    /// The name; a family's name ends in `.` or `_`.
    pub name: &'static str,
    /// Unit of its values; empty for plain counts.
    pub unit: &'static str,
    /// The good direction.
    pub better: Better,
    /// One line for people.
    pub help: &'static str,
    show: Show,
    pub(crate) source: Source,
}

/// Where a metric is on the screen, if its values are not all 0. JSON and CSV have all of them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Show {
    /// In a block of its own: those with a low number first.
    Headline(u8),
    /// In the table of changes.
    Table,
    /// Nowhere: it is a part of others, for those who ask for it.
    Hidden,
    /// These tails of a family so, the others in the table.
    Tails(&'static [(&'static str, Show)]),
}

/// Where the value of a metric comes from.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source {
    /// Whoever searches for the highest load adds it.
    Search,
    /// The program measures it ([`sim_core::Program::results`]).
    Program,
    /// The policy counts it ([`sim_core::Policy::results`]); it is 0 for policies that do not.
    Policy,
    /// One number, if the run has it.
    Value(fn(&Measured<'_>) -> Option<f64>),
    /// Members of a family, by their tails.
    Family(Family),
    /// One number for each level of scheduling domains that the machine has, by place in `LEVELS`.
    ByLevel(fn(&Measured<'_>, usize) -> Option<f64>),
}

/// Tells the members of a family, by their tails.
pub(crate) type Family = fn(&Measured<'_>, &mut dyn FnMut(&str, f64));

impl MetricDef {
    pub(crate) const fn value(mut self, value: fn(&Measured<'_>) -> Option<f64>) -> Self {
        self.source = Source::Value(value);
        self
    }

    const fn family(mut self, values: Family) -> Self {
        self.source = Source::Family(values);
        self
    }

    const fn by_level(mut self, value: fn(&Measured<'_>, usize) -> Option<f64>) -> Self {
        self.source = Source::ByLevel(value);
        self
    }

    const fn policy(mut self) -> Self {
        self.source = Source::Policy;
        self
    }

    const fn search(mut self) -> Self {
        self.source = Source::Search;
        self
    }

    const fn show(mut self, show: Show) -> Self {
        self.show = show;
        self
    }

    const fn hidden(self) -> Self {
        self.show(Show::Hidden)
    }

    /// Where the metric of this name, which the row covers, is shown.
    pub fn shown(&self, name: &str) -> Show {
        let Show::Tails(tails) = self.show else {
            return self.show;
        };
        let tail = name.strip_prefix(self.name).unwrap_or_default();
        tails.iter().find(|(known, _)| *known == tail).map_or(Show::Table, |(_, show)| *show)
    }

    /// True if the row is counted by level of scheduling domains.
    pub(crate) fn is_by_level(&self) -> bool {
        matches!(self.source, Source::ByLevel(_))
    }

    /// True if the row stands for this name.
    pub(crate) fn covers(&self, name: &str) -> bool {
        match name.strip_prefix(self.name) {
            Some(_) if BY_COMMAND.contains(&self.name) => true,
            Some(tail) if self.is_family() => self.tails().contains(&tail),
            _ => self.name == name,
        }
    }

    /// True if the row stands for all names that start with its own.
    pub fn is_family(&self) -> bool {
        self.name.ends_with(['.', '_'])
    }

    /// The tails of a family's names.
    fn tails(&self) -> Vec<&'static str> {
        match self.name {
            "spin_pct." => {
                let sites = lock_sites().into_iter().map(|site| site.name);
                sites.chain(SPIN_GROUPS).collect()
            }
            name if BY_COMMAND.contains(&name) => vec![A_COMMAND],
            "bpf_calls." | "bpf_insns." => policies::ext::bpf::counted().collect(),
            "time_" => FILE_TIMES.to_vec(),
            "bogo_ops_" => vec!["cpu", "yield"],
            "latency_" => LENGTHS.into_iter().chain(MORE_LENGTHS).collect(),
            name if name.starts_with("lb_") => LEVELS.to_vec(),
            _ => LENGTHS.to_vec(),
        }
    }

    /// All names that the row stands for.
    pub fn names(&self) -> Vec<String> {
        match self.is_family() {
            true => self.tails().iter().map(|tail| format!("{}{tail}", self.name)).collect(),
            false => vec![self.name.to_string()],
        }
    }
}

/// A row of the program's own, shown in the table; rows say what differs.
pub(crate) const fn row(
    name: &'static str,
    unit: &'static str,
    better: Better,
    help: &'static str,
) -> MetricDef {
    MetricDef { name, unit, better, help, show: Show::Table, source: Source::Program }
}

use Better::{Higher, Lower, None as Neither};

/// All metrics, the ones to look at first on top.
pub const METRICS: &[MetricDef] = &[
    row("elapsed", "s", Lower, "simulated time until the workload is done")
        .value(|m| Some((m.w.now - m.w.measured_from) as f64 / 1e9))
        .show(Show::Headline(1)),
    row(
        "highest_load",
        "",
        Higher,
        "the highest value of the key in [find] that keeps its condition",
    )
    .show(Show::Headline(0))
    .search(),
    row("cpu_pct", "%", Neither, "CPU time used / elapsed, summed over CPUs (100 = one CPU busy)")
        .value(|m| Some(m.busy_ns() as f64 / m.elapsed_ns() as f64 * 100.0))
        .show(Show::Headline(8)),
    row(
        "throughput",
        "1/s",
        Higher,
        "requests, transactions or (rt-app) rounds of all threads per second",
    )
    .show(Show::Headline(2)),
    row(
        "refused",
        "",
        Lower,
        "requests and messages that came to a full queue, and were lost (web, service)",
    ),
    row("usecs_per_op", "us", Lower, "time of one round trip, perf bench's `usecs/op`"),
    row("throughput_mbit", "Mbit/s", Higher, "bulk transfer, as netperf prints it")
        .show(Show::Headline(4)),
    row("throughput_mb", "MB/s", Higher, "bytes of files per second, as tbench prints them")
        .show(Show::Headline(3)),
    row("bogo_ops_", "1/s", Higher, "stress-ng's `bogo ops/s (real time)`: cpu, yield")
        .show(Show::Headline(5)),
    row("bandwidth", "MiB/s", Higher, "bytes read per second").show(Show::Headline(6)),
    row(
        "latency_",
        "us",
        Lower,
        "time of one request, or what a benchmark measures: mean, p50, p90, p95, p99, p999 \
         (99.9 %), max, and for some min, p75, p995",
    )
    .family(latencies)
    .show(Show::Tails(&[
        ("p99", Show::Headline(7)),
        ("p95", Show::Hidden),
        ("p999", Show::Hidden),
    ])),
    row(
        "time_",
        "us",
        Lower,
        "time of deleting one file, by mmtests' names: min (Min Time), 1st_qrtle (1st-qrtle), \
         2nd_qrtle, 3rd_qrtle, max_90 (Max-90%), max_93, max_95, max_99, max (Max), amean (Amean), \
         stddev (Stddev), best99_amean (Best99%Amean), best95_, best90_, best75_, best50_, \
         best25_amean",
    ),
    row("bandwidth_write", "MiB/s", Higher, "bytes written per second"),
    row("queue_latency_", "us", Lower, "length of a call: mean, p50, p90, p95, p99, p99.9, max")
        .show(Show::Tails(&[("p999", Show::Hidden)])),
    row(
        "idle_while_runnable",
        "CPU-s",
        Lower,
        "CPU time idle while tasks waited that may run there",
    )
    .value(|m| Some(m.w.idle_while_runnable_ns as f64 * 1e-9)),
    row("wakeup_latency_mean", "us", Lower, "sched_waking to running, arithmetic mean")
        .value(|m| Some(m.recorder.delays.mean_us()))
        .hidden(),
    row("wakeup_latency_p50", "us", Lower, "sched_waking to running, median")
        .value(|m| Some(m.delay_us(0.5))),
    row("wakeup_latency_p90", "us", Lower, "sched_waking to running, 90th percentile")
        .value(|m| Some(m.delay_us(0.9)))
        .hidden(),
    row("wakeup_latency_p95", "us", Lower, "sched_waking to running, 95th percentile")
        .value(|m| Some(m.delay_us(0.95)))
        .hidden(),
    row("wakeup_latency_p99", "us", Lower, "sched_waking to running, 99th percentile")
        .value(|m| Some(m.delay_us(0.99))),
    row("wakeup_latency_p999", "us", Lower, "sched_waking to running, 99.9th percentile")
        .value(|m| Some(m.delay_us(0.999)))
        .hidden(),
    row("wakeup_latency_max", "us", Lower, "sched_waking to running, the longest")
        .value(|m| Some(m.recorder.delays.max_ns() as f64 * 1e-3)),
    row(
        "runqueue_wait_",
        "us",
        Lower,
        "runnable (woken, forked or preempted) to running: mean, p50, p90, p95, p99, p999, max",
    )
    .family(|m, add| waits(&m.recorder.waits, add))
    .hidden(),
    row(
        "spin_pct",
        "%",
        Lower,
        "share of busy time spent spinning: for locks, and for a task to leave its CPU",
    )
    .value(|m| Some(m.spin_pct(&lock_sites()))),
    row(
        "spin_pct.",
        "%",
        Lower,
        "the same for one call site, or a group (enqueue, remove, rq_lock); on_cpu_wait and \
         migrating_wait wait for no lock",
    )
    .family(spinning)
    .hidden(),
    row(
        "load_avg_write_pct",
        "%",
        Lower,
        "waits of update_tg_load_avg() for the line of a group's load_avg, share of busy time",
    )
    .value(|m| m.load_avg_pct(m.w.counters.line_write_wait_ns)),
    row(
        "load_avg_read_pct",
        "%",
        Lower,
        "the same of update_cfs_group(), which reads it; neither has what a busy sibling takes",
    )
    .value(|m| m.load_avg_pct(m.w.counters.line_read_wait_ns)),
    row("bpf_calls.", "", Neither, "calls of an operation of a BPF scheduler, or of its timers")
        .family(|m, add| m.operations.iter().for_each(|op| add(op.name, op.calls as f64)))
        .hidden(),
    row("bpf_insns.", "", Neither, "instructions that such a call executes, mean")
        .family(instructions),
    row("run_ms.", "ms", Neither, "time on CPUs of a recording's threads of that name")
        .family(|m, add| by_command(m, add, |command| Some(command.run_ns as f64 * 1e-6)))
        .hidden(),
    row("switches.", "", Neither, "times that one of them left its CPU")
        .family(|m, add| by_command(m, add, |command| Some(command.switches as f64)))
        .hidden(),
    row("wakeup_p50.", "us", Lower, "sched_waking to running of these threads, median")
        .family(|m, add| by_command(m, add, |command| command.wait_us(50.0)))
        .hidden(),
    row("wakeup_p90.", "us", Lower, "sched_waking to running of these threads, 90th percentile")
        .family(|m, add| by_command(m, add, |command| command.wait_us(90.0)))
        .hidden(),
    row("wakeup_p99.", "us", Lower, "sched_waking to running of these threads, 99th percentile")
        .family(|m, add| by_command(m, add, |command| command.wait_us(99.0)))
        .hidden(),
    row("wakeup_p999.", "us", Lower, "sched_waking to running of these threads, 99.9th percentile")
        .family(|m, add| by_command(m, add, |command| command.wait_us(99.9)))
        .hidden(),
    row("wakeup_max.", "us", Lower, "sched_waking to running of these threads, the longest")
        .family(|m, add| by_command(m, add, |command| command.wait_us(100.0)))
        .hidden(),
    row("switches", "", Neither, "context switches").value(|m| Some(m.w.counters.switches as f64)),
    row("wakeups", "", Neither, "wake-ups").value(|m| Some(m.w.counters.wakeups as f64)),
    row("migrations_smt", "", Neither, "moves of a task to the sibling thread")
        .value(|m| Some(m.moves(Distance::Smt))),
    row("migrations_llc", "", Neither, "moves to another core behind the same LLC")
        .value(|m| Some(m.moves(Distance::Llc))),
    row("migrations_node", "", Neither, "moves to another LLC of the node")
        .value(|m| Some(m.moves(Distance::Node))),
    row("migrations_remote", "", Neither, "moves to another node")
        .value(|m| Some(m.moves(Distance::Socket))),
    row("newidle_attempts", "", Neither, "newidle balance passes").policy().hidden(),
    row("newidle_pulls", "", Neither, "newidle passes that brought a task").policy(),
    row("balance_pulls", "", Neither, "tasks moved by periodic and nohz-idle balance").policy(),
    row("pull_attempts", "", Neither, "looks into a shared queue").policy().hidden(),
    row("pull_hits", "", Neither, "looks that brought a task").policy(),
    row("pull_lost", "", Neither, "looks that lost the task to another CPU").policy(),
    row("pull_empty", "", Neither, "looks that found the queue empty").policy().hidden(),
    row("steal_attempts", "", Neither, "looks into the queues of other LLCs, the own being empty")
        .policy()
        .hidden(),
    row("steal_hits", "", Neither, "such looks that brought a task").policy(),
    row("steal_lost", "", Neither, "such looks that lost the task to another CPU").policy(),
    row("steal_empty", "", Neither, "such looks that found all queues empty").policy().hidden(),
    row("nr_periods", "", Neither, "periods of cpu.max that have ended (cpu.stat)")
        .value(|m| m.counted_if_any("nr_periods"))
        .hidden(),
    row("nr_throttled", "", Lower, "of these, those in which CPUs were throttled")
        .value(|m| m.counted_if_any("nr_throttled")),
    row("throttled_usec", "us", Lower, "time for which CPUs were throttled, of all together")
        .value(|m| m.counted_if_any("throttled_usec")),
    row("wakeups_to_prev", "", Neither, "wake-ups that put the task where it was before")
        .value(|m| Some(m.w.wake_targets().prev as f64))
        .hidden(),
    row("wakeups_to_waker", "", Neither, "wake-ups that moved the task to the waker's CPU")
        .value(|m| Some(m.w.wake_targets().waker as f64))
        .hidden(),
    row("wakeups_same_llc", "", Neither, "wake-ups that moved it elsewhere behind its LLC")
        .value(|m| Some(m.w.wake_targets().same_llc as f64))
        .hidden(),
    row("wakeups_other_llc", "", Neither, "wake-ups that moved it elsewhere, behind another LLC")
        .value(|m| Some(m.w.wake_targets().other_llc as f64))
        .hidden(),
    row("sis_search", "", Neither, "searches by select_idle_sibling; repeated ones count again")
        .value(|m| Some(searches(m)?.searches as f64))
        .hidden(),
    row("sis_domain_search", "", Neither, "searches that target, prev and recent CPU did not end")
        .value(|m| Some(searches(m)?.domain_searches as f64))
        .hidden(),
    row("sis_recent_hits", "", Neither, "searches that the recently used CPU ended")
        .value(|m| Some(searches(m)?.recent_hits as f64))
        .hidden(),
    row(
        "sis_scanned",
        "",
        Neither,
        "CPUs looked at: 1 for a search that ended early, else all read",
    )
    .value(|m| Some(scanned(m)? as f64))
    .hidden(),
    row("sis_failed", "", Neither, "searches that found no idle CPU")
        .value(|m| Some(searches(m)?.failed as f64))
        .hidden(),
    row("sis_success_pct", "%", Neither, "searches that found an idle CPU, of all searches")
        .value(|m| Some(pct(found(m)?, searches(m)?.searches)))
        .hidden(),
    row("sis_fast_success_pct", "%", Neither, "searches that target, prev or recent CPU ended")
        .value(|m| Some(pct(fast(m)?, searches(m)?.searches)))
        .hidden(),
    row("sis_efficiency_pct", "%", Neither, "idle CPUs found / CPUs looked at")
        .value(|m| Some(pct(found(m)?, scanned(m)?)))
        .hidden(),
    row("sis_domain_efficiency_pct", "%", Neither, "the same for searches beyond those three CPUs")
        .value(|m| {
            let sis = searches(m)?;
            Some(pct(sis.domain_searches - sis.failed, m.w.stat.sis.domain_scanned))
        })
        .hidden(),
    row("lb_count.", "", Neither, "load_balance calls of busy and idle CPUs in domains of a level")
        .by_level(|m, level| balancing(m, level, &BUSY_AND_IDLE, |lb| lb.count))
        .hidden(),
    row("lb_failed.", "", Neither, "of these, calls that found an imbalance and moved nothing")
        .by_level(|m, level| balancing(m, level, &BUSY_AND_IDLE, |lb| lb.failed))
        .hidden(),
    row("lb_gained.", "", Neither, "tasks pulled by them and by active balance")
        .by_level(|m, level| balancing(m, level, &BUSY_AND_IDLE, |lb| lb.gained))
        .hidden(),
    row("lb_newidle_count.", "", Neither, "load_balance calls of CPUs about to idle")
        .by_level(|m, level| balancing(m, level, &[IdleType::NewlyIdle], |lb| lb.count))
        .hidden(),
    row(
        "lb_newidle_failed.",
        "",
        Neither,
        "of these, calls that found an imbalance and moved nothing",
    )
    .by_level(|m, level| balancing(m, level, &[IdleType::NewlyIdle], |lb| lb.failed))
    .hidden(),
    row("lb_newidle_gained.", "", Neither, "tasks pulled by them")
        .by_level(|m, level| balancing(m, level, &[IdleType::NewlyIdle], |lb| lb.gained))
        .hidden(),
    row("picked_by_own_cpu", "", Neither, "woken tasks that their own CPU took off the queue")
        .policy()
        .hidden(),
    row("stolen_and_moved", "", Neither, "woken tasks that another CPU popped and moved to itself")
        .policy()
        .hidden(),
    row("popped_but_running", "", Neither, "woken tasks that another CPU popped too late")
        .policy()
        .hidden(),
];

/// The row of a metric, or of the family it belongs to.
pub fn metric(name: &str) -> Option<&'static MetricDef> {
    METRICS
        .iter()
        .find(|m| m.covers(name) && !m.is_family())
        .or(METRICS.iter().find(|m| m.covers(name)))
}

/// What the workload measured itself, if it did: exact percentiles, by nearest rank.
fn latencies(m: &Measured<'_>, add: &mut dyn FnMut(&str, f64)) {
    let sorted = &m.samples;
    let Some(max) = sorted.last() else {
        return;
    };
    let us = |ns: Ns| ns as f64 * 1e-3;
    let sum: u128 = sorted.iter().map(|ns| u128::from(*ns)).sum();
    add("mean", sum as f64 / sorted.len() as f64 * 1e-3);
    for (name, permille) in [("p50", 500), ("p90", 900), ("p95", 950), ("p99", 990), ("p999", 999)]
    {
        let rank = (sorted.len() * permille).div_ceil(1000);
        add(name, us(sorted[rank - 1]));
    }
    add("max", us(*max));
}

/// Mean, percentiles and the longest of these times, us.
fn waits(times: &Times, add: &mut dyn FnMut(&str, f64)) {
    add("mean", times.mean_us());
    for (name, quantile) in
        [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p999", 0.999)]
    {
        add(name, times.quantile_ns(quantile) as f64 * 1e-3);
    }
    add("max", times.max_ns() as f64 * 1e-3);
}

/// What the threads of each name did, if the workload is a recording.
fn by_command(
    m: &Measured<'_>,
    add: &mut dyn FnMut(&str, f64),
    value: fn(&Command) -> Option<f64>,
) {
    let Some(commands) = &m.recorder.commands else {
        return;
    };
    for (name, command) in commands.told(m.w) {
        value(command).into_iter().for_each(|value| add(name, value));
    }
}

/// Of operations that were called.
fn instructions(m: &Measured<'_>, add: &mut dyn FnMut(&str, f64)) {
    for op in m.operations.iter().filter(|op| op.calls > 0) {
        add(op.name, op.instructions as f64 / op.calls as f64);
    }
}

/// By call site, but for sites that only some workloads have, then by group of them.
fn spinning(m: &Measured<'_>, add: &mut dyn FnMut(&str, f64)) {
    let sites = lock_sites();
    let told = |site: &&&Site| !site.only_if_taken || m.w.locks.site(site).acquired > 0;
    for site in sites.iter().filter(told) {
        add(site.name, m.spin_pct(&[site]));
    }
    for group in SPIN_GROUPS {
        let its: Vec<_> = sites.iter().copied().filter(|site| site.group == group).collect();
        add(group, m.spin_pct(&its));
    }
}

/// What the fair class counts of select_idle_sibling. The ratios are those of "sched/fair: Track
/// efficiency of select_idle_sibling".
fn searches<'a>(m: &'a Measured<'_>) -> Option<&'a SisStat> {
    m.w.stat.is_fair.then_some(&m.w.stat.sis)
}

/// Searches that target, prev or recent CPU ended.
fn fast(m: &Measured<'_>) -> Option<u64> {
    searches(m).map(|sis| sis.searches - sis.domain_searches)
}

fn found(m: &Measured<'_>) -> Option<u64> {
    searches(m).map(|sis| sis.searches - sis.failed)
}

fn scanned(m: &Measured<'_>) -> Option<u64> {
    fast(m).map(|fast| fast + m.w.stat.sis.domain_scanned)
}

fn pct(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64 * 100.0
}

/// The idle types of periodic and nohz-idle balancing.
const BUSY_AND_IDLE: [IdleType; 2] = [IdleType::NotIdle, IdleType::Idle];

/// A sum over the domains of all CPUs at a level, for some idle types; none if the machine does
/// not have the level, or the policy does not count.
fn balancing(
    m: &Measured<'_>,
    level: usize,
    idle_types: &[IdleType],
    count: fn(&LbStat) -> u64,
) -> Option<f64> {
    let cpus = (0..m.w.cpus.len() as u32).map(CpuId);
    let domains = cpus.flat_map(|cpu| domains_of(m.w, cpu));
    let here = domains.filter(|(domain, _)| m.w.stat.is_fair && rank(domain.level) == level);
    let sums = here
        .map(|(_, sd)| idle_types.iter().map(|idle| count(&sd.lb[*idle as usize])).sum::<u64>());
    sums.reduce(|a, b| a + b).map(|sum| sum as f64)
}

/// The level's place in [`LEVELS`].
pub(crate) fn rank(level: Level) -> usize {
    match level {
        Level::Smt => 0,
        Level::Mc => 1,
        Level::Die => 2,
        Level::Node => 3,
        Level::Numa(_) => 4,
    }
}

/// The domains of a CPU, with what it counts for each.
pub(crate) fn domains_of(w: &World, cpu: CpuId) -> impl Iterator<Item = (&Domain, &SdStat)> {
    let chain = &w.machine.domains.chains[cpu];
    let domain = |level: usize| w.machine.domains.domain(chain[level].domain);
    (0..chain.len()).map(move |level| (domain(level), w.stat.sd(cpu, level)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_covers_its_members_only() {
        assert_eq!(metric("spin_pct.enqueue").map(|m| m.unit), Some("%"));
        assert_eq!(metric("latency_p99").map(|m| m.unit), Some("us"));
        for nobody in ["latency_", "latency_*", "latency_p42", "spin_pct.foo", "queue_latency_x"] {
            assert!(metric(nobody).is_none(), "{nobody}");
        }
        let all: Vec<String> = METRICS.iter().flat_map(MetricDef::names).collect();
        assert!(all.iter().all(|name| metric(name).is_some()));
        assert!(all.contains(&"spin_pct.enqueue".to_string()));
        assert!(metric("elapse").is_none());
        assert_eq!(metric("lb_newidle_gained.numa").map(|m| m.name), Some("lb_newidle_gained."));
        assert!(metric("lb_count.llc").is_none() && metric("lb_count.p99").is_none());
    }
}

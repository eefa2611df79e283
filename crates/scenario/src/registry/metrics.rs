//! What is measured: name, unit, direction, help.
//!
//! A name that ends in `.` or `_` with an empty tail in the table (`spin_pct.`, `latency_`) stands
//! for a family: its members have its unit and direction.

use super::Better;
use policies::fair::sites;
use sim_core::Site;

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
pub(crate) const SPIN_GROUPS: [&str; 3] = [sites::ENQUEUE, sites::REMOVE, Site::RQ_LOCKS];

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
}

impl MetricDef {
    /// True if the row stands for all names that start with its own.
    pub fn is_family(&self) -> bool {
        self.name.ends_with(['.', '_'])
    }

    /// The tails of a family's names.
    fn tails(&self) -> Vec<&'static str> {
        match self.name {
            "spin_pct." => {
                let sites = workloads::lock_sites().into_iter().map(|site| site.name);
                sites.chain(SPIN_GROUPS).collect()
            }
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

const fn row(
    name: &'static str,
    unit: &'static str,
    better: Better,
    help: &'static str,
) -> MetricDef {
    MetricDef { name, unit, better, help }
}

use Better::{Higher, Lower, None as Neither};

/// All metrics, the ones to look at first on top.
pub const METRICS: &[MetricDef] = &[
    row("elapsed", "s", Lower, "simulated time until the workload is done"),
    row(
        "highest_load",
        "",
        Higher,
        "the highest value of the key in [find] that keeps its condition",
    ),
    row("cpu_pct", "%", Neither, "CPU time used / elapsed, summed over CPUs (100 = one CPU busy)"),
    row(
        "throughput",
        "1/s",
        Higher,
        "requests, transactions or (rt-app) rounds of all threads per second",
    ),
    row("usecs_per_op", "us", Lower, "time of one round trip, perf bench's `usecs/op`"),
    row("throughput_mbit", "Mbit/s", Higher, "bulk transfer, as netperf prints it"),
    row("throughput_mb", "MB/s", Higher, "bytes of files per second, as tbench prints them"),
    row("bogo_ops_", "1/s", Higher, "stress-ng's `bogo ops/s (real time)`: cpu, yield"),
    row("bandwidth", "MiB/s", Higher, "bytes read per second"),
    row(
        "latency_",
        "us",
        Lower,
        "time of one request, or what a benchmark measures: mean, p50, p95, p99, p999 (99.9 %), \
         max, and for some min, p75, p90, p995",
    ),
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
    row("queue_latency_", "us", Lower, "length of a call: mean, p50, p90, p95, p99, p99.9, max"),
    row(
        "idle_while_runnable",
        "CPU-s",
        Lower,
        "CPU time idle while tasks waited that may run there",
    ),
    row("wakeup_latency_p50", "us", Lower, "sched_waking to running, median"),
    row("wakeup_latency_p95", "us", Lower, "sched_waking to running, 95th percentile"),
    row("wakeup_latency_p99", "us", Lower, "sched_waking to running, 99th percentile"),
    row("wakeup_latency_p999", "us", Lower, "sched_waking to running, 99.9th percentile"),
    row("wakeup_latency_max", "us", Lower, "sched_waking to running, the longest"),
    row(
        "spin_pct",
        "%",
        Lower,
        "share of busy time spent spinning: for locks, and for a task to leave its CPU",
    ),
    row(
        "spin_pct.",
        "%",
        Lower,
        "the same for one call site, or a group (enqueue, remove, rq_lock); on_cpu_wait and \
         migrating_wait wait for no lock",
    ),
    row("switches", "", Neither, "context switches"),
    row("wakeups", "", Neither, "wake-ups"),
    row("wakeups_to_prev", "", Neither, "wake-ups that put the task where it was before"),
    row("wakeups_to_waker", "", Neither, "wake-ups that moved the task to the waker's CPU"),
    row("wakeups_same_llc", "", Neither, "wake-ups that moved it elsewhere behind its LLC"),
    row("wakeups_other_llc", "", Neither, "wake-ups that moved it elsewhere, behind another LLC"),
    row("migrations_smt", "", Neither, "moves of a task to the sibling thread"),
    row("migrations_llc", "", Neither, "moves to another core behind the same LLC"),
    row("migrations_node", "", Neither, "moves to another LLC of the node"),
    row("migrations_remote", "", Neither, "moves to another node"),
    row("newidle_attempts", "", Neither, "newidle balance passes"),
    row("newidle_pulls", "", Neither, "newidle passes that brought a task"),
    row("balance_pulls", "", Neither, "tasks moved by periodic and nohz-idle balance"),
    row("pull_attempts", "", Neither, "looks into a shared queue"),
    row("pull_hits", "", Neither, "looks that brought a task"),
    row("pull_lost", "", Neither, "looks that lost the task to another CPU"),
    row("pull_empty", "", Neither, "looks that found the queue empty"),
    row("steal_attempts", "", Neither, "looks into the queues of other LLCs, the own being empty"),
    row("steal_hits", "", Neither, "such looks that brought a task"),
    row("steal_lost", "", Neither, "such looks that lost the task to another CPU"),
    row("steal_empty", "", Neither, "such looks that found all queues empty"),
    row("sis_search", "", Neither, "searches by select_idle_sibling; repeated ones count again"),
    row("sis_domain_search", "", Neither, "searches that target, prev and recent CPU did not end"),
    row("sis_recent_hits", "", Neither, "searches that the recently used CPU ended"),
    row(
        "sis_scanned",
        "",
        Neither,
        "CPUs looked at: 1 for a search that ended early, else all read",
    ),
    row("sis_failed", "", Neither, "searches that found no idle CPU"),
    row("sis_success_pct", "%", Neither, "searches that found an idle CPU, of all searches"),
    row("sis_fast_success_pct", "%", Neither, "searches that target, prev or recent CPU ended"),
    row("sis_efficiency_pct", "%", Neither, "idle CPUs found / CPUs looked at"),
    row("sis_domain_efficiency_pct", "%", Neither, "the same for searches beyond those three CPUs"),
    row("lb_count.", "", Neither, "load_balance calls of busy and idle CPUs in domains of a level"),
    row("lb_failed.", "", Neither, "of these, calls that found an imbalance and moved nothing"),
    row("lb_gained.", "", Neither, "tasks pulled by them and by active balance"),
    row("lb_newidle_count.", "", Neither, "load_balance calls of CPUs about to idle"),
    row(
        "lb_newidle_failed.",
        "",
        Neither,
        "of these, calls that found an imbalance and moved nothing",
    ),
    row("lb_newidle_gained.", "", Neither, "tasks pulled by them"),
    row("picked_by_own_cpu", "", Neither, "woken tasks that their own CPU took off the queue"),
    row("stolen_and_moved", "", Neither, "woken tasks that another CPU popped and moved to itself"),
    row("popped_but_running", "", Neither, "woken tasks that another CPU popped too late"),
];

/// The row of a metric, or of the family it belongs to.
pub fn metric(name: &str) -> Option<&'static MetricDef> {
    let exact = METRICS.iter().find(|m| m.name == name && !m.is_family());
    let member = |m: &&MetricDef| {
        let tail = name.strip_prefix(m.name).filter(|_| m.is_family());
        tail.is_some_and(|tail| m.tails().contains(&tail))
    };
    exact.or_else(|| METRICS.iter().find(member))
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

//! What the fair class counts of its own, and what of it is a result of a run.

use super::shared_queues::SwqStats;

/// Counters since the measurement began.
#[derive(Clone, Copy, Default, Debug)]
pub struct FairCounters {
    /// Newidle balance passes that got past the gates.
    pub newidle_attempts: u64,
    /// Newidle passes that obtained a task.
    pub newidle_pulls: u64,
    /// Tasks moved by periodic and nohz-idle balance.
    pub balance_pulls: u64,
    /// Times that a CPU about to idle consulted a shared queue.
    pub pull_attempts: u64,
    /// … and moved a task.
    pub pull_hits: u64,
    /// … and popped a task but could not move it.
    pub pull_lost: u64,
    /// … and found nothing.
    pub pull_empty: u64,
    /// Times that it went on to the queues of other LLCs.
    pub steal_attempts: u64,
    /// … and moved a task.
    pub steal_hits: u64,
    /// … and popped a task but could not move it.
    pub steal_lost: u64,
    /// … and found nothing.
    pub steal_empty: u64,
}

impl FairCounters {
    /// `Policy::results`.
    pub(crate) fn results(&self, swq: &SwqStats) -> Vec<(&'static str, f64)> {
        let counts = [
            ("newidle_attempts", self.newidle_attempts),
            ("newidle_pulls", self.newidle_pulls),
            ("balance_pulls", self.balance_pulls),
            ("pull_attempts", self.pull_attempts),
            ("pull_hits", self.pull_hits),
            ("pull_lost", self.pull_lost),
            ("pull_empty", self.pull_empty),
            ("steal_attempts", self.steal_attempts),
            ("steal_hits", self.steal_hits),
            ("steal_lost", self.steal_lost),
            ("steal_empty", self.steal_empty),
            ("picked_by_own_cpu", swq.picked_by_own_cpu),
            ("stolen_and_moved", swq.stolen_and_moved),
            ("popped_but_running", swq.popped_but_running),
        ];
        counts.map(|(name, n)| (name, n as f64)).to_vec()
    }
}

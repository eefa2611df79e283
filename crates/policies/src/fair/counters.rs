//! What the fair class counts of its own, and what of it is a result of a run.

use super::discipline::Discipline;
use super::state::Fair;

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

impl<S: Discipline> Fair<S> {
    /// `Policy::results`.
    pub(crate) fn counted(&self) -> Vec<(&'static str, f64)> {
        let (c, swq) = (&self.counters, &self.balance.swq);
        let counts = [
            ("newidle_attempts", c.newidle_attempts),
            ("newidle_pulls", c.newidle_pulls),
            ("balance_pulls", c.balance_pulls),
            ("pull_attempts", c.pull_attempts),
            ("pull_hits", c.pull_hits),
            ("pull_lost", c.pull_lost),
            ("pull_empty", c.pull_empty),
            ("steal_attempts", c.steal_attempts),
            ("steal_hits", c.steal_hits),
            ("steal_lost", c.steal_lost),
            ("steal_empty", c.steal_empty),
            ("picked_by_own_cpu", swq.picked_by_own_cpu),
            ("stolen_and_moved", swq.stolen_and_moved),
            ("popped_but_running", swq.popped_but_running),
        ];
        counts.map(|(name, n)| (name, n as f64)).to_vec()
    }
}

//! The watchdog: a task that its scheduler has lost, or starves, ends the run and is named.
//!
//! It looks at all tasks each half of the timeout and costs nothing in between; here its look takes
//! no time. In Linux: `scx_watchdog_workfn` and `check_rq_for_timeouts`, `ext.c` v6.12.

use sim_core::{NEVER, Ns, SchedPolicy, Task, TaskState, World};

/// `SCX_WATCHDOG_MAX_TIMEOUT`, ns: the default, and no scheduler may ask for more.
pub(super) const TIMEOUT_NS: Ns = 30_000_000_000;

/// When it looks next, and for what.
pub(super) struct Watchdog {
    timeout_ns: Ns,
    /// Its next look.
    pub at: Ns,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self { timeout_ns: TIMEOUT_NS, at: NEVER }
    }
}

impl Watchdog {
    pub fn new(timeout_ns: Ns, now: Ns) -> Self {
        Self { timeout_ns, at: now + timeout_ns / 2 }
    }

    /// Looks, if it is time to.
    pub fn look(&mut self, w: &mut World, is_partial: bool) {
        if w.now < self.at {
            return;
        }
        self.at = w.now + (self.timeout_ns / 2).max(1);
        if let Some(why) = self.stall(w, is_partial) {
            w.give_up(why);
        }
    }

    /// Who has waited for too long: as in the kernel, of the first CPU that has such a task the one
    /// that has waited longest.
    fn stall(&self, w: &World, is_partial: bool) -> Option<String> {
        let since = w.now.checked_sub(self.timeout_ns)?;
        let is_own = |t: &Task| !is_partial || t.attr.policy == SchedPolicy::Ext;
        let waits = |t: &&Task| t.runnable_since < since && is_own(t) && waits(w, t);
        let stalled = w.tasks.iter().filter(waits);
        let t = stalled.min_by_key(|t| (t.cpu, t.runnable_since, t.pid))?;
        let comm = w.comms.get(t.attr.comm as usize).map_or("", String::as_str);
        let ms = (w.now - t.runnable_since) / 1_000_000;
        let pid = t.pid.0;
        let (s, ms) = (ms / 1000, ms % 1000);
        Some(format!("runnable task stall: {comm}[{pid}] failed to run for {s}.{ms:03}s"))
    }
}

/// True if the task is runnable and its CPU runs another one, or none.
fn waits(w: &World, t: &Task) -> bool {
    let curr = w.cpus[t.cpu].curr;
    let runs = curr.is_task() && w.tasks[curr].pid == t.pid;
    t.state == TaskState::Runnable && t.on_rq && !runs
}

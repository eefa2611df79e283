//! The functions of the fair class in a profile's call chains (see `Policy::unwind`).
//!
//! A path's stage is the one that comes next: what is being spent or waited for belongs to the
//! stage before it.

use super::Discipline;
use super::shared_runq::Version;
use super::state::Fair;
use crate::fair::sites;
use sim_core::{Calls, PathGroup, SelectKind, Site, Stack, Within, World};
use topology::CpuId;

pub(crate) const RQ_LOCK: &str = "raw_spin_rq_lock_nested";

/// The functions of the shared queues.
pub(crate) struct SharedCalls {
    pub enqueue: Calls,
    pub dequeue: Calls,
    pub pick: Calls,
    pub pop: Calls,
    pub move_task: Calls,
}

const SWQUEUE: SharedCalls = SharedCalls {
    enqueue: &["swqueue_enqueue"],
    dequeue: &["swqueue_remove_task"],
    pick: &["swqueue_pick_next_task"],
    pop: &["swqueue_pull_task"],
    move_task: &["migrate_task_to"],
};

const SHARED_RUNQ: SharedCalls = SharedCalls {
    enqueue: &["shared_runq_enqueue_task"],
    dequeue: &["shared_runq_dequeue_task"],
    pick: &["shared_runq_pick_next_task"],
    pop: &["shared_runq_pop_task"],
    move_task: &["move_queued_task"],
};

impl<S: Discipline> Fair<S> {
    /// `Policy::unwind`.
    pub(crate) fn unwind_path(&self, _w: &World, cpu: CpuId, at: Within, stack: &mut Stack) {
        match at {
            Within::Select(SelectKind::Wake { .. }) => {
                stack.call(&["select_task_rq_fair", "select_idle_sibling"]);
            }
            Within::Select(_) => stack.call(&["select_task_rq_fair", "find_idlest_cpu"]),
            Within::Enqueue => stack.call(&["enqueue_task_fair"]),
            Within::Nested(site) => self.unwind_nested(site, stack),
            Within::BeforeIdle => {
                stack.group = PathGroup::Newidle;
                stack.call(&["pick_next_task_fair"]);
                self.unwind_before_idle(cpu, stack);
            }
            Within::Softirq => self.unwind_softirq(cpu, stack),
            Within::Stopper => {
                stack.call(&["active_load_balance_cpu_stop"]);
                let path = &self.balance.paths[cpu];
                path.stop.unwind(self.shared_calls(), &path.links, stack);
            }
        }
    }

    fn unwind_nested(&self, site: &'static Site, stack: &mut Stack) {
        let calls = self.shared_calls();
        stack.call(match site {
            _ if site == sites::TTWU_ENQUEUE => &["enqueue_task_fair"],
            _ if site == sites::PUT_PREV_ENQUEUE => &["put_prev_task_fair"],
            _ if site == sites::PICK_REMOVE => &["pick_next_task_fair"],
            _ => &["dequeue_task_fair"],
        });
        stack.call(if site.group == sites::ENQUEUE { calls.enqueue } else { calls.dequeue });
    }

    fn shared_calls(&self) -> &'static SharedCalls {
        if self.shared.version >= Version::V2 { &SHARED_RUNQ } else { &SWQUEUE }
    }

    fn unwind_before_idle(&self, cpu: CpuId, stack: &mut Stack) {
        let path = &self.balance.paths[cpu];
        let calls = self.shared_calls();
        if self.shared.version >= Version::V2 || !path.newidle.pulls() {
            stack.call(&["newidle_balance"]);
        }
        if path.newidle.pulls() {
            stack.group = PathGroup::Pull;
            stack.call(calls.pick);
            return path.pull.unwind(calls, &path.links, stack);
        }
        if path.newidle.unwind(stack) {
            path.lb.unwind(calls, &path.links, stack);
        }
    }

    fn unwind_softirq(&self, cpu: CpuId, stack: &mut Stack) {
        use super::balance::{BlockedStage, Soft};
        let path = &self.balance.paths[cpu];
        if path.soft == Soft::Ilb {
            stack.call(&["nohz_idle_balance"]);
        }
        match path.blocked {
            BlockedStage::IrqOff if path.soft != Soft::Blocked => {
                stack.call(&["rebalance_domains"]);
                if path.rebalance.balances() {
                    path.lb.unwind(self.shared_calls(), &path.links, stack);
                }
            }
            BlockedStage::Spend => stack.call(&["update_blocked_averages", RQ_LOCK]),
            _ => stack.call(&["update_blocked_averages"]),
        }
    }
}

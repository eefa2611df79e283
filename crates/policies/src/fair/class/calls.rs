//! The functions of the fair class in a profile's call chains (see `Policy::unwind`).
//!
//! A path's stage is the one that comes next: what is being spent or waited for belongs to the
//! stage before it.

use crate::fair::queue::Discipline;
use crate::fair::state::Fair;
use crate::fair::state::lb_env::{LbStage, LoadBalance};
use crate::fair::state::path::{
    BlockedStage, Links, NewidlePath, NewidleStage, PullPath, PullStage, SoftirqWork, StopPath,
    StopStage,
};
use crate::fair::state::shared_runq::PullHook;
use crate::fair::state::sites;
use sim_core::{Calls, PathGroup, SelectKind, Site, Stack, Within, World};
use topology::CpuId;

const RQ_LOCK: &str = "raw_spin_rq_lock_nested";

/// The functions of the shared queues.
struct SharedCalls {
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
        if self.pulls_in_newidle() { &SHARED_RUNQ } else { &SWQUEUE }
    }

    fn pulls_in_newidle(&self) -> bool {
        self.shared.rules.pull == PullHook::InNewidle
    }

    fn unwind_before_idle(&self, cpu: CpuId, stack: &mut Stack) {
        let path = &self.balance.paths[cpu];
        let calls = self.shared_calls();
        // SWQUEUE pulls in `pick_next_task_fair`, before `newidle_balance` is called.
        if self.pulls_in_newidle() || !path.newidle.pulls() {
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
        let path = &self.balance.paths[cpu];
        if path.softirq == SoftirqWork::Ilb {
            stack.call(&["nohz_idle_balance"]);
        }
        match path.blocked {
            // Averages are up to date: the domains are under way.
            BlockedStage::IrqOff if path.softirq != SoftirqWork::Blocked => {
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

impl PullPath {
    /// The functions below `swqueue_pick_next_task`.
    fn unwind(&self, calls: &SharedCalls, links: &Links, stack: &mut Stack) {
        match self.stage {
            PullStage::Hold | PullStage::Pop => stack.call(calls.pop),
            PullStage::Locked => stack.call(&["task_rq_lock"]),
            PullStage::Move | PullStage::Unlink => stack.call(calls.move_task),
            PullStage::Attach => stack.call(&[RQ_LOCK]),
            _ => {}
        }
        match self.stage {
            // The shared queue's lock is waited for inside of the task's dequeue.
            PullStage::Unlink if links.under_way() => {
                stack.call(&["dequeue_task_fair"]);
                stack.call(calls.dequeue);
            }
            PullStage::Append if links.under_way() => {
                stack.call(calls.move_task);
                stack.call(&["enqueue_task_fair"]);
                stack.call(calls.enqueue);
            }
            _ => {}
        }
    }
}

impl StopPath {
    /// The functions below `active_load_balance_cpu_stop`.
    fn unwind(&self, calls: &SharedCalls, links: &Links, stack: &mut Stack) {
        match self.stage {
            StopStage::Look => stack.call(&[RQ_LOCK]),
            StopStage::Attach => stack.call(&["attach_one_task", RQ_LOCK]),
            StopStage::Unlink if links.under_way() => {
                stack.call(&["detach_one_task", "dequeue_task_fair"]);
                stack.call(calls.dequeue);
            }
            StopStage::Append => {
                stack.call(&["attach_one_task", "enqueue_task_fair"]);
                stack.call(calls.enqueue);
            }
            StopStage::Detach => stack.call(&["detach_one_task"]),
            _ => {}
        }
    }
}

impl LoadBalance {
    /// `load_balance` and the functions below it.
    fn unwind(&self, calls: &SharedCalls, links: &Links, stack: &mut Stack) {
        use LbStage as S;
        stack.call(&["load_balance"]);
        match self.stage {
            S::Stats => stack.call(&["find_busiest_group"]),
            S::Look | S::Active => stack.call(&[RQ_LOCK]),
            S::Unlink if links.under_way() => {
                stack.call(&["detach_tasks", "dequeue_task_fair"]);
                stack.call(calls.dequeue);
            }
            S::Detach | S::Unlink => stack.call(&["detach_tasks"]),
            S::Append => {
                stack.call(&["attach_tasks", "enqueue_task_fair"]);
                stack.call(calls.enqueue);
            }
            S::Attach => stack.call(&["attach_tasks", RQ_LOCK]),
            _ => {}
        }
    }
}

impl NewidlePath {
    /// The functions below `newidle_balance`; true in `load_balance`, which goes on.
    fn unwind(&self, stack: &mut Stack) -> bool {
        match self.stage {
            NewidleStage::Blocked => stack.call(&["update_blocked_averages"]),
            NewidleStage::Finish => stack.call(&[RQ_LOCK]),
            _ => {}
        }
        self.stage == NewidleStage::Balance
    }
}

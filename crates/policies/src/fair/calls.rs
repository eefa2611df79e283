//! The functions of the fair class in a profile's call chains (see `Policy::unwind`).
//!
//! A path's stage is the one that comes next: what is being spent or waited for belongs to the
//! stage before it.

use super::Discipline;
use super::state::Fair;
use sim_core::{PathGroup, SelectKind, Site, Stack, Within, World};
use topology::CpuId;

pub(crate) const RQ_LOCK: &str = "raw_spin_rq_lock_nested";

impl<S: Discipline> Fair<S> {
    /// `Policy::unwind`.
    pub(crate) fn unwind_path(&self, _w: &World, cpu: CpuId, at: Within, stack: &mut Stack) {
        match at {
            Within::Select(SelectKind::Wake { .. }) => {
                stack.call(&["select_task_rq_fair", "select_idle_sibling"]);
            }
            Within::Select(_) => stack.call(&["select_task_rq_fair", "find_idlest_cpu"]),
            Within::Enqueue => stack.call(&["enqueue_task_fair"]),
            Within::Nested(Site::TtwuEnqueueSwq) => {
                stack.call(&["enqueue_task_fair", "swqueue_enqueue"]);
            }
            Within::Nested(Site::PickRemoveSwq) => {
                stack.call(&["pick_next_task_fair", "swqueue_remove_task"]);
            }
            Within::Nested(_) => stack.call(&["dequeue_task_fair", "swqueue_remove_task"]),
            Within::BeforeIdle => {
                stack.group = PathGroup::Newidle;
                stack.call(&["pick_next_task_fair"]);
                self.unwind_before_idle(cpu, stack);
            }
            Within::Softirq => self.unwind_softirq(cpu, stack),
            Within::Stopper => {
                stack.call(&["active_load_balance_cpu_stop"]);
                self.balance.paths[cpu.idx()].stop.unwind(stack);
            }
        }
    }

    fn unwind_before_idle(&self, cpu: CpuId, stack: &mut Stack) {
        let path = &self.balance.paths[cpu.idx()];
        if path.newidle.pulls() {
            stack.group = PathGroup::Pull;
            stack.call(&["swqueue_pick_next_task"]);
            return path.pull.unwind(stack);
        }
        stack.call(&["newidle_balance"]);
        if path.newidle.unwind(stack) {
            path.lb.unwind(stack);
        }
    }

    fn unwind_softirq(&self, cpu: CpuId, stack: &mut Stack) {
        use super::balance::{BlockedStage, Soft};
        let path = &self.balance.paths[cpu.idx()];
        if path.soft == Soft::Ilb {
            stack.call(&["nohz_idle_balance"]);
        }
        match path.blocked {
            BlockedStage::IrqOff if path.soft != Soft::Blocked => {
                stack.call(&["rebalance_domains"]);
                if path.rebalance.balances() {
                    path.lb.unwind(stack);
                }
            }
            BlockedStage::Spend => stack.call(&["update_blocked_averages", RQ_LOCK]),
            _ => stack.call(&["update_blocked_averages"]),
        }
    }
}

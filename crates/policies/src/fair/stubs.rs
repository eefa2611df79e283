//! STUBS: stands in for `balance` and `swqueue` until their branch is merged; delete then.
//!
//! Every method has the signature that the real one will have, and does nothing.

use super::Fair;
use sim_core::{EnqueueFlags, Hook, NEVER, Nested, Ns, Site, Step, TaskId, World};
use topology::CpuId;

impl Fair {
    pub(crate) fn find_idlest_cpu(
        &mut self,
        _w: &mut World,
        _p: TaskId,
        this: CpuId,
        _prev: CpuId,
        _sd_level: usize,
        _sd_flag: u32,
    ) -> (CpuId, Ns) {
        (this, 0)
    }

    pub(crate) fn balance_tick(&mut self, _w: &mut World, _cpu: CpuId) {}

    pub(crate) fn balance_idle_enter(&mut self, _w: &mut World, _cpu: CpuId, _stopped: bool) {}

    pub(crate) fn newidle_step(
        &mut self,
        _w: &mut World,
        _cpu: CpuId,
        _prev: TaskId,
        _first: bool,
    ) -> Step {
        Step::Done
    }

    pub(crate) fn softirq_step(&mut self, _w: &mut World, _cpu: CpuId, _first: bool) -> Step {
        Step::Done
    }

    pub(crate) fn stopper_step(
        &mut self,
        _w: &mut World,
        _cpu: CpuId,
        _target: CpuId,
        _first: bool,
    ) -> Step {
        Step::Done
    }

    pub(crate) fn nohz_kicked(&mut self, _w: &mut World, _cpu: CpuId) {}

    pub(crate) fn nohz_timer(&mut self, _w: &mut World) {}

    pub(crate) fn deciding_tick(&self, _w: &World, _cpu: CpuId) -> Ns {
        NEVER
    }

    pub(crate) fn swq_enqueue(
        &mut self,
        _w: &mut World,
        _cpu: CpuId,
        _p: TaskId,
        _flags: EnqueueFlags,
    ) -> Hook {
        None
    }

    pub(crate) fn swq_remove(
        &mut self,
        _w: &mut World,
        _cpu: CpuId,
        _p: TaskId,
        _site: Site,
    ) -> Hook {
        None
    }

    pub(crate) fn swq_nested_done(&mut self, _w: &mut World, _cpu: CpuId, _n: Nested) {}

    #[allow(dead_code, reason = "keeps alive what only the balance code will call")]
    fn for_balance(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        self.update_blocked_averages(w, cpu);
        self.cpu_runnable(cpu);
        self.cpu_util(cpu);
        self.task_util_est(p);
        self.list_tail(cpu);
    }
}

//! Tests of balancing on hand-made worlds: a rig performs the steps of one path and checks that no
//! two runqueue locks are ever held.

mod choices;
mod nohz;
mod paths;
mod pure;
mod shared_runq;
mod steal;
mod storm;
mod sums;
mod swq;
mod walk;

use crate::fair::features::{Features, Tunables};
use crate::fair::state::FairTask;
use crate::fair::{Cfs, Discipline, Eevdf, Fair, Rules};
use sim_core::{
    Config, EnqueueFlags, LockId, MaskId, Policy, Step, TaskAttr, TaskId, TaskState, World,
};
use std::sync::Arc;
use test_support::Shape;
use topology::*;

/// A machine of `n_llcs` LLCs of `cores` cores with two threads each; sibling of core k is k + C.
pub(super) fn machine(n_llcs: u32, cores: u32) -> Machine {
    Shape::new(n_llcs, cores, 2).machine()
}

/// An ordinary task that last ran at `ran`.
fn new_fair_task(ran: u64) -> FairTask {
    let mut se = FairTask::new(&TaskAttr::default());
    se.exec_start = ran;
    se
}

/// A world, the fair class, and a record of the locks held by the path being driven.
pub(super) struct Rig<S: Discipline = Cfs> {
    pub w: World,
    pub fair: Fair<S>,
    pub held: Vec<LockId>,
}

impl Rig {
    pub fn new(machine: Machine, features: Features) -> Self {
        let fair = Fair::new(features, Tunables::for_cpus(machine.n_cpus()));
        Self::of(machine, fair)
    }

    /// The 32-CPU desktop of the examples: CCX 0 is CPUs 0-7 and 16-23.
    pub fn desktop() -> Self {
        Self::new(machine(2, 8), Features::default())
    }
}

impl Rig {
    /// The desktop with an earlier kernel.
    pub fn desktop_cfs(rules: Rules) -> Self {
        let (features, tunables) = (Features::for_rules(rules), Tunables::for_rules(rules, 32));
        Self::of(machine(2, 8), Fair::new(features, tunables).with_rules(rules))
    }
}

impl Rig<Eevdf> {
    /// The desktop with a later kernel.
    pub fn desktop_with(rules: Rules) -> Self {
        let (features, tunables) = (Features::for_rules(rules), Tunables::for_rules(rules, 32));
        Self::of(machine(2, 8), Fair::eevdf(rules, features, tunables))
    }
}

impl<S: Discipline> Rig<S> {
    fn of(machine: Machine, mut fair: Fair<S>) -> Self {
        let mut w = World::new(Arc::new(machine), Config::default());
        w.now = 100_000_000;
        fair.init(&mut w);
        Self { w, fair, held: Vec::new() }
    }

    /// A task that waits on `cpu`'s queue; `ran` is when it last ran.
    pub fn queued(&mut self, cpu: u32, ran: u64, allowed: MaskId) -> TaskId {
        let attr = TaskAttr { allowed, ..TaskAttr::default() };
        let p = self.w.new_task(attr);
        (self.w.tasks[p].cpu, self.w.tasks[p].wake_cpu) = (CpuId(cpu), CpuId(cpu));
        self.fair.task_fork(&mut self.w, p, None);
        self.fair.tasks[p].exec_start = ran;
        self.w.activate(CpuId(cpu), p);
        let flags = EnqueueFlags::default();
        S::enqueue_entity(&mut self.fair, &mut self.w, CpuId(cpu), p, flags);
        p
    }

    /// A task that runs on `cpu`.
    pub fn running(&mut self, cpu: u32, allowed: MaskId) -> TaskId {
        let p = self.queued(cpu, self.w.now, allowed);
        S::set_next_entity(&mut self.fair, &mut self.w, CpuId(cpu), p, TaskId::IDLE);
        self.w.set_curr(CpuId(cpu), p);
        self.w.tasks[p].on_cpu = true;
        p
    }

    /// Performs one step of a path on `cpu`.
    pub fn perform(&mut self, cpu: u32, step: Step) {
        match step {
            Step::Spend(ns) => self.w.now += ns,
            Step::Lock(lock, _) | Step::TryLock(lock, _) => {
                assert!(!self.held.contains(&lock), "{lock:?} taken twice by {cpu}");
                self.held.push(lock);
                self.w.cpus[CpuId(cpu)].trylock_ok = true;
                let n_cpus = self.w.cpus.len() as u32;
                let n_rqs = self.held.iter().filter(|l| l.0 < n_cpus).count();
                assert!(n_rqs <= 1, "two runqueue locks: {:?}", self.held);
            }
            Step::Unlock(lock) => {
                let at = self.held.iter().position(|l| *l == lock);
                self.held.remove(at.expect("unlock of a lock that is held"));
            }
            Step::WaitTask(..) | Step::Wake { .. } | Step::IrqOff | Step::IrqOn | Step::Done => {}
        }
    }

    /// Performs a path to its end.
    pub fn drive(
        &mut self,
        cpu: u32,
        mut path: impl FnMut(&mut Fair<S>, &mut World, bool) -> Step,
    ) -> Vec<Step> {
        let mut steps = Vec::new();
        loop {
            self.w.this = CpuId(cpu);
            let step = path(&mut self.fair, &mut self.w, steps.is_empty());
            steps.push(step);
            if step == Step::Done {
                return steps;
            }
            assert!(steps.len() < 10_000, "the path does not end");
            self.perform(cpu, step);
        }
    }

    /// `before_idle` on `cpu`, which holds its runqueue lock.
    pub fn newidle(&mut self, cpu: u32, prev: TaskId) -> Vec<Step> {
        self.w.update_rq_clock(CpuId(cpu));
        self.held = vec![LockId(cpu)];
        let steps = self.drive(cpu, |f, w, first| f.before_idle(w, CpuId(cpu), prev, first));
        assert_eq!(self.held, [LockId(cpu)]);
        self.held.clear();
        steps
    }

    /// What `cpu` last failed by at this level.
    pub fn sought(&self, cpu: u32, level: usize) -> &'static str {
        self.w.sought[CpuId(cpu)].at_level(level).reason.name
    }

    /// A softirq on `cpu`, idle or not at the tick.
    pub fn softirq(&mut self, cpu: u32) -> Vec<Step> {
        self.fair.balance.paths[CpuId(cpu)].idle_at_tick = self.w.cpus[CpuId(cpu)].idle;
        let steps = self.drive(cpu, |f, w, first| f.softirq(w, CpuId(cpu), first));
        assert!(self.held.is_empty(), "{:?}", self.held);
        let off = steps.iter().filter(|s| **s == Step::IrqOff).count();
        let on = steps.iter().filter(|s| **s == Step::IrqOn).count();
        assert_eq!(off, on);
        steps
    }

    pub fn cpu_of(&self, p: TaskId) -> u32 {
        self.w.tasks[p].cpu.0
    }
}

fn locks_of(steps: &[Step], cpu: u32) -> usize {
    let wanted = |s: &&Step| matches!(s, Step::Lock(l, _) if l.0 == cpu);
    steps.iter().filter(wanted).count()
}

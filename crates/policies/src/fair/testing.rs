//! For unit tests: regular machines, and the few verbs that the engine would do.

use super::features::{Features, Tunables};
use super::{Cfs, Discipline, Eevdf, Fair, GroupSpec, Rules};
use sim_core::{
    Config, DequeueFlags, EnqueueFlags, GroupId, MigrationCause, Ns, Policy, TaskAttr, TaskId,
    TaskState, World,
};
use test_support::Shape;
use topology::CpuId;

/// Two LLCs of 8 cores with 2 threads, like a 7950X.
pub const RYZEN: Shape = Shape::new(2, 8, 2);

/// A class and a world that a test drives by hand.
pub struct Rig<S: Discipline = Cfs> {
    pub f: Fair<S>,
    pub w: World,
}

impl Rig {
    pub fn new(shape: Shape, hz: u32) -> Self {
        Self::with(shape, hz, Features::default())
    }

    pub fn with(shape: Shape, hz: u32, features: Features) -> Self {
        // As on a machine with 8 CPUs or more, whatever the shape.
        Self::of(Fair::new(features, Tunables::for_cpus(8)), shape, hz)
    }
}

/// Groups below the root of these `cpu.weight`s.
fn specs(cpu_weights: &[u32]) -> Vec<GroupSpec> {
    let spec = |w: &u32| GroupSpec { cpu_weight: *w, ..GroupSpec::default() };
    cpu_weights.iter().map(spec).collect()
}

impl Rig<Cfs<true>> {
    /// With groups of these `cpu.weight`s.
    pub fn grouped(shape: Shape, hz: u32, cpu_weights: &[u32]) -> Self {
        let groups = specs(cpu_weights);
        let f = Fair::with_groups(Features::default(), Tunables::for_cpus(8), &groups);
        Self::of(f, shape, hz)
    }
}

impl Rig<Eevdf<true>> {
    /// A base slice of 3 ms, whatever the kernel, and groups of these `cpu.weight`s.
    pub fn eevdf_grouped(rules: Rules, hz: u32, cpu_weights: &[u32]) -> Self {
        let tunables = Tunables { base_slice_ns: 3_000_000, ..Tunables::for_rules(rules, 8) };
        let (features, groups) = (Features::for_rules(rules), specs(cpu_weights));
        Self::of(Fair::eevdf_with_groups(rules, features, tunables, &groups), RYZEN, hz)
    }
}

impl<S: Discipline> Rig<S> {
    /// A new task of a group, queued on `cpu`.
    pub fn fork_in(&mut self, group: u16, cpu: u32, nice: i8) -> TaskId {
        let group = GroupId(group);
        let p = self.w.new_task(TaskAttr { nice, group, ..TaskAttr::default() });
        self.w.set_task_cpu(p, CpuId(cpu), MigrationCause::Fork);
        self.f.task_fork(&mut self.w, p, None);
        self.enqueue(p, EnqueueFlags { initial: true, ..EnqueueFlags::default() });
        p
    }
}

impl Rig<Eevdf> {
    /// A base slice of 3 ms, whatever the kernel.
    pub fn eevdf(rules: Rules, hz: u32, features: Features) -> Self {
        let tunables = Tunables { base_slice_ns: 3_000_000, ..Tunables::for_rules(rules, 8) };
        Self::of(Fair::eevdf(rules, features, tunables), RYZEN, hz)
    }
}

impl<S: Discipline> Rig<S> {
    fn of(mut f: Fair<S>, shape: Shape, hz: u32) -> Self {
        let mut w = World::new(Shape { hz, ..shape }.machine().into(), Config::default());
        f.init(&mut w);
        Self { f, w }
    }

    /// A new task on `cpu`, not yet runnable.
    pub fn new_task(&mut self, cpu: u32, nice: i8) -> TaskId {
        let p = self.w.new_task(TaskAttr { nice, ..TaskAttr::default() });
        self.w.set_task_cpu(p, CpuId(cpu), MigrationCause::Fork);
        self.f.task_fork(&mut self.w, p, None);
        p
    }

    /// A new task, queued on `cpu`.
    pub fn fork(&mut self, cpu: u32, nice: i8) -> TaskId {
        let p = self.new_task(cpu, nice);
        let flags = EnqueueFlags { initial: true, ..EnqueueFlags::default() };
        self.enqueue(p, flags);
        p
    }

    pub fn enqueue(&mut self, p: TaskId, flags: EnqueueFlags) {
        let cpu = self.w.tasks[p].cpu;
        self.w.update_rq_clock(cpu);
        self.w.activate(cpu, p);
        self.w.tasks[p].state = TaskState::Runnable;
        self.f.enqueue_task(&mut self.w, cpu, p, flags);
        self.f.wakeup_preempt(&mut self.w, cpu, p, flags);
    }

    pub fn dequeue(&mut self, p: TaskId, sleep: bool) {
        let cpu = self.w.tasks[p].cpu;
        if sleep {
            self.w.tasks[p].state = TaskState::Sleeping;
        }
        self.w.update_rq_clock(cpu);
        self.f.dequeue_task(&mut self.w, cpu, p, DequeueFlags { sleep });
        if !self.w.tasks[p].sched_delayed {
            self.w.deactivate(cpu, p);
        }
    }

    /// `schedule()` without its time.
    pub fn schedule(&mut self, cpu: u32) -> TaskId {
        let cpu = CpuId(cpu);
        let prev = self.w.cpus[cpu].curr;
        self.w.update_rq_clock(cpu);
        let next = self.f.pick_next_task(&mut self.w, cpu).unwrap_or(TaskId::IDLE);
        if next != prev {
            self.f.switch_task(&mut self.w, cpu, prev, next);
        }
        self.w.set_curr(cpu, next);
        self.w.cpus[cpu].need_resched = false;
        next
    }

    /// The current task of `cpu` sleeps.
    pub fn sleep(&mut self, cpu: u32) {
        let curr = self.w.cpus[CpuId(cpu)].curr;
        self.dequeue(curr, true);
        self.schedule(cpu);
    }

    /// Wakes `p` where it slept.
    pub fn wake(&mut self, p: TaskId) {
        if self.w.tasks[p].sched_delayed {
            let cpu = self.w.tasks[p].cpu;
            self.w.tasks[p].state = TaskState::Runnable;
            self.w.update_rq_clock(cpu);
            self.f.wake_delayed(&mut self.w, cpu, p);
            return self.f.wakeup_preempt(&mut self.w, cpu, p, EnqueueFlags::default());
        }
        self.enqueue(p, EnqueueFlags { wakeup: true, ..EnqueueFlags::default() });
    }

    /// Ticks of CPU 0 until `end`; returns when each switch happened, and to whom.
    pub fn run(&mut self, end: Ns) -> Vec<(Ns, TaskId)> {
        let mut switches = Vec::new();
        while self.w.cpus[CpuId(0)].tick_next <= end {
            // One that was due before the last step comes late.
            self.w.now = self.w.now.max(self.w.cpus[CpuId(0)].tick_next);
            self.w.cpus[CpuId(0)].tick_next = self.w.tick_after(CpuId(0), self.w.now);
            self.f.task_tick(&mut self.w, CpuId(0));
            if self.w.cpus[CpuId(0)].need_resched {
                let prev = self.w.cpus[CpuId(0)].curr;
                let next = self.schedule(0);
                if next != prev {
                    switches.push((self.w.now, next));
                }
            }
        }
        self.w.now = end;
        switches
    }

    /// Makes a CPU look busy (or idle again).
    pub fn set_busy(&mut self, cpu: u32, busy: bool) {
        self.w.set_nr_running(CpuId(cpu), u32::from(busy));
    }

    pub fn vruntime(&self, p: TaskId) -> u64 {
        self.f.tasks[p].vruntime
    }
}

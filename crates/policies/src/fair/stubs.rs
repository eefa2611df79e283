//! Stand-ins for the parts of the fair class that other files will provide.

use super::state::Fair;
use sim_core::{
    Choice, DequeueFlags, EnqueueFlags, Hook, Nested, Ns, Policy, SelectKind, Site, Step, TaskId,
    World,
};
use topology::CpuId;

pub(crate) fn nr_idle_scan(sum_util: u64, llc_weight: u32, pct: u32) -> u32 {
    let (weight, pct) = (u64::from(llc_weight), u64::from(pct));
    let x = sum_util / weight;
    let y = 1024 - (x * x * pct * pct / (10_000 * 1024)).min(1024);
    (y * weight / 1024) as u32
}

impl Fair {
    pub(crate) fn enqueue_entity(&mut self, w: &mut World, cpu: CpuId, p: TaskId, _: EnqueueFlags) {
        let load = self.tasks[p.idx()].avg.load_avg;
        let weight = u64::from(self.tasks[p.idx()].weight);
        let rq = &mut self.rqs[cpu.idx()];
        rq.h_nr_running += 1;
        rq.load_weight += weight;
        rq.avg.load_avg += load;
        self.note_nr_running(w, cpu);
        self.list_add(cpu, p);
    }

    pub(crate) fn dequeue_entity(&mut self, _: &mut World, cpu: CpuId, p: TaskId, _: DequeueFlags) {
        let load = self.tasks[p.idx()].avg.load_avg;
        let weight = u64::from(self.tasks[p.idx()].weight);
        let rq = &mut self.rqs[cpu.idx()];
        rq.h_nr_running -= 1;
        rq.load_weight -= weight;
        rq.avg.load_avg -= load;
        self.list_del(cpu, p);
    }

    fn list_add(&mut self, cpu: CpuId, p: TaskId) {
        let head = std::mem::replace(&mut self.rqs[cpu.idx()].list_head, p);
        let t = &mut self.tasks[p.idx()];
        (t.list_prev, t.list_next) = (TaskId::NONE, head);
        if head.is_task() {
            self.tasks[head.idx()].list_prev = p;
        } else {
            self.rqs[cpu.idx()].list_tail = p;
        }
    }

    fn list_del(&mut self, cpu: CpuId, p: TaskId) {
        let (prev, next) = (self.tasks[p.idx()].list_prev, self.tasks[p.idx()].list_next);
        if prev.is_task() {
            self.tasks[prev.idx()].list_next = next;
        } else {
            self.rqs[cpu.idx()].list_head = next;
        }
        if next.is_task() {
            self.tasks[next.idx()].list_prev = prev;
        } else {
            self.rqs[cpu.idx()].list_tail = prev;
        }
    }

    pub(crate) fn list_tail(&self, cpu: CpuId) -> TaskId {
        self.rqs[cpu.idx()].list_tail
    }

    pub(crate) fn list_rotate_to_head(&mut self, cpu: CpuId, p: TaskId) {
        self.list_del(cpu, p);
        self.list_add(cpu, p);
    }

    pub(crate) fn check_preempt(&mut self, _: &mut World, _: CpuId, _: TaskId, _: EnqueueFlags) {}

    pub(crate) fn update_blocked_averages(&mut self, _: &mut World, _: CpuId) {}

    pub(crate) fn cpu_load(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu.idx()].avg.load_avg
    }

    pub(crate) fn cpu_runnable(&self, cpu: CpuId) -> u64 {
        self.rqs[cpu.idx()].avg.runnable_avg
    }

    pub(crate) fn cpu_util(&self, cpu: CpuId) -> u64 {
        let rq = &self.rqs[cpu.idx()];
        rq.avg.util_avg.max(rq.util_est_enqueued.into()).min(1024)
    }

    pub(crate) fn task_h_load(&self, p: TaskId) -> u64 {
        self.tasks[p.idx()].avg.load_avg
    }

    pub(crate) fn task_util_est(&self, p: TaskId) -> u64 {
        let t = &self.tasks[p.idx()];
        let est = t.util_est_ewma.max(t.util_est_enqueued);
        t.avg.util_avg.max(est.into())
    }
}

impl Policy for Fair {
    fn init(&mut self, w: &mut World) {
        self.init_balance(w);
    }

    fn task_fork(&mut self, _: &mut World, _: TaskId, _: Option<TaskId>) {}

    fn select_task_rq(&mut self, w: &mut World, p: TaskId, _: SelectKind) -> Choice {
        let flag = topology::SdFlags::BALANCE_FORK;
        let this = w.this;
        let (cpu, scan_ns) = self.find_idlest_cpu(w, p, this, this, 0, flag);
        Choice { cpu, scan_ns }
    }

    fn enqueue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, f: EnqueueFlags) -> Hook {
        self.avg_idle_update(w, cpu);
        self.enqueue_entity(w, cpu, p, f);
        self.swq_enqueue(w, cpu, p, f)
    }

    fn dequeue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, f: DequeueFlags) -> Hook {
        self.dequeue_entity(w, cpu, p, f);
        self.swq_remove(w, cpu, p, Site::DequeueRemoveSwq)
    }

    fn nested_done(&mut self, w: &mut World, cpu: CpuId, n: Nested) {
        self.swq_nested_done(w, cpu, n);
    }

    fn wakeup_preempt(&mut self, _: &mut World, _: CpuId, _: TaskId, _: EnqueueFlags) {}

    fn pick_next_task(&mut self, _: &mut World, _: CpuId) -> Option<TaskId> {
        None
    }

    fn switch_task(&mut self, _: &mut World, _: CpuId, _: TaskId, _: TaskId) -> Hook {
        None
    }

    fn before_idle(&mut self, w: &mut World, cpu: CpuId, prev: TaskId, first: bool) -> Step {
        self.newidle_step(w, cpu, prev, first)
    }

    fn task_tick(&mut self, w: &mut World, cpu: CpuId) {
        self.balance_tick(w, cpu);
    }

    fn next_deciding_tick(&self, w: &World, cpu: CpuId) -> Ns {
        self.deciding_tick(w, cpu)
    }

    fn softirq(&mut self, w: &mut World, cpu: CpuId, first: bool) -> Step {
        self.softirq_step(w, cpu, first)
    }

    fn stopper(&mut self, w: &mut World, cpu: CpuId, target: CpuId, first: bool) -> Step {
        self.stopper_step(w, cpu, target, first)
    }

    fn idle_enter(&mut self, w: &mut World, cpu: CpuId, tick_stopped: bool) {
        self.balance_idle_enter(w, cpu, tick_stopped);
    }

    fn nohz_kick(&mut self, w: &mut World, cpu: CpuId) {
        self.nohz_kicked(w, cpu);
    }

    fn policy_timer(&mut self, w: &mut World) {
        self.nohz_timer(w);
    }
}

//! The fair class as the mechanism sees it: `impl Policy for Fair`.
//!
//! Each question is passed on to the file that answers it; only the bookkeeping that goes with
//! the question itself is here.

mod attr;
mod calls;
mod foreign;
mod init;

use super::queue::Discipline;
use super::state::cpu_stats::CpuStats;
use super::state::topo::Topo;
use super::state::{Fair, FairCounters, FairRq, QueueId, SwqStats, reasons, sites};
use sim_core::{
    Choice, DequeueFlags, EnqueueFlags, Hook, MaskId, Nested, Ns, Policy, SchedAttr, SelectKind,
    Signals, Stack, Step, TaskId, Within, World,
};
use topology::CpuId;

impl<S: Discipline> Policy for Fair<S> {
    fn init(&mut self, w: &mut World) {
        self.topo = Topo::new(&w.machine);
        w.stat.is_fair = true;
        // The feature lives on both floors: either may turn it off.
        w.config.ttwu_queue &= self.features.ttwu_queue;
        let kernel = self.discipline.kernel();
        w.config.wake_list = kernel.wake_list;
        w.config.clears_pending_first = kernel.clears_pending_first;
        w.config.ends_skip_with_schedule = kernel.ends_skip_with_schedule;
        w.config.idles_on_without_pick = kernel.idles_on_without_pick;
        w.config.lone_state_keeps_tick = kernel.lone_state_keeps_tick;
        if kernel.scatters_affine_moves {
            w.forget_distributed();
        }
        let migration_cost = self.tunables.migration_cost_ns.max(0) as Ns;
        let n = w.machine.n_cpus();
        self.rqs = (0..n).map(|_| FairRq::new(migration_cost)).collect();
        self.cpu_stats = vec![CpuStats::default(); n].into();
        self.llc_stats = (0..w.machine.llcs.len() as u32).map(|l| self.llc_stats_of(l)).collect();
        let first_decay = self.first_flip_decay(w);
        let idle_wakees = self.rqs.iter_mut().map(|rq| &mut rq.idle_wakee);
        idle_wakees.for_each(|wakee| wakee.decay_due = first_decay);
        self.groups.init(w);
        S::init(self);
        self.init_balance(w);
        w.config.appends = self.shared.appends();
    }

    fn task_fork(&mut self, w: &mut World, p: TaskId, parent: Option<TaskId>) {
        let mut se = self.made_task(w, p, parent);
        let cpu = w.tasks[parent.unwrap_or(p)].cpu;
        (se.recent_used_cpu, se.swq_cpu) = (cpu, cpu);
        self.sched_idle_used |= se.is_idle_policy();
        self.cover(w, p);
        self.tasks[p] = se;
        S::task_fork(self, w, cpu, p);
    }

    fn task_dead(&mut self, w: &mut World, p: TaskId) {
        let cpu = w.tasks[p].cpu;
        self.catch_up(w, cpu);
        self.remove_entity_load_avg(w, cpu, p);
    }

    fn select_task_rq(&mut self, w: &mut World, p: TaskId, kind: SelectKind) -> Choice {
        self.select(w, p, kind)
    }

    fn migrate_task_rq(&mut self, w: &mut World, p: TaskId, from: CpuId, _to: CpuId) {
        self.catch_up(w, from);
        S::migrate_task(self, from, p);
        self.remove_entity_load_avg(w, from, p);
    }

    fn enqueue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: EnqueueFlags) -> Hook {
        S::enqueue_entity(self, w, cpu, p, flags);
        if flags.wakeup {
            self.avg_idle_update(w, cpu);
        }
        self.swq_enqueue(w, cpu, p, flags)
    }

    fn dequeue_task(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: DequeueFlags) -> Hook {
        self.take_from_queue(w, cpu, p, flags);
        self.swq_remove(w, cpu, p, sites::DEQUEUE_REMOVE)
    }

    fn nested_hold(&self, w: &World, cpu: CpuId, n: Nested) -> Ns {
        self.swq_nested_hold(w, cpu, n)
    }

    fn wake_delayed(&mut self, w: &mut World, cpu: CpuId, p: TaskId) {
        w.note_placed(p, reasons::SLEPT_HERE);
        S::wake_delayed(self, w, cpu, p);
    }

    fn nested_done(&mut self, w: &mut World, cpu: CpuId, n: Nested) -> Hook {
        self.swq_nested_done(w, cpu, n)
    }

    fn wakeup_preempt(&mut self, w: &mut World, cpu: CpuId, p: TaskId, flags: EnqueueFlags) {
        self.check_preempt(w, cpu, p, flags);
    }

    fn pick_next_task(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        self.rqs[cpu].was_runnable = S::nr_entities(self, QueueId::root(cpu)) > 0;
        let picked = S::pick_next_entity(self, w, cpu)?;
        if picked == self.rqs[cpu].curr && self.discipline.kernel().relists_kept_task {
            self.list_rotate_to_head(cpu, picked);
        }
        Some(picked)
    }

    fn switch_task(&mut self, w: &mut World, cpu: CpuId, prev: TaskId, next: TaskId) -> Hook {
        let mut put = None;
        if prev == TaskId::IDLE {
            self.rqs[cpu].pelt_clock.leave_idle(w.rq_clock(cpu));
        }
        if prev.is_task() {
            self.put_prev(w, cpu, prev, next);
            put = self.shared_put_prev(w, cpu, prev);
        }
        if next.is_task() {
            S::set_next_entity(self, w, cpu, next, prev);
            return put.or_else(|| self.swq_remove(w, cpu, next, sites::PICK_REMOVE));
        } else if next == TaskId::IDLE {
            let clock = w.rq_clock(cpu);
            let rq = &mut self.rqs[cpu];
            rq.pelt_clock.enter_idle(clock, self.topo.freq_scale, rq.avg.util_sum);
            self.update_idle_core(w, cpu);
        }
        put
    }

    fn before_idle(&mut self, w: &mut World, cpu: CpuId, prev: TaskId, first: bool) -> Step {
        let step = self.newidle_step(w, cpu, prev, first);
        let stays_idle = prev == TaskId::IDLE && w.cpus[cpu].nr_running == 0;
        if step.is_done() && stays_idle && self.discipline.kernel().picks_idle_anew {
            self.update_idle_core(w, cpu);
        }
        step
    }

    fn task_tick(&mut self, w: &mut World, cpu: CpuId) {
        w.update_rq_clock(cpu);
        let curr = self.rqs[cpu].curr;
        if curr.is_task() {
            S::tick(self, w, cpu, curr);
        }
        self.balance_tick(w, cpu);
    }

    fn next_deciding_tick(&self, w: &World, cpu: CpuId) -> Ns {
        S::preempting_tick(self, w, cpu).min(self.deciding_tick(w, cpu))
    }

    /// Until the next balance, if no task on the queue sleeps (delayed dequeue) and no task is to
    /// be taken off a wakequeue.
    fn only_ticks_until(&self, w: &World, cpu: CpuId) -> Ns {
        let rq = &self.rqs[cpu];
        if S::GROUPS
            || !self.swqueues.is_empty()
            || rq.nohz_idle
            || rq.h_nr_delayed > 0
            || !rq.curr.is_task()
        {
            return 0;
        }
        let balance = self.deciding_tick(w, cpu);
        let queued = self.list_of(cpu);
        queued.map(|p| w.works_until(p)).fold(balance, Ns::min)
    }

    fn softirq(&mut self, w: &mut World, cpu: CpuId, first: bool) -> Step {
        self.softirq_step(w, cpu, first)
    }

    fn stopper(&mut self, w: &mut World, cpu: CpuId, target: CpuId, first: bool) -> Step {
        self.stopper_step(w, cpu, target, first)
    }

    fn stopper_woken(&mut self, w: &mut World, cpu: CpuId) {
        self.note_stopper(w, cpu);
    }

    fn idle_enter(&mut self, w: &mut World, cpu: CpuId, stops_tick: bool) {
        self.balance_idle_enter(w, cpu, stops_tick);
    }

    fn yield_task(&mut self, w: &mut World, cpu: CpuId) {
        S::yield_task(self, w, cpu);
    }

    fn set_scheduler(&mut self, w: &mut World, p: TaskId, attr: SchedAttr) -> Hook {
        self.change_scheduler(w, p, attr)
    }

    fn set_cpus_allowed(&mut self, w: &mut World, p: TaskId, allowed: MaskId) -> Hook {
        self.change_affinity(w, p, allowed)
    }

    fn nohz_kick(&mut self, w: &mut World, cpu: CpuId) {
        self.nohz_kicked(w, cpu);
    }

    fn measurement_begins(&mut self) {
        self.balance.swq = SwqStats::default();
        self.counters = FairCounters::default();
        self.groups.measurement_begins();
    }

    fn results(&self) -> Vec<(&'static str, f64)> {
        let mut results = self.counters.results(&self.balance.swq);
        if let Some(stat) = self.bandwidth_stat() {
            results.extend([
                ("nr_periods", stat.nr_periods as f64),
                ("nr_throttled", stat.nr_throttled as f64),
                // Whole us, as in `cpu.stat`.
                ("throttled_usec", (stat.throttled_ns / 1000) as f64),
            ]);
        }
        results
    }

    fn cpu_signals(&self, cpu: CpuId) -> Option<Signals> {
        Some(self.rqs[cpu].avg.signals())
    }

    fn task_signals(&self, p: TaskId) -> Option<Signals> {
        Some(self.tasks.get(p.idx())?.avg.signals())
    }

    fn unwind(&self, w: &World, cpu: CpuId, at: Within, stack: &mut Stack) {
        self.unwind_path(w, cpu, at, stack);
    }

    fn policy_timer(&mut self, w: &mut World) {
        let bandwidth = S::GROUPS && self.groups.timer_at <= w.now;
        if bandwidth {
            self.bandwidth_timers(w);
        }
        if !bandwidth || self.balance.nohz.timer_at <= w.now {
            self.nohz_timer(w);
        }
        self.set_policy_timer(w);
    }
}

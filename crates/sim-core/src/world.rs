//! The world: everything that policies, programs and observers may look at.
//!
//! Policies change it through a few verbs named after the kernel's; the engine does the rest.

mod queue;
mod signal;
mod tick;

use crate::after_event::{AfterEvent, Moved};
use crate::ahead::RunAhead;
use crate::category::{Category, Context};
use crate::cpu::{Base, Cpu, Occupancy};
use crate::cpufreq::Clocks;
use crate::lines::Lines;
use crate::llc_counts::{Counts, LlcCounts};
use crate::machine_times::MachineTimes;
use crate::pinned_waiters::PinnedWaiters;
use crate::{
    EventQueue, GroupId, LockId, Locks, MaskId, NEVER, Ns, PerTask, Pid, SchedPolicy, SchedStat,
    Site, Sought, Task, TaskAttr, TaskId,
};
use std::sync::Arc;
use topology::{CpuId, CpuSet, Distance, IdVec, Machine, PerCpu};

/// The longest single segment, ns; longer ones are cut (a day of work at full speed).
pub(crate) const MAX_SEGMENT_NS: Ns = 86_400_000_000_000;

/// The pid of the stopper thread of CPU 0; the others follow.
const FIRST_STOPPER_PID: u32 = 16;
/// Pids of a workload's tasks begin here, or after the stoppers on a very large machine.
const FIRST_PID: u32 = 1000;

/// Classes of a policy: the fair one, and sched_ext beside it.
const CLASSES_MAX: usize = 2;

/// Which wake-ups go through the wake list of the target's CPU (`ttwu_queue_cond()`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WakeList {
    /// To a CPU behind another LLC, or with nothing to run: v6.0.
    OtherLlcOrIdle,
    /// To a CPU behind another LLC; or the task is still being switched out there, and not more
    /// than one other is queued: v5.19.
    OtherLlcOrOnCpu,
}

/// Where in `enqueue_task_fair()` a task is shown to other CPUs, beside its own queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Appends {
    /// Nowhere.
    Never,
    /// At the end.
    AtEnd,
    /// Where the task enters the tree of its `cfs_rq` (`__enqueue_entity()`); its group's entity
    /// comes after that.
    InTree,
}

/// Kernel knobs of a run that belong to the mechanism.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The TTWU_QUEUE feature: remote wake-ups may use the wake list (`ttwu_queue_cond()`).
    pub ttwu_queue: bool,
    /// Which of them may.
    pub wake_list: WakeList,
    /// `sched_ttwu_pending()` takes `rq->ttwu_pending` away before it enqueues what was on the wake
    /// list; since v6.2 after that.
    pub clears_pending_first: bool,
    /// `schedule_idle()` of a CPU with nothing queued ends without a pick (SM_IDLE, v6.12).
    pub idles_on_without_pick: bool,
    /// A wish to skip the clock's update is forgotten at the end of each `schedule()`, though it
    /// came in its midst; since v6.6 it is kept for the next one (5ebde09d9170).
    pub ends_skip_with_schedule: bool,
    /// A guest with one idle state asks no governor, and its tick goes on until it has come in
    /// idle (`cpuidle_idle_call(got_tick)`). Before, it stopped at once.
    pub lone_state_keeps_tick: bool,
    /// Where an enqueue shows its task on a queue that other CPUs pull from (`SWQUEUE`).
    pub appends: Appends,
    /// Timer slack of normal tasks, ns: their timers fire this much later than asked.
    pub timer_slack_ns: Ns,
    /// Task group of user tasks for which their program says none, as of all that a login shell
    /// starts. Kernel threads and daemons are not in it.
    pub user_group: GroupId,
    /// Ticks are simulated one by one instead of computed: slow, for tests that compare the two.
    pub simulate_every_tick: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            ttwu_queue: true,
            wake_list: WakeList::OtherLlcOrIdle,
            clears_pending_first: false,
            idles_on_without_pick: false,
            ends_skip_with_schedule: false,
            lone_state_keeps_tick: false,
            appends: Appends::Never,
            timer_slack_ns: 50_000,
            user_group: GroupId::ROOT,
            simulate_every_tick: false,
        }
    }
}

/// Why a task changed its CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MigrationCause {
    /// `try_to_wake_up` chose another CPU.
    Wake,
    /// `wake_up_new_task` chose another CPU than the parent's.
    Fork,
    /// `sched_exec` chose another CPU.
    Exec,
    /// Moved by `sched_setaffinity`.
    Affinity,
    /// Moved by the policy in the middle of one of its paths, not by the engine.
    Policy(PolicyMove),
}

/// A kind of migration that only a policy knows: a constant of its owner.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PolicyMove {
    slot: u8,
    /// The kernel's function that makes such moves.
    pub name: &'static str,
}

impl PolicyMove {
    /// How many kinds a policy may have.
    pub const SLOTS: usize = 4;

    /// A kind that is counted in its own slot, below [`PolicyMove::SLOTS`].
    pub const fn new(slot: u8, name: &'static str) -> Self {
        assert!((slot as usize) < Self::SLOTS, "a policy has no more kinds of migration");
        Self { slot, name }
    }
}

impl MigrationCause {
    /// Number of counters by cause.
    pub const COUNT: usize = 4 + PolicyMove::SLOTS;

    /// Index into [`Counters::migrations_by_cause`].
    pub const fn index(self) -> usize {
        match self {
            Self::Wake => 0,
            Self::Fork => 1,
            Self::Exec => 2,
            Self::Affinity => 3,
            Self::Policy(kind) => 4 + kind.slot as usize,
        }
    }

    fn is_by_policy(self) -> bool {
        matches!(self, Self::Policy(_))
    }
}

/// Counters since the measurement began.
#[derive(Clone, Copy, Default, Debug)]
pub struct Counters {
    /// Context switches, those to the idle task and the stopper included.
    pub switches: u64,
    /// Wake-ups that made a task runnable.
    pub wakeups: u64,
    /// Wake-ups of tasks that were not asleep.
    pub wakeups_coalesced: u64,
    /// Migrations by distance (`Distance as usize`).
    pub migrations: [u64; 5],
    /// Migrations by [`MigrationCause::index`].
    pub migrations_by_cause: [u64; MigrationCause::COUNT],
    /// IPIs sent. A polling CPU that is woken by a store gets none.
    pub ipis: u64,
    /// Events handled by the engine.
    pub events: u64,
    /// Waits for lines of the policy that were written, of all CPUs together, ns.
    pub line_write_wait_ns: Ns,
    /// The same for lines that were read.
    pub line_read_wait_ns: Ns,
}

/// Pids of the workload's tasks.
struct Pids {
    first: Pid,
    next: Pid,
}

/// The state of a simulation: CPUs, tasks, locks and the clock.
pub struct World {
    /// The present instant, ns since the start of the run.
    pub now: Ns,
    /// Since when accounts and counters are kept, ns.
    pub measured_from: Ns,
    /// The CPU whose event is being handled; outside of all CPUs a number that none has.
    pub this: CpuId,
    /// The machine, the same during the whole run.
    pub machine: Arc<Machine>,
    /// Kernel knobs, the same during the whole run.
    pub config: Config,
    /// All CPUs, with their runqueues.
    pub cpus: PerCpu<Cpu>,
    /// All tasks; ids of exited ones are used again.
    pub tasks: PerTask<Task>,
    /// Affinity masks by `MaskId`; the first allows every CPU.
    pub masks: IdVec<MaskId, CpuSet>,
    /// Command names by `TaskAttr::comm`.
    pub comms: Vec<String>,
    /// By `CpuId`: what it last looked for in vain.
    pub sought: PerCpu<Sought>,
    /// Locks and their statistics.
    pub locks: Locks,
    /// Switches, wake-ups, migrations, IPIs and events.
    pub counters: Counters,
    /// What /proc/schedstat counts beside the runqueues.
    pub stat: SchedStat,
    /// Values recorded by [`crate::ProgramCx::record`], ns.
    pub samples: Vec<Ns>,
    /// Number of CPUs for which [`Cpu::idle`] holds.
    pub n_idle: u32,
    /// The CPUs for which [`Cpu::idle`] holds.
    pub idle_cpus: CpuSet,
    pub(crate) counts: Counts,
    /// Number of tasks that wait on a runqueue without running.
    pub n_waiting: u32,
    /// Integral of [`World::n_idle_while_runnable`] over time, ns.
    pub idle_while_runnable_ns: u128,

    pub(crate) idle_while_runnable_since: Ns,
    pub(crate) pinned: PinnedWaiters,
    pub(crate) free_tasks: Vec<TaskId>,
    /// First tasks that the program has made and that are not placed yet.
    pub(crate) starting: Vec<TaskId>,
    pub(crate) n_alive: u32,
    pids: Pids,
    pub(crate) events: EventQueue,
    pub(crate) timers: EventQueue,
    pub(crate) ahead: RunAhead,
    pub(crate) policy_timer: Ns,
    /// What the classes of the policy have asked for; the earliest is `policy_timer`.
    class_timers: [Ns; CLASSES_MAX],
    /// Tasks that are [`crate::Task::throttled`].
    pub n_throttled: u32,
    /// When [`crate::Program::device`] wants to be called.
    pub(crate) device_at: Ns,
    pub(crate) siblings: PerCpu<Vec<CpuId>>,
    pub(crate) lines: Lines,
    pub(crate) times: MachineTimes,
    /// The CPUs' clocks, if they follow the load.
    pub(crate) clocks: Option<Clocks>,
    pub(crate) after: AfterEvent,
}

impl World {
    /// A machine at rest: every CPU idle, no tasks.
    pub fn new(machine: Arc<Machine>, config: Config) -> Self {
        let n = machine.n_cpus();
        let mut locks = Locks::default();
        for _ in 0..n {
            locks.add("rq");
        }
        let sibling_list = |c: usize| {
            let core = machine.cpus[CpuId(c as u32)].core as usize;
            machine.cores[core].iter().filter(|s| s.idx() != c).collect::<Vec<_>>()
        };
        let first_pid = Pid(FIRST_PID.max(FIRST_STOPPER_PID + n as u32));
        let deepest = machine.cstates.len().saturating_sub(1) as u8;
        Self {
            now: 0,
            measured_from: 0,
            this: CpuId(0),
            config,
            cpus: (0..n).map(|c| Cpu::new(first_tick(&machine, c), deepest)).collect(),
            tasks: IdVec::new(),
            masks: vec![CpuSet::full(n)].into(),
            comms: Vec::new(),
            sought: vec![Sought::default(); n].into(),
            locks,
            counters: Counters::default(),
            stat: SchedStat::new(&machine),
            samples: Vec::new(),
            n_idle: n as u32,
            idle_cpus: CpuSet::full(n),
            counts: Counts::new(&machine),
            n_waiting: 0,
            idle_while_runnable_ns: 0,
            idle_while_runnable_since: 0,
            pinned: PinnedWaiters::new(),
            free_tasks: Vec::new(),
            starting: Vec::new(),
            n_alive: 0,
            pids: Pids { first: first_pid, next: first_pid },
            events: EventQueue::new(n),
            timers: EventQueue::new(n),
            ahead: RunAhead::new(n),
            policy_timer: NEVER,
            class_timers: [NEVER; CLASSES_MAX],
            n_throttled: 0,
            device_at: NEVER,
            siblings: (0..n).map(sibling_list).collect(),
            lines: Lines::new(&machine),
            times: MachineTimes::new(&machine),
            clocks: Clocks::new(&machine),
            after: AfterEvent::default(),
            machine,
        }
    }

    /// [`Cpu::nr_running`] of `cpu`.
    #[inline]
    pub fn nr_running(&self, cpu: CpuId) -> u32 {
        debug_assert_eq!(self.counts.nr_running(cpu), self.cpus[cpu].nr_running);
        self.counts.nr_running(cpu)
    }

    /// What the CPUs of an LLC count together.
    #[inline]
    pub fn llc_counts(&self, llc: u32) -> LlcCounts {
        self.counts.llc(llc)
    }

    /// True if `p` may run on `cpu`.
    #[inline]
    pub fn allowed(&self, p: TaskId, cpu: CpuId) -> bool {
        let mask = self.tasks[p].attr.allowed;
        mask == MaskId::ALL || self.masks[mask].contains(cpu)
    }

    /// Time that CPUs have spent waiting at a site, waits that go on included, ns.
    pub fn spin_ns(&self, site: &'static Site) -> Ns {
        let waits = |c: &&Cpu| c.waiting_now && c.wait_site == site;
        let now: Ns = self.cpus.iter().filter(waits).map(|c| self.now - c.wait_since).sum();
        self.locks.site(site).wait_ns + now
    }

    /// True if it is a task, and of SCHED_EXT.
    #[inline]
    pub fn is_ext(&self, p: TaskId) -> bool {
        p.is_task() && self.tasks[p].attr.policy == SchedPolicy::Ext
    }

    /// The set of CPUs that `p` may use.
    pub fn allowed_set(&self, p: TaskId) -> &CpuSet {
        &self.masks[self.tasks[p].attr.allowed]
    }

    /// On whose behalf `cpu` works.
    pub fn context(&self, cpu: CpuId) -> Context {
        let c = &self.cpus[cpu];
        match c.top.category {
            Category::Irq if c.depth > 0 => Context::Hardirq,
            Category::Softirq if c.depth > 0 => Context::Softirq,
            _ => Context::Task,
        }
    }

    /// What tools call the task `p` on `cpu`: 0 for the idle task, a number by CPU for its stopper.
    pub fn pid(&self, cpu: CpuId, p: TaskId) -> Pid {
        match p {
            TaskId::IDLE | TaskId::NONE => Pid(0),
            TaskId::STOP => Pid(FIRST_STOPPER_PID + cpu.0),
            _ => self.tasks[p].pid,
        }
    }

    /// Registers a command name. There are at most 65536 different ones; a further name becomes the
    /// last of them.
    pub fn comm(&mut self, name: &str) -> u16 {
        let known = self.comms.iter().position(|c| c == name);
        known.unwrap_or_else(|| {
            if self.comms.len() <= usize::from(u16::MAX) {
                self.comms.push(name.to_string());
            }
            self.comms.len() - 1
        }) as u16
    }

    /// Registers an affinity mask.
    pub fn mask(&mut self, set: CpuSet) -> MaskId {
        let known = self.masks.iter().position(|m| *m == set);
        MaskId(known.unwrap_or_else(|| {
            self.masks.push(set);
            self.pinned.add_mask(&self.masks);
            self.masks.len() - 1
        }) as u32)
    }

    /// Makes a task, not yet runnable.
    pub fn new_task(&mut self, mut attr: TaskAttr) -> TaskId {
        // As with autogroups, threads of the system's own stay in the root group.
        if attr.group == GroupId::ROOT && !attr.kthread && !attr.daemon {
            attr.group = self.config.user_group;
        }
        let allowed = &self.masks[attr.allowed];
        let first = allowed.first().expect("an affinity mask allows at least one CPU");
        // Pids below the first belong to kernel threads: a program cannot ask for them.
        let own = attr.pid.filter(|pid| pid.0 >= self.pids.first.0);
        let pid = own.unwrap_or(self.pids.next);
        let task = Task::new(attr, pid, first, allowed.len() as u32);
        self.reserve_pids(pid);
        self.n_alive += u32::from(!attr.daemon);
        if let Some(id) = self.free_tasks.pop() {
            self.tasks[id] = task;
            return id;
        }
        self.tasks.push(task);
        TaskId(self.tasks.len() as u32 - 1)
    }

    /// Pids up to `last` are given only to tasks that ask for one of them.
    pub(crate) fn reserve_pids(&mut self, last: Pid) {
        self.pids.next = self.pids.next.max(Pid(last.0 + 1));
    }

    /// Adds a lock of a class; the runqueue locks exist from the start.
    pub fn new_lock(&mut self, class: &'static str) -> LockId {
        self.locks.add(class)
    }

    /// Adds time to the step that the executing CPU does next.
    #[inline]
    pub fn charge(&mut self, ns: Ns) {
        self.cpus[self.this].carry += ns;
    }

    /// Asks for one call of [`crate::Policy::policy_timer`] at `at` ([`NEVER`]: none), in place of
    /// what the same class of the policy has asked for before. A policy of one class is class 0.
    pub fn set_policy_timer(&mut self, class: usize, at: Ns) {
        self.class_timers[class] = at;
        self.policy_timer = self.class_timers.into_iter().fold(NEVER, Ns::min);
    }

    /// The timers that are due by now are about to be served.
    pub(crate) fn take_policy_timers(&mut self) {
        let now = self.now;
        let due = self.class_timers.iter_mut().filter(|at| **at <= now);
        due.for_each(|at| *at = NEVER);
        self.policy_timer = self.class_timers.into_iter().fold(NEVER, Ns::min);
    }

    /// The policy cannot go on: the run ends after this event, with the first such reason.
    pub fn give_up(&mut self, why: String) {
        self.after.disturbed = true;
        self.after.given_up.get_or_insert(why);
    }

    /// Distance class of two CPUs.
    #[inline]
    pub fn distance(&self, a: CpuId, b: CpuId) -> Distance {
        self.machine.distance(a, b)
    }

    /// Cache-line transfer time, ns.
    #[inline]
    pub fn line_ns(&self, a: CpuId, b: CpuId) -> Ns {
        self.times.line_ns[self.distance(a, b) as usize]
    }

    /// The executing CPU takes `p`'s `pi_lock`. No CPU ever waits for it in this model. Returns the
    /// ns that its line takes to come from the CPU that took it last.
    pub fn take_pi_lock(&mut self, p: TaskId) -> Ns {
        let from = std::mem::replace(&mut self.tasks[p].pi_cpu, self.this);
        self.line_ns(from, self.this)
    }

    /// Exit latency of the C-state an idle CPU sits in, ns; `None` while it enters idle or polls.
    pub fn idle_exit_latency(&self, cpu: CpuId) -> Option<Ns> {
        let c = &self.cpus[cpu];
        (self.now >= c.cstate_from && c.base == Base::Idle)
            .then(|| self.machine.cstates[c.cstate as usize].exit_ns)
    }

    /// All times are accounted; the accounts and counters start again. A wait for a lock that is
    /// under way counts from here.
    pub(crate) fn begin_measurement(&mut self) {
        self.measured_from = self.now;
        self.counters = Counters::default();
        self.restart_sched_stat();
        self.locks.sites = Default::default();
        self.samples.clear();
        self.idle_while_runnable_ns = 0;
        for c in &mut self.cpus {
            c.time.fill(0);
            c.wait_since = self.now;
        }
    }

    /// Gives the id of an exited task back.
    pub(crate) fn free_task(&mut self, p: TaskId) {
        self.n_alive -= u32::from(!self.tasks[p].attr.daemon);
        self.free_tasks.push(p);
    }

    pub(crate) fn set_occupancy(&mut self, cpu: CpuId, occupancy: Occupancy) {
        let c = &mut self.cpus[cpu];
        if c.occupancy != occupancy {
            c.occupancy = occupancy;
            // Only siblings change their speed by it, at the end of the event.
            if !self.siblings[cpu].is_empty() {
                self.after.speed_changed.push(cpu);
                self.after.disturbed = true;
            }
        }
    }

    /// The speed that `cpu` has now: that beside its busiest sibling, at the clock of its core.
    pub(crate) fn speed_of(&self, cpu: CpuId) -> u32 {
        let worst = self.siblings[cpu].iter().map(|s| self.cpus[*s].occupancy).fold(
            Occupancy::Idle,
            |worst, o| match (worst, o) {
                (Occupancy::Busy, _) | (_, Occupancy::Busy) => Occupancy::Busy,
                (Occupancy::Spinning, _) | (_, Occupancy::Spinning) => Occupancy::Spinning,
                _ => Occupancy::Idle,
            },
        );
        self.at_core_clock(cpu, self.times.speeds[worst as usize])
    }
}

fn first_tick(machine: &Machine, cpu: usize) -> Ns {
    let skew = machine.tick_skew_ns * cpu as u64 % machine.tick_ns();
    if skew == 0 { machine.tick_ns() } else { skew }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::{CState, RegularSpec};

    #[test]
    fn names_beyond_the_last_number_are_the_last_one() {
        let mut w =
            World::new(Arc::new(Machine::regular(RegularSpec::default())), Config::default());
        w.comms = (0..65_535).map(|n| n.to_string()).collect();
        assert_eq!([w.comm("a"), w.comm("b"), w.comm("0")], [65_535, 65_535, 0]);
    }

    #[test]
    fn idle_tasks_have_no_pid_and_each_stopper_has_its_own() {
        let w = World::new(Arc::new(Machine::regular(RegularSpec::default())), Config::default());
        let pids = |p| [0, 1].map(|cpu| w.pid(CpuId(cpu), p).0);
        assert_eq!((pids(TaskId::IDLE), pids(TaskId::NONE)), ([0, 0], [0, 0]));
        assert_eq!(pids(TaskId::STOP), [FIRST_STOPPER_PID, FIRST_STOPPER_PID + 1]);
    }

    #[test]
    fn the_idle_task_polls_while_entering_and_in_an_mwait_state_only() {
        let state = |polling| CState {
            name: "C".into(),
            exit_ns: 1,
            core_exit_ns: 1,
            residency_ns: 0,
            polling,
        };
        let cstates = vec![state(true), state(false)];
        let machine = Machine::regular(RegularSpec { cstates, ..RegularSpec::default() });
        let mut w = World::new(Arc::new(machine), Config::default());
        w.cpus[CpuId(0)].cstate_from = 600;
        let mut polls = |now, cstate, base| {
            w.now = now;
            (w.cpus[CpuId(0)].cstate, w.cpus[CpuId(0)].base) = (cstate, base);
            w.polls(CpuId(0))
        };
        let later = 1_000_000;
        assert!(polls(0, 1, Base::Idle), "not yet in its C-state");
        assert!(polls(later, 0, Base::Idle) && polls(later, 0, Base::Leaving));
        assert!(!polls(later, 1, Base::Idle) && !polls(later, 1, Base::Leaving));
        assert!(!polls(later, 0, Base::IdleLoop), "in schedule()");
        assert!(!polls(later, 0, Base::Next), "being switched to");
    }
}

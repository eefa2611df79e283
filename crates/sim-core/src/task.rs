//! Tasks: the part of a task that every policy shares.
//!
//! What a policy adds (vruntime, PELT averages, …) it keeps in its own dense arrays by `TaskId`.

use crate::{Ns, Reason};
use topology::{CpuId, DenseId, IdVec};

/// A task, numbered densely from 0. Ids of exited tasks are used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TaskId(pub u32);

impl TaskId {
    /// Stands for the idle task of whatever CPU it is read on.
    pub const IDLE: TaskId = TaskId(u32::MAX);
    /// Stands for the stopper thread of whatever CPU it is read on.
    pub const STOP: TaskId = TaskId(u32::MAX - 1);
    /// No task.
    pub const NONE: TaskId = TaskId(u32::MAX - 2);

    /// The id as an index into dense per-task arrays.
    #[inline]
    pub const fn idx(self) -> usize {
        self.0 as usize
    }

    /// True for an ordinary task: not the idle task, the stopper, or none.
    #[inline]
    pub const fn is_task(self) -> bool {
        self.0 < Self::NONE.0
    }
}

impl DenseId for TaskId {
    #[inline]
    fn index(self) -> usize {
        self.idx()
    }

    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a run has fewer tasks than 2^32"))
    }
}

/// One element per task.
pub type PerTask<T> = IdVec<TaskId, T>;

/// A process id, as tools show it: never used again in a run, unlike a [`TaskId`].
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Pid(pub u32);

impl std::fmt::Display for Pid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// How a task sleeps: the letter that tools show for it. The scheduler makes no difference.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SleepState {
    /// `S`, TASK_INTERRUPTIBLE
    #[default]
    Interruptible,
    /// `D`, TASK_UNINTERRUPTIBLE: for a disk, a mutex, a child of vfork.
    Uninterruptible,
    /// `I`, TASK_IDLE: kernel threads with nothing to do.
    Idle,
}

/// Scheduling policy of a task (sched(7)).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum SchedPolicy {
    /// SCHED_OTHER
    #[default]
    Normal,
    /// SCHED_BATCH
    Batch,
    /// SCHED_IDLE
    Idle,
    /// SCHED_EXT: a task of a sched_ext scheduler that has not taken all tasks
    /// (`SCX_OPS_SWITCH_PARTIAL`). It stays one.
    Ext,
}

/// Life of a task as `try_to_wake_up` sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskState {
    /// Created, not yet woken for the first time.
    New,
    /// Running or runnable.
    Runnable,
    /// Asleep, or about to be taken off its queue by `schedule()` (then `on_rq` is still true).
    Sleeping,
    /// A waker has taken it and has not finished to enqueue it.
    Waking,
    /// Exited (or exiting, while `on_rq`).
    Dead,
}

/// Index of an affinity mask in [`crate::World::masks`]; 0 is "all CPUs".
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct MaskId(pub u32);

impl DenseId for MaskId {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }

    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a run has fewer masks than 2^32"))
    }
}

impl MaskId {
    /// Every CPU is allowed.
    pub const ALL: MaskId = MaskId(0);
}

/// A task group: a cgroup with the cpu controller, or an autogroup.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct GroupId(pub u16);

impl GroupId {
    /// The root group: tasks are in it unless their program says another one.
    pub const ROOT: GroupId = GroupId(0);
}

/// What `sched_setattr` (or `setpriority`, `sched_setscheduler`) changes of a task in the fair
/// class: see [`crate::Op::SetScheduler`].
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SchedAttr {
    /// SCHED_OTHER, SCHED_BATCH or SCHED_IDLE.
    pub policy: SchedPolicy,
    /// Nice level, -20..=19.
    pub nice: i8,
    /// Custom slice, ns, taken as 0.1..=100 ms; 0: the base slice. EEVDF since 6.12 only.
    pub slice_ns: u32,
}

/// What a new task is like. A child inherits nothing by itself: a program passes on what a child
/// shall have of its parent.
#[derive(Clone, Copy, Debug)]
pub struct TaskAttr {
    /// Command name, an index into [`crate::World::comms`].
    pub comm: u16,
    /// What tools call it; `None`: the next free number. Low numbers, which kernel threads have,
    /// are not given away.
    pub pid: Option<Pid>,
    /// Nice level, -20..=19; changed later, like the next two, by [`crate::Op::SetScheduler`].
    pub nice: i8,
    /// SCHED_OTHER, SCHED_BATCH or SCHED_IDLE.
    pub policy: SchedPolicy,
    /// Custom slice, ns, see [`SchedAttr`]; 0: the base slice.
    pub slice_ns: u32,
    /// Task group. Policies that have none take no notice.
    pub group: GroupId,
    /// Allowed CPUs; changed later by [`crate::Op::SetAffinity`].
    pub allowed: MaskId,
    /// Where the task starts, in place of the CPU that fork balancing would choose, if it may run
    /// there. Later wake-ups and balancing are free to move it.
    pub start_cpu: Option<CpuId>,
    /// How much later than asked its timers may fire, ns (`PR_SET_TIMERSLACK`); `None`: the run's
    /// [`crate::Config::timer_slack_ns`]. Changed later by
    /// [`crate::ProgramCx::set_timer_slack`].
    pub timer_slack_ns: Option<u32>,
    /// Address space; tasks with the same number switch without `mm_switch_ns`.
    pub mm: u32,
    /// It was there before the run and slept for so long that its averages (PELT) are 0. Any other
    /// task starts as one that was just forked.
    pub rested: bool,
    /// A kernel thread (PF_KTHREAD).
    pub kthread: bool,
    /// A thread of the system's own that never ends: it does not keep a run going.
    pub daemon: bool,
    /// Memory that the task touches again and again, KiB; what of it lies in a cache is lost when
    /// the task moves or others run. 0: it costs nothing to refill.
    pub working_set_kib: u32,
}

impl Default for TaskAttr {
    fn default() -> Self {
        Self {
            comm: 0,
            pid: None,
            nice: 0,
            policy: SchedPolicy::Normal,
            slice_ns: 0,
            group: GroupId::ROOT,
            allowed: MaskId::ALL,
            start_cpu: None,
            timer_slack_ns: None,
            mm: 0,
            rested: false,
            kthread: false,
            daemon: false,
            working_set_kib: 0,
        }
    }
}

impl TaskAttr {
    /// The part that the scheduling class sees.
    pub fn sched(&self) -> SchedAttr {
        SchedAttr { policy: self.policy, nice: self.nice, slice_ns: self.slice_ns }
    }

    /// A task of sched_ext stays one: programs do not know that it is.
    pub(crate) fn set_sched(&mut self, sched: SchedAttr) {
        (self.nice, self.slice_ns) = (sched.nice, sched.slice_ns);
        if self.policy != SchedPolicy::Ext {
            self.policy = sched.policy;
        }
    }
}

impl Task {
    /// `is_per_cpu_kthread()`
    #[inline]
    pub fn is_per_cpu_kthread(&self) -> bool {
        self.attr.kthread && self.nr_cpus_allowed == 1
    }
}

/// The state of a task (`struct task_struct`) that no policy owns.
#[derive(Clone, Debug)]
pub struct Task {
    /// What it was made with, and what system calls have changed since.
    pub attr: TaskAttr,
    /// The number that tools show.
    pub pid: Pid,
    /// How it sleeps when it does.
    pub sleeps: SleepState,
    /// How long the interrupt of its timer goes on after it has woken the task, ns.
    pub(crate) irq_rest_ns: u32,
    /// The program wants nothing told of its waits; the simulation does not heed it.
    pub wait_untold: bool,
    /// Where it went to sleep, if it waits for a disk (`p->in_iowait`).
    pub(crate) io_wait: Option<CpuId>,
    /// Where it is in its life, as wakers see it.
    pub state: TaskState,
    /// PF_EXITING: its exit has begun. A SYNC wake-up by it is treated as an ordinary one
    /// (`select_task_rq_fair()`).
    pub exiting: bool,
    /// Counted on the runqueue of `cpu` (queued or running).
    pub on_rq: bool,
    /// Running, or still being switched out.
    pub on_cpu: bool,
    /// Between the source's and the destination's runqueue.
    pub migrating: bool,
    /// `se.sched_delayed`: it sleeps, but its class keeps it on its runqueue for a while yet.
    pub sched_delayed: bool,
    /// Its group has used up its CPU time (`throttled_hierarchy()`): it is on its queue, but does
    /// not count on the CPU's.
    pub throttled: bool,
    /// Its affinity was changed while it ran (or was being woken) where it may no longer be, and it
    /// has not been moved yet.
    pub misplaced: bool,
    /// Where it goes then: who changes an affinity chooses a CPU (`affine_move_task()`, v6.1).
    pub affine_dest: CpuId,
    /// The wake being carried out changed its CPU.
    pub wake_migrated: bool,
    /// `task_cpu(p)`.
    pub cpu: CpuId,
    /// `p->wake_cpu`: where a wake-up starts looking.
    pub wake_cpu: CpuId,
    /// Why its last placement chose the CPU that it did.
    pub placed: &'static Reason,
    /// Number of CPUs on which it may run.
    pub nr_cpus_allowed: u32,
    /// Since when it has waited for a CPU, or had before it ran: its wake-up, its fork, or its last
    /// turn, if it was preempted. Moves from queue to queue change nothing.
    pub runnable_since: Ns,
    /// Since when it waits on the present runqueue for its CPU ([`NEVER`](crate::NEVER): it does
    /// not), as `sched_info.last_queued`.
    pub(crate) queued_at: Ns,
    /// True between a wake-up and the first run after it.
    pub woken: bool,
    /// The wake-up that ends its sleep costs nothing ([`Op::SleepWoken`](crate::Op::SleepWoken)):
    /// whether that came before the task had left its CPU.
    pub(crate) wake_paid: Option<bool>,
    /// Where its cache contents are: the CPU it last ran on.
    pub cache_cpu: CpuId,
    /// What that CPU's caches had seen when it left.
    pub(crate) cache_mark: u64,
    /// Work left in the current segment, in 2^-17 ns at full speed.
    pub work_left: u64,
    /// Cache debt left, in 2^-17 ns at full speed.
    pub debt: u64,
    /// The current segment is kernel work: accounted as kernel, and preempted in preemptible
    /// kernels only.
    pub in_kernel: bool,
    /// Its program has called [`crate::ProgramCx::prepare_to_wait`] and not waited yet.
    pub prepared: bool,
    /// The program is told of each tick that finds the task current.
    pub ticks_watched: bool,
    /// For how long it was current before its present turn, ns.
    pub ran_ns: Ns,
    /// Next task on the same wake list.
    pub next_on_wake_list: TaskId,
    /// First CPU that spins until `on_cpu` or `migrating` of this task ends; `u32::MAX`: none.
    pub spinner: u32,
    /// The hard expiry of its timer, ns ([`NEVER`](crate::NEVER): none is armed), and where that
    /// was armed.
    pub(crate) timer_at: Ns,
    pub(crate) timer_cpu: CpuId,
    /// Which CPU took its `pi_lock` last ([`crate::World::take_pi_lock`]).
    pub(crate) pi_cpu: CpuId,
}

impl Task {
    pub(crate) fn new(attr: TaskAttr, pid: Pid, cpu: CpuId, nr_cpus_allowed: u32) -> Self {
        Self {
            attr,
            pid,
            io_wait: None,
            irq_rest_ns: 0,
            wait_untold: false,
            sleeps: if attr.kthread { SleepState::Idle } else { SleepState::Interruptible },
            state: TaskState::New,
            exiting: false,
            on_rq: false,
            on_cpu: false,
            migrating: false,
            sched_delayed: false,
            throttled: false,
            misplaced: false,
            affine_dest: cpu,
            wake_migrated: false,
            cpu,
            wake_cpu: cpu,
            placed: &Reason::UNTOLD,
            nr_cpus_allowed,
            runnable_since: 0,
            queued_at: crate::NEVER,
            woken: false,
            wake_paid: None,
            cache_cpu: cpu,
            cache_mark: 0,
            work_left: 0,
            debt: 0,
            in_kernel: false,
            prepared: false,
            ticks_watched: false,
            ran_ns: 0,
            next_on_wake_list: TaskId::NONE,
            spinner: u32::MAX,
            timer_at: crate::NEVER,
            timer_cpu: cpu,
            pi_cpu: cpu,
        }
    }
}

//! What an rt-app file says, without its syntax: threads, their phases, the events of a phase.

use sim_core::{Ns, SchedPolicy};
use topology::CpuSet;

/// A whole file.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// Kinds of threads, in the order in which rt-app creates them.
    pub tasks: Vec<TaskSpec>,
    /// When all threads are stopped, counted from the start, ns; `None`: they stop by themselves.
    pub duration_ns: Option<Ns>,
    /// ns per loop that the file states for `run`; `None`: rt-app would measure it, so that `run`
    /// takes the time it says.
    pub calibration_ns: Option<u32>,
    /// Names of the mutexes; events refer to them by index.
    pub mutexes: Vec<String>,
    /// Names of the condition variables.
    pub conds: Vec<String>,
    /// Barriers.
    pub barriers: Vec<BarrierSpec>,
    /// Timers, those of a thread's own counted once.
    pub timers: Vec<TimerSpec>,
}

/// A barrier: rt-app counts its users from the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierSpec {
    /// Its name.
    pub name: String,
    /// Threads that meet there.
    pub users: u32,
}

/// A timer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimerSpec {
    /// Its name.
    pub name: String,
    /// Every thread has one of its own (names that begin with `unique`).
    pub unique: bool,
}

/// Scheduling properties; `None`: as the thread object says, or else the default.
#[derive(Clone, Debug, Default)]
pub struct Attrs {
    /// Policy.
    pub policy: Option<SchedPolicy>,
    /// Nice level.
    pub nice: Option<i8>,
    /// Custom slice, ns (`dl-runtime` of a thread of the fair class).
    pub slice_ns: Option<u32>,
    /// CPUs that the thread may use.
    pub cpus: Option<CpuSet>,
}

/// A thread object.
#[derive(Clone, Debug)]
pub struct TaskSpec {
    /// Name of the threads.
    pub name: String,
    /// Threads that are started with the run.
    pub instances: u32,
    /// Time between a thread's start and its first event, ns.
    pub delay_ns: Ns,
    /// Rounds through the phases; `None`: for ever.
    pub loops: Option<u64>,
    /// Scheduling properties.
    pub attrs: Attrs,
    /// The phases; at least one.
    pub phases: Vec<PhaseSpec>,
}

/// A phase: events in their order, some times over.
#[derive(Clone, Debug)]
pub struct PhaseSpec {
    /// Rounds through the events; `None`: for ever.
    pub loops: Option<u64>,
    /// Scheduling properties that hold in this phase.
    pub attrs: Attrs,
    /// What is done, in order.
    pub events: Vec<Event>,
}

/// What a thread does next. Numbers are indices into the tables of [`Spec`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A number of loops that takes so long at the calibrated speed, ns.
    Run(Ns),
    /// Loops until so much time has passed, on a CPU or not, ns.
    Runtime(Ns),
    /// Sleep, ns.
    Sleep(Ns),
    /// Sleep until the timer's next period has passed.
    Timer {
        /// Which.
        timer: u32,
        /// Its period, ns.
        period_ns: Ns,
        /// The next period counts from the last, even if that is over already.
        absolute: bool,
    },
    /// `pthread_mutex_lock`.
    Lock(u32),
    /// `pthread_mutex_unlock`.
    Unlock(u32),
    /// `pthread_cond_wait` on a condition variable with a mutex.
    Wait(u32, u32),
    /// `pthread_cond_signal`.
    Signal(u32),
    /// `pthread_cond_broadcast`.
    Broadcast(u32),
    /// Signal, then wait.
    Sync(u32, u32),
    /// Wait for all other users of the barrier.
    Barrier(u32),
    /// Wait until someone resumes this name: a condition variable and its mutex.
    Suspend(u32, u32),
    /// Wake all that are suspended on this name.
    Resume(u32, u32),
    /// `sched_yield`.
    Yield,
    /// Start one more thread of this kind.
    Fork(u32),
}

impl Spec {
    /// True if the run comes to an end by itself: a duration, or no thread that goes on for ever.
    pub fn ends(&self) -> bool {
        self.duration_ns.is_some() || !(0..self.tasks.len()).any(|t| self.is_endless(t))
    }

    /// True if a thread of this kind is ever started and goes on for ever.
    fn is_endless(&self, task: usize) -> bool {
        let t = &self.tasks[task];
        let fork = Event::Fork(task as u32);
        let forked = || self.tasks.iter().flat_map(|t| &t.phases).any(|p| p.events.contains(&fork));
        let goes_on = t.loops.is_none() || t.phases.iter().any(|p| p.loops.is_none());
        goes_on && (t.instances > 0 || forked())
    }

    /// Threads that are started with the run.
    pub fn n_threads(&self) -> u64 {
        self.tasks.iter().map(|t| u64::from(t.instances)).sum()
    }
}

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
    /// Barriers; events refer to them by index.
    pub barriers: Vec<BarrierSpec>,
    /// Timers; one that every thread has of its own stands here once.
    pub timers: Vec<TimerSpec>,
    /// Paths of the task groups that threads are in, an outer one before what is in it.
    pub taskgroups: Vec<String>,
}

/// A barrier: rt-app counts its users from the file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BarrierSpec {
    /// Its name in the file.
    pub name: String,
    /// Threads that meet there.
    pub users: u32,
}

/// A timer of `timer` events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TimerSpec {
    /// Its name in the file.
    pub name: String,
    /// Every thread has one of its own (names that begin with `unique`).
    pub unique: bool,
}

/// Scheduling properties; `None`: as the thread object says, or else the default.
#[derive(Clone, Debug, Default)]
pub struct Attrs {
    /// Scheduling policy, one of the fair class.
    pub policy: Option<SchedPolicy>,
    /// Nice level, -20 to 19.
    pub nice: Option<i8>,
    /// Custom slice, ns (`dl-runtime` of a thread of the fair class).
    pub slice_ns: Option<u32>,
    /// CPUs that the thread may use.
    pub cpus: Option<CpuSet>,
}

/// A thread object: threads of one kind.
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
    /// Index of its task group; `None`: that of the main thread.
    pub taskgroup: Option<u16>,
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
    /// Sleep for so long, ns.
    Sleep(Ns),
    /// Sleep until the timer's next period has passed.
    Timer {
        /// Index of the timer.
        timer: u32,
        /// Its period, ns.
        period_ns: Ns,
        /// The next period counts from the end of the last one, even if it has passed by now.
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
    /// Signal on a condition variable, then wait on it with a mutex.
    Sync(u32, u32),
    /// Wait for all other users of the barrier.
    Barrier(u32),
    /// Wait until a thread resumes this name: a condition variable and its mutex.
    Suspend(u32, u32),
    /// Wake all that are suspended on this name.
    Resume(u32, u32),
    /// `sched_yield`.
    Yield,
    /// Start one more thread of this kind.
    Fork(u32),
}

impl Spec {
    /// True if the run comes to an end by itself: it has a duration, or no thread goes on for ever
    /// and no chain of forks does.
    pub fn ends(&self) -> bool {
        let endless = |t: &usize| {
            let task = &self.tasks[*t];
            task.loops.is_none() || task.phases.iter().any(|p| p.loops.is_none())
        };
        let started = self.started();
        self.duration_ns.is_some()
            || !started.iter().any(endless) && !self.forks_in_circles(&started)
    }

    /// The kinds that a thread of this kind forks, one of them as often as its phases say so.
    fn forks(&self, kind: usize) -> impl Iterator<Item = usize> {
        self.tasks[kind].phases.iter().flat_map(|p| &p.events).filter_map(|event| match event {
            Event::Fork(kind) => Some(*kind as usize),
            _ => None,
        })
    }

    /// The kinds that ever have a thread: those that start with the run, and those that they fork.
    fn started(&self) -> Vec<usize> {
        let with_the_run = |t: &usize| self.tasks[*t].instances > 0;
        let mut started: Vec<usize> = (0..self.tasks.len()).filter(with_the_run).collect();
        let mut seen = vec![false; self.tasks.len()];
        started.iter().for_each(|t| seen[*t] = true);
        let mut next = 0;
        while let Some(&kind) = started.get(next) {
            let new = self.forks(kind).filter(|k| !std::mem::replace(&mut seen[*k], true));
            started.extend(new);
            next += 1;
        }
        started
    }

    /// True if one of these kinds, which fork no others, leads back to itself. Kinds that no
    /// remaining kind forks are taken away, again and again; a circle remains.
    fn forks_in_circles(&self, kinds: &[usize]) -> bool {
        let mut forked = vec![0u32; self.tasks.len()];
        kinds.iter().flat_map(|t| self.forks(*t)).for_each(|k| forked[k] += 1);
        let mut free: Vec<usize> = kinds.iter().copied().filter(|t| forked[*t] == 0).collect();
        let mut next = 0;
        while let Some(&kind) = free.get(next) {
            for k in self.forks(kind) {
                forked[k] -= 1;
                if forked[k] == 0 {
                    free.push(k);
                }
            }
            next += 1;
        }
        free.len() < kinds.len()
    }

    /// Threads that are started with the run.
    pub fn n_threads(&self) -> u64 {
        self.tasks.iter().map(|t| u64::from(t.instances)).sum()
    }
}

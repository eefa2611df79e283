//! Time, events, CPUs, tasks, locks and interrupts: the mechanism every policy shares.
//!
//! Each CPU is a small state machine with at most one pending event. A kernel path (wake-up,
//! `schedule()`, pull, balance) is a short sequence of steps; a step takes time, may need a lock,
//! and both reads the world and changes it at the instant when it ends. The races of the real
//! kernel then appear by themselves.
//!
//! * [`World`] is the mechanism's state: CPUs, tasks, locks, the clock.
//! * [`Policy`] decides: which CPU, which task, preempt or not, pull or not.
//! * [`Program`] says what tasks do next.
//! * [`Observer`] is told what happened.
//! * [`Simulation`] drives them.

#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

mod after_event;
mod ahead;
mod category;
mod cpu;
mod decision;
mod engine;
mod events;
mod footprint;
mod frame;
mod idle_while_runnable;
mod invariants;
mod llc_counts;
mod locks;
mod machine_times;
mod observer;
mod pinned_waiters;
mod policy;
mod program;
mod reason;
mod sched_stat;
mod stack;
mod task;
mod world;

pub use category::{Category, N_CATEGORIES};
pub use cpu::Cpu;
pub use decision::{BalanceEnd, Decision};
pub use engine::{Simulation, StopReason, TASKS_MAX, Waiting};
pub use events::EventQueue;
pub use llc_counts::LlcCounts;
pub use locks::{LockId, Locks, Site, SiteStats};
pub use observer::{NoObserver, Observer};
pub use policy::{
    Choice, DequeueFlags, EnqueueFlags, Hook, Nested, Policy, SelectKind, Step, StopWork,
};
pub use program::{Op, Program, ProgramCx};
pub use reason::{Attempt, Reason, Sought, Takers};
pub use sched_stat::{
    IdleType, LbStat, N_IDLE_TYPES, RqStat, SchedStat, SdStat, SisStat, WakeTargets,
};
pub use stack::{Calls, PathGroup, Stack, Within};
pub use task::{
    GroupId, MaskId, PerTask, Pid, SchedAttr, SchedPolicy, SleepState, Task, TaskAttr, TaskId,
    TaskState,
};
pub use world::{Config, Counters, MigrationCause, PolicyMove, World};

/// Nanoseconds: an instant since the start of the run, or a length of time. Always integer.
pub type Ns = u64;

/// An instant that never comes.
pub const NEVER: Ns = Ns::MAX;

//! Time, events, CPUs, tasks, locks and interrupts: the mechanism every policy shares.
//!
//! Each CPU is a small state machine with at most one pending event. A kernel path (wake-up,
//! `schedule()`, pull, balance) is a short sequence of steps. A step takes time and may need a
//! lock. At the instant when it ends it reads the world and changes it. The races of the real
//! kernel then appear by themselves.
//!
//! * [`World`] is the mechanism's state: CPUs, tasks, locks, the clock.
//! * [`Policy`] decides: which CPU, which task, preempt or not, pull or not.
//! * [`Program`] says what tasks do next.
//! * [`Observer`] is told what happened.
//! * [`Simulation`] drives them.
//!
//! This is a whole scheduler, a program, and a run: four tasks compute on two CPUs.
//!
//! ```
//! use sim_core::{
//!     Category, Choice, Config, DequeueFlags, EnqueueFlags, Hook, NoObserver, Op, Policy, Program,
//!     ProgramCx, SelectKind, Simulation, StopReason, TaskAttr, TaskId, World,
//! };
//! use topology::{CpuId, Machine, RegularSpec};
//!
//! /// First come, first served on each CPU; a new task goes to the CPU with the fewest tasks.
//! #[derive(Default)]
//! struct Fifo {
//!     /// All runnable tasks, in the order of their arrival; each knows its CPU.
//!     queue: Vec<TaskId>,
//! }
//!
//! impl Policy for Fifo {
//!     fn init(&mut self, _: &mut World) {}
//!     fn task_fork(&mut self, _: &mut World, _: TaskId, _parent: Option<TaskId>) {}
//!     fn task_tick(&mut self, _: &mut World, _: CpuId) {}
//!
//!     fn select_task_rq(&mut self, w: &mut World, _: TaskId, _: SelectKind) -> Choice {
//!         let cpus = (0..w.cpus.len() as u32).map(CpuId);
//!         let cpu = cpus.min_by_key(|cpu| w.nr_running(*cpu)).expect("a machine has CPUs");
//!         Choice { cpu, scan_ns: 0 }
//!     }
//!
//!     fn enqueue_task(&mut self, _: &mut World, _: CpuId, p: TaskId, _: EnqueueFlags) -> Hook {
//!         self.queue.push(p);
//!         None
//!     }
//!
//!     fn dequeue_task(&mut self, _: &mut World, _: CpuId, p: TaskId, _: DequeueFlags) -> Hook {
//!         self.queue.retain(|queued| *queued != p);
//!         None
//!     }
//!
//!     fn wakeup_preempt(&mut self, w: &mut World, cpu: CpuId, _: TaskId, _: EnqueueFlags) {
//!         if w.cpus[cpu].curr == TaskId::IDLE {
//!             w.resched_curr(cpu);
//!         }
//!     }
//!
//!     fn pick_next_task(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId> {
//!         self.queue.iter().copied().find(|p| w.tasks[*p].cpu == cpu)
//!     }
//!
//!     fn switch_task(&mut self, _: &mut World, _: CpuId, _prev: TaskId, _next: TaskId) -> Hook {
//!         None
//!     }
//! }
//!
//! /// Four tasks, each of which computes for a millisecond and exits.
//! #[derive(Default)]
//! struct Batch {
//!     has_run: [bool; 4],
//! }
//!
//! impl Program for Batch {
//!     fn start(&mut self, cx: &mut ProgramCx<'_>) {
//!         for _ in self.has_run {
//!             cx.start_task(TaskAttr::default());
//!         }
//!     }
//!
//!     fn next(&mut self, _: &mut ProgramCx<'_>, task: TaskId) -> Op {
//!         match std::mem::replace(&mut self.has_run[task.idx()], true) {
//!             false => Op::Run(1_000_000),
//!             true => Op::Exit,
//!         }
//!     }
//! }
//!
//! let spec = RegularSpec { cores_per_llc: 2, threads_per_core: 1, ..RegularSpec::default() };
//! let world = World::new(Machine::regular(spec).into(), Config::default());
//! let mut run = Simulation::new(world, Fifo::default(), Batch::default(), NoObserver);
//! assert_eq!(run.run_until(1_000_000_000), StopReason::Done);
//!
//! // Each CPU has run two of the tasks; the rest of its time is the kernel's, and idle.
//! for cpu in &run.w.cpus {
//!     assert_eq!(cpu.time[Category::User as usize], 2_000_000);
//! }
//! assert!((2_000_000..2_100_000).contains(&run.w.now));
//! ```

#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

mod after_event;
mod ahead;
mod category;
mod cpu;
mod cpufreq;
mod decision;
mod engine;
mod events;
mod footprint;
mod frame;
mod hrtimers;
mod idle_while_runnable;
mod invariants;
mod lines;
mod llc_counts;
mod locks;
mod machine_times;
mod menu;
mod observer;
mod pinned_waiters;
mod policy;
mod program;
mod reason;
mod sched_stat;
mod signals;
mod stack;
mod stir;
mod task;
mod world;

pub use category::{Category, Context, N_CATEGORIES};
pub use cpu::Cpu;
pub use decision::{BalanceEnd, Decision};
pub use engine::{Simulation, StopReason, TASKS_MAX, Waiting};
pub use events::EventQueue;
pub use lines::{LineId, Reads};
pub use llc_counts::LlcCounts;
pub use locks::{LockId, Locks, Site, SiteStats};
pub use observer::{NoObserver, Observer};
pub use policy::{
    Choice, DequeueFlags, EnqueueFlags, Hook, Nested, OperationCount, Policy, SelectKind, Step,
    StopWork,
};
pub use program::{Op, Program, ProgramCx};
pub use reason::{Attempt, Reason, Sought, Takers};
pub use sched_stat::{
    IdleType, LbStat, N_IDLE_TYPES, RqStat, SchedStat, SdStat, SisStat, WakeTargets,
};
pub use signals::{SignalSource, Signals};
pub use stack::{Calls, PathGroup, Stack, Within};
pub use stir::stir;
pub use task::{
    GroupId, MaskId, PerTask, Pid, SchedAttr, SchedPolicy, SleepState, Task, TaskAttr, TaskId,
    TaskState,
};
pub use world::{Appends, Config, Counters, MigrationCause, PolicyMove, WakeList, World};

/// Nanoseconds: an instant since the start of the run, or a length of time. Always integer.
pub type Ns = u64;

/// An instant that never comes.
pub const NEVER: Ns = Ns::MAX;

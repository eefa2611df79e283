//! Scheduling policies: where a task runs, and which one runs next. The fair class with swqueue and
//! SIS_NODE, schedulers of the sched_ext shape, workqueues.

//!
//! A policy decides and takes no time of its own: the engine of `sim_core` runs it. Here two tasks
//! of different nice levels compute on one CPU, under CFS and under EEVDF, and share it by weight.
//!
//! ```
//! use policies::fair::features::{Features, Tunables};
//! use policies::fair::{Fair, Rules};
//! use sim_core::{
//!     Config, NoObserver, Op, Policy, Program, ProgramCx, Simulation, TaskAttr, TaskId, World,
//! };
//! use topology::{Machine, RegularSpec};
//!
//! struct TwoHogs;
//!
//! impl Program for TwoHogs {
//!     fn start(&mut self, cx: &mut ProgramCx<'_>) {
//!         for nice in [0, 5] {
//!             cx.start_task(TaskAttr { nice, ..TaskAttr::default() });
//!         }
//!     }
//!
//!     fn next(&mut self, _: &mut ProgramCx<'_>, _: TaskId) -> Op {
//!         Op::Run(1_000_000)
//!     }
//! }
//!
//! /// The first task's share of the CPU in ten simulated seconds.
//! fn share(policy: impl Policy) -> f64 {
//!     let spec = RegularSpec { cores_per_llc: 1, threads_per_core: 1, ..RegularSpec::default() };
//!     let world = World::new(Machine::regular(spec).into(), Config::default());
//!     let mut sim = Simulation::new(world, policy, TwoHogs, NoObserver);
//!     sim.run_until(10_000_000_000);
//!     let ran: Vec<f64> = sim.w.tasks.iter().map(|task| task.ran_ns as f64).collect();
//!     ran[0] / (ran[0] + ran[1])
//! }
//!
//! let features = Features::for_rules(Rules::V6_4);
//! let cfs = Fair::new(features, Tunables::for_rules(Rules::V6_4, 1));
//! let features = Features::for_rules(Rules::V6_18);
//! let eevdf = Fair::eevdf(Rules::V6_18, features, Tunables::for_rules(Rules::V6_18, 1));
//!
//! // The weights are 1024 and 335 (`sched_prio_to_weight` of the kernel).
//! let expected = 1024.0 / (1024.0 + 335.0);
//! for share in [share(cfs), share(eevdf)] {
//!     assert!((share - expected).abs() < 0.01, "{share}");
//! }
//! ```

#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

pub mod ext;
pub mod fair;
pub mod fcfs;
pub mod moves;
pub mod workqueue;

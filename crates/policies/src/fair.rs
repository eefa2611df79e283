//! The fair class: CFS as of v6.4 (spec 2, 3, 5, 8), with SIS_NODE and the shared wakequeue.
//!
//! * `state`: what the class keeps per task, runqueue, domain level and LLC.
//! * `features`: features and tunables under the kernel's names.
//! * `weights`, `pelt`: pure arithmetic.
//! * `cfs`: vruntime, slices, placement, preemption, picking.
//! * `wakeup`: record_wakee, wake_affine, select_idle_sibling, SIS_NODE.
//! * `balance`: periodic, nohz-idle and newidle balance, find_idlest_cpu.
//! * `swqueue`: the shared wakequeue.

pub mod balance;
pub mod features;
pub mod state;
mod stubs;
pub mod swqueue;
use stubs as wakeup;

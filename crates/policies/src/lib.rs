//! Who runs where, and who runs next: the fair class, swqueue, SIS_NODE, schedulers of the
//! sched_ext shape, workqueues.

#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

pub mod ext;
pub mod fair;
pub mod fcfs;
pub mod moves;
pub mod workqueue;

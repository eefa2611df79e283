//! Scheduling policies: where a task runs, and which one runs next. The fair class with swqueue and
//! SIS_NODE, schedulers of the sched_ext shape, workqueues.

#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

pub mod ext;
pub mod fair;
pub mod fcfs;
pub mod moves;
pub mod workqueue;

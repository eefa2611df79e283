//! Who runs where, and who runs next: the fair class, swqueue, SIS_NODE, a global FIFO, workqueues.

#![cfg_attr(not(test), deny(clippy::float_arithmetic))]

pub mod fair;
pub mod fifo;
pub mod workqueue;

//! Who runs where, and who runs next: the fair class, swqueue, SIS_NODE, a global FIFO.

pub mod fair;
pub mod fifo;

//! Which CPUs run ahead of the others (see `engine::run_ahead`).

use crate::{EventQueue, NEVER, Ns};

/// The CPUs that run ahead: they have nothing but ticks and the switches these lead to.
pub(crate) struct RunAhead {
    /// Their next deciding ticks.
    pub ticks: EventQueue,
    /// The first key in `ticks`, so that it costs nothing to see that no CPU runs ahead.
    pub first_key: u64,
    /// No other CPU begins to run ahead before this instant.
    pub next: Ns,
}

impl RunAhead {
    pub fn new(n_cpus: usize) -> Self {
        Self { ticks: EventQueue::new(n_cpus), first_key: EventQueue::NO_KEY, next: NEVER }
    }
}

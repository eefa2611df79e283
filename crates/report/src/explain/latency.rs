//! Why wake-ups of one run took long: tables and stories for people, and JSON.
//!
//! All shares are of the time of the slow wake-ups, and the rows add up to it to the nanosecond.

mod json;
mod text;

pub use json::json;
pub use text::text;

use crate::OneRun;
use scenario::latency::{Beyond, HeldTime, Hold, Latencies};

/// The waits of a run and what is asked about them.
pub struct View<'a> {
    /// Which run it is.
    pub run: OneRun<'a>,
    /// Which wake-ups are slow.
    pub beyond: Beyond,
    /// What was found.
    pub latencies: &'a Latencies,
}

impl View<'_> {
    fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.latencies.slow_ns.max(1) as f64 * 100.0
    }

    fn held(&self, hold: Hold) -> impl Iterator<Item = &HeldTime> {
        self.latencies.held.iter().filter(move |row| row.hold == hold)
    }

    fn held_ns(&self, hold: Hold) -> u64 {
        self.held(hold).map(|row| row.ns).sum()
    }
}

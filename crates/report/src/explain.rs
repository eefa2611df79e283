//! Why CPUs of one run idled while tasks waited: tables for people, and JSON.
//!
//! All shares are of the time that is explained, the metric `idle_while_runnable`, and the rows add
//! up to it to the nanosecond.

mod json;
pub mod latency;
mod text;

pub use json::json;
pub use text::text;

use crate::OneRun;
use scenario::{Explanation, Kind, N_NEAR, RuleTime};

/// An explanation and what it is of.
pub struct View<'a> {
    /// Which run it is.
    pub run: OneRun<'a>,
    /// The time that is explained, by rule.
    pub explanation: &'a Explanation,
}

impl View<'_> {
    fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.explanation.wasted_ns.max(1) as f64 * 100.0
    }

    fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &RuleTime> {
        self.explanation.rules.iter().filter(move |r| r.kind == kind)
    }

    /// Time of all rules by distance.
    fn by_distance(&self) -> [u64; N_NEAR] {
        let sum = |i: usize| self.explanation.rules.iter().map(|r| r.ns[i]).sum();
        std::array::from_fn(sum)
    }
}

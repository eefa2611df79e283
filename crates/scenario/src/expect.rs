//! What a scenario expects of its runs.

use crate::registry::metric;
use std::ops::Range;

/// A bound that the mean of a metric over the seeds is to keep.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// As it was written.
    pub text: String,
    /// Where it was written, as `FILE:LINE`.
    pub place: String,
    /// The place in the scenario's text.
    pub(crate) span: Range<usize>,
    /// The variant that it is about; `None` for all.
    pub variant: Option<String>,
    /// The metric.
    pub metric: String,
    /// On which side of the limit the mean is to be.
    pub sign: Sign,
    /// The limit, in the metric's unit.
    pub limit: f64,
}

/// On which side of a limit a value is to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Sign {
    /// Below it.
    Less,
    /// Below it, or equal.
    AtMost,
    /// Above it.
    Greater,
    /// Above it, or equal.
    AtLeast,
}

impl Sign {
    /// The signs as they are written, the longer ones first.
    pub(crate) const ALL: [(&'static str, Self); 4] =
        [("<=", Self::AtMost), (">=", Self::AtLeast), ("<", Self::Less), (">", Self::Greater)];
}

impl Expectation {
    /// True if the value keeps the bound.
    pub fn holds(&self, value: f64) -> bool {
        match self.sign {
            Sign::Less => value < self.limit,
            Sign::AtMost => value <= self.limit,
            Sign::Greater => value > self.limit,
            Sign::AtLeast => value >= self.limit,
        }
    }

    /// The unit of the metric.
    pub fn unit(&self) -> &'static str {
        metric(&self.metric).map_or("", |row| row.unit)
    }
}

//! What a search for the highest load looks for: a key of the workload, and a condition to keep.

use crate::registry::metric;

/// The metric that the value found becomes.
pub(crate) const FOUND: &str = "highest_load";

/// What is searched.
#[derive(Clone, Debug, PartialEq)]
pub struct Find {
    /// The key of the workload.
    pub key: &'static str,
    /// The key takes whole numbers only.
    pub whole: bool,
    /// What the load has to keep.
    pub condition: Condition,
    /// The smallest and the largest value that are looked at.
    pub range: [f64; 2],
    /// How near the value is found, relative to it.
    pub precision: f64,
}

/// A bound of a metric.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    /// The metric.
    pub metric: String,
    /// The bound is the largest value allowed; else the smallest.
    pub at_most: bool,
    /// The bound, in the metric's unit.
    pub limit: f64,
}

impl Condition {
    /// True if the value keeps it.
    pub(crate) fn holds(&self, value: f64) -> bool {
        if self.at_most { value <= self.limit } else { value >= self.limit }
    }
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign = if self.at_most { "<=" } else { ">=" };
        let unit = metric(&self.metric).map_or("", |def| def.unit);
        write!(f, "{} {sign} {} {unit}", self.metric, self.limit)?;
        Ok(())
    }
}

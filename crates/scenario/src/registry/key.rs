//! What rows of policies and metrics have in common.

/// Which direction of a metric is the good one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Better {
    /// Smaller is better.
    Lower,
    /// Larger is better.
    Higher,
    /// Neither: the metric describes, it does not judge.
    None,
}

impl Better {
    /// The word used in JSON and CSV.
    pub fn word(self) -> &'static str {
        match self {
            Better::Lower => "lower",
            Better::Higher => "higher",
            Better::None => "none",
        }
    }
}

/// A family of policies that share features and tunables.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// The fair class.
    Fair,
    /// Schedulers of the sched_ext shape: tunables, no features.
    Ext,
    /// No kernel's policy: neither.
    Alone,
}

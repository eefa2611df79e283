//! What a scenario expects beside what was measured.

use crate::analysis::{Analysis, VariantAnalysis};
use crate::number::Shown;
use scenario::Expectation;

/// One expectation of one variant.
#[derive(Clone, Debug)]
pub struct Expected {
    /// What is expected, and where that is said.
    pub expectation: Expectation,
    /// The variant.
    pub variant: String,
    /// The mean over the seeds; `None` if the runs do not measure the metric.
    pub mean: Option<f64>,
    /// The 95 % interval of the mean; `None` with one seed.
    pub ci95: Option<[f64; 2]>,
    /// The mean is as expected.
    pub holds: bool,
    /// The point of a sweep; empty outside of one.
    at: String,
}

/// What came of all expectations.
pub(crate) fn expected(analysis: &Analysis, expectations: &[Expectation]) -> Vec<Expected> {
    let of = |expectation: &Expectation| {
        let is_about = |v: &&VariantAnalysis| match &expectation.variant {
            None => true,
            Some(name) => *name == v.name,
        };
        let variants = analysis.variants.iter().filter(is_about);
        variants.map(|v| one(analysis, expectation, v)).collect::<Vec<_>>()
    };
    expectations.iter().flat_map(of).collect()
}

fn one(analysis: &Analysis, expectation: &Expectation, variant: &VariantAnalysis) -> Expected {
    let metric = variant.metric(&expectation.metric);
    let mean = metric.map(|m| m.mean);
    Expected {
        expectation: expectation.clone(),
        variant: variant.name.clone(),
        mean,
        ci95: metric.and_then(|m| m.ci95),
        holds: mean.is_some_and(|mean| expectation.holds(mean)),
        at: analysis.at.clone(),
    }
}

impl std::fmt::Display for Expected {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Expectation { text, place, metric, limit, .. } = &self.expectation;
        let at = if self.at.is_empty() { String::new() } else { format!(" at {}", self.at) };
        write!(f, "{place}: expected {text}; {}{at}", self.variant)?;
        let Some(mean) = self.mean else {
            return write!(f, " does not measure it");
        };
        let shown = Shown::of(metric, self.expectation.unit(), [mean, *limit]);
        write!(f, " has {}", shown.with_unit(mean))?;
        match self.ci95 {
            Some(ends) => {
                let [low, high] = ends.map(|end| shown.number(end));
                write!(f, " [{low}, {high}]")
            }
            None => Ok(()),
        }
    }
}

/// A line about all of them, if there are any.
pub(crate) fn remark(analysis: &Analysis) -> Option<String> {
    let (all, kept) =
        (analysis.expected.len(), analysis.expected.iter().filter(|e| e.holds).count());
    let failing = analysis.expected.iter().filter(|e| !e.holds);
    let failing: Vec<String> =
        failing.map(|e| format!("{} ({})", e.expectation.text, e.variant)).collect();
    match (all, failing.is_empty()) {
        (0, _) => None,
        (_, true) => Some(format!("expected: {kept} of {all} hold.")),
        (_, false) => Some(format!("expected: {kept} of {all} hold; not {}.", failing.join(", "))),
    }
}

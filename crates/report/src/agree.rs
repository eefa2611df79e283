//! When a published change and a simulated one tell the same story: one rule, for all reports.
//!
//! The changes agree if both go in one direction or both are small, and if they are near each
//! other. A published change is a measurement with an error of its own, which is sometimes known.
//! Then it does two things. It widens the limits that are smaller than it: nobody can be asked to
//! be nearer to a measurement than a second measurement would be. And a change that is smaller
//! than its error was not told apart from zero. Such a change has no direction, so a simulated one
//! must be as small; that it has the same sign by chance counts for nothing.
//!
//! The error of the *simulated* change widens nothing. It depends on the number of seeds, and fewer
//! seeds must not agree with more.

use crate::analysis::SAME_PCT;

/// The error of a change in standard errors: a 95 % interval if the standard error is known well.
const STANDARD_ERRORS: f64 = 2.0;

/// Changes may be so many points apart, or a quarter of the published one.
const NEAR_POINTS: f64 = 1.0;

/// A published value with its error.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Measured {
    /// The value.
    pub value: f64,
    /// Its standard error, if known.
    pub error: Option<f64>,
}

impl Measured {
    /// A value that is the mean of `runs`, with their standard deviation.
    pub fn new(value: f64, sd: Option<f64>, runs: u32) -> Self {
        Self { value, error: sd.map(|sd| sd / f64::from(runs).sqrt()) }
    }
}

/// A published change from the published baseline.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PublishedChange {
    /// In percent of the baseline.
    pub pct: f64,
    /// Its error: half of its 95 % interval, in points; `None` if that of a value is not known.
    pub error_pct: Option<f64>,
}

impl PublishedChange {
    /// The change between two values that were measured apart from each other; `None` from 0.
    pub(crate) fn new(base: Measured, own: Measured) -> Option<Self> {
        if base.value == 0.0 {
            return None;
        }
        let ratio = own.value / base.value;
        let error_pct = own.error.zip(base.error).map(|(of_own, of_base)| {
            STANDARD_ERRORS * f64::hypot(of_own, ratio * of_base) / base.value.abs() * 100.0
        });
        Some(Self { pct: (ratio - 1.0) * 100.0, error_pct })
    }

    /// Whether it was told apart from zero; `None` if its error is not known.
    pub fn told_apart(self) -> Option<bool> {
        self.error_pct.map(|error| self.pct.abs() > error)
    }

    /// Whether a simulated change, in percent, tells the same story.
    ///
    /// Without errors this is about size and direction only. Two changes under 0.15 % are both
    /// "the same". Once one of them is larger, the direction decides: -0.17 % and -0.02 % agree,
    /// although the second one alone would pass for "the same". A change of exactly zero has no
    /// direction and agrees with no real one.
    pub fn agrees(self, simulated: f64) -> bool {
        let (error, has_direction) =
            (self.error_pct.unwrap_or(0.0), self.told_apart() != Some(false));
        let is_small = !has_direction || self.pct.abs() < SAME_PCT;
        let both_small = is_small && simulated.abs() < f64::max(SAME_PCT, error);
        let one_direction = has_direction && self.pct * simulated > 0.0;
        let near = NEAR_POINTS.max(self.pct.abs() / 4.0).max(error);
        (both_small || one_direction) && (simulated - self.pct).abs() <= near
    }

    /// Whether all simulated changes of an interval tell the same story, or none of them does.
    pub(crate) fn is_settled(self, interval: [f64; 2]) -> bool {
        is_settled(interval, self.pct, |simulated| self.agrees(simulated))
    }
}

/// Whether all values of an interval are right, or none of them is. Those that are right lie around
/// the published one.
pub(crate) fn is_settled(
    [low, high]: [f64; 2],
    published: f64,
    is_right: impl Fn(f64) -> bool,
) -> bool {
    match (is_right(low), is_right(high)) {
        (true, true) => true,
        (false, false) => !(low..=high).contains(&published),
        _ => false,
    }
}

/// The rule in a line.
pub(crate) fn rule() -> String {
    format!(
        "same direction or both under {SAME_PCT} %, and within {NEAR_POINTS} point or 1/4 of the \
         change."
    )
}

/// What errors change of it, for tables that have any.
pub(crate) const ERRORS: [&str; 2] = [
    "A known error of a published change (two standard errors) takes the place of a smaller limit.",
    "A change below its error was not told apart from zero: it agrees only with one below it, too.",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn agrees(pct: f64, simulated: f64) -> bool {
        PublishedChange { pct, error_pct: None }.agrees(simulated)
    }

    #[test]
    fn agreement_needs_the_same_verdict_and_a_similar_size() {
        assert!(agrees(-0.28, -0.25));
        assert!(agrees(0.05, -0.14), "both are the same as nothing");
        assert!(!agrees(-0.28, 0.05), "the sign is wrong");
        assert!(agrees(-16.65, -13.0));
        assert!(!agrees(-16.65, -12.0));
        assert!(!agrees(0.6, 1.61));
    }

    #[test]
    fn agreement_looks_at_the_direction_once_one_change_is_not_small() {
        assert!(agrees(-0.17, -0.02), "one is small, and both are better");
        assert!(agrees(0.05, -0.10), "both are small");
        assert!(agrees(0.6, 0.01), "both are worse, and less than a point apart");
        assert!(!agrees(-0.28, 0.0), "nothing is not better");
        assert!(!agrees(0.0, -0.28), "better is not nothing");
        assert!(!agrees(-0.15, 0.14), "the limit itself is not small");
        assert!(!agrees(-0.28, f64::NAN));
    }

    fn with_error(pct: f64, error: f64, simulated: f64) -> bool {
        PublishedChange { pct, error_pct: Some(error) }.agrees(simulated)
    }

    #[test]
    fn a_change_below_its_error_agrees_only_with_one_that_is_as_small() {
        assert!(with_error(-0.9, 1.0, -0.2) && agrees(-0.9, -0.2));
        assert!(with_error(-0.2, 1.0, 0.7) && !agrees(-0.2, 0.7), "neither has a direction");
        assert!(!with_error(-0.9, 1.0, -1.1) && agrees(-0.9, -1.1), "that is no longer small");
        assert!(!with_error(-0.9, 1.0, 0.9), "both are small, but too far apart");
        assert!(with_error(-0.05, 0.06, 0.14) && agrees(-0.05, 0.14), "the old limit is larger");
        assert!(!with_error(-0.05, 0.06, -0.2) && agrees(-0.05, -0.2));
        assert!(with_error(1.0, 1.0, 0.9), "the limit itself is not told apart");
        assert!(!with_error(-0.9, 1.0, f64::NAN));
    }

    #[test]
    fn a_change_that_was_told_apart_may_be_missed_by_its_error() {
        assert!(with_error(-3.0, 2.0, -1.1) && !agrees(-3.0, -1.1));
        assert!(!with_error(-3.0, 2.0, -0.9), "beyond it");
        assert!(!with_error(-1.0, 0.9, 0.1), "within all limits, but in the wrong direction");
        assert!(with_error(-16.65, 1.0, -13.0), "a smaller error takes nothing away");
        assert!(with_error(0.12, 0.1, -0.1), "and both may still be the same as nothing");
    }

    #[test]
    fn an_interval_without_a_limit_in_it_is_settled() {
        let settled =
            |pct, error_pct, interval| PublishedChange { pct, error_pct }.is_settled(interval);
        assert!(settled(-0.5, None, [-0.9, -0.1]), "all agree");
        assert!(settled(-0.5, None, [0.0, 0.9]) && settled(-0.5, None, [-9.0, -2.0]), "none does");
        assert!(!settled(-0.5, None, [-0.9, 0.1]), "the direction is open");
        assert!(!settled(-0.5, None, [-9.0, 9.0]), "both ends differ, and what is between agrees");
        assert!(settled(0.1, None, [-0.14, 0.14]) && !settled(0.1, None, [-0.16, 0.14]));
        assert!(settled(-0.9, Some(1.0), [-0.8, 0.05]) && !settled(-0.9, None, [-0.8, 0.05]));
    }

    #[test]
    fn the_error_of_a_change_is_that_of_both_values() {
        let change = |base, own| PublishedChange::new(base, own).unwrap();
        let (base, own) = (Measured::new(200.0, Some(3.0), 9), Measured::new(100.0, Some(2.0), 1));
        let PublishedChange { pct, error_pct } = change(base, own);
        // Standard errors of 1 of 200 and 2 of 100, of half of the baseline.
        let expected = 2.0 * 50.0 * (0.005f64.powi(2) + 0.02f64.powi(2)).sqrt();
        assert!((pct + 50.0).abs() < 1e-9 && (error_pct.unwrap() - expected).abs() < 1e-9);
        assert_eq!(change(Measured::new(200.0, None, 9), own).error_pct, None);
        let (zero, told) = (Measured::new(0.0, Some(0.0), 1), |c: PublishedChange| c.told_apart());
        assert_eq!(PublishedChange::new(zero, own), None);
        assert_eq!(told(change(base, zero)), Some(true));
        assert_eq!(told(change(base, Measured::new(199.0, Some(0.5), 1))), Some(false));
        assert_eq!(told(change(base, base)), Some(false));
    }
}

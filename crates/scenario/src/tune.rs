//! `[tune]`: keys whose best values are looked for, what is best, and what has to be kept.
//!
//! ```toml
//! [tune]
//! maximize          = "throughput"                       # what is best
//! while             = ["wakeup_latency_p99 < 2 ms"]      # what the means are to keep
//! hz                = [100, 250, 1000]                   # one of these values
//! migration_cost_ns = { range = [1_000, 10_000_000], log = true }
//! features          = ["SIS_UTIL", "TTWU_QUEUE"]         # each on or off
//! ```
//!
//! A point of the search is a value for each key. It is put into the scenario as `--set` does, so
//! it is checked as if it had been written there.

use crate::expect::Expectation;

/// What is looked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Tune {
    /// The variant that is tuned; the others do not run.
    pub variant: String,
    /// What is to be high or low, in the file's order: the first one decides what is best.
    pub goals: Vec<Goal>,
    /// What the means over the seeds are to keep.
    pub limits: Vec<Expectation>,
    /// The keys; never empty.
    pub keys: Vec<TunedKey>,
    /// Features that the variant states and that are not tuned.
    pub(crate) other_features: Vec<String>,
}

/// A metric that is to be high or low.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Goal {
    /// The metric.
    pub metric: String,
    /// It is to be high; else low.
    pub maximize: bool,
}

/// A key that takes values in turn.
#[derive(Clone, Debug, PartialEq)]
pub struct TunedKey {
    /// The key as the scenario has it; of a feature, its name.
    pub key: String,
    /// The place that `--set` names; empty for a feature.
    pub(crate) place: String,
    /// What it may be.
    pub values: Values,
}

/// What a key may be.
#[derive(Clone, Debug, PartialEq)]
pub enum Values {
    /// One of these, as the scenario has them.
    Choices(Vec<String>),
    /// A whole number, both ends included.
    Whole {
        /// The smallest value.
        low: i64,
        /// The largest value.
        high: i64,
        /// Values are looked for by their ratios.
        log: bool,
    },
    /// A number, both ends included.
    Real {
        /// The smallest value.
        low: f64,
        /// The largest value.
        high: f64,
        /// Values are looked for by their ratios.
        log: bool,
    },
    /// A feature: off or on.
    Feature,
}

/// The value of one key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coordinate {
    /// The index of a choice; of a feature, 1 for on.
    Choice(usize),
    /// A whole number.
    Whole(i64),
    /// A number.
    Real(f64),
}

impl Tune {
    /// Number of points, if there is an end of them.
    pub fn n_points(&self) -> Option<u64> {
        let of_key = |key: &TunedKey| match &key.values {
            Values::Choices(values) => Some(values.len() as u64),
            Values::Whole { low, high, .. } => high.abs_diff(*low).checked_add(1),
            Values::Real { .. } => None,
            Values::Feature => Some(2),
        };
        self.keys.iter().try_fold(1_u64, |n, key| n.checked_mul(of_key(key)?))
    }

    /// A point as `--set` takes it: `KEY=VALUE`, one for each key, and one for all features.
    pub fn sets(&self, point: &[Coordinate]) -> Vec<String> {
        let mut features = self.other_features.clone();
        let mut sets = Vec::new();
        for (key, value) in self.keys.iter().zip(point) {
            match key.values {
                Values::Feature => features.push(key.shown(*value)),
                _ => sets.push(format!("{}={}", key.place, key.shown(*value))),
            }
        }
        if features.len() > self.other_features.len() {
            let list: Vec<String> = features.iter().map(|name| format!("\"{name}\"")).collect();
            sets.push(format!("{}=[{}]", features_of(&self.variant), list.join(", ")));
        }
        sets
    }
}

impl TunedKey {
    /// A value in TOML; of a feature, its name, with `NO_` if it is off.
    pub fn shown(&self, value: Coordinate) -> String {
        match (&self.values, value) {
            (Values::Choices(values), Coordinate::Choice(idx)) => values[idx].clone(),
            (Values::Feature, Coordinate::Choice(0)) => format!("NO_{}", self.key),
            (Values::Feature, _) => self.key.clone(),
            (_, Coordinate::Whole(n)) => n.to_string(),
            // The shortest text that is read as this very number.
            (_, Coordinate::Real(x)) => format!("{x:?}"),
            (_, Coordinate::Choice(idx)) => idx.to_string(),
        }
    }

    /// The value that some number stands for; `None` if the key has no such value.
    pub fn coordinate(&self, number: f64) -> Option<Coordinate> {
        let whole = || (number.fract() == 0.0).then_some(number as i64);
        let choice = |n: usize| whole().and_then(|i| usize::try_from(i).ok()).filter(|i| *i < n);
        match &self.values {
            Values::Choices(values) => choice(values.len()).map(Coordinate::Choice),
            Values::Feature => choice(2).map(Coordinate::Choice),
            Values::Whole { low, high, .. } => {
                whole().filter(|n| (low..=high).contains(&n)).map(Coordinate::Whole)
            }
            Values::Real { low, high, .. } => {
                (*low <= number && number <= *high).then_some(Coordinate::Real(number))
            }
        }
    }
}

/// The place of a variant's features, as `--set` names it.
pub(crate) fn features_of(variant: &str) -> String {
    path(["variant", variant, "features"])
}

/// A place as `--set` names it: words with dots between, in quotes where TOML wants them.
pub(crate) fn path<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    let is_bare = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let word = |word: &str| match !word.is_empty() && word.chars().all(is_bare) {
        true => word.to_string(),
        // A literal string has no escapes; a name with a quote in it needs a basic one.
        false if !word.contains('\'') => format!("'{word}'"),
        false => toml::Value::String(word.to_string()).to_string(),
    };
    words.into_iter().map(word).collect::<Vec<_>>().join(".")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(key: &str, place: &str, values: Values) -> TunedKey {
        TunedKey { key: key.to_string(), place: place.to_string(), values }
    }

    fn tune() -> Tune {
        Tune {
            variant: "a b".into(),
            goals: Vec::new(),
            limits: Vec::new(),
            keys: vec![
                key("hz", "variant.'a b'.tunables.hz", Values::Choices(vec!["100".into()])),
                key("SIS_UTIL", "", Values::Feature),
                key("rate", "workload.rate", Values::Whole { low: 3, high: 9, log: true }),
            ],
            other_features: vec!["SWQUEUE".into()],
        }
    }

    #[test]
    fn a_point_is_what_set_takes() {
        let point = [Coordinate::Choice(0), Coordinate::Choice(0), Coordinate::Whole(5)];
        assert_eq!(
            tune().sets(&point),
            [
                "variant.'a b'.tunables.hz=100",
                "workload.rate=5",
                "variant.'a b'.features=[\"SWQUEUE\", \"NO_SIS_UTIL\"]",
            ]
        );
    }

    #[test]
    fn points_are_counted_unless_there_is_no_end_of_them() {
        let mut tune = tune();
        assert_eq!(tune.n_points(), Some(2 * 7));
        tune.keys.push(key("x", "workload.x", Values::Real { low: 0.5, high: 1.0, log: false }));
        assert_eq!(tune.n_points(), None);
    }

    #[test]
    fn numbers_become_values_or_nothing() {
        let tune = tune();
        assert_eq!(tune.keys[0].coordinate(0.0), Some(Coordinate::Choice(0)));
        assert_eq!(tune.keys[0].coordinate(1.0), None);
        assert_eq!(tune.keys[1].coordinate(1.0), Some(Coordinate::Choice(1)));
        assert_eq!(tune.keys[1].coordinate(-1.0), None);
        assert_eq!(tune.keys[2].coordinate(9.0), Some(Coordinate::Whole(9)));
        assert_eq!(tune.keys[2].coordinate(9.5), None);
        assert_eq!(tune.keys[2].coordinate(10.0), None);
    }

    #[test]
    fn real_numbers_keep_all_their_digits() {
        let key = key("x", "workload.x", Values::Real { low: 0.0, high: 1.0, log: false });
        let x = 0.1 + 0.2;
        let text = key.shown(Coordinate::Real(x));
        assert_eq!(text.parse(), Ok(x));
    }
}

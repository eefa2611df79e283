//! The names a scenario may use: policies, features, tunables, workloads, metrics.
//!
//! Plain data tables, one row per name, with the one line of help that `schedlab list` prints.
//! The parser checks against them and finds the nearest name for a misspelled one, so a new
//! feature or workload key is one new row and nothing else here.

mod document;
mod metrics;
mod policies;
mod workloads;
mod workqueue;

pub use document::{
    CHANGE_AT, FIND, FieldDef, Holds, PRECISION, PUBLISHED, RUN, SCENARIO, SEEDS_MAX, SWEEP,
    VARIANT, names,
};
pub(crate) use metrics::{LEVELS, SPIN_GROUPS};
pub use metrics::{METRICS, MetricDef, metric};
pub use policies::{
    Class, FEATURES, FeatureDef, GROUP_POLICY, KERNELS, POLICIES, PolicyDef, TUNABLES, TunableDef,
};
pub use workloads::{COMMON, TASKS_MAX, WORKLOADS, WorkloadDef};
pub use workqueue::{CHANGE, SCOPES, WORKQUEUE};

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

/// A checked value of a tunable or of a workload key.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A whole number.
    Int(i64),
    /// A finite number.
    Float(f64),
    /// A switch.
    Bool(bool),
    /// One of the words that the key allows, or a path.
    Word(String),
}

impl Value {
    /// The value as a whole number, if it is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Value::Int(n) => Some(*n),
            _ => None,
        }
    }

    /// The value as a number, if it is one.
    pub fn float(&self) -> Option<f64> {
        match self {
            Value::Int(n) => Some(*n as f64),
            Value::Float(x) => Some(*x),
            _ => None,
        }
    }

    /// The value as a switch; 0 and 1 count, as in the kernel's own files.
    pub fn bool(&self) -> Option<bool> {
        match self {
            Value::Bool(b) => Some(*b),
            Value::Int(n @ 0..=1) => Some(*n == 1),
            _ => None,
        }
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Value::Int(n) => write!(f, "{n}"),
            Value::Float(x) => write!(f, "{x}"),
            Value::Bool(b) => write!(f, "{b}"),
            Value::Word(w) => write!(f, "{w}"),
        }
    }
}

/// What values a key takes.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A whole number within a range, ends included.
    Int {
        /// Smallest allowed.
        min: i64,
        /// Largest allowed.
        max: i64,
    },
    /// A finite number within a range, ends included.
    Float {
        /// Smallest allowed.
        min: f64,
        /// Largest allowed.
        max: f64,
    },
    /// `true` or `false` (or 1 and 0).
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The path of a file, relative to the scenario.
    File,
    /// Names, separated by commas.
    Names,
}

/// What holds if a key is absent. This is the only place that says so: `schedlab list` prints it
/// and runs use it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fallback {
    /// Nothing: the key must be given.
    Required,
    /// This whole number.
    Int(i64),
    /// This number.
    Float(f64),
    /// On or off.
    Bool(bool),
    /// This one of the words that the key takes.
    Word(&'static str),
    /// What these words say: it depends on the machine.
    Words(&'static str),
}

impl Fallback {
    /// The value itself, if it is the same for all machines.
    pub fn value(self) -> Option<Value> {
        match self {
            Fallback::Int(n) => Some(Value::Int(n)),
            Fallback::Float(x) => Some(Value::Float(x)),
            Fallback::Bool(b) => Some(Value::Bool(b)),
            Fallback::Word(word) => Some(Value::Word(word.to_string())),
            Fallback::Required | Fallback::Words(_) => None,
        }
    }
}

/// One key of a table: a tunable, or a parameter of a workload.
#[derive(Clone, Copy, Debug)]
pub struct KeyDef {
    /// The key.
    pub name: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Unit of the value; empty for plain counts.
    pub unit: &'static str,
    /// What holds if the key is absent.
    pub default: Fallback,
    /// One line for people.
    pub help: &'static str,
}

/// The row of a policy.
pub fn policy(name: &str) -> Option<&'static PolicyDef> {
    POLICIES.iter().find(|p| p.name == name)
}

/// The row of a feature, by its kernel name without `NO_`.
pub fn feature(name: &str) -> Option<&'static FeatureDef> {
    FEATURES.iter().find(|f| f.name == name)
}

/// The row of a tunable.
pub fn tunable(name: &str) -> Option<&'static TunableDef> {
    TUNABLES.iter().find(|t| t.key.name == name)
}

/// The row of a workload kind.
pub fn workload(kind: &str) -> Option<&'static WorkloadDef> {
    WORKLOADS.iter().find(|w| w.kind == kind)
}

/// The known name that `word` most likely meant, if any is near enough.
pub fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > 200 {
        return None;
    }
    let fold = |s: &str| s.to_ascii_lowercase().replace('-', "_");
    let word = fold(word);
    let rank = |name: &str| {
        let folded = fold(name);
        let distance = strsim::damerau_levenshtein(&word, &folded);
        let longest = word.len().max(folded.len());
        let part =
            folded.len().min(word.len()) >= 4 && (word.contains(&folded) || folded.contains(&word));
        let near = distance <= 1 + longest / 4 && distance < longest;
        (near || part).then_some((!near, distance))
    };
    known
        .into_iter()
        .filter_map(|name| Some((rank(name)?, name)))
        .min_by_key(|(rank, _)| *rank)
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_forgives_case_dashes_and_slips_but_not_other_words() {
        let names = ["SWQUEUE", "SIS_NODE", "SIS_UTIL"];
        assert_eq!(nearest("sis-node", names), Some("SIS_NODE"));
        assert_eq!(nearest("SWQEUE", names), Some("SWQUEUE"));
        assert_eq!(nearest("LATENCY_NICE", names), None);
    }

    #[test]
    fn names_are_unique_within_each_table() {
        let unique = |names: Vec<&str>| {
            let set: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(set.len(), names.len(), "{names:?}");
        };
        unique(POLICIES.iter().map(|x| x.name).collect());
        unique(FEATURES.iter().map(|x| x.name).collect());
        unique(TUNABLES.iter().map(|x| x.key.name).collect());
        unique(WORKQUEUE.iter().map(|x| x.name).collect());
        unique(METRICS.iter().map(|x| x.name).collect());
        unique(WORKLOADS.iter().map(|x| x.kind).collect());
        for w in WORKLOADS {
            unique(w.all_keys().map(|x| x.name).collect());
        }
    }
}

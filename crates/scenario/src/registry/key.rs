//! What every table of names is made of: values, their kinds and bounds, and what holds by default.

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

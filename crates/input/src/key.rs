//! The rows that say what a key of a table takes, and values that were checked against them.

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
    /// `true` or `false`.
    Switch,
    /// `true` or `false`, or 1 and 0 as in the kernel's own files.
    Bool,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The path of a file, relative to the scenario.
    File,
    /// Names, separated by commas.
    Names,
    /// A text that is not blank.
    Text,
    /// One line of text, not blank.
    Line,
    /// An array of such values.
    List(&'static Kind),
    /// A table with these keys.
    Table(&'static [KeyDef]),
    /// Tables with these keys; at least one if the key is required.
    Tables(&'static [KeyDef]),
    /// A value with a reader of its own, which this schema describes.
    Special(fn() -> serde_json::Value),
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
    /// Nothing is said here: the help tells it, or the code that reads the key.
    Elsewhere,
}

impl Fallback {
    /// The value itself, if it is the same for all machines.
    pub fn value(self) -> Option<Value> {
        match self {
            Fallback::Int(n) => Some(Value::Int(n)),
            Fallback::Float(x) => Some(Value::Float(x)),
            Fallback::Bool(b) => Some(Value::Bool(b)),
            Fallback::Word(word) => Some(Value::Word(word.to_string())),
            Fallback::Required | Fallback::Words(_) | Fallback::Elsewhere => None,
        }
    }
}

/// One key of a table.
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

impl KeyDef {
    /// A key that may be left out.
    pub const fn optional(name: &'static str, kind: Kind) -> Self {
        Self { name, kind, unit: "", default: Fallback::Elsewhere, help: "" }
    }

    /// A key that must be there.
    pub const fn required(name: &'static str, kind: Kind) -> Self {
        Self { default: Fallback::Required, ..Self::optional(name, kind) }
    }

    /// True if there is no default and the key must be given.
    pub fn is_required(&self) -> bool {
        self.default == Fallback::Required
    }
}

/// The words of a table of words and their meanings, for [`Kind::Word`].
pub const fn words<T: Copy, const N: usize>(
    meanings: &[(&'static str, T); N],
) -> [&'static str; N] {
    let mut words = [""; N];
    let mut at = 0;
    while at < N {
        words[at] = meanings[at].0;
        at += 1;
    }
    words
}

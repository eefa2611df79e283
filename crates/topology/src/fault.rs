//! What is wrong with an input text, and where.
//!
//! A fault carries a byte range and words only. The caller, which has the text, makes lines,
//! columns and carets of them.

use std::ops::Range;

/// One fault of an input text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The bytes of the text that the fault is about; `None` if a thing is missing altogether.
    pub span: Option<Range<usize>>,
    /// What is wrong, in one line.
    pub message: String,
    /// The remedy in one line; `None` if there is none to name.
    pub help: Option<String>,
}

impl Fault {
    /// A fault at a place.
    pub fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span: Some(span), message: message.into(), help: None }
    }

    /// The same fault with a remedy.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same fault with a remedy, if it has none yet.
    pub(crate) fn or_help(self, help: &str) -> Self {
        if self.help.is_some() { self } else { self.help(help) }
    }
}

/// The remedy for an unknown name: the nearest valid one, or all of them.
pub fn did_you_mean(name: &str, valid: &[&str]) -> String {
    match nearest(name, valid) {
        Some(best) => format!("did you mean `{best}`?"),
        None => format!("valid here: {}", valid.join(", ")),
    }
}

/// The valid name that an unknown one was most likely meant for, if any is near enough.
pub(crate) fn nearest<'a>(name: &str, valid: &[&'a str]) -> Option<&'a str> {
    let distance = |v: &str| strsim::damerau_levenshtein(&name.to_lowercase(), v);
    let best = valid.iter().copied().min_by_key(|v| distance(v))?;
    (distance(best) <= best.len().max(name.len()) / 3).then_some(best)
}

//! The questions that the loader asks of a file's tables. They are kept while a probe is read, and
//! the schema is made from them: it cannot know other keys, types or bounds than the loader.

use std::cell::RefCell;
use std::ops::RangeInclusive;
use std::rc::Rc;

/// What values a key takes, as far as the key alone can tell.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Takes {
    /// Nothing is said here: another part of the loader says more.
    Anything,
    Int {
        min: i64,
        max: i64,
    },
    Float {
        min: f64,
        max: f64,
    },
    Bool,
    /// A text that is not empty.
    Text,
    /// One of these words.
    Words(Vec<&'static str>),
    Array(Box<Takes>),
    /// A table `[key]`.
    Table,
    /// An array of tables, `[[key]]`.
    Tables,
}

impl Takes {
    /// Whole numbers within bounds.
    pub fn ints<T: Copy + TryInto<i64>>(valid: &RangeInclusive<T>) -> Self {
        let [min, max] = [valid.start(), valid.end()].map(|x| (*x).try_into().unwrap_or(i64::MAX));
        Takes::Int { min, max }
    }

    /// Arrays of these.
    pub fn array_of(self) -> Self {
        Takes::Array(Box::new(self))
    }
}

/// What was asked of one table.
#[derive(Clone, Debug)]
pub(super) struct Visit {
    /// The key of the table; empty for the whole file.
    pub table: &'static str,
    /// The keys asked for; one may be there several times.
    pub keys: Vec<(&'static str, Takes)>,
    /// The keys that this table must have.
    pub required: Vec<&'static str>,
}

/// What was asked of all tables so far.
pub(super) type Log = Rc<RefCell<Vec<Visit>>>;

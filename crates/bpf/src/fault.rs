//! Why a program could not go on, with the place in its source.

use std::fmt;

/// What was wrong.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FaultKind {
    /// A store to no memory, or to memory that may only be read.
    #[error("a store of {size} bytes to {address:#x}, where nothing may be written")]
    BadStore {
        /// Where.
        address: u64,
        /// Bytes.
        size: u32,
    },
    /// More instructions than a call may execute.
    #[error("more instructions than the budget of {0}")]
    Budget(u64),
    /// Functions call each other too deeply.
    #[error("more than 8 functions inside each other")]
    Depth,
    /// An instruction that could not be resolved when the program was loaded.
    #[error("{0}")]
    Unresolved(String),
    /// The end of the code was passed.
    #[error("no instruction here")]
    NoInstruction,
    /// A helper was given an argument that it cannot use.
    #[error("{call}: {what}")]
    Argument {
        /// The helper or kfunc.
        call: &'static str,
        /// What was wrong with the argument.
        what: &'static str,
    },
    /// The program has allocated more than it may.
    #[error(transparent)]
    OutOfMemory(#[from] crate::memory::OutOfMemory),
    /// The host has ended the program.
    #[error("{0}")]
    Host(String),
}

/// A place in a program.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Place {
    /// The function.
    pub function: String,
    /// The number of the instruction in its section.
    pub insn: usize,
    /// The line of the source, if the object tells.
    pub line: Option<Line>,
}

/// A line of a source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Line {
    /// The file, as it was named when compiled.
    pub file: String,
    /// Its number, from 1.
    pub number: u32,
    /// What it says.
    pub text: String,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, instruction {}", self.function, self.insn)?;
        match &self.line {
            Some(Line { file, number, text }) => write!(f, " ({file}:{number}: `{}`)", text.trim()),
            None => Ok(()),
        }
    }
}

/// A program was ended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{place}: {kind}")]
pub struct Fault {
    /// What was wrong.
    pub kind: FaultKind,
    /// Where.
    pub place: Place,
}

//! What a writer of a format is.

use super::event::Event;
use super::out_file::{OutFile, TraceError};

/// Where a trace comes from, for formats that have a place for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The machine's name.
    pub machine: String,
    /// The number of its CPUs.
    pub n_cpus: u32,
    /// Kernel whose rules were simulated, as `uname -r` would say.
    pub release: String,
    /// The program and its version.
    pub tool: String,
    /// The command that makes this trace, word by word.
    pub command: Vec<String>,
}

/// Takes the events of a run one by one, in order of time, and keeps no more of them than a format
/// asks for.
pub trait Sink {
    /// Writes an event.
    ///
    /// # Errors
    /// The file cannot be written.
    fn event(&mut self, event: &Event) -> Result<(), TraceError>;

    /// Completes the file; the caller makes it visible when all files of the run are complete.
    ///
    /// # Errors
    /// The file cannot be written.
    fn finish(self: Box<Self>) -> Result<OutFile, TraceError>;
}

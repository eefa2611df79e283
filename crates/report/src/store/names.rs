//! Names of runs: the digest of all that decides their bytes.

use scenario::glue::Machine;
use scenario::{RunSpec, digest_of_file};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

/// Raised when the same run is written in another way.
const FORMAT: &str = "run file 1";

/// The digest of the program that runs.
///
/// # Errors
/// Its file cannot be read.
pub fn program() -> std::io::Result<String> {
    // The link leads to the program that runs, also if another one has taken its place.
    let own = PathBuf::from("/proc/self/exe");
    let path = if own.exists() { own } else { std::env::current_exe()? };
    digest_of_file(&path)
}

/// Names runs of one program.
#[derive(Debug)]
pub struct Names {
    /// Digest of the program.
    program: String,
    /// Digests of machines by where they are: a sweep has few of them, each shared by many runs.
    /// The machine is held, so that no other one can come to its place.
    machines: Mutex<BTreeMap<usize, (Arc<Machine>, String)>>,
}

impl Names {
    /// Names for a program with that digest.
    pub fn new(program: String) -> Self {
        Self { program, machines: Mutex::default() }
    }

    /// The program's digest.
    pub fn program(&self) -> &str {
        &self.program
    }

    /// The name of a run.
    pub fn name(&self, spec: &RunSpec) -> String {
        spec.digest(&[FORMAT, &self.program, &self.machine(spec)])
    }

    fn machine(&self, spec: &RunSpec) -> String {
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        let known = machines.entry(Arc::as_ptr(&spec.machine) as usize);
        let (_, digest) =
            known.or_insert_with(|| (Arc::clone(&spec.machine), spec.machine_digest()));
        digest.clone()
    }
}

//! Handing units to Ray, which speaks Python: the package in `python/` does it.

use super::UnitsError;
use super::opened::Sweep;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Command;

/// The variable that names a Python with the package.
pub const PYTHON: &str = "SCHEDLAB_PYTHON";

/// How units are handed over.
#[derive(Clone, Debug)]
pub struct Ray {
    /// The program that does units, as the nodes find it.
    pub program: PathBuf,
    /// Units that a task does, one after the other.
    pub units_per_task: usize,
    /// The address of the cluster; Ray's own choice if nothing is said.
    pub address: Option<String>,
}

impl Ray {
    /// The command that does what is missing of a sweep.
    pub fn command(&self, sweep: &Sweep) -> Vec<OsString> {
        let python = std::env::var_os(PYTHON).unwrap_or("python3".into());
        let mut command = vec![python, "-m".into(), "schedlab.ray_engine".into()];
        command.push(sweep.dir().into());
        command.extend(["--program".into(), self.program.clone().into()]);
        command.extend(["--units-per-task".into(), self.units_per_task.to_string().into()]);
        if let Some(address) = &self.address {
            command.extend(["--address".into(), address.into()]);
        }
        command
    }

    /// Does what is missing of a sweep, and waits for it. What it has to say it says itself.
    ///
    /// # Errors
    /// There is no Python, or not all units could be done.
    pub fn submit(&self, sweep: &Sweep) -> Result<(), UnitsError> {
        let command = self.command(sweep);
        let status = Command::new(&command[0]).args(&command[1..]).status().map_err(|e| {
            let python = command[0].display();
            UnitsError::Engine(format!("cannot run {python}: {e}; {PYTHON} names another one"))
        })?;
        match status.success() {
            true => Ok(()),
            false => Err(UnitsError::Engine(
                "Ray has not done all units; `pip install ./python[ray]` installs what it needs, \
                 and submitting again does what is missing"
                    .into(),
            )),
        }
    }
}

//! A scenario for a recording, so that nobody has to write one: `schedlab replay`.

use crate::glue::{self, RecordingError};
use crate::load::{Disk, is_perf_data, open_recording};
use crate::{Fault, Faults, dump};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// What is asked about a recording.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// What `perf sched record`, `trace-cmd record` or Perfetto wrote, or the text of `perf script
    /// --ns`.
    pub recording: &'a Path,
    /// The machine that it was made on, as a scenario names one; `None`: the one that the recording
    /// describes, or one LLC with as many cores as it names CPUs.
    pub recorded_on: Option<&'a str>,
    /// Machines to replay it on; none: the one that it was made on.
    pub on: &'a [String],
    /// Policies; the first is the baseline.
    pub policies: &'a [String],
    /// Names of the threads whose end counts, separated by commas.
    pub measure: Option<&'a str>,
    /// What `ps -eLo tid=,sid=` printed before the recording.
    pub sessions: Option<&'a Path>,
}

impl Replay<'_> {
    /// True if the recording describes a machine whose CPUs it names by the same numbers.
    fn tells_its_machine(&self) -> Result<bool, Faults> {
        let path = self.recording;
        if !is_perf_data(&Disk, path) {
            return Ok(false);
        }
        let recorded = dump::perf_data(&Disk, path, "recorded")?;
        Ok(recorded.is_some_and(|recorded| recorded.is_numbered_alike))
    }

    /// The scenario, as the text of a file at `place`.
    ///
    /// # Errors
    /// The recording cannot be read, or is not text.
    pub fn scenario(&self, place: &Path) -> Result<String, Faults> {
        let head = self.head("replayed", place)?;
        let file = |path: &Path| quoted(&beside(place, path).to_string_lossy());
        let mut text = format!(
            "{head}\n[workload]\nkind        = \"perf-script\"\nfile        = {}\n\
             recorded_on = {}\n",
            file(self.recording),
            quoted(&self.recorded_on(place)?),
        );
        if let Some(names) = self.measure {
            let _ = writeln!(text, "measure     = {}", quoted(names));
        }
        if let Some(sessions) = self.sessions {
            let _ = writeln!(text, "sessions    = {}", file(sessions));
        }
        text.push_str("\n[run]\nseeds = 1\n");
        Ok(text + &self.variants(place))
    }

    /// The machine that it was made on.
    fn recorded_on(&self, place: &Path) -> Result<String, Faults> {
        Ok(match self.recorded_on {
            Some(machine) => of_machine(machine, place),
            None if self.tells_its_machine()? => {
                beside(place, self.recording).to_string_lossy().into_owned()
            }
            None => format!("pack:1 [numa] l3:1 core:{} pu:1", cpus(self.recording)?.max(1)),
        })
    }

    /// What a scenario at `place` begins with: what becomes of the recording, on which machine,
    /// under which policy.
    pub(crate) fn head(&self, what: &str, place: &Path) -> Result<String, Faults> {
        let recorded_on = self.recorded_on(place)?;
        let machine = self.on.first().map_or(recorded_on, |machine| of_machine(machine, place));
        let stem = self.recording.file_name().unwrap_or_default().to_string_lossy();
        let baseline = self.policies.first().map_or("eevdf", String::as_str);
        Ok(format!(
            "# The recording {stem}, {what}. docs/TRACE.md says what is kept of it.\n\n\
             title   = {}\nmachine = {}\npolicy  = {}\n",
            quoted(&format!("{stem}, {what}")),
            quoted(&machine),
            quoted(baseline),
        ))
    }

    /// The machines and policies that are compared.
    pub(crate) fn variants(&self, place: &Path) -> String {
        let mut text = String::new();
        if self.on.len() > 1 {
            let of = |name: &String| quoted(&of_machine(name, place));
            let machines: Vec<String> = self.on.iter().map(of).collect();
            let _ = write!(text, "\n[sweep]\nmachine = [{}]\n", machines.join(", "));
        }
        for (idx, policy) in self.policies.iter().enumerate() {
            let name = quoted(policy);
            let more = match idx {
                0 => "baseline = true".to_string(),
                _ => format!("policy = {name}"),
            };
            let _ = write!(text, "\n[[variant]]\nname = {name}\n{more}\n");
        }
        text
    }
}

/// How a scenario at `place` names a machine: a file as any file, a name or a description as it is.
fn of_machine(machine: &str, place: &Path) -> String {
    let path = Path::new(machine);
    match path.is_file() {
        true => beside(place, path).to_string_lossy().into_owned(),
        false => machine.to_string(),
    }
}

/// How a scenario at `place` names a file: by its name alone if it is beside it.
fn beside(place: &Path, file: &Path) -> PathBuf {
    let whole = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let (place, file) = (whole(place), whole(file));
    match (file.file_name(), file.parent() == place.parent()) {
        (Some(name), true) => PathBuf::from(name),
        _ => file,
    }
}

fn cpus(recording: &Path) -> Result<u32, Faults> {
    let name = recording.display().to_string();
    // A pipe could be read only once, and a FIFO might never be written to.
    if recording.exists() && !recording.is_file() {
        return Err(Fault::of_file(name, "a recording must be a file").into());
    }
    let file = open_recording(&Disk, recording).map_err(RecordingError::Io);
    let cpus = file.and_then(glue::recorded_cpus).map_err(|error| match error {
        RecordingError::Io(error) => format!("cannot read it: {error}"),
        error => error.to_string(),
    });
    cpus.map_err(|message| Fault::of_file(name, message).into())
}

/// A text as TOML has it.
pub(crate) fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

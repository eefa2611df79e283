//! A scenario for a recording, so that nobody has to write one: `schedlab replay`.

use crate::{Fault, Faults, glue};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

/// What is asked about a recording.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'a> {
    /// The text of `perf script --ns`.
    pub recording: &'a Path,
    /// The machine that it was made on, as a scenario names one; `None`: one LLC with as many
    /// cores as the recording names CPUs.
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
    /// The scenario, as the text of a file at `place`.
    ///
    /// # Errors
    /// The recording cannot be read, or is not text.
    pub fn scenario(&self, place: &Path) -> Result<String, Faults> {
        let recorded_on = match self.recorded_on {
            Some(machine) => machine.to_string(),
            None => format!("pack:1 [numa] l3:1 core:{} pu:1", cpus(self.recording)?.max(1)),
        };
        let machine = self.on.first().unwrap_or(&recorded_on);
        let stem = self.recording.file_name().unwrap_or_default().to_string_lossy();
        let file = |path: &Path| quoted(&beside(place, path).to_string_lossy());
        let baseline = self.policies.first().map_or("eevdf", String::as_str);
        let mut text = format!(
            "# The recording {stem}, run again. docs/TRACE.md says what is kept of it.\n\n\
             title   = {}\nmachine = {machine}\npolicy  = {}\n\n\
             [workload]\nkind        = \"perf-script\"\nfile        = {}\nrecorded_on = {}\n",
            quoted(&format!("{stem}, replayed")),
            quoted(baseline),
            file(self.recording),
            quoted(&recorded_on),
            machine = quoted(machine),
        );
        if let Some(names) = self.measure {
            let _ = writeln!(text, "measure     = {}", quoted(names));
        }
        if let Some(sessions) = self.sessions {
            let _ = writeln!(text, "sessions    = {}", file(sessions));
        }
        text.push_str("\n[run]\nseeds = 1\n");
        if self.on.len() > 1 {
            let machines: Vec<String> = self.on.iter().map(|name| quoted(name)).collect();
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
        Ok(text)
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
    let fault = |message: String| Fault::of_file(recording.display().to_string(), message);
    let unreadable =
        |error: std::io::Error| Faults::from(fault(format!("cannot read it: {error}")));
    let mut start = Vec::new();
    File::open(recording)
        .map_err(unreadable)?
        .take(8)
        .read_to_end(&mut start)
        .map_err(unreadable)?;
    if start == b"PERFILE2" {
        let help = format!("`perf script --ns -i {}` prints what is needed", recording.display());
        return Err(fault("this is perf's own format, not the text of it".into())
            .help(help)
            .into());
    }
    let input = BufReader::with_capacity(1 << 16, File::open(recording).map_err(unreadable)?);
    glue::recorded_cpus(input).map_err(unreadable)
}

fn quoted(text: &str) -> String {
    toml::Value::from(text).to_string()
}

//! What can be typed after `schedlab replay` and `schedlab fit`.

use super::{Format, HowToRun, RunArgs, Sets, StallArgs};
use clap::Args;
use std::path::PathBuf;

/// Arguments of `schedlab replay` and `schedlab fit`.
#[derive(Args)]
pub struct RecordingArgs {
    /// What `perf sched record`, `trace-cmd record -e sched` or Perfetto wrote, or the text of
    /// `perf script --ns`
    #[arg(value_name = "RECORDING")]
    pub recording: PathBuf,
    /// The machine that it was made on: a file, a name of `schedlab list machines`, or a
    /// description [default: the one that a perf.data describes, else one LLC with as many cores
    /// as the recording names CPUs]
    #[arg(long, value_name = "MACHINE")]
    pub recorded_on: Option<String>,
    /// Run it on this machine instead; may be repeated, which gives a row for each
    #[arg(long, value_name = "MACHINE")]
    pub on: Vec<String>,
    /// Policies, separated by commas; the first is the baseline
    #[arg(long = "policy", value_name = "POLICY,...", value_delimiter = ',',
          default_values = ["eevdf", "cfs"])]
    pub policies: Vec<String>,
    /// Names of threads whose end counts, with their descendants, separated by commas [default: the
    /// recorded command]
    #[arg(long, value_name = "NAME,...")]
    pub measure: Option<String>,
    /// What `ps -eLo tid=,sid=` printed before the recording: who shares an autogroup
    #[arg(long, value_name = "FILE")]
    pub sessions: Option<PathBuf>,
    /// Write the scenario to this new file instead of running it
    #[arg(long, value_name = "FILE.toml")]
    pub write: Option<PathBuf>,
    #[command(flatten)]
    pub how: HowToRun,
    /// Output on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Put VALUE in place of what the scenario would say of KEY, such as a tunable; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Write results.json, results.csv and plots there too
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub stall: StallArgs,
}

impl RecordingArgs {
    /// The arguments of the main job, which a replay or a model becomes.
    pub fn run_args(&self) -> RunArgs {
        RunArgs {
            scenarios: Vec::new(),
            how: self.how.clone(),
            format: self.format,
            variants: Vec::new(),
            set: Sets::default(),
            metrics: Vec::new(),
            until_significant: None,
            max_seeds: 1,
            out: self.out.clone(),
            stall: self.stall,
        }
    }
}

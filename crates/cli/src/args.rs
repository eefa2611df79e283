//! What can be typed. The comments here are the help texts and the manual page.

mod one_run;
mod recording;
pub mod sweep;
mod topology;

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
pub use one_run::{
    ExplainArgs, ExplainFormat, OneRun, ProfileArgs, ProfileFormat, TraceArgs, WqArgs,
};
pub use recording::RecordingArgs;
use std::path::{Path, PathBuf};
pub use topology::{ImportFrom, Topology};

/// A deterministic simulator of the Linux CPU scheduler.
///
/// Runs the experiments that scenario files describe (machine x variants x workload x seeds) and
/// compares every variant with the baseline, beside published measurements where there are some.
/// The same scenario and seeds give the same bytes, whatever the number of jobs.
#[derive(Parser)]
#[command(
    name = "schedlab",
    version,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    arg_required_else_help = true,
    max_term_width = 100,
    after_help = "Exit codes: 0 done, 1 the run or a condition failed, 2 bad usage or bad input.\n\
                  Examples: schedlab bergamo --seeds 10 --out results; \
                  schedlab init my; schedlab my.toml"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub run: RunArgs,
}

/// What `-` stands for.
pub const STDIN: &str = "/dev/stdin";

/// A file to be read, where `-` is standard input as with other tools.
fn input() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().map(|path| match path == Path::new("-") {
        true => PathBuf::from(STDIN),
        false => path,
    })
}

/// Arguments of the main job: running scenarios.
#[derive(Args)]
pub struct RunArgs {
    /// Scenarios to run, one after another: files, or names of `schedlab list scenarios`; - is
    /// standard input
    #[arg(required = true, value_name = "SCENARIO", value_parser = input())]
    pub scenarios: Vec<PathBuf>,
    #[command(flatten)]
    pub how: HowToRun,
    /// Output on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Run only this variant and the baseline; may be repeated
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    #[command(flatten)]
    pub set: Sets,
    /// In a sweep, print a table of this metric instead of the headlines; may be repeated
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    /// Add seeds until the 95 % interval of each change of the first headline metric is no wider
    /// than this to each side, in percent of the baseline, such as 0.1%
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub until_significant: Option<f64>,
    /// Seeds at which --until-significant gives up
    #[arg(long, value_name = "N", default_value_t = 100, requires = "until_significant",
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub max_seeds: u64,
    #[command(flatten)]
    pub stall: StallArgs,
    /// Write results.json, results.csv and plots there too (into one directory per scenario if
    /// there are several); a sweep keeps its finished runs there and goes on from them
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// Changes of a scenario on the command line.
#[derive(Args, Clone, Default)]
pub struct Sets {
    /// Put VALUE in place of what the scenario says of KEY: a key of the workload, a tunable, or a
    /// place such as machine.KEY, run.until or variant.NAME.KEY; chooses a point of a sweep; may
    /// be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub sets: Vec<String>,
    /// Run on this machine instead: a file, a name of `schedlab list machines`, or a description;
    /// several, separated by commas, make a sweep with a row for each
    #[arg(long = "machine", value_name = "MACHINE,...")]
    machines: Vec<String>,
}

impl Sets {
    /// These changes.
    pub fn new(sets: Vec<String>, machines: Vec<String>) -> Self {
        Self { sets, machines }
    }

    /// The machines that are asked for.
    pub fn machines(&self) -> Vec<String> {
        // A description may have commas in brackets.
        let split = |text: &String| match text.contains('(') {
            true => vec![text.clone()],
            false => text.split(',').map(|name| name.trim().to_string()).collect(),
        };
        self.machines.iter().flat_map(split).collect()
    }
}

/// A share in percent, with or without the sign.
fn percent(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(x) if x.is_finite() && x > 0.0 && x <= 100.0 => Ok(x),
        _ => Err("write a percentage above 0 and up to 100, such as 0.1%".to_string()),
    }
}

impl HowToRun {
    /// Simulations to run at a time.
    pub fn n_jobs(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.jobs.map_or_else(cores, |n| n as usize)
    }
}

/// What all commands that run whole experiments share.
#[derive(Args, Clone)]
pub struct HowToRun {
    /// Run seeds 1 to N instead of the scenario's
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: Option<u64>,
    /// Run N simulations at a time [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub jobs: Option<u64>,
    /// No progress, no remarks: only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Tables for people
    Text,
    /// Everything, schema version 1; one line per scenario if there are several
    Json,
    /// One line per sample: variant, seed and metric
    Csv,
    /// Tables for a pull request
    Markdown,
}

/// How a comparison with published rows is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum FidelityFormat {
    /// Tables for people
    Text,
    /// Everything, schema version 1
    Json,
}

/// Everything but the main job.
#[derive(Subcommand)]
pub enum Command {
    /// Check scenario and machine files: say all that is wrong, with line, column and a hint
    Check {
        /// Scenario or machine files; - is standard input
        #[arg(required = true, value_name = "FILE.toml", value_parser = input())]
        files: Vec<PathBuf>,
    },
    /// Compare the simulated with all published measurements, and say how many agree
    ///
    /// Shows every published row beside the simulated one, also where they differ, and a score.
    /// Rows that a constant was fitted to are told apart and count for nothing. A scenario ends
    /// after three seeds if the intervals leave no doubt about what agrees; --seeds N runs N.
    Fidelity(FidelityArgs),
    /// Write results as one HTML page: verdicts, tables, curves, maps, and a timeline to zoom into
    ///
    /// The page needs no network and no other file. It shows all seeds in its tables, and one seed
    /// of each variant turn by turn: who ran where, how long it had waited, who woke it, and which
    /// rule put it there.
    Report(ReportArgs),
    /// Compare two files of results: of two versions of schedlab, two machines, two policies
    ///
    /// Results are matched by the scenario's title, the variant and the metric. Values of the same
    /// workload and the same seeds are compared seed by seed, others by their means (Welch); which
    /// of the two it is is said.
    Compare(CompareArgs),
    /// Replay a recording of a real machine under other policies, or on another machine
    ///
    /// Takes what `perf sched record`, `trace-cmd record -e sched` or Perfetto wrote, or the text
    /// that `perf script --ns` prints. Needs no scenario; --write makes one, to go on from there.
    /// docs/TRACE.md says what is kept of a recording, and how far to trust the answer.
    Replay(RecordingArgs),
    /// Make a model of a recorded service, whose load can be another one
    ///
    /// Threads become roles with rates and lengths: what begins their turns, how much they work,
    /// whom they wake. Prints the model beside the recording; --write makes a scenario of it, whose
    /// `load = 1.5` is half as much traffic again. docs/TRACE.md says what a model keeps.
    Fit(RecordingArgs),
    /// Run one seed of one variant and write a trace of all that happens
    ///
    /// Without a file, the text that `perf script --ns` prints goes to standard output.
    Trace(TraceArgs),
    /// Write a scenario to begin with: it runs at once, and says what can be changed
    Init {
        /// What to call it; the file is NAME.toml, which must not be there yet
        #[arg(default_value = "my")]
        name: PathBuf,
    },
    /// List what comes with schedlab, and what scenarios can name
    List {
        /// What to list [default: all of it]
        what: Option<Listed>,
        /// Output on standard output
        #[arg(long, value_enum, default_value_t = ListFormat::Text)]
        format: ListFormat,
    },
    /// Do a sweep in units, on several processes or computers: plan, run, status, merge
    ///
    /// Finished units are kept in a folder, and nothing is lost, whatever is killed. docs/SWEEPS.md
    /// says how.
    Sweep {
        #[command(subcommand)]
        command: sweep::Sweep,
    },
    /// Show where the cycles of one run go: by kernel path, spinning by call site, lockstat
    Profile(ProfileArgs),
    /// Show why CPUs idled while tasks waited: each CPU-second by the rule that let it happen
    ///
    /// With --latency: why wake-ups took long, behind whom the tasks waited and by which rules.
    Explain(ExplainArgs),
    /// Print one run's /proc/schedstat, version 17: what the scheduler counted by CPU and domain
    ///
    /// The counters are those at the end of the run. They begin at 0 when the measurement begins,
    /// as all metrics do: after a workload's warm-up, if it has one.
    Schedstat(OneRun),
    /// Show the workqueues of one run: pods and pools of each scope, counters over time
    Wq(WqArgs),
    /// Look at machines
    Topology {
        #[command(subcommand)]
        command: Topology,
    },
    /// Look at BPF objects of sched_ext schedulers
    Bpf {
        #[command(subcommand)]
        command: Bpf,
    },
    /// Print a JSON Schema, for editors that complete and check the keys of a file
    ///
    /// Taplo (Even Better TOML) takes it from the first line of the file:
    /// `#:schema ./scenario.schema.json`.
    Schema {
        /// Of which files
        #[arg(value_enum, default_value_t = Schema::Scenario)]
        of: Schema,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page (roff)
    Man {
        /// Of a command, such as `topology import` [default: of schedlab itself]
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
}

impl Command {
    /// True if it looks at files and runs nothing.
    pub fn only_reads(&self) -> bool {
        use sweep::Sweep;
        let plans = matches!(self, Self::Sweep { command: Sweep::Plan(_) });
        plans
            || matches!(
                self,
                Self::Check { .. } | Self::Compare(_) | Self::Topology { .. } | Self::Bpf { .. }
            )
    }
}

/// Single turns that a page keeps if nothing else is said.
pub const SLICES: u64 = 2_000_000;

/// Arguments of `schedlab report`.
#[derive(Args)]
pub struct ReportArgs {
    /// Scenarios (files or names), each a chapter of the page; - is standard input
    #[arg(required = true, value_name = "SCENARIO", value_parser = input())]
    pub scenarios: Vec<PathBuf>,
    #[command(flatten)]
    pub how: HowToRun,
    /// Run only this variant and the baseline; may be repeated
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    #[command(flatten)]
    pub set: Sets,
    /// Write the page there
    #[arg(long, value_name = "FILE.html", required_unless_present = "out")]
    pub html: Option<PathBuf>,
    /// Write results.json, results.csv and plots there too, as without `report`; and the page, as
    /// report.html, unless --html says where
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub stall: StallArgs,
    /// The seed of the timelines [default: the scenario's first]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    /// The part of the run of which each single turn is kept, such as 1s..1.5s [default: from the
    /// beginning, as many as --slices]
    #[arg(long, value_name = "FROM..TO", value_parser = window)]
    pub window: Option<(u64, u64)>,
    /// Single turns that a page keeps at most, all timelines together
    #[arg(long, value_name = "N", default_value_t = SLICES, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=50_000_000))]
    pub slices: u64,
    /// Record util_avg, runnable_avg and load_avg of the runqueues, to be drawn into the rows of
    /// the timelines
    #[arg(long)]
    pub signals: bool,
}

impl ReportArgs {
    /// The page of what the main job would run.
    pub fn of(args: &RunArgs, html: PathBuf) -> Self {
        Self {
            scenarios: args.scenarios.clone(),
            how: args.how.clone(),
            variants: args.variants.clone(),
            set: args.set.clone(),
            html: Some(html),
            out: None,
            stall: args.stall,
            seed: None,
            window: None,
            slices: SLICES,
            signals: false,
        }
    }
}

/// A part of simulated time, `1s..1.5s`, ns; an end that is left out is the run's.
fn window(text: &str) -> Result<(u64, u64), String> {
    let (from, to) = text.split_once("..").ok_or("write two times, such as 1s..1.5s")?;
    let at = |text: &str, default: u64| match text.trim() {
        "" => Ok(default),
        time => scenario::parse_time(time),
    };
    match (at(from, 0)?, at(to, u64::MAX)?) {
        (from, to) if from < to => Ok((from, to)),
        _ => Err("the first time must be before the second".to_string()),
    }
}

/// Arguments of `schedlab fidelity`.
#[derive(Args)]
pub struct FidelityArgs {
    /// Scenarios (files or names); - is standard input [default: all that come with schedlab and
    /// have published rows]
    #[arg(value_name = "SCENARIO", value_parser = input())]
    pub scenarios: Vec<PathBuf>,
    #[command(flatten)]
    pub how: HowToRun,
    /// Output on standard output
    #[arg(long, value_enum, default_value_t = FidelityFormat::Text)]
    pub format: FidelityFormat,
}

/// Arguments of `schedlab compare`.
#[derive(Args)]
pub struct CompareArgs {
    /// What it is compared with: results of --format json, or a directory that --out wrote; - is
    /// standard input
    #[arg(value_name = "A.json", value_parser = input())]
    pub a: PathBuf,
    /// What is looked at: changes are those from A to B
    #[arg(value_name = "B.json", value_parser = input())]
    pub b: PathBuf,
    /// Output on standard output
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub format: CompareFormat,
    /// End with exit code 1 if a change is beyond this, such as 'throughput < -1%' or
    /// 'SWQUEUE: wakeup_latency_p99 > 5%'; may be repeated
    #[arg(long, value_name = "[VARIANT:] METRIC <|> PERCENT")]
    pub fail_if: Vec<report::compare::Condition>,
    /// Show this metric, whether it has changed or not; may be repeated
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    /// Show all metrics, not only those that have changed
    #[arg(long, conflicts_with = "metrics")]
    pub all: bool,
}

/// How a comparison is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// Tables for people
    Text,
    /// Everything, schema version 1
    Json,
    /// Tables for a pull request
    Markdown,
}

/// What is done about tasks that could run and did not.
#[derive(Args, Clone, Copy)]
pub struct StallArgs {
    /// Name each task that could run and waited longer than this for a CPU
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = scenario::parse_time)]
    pub stall: u64,
    /// Fail (exit code 1) if a task has waited so long
    #[arg(long)]
    pub fail_on_stall: bool,
}

/// How a list is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ListFormat {
    /// Tables for people
    Text,
    /// A page of the reference
    Markdown,
}

/// The lists of `schedlab list`.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Listed {
    /// Scenarios that come with schedlab
    Scenarios,
    /// Machines that come with schedlab
    Machines,
    /// Scheduling policies
    Policies,
    /// Scheduler features, by their kernel names
    Features,
    /// Scheduler tunables, by their kernel names
    Tunables,
    /// Workload kinds and their keys
    Workloads,
    /// What is measured
    Metrics,
}

/// The files that have a schema.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Schema {
    /// Scenario files
    Scenario,
    /// Machine files
    Machine,
}

/// The commands of `schedlab bpf`.
#[derive(Subcommand)]
pub enum Bpf {
    /// Say what objects have and want: operations, maps, variables, helpers, kernel functions
    ///
    /// Marked are the helpers and functions that schedlab does not have, and what of these may be
    /// missing in a kernel, too.
    Inspect {
        /// Objects (`.bpf.o`), or programs that carry some in their section `.bpf.objs`
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_command_line_is_consistent() {
        <super::Cli as clap::CommandFactory>::command().debug_assert();
    }
}

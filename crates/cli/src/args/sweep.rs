//! What can be typed after `schedlab sweep`.

use super::{Format, HowToRun, RunArgs, Sets, StallArgs, input};
use clap::{Args, Subcommand, ValueEnum};
use report::units::Asked;
use std::path::PathBuf;

/// The commands of `schedlab sweep`.
#[derive(Subcommand)]
pub enum Sweep {
    /// List the units of scenarios in a folder that holds all they need
    ///
    /// A unit is one run: a variant, a point of a sweep and a seed; of `[find]`, a whole search.
    /// The same command again changes nothing.
    Plan(PlanArgs),
    /// Do all units that are not done yet
    ///
    /// It may be stopped in whatever way and started again, and several may run at once, also on
    /// several computers that share the folder.
    Run(SweepRunArgs),
    /// Do some units, for job arrays and shells
    Unit(UnitArgs),
    /// Hand what is missing to a cluster, or take it back
    ///
    /// Slurm runs job arrays, whose tasks do some units each. Ray is waited for; it needs the
    /// package in python/. A job that is lost, killed or
    /// submitted twice changes nothing: what is done is told by the folder alone, which all nodes
    /// must see under the same path, as they must this program. Submit again for what is missing
    /// then.
    Submit(SubmitArgs),
    /// Look for the best values of the keys that `[tune]` names
    ///
    /// An optimizer (Optuna, in Python) says where to look next; its points are run here, a batch
    /// at a time. The same command again gives the same result, whatever --jobs, and goes on where
    /// it was stopped. The winner is tried again with fresh seeds.
    Tune(TuneArgs),
    /// Say how many units are done, have failed and are missing
    Status(StatusArgs),
    /// Print and write the results, as if all units had been run here
    Merge(MergeArgs),
}

/// Arguments of `schedlab sweep plan`.
#[derive(Args)]
pub struct PlanArgs {
    /// Scenarios: files, or names of `schedlab list scenarios`; - is standard input
    #[arg(required = true, value_name = "SCENARIO", value_parser = input())]
    pub scenarios: Vec<PathBuf>,
    /// The folder of the sweep
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Run seeds 1 to N instead of the scenario's
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: Option<u64>,
    /// Run only this variant and the baseline; may be repeated
    #[arg(long = "variant", value_name = "NAME")]
    pub variants: Vec<String>,
    #[command(flatten)]
    pub set: Sets,
    /// No remarks: only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `schedlab sweep run`.
#[derive(Args)]
pub struct SweepRunArgs {
    /// The folder of the sweep
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Do N units at a time [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub jobs: Option<u64>,
    /// Try units again that have failed
    #[arg(long)]
    pub retry_failed: bool,
    /// No progress, no remarks: only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `schedlab sweep unit`.
#[derive(Args)]
pub struct UnitArgs {
    /// The folder of the sweep
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Names of units, or their first digits
    #[arg(value_name = "UNIT", conflicts_with_all = ["index", "from"],
          required_unless_present_any = ["index", "from"])]
    pub units: Vec<String>,
    /// Do the unit with this number, as units.csv counts them from 0
    #[arg(long, value_name = "I")]
    pub index: Option<usize>,
    /// Do units from this number on, as many as --count; those beyond the last one are no mistake
    #[arg(long, value_name = "I", conflicts_with = "index")]
    pub from: Option<usize>,
    /// How many units --from stands for
    #[arg(long, value_name = "N", default_value_t = 1, requires = "from")]
    pub count: usize,
    /// Count the units of this file instead of units.csv: names of units, one per line
    #[arg(long, value_name = "FILE", requires = "from", value_parser = input())]
    pub list: Option<PathBuf>,
    /// Do N units at a time
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub jobs: u64,
    /// Try units again that have failed
    #[arg(long)]
    pub retry_failed: bool,
    /// Do units again that are done, and compare: another result is an alarm
    #[arg(long)]
    pub again: bool,
    /// No progress, no remarks: only errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `schedlab sweep submit`.
#[derive(Args)]
pub struct SubmitArgs {
    /// The folder of the sweep
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Who runs the jobs
    #[arg(long, value_enum, default_value_t = Engine::Slurm)]
    pub engine: Engine,
    /// Slurm: submit to this partition
    #[arg(long, value_name = "NAME")]
    pub partition: Option<String>,
    /// Ray: the address of the cluster [default: RAY_ADDRESS, or a cluster on this computer]
    #[arg(long, value_name = "ADDRESS")]
    pub address: Option<String>,
    /// Slurm: the time limit of a task, as sbatch takes it: what it has done until then is kept
    #[arg(long, value_name = "TIME")]
    pub time: Option<String>,
    /// Units that a task does, one after the other: more if they are short
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub units_per_task: u64,
    /// Slurm: tasks of a job array at most [default: as many as the cluster's MaxArraySize allows]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=4_000_000))]
    pub array_chunk: Option<u64>,
    /// Submit units again that have failed
    #[arg(long)]
    pub retry_failed: bool,
    /// Print what would be submitted
    #[arg(long)]
    pub dry_run: bool,
    /// Slurm: cancel the jobs of this sweep instead
    #[arg(long)]
    pub cancel: bool,
}

/// What runs jobs.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// Slurm: sbatch, scancel and scontrol
    Slurm,
    /// Ray, by Python: `pip install ./python[ray]`; SCHEDLAB_PYTHON names one other than python3
    Ray,
}

/// Arguments of `schedlab sweep tune`.
#[derive(Args)]
pub struct TuneArgs {
    /// A scenario with `[tune]`: a file, or a name of `schedlab list scenarios`
    #[arg(value_name = "SCENARIO", value_parser = input())]
    pub scenario: PathBuf,
    /// Keep finished runs there
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// Look at N different points at most
    #[arg(long, value_name = "N", default_value_t = 100, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub points: u64,
    /// Ask for N points at a time, which run side by side: another N is another search
    #[arg(long, value_name = "N", default_value_t = 8, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub batch: u64,
    /// Run seeds 1 to N of each point instead of the scenario's
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub seeds: Option<u64>,
    /// Try the winner again with N further seeds; 0 does not
    #[arg(long, value_name = "N", default_value_t = 10, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(0..=10_000))]
    pub fresh: u64,
    /// The seed of the optimizer: another one is another search
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(0..=4_294_967_295))]
    pub search_seed: u64,
    #[command(flatten)]
    pub set: Sets,
    /// Do N runs at a time [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub jobs: Option<u64>,
    /// Output on standard output
    #[arg(long, value_enum, default_value_t = TuneFormat::Text)]
    pub format: TuneFormat,
    /// No progress, no remarks: only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// How the result of a search is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum TuneFormat {
    /// Lines for people
    Text,
    /// Everything, schema version 1
    Json,
}

/// Arguments of `schedlab sweep status`.
#[derive(Args)]
pub struct StatusArgs {
    /// The folder of the sweep
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Output on standard output
    #[arg(long, value_enum, default_value_t = StatusFormat::Text)]
    pub format: StatusFormat,
}

/// How a status is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StatusFormat {
    /// Lines for people
    Text,
    /// Everything, schema version 1
    Json,
    /// Names of the missing units, one per line
    Missing,
}

/// Arguments of `schedlab sweep merge`.
#[derive(Args)]
pub struct MergeArgs {
    /// The folder of the sweep
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Output on standard output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print a table of this metric instead of the headlines; may be repeated
    #[arg(long = "metric", value_name = "NAME")]
    pub metrics: Vec<String>,
    #[command(flatten)]
    pub stall: StallArgs,
    /// Write results.json, results.csv and plots there (into one directory per scenario if there
    /// are several) [default: the folder of the sweep]
    #[arg(long, value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// Write the page of `schedlab report` there, too
    #[arg(long, value_name = "FILE.html")]
    pub html: Option<PathBuf>,
    /// Read, and record timelines of the page, on N threads [default: all cores]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub jobs: Option<u64>,
    /// No progress, no remarks: only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

impl RunArgs {
    /// The main job that a sweep in units stands for.
    pub fn of_sweep(asked: &Asked, how: HowToRun) -> Self {
        Self {
            scenarios: asked.scenarios.iter().map(PathBuf::from).collect(),
            how,
            format: Format::Text,
            variants: asked.variants.clone(),
            set: Sets::new(asked.sets.clone(), asked.machines.clone()),
            metrics: Vec::new(),
            until_significant: None,
            max_seeds: 1,
            stall: StallArgs { stall: u64::MAX, fail_on_stall: false },
            out: None,
        }
    }
}

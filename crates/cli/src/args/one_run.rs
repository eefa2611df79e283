//! What can be typed after the commands that look closely at one seed of one variant.

use super::{Sets, StallArgs, input};
use clap::{Args, ValueEnum};
use scenario::latency::Beyond;
use std::path::PathBuf;

/// One seed of one variant.
#[derive(Args)]
pub struct OneRun {
    /// Scenario: a file, or a name of `schedlab list scenarios`; - is standard input
    #[arg(value_name = "SCENARIO", value_parser = input())]
    pub scenario: PathBuf,
    /// The variant to run; needed if the scenario has several
    #[arg(long, value_name = "NAME")]
    pub variant: Option<String>,
    /// The seed to run [default: the scenario's first]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    pub seed: Option<u64>,
    #[command(flatten)]
    pub set: Sets,
    /// No progress, no remarks: only results and errors
    #[arg(long, short)]
    pub quiet: bool,
}

/// Arguments of `schedlab trace`.
#[derive(Args)]
pub struct TraceArgs {
    #[command(flatten)]
    pub run: OneRun,
    /// Write the text that `perf script --ns` prints; - is standard output
    #[arg(long, value_name = "FILE")]
    pub perf_script: Option<PathBuf>,
    /// Write perf.data for perf sched timehist, latency, map and perf script
    #[arg(long, value_name = "FILE")]
    pub perf_data: Option<PathBuf>,
    /// Write trace.dat for trace-cmd and KernelShark
    #[arg(long, value_name = "FILE")]
    pub trace_dat: Option<PathBuf>,
    /// Write a Perfetto trace for ui.perfetto.dev and trace_processor; - is standard output
    #[arg(long, value_name = "FILE")]
    pub perfetto: Option<PathBuf>,
    /// Put util_avg, load_avg, runnable_avg and the frequency scale into the Perfetto trace, of
    /// each CPU and of the tasks that run
    #[arg(long, requires = "perfetto")]
    pub signals: bool,
}

/// Arguments of `schedlab profile`.
#[derive(Args)]
pub struct ProfileArgs {
    #[command(flatten)]
    pub run: OneRun,
    /// Output on standard output
    #[arg(long, value_enum, default_value_t = ProfileFormat::Text)]
    pub format: ProfileFormat,
}

/// Arguments of `schedlab explain`.
#[derive(Args)]
pub struct ExplainArgs {
    #[command(flatten)]
    pub run: OneRun,
    /// Show why wake-ups took long instead: behind whom each slow one waited, by which rules
    #[arg(long)]
    pub latency: bool,
    /// Wake-ups that are slow: beyond a percentile (p50, p90, p95, p99, p99.9) or longer than a
    /// time, such as "2 ms"; 0: all [default: p99]
    #[arg(long, value_name = "P|TIME", requires = "latency", value_parser = Beyond::parse)]
    pub beyond: Option<Beyond>,
    #[command(flatten)]
    pub stall: StallArgs,
    /// Output on standard output
    #[arg(long, value_enum, default_value_t = ExplainFormat::Text)]
    pub format: ExplainFormat,
}

/// Arguments of `schedlab wq`.
#[derive(Args)]
pub struct WqArgs {
    #[command(flatten)]
    pub run: OneRun,
    /// Simulated time between two looks, such as 1s [default: a tenth of the run]
    #[arg(long, value_name = "TIME")]
    pub interval: Option<String>,
}

/// How an explanation is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExplainFormat {
    /// Tables for people
    Text,
    /// Everything, schema version 1
    Json,
}

/// How a profile is printed.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProfileFormat {
    /// Tables and a call graph for people
    Text,
    /// Everything, schema version 1
    Json,
    /// Collapsed stacks, in ns, for flame graph tools
    Folded,
    /// A flame graph, without scripts
    Svg,
}

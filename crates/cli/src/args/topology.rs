//! What can be typed after `schedlab topology`.

use super::input;
use clap::{Args, Subcommand};
use std::path::PathBuf;

/// The commands of `schedlab topology`.
#[derive(Subcommand)]
pub enum Topology {
    /// Draw a machine as a tree
    Show {
        /// A machine file, a name of `schedlab list machines`, or a description as hwloc's
        /// synthetic ones: "pack:2 l3:4 core:8 pu:2"
        #[arg(value_parser = input())]
        machine: PathBuf,
        /// Print the table of `lscpu -e` instead
        #[arg(long)]
        table: bool,
        /// Print the machine file instead, in the form in which every machine is written
        #[arg(long, conflicts_with = "table")]
        toml: bool,
    },
    /// Make a machine file from a description of a real machine; constants that it does not tell
    /// get defaults, marked as unverified
    Import {
        #[command(flatten)]
        from: ImportFrom,
        /// Write the machine file there instead of printing it
        #[arg(long, value_name = "FILE.toml")]
        out: Option<PathBuf>,
    },
    /// Write a machine as a tree like /sys, for `lscpu --sysroot DIR`,
    /// `lstopo --input DIR --if fsroot` and `SCX_SYSFS_PREFIX=DIR`
    Export {
        /// A machine file, a name of `schedlab list machines`, or a description as hwloc's
        /// synthetic ones: "pack:2 l3:4 core:8 pu:2"
        #[arg(value_parser = input())]
        machine: PathBuf,
        /// The directory; it must not exist yet, or be empty
        #[arg(long, value_name = "DIR")]
        sysfs: PathBuf,
    },
}

/// Where a machine comes from.
#[derive(Args)]
#[group(required = true, multiple = false)]
pub struct ImportFrom {
    /// /sys, or a directory with sys (and proc) in it, such as an unpacked dump
    #[arg(long, value_name = "DIR")]
    pub sysfs: Option<PathBuf>,
    /// XML of hwloc 2 or 3: `lstopo FILE.xml`
    #[arg(long, value_name = "FILE.xml", value_parser = input())]
    pub hwloc: Option<PathBuf>,
    /// Output of `lscpu -p`, `lscpu -e` or `lscpu -J -e`
    #[arg(long, value_name = "FILE", value_parser = input())]
    pub lscpu: Option<PathBuf>,
    /// A directory that `hwloc-gather-cpuid` wrote
    #[arg(long, value_name = "DIR")]
    pub cpuid: Option<PathBuf>,
    /// A recording that `perf record` wrote: its header describes the machine
    #[arg(long, value_name = "FILE", value_parser = input())]
    pub perf_data: Option<PathBuf>,
}

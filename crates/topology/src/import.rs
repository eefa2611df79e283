//! Descriptions of real machines become a [`Machine`]: what the kernel shows below `/sys`, what
//! hwloc and lscpu print, what the CPUID instruction says.
//!
//! A dump tells which CPUs share what, often cache sizes and idle states, sometimes the clock. It
//! never tells what a wake-up or a cache-line transfer costs: those get the defaults of a part of
//! that maker, and a `[[source]]` that calls them unverified. What a dump says and the simulator
//! does not model (offline CPUs, nodes without CPUs, an LLC across nodes) is told in a remark.
//!
//! All readers share one middle, `found`: they only have to say what lies where.

mod cpuid;
mod defaults;
mod found;
mod hwloc;
mod lscpu;
mod runs;
mod synthetic;
mod sysfs;
mod tree;

pub use cpuid::cpuid;
pub use hwloc::hwloc;
pub use lscpu::lscpu;
pub use synthetic::{is_synthetic, synthetic};
pub use sysfs::sysfs;
pub use tree::{FileTree, MemTree};

use crate::Machine;

/// A machine that was made from a dump.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The machine, with the constants that the dump does not tell at their defaults.
    pub machine: Machine,
    /// What the machine does not say although the dump does, one sentence each.
    pub remarks: Vec<String>,
}

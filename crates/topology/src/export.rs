//! A machine as a tree like `/sys`, which tools read in place of the real one.
//!
//! `lscpu --sysroot DIR`, `lstopo --input DIR --if fsroot` and the topology code of sched_ext
//! schedulers (`SCX_SYSFS_PREFIX=DIR`) find there what they look for: CPUs, siblings, caches,
//! nodes, distances, idle states, clocks. What only the simulator knows (costs, latencies, sources)
//! is in one more file, [`HINT`], from which [`import::sysfs`](crate::import::sysfs) takes it.

mod sysfs;

pub use sysfs::sysfs;

/// Name of the machine file at the root of an exported tree.
pub const HINT: &str = "schedlab.toml";

/// What stands at a path of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry<'a> {
    /// A file with this text.
    File(&'a str),
    /// A symbolic link to a directory, relative to the one that it is in.
    Link(&'a str),
}

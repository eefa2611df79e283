//! What the machine is: CPUs, cores, LLCs, CCDs, nodes, sockets, distances and costs.
//!
//! A [`Machine`] comes from a TOML file ([`load`]), from a table inside another file
//! ([`from_table`]), from a dump of a real one ([`import`]), or from a few numbers
//! ([`Machine::regular`]). It is complete and valid: the simulation above it never checks it again.
//! It leaves as a TOML file ([`write()`]) or as a tree like `/sys` ([`export`]). No file is read or
//! written here; texts come in, values and texts go out.

mod cpu;
mod cpufreq;
mod cpuset;
mod domains;
pub mod export;
mod file;
mod id_vec;
pub mod import;
mod machine;
pub mod show;

pub use cpu::CpuId;
pub use cpufreq::{CpuFreq, FreqGovernor};
pub use cpuset::CpuSet;
pub use domains::{ChainLink, Domain, DomainId, Group, Level, SchedDomains, SdFlags};
pub use file::{MAX_CPUS, MAX_NODES, from_table, load, schema, write};
pub use id_vec::{DenseId, IdVec, PerCpu};
pub use machine::{
    BackgroundThread, CState, Caches, Confidence, CpuPlace, Distance, Governor, IDLE_WAKE_TIMES,
    IdleWake, KernelCosts, LineLatency, LockCosts, Machine, Per, REFERENCE_MHZ, RegularSpec,
    SmtFactors, Source, Variation, WorkqueueCosts,
};

//! What the machine is: CPUs, cores, LLCs, CCDs, nodes, sockets, distances and costs.
//!
//! A [`Machine`] comes from a few numbers ([`Machine::regular`]). It is complete and valid: the
//! simulation above it never checks it again.

mod cpu;
mod cpuset;
mod domains;
mod machine;

pub use cpu::CpuId;
pub use cpuset::CpuSet;
pub use domains::{ChainLink, Domain, DomainId, Group, Level, SchedDomains, SdFlags};
pub use machine::{
    CState, Caches, Confidence, CpuPlace, Distance, KernelCosts, LineLatency, LockCosts, Machine,
    REFERENCE_MHZ, RegularSpec, SmtFactors, Source,
};

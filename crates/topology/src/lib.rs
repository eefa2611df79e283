//! What the machine is: CPUs, cores, LLCs, CCDs, nodes, sockets, distances and costs.

mod cpu;
mod cpuset;
mod domains;
mod machine;

pub use cpu::CpuId;
pub use cpuset::CpuSet;
pub use domains::{ChainLink, Domain, DomainId, Group, Level, SchedDomains, SdFlags};
pub use machine::{
    CState, Caches, CpuPlace, Distance, KernelCosts, LineLatency, LockCosts, Machine, SmtFactors,
};

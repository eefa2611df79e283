//! Logical CPUs and sets of them.
//!
//! `CpuId` is what Linux calls a CPU: one hardware thread. `CpuSet` is a cpumask: a fixed bitset
//! over the CPUs of one machine, with the list format of the kernel (`0-7,16-23`).

/// A logical CPU (one hardware thread), numbered as Linux numbers it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct CpuId(pub u32);

impl CpuId {
    /// The CPU's number as an index into dense per-CPU arrays.
    #[inline]
    pub const fn idx(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for CpuId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.0)
    }
}

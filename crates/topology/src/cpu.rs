//! The id of a logical CPU: what Linux calls a CPU, one hardware thread.

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

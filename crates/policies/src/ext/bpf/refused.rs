//! Why an object cannot be a scheduler here.

use super::fill::FillError;
use ::bpf::{LoadError, SetError};

/// Why an object cannot be a scheduler here.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Refused {
    /// The object itself, or what it wants of the kernel.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// It has no operations of sched_ext.
    #[error("it has no struct_ops of type sched_ext_ops")]
    NoScheduler,
    /// A flag that its kernel does not have yet, and the first one that has it.
    #[error("its flag {0} came with Linux {1}")]
    LaterFlag(&'static str, &'static str),
    /// `validate_ops`
    #[error(
        "its flag SCX_OPS_BUILTIN_IDLE_PER_NODE requires the kernel's masks of idle CPUs, which a \
         scheduler with update_idle has only with SCX_OPS_KEEP_BUILTIN_IDLE"
    )]
    NodesWithoutMasks,
    /// `validate_ops`
    #[error("its flag SCX_OPS_ENQ_LAST requires ops.enqueue()")]
    LastWithoutEnqueue,
    /// `bpf_scx_init_member`
    #[error("it has flags that the kernel does not know: {0:#x}")]
    UnknownFlags(u64),
    /// `bpf_scx_init_member`
    #[error("its dispatch_max_batch is {0}, and the kernel allows at most 2147483647")]
    Batch(u64),
    /// It wants to wait longer for a task than the kernel lets it.
    #[error("its timeout_ms is {0}, and the kernel allows at most 30000")]
    Timeout(u64),
    /// A call before the start that cannot be.
    #[error("it has no program `{0}` in a section `syscall`")]
    Start(String),
    /// A variable cannot be set.
    #[error(transparent)]
    Set(#[from] SetError),
    /// A variable cannot be filled.
    #[error(transparent)]
    Fill(#[from] FillError),
}

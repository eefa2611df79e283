//! Schedulers that are BPF objects: [`Ops`] whose operations are an object's `struct_ops` programs.
//!
//! [`Scheduler::load`] takes an [`Object`], fills what a loader fills, and resolves it against the
//! table of a kernel ([`kernel()`]). What that kernel or this model does not have is refused there,
//! by name. Programs take no simulated time, unless it is asked for by instruction
//! ([`Settings::ps_per_insn`]); their helpers cost what those of [`Cx`] cost. A scheduler that ends
//! itself (`scx_bpf_error`), or does what may not be done, ends the run.
//!
//! Not called: `cpu_online`, `cpu_offline`, `core_sched_before`, dumps and `exit`; and of
//! cgroups, which stay as they are during a run, all operations but `cgroup_init`.

mod calls;
mod cgroups;
mod fill;
mod host;
mod idle;
mod inspect;
mod iterate;
mod kernel;
mod load;
mod objects;
mod ops;
mod refused;
mod start;
mod user;

pub use ::bpf::{DataKind, LoadError, Object, SetError};
pub use fill::{Fill, FillError, Value, Word};
pub use inspect::inspect;
pub use kernel::{constants, flags, kernel};
pub use load::{Scheduler, Settings, counted, is_partial};
pub use ops::Bpf;
pub use refused::Refused;
pub use start::{Arg, Start};
pub use user::{Again, Hands, USER_HALVES, UserHalf, UserHalfDef};

#[expect(unused_imports, reason = "for the documentation")]
use super::{Cx, Ops};

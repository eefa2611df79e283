//! BPF programs.

mod alu;
pub mod btf;
mod core_relo;
mod errno;
mod error;
mod fault;
mod format;
mod hash;
pub mod host;
mod image;
pub mod insn;
mod interpret;
mod link;
pub mod map;
pub mod memory;
mod native;
mod object;
mod owned;
mod reach;
mod ring;
mod run;
mod timer;
mod types;
mod vm;

pub use error::LoadError;
pub use fault::{Fault, FaultKind, Line, Place};
pub use host::{Answer, Host};
pub use image::{Image, Program, ProgramId};
pub use link::{Options, Unresolved};
pub use memory::{Memory, OutOfMemory};
pub use native::names as native_names;
pub use object::{DataKind, Extern, Object, OpsMember, SetError, StructOps, Variable};
pub use run::Run;
pub use types::{Field, FieldType, Kernel, KernelFunction, Struct};
pub use vm::{Count, End, Vm};

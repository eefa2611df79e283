//! BPF programs.

mod alu;
mod errno;
mod fault;
mod format;
mod hash;
pub mod host;
mod image;
pub mod insn;
mod interpret;
pub mod map;
pub mod memory;
mod native;
mod owned;
mod ring;
mod run;
mod timer;
mod vm;

pub use fault::{Fault, FaultKind, Line, Place};
pub use host::{Answer, Host};
pub use image::{Image, Program, ProgramId};
pub use memory::{Memory, OutOfMemory};
pub use native::names as native_names;
pub use run::Run;
pub use vm::{Count, End, Vm};

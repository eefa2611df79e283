//! BPF objects, as clang makes them for the kernel, run here: checked, deterministic, resumable.
//!
//! [`Object::read`] reads ELF and BTF: programs, maps, global variables, sets of operations
//! (`struct_ops`), and what the object wants from a kernel. A loader may then set variables by name
//! and resize maps. [`Vm::load`] relocates it against a [`Kernel`], the host's table of types and
//! functions, and decodes its code. [`Vm::begin`] and [`Vm::run`] execute a program; kernel
//! functions and objects are answered by a [`Host`]. Nothing here knows of scheduling.
//!
//! ```
//! use bpf::insn::Raw;
//! use bpf::{Answer, End, Host, Image, Memory, Run, Vm};
//! use std::sync::Arc;
//!
//! struct Clock;
//!
//! impl Host for Clock {
//!     fn call(&mut self, _function: u32, _args: [u64; 5], _memory: &mut Memory) -> Answer {
//!         Answer::Stop("there are no functions".to_string())
//!     }
//!     fn now_ns(&mut self) -> u64 {
//!         40
//!     }
//! }
//!
//! // r0 = bpf_ktime_get_ns(); r0 += 2; return r0
//! let code: [[u8; 8]; 3] =
//!     [[0x85, 0, 0, 0, 5, 0, 0, 0], [7, 0, 0, 0, 2, 0, 0, 0], [0x95, 0, 0, 0, 0, 0, 0, 0]];
//! let image = Image::of_code("later", &code.map(Raw::from_bytes))?;
//! let program = image.program("later").expect("it was just made");
//! let mut vm = Vm::new(Arc::new(image), Memory::new(1, 1 << 20));
//! let mut run = Run::new(1000);
//! vm.begin(&mut run, program, &[]);
//! assert_eq!(vm.run(&mut run, &mut Clock), End::Done(42));
//! # Ok::<(), bpf::insn::BadInsn>(())
//! ```
//!
//! **What is checked when.** The kernel's verifier proves a program before it runs; here each
//! access is checked when it happens. Memory is regions, and an address is `region << 32 | offset`
//! ([`memory`]): a load that hits nothing gives 0 and is counted by its place, a store that hits
//! nothing ends the program with a [`Fault`], which names function, instruction and line.
//! Each call has a budget of instructions; what helpers copy is charged to it.
//!
//! **What a kernel lacks.** Fields, types, functions and helpers that the [`Kernel`] does not have
//! are no error as long as no instruction can be reached that needs them: constants (results of
//! CO-RE relocations, weak symbols, `.rodata`) are followed through registers and branches, as the
//! verifier does to remove dead code. What may be reached is refused with all its names
//! ([`LoadError::Unresolved`]), unless [`Unresolved::Fault`] is wished. Values that go through the
//! stack are not followed: a guard that the compiler has spilled is not seen as one.
//!
//! **Time.** A call of the host may take simulated time: it answers [`Answer::Suspend`], the run
//! stops where it is, even inside of callbacks, and [`Run::resume`] brings the result.
//!
//! **What is not here.** No tail calls, no packets, no exceptions (`bpf_throw`), no work queues. A
//! stack may hold what earlier calls of the same [`Run`] have left. Spin locks have no waiters.
//! Trees are kept in order, not in the kernel's shape ([`native_names`] lists all that is known).

mod alu;
pub mod btf;
mod core_relo;
mod errno;
mod error;
mod fault;
mod find;
mod format;
mod hash;
pub mod host;
mod image;
pub mod insn;
mod inspect;
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
pub use find::objects_in;
pub use host::{Answer, Host};
pub use image::{Image, Program, ProgramId};
pub use inspect::{Known, inspect};
pub use link::{Options, Unresolved};
pub use memory::{Memory, OutOfMemory};
pub use native::names as native_names;
pub use object::{DataKind, Extern, Object, OpsMember, Part, SetError, StructOps, Variable};
pub use run::Run;
pub use types::{Field, FieldType, Kernel, KernelFunction, Struct};
pub use vm::{Count, End, Vm};

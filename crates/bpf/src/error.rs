//! Why an object cannot be loaded.

use crate::btf::BtfError;
use crate::fault::Place;
use crate::insn::BadInsn;
use crate::memory::OutOfMemory;

/// What is wrong with an object, or what a kernel lacks for it.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum LoadError {
    /// This is no ELF file, or a broken one.
    #[error("this is no ELF file: {0}")]
    Elf(String),
    /// An ELF file of another machine.
    #[error("this ELF file is not for BPF")]
    NotBpf,
    /// Its types cannot be read.
    #[error("BTF: {0}")]
    Btf(BtfError),
    /// A section is not as it should be.
    #[error("section {section}: {what}")]
    Section {
        /// The section.
        section: String,
        /// What is wrong.
        what: &'static str,
    },
    /// A map is not as it should be.
    #[error("map {map}: {what}")]
    Map {
        /// The map.
        map: String,
        /// What is wrong.
        what: &'static str,
    },
    /// An instruction is none.
    #[error("{place}: {what}")]
    Insn {
        /// Where.
        place: Place,
        /// What is wrong.
        what: BadInsn,
    },
    /// A function or variable that the kernel does not have, and that is not weak.
    #[error("the kernel has no `{0}`")]
    Extern(String),
    /// Instructions that may be reached and want what the kernel does not have.
    #[error("{}", list(.0))]
    Unresolved(Vec<(Place, String)>),
    /// It needs more memory than it may have.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

fn list(all: &[(Place, String)]) -> String {
    let lines: Vec<String> = all.iter().map(|(place, what)| format!("{place}: {what}")).collect();
    lines.join("\n")
}

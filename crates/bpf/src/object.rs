//! An object as a compiler has made it: programs, maps, global variables, `struct_ops`, and what it
//! wants from a kernel.
//!
//! It can be changed before it is loaded, as a loader in user space does: variables are set by
//! name, maps resized, programs left out.

mod maps;
mod path;
mod read;
mod struct_ops;

use crate::btf::{Btf, Type, TypeId};
use crate::fault::Line;
use crate::insn::Raw;
use crate::map::MapDef;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

pub(crate) use maps::special_fields;
pub use path::Part;
pub use struct_ops::{OpsMember, StructOps};

/// A section of variables cannot grow beyond this.
const SECTION_BYTES_MAX: u32 = 64 << 20;

/// A section with instructions.
#[derive(Clone, Debug)]
pub(crate) struct CodeSection {
    pub name: String,
    pub raw: Vec<Raw>,
    /// Functions: name and first instruction, in order.
    pub functions: Vec<(String, usize)>,
    pub lines: Vec<(usize, Line)>,
}

/// What a section of global variables is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DataKind {
    /// Constants while programs run; a loader sets them before.
    ReadOnly,
    /// Variables.
    Writable,
    /// Variables in the arena.
    Arena,
    /// Options of the kernel's configuration.
    Config,
}

#[derive(Clone, Debug)]
pub(crate) struct DataSection {
    pub name: String,
    pub kind: DataKind,
    pub bytes: Vec<u8>,
}

/// A global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Variable {
    /// The number of its section.
    pub(crate) section: usize,
    /// Where it is in its section, bytes.
    pub(crate) offset: usize,
    /// Its size, bytes.
    pub size: usize,
    /// Its type.
    pub type_id: TypeId,
    /// What its section is for.
    pub kind: DataKind,
}

/// A name that the kernel is to supply.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Extern {
    /// The name.
    pub name: String,
    /// May it be missing?
    pub is_weak: bool,
    /// Is it a function? Otherwise it is a variable.
    pub is_function: bool,
    /// The [`Btf::shape`] of a function.
    pub shape: Option<String>,
}

/// What an instruction or a pointer in data refers to.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    Map(String),
    Data {
        section: usize,
        offset: usize,
    },
    Code {
        section: usize,
        insn: usize,
    },
    Extern(usize),
    /// A name for which there is nothing.
    Unknown(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Relocation {
    pub section: usize,
    pub insn: usize,
    pub target: Target,
}

/// A relocation against the kernel's types.
#[derive(Clone, Debug)]
pub(crate) struct CoreRelocation {
    pub section: usize,
    pub insn: usize,
    pub type_id: TypeId,
    pub access: String,
    pub kind: u32,
}

/// An object.
#[derive(Clone, Debug, Default)]
pub struct Object {
    pub(crate) btf: Btf,
    pub(crate) code: Vec<CodeSection>,
    pub(crate) data: Vec<DataSection>,
    pub(crate) variables: BTreeMap<String, Variable>,
    pub(crate) externs: Vec<Extern>,
    pub(crate) relocations: Vec<Relocation>,
    pub(crate) core: Vec<CoreRelocation>,
    pub(crate) left_out: BTreeSet<String>,
    asked_for: BTreeSet<String>,
    /// The maps that it defines, which may be resized.
    pub maps: Vec<MapDef>,
    /// The sets of operations that it defines.
    pub struct_ops: Vec<StructOps>,
    /// Its license.
    pub license: String,
}

/// No variable with this name and size.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum SetError {
    /// No such variable.
    #[error("no variable `{0}`")]
    Unknown(String),
    /// It is no array at the end of its section, or would become too large.
    #[error("`{0}` cannot have another size")]
    Fixed(String),
    /// It has another size.
    #[error("`{name}` has {size} bytes, not {given}")]
    Size {
        /// The variable.
        name: String,
        /// Its size, bytes.
        size: usize,
        /// What was given, bytes.
        given: usize,
    },
}

impl Object {
    /// Its types.
    pub fn btf(&self) -> &Btf {
        &self.btf
    }

    /// Programs: name of the function and section. Functions of `.text` are called by these.
    pub fn programs(&self) -> impl Iterator<Item = (&str, &str)> {
        let sections = self.code.iter().filter(|section| section.name != ".text");
        sections.flat_map(|s| s.functions.iter().map(|(name, _)| (name.as_str(), s.name.as_str())))
    }

    /// Sections of global variables: name, what they are for, bytes.
    pub fn sections(&self) -> impl Iterator<Item = (&str, DataKind, usize)> {
        self.data.iter().map(|s| (s.name.as_str(), s.kind, s.bytes.len()))
    }

    /// Global variables by name.
    pub fn variables(&self) -> &BTreeMap<String, Variable> {
        &self.variables
    }

    /// What the kernel is to supply by name.
    pub fn externs(&self) -> &[Extern] {
        &self.externs
    }

    /// The initial bytes of a variable, or of a part of it, as `table[3]` or `pair.second`.
    pub fn variable(&self, path: &str) -> Option<&[u8]> {
        let (section, range) = self.place(path).ok()?;
        self.data[section].bytes.get(range)
    }

    /// The number of the section and the bytes of it that a path means.
    fn place(&self, path: &str) -> Result<(usize, Range<usize>), SetError> {
        let part = self.part(path)?;
        let variable = &self.variables[&part.variable];
        let start = variable.offset + part.offset;
        Ok((variable.section, start..start + part.size))
    }

    /// Sets a variable, or a part of it, before the object is loaded.
    pub fn set(&mut self, path: &str, bytes: &[u8]) -> Result<(), SetError> {
        let (section, range) = self.place(path)?;
        let (size, given) = (range.len(), bytes.len());
        match self.data[section].bytes.get_mut(range) {
            Some(place) if size == given => {
                place.copy_from_slice(bytes);
                Ok(())
            }
            _ => Err(SetError::Size { name: path.to_string(), size, given }),
        }
    }

    /// Sets an integer or `bool` of any size before the object is loaded.
    pub fn set_int(&mut self, path: &str, value: u64) -> Result<(), SetError> {
        let size = self.part(path)?.size;
        let bytes = value.to_le_bytes();
        self.set(path, bytes.get(..size).unwrap_or(&bytes))
    }

    /// Gives an array another number of elements, as a loader does with one element per CPU. It has
    /// to be the last variable of its section; its bytes keep their values as far as they stay.
    pub fn resize(&mut self, name: &str, n: u32) -> Result<(), SetError> {
        let unknown = || SetError::Unknown(name.to_string());
        let fixed = || SetError::Fixed(name.to_string());
        let own = self.variables.get(name).ok_or_else(unknown)?;
        let Type::Array { element, .. } = self.btf.resolved(own.type_id) else {
            return Err(fixed());
        };
        let element = self.btf.size_of(*element).and_then(|size| size.checked_mul(n));
        let size = element.filter(|size| *size <= SECTION_BYTES_MAX).ok_or_else(fixed)? as usize;
        let (section, end) = (own.section, own.offset + own.size);
        if end < self.data[section].bytes.len() {
            return Err(fixed());
        }
        let start = own.offset;
        self.data[section].bytes.resize(start + size, 0);
        if let Some(own) = self.variables.get_mut(name) {
            own.size = size;
        }
        Ok(())
    }

    /// Leaves a program out: nobody will call it, so what it needs need not exist.
    pub fn leave_out(&mut self, program: &str) {
        self.left_out.insert(program.to_string());
    }

    /// Has a program loaded whose section begins with `?`: it is optional, and nobody uses it yet.
    pub fn want(&mut self, program: &str) {
        self.asked_for.insert(program.to_string());
    }

    /// The numbers of all helpers that instructions call.
    pub fn helpers(&self) -> BTreeSet<u32> {
        let all = self.code.iter().flat_map(|section| &section.raw);
        let calls = all.filter(|raw| raw.opcode == crate::insn::CALL && raw.src == 0);
        calls.map(|raw| raw.imm as u32).collect()
    }

    /// Programs that run: not left out, and either asked for or used by a set of operations.
    pub(crate) fn is_wanted(&self, program: &str, section: &str) -> bool {
        let is_used = || {
            let members = self.struct_ops.iter().flat_map(|ops| &ops.members);
            members.into_iter().any(|member| member.program.as_deref() == Some(program))
        };
        let is_asked_for = !section.starts_with('?') || self.asked_for.contains(program);
        !self.left_out.contains(program) && (is_asked_for || is_used())
    }
}

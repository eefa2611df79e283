//! A program ready to run: decoded code, and what is known about its places.

use crate::fault::{Line, Place};
use crate::insn::{BadInsn, Code, Insn, Raw, decode};
use crate::native;
use std::collections::BTreeMap;

/// A function's stretch of the code.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub name: String,
    /// The first instruction of its section, in the image.
    pub section_start: usize,
    pub start: usize,
}

/// A function that the kernel can call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// Name of the function.
    pub name: String,
    /// Its section, as `struct_ops/enqueue`.
    pub section: String,
    pub(crate) entry: usize,
}

/// The number of a program in its image.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ProgramId(pub usize);

/// Code that does not change. Runs of different seeds share it.
#[derive(Clone, Debug, Default)]
pub struct Image {
    pub(crate) code: Vec<Insn>,
    /// What instructions of [`Code::Poison`] could not be resolved to.
    pub(crate) poison: Vec<String>,
    /// In the order of their first instructions.
    pub(crate) functions: Vec<Function>,
    /// From which instruction on a line holds, in order.
    pub(crate) lines: Vec<(usize, Line)>,
    pub(crate) programs: Vec<Program>,
    /// Addresses and sizes of global variables.
    pub(crate) variables: BTreeMap<String, (u64, usize)>,
}

impl Image {
    /// An image of one program, from instructions that need no object: helpers of this crate are
    /// called by their numbers.
    pub fn of_code(name: &str, raw: &[Raw]) -> Result<Self, BadInsn> {
        let mut image = Self::default();
        for (at, own) in raw.iter().enumerate() {
            let is_second =
                at > 0 && raw[at - 1].is_wide() && image.code[at - 1].code != Code::Hole;
            let insn = if is_second { Insn::plain(Code::Hole, 0) } else { decode(raw, at, 0)? };
            let is_helper = insn.code == Code::CallNative;
            let number = u32::try_from(insn.imm).ok().and_then(native::of_helper);
            let known = number.unwrap_or(i64::MAX);
            image.code.push(if is_helper { Insn { imm: known, ..insn } } else { insn });
            debug_assert_eq!(own.opcode, raw[at].opcode);
        }
        let section = String::new();
        image.functions.push(Function { name: name.to_string(), section_start: 0, start: 0 });
        image.programs.push(Program { name: name.to_string(), section, entry: 0 });
        Ok(image)
    }

    /// All programs.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// The program with this name.
    pub fn program(&self, name: &str) -> Option<ProgramId> {
        self.programs.iter().position(|program| program.name == name).map(ProgramId)
    }

    /// The address and size in bytes of a global variable.
    pub fn variable(&self, name: &str) -> Option<(u64, usize)> {
        self.variables.get(name).copied()
    }

    /// What could not be resolved, and is a fault when it is executed.
    pub fn unresolved(&self) -> &[String] {
        &self.poison
    }

    /// Where an instruction is.
    pub fn place(&self, pc: usize) -> Place {
        let before = self.functions.partition_point(|function| function.start <= pc);
        let Some(function) = before.checked_sub(1).map(|at| &self.functions[at]) else {
            return Place { insn: pc, ..Place::default() };
        };
        let before = self.lines.partition_point(|(start, _)| *start <= pc);
        let line = before.checked_sub(1).map(|at| &self.lines[at]);
        Place {
            function: function.name.clone(),
            insn: pc - function.section_start,
            line: line.filter(|(start, _)| *start >= function.start).map(|(_, line)| line.clone()),
        }
    }
}

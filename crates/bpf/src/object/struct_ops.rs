//! Sets of operations: a variable in `.struct_ops`, whose function pointers are relocated.

use super::read::Reading;
use super::{Object, Target};
use crate::btf::Type;
use crate::error::LoadError;

/// A field of a set of operations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OpsMember {
    /// Its name, as `enqueue`.
    pub name: String,
    /// The program that it points to.
    pub program: Option<String>,
    /// Its bytes, if it is data: flags, a timeout, a name.
    pub bytes: Vec<u8>,
}

impl OpsMember {
    /// The bytes as a number (little-endian, at most eight).
    pub fn number(&self) -> u64 {
        let first = self.bytes.iter().take(8).zip(0..);
        first.fold(0, |sum, (byte, i)| sum | u64::from(*byte) << (8 * i))
    }

    /// The bytes as a text up to its zero.
    pub fn text(&self) -> String {
        let text = self.bytes.split(|byte| *byte == 0).next().unwrap_or_default();
        String::from_utf8_lossy(text).into_owned()
    }
}

/// A set of operations.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StructOps {
    /// Name of the variable.
    pub name: String,
    /// Its type, as `sched_ext_ops`.
    pub type_name: String,
    /// Its fields in the order of the type.
    pub members: Vec<OpsMember>,
}

impl StructOps {
    /// The field with this name.
    pub fn member(&self, name: &str) -> Option<&OpsMember> {
        self.members.iter().find(|member| member.name == name)
    }
}

/// Reads all sets.
pub(super) fn define(object: &mut Object, reading: &Reading<'_>) -> Result<(), LoadError> {
    let mut found = Vec::new();
    for section in [".struct_ops", ".struct_ops.link"] {
        let Some((number, bytes)) = reading.section(section) else {
            continue;
        };
        let relocations = reading.relocations_of(number);
        for (name, variable) in object.btf.section(section) {
            let Type::Variable { type_id, .. } = object.btf.get(variable.type_id) else {
                continue;
            };
            let Type::Struct { members, .. } = object.btf.resolved(*type_id) else {
                continue;
            };
            let start = reading.symbol_offset(number, name).unwrap_or(variable.offset.into());
            let mut fields = Vec::new();
            for member in members {
                let at = start.saturating_add(u64::from(member.bit_offset / 8));
                let size = object.btf.size_of(member.type_id).unwrap_or(0) as usize;
                let own = bytes.get(at as usize..(at as usize).saturating_add(size));
                let Some(own) = own else {
                    let what = "a set of operations is cut";
                    return Err(LoadError::Section { section: section.to_string(), what });
                };
                let symbol = relocations.iter().find(|(place, _)| *place == at);
                let program = symbol.and_then(|(_, symbol)| {
                    program_at(object, &reading.target(object, *symbol, 0))
                });
                let name = object.btf.text(member.name).to_string();
                fields.push(OpsMember { name, program, bytes: own.to_vec() });
            }
            let type_name = object.btf.type_name(*type_id).to_string();
            found.push(StructOps { name: name.to_string(), type_name, members: fields });
        }
    }
    object.struct_ops = found;
    Ok(())
}

/// The name of the program that begins there.
fn program_at(object: &Object, target: &Target) -> Option<String> {
    let Target::Code { section, insn } = target else {
        return None;
    };
    let functions = &object.code[*section].functions;
    functions.iter().find(|(_, at)| at == insn).map(|(name, _)| name.clone())
}

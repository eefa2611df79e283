//! Parts of variables by name, as `topology.nodes[2].first_cpu`.

use super::{Object, SetError};
use crate::btf::{Btf, Type, TypeId};

const DEPTH_MAX: u32 = 8;

/// A part of a global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part {
    /// The variable.
    pub variable: String,
    /// Where in the variable it begins, bytes.
    pub offset: usize,
    /// Its size, bytes.
    pub size: usize,
    /// Its type.
    pub type_id: TypeId,
}

/// A step of a path.
enum Step<'a> {
    Field(&'a str),
    Index(u32),
}

/// The variable's name, and the steps from there.
fn parse(path: &str) -> Option<(&str, Vec<Step<'_>>)> {
    let end = path.find(['.', '[']).unwrap_or(path.len());
    let (name, mut rest) = path.split_at(end);
    let mut steps = Vec::new();
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let (number, behind) = inside.split_once(']')?;
            steps.push(Step::Index(number.parse().ok()?));
            rest = behind;
        } else {
            let field = rest.strip_prefix('.')?;
            let end = field.find(['.', '[']).unwrap_or(field.len());
            steps.push(Step::Field(&field[..end]));
            rest = &field[end..];
        }
    }
    Some((name, steps))
}

/// Offset in bytes and type of a field, also in anonymous members; no bit fields.
fn field(btf: &Btf, id: TypeId, wanted: &str, depth: u32) -> Option<(u32, TypeId)> {
    let Type::Struct { members, .. } = btf.resolved(id) else {
        return None;
    };
    members.iter().filter(|member| member.bits.is_none() && depth < DEPTH_MAX).find_map(|member| {
        let (at, name) = (member.bit_offset / 8, btf.text(member.name));
        match name {
            "" => {
                let (inside, id) = field(btf, member.type_id, wanted, depth + 1)?;
                Some((at.checked_add(inside)?, id))
            }
            name => (name == wanted).then_some((at, member.type_id)),
        }
    })
}

impl Object {
    /// The part of a variable that a path leads to. Its fields are found by the object's types.
    pub fn part(&self, path: &str) -> Result<Part, SetError> {
        let unknown = || SetError::Unknown(path.to_string());
        let (name, steps) = parse(path).ok_or_else(unknown)?;
        let variable = self.variables.get(name).ok_or_else(unknown)?;
        let (mut offset, mut id, mut size) = (0_usize, variable.type_id, variable.size);
        for step in steps {
            let (by, inside) = match (step, self.btf.resolved(id)) {
                (Step::Field(name), _) => field(&self.btf, id, name, 0).ok_or_else(unknown)?,
                (Step::Index(at), Type::Array { element, .. }) => {
                    let stride = self.btf.size_of(*element).ok_or_else(unknown)?;
                    (at.checked_mul(stride).ok_or_else(unknown)?, *element)
                }
                (Step::Index(_), _) => return Err(unknown()),
            };
            (offset, id) = (offset + by as usize, inside);
            size = self.btf.size_of(id).ok_or_else(unknown)? as usize;
        }
        // The variable may have been resized: what counts is its size, not its type's.
        if offset + size > variable.size {
            return Err(unknown());
        }
        Ok(Part { variable: name.to_string(), offset, size, type_id: id })
    }
}

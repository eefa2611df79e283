//! Parts of variables by name, as `topology.nodes[2].first_cpu`.

use super::{Object, SetError};
use crate::btf::{Btf, Type, TypeId};

const DEPTH_MAX: u32 = 8;
/// An argument of a program is not larger than this.
const ARGUMENT_BYTES_MAX: u32 = 4096;

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
        // The variable may have been resized: what counts is its size, not its type's.
        let whole = (variable.type_id, variable.size);
        let (offset, size, type_id) = self.inside(whole, steps).ok_or_else(unknown)?;
        Ok(Part { variable: name.to_string(), offset, size, type_id })
    }

    /// The field of a program's argument that a path leads to: the argument is a pointer to a
    /// structure, as those of section `syscall` have it.
    pub fn argument(&self, program: &str, path: &str) -> Result<Part, SetError> {
        let unknown = || SetError::Unknown(format!("{path}` of `{program}"));
        let (name, steps) = parse(path).ok_or_else(unknown)?;
        let steps = std::iter::once(Step::Field(name)).chain(steps);
        let whole = self.argument_type(program).ok_or_else(unknown)?;
        let (offset, size, type_id) = self.inside(whole, steps).ok_or_else(unknown)?;
        Ok(Part { variable: program.to_string(), offset, size, type_id })
    }

    /// Bytes of the structure that a program's argument points to; `None`: it is something else.
    pub fn argument_bytes(&self, program: &str) -> Option<usize> {
        self.argument_type(program).map(|(_, size)| size)
    }

    /// The structure that a program's argument points to, and its bytes.
    fn argument_type(&self, program: &str) -> Option<(TypeId, usize)> {
        let function = |t: &Type| match t {
            Type::Function { name, prototype } => {
                (self.btf.text(*name) == program).then_some(*prototype)
            }
            _ => None,
        };
        let prototype = self.btf.types().find_map(|(_, t)| function(t))?;
        let Type::Prototype { args, .. } = self.btf.get(prototype) else {
            return None;
        };
        let Type::Pointer(to) = self.btf.resolved(*args.first()?) else {
            return None;
        };
        let size = self.btf.size_of(*to).filter(|size| *size <= ARGUMENT_BYTES_MAX)?;
        matches!(self.btf.resolved(*to), Type::Struct { .. }).then_some((*to, size as usize))
    }

    /// Offset, size and type of a part of something that has this type and so many bytes.
    fn inside<'a>(
        &self,
        (whole, bytes): (TypeId, usize),
        steps: impl IntoIterator<Item = Step<'a>>,
    ) -> Option<(usize, usize, TypeId)> {
        let (mut offset, mut id, mut size) = (0_usize, whole, bytes);
        for step in steps {
            let (by, inside) = match (step, self.btf.resolved(id)) {
                (Step::Field(name), _) => field(&self.btf, id, name, 0)?,
                (Step::Index(at), Type::Array { element, .. }) => {
                    (at.checked_mul(self.btf.size_of(*element)?)?, *element)
                }
                (Step::Index(_), _) => return None,
            };
            (offset, id) = (offset + by as usize, inside);
            size = self.btf.size_of(id)? as usize;
        }
        (offset + size <= bytes).then_some((offset, size, id))
    }
}

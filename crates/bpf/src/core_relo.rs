//! CO-RE: an instruction's offset, size or constant becomes that of the kernel at hand.
//!
//! A relocation names a type of the object and a path of fields in it. The path is followed in the
//! kernel's type of the same name, by the names of the fields; what follows `___` in a name is the
//! program's own remark. The values and their rules are those of libbpf (`bpf_core_calc_relo`).

use crate::btf::{Btf, Type, TypeId};
use crate::insn::Raw;
use crate::types::{FieldType, Kernel, essential};

/// Kinds of relocations (`enum bpf_core_relo_kind`).
mod kind {
    pub const FIELD_BYTE_OFFSET: u32 = 0;
    pub const FIELD_BYTE_SIZE: u32 = 1;
    pub const FIELD_EXISTS: u32 = 2;
    pub const FIELD_SIGNED: u32 = 3;
    pub const FIELD_LSHIFT_U64: u32 = 4;
    pub const FIELD_RSHIFT_U64: u32 = 5;
    pub const TYPE_ID_LOCAL: u32 = 6;
    pub const TYPE_ID_TARGET: u32 = 7;
    pub const TYPE_EXISTS: u32 = 8;
    pub const TYPE_SIZE: u32 = 9;
    pub const ENUMVAL_EXISTS: u32 = 10;
    pub const ENUMVAL_VALUE: u32 = 11;
    pub const TYPE_MATCHES: u32 = 12;
}

/// Names of the kinds, by number.
const KINDS: &[&str] = &[
    "offset of field",
    "size of field",
    "existence of field",
    "signedness of field",
    "left shift of field",
    "right shift of field",
    "local type",
    "kernel's type",
    "existence of type",
    "size of type",
    "existence of enumerator",
    "value of enumerator",
    "match of type",
];

/// What a relocation puts into its instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Patch {
    pub value: u64,
    pub access: Access,
}

/// What becomes of the size of an instruction that accesses a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// The field has the size that it was compiled with. (The instruction may access less of it.)
    Same,
    /// It has another one, bytes.
    Resized { from: u32, to: u32 },
    /// It has another one, and is no unsigned number and no pointer: a load would change its value.
    Impossible,
}

/// A step from a type to a part of it.
enum Step<'a> {
    Field(&'a str),
    Index(u32),
}

/// A path in the object's own types.
struct Path<'a> {
    steps: Vec<Step<'a>>,
    /// What it leads to.
    end: TypeId,
}

fn indexes(access: &str) -> Option<Vec<u32>> {
    access.split(':').map(|n| n.parse().ok()).collect()
}

fn follow<'a>(btf: &'a Btf, root: TypeId, access: &str) -> Option<Path<'a>> {
    let indexes = indexes(access)?;
    let (first, rest) = indexes.split_first()?;
    let mut steps = vec![Step::Index(*first)];
    let mut at = btf.resolve(root);
    for index in rest {
        match btf.get(at) {
            Type::Struct { members, .. } => {
                let member = members.get(*index as usize)?;
                let name = btf.text(member.name);
                if !name.is_empty() {
                    steps.push(Step::Field(name));
                }
                at = btf.resolve(member.type_id);
            }
            Type::Array { element, .. } => {
                steps.push(Step::Index(*index));
                at = btf.resolve(*element);
            }
            _ => return None,
        }
    }
    Some(Path { steps, end: at })
}

/// A field of the kernel: where and what it is.
struct Found<'a> {
    bit_offset: u64,
    bits: Option<u32>,
    kind: FoundType<'a>,
}

#[derive(Clone, Copy)]
enum FoundType<'a> {
    Root(&'a str),
    Field(&'a FieldType),
}

fn find<'a>(kernel: &'a Kernel, root: &'a str, steps: &[Step<'_>]) -> Option<Found<'a>> {
    let size_of = |kind: FoundType<'_>| match kind {
        FoundType::Root(name) => kernel.structs.get(name).map(|s| s.size),
        FoundType::Field(kind) => kernel.size_of(kind),
    };
    let mut found = Found { bit_offset: 0, bits: None, kind: FoundType::Root(root) };
    for (i, step) in steps.iter().enumerate() {
        match step {
            Step::Index(n) => {
                // The first index is one of a pointer.
                if let (true, FoundType::Field(FieldType::Array(element, _))) = (i > 0, found.kind)
                {
                    found.kind = FoundType::Field(element);
                } else if i > 0 {
                    return None;
                }
                found.bit_offset += u64::from(*n) * u64::from(size_of(found.kind)?) * 8;
            }
            Step::Field(name) => {
                let name_of = match found.kind {
                    FoundType::Root(name) => name,
                    FoundType::Field(FieldType::Struct(name)) => name.as_str(),
                    FoundType::Field(_) => return None,
                };
                let field = kernel.structs.get(name_of)?.fields.get(essential(name))?;
                found.bit_offset += u64::from(field.bit_offset);
                found.bits = field.bits;
                found.kind = FoundType::Field(&field.kind);
            }
        }
    }
    Some(found)
}

/// Could the field be what the program takes it for (`bpf_core_fields_are_compat`)?
fn fits(btf: &Btf, own: TypeId, found: FoundType<'_>) -> bool {
    let FoundType::Field(found) = found else {
        return true;
    };
    match (btf.get(own), found) {
        (Type::Int { .. } | Type::Enum { .. } | Type::Forward { .. }, FieldType::Int { .. }) => {
            true
        }
        (Type::Pointer(_), FieldType::Pointer) => true,
        (Type::Struct { .. }, FieldType::Struct(_)) => true,
        (Type::Array { element, .. }, FieldType::Array(kind, _)) => {
            fits(btf, btf.resolve(*element), FoundType::Field(kind))
        }
        (_, FieldType::Opaque(_)) => true,
        _ => false,
    }
}

/// How a relocation is called in messages, as `offset of field task_struct.0:3`.
pub(crate) fn describe(btf: &Btf, type_id: TypeId, access: &str, number: u32) -> String {
    let what = KINDS.get(number as usize).copied().unwrap_or("unknown relocation");
    let name = btf.type_name(type_id);
    if let Type::Enum { values, .. } = btf.resolved(type_id) {
        let value = access.parse().ok().and_then(|at: usize| values.get(at));
        let value = value.map_or("?", |(name, _)| btf.text(*name));
        return format!("{what} {name}::{value}");
    }
    let steps = follow(btf, type_id, access).map(|path| path.steps).unwrap_or_default();
    let shown = steps.iter().enumerate().map(|(i, step)| match step {
        Step::Index(_) if i == 0 => String::new(),
        Step::Index(n) => format!("[{n}]"),
        Step::Field(name) => format!(".{name}"),
    });
    format!("{what} {name}{}", shown.collect::<String>())
}

/// What a relocation gives; `None` if the kernel has nothing of that kind.
pub(crate) fn resolve(
    btf: &Btf,
    kernel: &Kernel,
    type_id: TypeId,
    access: &str,
    number: u32,
) -> Option<Patch> {
    let plain = |value| Some(Patch { value, access: Access::Same });
    let root = essential(btf.type_name(type_id));
    match number {
        kind::TYPE_ID_LOCAL => plain(u64::from(type_id)),
        kind::TYPE_EXISTS | kind::TYPE_MATCHES => plain(kernel.type_named(root).is_some().into()),
        // What is said of a type that does not exist is 0, and not an error.
        kind::TYPE_ID_TARGET => plain(kernel.type_named(root).map_or(0, |(id, _)| id).into()),
        kind::TYPE_SIZE => plain(kernel.type_named(root).map_or(0, |(_, size)| size).into()),
        kind::ENUMVAL_EXISTS => plain(enumerator(btf, kernel, type_id, access).is_some().into()),
        kind::ENUMVAL_VALUE => plain(enumerator(btf, kernel, type_id, access)?),
        _ => field(btf, kernel, (type_id, root), access, number),
    }
}

fn enumerator(btf: &Btf, kernel: &Kernel, type_id: TypeId, access: &str) -> Option<u64> {
    let Type::Enum { values, .. } = btf.resolved(type_id) else {
        return None;
    };
    let (name, _) = values.get(access.parse::<usize>().ok()?)?;
    let known = kernel.enums.get(essential(btf.type_name(type_id)))?;
    known.get(essential(btf.text(*name))).copied()
}

fn field(
    btf: &Btf,
    kernel: &Kernel,
    (type_id, root): (TypeId, &str),
    access: &str,
    number: u32,
) -> Option<Patch> {
    let plain = |value| Some(Patch { value, access: Access::Same });
    let path = follow(btf, type_id, access)?;
    let found = find(kernel, root, &path.steps).filter(|found| fits(btf, path.end, found.kind));
    if number == kind::FIELD_EXISTS {
        return plain(found.is_some().into());
    }
    let found = found?;
    let (size, is_signed) = match found.kind {
        FoundType::Root(name) => (kernel.structs.get(name)?.size, false),
        FoundType::Field(FieldType::Int { size, is_signed }) => (*size, *is_signed),
        FoundType::Field(kind) => (kernel.size_of(kind)?, false),
    };
    let (offset, storage) = storage(&found, size)?;
    let bits = u64::from(found.bits.unwrap_or(size.checked_mul(8)?));
    match number {
        kind::FIELD_BYTE_OFFSET => {
            let access = changed_access(btf, path.end, &found, size);
            Some(Patch { value: offset, access })
        }
        kind::FIELD_BYTE_SIZE => plain(storage.into()),
        kind::FIELD_SIGNED => plain(is_signed.into()),
        kind::FIELD_LSHIFT_U64 => plain(64_u64.checked_sub(bits + found.bit_offset - offset * 8)?),
        kind::FIELD_RSHIFT_U64 => plain(64_u64.checked_sub(bits)?),
        _ => None,
    }
}

/// How an instruction has to change that accesses a field (`fail_memsz_adjust` of libbpf).
fn changed_access(btf: &Btf, own: TypeId, found: &Found<'_>, to: u32) -> Access {
    let from = btf.size_of(own).unwrap_or(to);
    let can_change = match (btf.get(own), found.kind) {
        (Type::Pointer(_), _) => true,
        (Type::Int { is_signed, .. }, FoundType::Field(FieldType::Int { is_signed: now, .. })) => {
            !is_signed && !now
        }
        _ => false,
    };
    match (from == to || found.bits.is_some(), can_change) {
        (true, _) => Access::Same,
        (false, true) => Access::Resized { from, to },
        (false, false) => Access::Impossible,
    }
}

/// From where and how many bytes are to be loaded for a field: of a bit field, whole units of its
/// type until it fits.
fn storage(found: &Found<'_>, size: u32) -> Option<(u64, u32)> {
    let Some(bits) = found.bits else {
        return Some((found.bit_offset / 8, size));
    };
    let (mut unit, end) = (size.max(1), found.bit_offset + u64::from(bits));
    while unit <= 8 {
        let offset = found.bit_offset / 8 / u64::from(unit) * u64::from(unit);
        if end - offset * 8 <= u64::from(unit) * 8 {
            return Some((offset, unit));
        }
        unit *= 2;
    }
    None
}

/// Puts a relocation's result into its instruction; `None` if it does not fit there.
pub(crate) fn patch(raw: &mut [Raw], at: usize, patch: Patch) -> Option<()> {
    let (insn, rest) = raw.get_mut(at..)?.split_first_mut()?;
    match insn.opcode & 7 {
        0 if insn.is_wide() => {
            insn.imm = patch.value as i32;
            rest.first_mut()?.imm = (patch.value >> 32) as i32;
        }
        1..=3 => {
            insn.off = i16::try_from(patch.value).ok()?;
            let sizes = [4, 2, 1, 8];
            let own = sizes[(insn.opcode >> 3 & 3) as usize];
            // An atomic operation or a sign extension of another width is another thing.
            let is_plain = insn.opcode & 0xe0 == 0x60;
            match patch.access {
                Access::Same => {}
                Access::Resized { from, to } if from == own && is_plain => {
                    let code = sizes.iter().position(|size| *size == to)? as u8;
                    insn.opcode = insn.opcode & !0x18 | code << 3;
                }
                Access::Resized { .. } | Access::Impossible => return None,
            }
        }
        4 | 7 if insn.opcode & 8 == 0 => insn.imm = i32::try_from(patch.value as i64).ok()?,
        _ => return None,
    }
    Some(())
}

//! The kernel's types and functions, as the host describes them: what CO-RE relocations, weak
//! symbols and calls are resolved against.

use crate::btf::{Btf, Member, Type, TypeId};
use crate::object::Extern;
use std::collections::BTreeMap;

/// The type of a field.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FieldType {
    /// An integer, enumeration or `bool`.
    Int {
        /// Bytes.
        size: u32,
        /// Is it signed?
        is_signed: bool,
    },
    /// A pointer.
    Pointer,
    /// A struct or union of the table.
    Struct(String),
    /// So many of the same type.
    Array(Box<FieldType>, u32),
    /// So many bytes of which nothing is known.
    Opaque(u32),
}

/// A field of a struct or union. Fields of anonymous members are listed as if they were its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Field {
    /// Where it is, bits.
    pub bit_offset: u32,
    /// Its bits, if it is a bit field.
    pub bits: Option<u32>,
    /// Its type.
    pub kind: FieldType,
}

/// A struct or union.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Struct {
    /// Bytes.
    pub size: u32,
    /// By name.
    pub fields: BTreeMap<String, Field>,
}

impl Struct {
    /// One without fields.
    pub fn new(size: u32) -> Self {
        Self { size, fields: BTreeMap::new() }
    }

    /// Adds a field at an offset in bytes.
    #[must_use]
    pub fn with(mut self, name: &str, offset: u32, kind: FieldType) -> Self {
        let field = Field { bit_offset: offset * 8, bits: None, kind };
        self.fields.insert(name.to_string(), field);
        self
    }

    /// Adds a bit field at an offset in bits; `size` is that of its type in bytes.
    #[must_use]
    pub fn with_bits(mut self, name: &str, (bit_offset, bits): (u32, u32), size: u32) -> Self {
        let kind = FieldType::Int { size, is_signed: false };
        self.fields.insert(name.to_string(), Field { bit_offset, bits: Some(bits), kind });
        self
    }
}

/// A function of the kernel.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct KernelFunction {
    /// What the host calls it.
    pub number: u32,
    /// Its [`Btf::shape`], if that is to be the same in the object: functions change theirs from
    /// kernel to kernel, and programs have a weak symbol for each.
    pub shape: Option<String>,
}

impl From<u32> for KernelFunction {
    fn from(number: u32) -> Self {
        Self { number, shape: None }
    }
}

/// A name without the program's own remark, which follows `___`.
pub(crate) fn essential(name: &str) -> &str {
    name.split_once("___").map_or(name, |(name, _)| name)
}

/// Everything of a kernel that objects ask for by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kernel {
    /// Structs and unions.
    pub structs: BTreeMap<String, Struct>,
    /// Values of enumerations.
    pub enums: BTreeMap<String, BTreeMap<String, u64>>,
    /// Other types that exist: sizes in bytes.
    pub scalars: BTreeMap<String, u32>,
    /// Kfuncs that the host supplies. They come before those of this crate.
    pub functions: BTreeMap<String, KernelFunction>,
    /// Kfuncs of this crate that this kernel does not have yet.
    pub absent: Vec<String>,
    /// Helpers that the host supplies, and what it calls them.
    pub helpers: BTreeMap<u32, u32>,
    /// Variables of the kernel: their addresses, which are the host's.
    pub variables: BTreeMap<String, u64>,
    /// Options that it was configured with, and `LINUX_KERNEL_VERSION`.
    pub config: BTreeMap<String, u64>,
}

impl Kernel {
    /// Adds all types of some BTF: that of a real kernel, or of an object, which then finds
    /// everything as it was compiled.
    pub fn add_types(&mut self, btf: &Btf) {
        for (id, t) in btf.types() {
            let name = btf.type_name(id);
            match t {
                Type::Struct { size, members, .. } => {
                    let mut own = Struct::new(*size);
                    add_fields(btf, members, 0, 0, &mut own);
                    self.structs.insert(struct_name(btf, id), own);
                }
                Type::Enum { values, .. } if !name.is_empty() => {
                    let named = values.iter().map(|(n, value)| (btf.text(*n).to_string(), *value));
                    self.enums.entry(name.to_string()).or_default().extend(named);
                }
                Type::Typedef { to, .. } if btf.type_name(btf.resolve(*to)).is_empty() => {
                    // A struct that has no other name.
                    if let Type::Struct { size, members, .. } = btf.resolved(*to) {
                        let mut own = Struct::new(*size);
                        add_fields(btf, members, 0, 0, &mut own);
                        self.structs.insert(name.to_string(), own);
                    }
                }
                Type::Int { .. } | Type::Typedef { .. } if !name.is_empty() => {
                    self.scalars.insert(name.to_string(), btf.size_of(id).unwrap_or(0));
                }
                _ => {}
            }
        }
    }

    /// The function that an object means by a name.
    pub(crate) fn function(&self, symbol: &Extern) -> Option<&KernelFunction> {
        let found = self.functions.get(essential(&symbol.name))?;
        let fits = found.shape.is_none() || found.shape == symbol.shape;
        fits.then_some(found)
    }

    /// Size of a field's type, bytes.
    pub(crate) fn size_of(&self, kind: &FieldType) -> Option<u32> {
        match kind {
            FieldType::Int { size, .. } | FieldType::Opaque(size) => Some(*size),
            FieldType::Pointer => Some(8),
            FieldType::Struct(name) => self.structs.get(name).map(|s| s.size),
            FieldType::Array(element, n) => self.size_of(element)?.checked_mul(*n),
        }
    }

    /// The number of a type, from 1; and its size if it has one.
    pub(crate) fn type_named(&self, name: &str) -> Option<(u32, u32)> {
        let structs = self.structs.iter().map(|(name, s)| (name, s.size));
        let enums = self.enums.keys().map(|name| (name, 4));
        let scalars = self.scalars.iter().map(|(name, size)| (name, *size));
        let mut all = (1..).zip(structs.chain(enums).chain(scalars));
        all.find(|(_, (own, _))| *own == name).map(|(number, (_, size))| (number, size))
    }
}

/// The name of a struct; those without one are named by their number.
fn struct_name(btf: &Btf, id: TypeId) -> String {
    match btf.type_name(id) {
        "" => format!("#{id}"),
        name => name.to_string(),
    }
}

/// Adds fields, those of anonymous members as if they were the struct's own.
fn add_fields(btf: &Btf, members: &[Member], start: u32, depth: u32, own: &mut Struct) {
    for member in members {
        let bit_offset = start.saturating_add(member.bit_offset);
        let name = btf.text(member.name);
        if let (true, Type::Struct { members, .. }) =
            (name.is_empty(), btf.resolved(member.type_id))
            && depth < 8
        {
            add_fields(btf, members, bit_offset, depth + 1, own);
        } else if let Some(kind) = field_type(btf, member.type_id, 0) {
            let bits = member.bits.map(u32::from);
            own.fields.insert(name.to_string(), Field { bit_offset, bits, kind });
        }
    }
}

fn field_type(btf: &Btf, id: TypeId, depth: u32) -> Option<FieldType> {
    let id = btf.resolve(id);
    Some(match btf.get(id) {
        Type::Int { size, is_signed, .. } | Type::Enum { size, is_signed, .. } => {
            FieldType::Int { size: *size, is_signed: *is_signed }
        }
        Type::Pointer(_) => FieldType::Pointer,
        Type::Struct { .. } => FieldType::Struct(struct_name(btf, id)),
        Type::Array { element, n } if depth < 8 => {
            FieldType::Array(Box::new(field_type(btf, *element, depth + 1)?), *n)
        }
        Type::Float { size } => FieldType::Opaque(*size),
        _ => return None,
    })
}

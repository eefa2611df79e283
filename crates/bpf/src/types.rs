//! The kernel's types and functions, as the host describes them: what CO-RE relocations, weak
//! symbols and calls are resolved against.

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

/// Everything of a kernel that objects ask for by name.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Kernel {
    /// Structs and unions.
    pub structs: BTreeMap<String, Struct>,
    /// Values of enumerations.
    pub enums: BTreeMap<String, BTreeMap<String, u64>>,
    /// Other types that exist: sizes in bytes.
    pub scalars: BTreeMap<String, u32>,
    /// Kfuncs that the host supplies, and what it calls them. They come before those of this crate.
    pub functions: BTreeMap<String, u32>,
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

//! BTF: the types of an object, as its compiler wrote them (`Documentation/bpf/btf.rst`).
//!
//! Types refer to each other by number; number 0 is `void`. Nothing here trusts the input: a number
//! that is none is `void`, and chains and nests that are too deep have no end and no size.

mod ext;

pub(crate) use ext::Ext;

/// Chains of typedefs and modifiers, and nests of types, are followed this far.
const DEPTH_MAX: u32 = 32;

/// The number of a type.
pub type TypeId = u32;

/// A string, by its offset.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Name(pub(crate) u32);

/// A field of a struct or union.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Member {
    /// Its name; empty for an anonymous struct or union.
    pub name: Name,
    /// Its type.
    pub type_id: TypeId,
    /// Where it is, bits.
    pub bit_offset: u32,
    /// Its bits, if it is a bit field.
    pub bits: Option<u8>,
}

/// A variable in a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SectionVariable {
    /// Its [`Type::Variable`], or [`Type::Function`].
    pub type_id: TypeId,
    /// Offset, bytes; compilers leave it 0 for the linker.
    pub offset: u32,
    /// Size, bytes.
    pub size: u32,
}

/// A type.
#[derive(Clone, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the kinds and fields of the format")]
pub enum Type {
    Void,
    Int {
        name: Name,
        size: u32,
        is_signed: bool,
        bits: u8,
    },
    Pointer(TypeId),
    Array {
        element: TypeId,
        n: u32,
    },
    Struct {
        name: Name,
        size: u32,
        members: Vec<Member>,
        is_union: bool,
    },
    Enum {
        name: Name,
        size: u32,
        is_signed: bool,
        values: Vec<(Name, u64)>,
    },
    Forward {
        name: Name,
    },
    Typedef {
        name: Name,
        to: TypeId,
    },
    /// `const`, `volatile`, `restrict`
    Modifier(TypeId),
    TypeTag {
        name: Name,
        to: TypeId,
    },
    Function {
        name: Name,
        prototype: TypeId,
    },
    Prototype {
        returns: TypeId,
        args: Vec<TypeId>,
    },
    Variable {
        name: Name,
        type_id: TypeId,
    },
    Section {
        name: Name,
        variables: Vec<SectionVariable>,
    },
    Float {
        size: u32,
    },
    DeclTag,
}

/// Why BTF cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BtfError {
    /// It does not begin as BTF does, or is big-endian.
    #[error("this is no little-endian BTF")]
    Magic,
    /// Something is cut, or lies outside.
    #[error("it is cut at byte {0}")]
    Cut(usize),
    /// A kind of types that this reader does not know.
    #[error("type {id} is of the unknown kind {kind}")]
    Kind {
        /// The type.
        id: TypeId,
        /// Its kind.
        kind: u32,
    },
}

/// Types and their names.
#[derive(Clone, Debug, Default)]
pub struct Btf {
    types: Vec<Type>,
    strings: Vec<u8>,
}

/// Reads numbers one after the other.
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
    pub at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    pub fn u32(&mut self) -> Result<u32, BtfError> {
        let word = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<4>());
        let word = word.ok_or(BtfError::Cut(self.at))?;
        self.at += 4;
        Ok(u32::from_le_bytes(*word))
    }

    pub fn is_at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }
}

/// A part of a section with a header: `start` and `len` count from the header's end.
pub(crate) fn part(bytes: &[u8], header: u32, start: u32, len: u32) -> Result<&[u8], BtfError> {
    let start = header as usize + start as usize;
    bytes.get(start..start + len as usize).ok_or(BtfError::Cut(start))
}

pub(crate) const MAGIC: u32 = 0xeb9f;

impl Btf {
    /// Reads the bytes of a section `.BTF`.
    pub fn read(bytes: &[u8]) -> Result<Self, BtfError> {
        let mut header = Reader::new(bytes);
        if header.u32()? & 0xffff != MAGIC {
            return Err(BtfError::Magic);
        }
        let [header_len, type_off, type_len, str_off, str_len] =
            [header.u32()?, header.u32()?, header.u32()?, header.u32()?, header.u32()?];
        let strings = part(bytes, header_len, str_off, str_len)?.to_vec();
        let mut reader = Reader::new(part(bytes, header_len, type_off, type_len)?);
        let mut types = vec![Type::Void];
        while !reader.is_at_end() {
            let id = types.len() as TypeId;
            types.push(read_type(&mut reader, id)?);
        }
        Ok(Self { types, strings })
    }

    /// What a name says; empty if it is none.
    pub fn text(&self, name: Name) -> &str {
        let rest = self.strings.get(name.0 as usize..).unwrap_or_default();
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        std::str::from_utf8(&rest[..end]).unwrap_or_default()
    }

    /// The type with a number.
    pub fn get(&self, id: TypeId) -> &Type {
        self.types.get(id as usize).unwrap_or(&Type::Void)
    }

    /// All types with their numbers.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        (0..).zip(&self.types)
    }

    /// What is behind typedefs, modifiers and tags.
    pub fn resolve(&self, mut id: TypeId) -> TypeId {
        for _ in 0..DEPTH_MAX {
            match self.get(id) {
                Type::Typedef { to, .. } | Type::Modifier(to) | Type::TypeTag { to, .. } => {
                    id = *to;
                }
                _ => return id,
            }
        }
        0
    }

    /// The same, and the type itself.
    pub fn resolved(&self, id: TypeId) -> &Type {
        self.get(self.resolve(id))
    }

    /// The name of a type, behind modifiers; empty if it has none.
    pub fn type_name(&self, mut id: TypeId) -> &str {
        for _ in 0..DEPTH_MAX {
            match self.get(id) {
                Type::Modifier(to) | Type::TypeTag { to, .. } => id = *to,
                Type::Int { name, .. }
                | Type::Struct { name, .. }
                | Type::Enum { name, .. }
                | Type::Forward { name }
                | Type::Typedef { name, .. }
                | Type::Function { name, .. }
                | Type::Variable { name, .. } => return self.text(*name),
                _ => return "",
            }
        }
        ""
    }

    /// Size of a value of this type, bytes.
    pub fn size_of(&self, id: TypeId) -> Option<u32> {
        let (mut id, mut times) = (id, 1_u32);
        for _ in 0..DEPTH_MAX {
            id = self.resolve(id);
            match self.get(id) {
                Type::Int { size, .. }
                | Type::Struct { size, .. }
                | Type::Enum { size, .. }
                | Type::Float { size } => return size.checked_mul(times),
                Type::Pointer(_) => return times.checked_mul(8),
                Type::Array { element, n } => {
                    (id, times) = (*element, times.checked_mul(*n)?);
                }
                Type::Variable { type_id, .. } => id = *type_id,
                _ => return None,
            }
        }
        None
    }

    /// The kinds of a function's result and arguments, a word each: `int(p:struct,int)`.
    ///
    /// `int` stands for integers of any size, `struct` for unions, too, and `p:` for a pointer:
    /// what libbpf does not tell apart when it looks for a kernel's function.
    pub fn shape(&self, function: TypeId) -> Option<String> {
        let Type::Function { prototype, .. } = self.get(function) else {
            return None;
        };
        let Type::Prototype { returns, args } = self.get(*prototype) else {
            return None;
        };
        let args: Vec<String> = args.iter().map(|arg| self.shape_of(*arg, 0)).collect();
        Some(format!("{}({})", self.shape_of(*returns, 0), args.join(",")))
    }

    fn shape_of(&self, id: TypeId, depth: u32) -> String {
        String::from(match self.resolved(id) {
            Type::Pointer(to) if depth < DEPTH_MAX => {
                return format!("p:{}", self.shape_of(*to, depth + 1));
            }
            Type::Int { .. } => "int",
            Type::Struct { .. } | Type::Forward { .. } => "struct",
            Type::Enum { .. } => "enum",
            Type::Prototype { .. } => "fn",
            Type::Void => "void",
            _ => "?",
        })
    }

    /// The variables of a section with their names.
    pub fn section(&self, section: &str) -> impl Iterator<Item = (&str, SectionVariable)> {
        let own = self.types.iter().find_map(|t| match t {
            Type::Section { name, variables } if self.text(*name) == section => Some(variables),
            _ => None,
        });
        own.into_iter().flatten().map(|variable| (self.type_name(variable.type_id), *variable))
    }
}

fn read_type(r: &mut Reader<'_>, id: TypeId) -> Result<Type, BtfError> {
    let (name, info, word) = (Name(r.u32()?), r.u32()?, r.u32()?);
    let (kind, n, flag) = (info >> 24 & 31, info & 0xffff, info >> 31 == 1);
    Ok(match kind {
        1 => {
            let about = r.u32()?;
            let is_signed = about >> 24 & 1 == 1;
            Type::Int { name, size: word, is_signed, bits: about as u8 }
        }
        2 => Type::Pointer(word),
        3 => {
            let (element, _index, n) = (r.u32()?, r.u32()?, r.u32()?);
            Type::Array { element, n }
        }
        4 | 5 => {
            let members = (0..n).map(|_| read_member(r, flag)).collect::<Result<_, _>>()?;
            Type::Struct { name, size: word, members, is_union: kind == 5 }
        }
        6 => {
            let value = |r: &mut Reader<'_>| {
                let (name, value) = (Name(r.u32()?), r.u32()?);
                Ok((name, if flag { value as i32 as u64 } else { value.into() }))
            };
            let values = (0..n).map(|_| value(r)).collect::<Result<_, _>>()?;
            Type::Enum { name, size: word, is_signed: flag, values }
        }
        7 => Type::Forward { name },
        8 => Type::Typedef { name, to: word },
        9..=11 => Type::Modifier(word),
        12 => Type::Function { name, prototype: word },
        13 => {
            let arg = |r: &mut Reader<'_>| {
                r.u32()?;
                r.u32()
            };
            let args = (0..n).map(|_| arg(r)).collect::<Result<_, _>>()?;
            Type::Prototype { returns: word, args }
        }
        14 => {
            r.u32()?;
            Type::Variable { name, type_id: word }
        }
        15 => {
            let variable = |r: &mut Reader<'_>| {
                Ok(SectionVariable { type_id: r.u32()?, offset: r.u32()?, size: r.u32()? })
            };
            let variables = (0..n).map(|_| variable(r)).collect::<Result<_, _>>()?;
            Type::Section { name, variables }
        }
        16 => Type::Float { size: word },
        17 => {
            r.u32()?;
            Type::DeclTag
        }
        18 => Type::TypeTag { name, to: word },
        19 => {
            let value = |r: &mut Reader<'_>| {
                let (name, low, high) = (Name(r.u32()?), r.u32()?, r.u32()?);
                Ok((name, u64::from(high) << 32 | u64::from(low)))
            };
            let values = (0..n).map(|_| value(r)).collect::<Result<_, _>>()?;
            Type::Enum { name, size: word, is_signed: flag, values }
        }
        kind => return Err(BtfError::Kind { id, kind }),
    })
}

/// With the struct's flag an offset also holds the size of a bit field.
fn read_member(r: &mut Reader<'_>, flag: bool) -> Result<Member, BtfError> {
    let (name, type_id, offset) = (Name(r.u32()?), r.u32()?, r.u32()?);
    let (bit_offset, bits) =
        if flag { (offset & 0xff_ffff, (offset >> 24) as u8) } else { (offset, 0) };
    Ok(Member { name, type_id, bit_offset, bits: (bits > 0).then_some(bits) })
}

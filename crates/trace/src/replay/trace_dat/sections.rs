//! The sections of a file of version 7: each may be compressed, and options say where they are.

use super::damaged;
use super::unpack::{Compression, Unpacker};
use crate::replay::ReplayError;
use crate::replay::file_fields::FileFields;
use std::io::{Read, Seek};

/// A flag of a section.
const COMPRESSED: u16 = 1;
/// Bytes that a section may have when it is unpacked.
const SECTION_BYTES_MAX: u32 = 1 << 24;
/// Sections of options; each names the next one.
const OPTIONS_MAX: u32 = 32;
const OPTIONS: u16 = 0;

/// The last option of a section.
const DONE: u16 = 0;

/// The head of a section.
struct Head {
    id: u16,
    is_compressed: bool,
    bytes: u64,
}

fn head<R: Read + Seek>(fields: &mut FileFields<R>) -> Option<Head> {
    let (id, flags) = (fields.u16()?, fields.u16()?);
    let _description = fields.u32()?;
    Some(Head { id, is_compressed: flags & COMPRESSED != 0, bytes: fields.u64()? })
}

/// True if the pages in the section that begins here are compressed.
pub(super) fn is_compressed(input: impl Read + Seek, place: u64) -> Option<bool> {
    Some(head(&mut FileFields::at(input, place)?)?.is_compressed)
}

/// What is in the section that begins here.
pub(super) fn contents(
    input: impl Read + Seek,
    place: u64,
    id: u16,
    compression: Compression,
) -> Result<Vec<u8>, ReplayError> {
    let cut_off = || damaged("a section of it lies beyond its end");
    let mut fields = FileFields::at(input, place).ok_or_else(cut_off)?;
    let head = head(&mut fields).ok_or_else(cut_off)?;
    if head.id != id {
        return Err(damaged("a section of it is not where it says"));
    }
    if !head.is_compressed {
        return fields.bytes(head.bytes).ok_or_else(cut_off);
    }
    let mut size = || fields.u32().ok_or_else(cut_off);
    let (packed, unpacked) = (size()?, size()?);
    if unpacked > SECTION_BYTES_MAX {
        return Err(damaged("a section of it has more than 16 MiB"));
    }
    let packed = fields.bytes(u64::from(packed)).ok_or_else(cut_off)?;
    let mut bytes = vec![0; unpacked as usize];
    Unpacker::new(compression).unpack(&packed, &mut bytes)?;
    Ok(bytes)
}

/// Hands all options to `take`: number and contents of each.
pub(super) fn for_each_option(
    mut input: impl Read + Seek,
    first: u64,
    compression: Compression,
    mut take: impl FnMut(u16, &[u8]),
) -> Result<(), ReplayError> {
    let mut place = first;
    for _ in 0..OPTIONS_MAX {
        let section = contents(&mut input, place, OPTIONS, compression)?;
        let next = options_of(&section, &mut take);
        match next.ok_or_else(|| damaged("its options cannot be read"))? {
            0 => return Ok(()),
            next => place = next,
        }
    }
    Err(damaged("its sections of options have no end"))
}

/// Hands the options of a section to `take`. Returns where the next section of options is, 0 if
/// there is none.
fn options_of(section: &[u8], take: &mut impl FnMut(u16, &[u8])) -> Option<u64> {
    let mut fields = FileFields::of(section);
    loop {
        let (id, bytes) = (fields.u16()?, fields.u32()?);
        let option = fields.bytes(u64::from(bytes))?;
        if id == DONE {
            return FileFields::of(&option).u64();
        }
        take(id, &option);
    }
}

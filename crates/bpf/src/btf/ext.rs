//! BTF.ext: lines of the source, and what is to be relocated against the kernel's types.

use super::{BtfError, MAGIC, Name, Reader, part};

/// From which instruction on a line of the source holds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LineRecord {
    pub section: Name,
    /// Bytes.
    pub insn_offset: u32,
    pub file: Name,
    pub text: Name,
    pub number: u32,
}

/// A CO-RE relocation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CoreRecord {
    pub section: Name,
    /// Bytes.
    pub insn_offset: u32,
    pub type_id: u32,
    /// Indexes from the type to the field, as `0:1:2`.
    pub access: Name,
    pub kind: u32,
}

/// What a section `.BTF.ext` tells.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ext {
    pub lines: Vec<LineRecord>,
    pub core: Vec<CoreRecord>,
}

impl Ext {
    /// Reads the section's bytes.
    pub fn read(bytes: &[u8]) -> Result<Self, BtfError> {
        let mut header = Reader::new(bytes);
        if header.u32()? & 0xffff != MAGIC {
            return Err(BtfError::Magic);
        }
        let header_len = header.u32()?;
        let (_func_off, _func_len) = (header.u32()?, header.u32()?);
        let (line_off, line_len) = (header.u32()?, header.u32()?);
        // The oldest headers end here.
        let has_core = header_len >= 32;
        let (core_off, core_len) = if has_core { (header.u32()?, header.u32()?) } else { (0, 0) };
        let mut ext = Self::default();
        records(
            part(bytes, header_len, line_off, line_len)?,
            |section, [insn, file, text, place]| {
                let number = place >> 10;
                let (file, text) = (Name(file), Name(text));
                ext.lines.push(LineRecord { section, insn_offset: insn, file, text, number });
            },
        )?;
        records(part(bytes, header_len, core_off, core_len)?, |section, words| {
            let [insn_offset, type_id, access, kind] = words;
            let access = Name(access);
            ext.core.push(CoreRecord { section, insn_offset, type_id, access, kind });
        })?;
        Ok(ext)
    }
}

/// Calls `f` for each record, with its section's name and its first four words.
fn records(bytes: &[u8], mut f: impl FnMut(Name, [u32; 4])) -> Result<(), BtfError> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut r = Reader::new(bytes);
    let record_len = r.u32()? as usize;
    if record_len < 16 {
        return Err(BtfError::Cut(r.at));
    }
    while !r.is_at_end() {
        let (section, n) = (Name(r.u32()?), r.u32()?);
        for _ in 0..n {
            let start = r.at;
            f(section, [r.u32()?, r.u32()?, r.u32()?, r.u32()?]);
            r.at = start + record_len;
        }
    }
    Ok(())
}

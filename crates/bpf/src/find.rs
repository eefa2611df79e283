//! Objects inside of other files: a scheduler's program carries its own in a section `.bpf.objs`.

use ::object::elf::{EM_BPF, FileHeader64};
use ::object::read::elf::{ElfFile64, FileHeader};
use ::object::{LittleEndian, Object as _, ObjectSection as _};

/// The bytes of all objects in a file: of the file itself, if it is an object.
pub fn objects_in(bytes: &[u8]) -> Vec<&[u8]> {
    let Ok(file) = ElfFile64::<LittleEndian>::parse(bytes) else {
        return Vec::new();
    };
    if file.elf_header().e_machine.get(LittleEndian) == EM_BPF {
        return vec![bytes];
    }
    let section = file.section_by_name(".bpf.objs");
    let mut rest = section.and_then(|section| section.data().ok()).unwrap_or_default();
    let mut found = Vec::new();
    while let Some(start) = rest.windows(4).position(|four| four == b"\x7fELF") {
        rest = &rest[start..];
        let len = object_len(rest).unwrap_or(4);
        if len > 4 {
            found.push(&rest[..len]);
        }
        rest = &rest[len..];
    }
    found
}

/// The length of the object that begins here: the table of sections is its end.
fn object_len(bytes: &[u8]) -> Option<usize> {
    let header = FileHeader64::<LittleEndian>::parse(bytes).ok()?;
    let tables = header.e_shoff(LittleEndian);
    let n = u64::from(header.e_shnum(LittleEndian));
    let end = tables.checked_add(n * u64::from(header.e_shentsize(LittleEndian)))?;
    usize::try_from(end).ok().filter(|end| *end > 64 && *end <= bytes.len())
}

//! ELF: sections, symbols and relocations become an [`Object`].

use super::{
    CodeSection, CoreRelocation, DataKind, DataSection, Extern, Object, Relocation, Target,
    Variable, maps, struct_ops,
};
use crate::btf::{Btf, Ext, Type};
use crate::error::LoadError;
use crate::fault::Line;
use crate::insn::{CALL, PSEUDO_CALL, Raw};
use ::object::elf::{EM_BPF, SHF_EXECINSTR, SHN_UNDEF};
use ::object::read::elf::ElfFile64;
use ::object::{
    LittleEndian, Object as _, ObjectSection as _, ObjectSymbol as _, RelocationTarget,
    SectionFlags, SectionIndex, SymbolIndex, SymbolKind, SymbolSection,
};
use std::collections::BTreeMap;

/// `.bss` may ask for more memory than the file has bytes; this much at most.
const BSS_BYTES_MAX: u64 = 256 << 20;

type File<'a> = ElfFile64<'a, LittleEndian>;

/// What is needed while an object is read.
pub(super) struct Reading<'a> {
    file: File<'a>,
    /// Numbers of sections of the file: number of the code section, or of the data section.
    code_of: BTreeMap<usize, usize>,
    data_of: BTreeMap<usize, usize>,
    pub maps_section: Option<usize>,
    /// Maps by their offset in `.maps`.
    pub map_at: BTreeMap<u64, String>,
}

impl Object {
    /// Reads an object file.
    pub fn read(bytes: &[u8]) -> Result<Self, LoadError> {
        let file = File::parse(bytes).map_err(|e| LoadError::Elf(e.to_string()))?;
        if file.elf_header().e_machine.get(LittleEndian) != EM_BPF {
            return Err(LoadError::NotBpf);
        }
        let mut object = Self::default();
        let mut reading = Reading {
            file,
            code_of: BTreeMap::new(),
            data_of: BTreeMap::new(),
            maps_section: None,
            map_at: BTreeMap::new(),
        };
        if let Some((_, bytes)) = reading.section(".BTF") {
            object.btf = Btf::read(bytes).map_err(LoadError::Btf)?;
        }
        let ext = match reading.section(".BTF.ext") {
            Some((_, bytes)) => Ext::read(bytes).map_err(LoadError::Btf)?,
            None => Ext::default(),
        };
        reading.sections(&mut object)?;
        reading.functions(&mut object);
        reading.variables(&mut object);
        object.externs = reading.externs(&object.btf);
        maps::define(&mut object, &mut reading)?;
        struct_ops::define(&mut object, &reading)?;
        reading.relocations(&mut object)?;
        add_ext(&mut object, &ext);
        Ok(object)
    }
}

fn data_kind(name: &str) -> Option<DataKind> {
    let is =
        |base: &str| name == base || name.strip_prefix(base).is_some_and(|r| r.starts_with('.'));
    if is(".rodata") {
        Some(DataKind::ReadOnly)
    } else if is(".data") || is(".bss") {
        Some(DataKind::Writable)
    } else if name == ".addr_space.1" {
        Some(DataKind::Arena)
    } else {
        None
    }
}

impl<'a> Reading<'a> {
    fn sections(&mut self, object: &mut Object) -> Result<(), LoadError> {
        for section in self.file.sections() {
            let name = section.name().unwrap_or_default().to_string();
            let SectionFlags::Elf { sh_flags } = section.flags() else {
                continue;
            };
            let bytes = section.data().map_err(|e| LoadError::Elf(e.to_string()))?;
            let number = section.index().0;
            if sh_flags & u64::from(SHF_EXECINSTR) != 0 {
                let (insns, rest) = bytes.as_chunks::<8>();
                if !rest.is_empty() {
                    return Err(LoadError::Section { section: name, what: "half an instruction" });
                }
                let raw = insns.iter().map(|insn| Raw::from_bytes(*insn)).collect();
                self.code_of.insert(number, object.code.len());
                let (functions, lines) = (Vec::new(), Vec::new());
                object.code.push(CodeSection { name, raw, functions, lines });
            } else if let Some(kind) = data_kind(&name) {
                let size = section.size();
                let is_empty = bytes.is_empty() && size > 0;
                if is_empty && size > BSS_BYTES_MAX {
                    return Err(LoadError::Section { section: name, what: "too many bytes" });
                }
                let bytes = if is_empty { vec![0; size as usize] } else { bytes.to_vec() };
                self.data_of.insert(number, object.data.len());
                object.data.push(DataSection { name, kind, bytes });
            } else if name == ".maps" {
                self.maps_section = Some(number);
            } else if name == "license" {
                let text = bytes.split(|byte| *byte == 0).next().unwrap_or_default();
                object.license = String::from_utf8_lossy(text).into_owned();
            }
        }
        Ok(())
    }

    fn functions(&self, object: &mut Object) {
        for symbol in self.file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text) {
            let SymbolSection::Section(SectionIndex(section)) = symbol.section() else {
                continue;
            };
            let name = symbol.name().unwrap_or_default();
            if let Some(own) = self.code_of.get(&section).filter(|_| !name.is_empty()) {
                let at = (symbol.address() / 8) as usize;
                object.code[*own].functions.push((name.to_string(), at));
            }
        }
        for section in &mut object.code {
            section.functions.sort_by_key(|(_, at)| *at);
            let n = section.raw.len();
            section.functions.retain(|(_, at)| *at < n);
        }
    }

    /// Variables have their place from their symbols and their type from BTF.
    fn variables(&self, object: &mut Object) {
        let mut types = BTreeMap::new();
        for (_, t) in object.btf.types() {
            if let Type::Variable { name, type_id } = t {
                types.insert(object.btf.text(*name).to_string(), *type_id);
            }
        }
        for symbol in self.file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Data) {
            let SymbolSection::Section(SectionIndex(section)) = symbol.section() else {
                continue;
            };
            let Some(own) = self.data_of.get(&section).copied() else {
                continue;
            };
            let name = symbol.name().unwrap_or_default().to_string();
            let (offset, size) = (symbol.address() as usize, symbol.size() as usize);
            let is_inside =
                offset.checked_add(size).is_some_and(|e| e <= object.data[own].bytes.len());
            if !name.is_empty() && is_inside {
                let type_id = types.get(&name).copied().unwrap_or(0);
                let kind = object.data[own].kind;
                let variable = Variable { section: own, offset, size, type_id, kind };
                object.variables.insert(name, variable);
            }
        }
    }

    /// Undefined symbols. What they are is in the sections `.ksyms` and `.kconfig` of BTF.
    fn externs(&self, btf: &Btf) -> Vec<Extern> {
        let mut functions = BTreeMap::new();
        for (id, t) in btf.types() {
            if let Type::Function { name, .. } = t {
                functions.insert(btf.text(*name), btf.shape(id));
            }
        }
        let undefined = self.file.symbols().filter(|symbol| symbol.is_undefined());
        let named = undefined.filter_map(|symbol| Some((symbol.name().ok()?, symbol.is_weak())));
        named
            .filter(|(name, _)| !name.is_empty())
            .map(|(name, is_weak)| {
                let function = functions.get(name);
                let (is_function, shape) = (function.is_some(), function.cloned().flatten());
                Extern { name: name.to_string(), is_weak, is_function, shape }
            })
            .collect()
    }

    /// The bytes of a section, and its number.
    pub fn section(&self, name: &str) -> Option<(usize, &'a [u8])> {
        let section = self.file.section_by_name(name)?;
        Some((section.index().0, section.data().ok()?))
    }

    /// Where a symbol in a section is.
    pub fn symbol_offset(&self, section: usize, name: &str) -> Option<u64> {
        let here = SymbolSection::Section(SectionIndex(section));
        let mut all = self.file.symbols();
        let symbol = all.find(|symbol| symbol.section() == here && symbol.name() == Ok(name))?;
        Some(symbol.address())
    }

    /// Relocations of a section: where, and the symbol's number.
    pub fn relocations_of(&self, section: usize) -> Vec<(u64, SymbolIndex)> {
        let Ok(section) = self.file.section_by_index(SectionIndex(section)) else {
            return Vec::new();
        };
        let all = section.relocations().filter_map(|(at, relocation)| match relocation.target() {
            RelocationTarget::Symbol(symbol) => Some((at, symbol)),
            _ => None,
        });
        all.collect()
    }

    /// What a symbol, with something added, refers to.
    pub fn target(&self, object: &Object, symbol: SymbolIndex, addend: i64) -> Target {
        let Ok(symbol) = self.file.symbol_by_index(symbol) else {
            return Target::Unknown(String::from("a symbol that is missing"));
        };
        let name = symbol.name().unwrap_or_default().to_string();
        let at = (symbol.address() as i64).wrapping_add(addend);
        let section = match symbol.section() {
            SymbolSection::Section(SectionIndex(section)) => section,
            _ if symbol.elf_symbol().st_shndx.get(LittleEndian) == SHN_UNDEF => {
                let found = object.externs.iter().position(|e| e.name == name);
                return found.map_or(Target::Unknown(name), Target::Extern);
            }
            _ => return Target::Unknown(name),
        };
        if let Some(own) = self.code_of.get(&section) {
            let insn = usize::try_from(at / 8).ok();
            let insn = insn.filter(|insn| *insn < object.code[*own].raw.len());
            return insn.map_or(Target::Unknown(name), |insn| Target::Code { section: *own, insn });
        }
        if let Some(own) = self.data_of.get(&section) {
            return Target::Data { section: *own, offset: at as usize };
        }
        match self.map_at.get(&(at as u64)).filter(|_| self.maps_section == Some(section)) {
            Some(map) => Target::Map(map.clone()),
            None => Target::Unknown(name),
        }
    }

    fn relocations(&self, object: &mut Object) -> Result<(), LoadError> {
        let mut found = Vec::new();
        for (number, own) in &self.code_of {
            for (at, symbol) in self.relocations_of(*number) {
                let insn = (at / 8) as usize;
                let section = &object.code[*own];
                let Some(raw) = section.raw.get(insn) else {
                    let what = "a relocation outside";
                    return Err(LoadError::Section { section: section.name.clone(), what });
                };
                // Calls count instructions from the next one, the rest counts bytes.
                let addend = match raw.opcode {
                    CALL if raw.src == PSEUDO_CALL => (i64::from(raw.imm) + 1) * 8,
                    _ => i64::from(raw.imm),
                };
                let target = self.target(object, symbol, addend);
                found.push(Relocation { section: *own, insn, target });
            }
        }
        object.relocations = found;
        Ok(())
    }
}

/// Adds lines and CO-RE relocations to their sections.
fn add_ext(object: &mut Object, ext: &Ext) {
    let numbers: BTreeMap<String, usize> =
        object.code.iter().zip(0..).map(|(section, at)| (section.name.clone(), at)).collect();
    for record in &ext.lines {
        let Some(own) = numbers.get(object.btf.text(record.section)) else {
            continue;
        };
        let text = |name| object.btf.text(name).chars().take(200).collect();
        let line = Line { file: text(record.file), number: record.number, text: text(record.text) };
        object.code[*own].lines.push((record.insn_offset as usize / 8, line));
    }
    for section in &mut object.code {
        section.lines.sort_by_key(|(at, _)| *at);
    }
    for record in &ext.core {
        let Some(own) = numbers.get(object.btf.text(record.section)) else {
            continue;
        };
        object.core.push(CoreRelocation {
            section: *own,
            insn: record.insn_offset as usize / 8,
            type_id: record.type_id,
            access: object.btf.text(record.access).chars().take(200).collect(),
            kind: record.kind,
        });
    }
}

//! Loading: an object and a kernel become a [`Vm`].
//!
//! All sections of code stand one behind the other in the image, so a call of another section is a
//! jump to a number. Whatever the kernel lacks becomes an instruction that names it. If it may be
//! reached, the object is refused with all those names ([`Unresolved::Refuse`]); else it stays, as
//! in the kernel, where the verifier removes dead code.

use crate::btf::Type;
use crate::core_relo;
use crate::error::LoadError;
use crate::fault::Place;
use crate::image::{Function, Image, Program};
use crate::insn::{CALL, Code, IMMEDIATE, Insn, PSEUDO_CALL, Raw, decode};
use crate::map::{MapId, MapKind};
use crate::memory::{FUNCTIONS, Memory, SYMBOLS, address};
use crate::native;
use crate::object::{DataKind, Extern, Object, Target, special_fields};
use crate::owned::Layout;
use crate::reach::reachable;
use crate::types::{Kernel, essential};
use crate::vm::Vm;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Types larger than this are not allocated by programs.
const OBJECT_BYTES_MAX: u32 = 4096;
/// Where the arena's variables begin: its first page stays empty.
const ARENA_START: usize = 4096;

/// What to do with instructions that may be reached and cannot be resolved.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Unresolved {
    /// The object is not loaded.
    #[default]
    Refuse,
    /// They are faults when they are executed; [`Image::unresolved`] lists them.
    Fault,
}

/// How an object is loaded.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// CPUs that per-CPU maps and masks are made for.
    pub n_cpus: u32,
    /// Bytes that maps and variables may take.
    pub bytes_max: usize,
    /// What cannot be resolved.
    pub unresolved: Unresolved,
}

impl Default for Options {
    fn default() -> Self {
        Self { n_cpus: 1, bytes_max: 1 << 30, unresolved: Unresolved::Refuse }
    }
}

/// An object that is being loaded.
struct Loading<'a> {
    object: &'a Object,
    kernel: &'a Kernel,
    memory: Memory,
    image: Image,
    /// The first instruction of each code section.
    bases: Vec<usize>,
    /// The address of each data section.
    data: Vec<u64>,
    /// Addresses of variables of the configuration.
    config: BTreeMap<String, u64>,
    /// Instructions that relocations have decided.
    decided: BTreeMap<usize, Insn>,
}

impl Vm {
    /// Loads an object into a kernel.
    pub fn load(object: &Object, kernel: &Kernel, options: Options) -> Result<Self, LoadError> {
        let mut loading = Loading {
            object,
            kernel,
            memory: Memory::new(options.n_cpus, options.bytes_max),
            image: Image::default(),
            bases: Vec::new(),
            data: Vec::new(),
            config: BTreeMap::new(),
            decided: BTreeMap::new(),
        };
        loading.add_maps()?;
        loading.add_data()?;
        loading.place_code();
        let mut raw: Vec<Vec<Raw>> = object.code.iter().map(|s| s.raw.clone()).collect();
        loading.relocate_types(&mut raw);
        loading.relocate_symbols(&mut raw)?;
        loading.decode(&raw)?;
        loading.check(options.unresolved)?;
        let Loading { image, memory, .. } = loading;
        Ok(Self::new(Arc::new(image), memory))
    }
}

impl Loading<'_> {
    fn add_maps(&mut self) -> Result<(), LoadError> {
        for def in &self.object.maps {
            self.memory.add_map(def.clone())?;
        }
        for (def, outer) in self.object.maps.iter().zip(0..) {
            for (index, name) in &def.values {
                let bytes = name.as_bytes();
                if self.memory.update(MapId(outer), &index.to_le_bytes(), bytes, 0) != 0 {
                    let map = def.name.clone();
                    return Err(LoadError::Map { map, what: "it cannot hold its first values" });
                }
            }
        }
        for (id, t) in self.object.btf.types() {
            if let Type::Struct { size, .. } = t
                && *size <= OBJECT_BYTES_MAX
            {
                let layout = Layout { size: *size, special: special_fields(&self.object.btf, id) };
                self.memory.owned.layouts.insert(id, layout);
            }
        }
        Ok(())
    }

    fn add_data(&mut self) -> Result<(), LoadError> {
        for section in &self.object.data {
            let bytes = &section.bytes;
            let place = match (section.kind, self.memory.arena) {
                (DataKind::Arena, Some(region)) => {
                    let pages = bytes.len().div_ceil(ARENA_START) as u32;
                    let map = self.memory.map_of_value(address(region, 0));
                    let place = map.map_or(0, |map| self.memory.arena_pages(map, pages));
                    if let Some(to) = self.memory.bytes_mut(place, bytes.len()) {
                        to.copy_from_slice(bytes);
                    }
                    place
                }
                (kind, _) => address(self.memory.add_copy(bytes, kind != DataKind::ReadOnly)?, 0),
            };
            self.data.push(place);
        }
        for (name, variable) in &self.object.variables {
            let at = self.data[variable.section] + variable.offset as u64;
            self.image.variables.insert(name.clone(), (at, variable.size));
        }
        Ok(())
    }

    fn place_code(&mut self) {
        let mut base = 0;
        for section in &self.object.code {
            self.bases.push(base);
            for (name, at) in &section.functions {
                let function =
                    Function { name: name.clone(), section_start: base, start: base + at };
                self.image.functions.push(function);
                if section.name != ".text" && self.object.is_wanted(name, &section.name) {
                    let (name, section, entry) = (name.clone(), section.name.clone(), base + at);
                    self.image.programs.push(Program { name, section, entry });
                }
            }
            let lines = section.lines.iter().map(|(at, line)| (base + at, line.clone()));
            self.image.lines.extend(lines);
            base += section.raw.len();
        }
        self.image.functions.sort_by_key(|function| function.start);
    }

    /// An instruction that cannot be resolved: a fault with this text.
    fn poison(&mut self, pc: usize, what: String) {
        let known = self.image.poison.iter().position(|own| *own == what);
        let number = known.unwrap_or_else(|| {
            self.image.poison.push(what);
            self.image.poison.len() - 1
        });
        self.decided.insert(pc, Insn::plain(Code::Poison, number as i64));
    }

    fn relocate_types(&mut self, raw: &mut [Vec<Raw>]) {
        let btf = &self.object.btf;
        for relocation in &self.object.core {
            let own = relocation;
            let found = core_relo::resolve(btf, self.kernel, own.type_id, &own.access, own.kind);
            let section = &mut raw[own.section];
            if found.and_then(|found| core_relo::patch(section, own.insn, found)).is_none() {
                let what = core_relo::describe(btf, own.type_id, &own.access, own.kind);
                let what = format!("the kernel has no {what}");
                self.poison(self.bases[own.section] + own.insn, what);
            }
        }
    }

    fn relocate_symbols(&mut self, raw: &mut [Vec<Raw>]) -> Result<(), LoadError> {
        for relocation in &self.object.relocations {
            let pc = self.bases[relocation.section] + relocation.insn;
            let insn = raw[relocation.section][relocation.insn];
            let is_call = insn.opcode == CALL && insn.src == PSEUDO_CALL;
            let decided = match &relocation.target {
                Target::Code { section, insn } if is_call => {
                    let off = (self.bases[*section] + insn) as i32;
                    Some(Insn { off, ..Insn::plain(Code::Call, 0) })
                }
                Target::Extern(number) if is_call => {
                    self.call(pc, &self.object.externs[*number])?
                }
                target if insn.is_wide() => {
                    let value = self.value(pc, target)?;
                    let (src, code) = (IMMEDIATE, Code::MovWide);
                    value.map(|imm| Insn { code, dst: insn.dst, src, off: 0, imm: imm as i64 })
                }
                _ => None,
            };
            match decided {
                Some(decided) if insn.dst < 10 => {
                    self.decided.insert(pc, decided);
                }
                _ if self.decided.contains_key(&pc) => {}
                _ => {
                    let name = match &relocation.target {
                        Target::Unknown(name) => name.clone(),
                        other => format!("{other:?}"),
                    };
                    self.poison(pc, format!("a reference that is not understood: {name}"));
                }
            }
        }
        Ok(())
    }

    /// A call of the kernel.
    fn call(&mut self, pc: usize, called: &Extern) -> Result<Option<Insn>, LoadError> {
        if let Some(function) = self.kernel.function(called) {
            return Ok(Some(Insn::plain(Code::CallHost, i64::from(function.number))));
        }
        match self.native(&called.name) {
            Some(number) => Ok(Some(Insn::plain(Code::CallNative, number))),
            None if called.is_weak => {
                self.poison(pc, format!("the kernel has no function {}", called.name));
                Ok(None)
            }
            None => Err(LoadError::Extern(called.name.clone())),
        }
    }

    /// The number of a map's kind, if that is not known here.
    fn unknown_kind(&self, map: &str) -> Option<u32> {
        let map = self.memory.map(map)?;
        match self.memory.map_def(map).kind {
            MapKind::Other(number) => Some(number),
            _ => None,
        }
    }

    /// A kfunc of this crate, if the kernel has it.
    fn native(&self, name: &str) -> Option<i64> {
        let name = essential(name);
        native::of_function(name).filter(|_| !self.kernel.absent.iter().any(|own| own == name))
    }

    /// What a 64-bit constant stands for.
    fn value(&mut self, pc: usize, target: &Target) -> Result<Option<u64>, LoadError> {
        Ok(match target {
            Target::Map(name) => {
                if let Some(number) = self.unknown_kind(name) {
                    self.poison(pc, format!("map {name} is of an unknown type ({number})"));
                    return Ok(None);
                }
                self.memory.map(name).map(MapId::address)
            }
            Target::Data { section, offset } => {
                let offset = u32::try_from(*offset).ok();
                offset.map(|offset| self.data[*section].wrapping_add(u64::from(offset)))
            }
            Target::Code { section, insn } => {
                Some(address(FUNCTIONS, (self.bases[*section] + insn) as u32))
            }
            Target::Extern(number) => Some(self.symbol(*number)?),
            Target::Unknown(_) => None,
        })
    }

    /// The address of a name of the kernel; 0 if it may be missing and is.
    fn symbol(&mut self, number: usize) -> Result<u64, LoadError> {
        let symbol = &self.object.externs[number];
        let name = &symbol.name;
        let is_native = symbol.is_function && self.native(name).is_some();
        if is_native || self.kernel.function(symbol).is_some() {
            return Ok(address(SYMBOLS, number as u32 + 1));
        }
        if let Some(at) = self.kernel.variables.get(name).or_else(|| self.config.get(name)) {
            return Ok(*at);
        }
        if let Some(value) = self.kernel.config.get(name) {
            let region = self.memory.add(value.to_le_bytes().to_vec(), false)?;
            self.config.insert(name.clone(), address(region, 0));
            return Ok(address(region, 0));
        }
        match (symbol.is_weak, self.is_option(name)) {
            // A missing option is 0; the program has asked for its value, not for its address.
            (true, true) => {
                let region = self.memory.add(vec![0; 8], false)?;
                self.config.insert(name.clone(), address(region, 0));
                Ok(address(region, 0))
            }
            (true, false) => Ok(0),
            (false, _) => Err(LoadError::Extern(name.clone())),
        }
    }

    fn is_option(&self, name: &str) -> bool {
        self.object.btf.section(".kconfig").any(|(own, _)| own == name)
    }

    fn decode(&mut self, raw: &[Vec<Raw>]) -> Result<(), LoadError> {
        for (number, section) in raw.iter().enumerate() {
            let base = self.bases[number];
            for at in 0..section.len() {
                let pc = base + at;
                let before = at.checked_sub(1).map(|at| section[at].is_wide());
                let was_hole = self.image.code.last().is_some_and(|insn| insn.code == Code::Hole);
                if before == Some(true) && !was_hole {
                    self.image.code.push(Insn::plain(Code::Hole, 0));
                    continue;
                }
                let insn = match self.decided.get(&pc) {
                    Some(decided) => *decided,
                    None => {
                        let place = || Place { insn: at, ..self.image.place(pc) };
                        let decoded = decode(section, at, base);
                        let decoded =
                            decoded.map_err(|what| LoadError::Insn { place: place(), what })?;
                        self.helper(pc, decoded)
                    }
                };
                self.image.code.push(insn);
            }
        }
        Ok(())
    }

    /// Calls of helpers have their numbers in the object.
    fn helper(&mut self, pc: usize, insn: Insn) -> Insn {
        if insn.code != Code::CallNative {
            return insn;
        }
        let number = insn.imm as u32;
        if let Some(host) = self.kernel.helpers.get(&number) {
            return Insn::plain(Code::CallHost, i64::from(*host));
        }
        match native::of_helper(number) {
            Some(own) => Insn::plain(Code::CallNative, own),
            None => {
                let name = native::helper_name(number);
                self.poison(pc, format!("the kernel has no {name} (helper {number})"));
                self.decided[&pc]
            }
        }
    }

    fn check(&self, unresolved: Unresolved) -> Result<(), LoadError> {
        if unresolved == Unresolved::Fault || self.image.poison.is_empty() {
            return Ok(());
        }
        let entries: Vec<usize> = self.image.programs.iter().map(|p| p.entry).collect();
        let reached = reachable(&self.image.code, &self.memory, &entries);
        let poisoned = self
            .image
            .code
            .iter()
            .enumerate()
            .filter(|(pc, insn)| insn.code == Code::Poison && reached[*pc]);
        let all: Vec<(Place, String)> = poisoned
            .map(|(pc, insn)| (self.image.place(pc), self.image.poison[insn.imm as usize].clone()))
            .collect();
        if all.is_empty() { Ok(()) } else { Err(LoadError::Unresolved(all)) }
    }
}

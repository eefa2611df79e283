//! Maps as BTF defines them: a struct in `.maps`, whose fields' types say everything.
//!
//! `__uint(max_entries, 4)` is a pointer to an array of 4, `__type(key, u32)` a pointer to the
//! type, `__array(values, …)` an array of pointers, `__ulong(map_extra, …)` an enumeration.

use super::read::Reading;
use super::{Object, Target};
use crate::btf::{Btf, Member, Type, TypeId};
use crate::error::LoadError;
use crate::map::{MapDef, MapKind, SpecialField, SpecialKind};

/// Types that a search for special fields looks at.
const VISITS_MAX: u32 = 10_000;
/// Bytes of a key and its value: less than this (`htab_map_alloc_check`, KMALLOC_MAX_SIZE, 6.12).
/// Programs hand over keys as long as the map says, so that a length without end would take all
/// memory.
const ELEMENT_MAX: u64 = 4 << 20;

/// Reads the definitions of all maps.
pub(super) fn define(object: &mut Object, reading: &mut Reading<'_>) -> Result<(), LoadError> {
    let Some(section) = reading.maps_section else {
        return Ok(());
    };
    let mut found = Vec::new();
    for (name, variable) in object.btf.section(".maps") {
        let Type::Variable { type_id, .. } = object.btf.get(variable.type_id) else {
            continue;
        };
        let at = reading.symbol_offset(section, name);
        let at = at.unwrap_or(u64::from(variable.offset));
        let def = map(&object.btf, name, *type_id, 0)?;
        reading.map_at.insert(at, name.to_string());
        let values_at = member(&object.btf, *type_id, "values").map(|m| m.bit_offset / 8);
        found.push((at, values_at, def));
    }
    let relocations = reading.relocations_of(section);
    for (start, values_at, def) in &mut found {
        let Some(values) = values_at.map(|at| *start + u64::from(at)) else {
            continue;
        };
        for (at, symbol) in &relocations {
            let is_own = *at >= values && *at < values + u64::from(def.max_entries) * 8;
            if let (true, Target::Map(name)) = (is_own, reading.target(object, *symbol, 0)) {
                def.values.push((((at - values) / 8) as u32, name));
            }
        }
    }
    object.maps = found.into_iter().map(|(_, _, def)| def).collect();
    Ok(())
}

fn member<'a>(btf: &'a Btf, id: TypeId, wanted: &str) -> Option<&'a Member> {
    match btf.resolved(id) {
        Type::Struct { members, .. } => members.iter().find(|m| btf.text(m.name) == wanted),
        _ => None,
    }
}

/// The number that a field's type stands for.
fn number(btf: &Btf, id: TypeId) -> Option<u64> {
    match btf.resolved(id) {
        Type::Pointer(to) => match btf.resolved(*to) {
            Type::Array { n, .. } => Some(u64::from(*n)),
            _ => None,
        },
        Type::Enum { values, .. } => values.first().map(|(_, value)| *value),
        _ => None,
    }
}

fn pointee(btf: &Btf, id: TypeId) -> Option<TypeId> {
    match btf.resolved(id) {
        Type::Pointer(to) => Some(*to),
        _ => None,
    }
}

/// Reads one definition.
fn map(btf: &Btf, name: &str, id: TypeId, depth: u32) -> Result<MapDef, LoadError> {
    let bad = |what: &'static str| LoadError::Map { map: name.to_string(), what };
    let Type::Struct { members, .. } = btf.resolved(id) else {
        return Err(bad("its definition is no struct"));
    };
    let mut def = MapDef {
        name: name.to_string(),
        kind: MapKind::Array,
        key_size: 0,
        value_size: 0,
        max_entries: 0,
        flags: 0,
        numa_node: 0,
        extra: 0,
        special: Vec::new(),
        inner: None,
        values: Vec::new(),
    };
    let mut kind = None;
    for member in members {
        let id = member.type_id;
        let value = || number(btf, id).ok_or_else(|| bad("a field that is no number"));
        let size = || {
            let to = pointee(btf, id).ok_or_else(|| bad("a key or value that is no type"))?;
            btf.size_of(to).ok_or_else(|| bad("a key or value without a size"))
        };
        match btf.text(member.name) {
            "type" => kind = Some(value()? as u32),
            "max_entries" => def.max_entries = value()? as u32,
            "map_flags" => def.flags = value()? as u32,
            "numa_node" => def.numa_node = value()? as u32,
            "map_extra" => def.extra = value()?,
            "key_size" => def.key_size = value()? as u32,
            "value_size" => def.value_size = value()? as u32,
            "key" => def.key_size = size()?,
            "value" => {
                def.value_size = size()?;
                def.special = special_fields(btf, pointee(btf, id).unwrap_or(0));
            }
            "values" => def.inner = inner(btf, name, id, depth)?.map(Box::new),
            "pinning" => {}
            _ => return Err(bad("a field that is not known")),
        }
    }
    let kind = kind.ok_or_else(|| bad("it has no type"))?;
    def.kind = MapKind::from_number(kind);
    // Storage is found by the address of its owner.
    def.key_size = if def.kind.is_storage() { 8 } else { def.key_size };
    let by_index = matches!(def.kind, MapKind::Array | MapKind::PercpuArray | MapKind::ArrayOfMaps);
    if by_index && def.key_size != 4 {
        return Err(bad("the key of an array has 4 bytes"));
    }
    def.value_size = if def.kind.is_outer() { 4 } else { def.value_size };
    let element = u64::from(def.key_size) + u64::from(def.value_size);
    if def.kind.is_hash() && element >= ELEMENT_MAX {
        return Err(bad("a key and its value have less than 4 MiB"));
    }
    Ok(def)
}

/// What a map of maps holds.
fn inner(btf: &Btf, name: &str, id: TypeId, depth: u32) -> Result<Option<MapDef>, LoadError> {
    let Type::Array { element, .. } = btf.resolved(id) else {
        return Ok(None);
    };
    match pointee(btf, *element) {
        Some(to) if depth == 0 && matches!(btf.resolved(to), Type::Struct { .. }) => {
            map(btf, &format!("{name}.inner"), to, 1).map(Some)
        }
        _ => Ok(None),
    }
}

/// Fields of a type that the kernel keeps for itself, by offset.
pub(crate) fn special_fields(btf: &Btf, id: TypeId) -> Vec<SpecialField> {
    let mut search = Search { btf, left: VISITS_MAX, found: Vec::new() };
    search.visit(id, 0, 0);
    search.found.sort_by_key(|field| field.offset);
    search.found
}

/// A search through a type, which ends in time even if the type contains itself.
struct Search<'a> {
    btf: &'a Btf,
    left: u32,
    found: Vec<SpecialField>,
}

impl Search<'_> {
    fn visit(&mut self, id: TypeId, offset: u32, depth: u32) {
        if depth > 8 || self.left == 0 {
            return;
        }
        self.left -= 1;
        if let Some(kind) = special_kind(self.btf, id) {
            let size = self.btf.size_of(id).unwrap_or(0);
            self.found.push(SpecialField { offset, size, kind });
            return;
        }
        let btf = self.btf;
        match btf.resolved(id) {
            Type::Struct { members, .. } => {
                for member in members.iter().filter(|member| member.bits.is_none()) {
                    let at = offset.saturating_add(member.bit_offset / 8);
                    self.visit(member.type_id, at, depth + 1);
                }
            }
            Type::Array { element, n } => {
                let size = btf.size_of(*element).unwrap_or(0);
                let before = self.found.len();
                for i in 0..*n {
                    self.visit(*element, offset.saturating_add(i.saturating_mul(size)), depth + 1);
                    if self.left == 0 || self.found.len() == before {
                        break;
                    }
                }
            }
            _ => {}
        }
    }
}

fn special_kind(btf: &Btf, id: TypeId) -> Option<SpecialKind> {
    Some(match (btf.type_name(id), btf.resolved(id)) {
        ("bpf_spin_lock" | "bpf_res_spin_lock", _) => SpecialKind::SpinLock,
        ("bpf_timer", _) => SpecialKind::Timer,
        ("bpf_rb_root", _) => SpecialKind::RbRoot,
        ("bpf_list_head", _) => SpecialKind::ListHead,
        ("bpf_rb_node" | "bpf_list_node" | "bpf_refcount" | "bpf_wq", _) => SpecialKind::Other,
        (_, Type::Pointer(to)) if is_kptr(btf, *to) => SpecialKind::Kptr,
        _ => return None,
    })
}

/// True if a pointer to this is one that the kernel keeps a reference by: its tag says so.
fn is_kptr(btf: &Btf, mut id: TypeId) -> bool {
    for _ in 0..8 {
        match btf.get(id) {
            Type::TypeTag { name, .. } if btf.text(*name).contains("kptr") => return true,
            Type::TypeTag { to, .. } | Type::Modifier(to) => id = *to,
            _ => return false,
        }
    }
    false
}

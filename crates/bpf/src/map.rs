//! Maps: where their values are, and how a key finds them.
//!
//! The values of a map are one region: element `slot` begins at `slot * element size`, so
//! addresses of values stay when a map grows. A hash map's order of iteration is that of its slots:
//! it depends on what was inserted and deleted, and on nothing else.

use crate::errno;
use crate::hash::Hash;
use crate::memory::{MAPS, Memory, OutOfMemory, address, offset_of, region_of};
use crate::ring::Ring;

/// `BPF_NOEXIST`
const NO_EXIST: u64 = 1;
/// `BPF_EXIST`
const EXIST: u64 = 2;
/// `BPF_F_LOCK`
const LOCK: u64 = 4;
const PAGE_BYTES: u64 = 4096;

/// `enum bpf_map_type`, as far as it is known here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the kernel's names")]
pub enum MapKind {
    Hash,
    Array,
    PercpuHash,
    PercpuArray,
    LruHash,
    LruPercpuHash,
    ArrayOfMaps,
    HashOfMaps,
    Queue,
    Stack,
    RingBuf,
    TaskStorage,
    UserRingBuf,
    CgrpStorage,
    Arena,
    /// One that is not known here, by its number: it can be defined, but not used.
    Other(u32),
}

impl MapKind {
    /// The kind with this number.
    pub fn from_number(number: u32) -> Self {
        use MapKind::*;
        match number {
            1 => Hash,
            2 => Array,
            5 => PercpuHash,
            6 => PercpuArray,
            9 => LruHash,
            10 => LruPercpuHash,
            12 => ArrayOfMaps,
            13 => HashOfMaps,
            22 => Queue,
            23 => Stack,
            27 => RingBuf,
            29 => TaskStorage,
            31 => UserRingBuf,
            32 => CgrpStorage,
            33 => Arena,
            other => Other(other),
        }
    }

    pub(crate) fn is_hash(self) -> bool {
        use MapKind::*;
        matches!(
            self,
            Hash | PercpuHash | LruHash | LruPercpuHash | HashOfMaps | TaskStorage | CgrpStorage
        )
    }

    fn is_array(self) -> bool {
        matches!(self, MapKind::Array | MapKind::PercpuArray | MapKind::ArrayOfMaps)
    }

    fn is_percpu(self) -> bool {
        use MapKind::*;
        matches!(self, PercpuHash | PercpuArray | LruPercpuHash)
    }

    /// True for maps whose values are maps.
    pub fn is_outer(self) -> bool {
        matches!(self, MapKind::ArrayOfMaps | MapKind::HashOfMaps)
    }

    /// True for storage that belongs to an object of the kernel.
    pub fn is_storage(self) -> bool {
        matches!(self, MapKind::TaskStorage | MapKind::CgrpStorage)
    }
}

/// A field of a value that the kernel keeps for itself: an update leaves it alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpecialField {
    /// Offset, bytes.
    pub offset: u32,
    /// Size, bytes.
    pub size: u32,
    /// What it is.
    pub kind: SpecialKind,
}

/// Kinds of special fields.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(missing_docs, reason = "the kernel's names")]
pub enum SpecialKind {
    SpinLock,
    Timer,
    Kptr,
    RbRoot,
    ListHead,
    /// A node, a reference count or a work queue: nothing to do when it goes.
    Other,
}

/// A map as the object defines it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MapDef {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: MapKind,
    /// Bytes of a key.
    pub key_size: u32,
    /// Bytes of a value.
    pub value_size: u32,
    /// Elements at most; bytes of a ring buffer, pages of an arena.
    pub max_entries: u32,
    /// `map_flags`
    pub flags: u32,
    /// `numa_node`
    pub numa_node: u32,
    /// `map_extra`
    pub extra: u64,
    /// Special fields of the value, by offset.
    pub special: Vec<SpecialField>,
    /// What a map of maps holds.
    pub inner: Option<Box<MapDef>>,
    /// Which maps it holds at first, by index.
    pub values: Vec<(u32, String)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Store {
    Array,
    Hash(Hash),
    /// Queue and stack: the oldest element, and how many there are.
    Line {
        head: u32,
        len: u32,
    },
    Ring(Ring),
    /// Which pages are in use.
    Arena(Vec<bool>),
    /// Of a kind that is not known.
    Nothing,
}

/// A map.
#[derive(Clone, Debug)]
pub(crate) struct Map {
    pub def: MapDef,
    pub values: u32,
    /// Only of hash maps.
    pub keys: u32,
    /// Bytes from one element to the next one, of all CPUs.
    pub stride: u32,
    pub store: Store,
}

/// The number of a map in a program's memory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct MapId(pub(crate) u32);

impl MapId {
    /// The pointer that programs have for it.
    pub(crate) fn address(self) -> u64 {
        address(MAPS, self.0 << 8)
    }
}

fn round_up_8(n: u32) -> Option<u32> {
    n.checked_next_multiple_of(8)
}

impl Memory {
    /// Makes a map. Arrays and rings take their memory now, the others when they need it.
    pub fn add_map(&mut self, def: MapDef) -> Result<MapId, OutOfMemory> {
        let copies = if def.kind.is_percpu() { self.n_cpus } else { 1 };
        let stride = round_up_8(def.value_size).and_then(|size| size.checked_mul(copies));
        let stride = stride.ok_or(OutOfMemory)?;
        let elements = def.max_entries as usize;
        let all = elements.checked_mul(stride as usize).filter(|all| u32::try_from(*all).is_ok());
        let (len, store) = match def.kind {
            MapKind::RingBuf | MapKind::UserRingBuf => {
                (elements.checked_mul(2), Store::Ring(Ring::new(def.max_entries)))
            }
            MapKind::Arena => (Some(0), Store::Arena(Vec::new())),
            MapKind::Other(_) => (Some(0), Store::Nothing),
            MapKind::Queue | MapKind::Stack => (all, Store::Line { head: 0, len: 0 }),
            kind if kind.is_array() => (all, Store::Array),
            kind => {
                let is_lru = matches!(kind, MapKind::LruHash | MapKind::LruPercpuHash);
                (Some(0), Store::Hash(Hash::new(is_lru)))
            }
        };
        let values = self.add_zeros(len.ok_or(OutOfMemory)?)?;
        let keys = self.add(Vec::new(), false)?;
        if def.kind == MapKind::Arena {
            self.arena = Some(values);
        }
        self.maps.push(Map { def, values, keys, stride, store });
        Ok(MapId(self.maps.len() as u32 - 1))
    }

    /// The map with this name.
    pub fn map(&self, name: &str) -> Option<MapId> {
        let at = self.maps.iter().position(|map| map.def.name == name)?;
        Some(MapId(at as u32))
    }

    /// How a map is defined.
    pub fn map_def(&self, map: MapId) -> &MapDef {
        &self.maps[map.0 as usize].def
    }

    /// The map that a program's pointer means.
    pub(crate) fn map_at(&self, pointer: u64) -> Option<MapId> {
        let is_one = region_of(pointer) == MAPS && offset_of(pointer) & 255 == 0;
        let id = offset_of(pointer) >> 8;
        (is_one && (id as usize) < self.maps.len()).then_some(MapId(id))
    }

    /// The slot of a key.
    pub(crate) fn slot(&self, map: MapId, key: &[u8]) -> Option<u32> {
        let map = &self.maps[map.0 as usize];
        match &map.store {
            Store::Array => {
                let index = u32::from_le_bytes(*key.first_chunk()?);
                (index < map.def.max_entries).then_some(index)
            }
            Store::Hash(_) if key.len() != map.def.key_size as usize => None,
            Store::Hash(hash) => hash.find(&self.regions[map.keys as usize].bytes, key),
            Store::Line { .. } | Store::Ring(_) | Store::Arena(_) | Store::Nothing => None,
        }
    }

    /// The address of the value in a slot; of per-CPU maps, of `cpu`.
    pub(crate) fn value_address(&self, map: MapId, slot: u32, cpu: u32) -> u64 {
        let map = &self.maps[map.0 as usize];
        let own = if map.def.kind.is_percpu() { map.stride / self.n_cpus * cpu } else { 0 };
        address(map.values, slot * map.stride + own)
    }

    /// The slot in which an address is.
    pub(crate) fn slot_at(&self, map: MapId, value: u64) -> Option<u32> {
        let map = &self.maps[map.0 as usize];
        (region_of(value) == map.values).then(|| offset_of(value).checked_div(map.stride))?
    }

    /// The address of a key's value; of per-CPU maps, of `cpu`. For a map of maps it is the
    /// pointer to the map.
    pub fn lookup(&mut self, map: MapId, key: &[u8], cpu: u32) -> Option<u64> {
        let kind = self.maps[map.0 as usize].def.kind;
        if cpu >= self.n_cpus && kind.is_percpu() {
            return None;
        }
        let slot = self.slot(map, key)?;
        if let Store::Hash(hash) = &mut self.maps[map.0 as usize].store {
            hash.touch(slot);
        }
        let value = self.value_address(map, slot, cpu);
        if !kind.is_outer() {
            return Some(value);
        }
        let held = u32::from_le_bytes(*self.bytes(value, 4)?.first_chunk()?);
        held.checked_sub(1).map(|id| MapId(id).address())
    }

    /// Makes sure that a key has an element. `Err` is an error number of the kernel, negative.
    pub(crate) fn element(&mut self, map: MapId, key: &[u8], flags: u64) -> Result<u32, i64> {
        let found = self.slot(map, key);
        let m = &self.maps[map.0 as usize];
        let is_full_match = key.len() == m.def.key_size as usize;
        match (found, flags & !LOCK) {
            (_, flags) if flags > EXIST || !is_full_match => Err(errno::EINVAL),
            (Some(_), NO_EXIST) => Err(errno::EEXIST),
            (Some(slot), _) => Ok(slot),
            (None, _) if m.def.kind.is_array() => Err(errno::E2BIG),
            (None, _) if !m.def.kind.is_hash() => Err(errno::EINVAL),
            (None, EXIST) => Err(errno::ENOENT),
            (None, _) => self.insert(map, key),
        }
    }

    fn insert(&mut self, map: MapId, key: &[u8]) -> Result<u32, i64> {
        let m = &self.maps[map.0 as usize];
        let (keys, values, stride) = (m.keys, m.values, m.stride);
        let max = if m.def.kind.is_storage() { u32::MAX >> 1 } else { m.def.max_entries };
        let evicted = match &mut self.maps[map.0 as usize].store {
            Store::Hash(hash) if hash.len() >= max => Some(hash.oldest().ok_or(errno::E2BIG)?),
            _ => None,
        };
        if let Some(slot) = evicted {
            self.remove(map, slot);
        }
        let Store::Hash(hash) = &mut self.maps[map.0 as usize].store else {
            return Err(errno::EINVAL);
        };
        let reused = hash.take_free();
        let slot = match reused {
            Some(slot) => slot,
            None => {
                let slot = hash.add_slot();
                let grown =
                    self.grow(keys, key.len()).and_then(|_| self.grow(values, stride as usize));
                // What is charged in vain is little, and the program fails soon.
                grown.map_err(|_| errno::ENOMEM)?;
                slot
            }
        };
        let at = slot as usize * key.len();
        self.regions[keys as usize].bytes[at..at + key.len()].copy_from_slice(key);
        let at = slot as usize * stride as usize;
        self.regions[values as usize].bytes[at..at + stride as usize].fill(0);
        if let Store::Hash(hash) = &mut self.maps[map.0 as usize].store {
            hash.link(&self.regions[keys as usize].bytes, key, slot);
        }
        Ok(slot)
    }

    /// Deletes the element of a key; 0, or a negative error number.
    pub fn delete(&mut self, map: MapId, key: &[u8]) -> i64 {
        if !self.maps[map.0 as usize].def.kind.is_hash() {
            return errno::EINVAL;
        }
        match self.slot(map, key) {
            Some(slot) => {
                self.remove(map, slot);
                0
            }
            None => errno::ENOENT,
        }
    }

    fn remove(&mut self, map: MapId, slot: u32) {
        let (keys, key_size) = {
            let m = &self.maps[map.0 as usize];
            (m.keys, m.def.key_size as usize)
        };
        let n_values = if self.maps[map.0 as usize].def.kind.is_percpu() { self.n_cpus } else { 1 };
        for cpu in 0..n_values {
            let value = self.value_address(map, slot, cpu);
            self.release_value(map, value);
        }
        if let Store::Hash(hash) = &mut self.maps[map.0 as usize].store {
            hash.unlink(&self.regions[keys as usize].bytes, key_size, slot);
        }
    }

    /// What a value's special fields hold goes with it; also when the value is replaced
    /// (`bpf_obj_free_fields` in the maps' `update_elem`).
    pub(crate) fn release_value(&mut self, map: MapId, value: u64) {
        for i in 0..self.maps[map.0 as usize].def.special.len() {
            let field = self.maps[map.0 as usize].def.special[i];
            self.release_field(value + u64::from(field.offset), field.kind);
        }
    }

    /// Sets a value from outside, special fields included; 0, or a negative error number.
    ///
    /// For a map of maps the value is the other map's name.
    pub fn update(&mut self, map: MapId, key: &[u8], value: &[u8], cpu: u32) -> i64 {
        let kind = self.maps[map.0 as usize].def.kind;
        let held = std::str::from_utf8(value).ok().and_then(|name| self.map(name));
        let number = held.map_or(0, |held| held.0 + 1).to_le_bytes();
        let value = if kind.is_outer() { &number } else { value };
        let is_whole = kind.is_outer() || value.len() == self.map_def(map).value_size as usize;
        if !is_whole || (kind.is_outer() && held.is_none()) || cpu >= self.n_cpus {
            return errno::EINVAL;
        }
        match self.element(map, key, 0) {
            Ok(slot) => {
                let at = self.value_address(map, slot, cpu);
                if let Some(place) = self.bytes_mut(at, value.len()) {
                    place.copy_from_slice(value);
                }
                0
            }
            Err(errno) => errno,
        }
    }

    /// The elements of a map in the order of iteration: address of the key (0 for arrays) and slot.
    pub(crate) fn next_slot(&self, map: MapId, from: u32) -> Option<(u64, u32)> {
        let m = &self.maps[map.0 as usize];
        match &m.store {
            Store::Array => (from < m.def.max_entries).then_some((0, from)),
            Store::Hash(hash) => {
                let slot = hash.next_used(from)?;
                Some((address(m.keys, slot * m.def.key_size), slot))
            }
            Store::Line { .. } | Store::Ring(_) | Store::Arena(_) | Store::Nothing => None,
        }
    }

    /// The keys of a map, in the order of iteration.
    pub fn keys(&self, map: MapId) -> Vec<Vec<u8>> {
        let mut found = Vec::new();
        let mut from = 0;
        while let Some((key, slot)) = self.next_slot(map, from) {
            let size = self.map_def(map).key_size as usize;
            found.push(match key {
                0 => slot.to_le_bytes().to_vec(),
                at => self.bytes(at, size).unwrap_or_default().to_vec(),
            });
            from = slot + 1;
        }
        found
    }

    /// An object of the kernel is gone: so is what storage maps keep for it.
    pub fn forget_owner(&mut self, owner: u64) {
        for id in 0..self.maps.len() as u32 {
            if self.maps[id as usize].def.kind.is_storage() {
                self.delete(MapId(id), &owner.to_le_bytes());
            }
        }
    }

    /// A place at the end (`push`) of a queue or stack; its address.
    pub(crate) fn line_push(&mut self, map: MapId, evicts: bool) -> Result<u64, i64> {
        let m = &mut self.maps[map.0 as usize];
        let max = m.def.max_entries;
        let Store::Line { head, len } = &mut m.store else {
            return Err(errno::EINVAL);
        };
        if *len == max {
            if !evicts || max == 0 {
                return Err(errno::E2BIG);
            }
            *head = (*head + 1) % max;
            *len -= 1;
        }
        let slot = ((u64::from(*head) + u64::from(*len)) % u64::from(max)) as u32;
        *len += 1;
        Ok(self.value_address(map, slot, 0))
    }

    /// The element that comes next out of a queue or stack; it stays if this is a `peek`.
    pub(crate) fn line_next(&mut self, map: MapId, peek: bool) -> Result<u64, i64> {
        let m = &mut self.maps[map.0 as usize];
        let (max, is_queue) = (m.def.max_entries, m.def.kind == MapKind::Queue);
        let Store::Line { head, len } = &mut m.store else {
            return Err(errno::EINVAL);
        };
        if *len == 0 {
            return Err(errno::ENOENT);
        }
        let last = u64::from(*head) + u64::from(*len) - 1;
        let slot = if is_queue { *head } else { (last % u64::from(max)) as u32 };
        if !peek {
            *len -= 1;
            *head = if is_queue { (*head + 1) % max } else { *head };
        }
        Ok(self.value_address(map, slot, 0))
    }

    /// The first of `n` new pages of an arena, or 0. The first page is never given away, so that
    /// no page's address has a low half of 0.
    pub(crate) fn arena_pages(&mut self, map: MapId, n: u32) -> u64 {
        let m = &self.maps[map.0 as usize];
        let (region, max) = (m.values, u64::from(m.def.max_entries));
        let Store::Arena(used) = &m.store else {
            return 0;
        };
        let n_used = used.len().max(1);
        let fits = |from: &usize| (0..n as usize).all(|i| used.get(from + i) != Some(&true));
        if n == 0 || u64::from(n) > max {
            return 0;
        }
        let Some(from) = (1..=n_used).find(fits) else {
            return 0;
        };
        let end = from as u64 + u64::from(n);
        let len = self.regions[region as usize].bytes.len() as u64;
        let missing = (end * PAGE_BYTES).saturating_sub(len);
        if end > max + 1 || self.grow(region, missing as usize).is_err() {
            return 0;
        }
        if let Store::Arena(used) = &mut self.maps[map.0 as usize].store {
            used.resize(used.len().max(end as usize), false);
            used[from..end as usize].fill(true);
        }
        address(region, (from as u64 * PAGE_BYTES) as u32)
    }

    /// Pages of an arena that were ever in use.
    pub(crate) fn arena_len(&self, map: MapId) -> u64 {
        match &self.maps[map.0 as usize].store {
            Store::Arena(used) => used.len() as u64,
            _ => 0,
        }
    }

    /// Gives pages of an arena back; they read as zeros.
    pub(crate) fn arena_free(&mut self, map: MapId, at: u64, n: u32) {
        let region = self.maps[map.0 as usize].values;
        let from = offset_of(at) / PAGE_BYTES as u32;
        let Store::Arena(used) = &mut self.maps[map.0 as usize].store else {
            return;
        };
        let end = (from as usize).saturating_add(n as usize).min(used.len());
        let from = (from as usize).clamp(1.min(end), end);
        used[from..end].fill(false);
        let bytes = &mut self.regions[region as usize].bytes;
        let page = PAGE_BYTES as usize;
        let end = (end * page).min(bytes.len());
        bytes[(from * page).min(end)..end].fill(0);
    }
}

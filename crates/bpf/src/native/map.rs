//! Helpers of maps, ring buffers and arenas.

use super::{Call, Outcome, bad_address};
use crate::errno;
use crate::host::Host;
use crate::map::{MapId, MapKind};
use crate::memory::Memory;

/// `BPF_LOCAL_STORAGE_GET_F_CREATE`
const CREATE: u64 = 1;

/// Does something with the key at an address; `None` if the address is bad.
fn with_key<H: Host, T>(
    c: &mut Call<'_, H>,
    map: MapId,
    at: u64,
    f: impl FnOnce(&mut Memory, &[u8]) -> T,
) -> Option<T> {
    let mut key = std::mem::take(&mut c.memory.key);
    key.clear();
    key.resize(c.memory.map_def(map).key_size as usize, 0);
    let is_read = c.memory.read(c.host, at, &mut key);
    let result = is_read.then(|| f(c.memory, &key));
    c.memory.key = key;
    result
}

pub(super) fn lookup<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let Some(map) = c.memory.map_at(c.args[0]) else {
        return c.fault("this is no map");
    };
    let cpu = c.cpu();
    let found = with_key(c, map, c.args[1], |memory, key| memory.lookup(map, key, cpu));
    Outcome::Value(found.flatten().unwrap_or(0))
}

pub(super) fn lookup_percpu<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let (map, cpu) = (c.map(0)?, c.args[2] as u32);
    let found = with_key(c, map, c.args[1], |memory, key| memory.lookup(map, key, cpu));
    Ok(Outcome::Value(found.flatten().unwrap_or(0)))
}

/// Copies a value, but for the fields that the kernel keeps for itself.
fn copy_value<H: Host>(c: &mut Call<'_, H>, map: MapId, to: u64, from: u64) -> bool {
    let size = c.memory.map_def(map).value_size;
    c.run.charge(u64::from(size));
    let (mut done, mut i) = (0, 0);
    loop {
        let field = c.memory.map_def(map).special.get(i).copied();
        let end = field.map_or(size, |field| field.offset.clamp(done, size));
        let at = u64::from(done);
        if !c.memory.copy(c.host, to + at, from.wrapping_add(at), end - done) {
            return false;
        }
        match field {
            Some(field) => done = end.saturating_add(field.size).min(size),
            None => return true,
        }
        i += 1;
    }
}

pub(super) fn update<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let (map, value, flags) = (c.map(0)?, c.args[2], c.args[3]);
    if c.memory.map_def(map).kind.is_outer() {
        return Err(c.fault("a map of maps is filled from outside"));
    }
    let cpu = c.cpu();
    let slot = with_key(c, map, c.args[1], |memory, key| memory.element(map, key, flags));
    match slot {
        None => Ok(bad_address()),
        Some(Err(errno)) => Ok(Outcome::errno(errno)),
        Some(Ok(slot)) => {
            let to = c.memory.value_address(map, slot, cpu);
            if !copy_value(c, map, to, value) {
                return Ok(bad_address());
            }
            c.memory.release_value(map, to);
            Ok(Outcome::Value(0))
        }
    }
}

pub(super) fn delete<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let map = c.map(0)?;
    let result = with_key(c, map, c.args[1], |memory, key| memory.delete(map, key));
    Ok(result.map_or_else(bad_address, Outcome::errno))
}

pub(super) fn push<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let (map, evicts) = (c.map(0)?, c.args[2] & 2 != 0);
    match c.memory.line_push(map, evicts) {
        Ok(to) if copy_value(c, map, to, c.args[1]) => Ok(Outcome::Value(0)),
        Ok(_) => Ok(bad_address()),
        Err(errno) => Ok(Outcome::errno(errno)),
    }
}

pub(super) fn next<H: Host>(c: &mut Call<'_, H>, peek: bool) -> Result<Outcome, Outcome> {
    let map = c.map(0)?;
    match c.memory.line_next(map, peek) {
        Ok(from) if copy_value(c, map, c.args[1], from) => Ok(Outcome::Value(0)),
        Ok(_) => Ok(bad_address()),
        Err(errno) => Ok(Outcome::errno(errno)),
    }
}

/// `bpf_task_storage_get(map, owner, value, flags)`
pub(super) fn storage_get<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let (map, owner) = (c.map(0)?, c.args[1]);
    let (value, flags) = (c.args[2], c.args[3]);
    if owner == 0 || !c.memory.map_def(map).kind.is_storage() {
        return Ok(Outcome::Value(0));
    }
    let key = owner.to_le_bytes();
    if let Some(slot) = c.memory.slot(map, &key) {
        return Ok(Outcome::Value(c.memory.value_address(map, slot, 0)));
    }
    if flags & CREATE == 0 {
        return Ok(Outcome::Value(0));
    }
    let Ok(slot) = c.memory.element(map, &key, 0) else {
        return Ok(Outcome::Value(0));
    };
    let to = c.memory.value_address(map, slot, 0);
    if value != 0 {
        copy_value(c, map, to, value);
    }
    Ok(Outcome::Value(to))
}

pub(super) fn storage_delete<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let map = c.map(0)?;
    Ok(Outcome::errno(c.memory.delete(map, &c.args[1].to_le_bytes())))
}

pub(super) fn ring_reserve<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let map = c.map(0)?;
    let len = u32::try_from(c.args[1]).ok();
    let record = len.and_then(|len| c.memory.ring_reserve(map, len));
    Ok(Outcome::Value(record.unwrap_or(0)))
}

pub(super) fn ring_output<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let (map, from) = (c.map(0)?, c.args[1]);
    let len = u32::try_from(c.args[2]).ok();
    let Some((len, to)) = len.and_then(|len| Some((len, c.memory.ring_reserve(map, len)?))) else {
        return Ok(Outcome::errno(errno::ENOSPC));
    };
    c.run.charge(u64::from(len));
    let is_copied = c.memory.copy(c.host, to, from, len);
    c.memory.ring_finish(to, is_copied);
    Ok(if is_copied { Outcome::Value(0) } else { bad_address() })
}

pub(super) fn ring_finish<H: Host>(c: &mut Call<'_, H>, is_ready: bool) -> Outcome {
    if c.memory.ring_finish(c.args[0], is_ready) {
        Outcome::Value(0)
    } else {
        c.fault("this is no reserved record")
    }
}

/// `bpf_ringbuf_query`: 0 is the bytes in use, 1 all bytes; positions are not told.
pub(super) fn ring_query<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let map = c.map(0)?;
    let (used, all) = c.memory.ring_room(map).unwrap_or((0, 0));
    Ok(Outcome::Value(match c.args[1] {
        0 => used,
        1 => all,
        _ => 0,
    }))
}

/// `bpf_arena_alloc_pages(map, address, count, node, flags)`; a wished address is not heeded.
pub(super) fn arena_alloc<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let map = c.map(0)?;
    let n = c.args[2] as u32;
    // The search for a gap looks at all pages.
    c.run.charge(u64::from(n) * 4096 + 64 * c.memory.arena_len(map));
    Ok(Outcome::Value(c.memory.arena_pages(map, n)))
}

pub(super) fn arena_free<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let map = c.map(0)?;
    if c.memory.map_def(map).kind == MapKind::Arena {
        c.run.charge(u64::from(c.args[2] as u32) * 4096);
        c.memory.arena_free(map, c.args[1], c.args[2] as u32);
    }
    Ok(Outcome::Value(0))
}

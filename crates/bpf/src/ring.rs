//! Ring buffers: records between programs and user space.
//!
//! The kernel maps the pages of a ring twice in a row, so that no record is cut by its end. Here
//! its region is twice as long, for the same reason.

use crate::map::{MapId, Store};
use crate::memory::{Memory, address, offset_of, region_of};
use std::collections::VecDeque;

/// `BPF_RINGBUF_HDR_SZ`
const HEADER_BYTES: u32 = 8;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    Busy,
    Ready,
    Discarded,
}

#[derive(Clone, Copy, Debug)]
struct Record {
    offset: u32,
    len: u32,
    state: State,
}

/// Which records there are, oldest first.
#[derive(Clone, Debug)]
pub(crate) struct Ring {
    len: u32,
    /// Bytes ever taken; the place of the next record is this modulo the length.
    produced: u64,
    used: u64,
    records: VecDeque<Record>,
}

fn room_of(len: u32) -> u64 {
    (u64::from(len) + u64::from(HEADER_BYTES)).next_multiple_of(8)
}

impl Ring {
    pub fn new(len: u32) -> Self {
        Self { len, produced: 0, used: 0, records: VecDeque::new() }
    }

    /// Where a record of this length goes. `spare` bytes stay free.
    fn reserve(&mut self, len: u32, spare: u64) -> Option<u32> {
        let room = room_of(len);
        if self.used + room + spare > u64::from(self.len) {
            return None;
        }
        let offset = (self.produced % u64::from(self.len)) as u32 + HEADER_BYTES;
        self.produced += room;
        self.used += room;
        self.records.push_back(Record { offset, len, state: State::Busy });
        Some(offset)
    }

    fn finish(&mut self, offset: u32, state: State) -> bool {
        let busy = |r: &&mut Record| r.offset == offset && r.state == State::Busy;
        match self.records.iter_mut().find(busy) {
            Some(record) => {
                record.state = state;
                true
            }
            None => false,
        }
    }

    /// The oldest record that was not discarded, if it is complete; the ring gets its room back.
    fn take(&mut self) -> Option<Record> {
        loop {
            let first = *self.records.front()?;
            if first.state == State::Busy {
                return None;
            }
            self.records.pop_front();
            self.used -= room_of(first.len);
            if first.state == State::Ready {
                return Some(first);
            }
        }
    }
}

impl Memory {
    fn ring(&mut self, map: MapId) -> Option<&mut Ring> {
        match &mut self.maps[map.0 as usize].store {
            Store::Ring(ring) => Some(ring),
            _ => None,
        }
    }

    /// The address of a new record, or `None` if there is no room.
    ///
    /// The kernel never fills a ring to its last byte (`__bpf_ringbuf_reserve`); user space does.
    pub(crate) fn ring_reserve(&mut self, map: MapId, len: u32) -> Option<u64> {
        self.ring_place(map, len, 1)
    }

    fn ring_place(&mut self, map: MapId, len: u32, spare: u64) -> Option<u64> {
        let offset = self.ring(map)?.reserve(len, spare)?;
        Some(address(self.maps[map.0 as usize].values, offset))
    }

    /// The record at this address is complete, or shall not be seen; false if there is none.
    pub(crate) fn ring_finish(&mut self, record: u64, is_ready: bool) -> bool {
        let owner = self.maps.iter_mut().find(|map| map.values == region_of(record));
        let state = if is_ready { State::Ready } else { State::Discarded };
        match owner.map(|map| &mut map.store) {
            Some(Store::Ring(ring)) => ring.finish(offset_of(record), state),
            _ => false,
        }
    }

    /// Bytes in use, and bytes in all.
    pub(crate) fn ring_room(&mut self, map: MapId) -> Option<(u64, u64)> {
        self.ring(map).map(|ring| (ring.used, u64::from(ring.len)))
    }

    /// Where the next record is, and how long; it is taken out.
    pub(crate) fn ring_next(&mut self, map: MapId) -> Option<(u64, u32)> {
        let record = self.ring(map)?.take()?;
        Some((address(self.maps[map.0 as usize].values, record.offset), record.len))
    }

    /// Takes the oldest record out of a ring buffer, as user space does.
    pub fn ring_take(&mut self, map: MapId) -> Option<Vec<u8>> {
        let (at, len) = self.ring_next(map)?;
        self.bytes(at, len as usize).map(<[u8]>::to_vec)
    }

    /// Puts a record into a user ring buffer; false if there is no room.
    pub fn ring_put(&mut self, map: MapId, record: &[u8]) -> bool {
        let len = u32::try_from(record.len()).ok();
        let Some(at) = len.and_then(|len| self.ring_place(map, len, 0)) else {
            return false;
        };
        if let Some(place) = self.bytes_mut(at, record.len()) {
            place.copy_from_slice(record);
        }
        self.ring_finish(at, true)
    }
}

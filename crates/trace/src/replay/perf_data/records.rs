//! The records of a `perf.data` in order of time.
//!
//! perf empties the buffers of the CPUs one after another, in rounds. What was written up to the
//! end of a round can be put into order at the end of the next one: then no older record comes any
//! more (`FINISHED_ROUND`, `tools/perf/util/ordered-events.c`).

use super::file::{Header, damaged};
use crate::replay::ReplayError;
use linux_perf_event_reader::{
    RawData, RawEventRecord, RecordParseInfo, RecordType, get_record_identifier,
    get_record_timestamp,
};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

type Endian = byteorder::LittleEndian;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 18;
/// Bytes of records that may wait for their round to end. perf's buffers have 4 MiB per CPU.
const PENDING_BYTES_MAX: usize = 1 << 30;
/// Kinds of records that perf itself adds.
const FINISHED_ROUND: u32 = 68;
const AUXTRACE: u32 = 71;
const COMPRESSED: u32 = 81;
const COMPRESSED2: u32 = 83;
const FIRST_OF_PERF: u32 = 64;

/// A record that waits for its turn.
struct Pending {
    /// Its time, ns; 0 if it has none.
    at: u64,
    kind: u32,
    misc: u16,
    event: usize,
    bytes: Range<usize>,
}

/// The records that are left.
pub(super) struct Records<'a, R> {
    header: &'a Header,
    input: BufReader<R>,
    /// Bytes that were not read yet.
    left: u64,
    /// Records in order up to `ready`, those that were taken first.
    pending: Vec<Pending>,
    taken: usize,
    ready: usize,
    /// What they contain.
    bytes: Vec<u8>,
    /// The latest time of this round and of those before it, ns.
    latest: u64,
    latest_before: u64,
}

impl<'a, R: Read + Seek> Records<'a, R> {
    pub(super) fn new(header: &'a Header, mut input: R) -> Result<Self, ReplayError> {
        input.seek(SeekFrom::Start(header.data.0))?;
        Ok(Self {
            header,
            input: BufReader::with_capacity(BUFFER_BYTES, input),
            left: header.data.1,
            pending: Vec::new(),
            taken: 0,
            ready: 0,
            bytes: Vec::new(),
            latest: 0,
            latest_before: 0,
        })
    }

    /// The next record of an event; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<RawEventRecord<'_>>, ReplayError> {
        while self.taken == self.ready {
            if self.left == 0 && self.pending.len() == self.taken {
                return Ok(None);
            }
            self.read_round()?;
        }
        let next = &self.pending[self.taken];
        self.taken += 1;
        let parse_info: RecordParseInfo = self.header.parse_infos[next.event];
        let data = RawData::from(&self.bytes[next.bytes.clone()]);
        let record_type = RecordType(next.kind);
        Ok(Some(RawEventRecord { record_type, misc: next.misc, data, parse_info }))
    }

    /// Reads up to the end of the next round.
    fn read_round(&mut self) -> Result<(), ReplayError> {
        self.forget_taken();
        while self.left > 0 {
            if self.read_record()? {
                let until = std::mem::replace(&mut self.latest_before, self.latest);
                self.pending.sort_by_key(|record| record.at);
                self.ready = self.pending.partition_point(|record| record.at <= until);
                if self.ready > 0 {
                    return Ok(());
                }
            }
        }
        self.pending.sort_by_key(|record| record.at);
        self.ready = self.pending.len();
        Ok(())
    }

    /// Moves the records that wait to the front.
    fn forget_taken(&mut self) {
        let mut kept = Vec::new();
        for record in &mut self.pending[self.taken..] {
            let start = kept.len();
            kept.extend_from_slice(&self.bytes[record.bytes.clone()]);
            record.bytes = start..kept.len();
        }
        self.bytes = kept;
        self.pending.drain(..self.taken);
        (self.taken, self.ready) = (0, 0);
    }

    /// Reads a record. True if it is the end of a round.
    fn read_record(&mut self) -> Result<bool, ReplayError> {
        let mut head = [0; 8];
        let cut_off = || damaged("it is cut off in a record");
        self.input.read_exact(&mut head).map_err(|_| cut_off())?;
        let [k0, k1, k2, k3, m0, m1, s0, s1] = head;
        let kind = u32::from_le_bytes([k0, k1, k2, k3]);
        let misc = u16::from_le_bytes([m0, m1]);
        let size = u16::from_le_bytes([s0, s1]);
        let body = usize::from(size).checked_sub(head.len());
        let body = body.ok_or_else(|| damaged("a record is shorter than its head"))?;
        self.left = self.left.checked_sub(u64::from(size)).ok_or_else(cut_off)?;
        let start = self.bytes.len();
        if start + body + self.pending.len() * size_of::<Pending>() > PENDING_BYTES_MAX {
            let why = "more than 1 GiB of records would have to wait for their round to end";
            return Err(super::file::other_format(why));
        }
        self.bytes.resize(start + body, 0);
        self.input.read_exact(&mut self.bytes[start..]).map_err(|_| cut_off())?;
        if kind >= FIRST_OF_PERF {
            self.bytes.truncate(start);
            return match kind {
                COMPRESSED | COMPRESSED2 | AUXTRACE => {
                    let why = "it holds compressed records or a hardware trace";
                    Err(super::file::other_format(why))
                }
                _ => Ok(kind == FINISHED_ROUND),
            };
        }
        self.keep(kind, misc, start);
        Ok(false)
    }

    /// Notes the record whose contents begin here.
    fn keep(&mut self, kind: u32, misc: u16, start: usize) {
        let bytes = start..self.bytes.len();
        let (header, data) = (self.header, || RawData::from(&self.bytes[bytes.clone()]));
        let kind = RecordType(kind);
        let id = header
            .has_ids
            .then(|| get_record_identifier::<Endian>(kind, data(), header.sample_id_all))
            .flatten();
        let event = id.and_then(|id| header.event_of.get(&id).copied()).unwrap_or(0);
        let info = &header.parse_infos[event];
        let at = get_record_timestamp::<Endian>(kind, data(), info).unwrap_or(0);
        self.latest = self.latest.max(at);
        self.pending.push(Pending { at, kind: kind.0, misc, event, bytes });
    }
}

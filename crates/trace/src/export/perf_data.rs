//! `perf.data`, for `perf sched timehist`, `latency`, `map` and `perf script`.
//!
//! ```text
//! header | ids | attributes | records ... | table of features | features
//! ```
//!
//! The header and the table hold places and lengths, so the header is written last. Records come in
//! order of time. A "round" is closed now and then: perf sorts the records of a round and the one
//! before, and need not keep the whole file in memory. All numbers are little-endian.

use super::event::{Event, What, Who};
use super::out_file::{OutFile, TraceError};
use super::sink::{Origin, Sink};
use super::tracepoint::{self, TRACEPOINTS};

const HEADER_BYTES: u64 = 104;
const ATTR_BYTES: u64 = 128;
/// An attribute and the place of its ids.
const ATTR_ENTRY_BYTES: u64 = ATTR_BYTES + 16;
const IDS_AT: u64 = HEADER_BYTES;
const ATTRS_AT: u64 = IDS_AT + 8 * TRACEPOINTS.len() as u64;
const DATA_AT: u64 = ATTRS_AT + ATTR_ENTRY_BYTES * TRACEPOINTS.len() as u64;

/// Records after which a round is closed.
const ROUND: u32 = 4096;

mod record {
    pub const COMM: u32 = 3;
    pub const EXIT: u32 = 4;
    pub const FORK: u32 = 7;
    pub const SAMPLE: u32 = 9;
    pub const FINISHED_ROUND: u32 = 68;
    /// The sample is one of the kernel's.
    pub const MISC_KERNEL: u16 = 1;
    /// The new name comes from `execve`.
    pub const MISC_COMM_EXEC: u16 = 1 << 13;
}

mod feature {
    pub const TRACING_DATA: usize = 1;
    pub const HOSTNAME: usize = 3;
    pub const OSRELEASE: usize = 4;
    pub const VERSION: usize = 5;
    pub const ARCH: usize = 6;
    pub const NRCPUS: usize = 7;
    pub const CMDLINE: usize = 11;
    pub const EVENT_DESC: usize = 12;
    pub const SAMPLE_TIME: usize = 21;
}

/// Writes perf.data.
pub struct PerfData {
    out: OutFile,
    origin: Origin,
    record: Vec<u8>,
    data_bytes: u64,
    in_round: u32,
    first: u64,
    last: u64,
}

impl PerfData {
    /// Writes to this file, which must be seekable.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(mut out: OutFile, origin: Origin) -> Result<Self, TraceError> {
        out.put(&[0; HEADER_BYTES as usize])?;
        let mut head = Vec::new();
        for id in 0..TRACEPOINTS.len() as u64 {
            put64(&mut head, id + 1);
        }
        for (i, tracepoint) in TRACEPOINTS.iter().enumerate() {
            attribute(&mut head, u64::from(tracepoint.id), i == 0);
            put64(&mut head, IDS_AT + 8 * i as u64);
            put64(&mut head, 8);
        }
        out.put(&head)?;
        let record = Vec::with_capacity(256);
        Ok(Self { out, origin, record, data_bytes: 0, in_round: 0, first: 0, last: 0 })
    }

    /// Begins a record; its length is filled in by [`PerfData::end`].
    fn begin(&mut self, kind: u32, misc: u16) {
        self.record.clear();
        put32(&mut self.record, kind);
        self.record.extend(misc.to_le_bytes());
        self.record.extend([0; 2]);
    }

    fn end(&mut self) -> Result<(), TraceError> {
        let bytes = self.record.len() as u16;
        self.record[6..8].copy_from_slice(&bytes.to_le_bytes());
        self.data_bytes += u64::from(bytes);
        self.out.put(&self.record)
    }

    /// What all records but samples end with.
    fn sample_id(&mut self, event: &Event, who: &Who) {
        // The fields in the order of `SAMPLE_TYPE`'s bits, but the identifier is last here.
        let r = &mut self.record;
        put32(r, who.pid.0);
        put32(r, who.pid.0);
        put64(r, event.at);
        put32(r, event.cpu.0);
        put32(r, 0);
        put64(r, 1);
    }

    fn sample(&mut self, event: &Event, kind: usize) -> Result<(), TraceError> {
        self.begin(record::SAMPLE, record::MISC_KERNEL);
        // The kernel counts a charge as so many events as it has ns (`__perf_count()`).
        let period = match event.what {
            What::StatRuntime { ns, .. } => ns,
            _ => 1,
        };
        // In a sample the identifier is first; the 0 is the instruction pointer.
        let r = &mut self.record;
        put64(r, kind as u64 + 1);
        put64(r, 0);
        put32(r, event.current.pid.0);
        put32(r, event.current.pid.0);
        put64(r, event.at);
        put32(r, event.cpu.0);
        put32(r, 0);
        put64(r, period);
        let length_at = r.len();
        put32(r, 0);
        tracepoint::encode(event, r);
        r.resize(r.len().next_multiple_of(8), 0);
        let raw = (r.len() - length_at - 4) as u32;
        r[length_at..length_at + 4].copy_from_slice(&raw.to_le_bytes());
        self.end()
    }

    fn renamed(&mut self, event: &Event, task: &Who) -> Result<(), TraceError> {
        self.begin(record::COMM, record::MISC_COMM_EXEC);
        put32(&mut self.record, task.pid.0);
        put32(&mut self.record, task.pid.0);
        self.record.extend(task.comm.bytes());
        self.sample_id(event, &event.current);
        self.end()
    }

    /// A fork or an exit.
    fn family(
        &mut self,
        event: &Event,
        kind: u32,
        child: u32,
        parent: u32,
    ) -> Result<(), TraceError> {
        self.begin(kind, 0);
        for pid in [child, parent, child, parent] {
            put32(&mut self.record, pid);
        }
        put64(&mut self.record, event.at);
        self.sample_id(event, &event.current);
        self.end()
    }

    fn close_round(&mut self) -> Result<(), TraceError> {
        self.in_round += 1;
        if self.in_round < ROUND {
            return Ok(());
        }
        self.in_round = 0;
        self.begin(record::FINISHED_ROUND, 0);
        self.end()
    }

    fn features(&self) -> Vec<(usize, Vec<u8>)> {
        let o = &self.origin;
        // Since version 0.6 a list of command names follows, which is empty here.
        let mut tracing = tracepoint::description("0.6");
        put64(&mut tracing, 0);
        let mut cpus = Vec::new();
        put32(&mut cpus, o.n_cpus);
        put32(&mut cpus, o.n_cpus);
        let mut command = Vec::new();
        put32(&mut command, o.command.len() as u32);
        o.command.iter().for_each(|word| string(&mut command, word));
        let mut times = Vec::new();
        put64(&mut times, self.first);
        put64(&mut times, self.last);
        let text = |s: &str| {
            let mut out = Vec::new();
            string(&mut out, s);
            out
        };
        vec![
            (feature::TRACING_DATA, tracing),
            (feature::HOSTNAME, text(&o.machine)),
            (feature::OSRELEASE, text(&o.release)),
            (feature::VERSION, text(&o.tool)),
            (feature::ARCH, text("x86_64")),
            (feature::NRCPUS, cpus),
            (feature::CMDLINE, command),
            (feature::EVENT_DESC, events()),
            (feature::SAMPLE_TIME, times),
        ]
    }

    fn header(&self, features: &[(usize, Vec<u8>)]) -> Vec<u8> {
        let mut header = b"PERFILE2".to_vec();
        put64(&mut header, HEADER_BYTES);
        put64(&mut header, ATTR_ENTRY_BYTES);
        put64(&mut header, ATTRS_AT);
        put64(&mut header, DATA_AT - ATTRS_AT);
        put64(&mut header, DATA_AT);
        put64(&mut header, self.data_bytes);
        // A table of event types, which perf has not used since 2013.
        put64(&mut header, 0);
        put64(&mut header, 0);
        let bits = features.iter().fold(0u64, |bits, (bit, _)| bits | 1 << bit);
        put64(&mut header, bits);
        header.resize(HEADER_BYTES as usize, 0);
        header
    }
}

impl Sink for PerfData {
    fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        match &event.what {
            What::Renamed { task } => self.renamed(event, task)?,
            What::Exit { task } => {
                let pid = task.pid.0;
                self.family(event, record::EXIT, pid, pid)?;
            }
            what => {
                let Some(kind) = tracepoint::index(what) else {
                    return Ok(());
                };
                if let What::Fork { parent, child } = what {
                    self.family(event, record::FORK, child.pid.0, parent.pid.0)?;
                }
                self.sample(event, kind)?;
            }
        }
        if self.first == 0 {
            self.first = event.at;
        }
        self.last = event.at;
        self.close_round()
    }

    fn finish(mut self: Box<Self>) -> Result<OutFile, TraceError> {
        let features = self.features();
        let mut table = Vec::new();
        let mut at = DATA_AT + self.data_bytes + 16 * features.len() as u64;
        for (_, payload) in &features {
            put64(&mut table, at);
            put64(&mut table, payload.len() as u64);
            at += payload.len() as u64;
        }
        self.out.put(&table)?;
        for (_, payload) in &features {
            self.out.put(payload)?;
        }
        self.out.seek(0)?;
        let header = self.header(&features);
        self.out.put(&header)?;
        Ok(self.out)
    }
}

/// A `perf_event_attr` of a tracepoint, as `perf sched record` makes it. The first one also asks
/// for forks, exits and names.
fn attribute(out: &mut Vec<u8>, config: u64, is_first: bool) {
    const TRACEPOINT: u32 = 2;
    /// IP, TID, TIME, CPU, PERIOD, RAW, IDENTIFIER.
    const SAMPLE_TYPE: u64 = 1 | 2 | 4 | 0x80 | 0x100 | 0x400 | 0x10000;
    const READ_ID: u64 = 4;
    /// disabled, inherit, `sample_id_all`, `exclude_guest`.
    const FLAGS: u64 = 1 | 2 | 1 << 18 | 1 << 20;
    /// comm, task, `comm_exec`.
    const SIDE: u64 = 1 << 9 | 1 << 13 | 1 << 24;
    let end = out.len() + ATTR_BYTES as usize;
    put32(out, TRACEPOINT);
    put32(out, ATTR_BYTES as u32);
    put64(out, config);
    put64(out, 1);
    put64(out, SAMPLE_TYPE);
    put64(out, READ_ID);
    put64(out, if is_first { FLAGS | SIDE } else { FLAGS });
    out.resize(end, 0);
}

/// The names of the attributes.
fn events() -> Vec<u8> {
    let mut out = Vec::new();
    put32(&mut out, TRACEPOINTS.len() as u32);
    put32(&mut out, ATTR_BYTES as u32);
    for (i, tracepoint) in TRACEPOINTS.iter().enumerate() {
        attribute(&mut out, u64::from(tracepoint.id), i == 0);
        put32(&mut out, 1);
        string(&mut out, &format!("sched:{}", tracepoint.name));
        put64(&mut out, i as u64 + 1);
    }
    out
}

/// A string of a feature: its padded length, and the bytes with at least one zero.
fn string(out: &mut Vec<u8>, text: &str) {
    let padded = (text.len() + 1).next_multiple_of(64);
    put32(out, padded as u32);
    let end = out.len() + padded;
    out.extend(text.as_bytes());
    out.resize(end, 0);
}

fn put32(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

fn put64(out: &mut Vec<u8>, number: u64) {
    out.extend(number.to_le_bytes());
}

//! The samples of a `perf.data` as events.

use super::file::{Feature, Header, damaged};
use super::format::{Kind, Layout, layouts};
use super::records::Records;
use crate::replay::ReplayError;
use crate::replay::event::{CPUS_MAX, Event, Left, Named, PID_MAX, What};
use linux_perf_event_reader::{CommonData, EventRecord, RawEventRecord, RecordType, SampleFormat};
use sim_core::{Context, Ns};
use std::collections::HashMap;
use std::io::{Read, Seek};
use topology::CpuId;

/// Bits of `common_flags` (`include/linux/trace_events.h`).
const FLAG_HARDIRQ: u8 = 0x08;
const FLAG_SOFTIRQ: u8 = 0x10;
const FLAG_NMI: u8 = 0x40;
/// The letters of a sleeper's state, from its lowest bit (`prev_state`, since Linux 4.14), and the
/// bit of a task that was preempted.
const STATES: &[u8; 8] = b"SDTtXZPI";
const PREEMPTED: i64 = 0x100;
/// The latest time, ns.
const AT_MAX: Ns = 1 << 62;
/// The longest name that is kept; the kernel's have 15 bytes.
const NAME_BYTES: usize = 64;

/// The events that are left.
pub(super) struct Events<'a, R> {
    records: Records<'a, R>,
    layouts: HashMap<u16, Layout>,
    /// The names of threads, by tid.
    comms: HashMap<u32, Vec<u8>>,
    /// The present event's fields.
    raw: Vec<u8>,
}

/// What every record tells.
#[derive(Clone, Copy)]
struct Place {
    cpu: CpuId,
    at: Ns,
    tid: Option<u32>,
    process: Option<u32>,
}

impl<'a, R: Read + Seek> Events<'a, R> {
    pub(super) fn new(header: &'a Header, input: R) -> Result<Self, ReplayError> {
        let none = || {
            let how = "record with `perf sched record`";
            ReplayError::Whole(format!("there are no events of the scheduler in it; {how}"))
        };
        let section = header.feature(Feature::TracingData).ok_or_else(none)?;
        let layouts =
            layouts(section).ok_or_else(|| damaged("its formats of events cannot be read"))?;
        if !layouts.values().any(|layout| layout.kind == Kind::Switch) {
            return Err(none());
        }
        let records = Records::new(header, input)?;
        Ok(Self { records, layouts, comms: HashMap::new(), raw: Vec::new() })
    }

    /// The next event; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<Event<'_>>, ReplayError> {
        let too_short = || damaged("a record is shorter than its contents");
        loop {
            let Some(record) = self.records.next()? else {
                return Ok(None);
            };
            let common = record.common_data().map_err(|_| too_short())?;
            if !chain_fits(&record) {
                return Err(too_short());
            }
            match record.parse().map_err(|_| too_short())? {
                EventRecord::Sample(sample) => {
                    let Some(raw) = sample.raw else { continue };
                    self.raw.clear();
                    self.raw.extend_from_slice(&raw.as_slice());
                    let place = place(&common)?;
                    return self.event(place).map(Some);
                }
                EventRecord::Comm(comm) if is_pid(comm.tid as u32) => {
                    let (tid, name) = (comm.tid as u32, comm.name.as_slice());
                    set(&mut self.comms, Named { comm: &name, tid });
                }
                EventRecord::Fork(fork) if is_pid(fork.tid as u32) => {
                    let name = self.comms.get(&(fork.ptid as u32)).cloned();
                    self.comms.insert(fork.tid as u32, name.unwrap_or_default());
                }
                EventRecord::Lost(lost) => {
                    let (place, what) = (place(&common)?, What::Lost(lost.count));
                    return Ok(Some(place.event(b"", None, what)));
                }
                _ => {}
            }
        }
    }

    /// The event whose fields were read last.
    fn event(&mut self, place: Place) -> Result<Event<'_>, ReplayError> {
        let too_short = || damaged("an event is shorter than its fields, or has impossible ones");
        let [id0, id1, flags, ..] = self.raw[..] else {
            return Err(too_short());
        };
        let Some(layout) = self.layouts.get(&u16::from_le_bytes([id0, id1])) else {
            let comm = comm(&self.comms, place.tid);
            return Ok(place.event(comm, None, What::Other));
        };
        // The interrupt that brings a wake-up to its CPU is not the one that made it: who woke is
        // seen at `sched_waking` only.
        let context = (layout.kind == Kind::Waking).then_some(match flags {
            _ if flags & (FLAG_HARDIRQ | FLAG_NMI) != 0 => Context::Hardirq,
            _ if flags & FLAG_SOFTIRQ != 0 => Context::Softirq,
            _ => Context::Task,
        });
        let what = what(layout, &self.raw).ok_or_else(too_short)?;
        if let What::Switch { prev, next, .. } = what {
            for task in [prev, next] {
                set(&mut self.comms, task);
            }
        }
        Ok(place.event(comm(&self.comms, place.tid), context, what))
    }
}

impl Place {
    fn event<'e>(self, comm: &'e [u8], context: Option<Context>, what: What<'e>) -> Event<'e> {
        let Self { cpu, at, tid, process } = self;
        Event { comm, tid, process, cpu, at, context, what }
    }
}

/// True if the call chain of a sample is no longer than the sample. The reader multiplies its
/// length before it looks.
fn chain_fits(record: &RawEventRecord<'_>) -> bool {
    let format = record.parse_info.sample_format;
    if record.record_type != RecordType::SAMPLE || !format.contains(SampleFormat::CALLCHAIN) {
        return true;
    }
    let before = [
        SampleFormat::IDENTIFIER,
        SampleFormat::IP,
        SampleFormat::TID,
        SampleFormat::TIME,
        SampleFormat::ADDR,
        SampleFormat::ID,
        SampleFormat::STREAM_ID,
        SampleFormat::CPU,
        SampleFormat::PERIOD,
    ];
    let mut data = record.data;
    let skipped = data.skip(8 * before.into_iter().filter(|f| format.contains(*f)).count());
    let length = skipped.and_then(|()| data.read_u64::<byteorder::LittleEndian>());
    length.is_ok_and(|n| n <= data.len() as u64 / 8)
}

/// True if Linux may have such a pid.
fn is_pid(pid: u32) -> bool {
    u64::from(pid) <= PID_MAX
}

/// Where and when a record was made.
fn place(common: &CommonData) -> Result<Place, ReplayError> {
    let pid = |pid: Option<i32>| pid.and_then(|pid| u32::try_from(pid).ok());
    if [common.pid, common.tid].into_iter().filter_map(pid).any(|pid| !is_pid(pid)) {
        return Err(damaged("a sample's pid is above 4194304"));
    }
    let (Some(cpu), Some(at)) = (common.cpu, common.timestamp) else {
        return Err(damaged("a sample tells no CPU or no time"));
    };
    if u64::from(cpu) >= CPUS_MAX {
        return Err(damaged("a sample's CPU is not below 8192"));
    }
    if at >= AT_MAX {
        return Err(damaged("a sample's time is more than a century after the start"));
    }
    Ok(Place { cpu: CpuId(cpu), at, tid: pid(common.tid), process: pid(common.pid) })
}

/// Notes the name of a thread.
fn set(comms: &mut HashMap<u32, Vec<u8>>, task: Named<'_>) {
    let known = comms.entry(task.tid).or_default();
    if known != task.comm {
        known.clear();
        known.extend_from_slice(&task.comm[..task.comm.len().min(NAME_BYTES)]);
    }
}

fn comm(comms: &HashMap<u32, Vec<u8>>, tid: Option<u32>) -> &[u8] {
    tid.and_then(|tid| comms.get(&tid)).map_or(b"", Vec::as_slice)
}

/// What happened, by the fields of an event; `None` if it is shorter than they are.
fn what<'e>(layout: &Layout, raw: &'e [u8]) -> Option<What<'e>> {
    let field = |i: usize| layout.fields[i];
    let task = |i: usize| {
        let tid = u32::try_from(field(i + 1).number(raw)?).ok().filter(|tid| is_pid(*tid))?;
        Some(Named { comm: field(i).text(raw)?, tid })
    };
    // As in the text: 0 to 139, and -1 for a deadline task.
    let prio = |i: usize| Some(field(i).number(raw)?.clamp(-1, 139) as i32);
    let target = || Some(CpuId(u32::try_from(field(3).number(raw)?).ok()?));
    Some(match layout.kind {
        Kind::Switch => {
            let (prev, next) = (task(0)?, task(4)?);
            let (prev_prio, next_prio) = (prio(2)?, prio(6)?);
            What::Switch { prev, prev_prio, state: left(field(3).number(raw)?), next, next_prio }
        }
        Kind::Waking | Kind::Wakeup => {
            What::Wake { task: task(0)?, prio: prio(2)?, target: target()? }
        }
        Kind::WakeupNew => What::WakeNew { task: task(0)?, prio: prio(2)?, target: target()? },
        Kind::Runtime => {
            let ns = u64::try_from(field(2).number(raw)?).ok()?;
            What::Runtime { task: task(0)?, ns }
        }
        Kind::Fork => What::Fork { parent: task(0)?, child: task(2)? },
    })
}

/// How a task leaves its CPU, by `prev_state`.
fn left(state: i64) -> Left {
    let letter = STATES.iter().enumerate().find(|(bit, _)| state >> bit & 1 == 1);
    Left { state: letter.map_or(b'R', |(_, letter)| *letter), preempted: state & PREEMPTED != 0 }
}

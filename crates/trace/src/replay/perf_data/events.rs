//! The samples of a `perf.data` as events.

use super::file::{Feature, Header, damaged};
use super::records::Records;
use crate::replay::ReplayError;
use crate::replay::event::{CPUS_MAX, Event, Named, What};
use crate::replay::events_of_file::EventsOfFile;
use crate::replay::file_fields::FileFields;
use crate::replay::ftrace::{Formats, Names, is_pid};
use linux_perf_event_reader::{CommonData, EventRecord, RawEventRecord, RecordType, SampleFormat};
use sim_core::{Context, Ns};
use std::io::{Read, Seek};
use topology::CpuId;

/// What the section of formats begins with (`tools/perf/util/trace-event-info.c`).
const MAGIC: &[u8] = b"\x17\x08\x44tracing";
/// The latest time, ns.
const AT_MAX: Ns = 1 << 62;

/// The events that are left.
pub(super) struct Events<'a, R> {
    records: Records<'a, R>,
    formats: Formats,
    names: Names,
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
        let formats =
            formats(section).ok_or_else(|| damaged("its formats of events cannot be read"))?;
        if !formats.have_switches() {
            return Err(none());
        }
        let records = Records::new(header, input)?;
        Ok(Self { records, formats, names: Names::default(), raw: Vec::new() })
    }

    /// The event whose fields were read last.
    fn event(&mut self, place: Place) -> Result<Event<'_>, ReplayError> {
        let too_short = || damaged("an event is shorter than its fields, or has impossible ones");
        let (what, context) = self.formats.event(&self.raw).ok_or_else(too_short)?;
        self.names.see(&what);
        Ok(place.event(self.names.of(place.tid), context, what))
    }
}

impl<R: Read + Seek> EventsOfFile for Events<'_, R> {
    fn next(&mut self) -> Result<Option<Event<'_>>, ReplayError> {
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
                    self.names.set(Named { comm: &name, tid });
                    // What perf writes of threads that were there before has no time.
                    let own =
                        common.timestamp.is_some_and(|at| at > 0) && common.tid == Some(comm.tid);
                    if own && let Ok(place) = place(&common) {
                        let name = self.names.of(place.tid);
                        return Ok(Some(place.event(name, None, What::Renamed)));
                    }
                }
                EventRecord::Fork(fork) if is_pid(fork.tid as u32) => {
                    self.names.forked(fork.ptid as u32, fork.tid as u32);
                }
                EventRecord::Lost(lost) => {
                    let (place, what) = (place(&common)?, What::Lost(lost.count));
                    return Ok(Some(place.event(b"", None, what)));
                }
                _ => {}
            }
        }
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

/// The formats in the section of them, which begins as a trace.dat does.
fn formats(section: &[u8]) -> Option<Formats> {
    let mut fields = FileFields::of(section);
    (fields.bytes(MAGIC.len() as u64)? == MAGIC).then_some(())?;
    fields.text()?;
    // Byte order, the size of a long, and that of a page.
    fields.skip(6)?;
    for _ in ["header_page", "header_event"] {
        fields.text()?;
        fields.skip_block()?;
    }
    for _ in 0..fields.u32()? {
        fields.skip_block()?;
    }
    Formats::of_systems(&mut fields)
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

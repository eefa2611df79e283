//! The frame of a `perf.data`: its header, what each event's samples look like, and sections about
//! the machine (`tools/perf/Documentation/perf.data-file-format.txt`).

use super::MAGIC;
use super::bytes::Bytes;
use crate::replay::ReplayError;
use linux_perf_event_reader::{
    AttrFlags, Endianness, PerfEventAttr, RecordParseInfo, SampleFormat,
};
use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom};

/// Size of the header of a file; in a pipe it is 16 bytes.
const HEADER_BYTES: u64 = 104;
/// Bytes that a section about the recording may have. A format text of an event has 1 KiB.
const SECTION_BYTES_MAX: u64 = 1 << 26;
/// Events that a file may have.
const EVENTS_MAX: usize = 1 << 16;
/// Bits of the header's set of sections.
const FEATURES: u32 = 256;

/// A section about the recording, by its number in perf's `HEADER_*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Feature {
    TracingData = 1,
    CpuDesc = 8,
    CpuId = 9,
    CpuTopology = 13,
    NumaTopology = 14,
    Cache = 20,
}

impl Feature {
    const READ: [Self; 6] = [
        Self::TracingData,
        Self::CpuDesc,
        Self::CpuId,
        Self::CpuTopology,
        Self::NumaTopology,
        Self::Cache,
    ];
}

#[derive(Clone, Copy, Debug)]
struct Section {
    offset: u64,
    bytes: u64,
}

/// What stands around the records.
pub(super) struct Header {
    features: Vec<(u32, Vec<u8>)>,
    /// Where the records are, and how many bytes.
    pub data: (u64, u64),
    /// How records are read, by event.
    pub parse_infos: Vec<RecordParseInfo>,
    /// Which event a record of this id belongs to.
    pub event_of: HashMap<u64, usize>,
    /// True if records begin with the id of their event. Otherwise all events' are alike.
    pub has_ids: bool,
    /// True if records that are no samples have ids, too.
    pub sample_id_all: bool,
}

impl Header {
    /// Reads all but the records.
    pub(super) fn read(input: &mut (impl Read + Seek)) -> Result<Self, ReplayError> {
        let file_bytes = input.seek(SeekFrom::End(0))?;
        let mut head = [0; HEADER_BYTES as usize];
        input.rewind()?;
        input.read_exact(&mut head).map_err(|_| damaged("it is cut off in its header"))?;
        let mut rest = Bytes(&head);
        if rest.take(8) != Some(MAGIC) {
            return Err(other_format("it does not begin with `PERFILE2`"));
        }
        if rest.u64() != Some(HEADER_BYTES) {
            return Err(other_format("it was written into a pipe"));
        }
        let attr_bytes = rest.u64().unwrap_or(0);
        let mut section = || section(&mut rest, file_bytes);
        let (attrs, data) = (section()?, section()?);
        if data.bytes == 0 {
            return Err(damaged("it has no records; perf did not come to its end"));
        }
        section()?;
        let set = rest.0;
        let has = |bit: u32| set[bit as usize / 8] >> (bit % 8) & 1 == 1;
        let mut header = Self {
            features: Vec::new(),
            data: (data.offset, data.bytes),
            parse_infos: Vec::new(),
            event_of: HashMap::new(),
            has_ids: true,
            sample_id_all: true,
        };
        let bits: Vec<u32> = (0..FEATURES).filter(|bit| has(*bit)).collect();
        let table = Section { offset: data.offset + data.bytes, bytes: 16 * bits.len() as u64 };
        let table = bytes_of(input, table)?;
        let mut rest = Bytes(&table);
        for bit in bits {
            let section = self::section(&mut rest, file_bytes)?;
            if Feature::READ.iter().any(|read| *read as u32 == bit) {
                header.features.push((bit, bytes_of(input, section)?));
            }
        }
        header.read_attrs(input, attrs, attr_bytes, file_bytes)?;
        Ok(header)
    }

    /// The contents of a section, if it is there.
    pub(super) fn feature(&self, feature: Feature) -> Option<&[u8]> {
        let found = self.features.iter().find(|(bit, _)| *bit == feature as u32);
        found.map(|(_, bytes)| bytes.as_slice())
    }

    /// The events that were recorded: their attributes, and the ids of their records.
    fn read_attrs(
        &mut self,
        input: &mut (impl Read + Seek),
        attrs: Section,
        attr_bytes: u64,
        file_bytes: u64,
    ) -> Result<(), ReplayError> {
        let text = bytes_of(input, attrs)?;
        let size = usize::try_from(attr_bytes).ok().filter(|n| *n > 16 && *n <= text.len());
        let size = size.ok_or_else(|| damaged("it names no event"))?;
        let mut first: Option<SampleFormat> = None;
        let mut ids_bytes = 0;
        for (event, attr) in text.chunks_exact(size).take(EVENTS_MAX).enumerate() {
            let (attr, ids) = attr.split_at(size - 16);
            let (attr, _) = PerfEventAttr::parse::<_, byteorder::LittleEndian>(attr)
                .map_err(|_| damaged("an event's attributes cannot be read"))?;
            let format = attr.sample_format;
            if format.contains(SampleFormat::READ) {
                return Err(other_format("its samples hold counters"));
            }
            self.has_ids &= format.contains(SampleFormat::IDENTIFIER);
            if !self.has_ids && *first.get_or_insert(format) != format {
                return Err(other_format("its events have no common place for their ids"));
            }
            first = first.or(Some(format));
            self.sample_id_all &= attr.flags.contains(AttrFlags::SAMPLE_ID_ALL);
            self.parse_infos.push(RecordParseInfo::new(&attr, Endianness::LittleEndian));
            let ids = section(&mut Bytes(ids), file_bytes)?;
            ids_bytes += ids.bytes;
            if ids_bytes > SECTION_BYTES_MAX {
                return Err(damaged("its events have more than 64 MiB of ids"));
            }
            let ids = bytes_of(input, ids)?;
            let mut ids = Bytes(&ids);
            while let Some(id) = ids.u64() {
                self.event_of.insert(id, event);
            }
        }
        Ok(())
    }
}

/// Where a section is, if it is inside of the file.
fn section(rest: &mut Bytes<'_>, file_bytes: u64) -> Result<Section, ReplayError> {
    let read = |rest: &mut Bytes<'_>| Some(Section { offset: rest.u64()?, bytes: rest.u64()? });
    let inside = |s: &Section| s.offset.checked_add(s.bytes).is_some_and(|end| end <= file_bytes);
    read(rest).filter(inside).ok_or_else(|| damaged("a section of it lies beyond its end"))
}

fn bytes_of(input: &mut (impl Read + Seek), section: Section) -> Result<Vec<u8>, ReplayError> {
    if section.bytes > SECTION_BYTES_MAX {
        return Err(damaged("a section of its header has more than 64 MiB"));
    }
    input.seek(SeekFrom::Start(section.offset))?;
    let mut bytes = Vec::new();
    input.take(section.bytes).read_to_end(&mut bytes)?;
    if bytes.len() as u64 != section.bytes {
        return Err(damaged("it is cut off in its header"));
    }
    Ok(bytes)
}

/// The file contradicts itself.
pub(super) fn damaged(why: &str) -> ReplayError {
    ReplayError::Whole(format!("this perf.data is damaged: {why}"))
}

/// The file is a whole one, which only perf can read.
pub(super) fn other_format(why: &str) -> ReplayError {
    let help = "`perf script --ns` prints it as text that can be replayed";
    ReplayError::Whole(format!("this perf.data cannot be read here: {why}; {help}"))
}

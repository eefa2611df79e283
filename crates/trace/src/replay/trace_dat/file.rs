//! The frame of a `trace.dat`: formats of events, how its pages lie in memory, and where each CPU's
//! are (trace-cmd.dat.v6(5) and trace-cmd.dat.v7(5)).

use super::page::PageLayout;
use super::unpack::Compression;
use super::{MAGIC, damaged, other_format, sections};
use crate::replay::ReplayError;
use crate::replay::event::CPUS_MAX;
use crate::replay::file_fields::FileFields;
use crate::replay::ftrace::Formats;
use std::io::{Cursor, Read, Seek, SeekFrom};
use topology::CpuId;

/// Options, in version 7 also the numbers of the sections that they name.
const BUFFER: u16 = 3;
const TRACE_CLOCK: u16 = 4;
const TSC_TO_NS: u16 = 14;
const HEADER_INFO: u16 = 16;
const EVENT_FORMATS: u16 = 18;
const BUFFER_TEXT: u16 = 22;

/// The names of kinds of contents in version 6 have ten bytes.
const KIND_BYTES: u64 = 10;

/// Clocks that count nanoseconds (`trace_clocks`, `kernel/trace/trace.c`).
const CLOCKS_IN_NS: [&[u8]; 7] =
    [b"local", b"global", b"perf", b"mono", b"mono_raw", b"boot", b"tai"];
const TSC: &[u8] = b"x86-tsc";

/// Where the pages of a CPU are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct CpuPages {
    pub cpu: CpuId,
    pub offset: u64,
    pub bytes: u64,
}

/// How a clock that does not count nanoseconds is converted: `ticks * multiplier >> shift`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Scale {
    pub multiplier: u32,
    pub shift: u32,
}

/// What stands around the pages.
pub(super) struct Header {
    pub formats: Formats,
    pub layout: PageLayout,
    /// Those of CPUs that have pages.
    pub cpus: Vec<CpuPages>,
    /// How the pages are compressed.
    pub compression: Compression,
    pub scale: Option<Scale>,
}

/// What a header says before it is checked.
#[derive(Default)]
struct Told {
    formats: Option<Formats>,
    header_page: Vec<u8>,
    page_bytes: u64,
    cpus: Vec<CpuPages>,
    clock: Vec<u8>,
    scale: Option<Scale>,
    /// It has the text of a latency tracer.
    has_text: bool,
}

impl Header {
    /// Reads all but the pages.
    pub(super) fn read(input: &mut (impl Read + Seek)) -> Result<Self, ReplayError> {
        let file_bytes = input.seek(SeekFrom::End(0))?;
        let cut_off = || damaged("it is cut off in its header");
        let mut fields = FileFields::at(&mut *input, 0).ok_or_else(cut_off)?;
        if fields.bytes(MAGIC.len() as u64).as_deref() != Some(MAGIC) {
            let help = "`trace-cmd record -e sched` writes one";
            return Err(other_format("it does not begin as one", help));
        }
        let version = fields.text().ok_or_else(cut_off)?;
        let is_big_endian = fields.u8().ok_or_else(cut_off)? != 0;
        fields.u8().ok_or_else(cut_off)?;
        if is_big_endian {
            let help = "`perf sched record` and `perf script --ns` make a text that can be read";
            return Err(other_format("a big-endian machine wrote it", help));
        }
        let page_bytes = u64::from(fields.u32().ok_or_else(cut_off)?);
        let mut told = Told { page_bytes, ..Told::default() };
        let compression = match version.as_slice() {
            b"6" => {
                told.version_6(&mut fields).ok_or_else(cut_off)?;
                Compression::None
            }
            b"7" => {
                let name = fields.text().ok_or_else(cut_off)?;
                fields.text().ok_or_else(cut_off)?;
                let options = fields.u64().ok_or_else(cut_off)?;
                drop(fields);
                told.version_7(input, options, Compression::named(&name)?)?
            }
            _ => {
                let help = "`trace-cmd convert --file-version 7` writes it as another one";
                return Err(other_format("its version is neither 6 nor 7", help));
            }
        };
        told.checked(file_bytes, compression)
    }
}

impl Told {
    /// The rest of a file of version 6, in which one thing comes after the other.
    fn version_6<R: Read + Seek>(&mut self, fields: &mut FileFields<R>) -> Option<()> {
        self.header_page = header_page(fields)?;
        for _ in 0..fields.u32()? {
            fields.skip_block()?;
        }
        self.formats = Some(Formats::of_systems(fields)?);
        // Symbols of the kernel, texts of trace_printk(), names of commands.
        for _ in ["kallsyms", "printk"] {
            let bytes = fields.u32()?;
            fields.skip(u64::from(bytes))?;
        }
        fields.skip_block()?;
        let n_cpus = fields.u32()?;
        let mut kind = fields.bytes(KIND_BYTES)?;
        if kind == b"options  \0" {
            self.options_of_6(fields)?;
            kind = fields.bytes(KIND_BYTES)?;
        }
        self.has_text = kind == b"latency  \0";
        if self.has_text {
            return Some(());
        }
        for cpu in 0..n_cpus {
            let (offset, bytes) = (fields.u64()?, fields.u64()?);
            self.has_pages(CpuPages { cpu: CpuId(cpu), offset, bytes });
        }
        (kind == b"flyrecord\0").then_some(())
    }

    fn options_of_6<R: Read + Seek>(&mut self, fields: &mut FileFields<R>) -> Option<()> {
        loop {
            let id = fields.u16()?;
            if id == 0 {
                return Some(());
            }
            let bytes = fields.u32()?;
            let option = fields.bytes(u64::from(bytes))?;
            self.option(id, &option);
        }
    }

    /// The rest of a file of version 7. Returns how its pages are compressed.
    fn version_7(
        &mut self,
        input: &mut (impl Read + Seek),
        options: u64,
        compression: Compression,
    ) -> Result<Compression, ReplayError> {
        let (mut header_info, mut formats, mut buffers) = (None, None, Vec::new());
        sections::for_each_option(&mut *input, options, compression, |id, option| {
            let place = || FileFields::of(option).u64();
            match id {
                HEADER_INFO => header_info = place(),
                EVENT_FORMATS => formats = place(),
                BUFFER => buffers.push(option.to_vec()),
                _ => self.option(id, option),
            }
        })?;
        let none = |what| move || damaged(what);
        let place = header_info.ok_or_else(none("it does not describe its pages"))?;
        let section = sections::contents(&mut *input, place, HEADER_INFO, compression)?;
        self.header_page = header_page(&mut FileFields::of(&section))
            .ok_or_else(none("it does not describe its pages"))?;
        let place = formats.ok_or_else(none("it has no formats of events"))?;
        let section = sections::contents(&mut *input, place, EVENT_FORMATS, compression)?;
        self.formats = Formats::of_systems(&mut FileFields::of(&section));
        // Of several buffers the first one that has pages counts: the main one is the first.
        for option in buffers {
            let of_buffer = self.buffer(&mut FileFields::of(&option));
            let place = of_buffer.ok_or_else(none("its list of CPUs cannot be read"))?;
            if !self.cpus.is_empty() {
                let is_compressed = sections::is_compressed(&mut *input, place)
                    .ok_or_else(none("a section of it lies beyond its end"))?;
                return Ok(if is_compressed { compression } else { Compression::None });
            }
        }
        Ok(Compression::None)
    }

    /// A buffer of version 7: its clock, and where each CPU's pages are. Returns where its section
    /// is.
    fn buffer(&mut self, fields: &mut FileFields<Cursor<&[u8]>>) -> Option<u64> {
        let place = fields.u64()?;
        fields.text()?;
        self.clock = fields.text()?;
        self.page_bytes = u64::from(fields.u32()?);
        for _ in 0..fields.u32()? {
            let cpu = CpuId(fields.u32()?);
            let (offset, bytes) = (fields.u64()?, fields.u64()?);
            self.has_pages(CpuPages { cpu, offset, bytes });
        }
        Some(place)
    }

    /// An option that both versions have. Others say nothing that changes a replay: a shift of all
    /// times is none.
    fn option(&mut self, id: u16, option: &[u8]) {
        match id {
            TRACE_CLOCK if self.clock.is_empty() => self.clock = chosen(option).to_vec(),
            TSC_TO_NS => {
                let mut fields = FileFields::of(option);
                let scale = fields.u32().zip(fields.u32());
                self.scale = scale.map(|(multiplier, shift)| Scale { multiplier, shift });
            }
            BUFFER_TEXT => self.has_text = true,
            _ => {}
        }
    }

    fn has_pages(&mut self, cpu: CpuPages) {
        if cpu.bytes > 0 {
            self.cpus.push(cpu);
        }
    }

    fn checked(self, file_bytes: u64, compression: Compression) -> Result<Header, ReplayError> {
        let record = "record with `trace-cmd record -e sched`";
        if self.cpus.is_empty() && self.has_text {
            return Err(other_format("it holds the text of a latency tracer", record));
        }
        let formats = self.formats.ok_or_else(|| damaged("its formats cannot be read"))?;
        if self.cpus.is_empty() || !formats.have_switches() {
            let message = format!("there are no events of the scheduler in it; {record}");
            return Err(ReplayError::Whole(message));
        }
        let mut pages = 0;
        for CpuPages { cpu, offset, bytes } in &self.cpus {
            if u64::from(cpu.0) >= CPUS_MAX {
                return Err(damaged("a CPU of it is not below 8192"));
            }
            if offset.checked_add(*bytes).is_none_or(|end| end > file_bytes) {
                return Err(damaged(&format!("the pages of CPU {cpu} lie beyond its end")));
            }
            pages += bytes;
            if pages > file_bytes {
                return Err(damaged("its CPUs have more pages than it has room for"));
            }
        }
        let layout = std::str::from_utf8(&self.header_page)
            .ok()
            .and_then(|text| PageLayout::new(text, self.page_bytes));
        let layout = layout.ok_or_else(|| damaged("it does not describe its pages"))?;
        let scale = scale(&self.clock, self.scale)?;
        Ok(Header { formats, layout, cpus: self.cpus, compression, scale })
    }
}

/// The kernel's description of its pages; that of their entries is passed over.
fn header_page<R: Read + Seek>(fields: &mut FileFields<R>) -> Option<Vec<u8>> {
    (fields.text()? == b"header_page").then_some(())?;
    let page = fields.block()?;
    (fields.text()? == b"header_event").then_some(())?;
    fields.skip_block()?;
    Some(page)
}

/// The clock that is marked in a list such as `[local] global mono`, or all of the text.
fn chosen(text: &[u8]) -> &[u8] {
    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
    let marked = text.split(|byte| *byte == b'[').nth(1);
    let marked = marked.and_then(|rest| rest.split(|byte| *byte == b']').next());
    marked.unwrap_or(text).trim_ascii()
}

/// How times by this clock become nanoseconds; `None` if they are. A file that names no clock has
/// the default one.
fn scale(clock: &[u8], scale: Option<Scale>) -> Result<Option<Scale>, ReplayError> {
    if clock.is_empty() || CLOCKS_IN_NS.contains(&clock) {
        return Ok(None);
    }
    if clock == TSC
        && let Some(scale) = scale.filter(|scale| scale.shift < 64 && scale.multiplier > 0)
    {
        return Ok(Some(scale));
    }
    let name: String = String::from_utf8_lossy(clock).chars().take(20).collect();
    let why = format!("its clock `{}` does not count nanoseconds", name.escape_debug());
    Err(other_format(&why, "record with `trace-cmd record -C mono -e sched`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_in_brackets_is_the_one() {
        assert_eq!(chosen(b"local [global] mono\n\0"), b"global");
        assert_eq!(chosen(b"mono_raw\0"), b"mono_raw");
    }

    #[test]
    fn a_clock_must_count_nanoseconds_or_say_how_long_it_takes() {
        let tsc = Scale { multiplier: 5, shift: 3 };
        assert_eq!(scale(b"local", Some(tsc)).unwrap(), None);
        assert_eq!(scale(TSC, Some(tsc)).unwrap(), Some(tsc));
        for (clock, tsc) in
            [(&b"counter"[..], Some(tsc)), (TSC, None), (TSC, Some(Scale { shift: 64, ..tsc }))]
        {
            let told = scale(clock, tsc).unwrap_err().to_string();
            assert!(told.contains("does not count nanoseconds"), "{told}");
        }
    }
}

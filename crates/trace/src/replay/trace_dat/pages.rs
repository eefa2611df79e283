//! The entries of one CPU, page by page. A few pages of each CPU are kept at a time: in a
//! compressed file those of one piece.

use super::file::{CpuPages, Header};
use super::page::{Entry, Page, PageLayout};
use super::unpack::{Compression, Unpacker};
use super::{damaged, other_format};
use crate::replay::ReplayError;
use std::io::{Read, Seek, SeekFrom};
use topology::CpuId;

/// Bytes that are read at once: of all CPUs together, and of one.
const READ_BYTES: usize = 1 << 26;
const READ_BYTES_OF_CPU: usize = 1 << 18;
/// Bytes of a piece, before and after; trace-cmd's have ten pages.
const PIECE_BYTES_MAX: usize = 1 << 24;
/// Bytes of all CPUs' pages that are kept at a time.
const KEPT_BYTES_MAX: usize = 1 << 30;

/// What all CPUs read with.
pub(super) struct Reader<R> {
    input: R,
    layout: PageLayout,
    compression: Compression,
    unpacker: Unpacker,
    packed: Vec<u8>,
    /// Bytes of pages that are read at once if they are not compressed.
    window: usize,
    /// Bytes that all CPUs keep.
    kept: usize,
}

impl<R: Read + Seek> Reader<R> {
    pub(super) fn new(header: &Header, input: R) -> Self {
        let (page, n_cpus) = (header.layout.bytes, header.cpus.len().max(1));
        let window = (READ_BYTES / n_cpus).min(READ_BYTES_OF_CPU);
        Self {
            input,
            layout: header.layout,
            compression: header.compression,
            unpacker: Unpacker::new(header.compression),
            packed: Vec::new(),
            window: (window / page).max(1) * page,
            kept: 0,
        }
    }

    /// Reads what comes next at a CPU's place into `pages`.
    fn read(&mut self, place: &mut Place, pages: &mut Vec<u8>) -> Result<(), ReplayError> {
        let (packed, bytes) = match self.compression {
            Compression::None => (None, place.left.min(self.window as u64) as usize),
            _ => {
                let [a, b, c, d, e, f, g, h] = self.read_array(place)?;
                let packed = u32::from_le_bytes([a, b, c, d]);
                (Some(packed), u32::from_le_bytes([e, f, g, h]) as usize)
            }
        };
        let kept = self.kept - pages.len() + bytes;
        let is_large = bytes.max(packed.unwrap_or(0) as usize) > PIECE_BYTES_MAX;
        if is_large || kept > KEPT_BYTES_MAX {
            let help = "`trace-cmd convert --file-version 6` writes it in pages";
            return Err(other_format("its compressed pieces are too large", help));
        }
        self.kept = kept;
        pages.resize(bytes, 0);
        let Some(packed) = packed else {
            return self.read_exact(place, pages);
        };
        let mut piece = std::mem::take(&mut self.packed);
        piece.resize(packed as usize, 0);
        self.read_exact(place, &mut piece)?;
        self.unpacker.unpack(&piece, pages)?;
        self.packed = piece;
        Ok(())
    }

    fn read_array<const N: usize>(&mut self, place: &mut Place) -> Result<[u8; N], ReplayError> {
        let mut bytes = [0; N];
        self.read_exact(place, &mut bytes)?;
        Ok(bytes)
    }

    fn read_exact(&mut self, place: &mut Place, bytes: &mut [u8]) -> Result<(), ReplayError> {
        let n = bytes.len() as u64;
        place.left = place.left.checked_sub(n).ok_or_else(cut_off)?;
        self.input.seek(SeekFrom::Start(place.at))?;
        self.input.read_exact(bytes).map_err(|_| cut_off())?;
        place.at += n;
        Ok(())
    }
}

fn cut_off() -> ReplayError {
    damaged("it is cut off in its pages")
}

/// Where a CPU's next bytes are, and how many are left.
struct Place {
    at: u64,
    left: u64,
}

/// One CPU.
pub(super) struct CpuEntries {
    pub cpu: CpuId,
    place: Place,
    /// Compressed pieces that are left.
    pieces: u32,
    /// What was read last, where its present page begins, and that page's number in the CPU's.
    pages: Vec<u8>,
    page_at: usize,
    number: u64,
    page: Option<Page>,
    /// The time of the last entry.
    last: u64,
    /// The entry that is next.
    pub entry: Option<Entry>,
}

impl CpuEntries {
    pub(super) fn new<R: Read + Seek>(
        cpu: CpuPages,
        reader: &mut Reader<R>,
    ) -> Result<Self, ReplayError> {
        let mut place = Place { at: cpu.offset, left: cpu.bytes };
        let mut pieces = 0;
        if reader.compression != Compression::None {
            // The number of bytes may be without this one's.
            place.left += 4;
            pieces = u32::from_le_bytes(reader.read_array(&mut place)?);
        }
        let (pages, cpu) = (Vec::new(), cpu.cpu);
        let (page, entry) = (None, None);
        Ok(Self { cpu, place, pieces, pages, page_at: 0, number: 0, page, last: 0, entry })
    }

    /// Goes to the next entry. Returns its time; `None` after the last one.
    pub(super) fn advance<R: Read + Seek>(
        &mut self,
        reader: &mut Reader<R>,
    ) -> Result<Option<u64>, ReplayError> {
        loop {
            let bytes = page_of(&self.pages, self.page_at, reader.layout);
            if let Some(page) = &mut self.page {
                let next = page.next(bytes).map_err(|why| self.damaged(why))?;
                if let Some((at, entry)) = next {
                    if at < self.last {
                        return Err(self.damaged("time runs backwards in it"));
                    }
                    (self.last, self.entry) = (at, Some(entry));
                    return Ok(Some(at));
                }
                self.page_at += reader.layout.bytes;
            }
            if self.page_at >= self.pages.len() && !self.read(reader)? {
                (self.page, self.entry) = (None, None);
                return Ok(None);
            }
            self.number += 1;
            let bytes = page_of(&self.pages, self.page_at, reader.layout);
            self.page = Some(Page::open(bytes, reader.layout).map_err(|why| self.damaged(why))?);
        }
    }

    /// The record of the entry that is next, if it is an event.
    pub(super) fn record(&self, layout: PageLayout) -> &[u8] {
        match &self.entry {
            Some(Entry::Event(range)) => {
                page_of(&self.pages, self.page_at, layout).get(range.clone()).unwrap_or_default()
            }
            _ => &[],
        }
    }

    /// Reads further pages. False if there are none.
    fn read<R: Read + Seek>(&mut self, reader: &mut Reader<R>) -> Result<bool, ReplayError> {
        self.page_at = 0;
        let is_over = match reader.compression {
            Compression::None => self.place.left == 0,
            _ => self.pieces == 0,
        };
        if is_over {
            reader.kept -= self.pages.len();
            self.pages = Vec::new();
            return Ok(false);
        }
        self.pieces = self.pieces.saturating_sub(1);
        reader.read(&mut self.place, &mut self.pages)?;
        if self.pages.is_empty() {
            return Err(self.damaged("the next one is empty"));
        }
        Ok(true)
    }

    /// The file contradicts itself in the present page.
    pub(super) fn damaged(&self, why: &str) -> ReplayError {
        damaged(&format!("page {} of CPU {}: {why}", self.number, self.cpu))
    }
}

/// The page that begins here, shorter if it is cut off.
fn page_of(pages: &[u8], at: usize, layout: PageLayout) -> &[u8] {
    let rest = pages.get(at..).unwrap_or_default();
    &rest[..rest.len().min(layout.bytes)]
}

//! A page of the kernel's ring buffer: the time of its first entry, how many bytes are used, and
//! entries (`include/linux/ring_buffer.h`, `kernel/trace/ring_buffer.c`, Linux 6.12).

use crate::replay::ftrace::field;
use std::ops::Range;

/// `type_len` of entries without an event. Others are an event's length in words, or 0.
const PADDING: u32 = 29;
const TIME_EXTEND: u32 = 30;
const TIME_STAMP: u32 = 31;
const TYPE_BITS: u32 = 5;
const DELTA_BITS: u32 = 27;
/// The bits of a time that an entry with an absolute one does not have (`TS_MSB`).
const STAMP_BITS: u32 = 59;

/// Bits of a page's number of used bytes: events before it were lost, and how many they were is
/// stored behind the last one (`RB_MISSED_EVENTS`, `RB_MISSED_STORED`).
const MISSED: u64 = 1 << 31;
const MISSED_STORED: u64 = 1 << 30;
/// The number itself.
const USED: u64 = (1 << 27) - 1;

/// Bytes that a page may have: the kernel counts those that are written with 20 bits.
const PAGE_BYTES_MAX: u64 = 1 << 20;

/// How pages lie in memory, as the recorded kernel says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PageLayout {
    /// Bytes of a page.
    pub bytes: usize,
    /// Where the number of used bytes is, and how long it is.
    used_at: usize,
    used_bytes: usize,
    /// Where the entries begin.
    data_at: usize,
}

impl PageLayout {
    /// The layout in the kernel's `events/header_page`; `None` if there is no such one.
    pub(super) fn new(header_page: &str, bytes: u64) -> Option<Self> {
        let (commit, data) = (field(header_page, "commit")?, field(header_page, "data")?);
        let layout = Self {
            bytes: usize::try_from(bytes).ok().filter(|_| bytes <= PAGE_BYTES_MAX)?,
            used_at: commit.offset,
            used_bytes: commit.bytes,
            data_at: data.offset,
        };
        let is_sound = matches!(commit.bytes, 4 | 8)
            && (8..=64).contains(&commit.offset)
            && (commit.offset + commit.bytes..=128).contains(&data.offset)
            && layout.data_at + 4 <= layout.bytes;
        is_sound.then_some(layout)
    }
}

/// What an entry is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    /// An event; its record has these bytes of the page.
    Event(Range<usize>),
    /// Events were overwritten, so many or at least one.
    Lost(u64),
}

/// The entries of a page that are left.
#[derive(Debug)]
pub(super) struct Page {
    lost: Option<u64>,
    /// The next entry, and the end of the last one.
    next: usize,
    end: usize,
    /// The time of the last entry.
    now: u64,
}

impl Page {
    pub(super) fn open(page: &[u8], layout: PageLayout) -> Result<Self, &'static str> {
        let now = number(page, 0, 8).ok_or("it is cut off")?;
        let used = number(page, layout.used_at, layout.used_bytes).ok_or("it is cut off")?;
        let end = layout.data_at + (used & USED) as usize;
        if end > page.len() {
            return Err("it says that more of it is used than it has");
        }
        let lost = (used & MISSED != 0).then(|| {
            let stored = number(page, end, layout.used_bytes).filter(|_| used & MISSED_STORED != 0);
            stored.unwrap_or(0).max(1)
        });
        Ok(Self { lost, next: layout.data_at, end, now })
    }

    /// The next entry and its time.
    pub(super) fn next(&mut self, page: &[u8]) -> Result<Option<(u64, Entry)>, &'static str> {
        if let Some(lost) = self.lost.take() {
            return Ok(Some((self.now, Entry::Lost(lost))));
        }
        while self.next < self.end {
            if let Some(record) = self.entry(&page[..self.end])? {
                return Ok(Some((self.now, Entry::Event(record))));
            }
        }
        Ok(None)
    }

    /// Reads an entry; `None` if it is no event.
    fn entry(&mut self, page: &[u8]) -> Result<Option<Range<usize>>, &'static str> {
        let too_long = "its last entry is longer than the page";
        let word = |at: usize| number(page, at, 4).ok_or(too_long);
        let head = word(self.next)? as u32;
        let (kind, delta) = (head & ((1 << TYPE_BITS) - 1), u64::from(head >> TYPE_BITS));
        let data = self.next + 4;
        let (start, bytes) = match kind {
            // What is left of the page is not used.
            PADDING if delta == 0 => (data, page.len() - data),
            // An event that was given up. One nanosecond only says that the entry is not of the
            // kind above (`rb_event_discard()`, `rb_read_data_buffer()`).
            PADDING => {
                self.passes(if delta == 1 { 0 } else { delta })?;
                (data, word(data)? as usize)
            }
            TIME_EXTEND => {
                self.passes(word(data)? << DELTA_BITS | delta)?;
                (data, 4)
            }
            TIME_STAMP => {
                self.now = full_time(word(data)? << DELTA_BITS | delta, self.now)?;
                (data, 4)
            }
            0 => {
                self.passes(delta)?;
                let bytes = (word(data)? as usize).checked_sub(4);
                (data + 4, bytes.ok_or("an entry is shorter than its head")?)
            }
            words => {
                self.passes(delta)?;
                (data, 4 * words as usize)
            }
        };
        let end = start + bytes;
        if end > page.len() {
            return Err(too_long);
        }
        self.next = end.next_multiple_of(4);
        Ok((kind < PADDING).then_some(start..end))
    }

    fn passes(&mut self, delta: u64) -> Result<(), &'static str> {
        self.now = self.now.checked_add(delta).ok_or(TOO_LATE)?;
        Ok(())
    }
}

const TOO_LATE: &str = "its time is too late";

/// The time of an entry that tells only its lower bits, after `before` (`rb_fix_abs_ts()`).
fn full_time(stamp: u64, before: u64) -> Result<u64, &'static str> {
    let upper = before >> STAMP_BITS << STAMP_BITS;
    match stamp | upper {
        time if upper != 0 && time < before => time.checked_add(1 << STAMP_BITS).ok_or(TOO_LATE),
        time => Ok(time),
    }
}

/// The little-endian number of so many bytes; `None` beyond the end.
fn number(page: &[u8], at: usize, bytes: usize) -> Option<u64> {
    let mut wide = [0; 8];
    wide.get_mut(..bytes)?.copy_from_slice(page.get(at..)?.get(..bytes)?);
    Some(u64::from_le_bytes(wide))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER_PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n";

    fn layout() -> PageLayout {
        PageLayout::new(HEADER_PAGE, 64).unwrap()
    }

    /// A page of 64 bytes that begins at 1000 ns, with these words and flags.
    fn page(words: &[u32], flags: u64) -> Vec<u8> {
        let used = (4 * words.len() as u64) | flags;
        let mut page = [1000u64.to_le_bytes(), used.to_le_bytes()].concat();
        page.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        page.resize(64, 0);
        page
    }

    fn entries(page: &[u8]) -> Result<Vec<(u64, Entry)>, &'static str> {
        let mut rest = Page::open(page, layout())?;
        std::iter::from_fn(|| rest.next(page).transpose()).collect()
    }

    fn head(kind: u32, delta: u32) -> u32 {
        kind | delta << TYPE_BITS
    }

    #[test]
    fn events_have_a_length_in_words_or_bytes() {
        let words = [head(2, 5), 7, 8, head(0, 1), 4 + 6, 9, 9, head(1, 0), 1];
        let events = [(1005, 20..28), (1006, 36..42), (1006, 48..52)];
        let events = events.map(|(at, record)| (at, Entry::Event(record)));
        assert_eq!(entries(&page(&words, 0)).unwrap(), events);
    }

    #[test]
    fn time_is_extended_or_told_as_a_whole() {
        let extended = [head(TIME_EXTEND, 3), 2, head(1, 1), 0];
        let at = 1000 + (2 << 27) + 3 + 1;
        assert_eq!(entries(&page(&extended, 0)).unwrap(), [(at, Entry::Event(28..32))]);
        let stamped = [head(TIME_STAMP, 3), 2, head(1, 1), 0];
        let at = (2 << 27) + 3 + 1;
        assert_eq!(entries(&page(&stamped, 0)).unwrap(), [(at, Entry::Event(28..32))]);
        // The uppermost bits are those of the time before, or one more.
        let before = 3 << 59 | 100;
        assert_eq!(full_time(101, before), Ok(3 << 59 | 101));
        assert_eq!(full_time(99, before), Ok(4 << 59 | 99));
        assert_eq!(full_time(0, u64::MAX), Err(TOO_LATE));
    }

    #[test]
    fn padding_is_passed_over() {
        let given_up = [head(PADDING, 1), 8, 0, head(PADDING, 7), 4, head(1, 1), 0];
        assert_eq!(entries(&page(&given_up, 0)).unwrap(), [(1008, Entry::Event(40..44))]);
        let rest = [head(1, 1), 0, head(PADDING, 0), 77, 77];
        assert_eq!(entries(&page(&rest, 0)).unwrap(), [(1001, Entry::Event(20..24))]);
    }

    #[test]
    fn lost_events_are_counted_if_there_was_room_for_it() {
        let words = [head(1, 1), 0];
        let event = (1001, Entry::Event(20..24));
        let mut counted = page(&words, MISSED | MISSED_STORED);
        counted[24..32].copy_from_slice(&17u64.to_le_bytes());
        assert_eq!(entries(&counted).unwrap(), [(1000, Entry::Lost(17)), event.clone()]);
        assert_eq!(entries(&page(&words, MISSED)).unwrap(), [(1000, Entry::Lost(1)), event]);
    }

    #[test]
    fn what_is_longer_than_its_page_is_told() {
        let of = |words: &[u32]| entries(&page(words, 0)).unwrap_err();
        assert_eq!(of(&[head(3, 0), 1, 2]), "its last entry is longer than the page");
        assert_eq!(of(&[head(0, 0)]), "its last entry is longer than the page");
        assert_eq!(of(&[head(0, 0), 3]), "an entry is shorter than its head");
        assert_eq!(of(&[head(PADDING, 2), u32::MAX]), "its last entry is longer than the page");
        let mut long = page(&[], 49);
        assert_eq!(entries(&long), Err("it says that more of it is used than it has"));
        long.truncate(15);
        assert_eq!(entries(&long), Err("it is cut off"));
    }

    #[test]
    fn other_kernels_have_other_layouts() {
        let of_32_bits = HEADER_PAGE.replace("offset:8;\tsize:8", "offset:8;\tsize:4");
        let layout = PageLayout::new(&of_32_bits.replace("offset:16", "offset:12"), 4096).unwrap();
        assert_eq!((layout.used_bytes, layout.data_at), (4, 12));
        for (text, bytes) in [("", 4096), (HEADER_PAGE, 16), (HEADER_PAGE, 1 << 21)] {
            assert_eq!(PageLayout::new(text, bytes), None);
        }
        let overlapping = HEADER_PAGE.replace("offset:16", "offset:12");
        assert_eq!(PageLayout::new(&overlapping, 4096), None);
    }
}

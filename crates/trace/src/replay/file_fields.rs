//! Numbers and texts of a little-endian file, one after another. Only what is asked for is read,
//! and never more than the file has; `None` is beyond its end.

use std::io::{BufRead, BufReader, Cursor, Read, Seek, SeekFrom};

/// The longest text that ends with a zero.
const TEXT_BYTES_MAX: u64 = 1 << 12;
/// The longest block that is read as a whole.
const BLOCK_BYTES_MAX: u64 = 1 << 26;

/// The rest of a file.
pub(super) struct FileFields<R> {
    input: BufReader<R>,
    left: u64,
}

impl<'a> FileFields<Cursor<&'a [u8]>> {
    /// The fields of some bytes.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { input: BufReader::new(Cursor::new(bytes)), left: bytes.len() as u64 }
    }
}

impl<R: Read + Seek> FileFields<R> {
    /// The fields from this place on.
    pub(super) fn at(mut input: R, place: u64) -> Option<Self> {
        let end = input.seek(SeekFrom::End(0)).ok()?;
        let left = end.checked_sub(place)?;
        input.seek(SeekFrom::Start(place)).ok()?;
        Some(Self { input: BufReader::new(input), left })
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let mut bytes = [0; N];
        self.left = self.left.checked_sub(N as u64)?;
        self.input.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    pub(super) fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// So many bytes, if they are not too many to be kept.
    pub(super) fn bytes(&mut self, n: u64) -> Option<Vec<u8>> {
        self.left = self.left.checked_sub(n).filter(|_| n <= BLOCK_BYTES_MAX)?;
        let mut bytes = vec![0; usize::try_from(n).ok()?];
        self.input.read_exact(&mut bytes).ok()?;
        Some(bytes)
    }

    /// As many bytes as the 64-bit number before them says.
    pub(super) fn block(&mut self) -> Option<Vec<u8>> {
        let n = self.u64()?;
        self.bytes(n)
    }

    /// Passes over so many bytes.
    pub(super) fn skip(&mut self, n: u64) -> Option<()> {
        self.left = self.left.checked_sub(n)?;
        self.input.seek_relative(i64::try_from(n).ok()?).ok()
    }

    /// Passes over a block.
    pub(super) fn skip_block(&mut self) -> Option<()> {
        let n = self.u64()?;
        self.skip(n)
    }

    /// A text that ends with a zero.
    pub(super) fn text(&mut self) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        let most = self.left.min(TEXT_BYTES_MAX);
        self.input.by_ref().take(most).read_until(0, &mut text).ok()?;
        self.left -= text.len() as u64;
        (text.pop() == Some(0)).then_some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_beyond_the_end() {
        let bytes = b"\x01\x02\x00name\0\x03\0\0\0\0\0\0\0abc";
        let mut fields = FileFields::of(bytes);
        assert_eq!((fields.u8(), fields.u16()), (Some(1), Some(2)));
        assert_eq!(fields.text().as_deref(), Some(&b"name"[..]));
        assert_eq!(fields.block().as_deref(), Some(&b"abc"[..]));
        assert_eq!((fields.u8(), fields.text(), fields.skip(1)), (None, None, None));
        let mut fields = FileFields::at(Cursor::new(bytes), 3).unwrap();
        assert_eq!((fields.skip(5), fields.skip_block(), fields.u8()), (Some(()), Some(()), None));
        assert!(FileFields::at(Cursor::new(bytes), 20).is_none());
        assert_eq!(FileFields::of(&[0xff; 12]).block(), None);
    }
}

//! A recording's file: which format it has, and its content, unpacked if it is compressed as a
//! whole.
//!
//! A text is unpacked as it is read, and may come through a pipe. Recorders' own formats are read
//! in several passes and from several places, so what they unpack to is kept in memory, up to
//! [`UNPACKED_MAX`].

use super::Format;
use super::packed::{Packing, Unpacker};
use std::io::{self, Cursor, Read, Seek};

/// Bytes that a compressed file of a recorder's own format may unpack to. A kilobyte may claim to
/// be a megabyte, so a file that holds too much is refused before it takes all memory.
const UNPACKED_MAX: u64 = 1 << 30;
/// U+FEFF in UTF-8, with which some editors of other systems begin a text.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A file whose beginning has been read.
pub struct RecordingFile<R> {
    format: Format,
    /// The first bytes of the content, and what is behind them.
    start: Vec<u8>,
    rest: Rest<R>,
}

enum Rest<R> {
    Plain(R),
    Packed(Unpacker<io::Chain<Cursor<Vec<u8>>, R>>),
}

/// What can be read at any place.
pub trait ReadSeek: Read + Seek {}

impl<T: Read + Seek> ReadSeek for T {}

impl<R: Read> RecordingFile<R> {
    /// Looks at how a file begins. Nothing of it may have been read yet.
    ///
    /// # Errors
    /// It cannot be read, or its beginning not be unpacked.
    pub fn new(mut file: R) -> io::Result<Self> {
        let mut start = beginning(&mut file)?;
        let rest = match Packing::of(&start) {
            None => Rest::Plain(file),
            Some(packing) => {
                let packed = Cursor::new(start).chain(file);
                let mut unpacker = Unpacker::new(packing, packed);
                start = beginning(&mut unpacker)?;
                Rest::Packed(unpacker)
            }
        };
        Ok(Self { format: Format::of(&start), start, rest })
    }

    /// The format of its content.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The content from its beginning to its end, without a byte order mark.
    pub fn into_stream<'a>(self) -> Box<dyn Read + 'a>
    where
        R: 'a,
    {
        let mut start = Cursor::new(self.start);
        if start.get_ref().starts_with(BYTE_ORDER_MARK) {
            start.set_position(BYTE_ORDER_MARK.len() as u64);
        }
        match self.rest {
            Rest::Plain(file) => Box::new(start.chain(file)),
            Rest::Packed(unpacker) => Box::new(start.chain(unpacker)),
        }
    }
}

impl<R: Read + Seek> RecordingFile<R> {
    /// The content at any place: the file itself, or in memory what it unpacks to.
    ///
    /// # Errors
    /// The file is a pipe, is damaged, or unpacks to more than 1 GiB.
    pub fn into_whole<'a>(self) -> io::Result<Box<dyn ReadSeek + 'a>>
    where
        R: 'a,
    {
        match self.rest {
            Rest::Plain(mut file) => {
                file.rewind()?;
                Ok(Box::new(file))
            }
            Rest::Packed(unpacker) => {
                let content = unpacked(self.start, unpacker, UNPACKED_MAX)?;
                Ok(Box::new(Cursor::new(content)))
            }
        }
    }
}

/// The bytes that tell a format, or all there are.
fn beginning(input: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut start = Vec::new();
    input.take(Format::MAGIC_BYTES as u64).read_to_end(&mut start)?;
    Ok(start)
}

/// All that a file unpacks to, if it is no more than `bytes_max`.
fn unpacked<R: Read>(
    mut content: Vec<u8>,
    mut unpacker: Unpacker<R>,
    bytes_max: u64,
) -> io::Result<Vec<u8>> {
    let room = bytes_max - content.len() as u64;
    let n = (&mut unpacker).take(room + 1).read_to_end(&mut content)?;
    if n as u64 > room {
        let (name, mib) = (unpacker.packing().name(), bytes_max >> 20);
        let why =
            format!("it is {name} and holds more than {mib} MiB: unpack it with `{name} -dk`");
        return Err(io::Error::other(why));
    }
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn gzipped(content: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::default());
        packer.write_all(content).unwrap();
        packer.finish().unwrap()
    }

    fn file(bytes: &[u8]) -> RecordingFile<Cursor<&[u8]>> {
        RecordingFile::new(Cursor::new(bytes)).unwrap()
    }

    fn all(mut input: impl Read) -> Vec<u8> {
        let mut content = Vec::new();
        input.read_to_end(&mut content).unwrap();
        content
    }

    #[test]
    fn a_compressed_file_has_the_format_and_the_content_of_its_contents() {
        for content in [&b"PERFILE2 and more"[..], b"make 1000 [000] ", b"x", b""] {
            let packed = gzipped(content);
            assert_eq!(file(&packed).format(), Format::of(content));
            assert_eq!(all(file(&packed).into_stream()), content);
            assert_eq!(all(file(&packed).into_whole().unwrap()), content);
            assert_eq!(all(file(content).into_stream()), content);
            assert_eq!(all(file(content).into_whole().unwrap()), content);
        }
    }

    #[test]
    fn a_text_begins_behind_its_byte_order_mark() {
        let text = "\u{feff}make 1000 [000]".as_bytes();
        assert_eq!(all(file(text).into_stream()), b"make 1000 [000]");
        assert_eq!(all(file(&gzipped(text)).into_stream()), b"make 1000 [000]");
    }

    /// Packed twice is a text that nobody can read, not a file within a file.
    #[test]
    fn only_one_layer_is_unpacked() {
        let once = gzipped(b"PERFILE2");
        let twice = gzipped(&once);
        assert_eq!(file(&twice).format(), Format::Text);
        assert_eq!(all(file(&twice).into_stream()), once);
    }

    #[test]
    fn what_holds_too_much_is_not_kept_in_memory() {
        let of = |n_bytes: usize| {
            let packed = gzipped(&vec![0; n_bytes]);
            let mut unpacker = Unpacker::new(Packing::Gzip, Cursor::new(packed));
            let start = beginning(&mut unpacker).unwrap();
            unpacked(start, unpacker, 1 << 20).map(|content| content.len())
        };
        assert_eq!(of(1 << 20).unwrap(), 1 << 20);
        let why = of((1 << 20) + 1).unwrap_err().to_string();
        assert_eq!(why, "it is gzip and holds more than 1 MiB: unpack it with `gzip -dk`");
    }
}

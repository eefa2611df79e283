//! Files that are compressed as a whole, by gzip or zstd: told by how they begin, and unpacked as
//! they are read.
//!
//! Both may have several pieces one after another, as `cat` and parallel packers make them. Sums of
//! what was packed are checked. What is packed inside of a recorder's own format is that format's.

use flate2::bufread::MultiGzDecoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};
use std::io::{self, BufRead, BufReader, Read};

/// Packed bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 18;
/// How far back zstd may refer: as much as `zstd -d` takes without being asked.
const WINDOW_BYTES_MAX: u64 = 1 << 27;

/// How a file is compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packing {
    Gzip,
    Zstd,
}

impl Packing {
    /// The compression of a file that begins so.
    pub(super) fn of(start: &[u8]) -> Option<Self> {
        match start {
            [0x1f, 0x8b, ..] => Some(Self::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Self::Zstd),
            _ => None,
        }
    }

    /// Its name, and that of the program that undoes it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
        }
    }
}

/// Unpacks a file as it is read. Errors say how it is compressed, and where it is damaged.
pub(super) struct Unpacker<R> {
    packing: Packing,
    decoder: Decoder<Packed<R>>,
}

enum Decoder<R> {
    Gzip(Box<MultiGzDecoder<R>>),
    Zstd(Box<Frames<R>>),
}

impl<R: Read> Unpacker<R> {
    /// `input` is the whole file, from its beginning.
    pub(super) fn new(packing: Packing, input: R) -> Self {
        let input = BufReader::with_capacity(BUFFER_BYTES, input);
        let packed = Packed { input, at: 0, has_ended: false, failed: None };
        let decoder = match packing {
            Packing::Gzip => Decoder::Gzip(Box::new(MultiGzDecoder::new(packed))),
            Packing::Zstd => Decoder::Zstd(Box::new(Frames::new(packed))),
        };
        Self { packing, decoder }
    }

    pub(super) fn packing(&self) -> Packing {
        self.packing
    }

    /// What a decoder's error means for the file.
    fn told(&mut self, error: io::Error) -> io::Error {
        let packed = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.get_mut(),
            Decoder::Zstd(frames) => &mut frames.input,
        };
        if let Some(failed) = packed.failed.take() {
            return failed;
        }
        let (name, at) = (self.packing.name(), packed.at);
        if packed.has_ended {
            let why = format!("it is {name} and ends early, at byte {at}: is it a whole copy?");
            return io::Error::new(io::ErrorKind::UnexpectedEof, why);
        }
        let why = format!("it is {name} and damaged before byte {at}: {error}");
        io::Error::new(io::ErrorKind::InvalidData, why)
    }
}

impl<R: Read> Read for Unpacker<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.decoder {
            Decoder::Gzip(decoder) => decoder.read(into),
            Decoder::Zstd(frames) => frames.read(into),
        };
        read.map_err(|error| self.told(error))
    }
}

/// The file, and how far it was taken. Decoders hide errors of reading in their own.
struct Packed<R> {
    input: BufReader<R>,
    at: u64,
    /// True if more was asked for than there is.
    has_ended: bool,
    /// Why it could not be read.
    failed: Option<io::Error>,
}

impl<R: Read> BufRead for Packed<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        match self.input.fill_buf() {
            Ok(bytes) => self.has_ended = bytes.is_empty(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) => {
                self.failed = Some(error);
                return Err(io::ErrorKind::Other.into());
            }
        }
        Ok(self.input.buffer())
    }

    fn consume(&mut self, n: usize) {
        self.at += n as u64;
        self.input.consume(n);
    }
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let n = self.fill_buf()?.read(into)?;
        self.consume(n);
        Ok(n)
    }
}

/// The frames of zstd, one after another.
struct Frames<R> {
    decoder: FrameDecoder,
    input: R,
}

impl<R: BufRead> Frames<R> {
    fn new(input: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(WINDOW_BYTES_MAX);
        Self { decoder, input }
    }

    /// Begins the next frame. False if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        if self.input.fill_buf()?.is_empty() {
            return Ok(false);
        }
        match self.decoder.init(&mut self.input) {
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => self.skip(u64::from(length)),
            begun => begun.map_err(io::Error::other),
        }?;
        Ok(true)
    }

    /// Passes over a frame of something else: parallel packers put an index there.
    fn skip(&mut self, length: u64) -> io::Result<()> {
        let skipped = io::copy(&mut self.input.by_ref().take(length), &mut io::sink())?;
        if skipped < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(()) }
    }

    /// Compares the sum of a frame that is unpacked, if it has one.
    fn check(&self) -> io::Result<()> {
        let written = self.decoder.get_checksum_from_data();
        if written.is_some() && written != self.decoder.get_calculated_checksum() {
            return Err(io::Error::other("a checksum is another one"));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for Frames<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if self.decoder.can_collect() > 0 {
                return self.decoder.read(into);
            }
            if self.decoder.is_finished() {
                self.check()?;
                if !self.begin()? {
                    return Ok(0);
                }
            } else {
                let one = BlockDecodingStrategy::UptoBlocks(1);
                self.decoder.decode_blocks(&mut self.input, one).map_err(io::Error::other)?;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Write;

    const BOTH: [Packing; 2] = [Packing::Gzip, Packing::Zstd];

    fn packed(packing: Packing, content: &[u8]) -> Vec<u8> {
        match packing {
            Packing::Gzip => {
                let mut packer = GzEncoder::new(Vec::new(), Compression::default());
                packer.write_all(content).unwrap();
                packer.finish().unwrap()
            }
            Packing::Zstd => compress_to_vec(content, CompressionLevel::Fastest),
        }
    }

    fn unpacked(packing: Packing, input: impl Read) -> io::Result<Vec<u8>> {
        let mut content = Vec::new();
        Unpacker::new(packing, input).read_to_end(&mut content).map(|_| content)
    }

    /// Some lines that are not all alike.
    fn text() -> Vec<u8> {
        (0..300).flat_map(|n| format!("make {} [000] {}\n", n * n, n % 7).into_bytes()).collect()
    }

    #[test]
    fn pieces_are_joined() {
        for packing in BOTH {
            let pieces = [&b"one "[..], b"", b"two"].map(|piece| packed(packing, piece));
            assert_eq!(Packing::of(&pieces[0]), Some(packing));
            assert_eq!(unpacked(packing, pieces.concat().as_slice()).unwrap(), b"one two");
        }
        // A frame of four bytes that are no content.
        let skipped = [0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4];
        let [one, two] = [&b"one "[..], b"two"].map(|piece| packed(Packing::Zstd, piece));
        let file = [&one[..], &skipped, &two].concat();
        assert_eq!(unpacked(Packing::Zstd, file.as_slice()).unwrap(), b"one two");
        let cut = &file[..one.len() + 10];
        let why = unpacked(Packing::Zstd, cut).unwrap_err().to_string();
        assert!(why.contains("ends early"), "{why}");
    }

    #[test]
    fn a_file_that_is_cut_off_ends_early_wherever_it_is_cut() {
        for packing in BOTH {
            let file = packed(packing, &text());
            for n in 1..file.len() {
                let error = unpacked(packing, &file[..n]).unwrap_err();
                assert_eq!(error.kind(), io::ErrorKind::UnexpectedEof);
                let name = packing.name();
                let why = format!("it is {name} and ends early, at byte {n}: is it a whole copy?");
                assert_eq!(error.to_string(), why);
            }
        }
    }

    /// The sums tell what the structure does not. What gzip keeps beside the content, as the time
    /// of packing, may be any.
    #[test]
    fn a_damaged_file_never_becomes_another_content() {
        let text = text();
        for packing in BOTH {
            let file = packed(packing, &text);
            for n in 0..file.len() {
                let mut damaged = file.clone();
                damaged[n] ^= 0x10;
                match unpacked(packing, damaged.as_slice()) {
                    Ok(content) => assert!(content == text, "{packing:?}, byte {n}"),
                    Err(error) => {
                        let why = error.to_string();
                        let is_told = ["damaged before byte", "ends early, at byte"];
                        assert!(is_told.iter().any(|told| why.contains(told)), "{why}");
                    }
                }
            }
            let followed = [&file[..], b"and more than a header has"].concat();
            let why = unpacked(packing, followed.as_slice()).unwrap_err().to_string();
            assert!(why.contains("and damaged before byte"), "{why}");
        }
    }

    /// A disk that fails is not taken for a damaged file.
    #[test]
    fn an_error_of_reading_is_told_as_it_is() {
        struct Fails;
        impl Read for Fails {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is gone"))
            }
        }
        for packing in BOTH {
            let file = packed(packing, &text());
            let half = &file[..file.len() / 2];
            let why = unpacked(packing, half.chain(Fails)).unwrap_err().to_string();
            assert_eq!(why, "the disk is gone");
        }
    }
}

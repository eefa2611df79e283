//! Compressed pieces of a file, each with its size before and after.

use super::{damaged, other_format};
use crate::replay::ReplayError;
use miniz_oxide::inflate::decompress_slice_iter_to_slice;
use ruzstd::decoding::FrameDecoder;

/// Bytes that a frame of zstd may refer back to, though it is shorter (RFC 8878, 3.1.1.1.2).
const WINDOW_BYTES: u64 = 1 << 23;

/// How sections and pages are compressed, by the name in the file's header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Compression {
    None,
    Zlib,
    Zstd,
}

impl Compression {
    pub(super) fn named(name: &[u8]) -> Result<Self, ReplayError> {
        match name {
            b"none" => Ok(Self::None),
            b"zlib" => Ok(Self::Zlib),
            b"zstd" => Ok(Self::Zstd),
            _ => {
                let name: String = String::from_utf8_lossy(name).chars().take(20).collect();
                let why = format!("it is compressed with `{}`", name.escape_debug());
                let help = "`trace-cmd convert --file-version 6` writes it without compression";
                Err(other_format(&why, help))
            }
        }
    }
}

/// Undoes a compression, again and again.
pub(super) struct Unpacker {
    compression: Compression,
    zstd: FrameDecoder,
}

impl Unpacker {
    pub(super) fn new(compression: Compression) -> Self {
        Self { compression, zstd: FrameDecoder::new() }
    }

    /// Unpacks a piece to as many bytes as there are in `out`.
    pub(super) fn unpack(&mut self, packed: &[u8], out: &mut [u8]) -> Result<(), ReplayError> {
        let unpacked = match self.compression {
            Compression::None => {
                return Err(damaged("parts of it are compressed, and it does not say how"));
            }
            Compression::Zlib => {
                decompress_slice_iter_to_slice(out, std::iter::once(packed), true, false).ok()
            }
            Compression::Zstd => {
                let window = (out.len() as u64).next_power_of_two().max(WINDOW_BYTES);
                self.zstd.set_max_window_size(window);
                self.zstd.decode_all(packed, out).ok()
            }
        };
        match unpacked {
            Some(n) if n == out.len() => Ok(()),
            _ => Err(damaged("a compressed part of it cannot be unpacked")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(compression: Compression, packed: &[u8], bytes: usize) -> Option<Vec<u8>> {
        let mut out = vec![0; bytes];
        Unpacker::new(compression).unpack(packed, &mut out).ok().map(|()| out)
    }

    #[test]
    fn a_piece_has_just_the_size_that_is_told() {
        // A frame of one block of three bytes as they are.
        let zstd = [0x28, 0xb5, 0x2f, 0xfd, 0x20, 3, 0x19, 0, 0, b'a', b'b', b'c'];
        let zlib = miniz_oxide::deflate::compress_to_vec_zlib(b"abc", 6);
        for (compression, packed) in [(Compression::Zstd, &zstd[..]), (Compression::Zlib, &zlib)] {
            assert_eq!(unpacked(compression, packed, 3).as_deref(), Some(&b"abc"[..]));
            for bytes in [0, 2, 4] {
                assert_eq!(unpacked(compression, packed, bytes), None);
            }
            assert_eq!(unpacked(compression, &packed[..packed.len() - 1], 3), None);
        }
        assert_eq!(unpacked(Compression::None, b"abc", 3), None);
    }

    #[test]
    fn another_compression_is_told_by_name() {
        let told = Compression::named(b"lzma\n").unwrap_err().to_string();
        assert!(told.contains(r"compressed with `lzma\n`; `trace-cmd convert"), "{told}");
    }
}

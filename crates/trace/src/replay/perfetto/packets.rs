//! The packets of a trace, one after another, those in compressed ones included.
//!
//! A file is one message whose only field, again and again, is a packet. So it has no header and no
//! end, and files may be put together.

use super::damaged_at;
use super::wire::{Fields, Value};
use crate::replay::ReplayError;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

/// Bytes that are read at once.
const BUFFER_BYTES: usize = 1 << 18;
/// The longest packet, and what a compressed one may unpack to. Perfetto's service passes none on
/// that is longer than its buffers; compressed ones have 512 KB at most.
const PACKET_BYTES_MAX: usize = 1 << 24;
/// The key of a packet: field 1, with a length.
const PACKET_KEY: u8 = 0x0a;
const PACKET: u32 = 1;

/// What is in a packet, if it is needed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Packet<'a> {
    /// Events of one CPU.
    Bundle(&'a [u8]),
    /// Processes and threads, as `/proc` has them.
    Processes(&'a [u8]),
    /// The kernel and the machine.
    System(&'a [u8]),
    /// What the kernel's buffers could not keep.
    Stats(&'a [u8]),
    /// Packets that zlib or zstd have packed.
    Zlib(&'a [u8]),
    Zstd(&'a [u8]),
    /// Events that programs write themselves.
    Track,
    Other,
}

impl<'a> Packet<'a> {
    /// Finds what is in a packet; `None` if it is broken.
    fn of(packet: &'a [u8]) -> Option<Self> {
        let (mut found, mut is_elsewhere) = (Self::Other, false);
        for field in Fields::of(packet) {
            match field.ok()? {
                (1, Value::Bytes(bytes)) => found = Self::Bundle(bytes),
                (2, Value::Bytes(bytes)) => found = Self::Processes(bytes),
                (11, Value::Bytes(_)) => found = Self::Track,
                (34, Value::Bytes(bytes)) => found = Self::Stats(bytes),
                (45, Value::Bytes(bytes)) => found = Self::System(bytes),
                (50, Value::Bytes(bytes)) => found = Self::Zlib(bytes),
                (133, Value::Bytes(bytes)) => found = Self::Zstd(bytes),
                // The machine: guests may send their events into their host's trace.
                (98, Value::Number(machine)) => is_elsewhere = machine != 0,
                _ => {}
            }
        }
        Some(if is_elsewhere { Self::Other } else { found })
    }
}

/// The packets that are left.
pub(super) struct Packets<R> {
    input: BufReader<R>,
    /// The place of the packet that comes next, and how many bytes there are from it on.
    at: u64,
    left: u64,
    /// Where the present packet begins in the file, or the one that it was packed in.
    pub place: u64,
    packet: Vec<u8>,
    /// Packets that were unpacked, and where the next of these begins.
    unpacked: Vec<u8>,
    unpacked_at: usize,
}

impl<R: Read + Seek> Packets<R> {
    pub(super) fn new(mut input: R) -> Result<Self, ReplayError> {
        let left = input.seek(SeekFrom::End(0))?;
        input.seek(SeekFrom::Start(0))?;
        Ok(Self {
            input: BufReader::with_capacity(BUFFER_BYTES, input),
            at: 0,
            left,
            place: 0,
            packet: Vec::new(),
            unpacked: Vec::new(),
            unpacked_at: 0,
        })
    }

    /// The next packet; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<Packet<'_>>, ReplayError> {
        loop {
            if self.unpacked_at < self.unpacked.len() {
                let range = self.next_unpacked()?;
                return self.found(&self.unpacked[range]).map(Some);
            }
            if !self.read()? {
                return Ok(None);
            }
            match Packet::of(&self.packet) {
                Some(Packet::Zlib(packed)) => {
                    let unpacked = decompress_to_vec_zlib_with_limit(packed, PACKET_BYTES_MAX);
                    let unpacked = unpacked.map_err(|_| self.damaged(PACKED))?;
                    (self.unpacked, self.unpacked_at) = (unpacked, 0);
                }
                Some(Packet::Zstd(packed)) => {
                    let unpacked = unpack_zstd(packed).ok_or_else(|| self.damaged(PACKED))?;
                    (self.unpacked, self.unpacked_at) = (unpacked, 0);
                }
                _ => break,
            }
        }
        self.found(&self.packet).map(Some)
    }

    fn found<'a>(&self, packet: &'a [u8]) -> Result<Packet<'a>, ReplayError> {
        Packet::of(packet).ok_or_else(|| self.damaged("a packet is no sound protobuf"))
    }

    /// Where the next packet lies among those that were unpacked.
    fn next_unpacked(&mut self) -> Result<Range<usize>, ReplayError> {
        let mut fields = Fields::of(&self.unpacked[self.unpacked_at..]);
        let Some(Ok((PACKET, Value::Bytes(packet)))) = fields.next() else {
            return Err(self.damaged("what was compressed in it are no packets"));
        };
        let end = self.unpacked.len() - fields.left();
        self.unpacked_at = end;
        Ok(end - packet.len()..end)
    }

    /// Reads the next packet of the file. False at its end.
    fn read(&mut self) -> Result<bool, ReplayError> {
        self.place = self.at;
        if self.left == 0 {
            return Ok(false);
        }
        if self.byte()? != PACKET_KEY {
            return Err(self.damaged("no packet begins there"));
        }
        let n = self.length()?;
        if n > self.left {
            return Err(self.damaged("it is cut off in a packet"));
        }
        if n > PACKET_BYTES_MAX as u64 {
            return Err(self.damaged("a packet is longer than 16 MiB"));
        }
        self.packet.resize(n as usize, 0);
        self.input.read_exact(&mut self.packet)?;
        self.at += n;
        self.left -= n;
        Ok(true)
    }

    fn byte(&mut self) -> Result<u8, ReplayError> {
        let mut byte = [0];
        if self.left == 0 {
            return Err(self.damaged("it is cut off in a packet"));
        }
        self.input.read_exact(&mut byte)?;
        self.at += 1;
        self.left -= 1;
        Ok(byte[0])
    }

    fn length(&mut self) -> Result<u64, ReplayError> {
        let mut length = 0;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            length |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(length);
            }
        }
        Err(self.damaged("no packet begins there"))
    }

    /// The file contradicts itself in the present packet.
    pub(super) fn damaged(&self, why: &str) -> ReplayError {
        damaged_at(self.place, why)
    }
}

const PACKED: &str = "a compressed packet cannot be unpacked, or to more than 16 MiB";

/// Unpacks what zstd has packed, if it is not too large.
fn unpack_zstd(packed: &[u8]) -> Option<Vec<u8>> {
    let mut frames = FrameDecoder::new();
    frames.set_max_window_size(PACKET_BYTES_MAX as u64);
    let (mut rest, mut unpacked) = (packed, Vec::new());
    while !rest.is_empty() {
        let frame = StreamingDecoder::new_with_decoder(&mut rest, &mut frames).ok()?;
        let room = PACKET_BYTES_MAX - unpacked.len();
        let n = frame.take(room as u64 + 1).read_to_end(&mut unpacked).ok()?;
        if n > room {
            return None;
        }
    }
    Some(unpacked)
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec_zlib;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};
    use std::io::Cursor;

    /// A field of these bytes, and its key.
    fn field(key: &[u8], bytes: &[u8]) -> Vec<u8> {
        let mut n = Vec::new();
        prost::encoding::encode_varint(bytes.len() as u64, &mut n);
        [key, &n, bytes].concat()
    }

    fn bundles(file: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let mut packets = Packets::new(Cursor::new(file)).unwrap();
        let mut bundles = Vec::new();
        loop {
            match packets.next().map_err(|error| error.to_string())? {
                None => return Ok(bundles),
                Some(Packet::Bundle(bytes)) => bundles.push(bytes.to_vec()),
                Some(_) => {}
            }
        }
    }

    #[test]
    fn packed_packets_stand_in_line_with_the_others() {
        let of = |n: u8| field(&[0x0a], &field(&[0x0a], &[8, n]));
        let inside = [of(1), of(2)].concat();
        let zlib = field(&[0x92, 0x03], &compress_to_vec_zlib(&inside, 6));
        let level = CompressionLevel::Fastest;
        // Two frames, as a packer that is flushed writes them.
        let zstd = [of(4), of(5)].map(|packet| compress_to_vec(packet.as_slice(), level)).concat();
        let zstd = field(&[0xaa, 0x08], &zstd);
        let file = [field(&[0x0a], &zlib), of(3), field(&[0x0a], &zstd), of(6)].concat();
        let expected: Vec<Vec<u8>> = (1..=6).map(|n| vec![8, n]).collect();
        assert_eq!(bundles(&file).unwrap(), expected);
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let zeros = vec![0; PACKET_BYTES_MAX + 1];
        let zlib = field(&[0x92, 0x03], &compress_to_vec_zlib(&zeros, 6));
        let level = CompressionLevel::Fastest;
        let zstd = field(&[0xaa, 0x08], &compress_to_vec(zeros.as_slice(), level));
        for packed in [zlib, zstd] {
            let why = bundles(&field(&[0x0a], &packed)).unwrap_err();
            assert!(
                why.ends_with(
                    "at byte 0: a compressed packet cannot be unpacked, or to more \
                than 16 MiB"
                ),
                "{why}"
            );
        }
    }

    #[test]
    fn events_of_other_machines_are_passed_over() {
        let here = field(&[0x0a], &[8, 1]);
        let guest = [field(&[0x0a], &[8, 2]), vec![0x90, 0x06, 7]].concat();
        let file = [field(&[0x0a], &here), field(&[0x0a], &guest)].concat();
        assert_eq!(bundles(&file).unwrap(), [vec![8, 1]]);
    }
}

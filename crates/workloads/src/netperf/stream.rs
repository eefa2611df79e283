//! A bulk transfer over loopback TCP: how writes become segments, and what wakes reader and writer.
//!
//! Loopback has an MTU of 64 KiB, so a full segment carries 65 483 bytes. A write of 16 KiB
//! leaves at once if nothing smaller than a full segment is under way (Nagle's rule with Minshall's
//! change). Else it is appended to what waits, until a full segment has come together. The reader
//! takes what is there, up to the size of its buffer. It acknowledges once the socket is empty or
//! more than a full segment has come since. So one wake-up of the reader stands for about three
//! writes, not for one, as on a real kernel (docs/CALIBRATION.md has the numbers).

use super::WRITE_BYTES;

/// Payload of a full segment: the longest packet of IPv4, 65 535 bytes, without its header of 20
/// bytes and TCP's of 32.
const MSS: u64 = 65_483;
/// What a read takes at most: the default size of the reader's socket buffer.
const READ_BYTES: u64 = 131_072;
/// What a socket holds before the writer sleeps: half of `tcp_rmem[2]`, 6 MiB.
const WINDOW_BYTES: u64 = 3 << 20;

/// Shares of `service_ns`, the work of 16 KiB, in thousandths (docs/CALIBRATION.md): a write with
/// its copy,
const WRITE: u64 = 290;
/// a segment's way down and up again, to the reader's socket,
const SEGMENT: u64 = 567;
/// an acknowledgment's way back, as far as the reader goes with it,
const ACK: u64 = 436;
/// and what the writer does about it when it lets go of its socket,
const ACKED: u64 = 316;
/// a read,
const READ: u64 = 360;
/// and its copy, for each 16 KiB.
const COPY: u64 = 99;

/// What an end of the connection does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Turn {
    /// Work in the kernel, in thousandths of `service_ns`.
    Work(u64),
    /// Wake the reader, which sleeps in its socket.
    WakeReader,
    /// Wake the writer, which has room again.
    WakeWriter,
    /// Sleep until the other end wakes this one.
    Wait,
}

/// How far the writer is in its call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Writer {
    /// Between two calls.
    #[default]
    Call,
    /// The bytes of a write are in the socket when this is over.
    Copy,
    /// A segment of so many bytes is on its way.
    Send(u64),
    /// A segment has arrived.
    Arrived,
    /// The softirq acknowledges for a reader that is not in its socket.
    Acknowledge,
    /// Looks at acknowledgments that have come during the call.
    Acked,
}

/// How far the reader is in its call.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Reader {
    /// Looks into its socket.
    #[default]
    Look,
    /// So many bytes are read when this is over.
    Copy(u64),
    /// Sends an acknowledgment.
    Acknowledge,
}

/// One connection. Places in the stream are counted in bytes from its beginning.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Connection {
    writer: Writer,
    reader: Reader,
    /// Written, but not sent yet.
    unsent: u64,
    /// Has arrived in the reader's socket up to here.
    sent: u64,
    /// The last segment that was not full ended here.
    small_end: u64,
    /// The writer knows that everything up to here has arrived.
    una: u64,
    /// Acknowledgments that the writer has not looked at, and up to where the last one goes.
    backlog: u64,
    acked: u64,
    read: u64,
    reader_waits: bool,
    writer_waits: bool,
}

impl Connection {
    /// Bytes that were read since the beginning.
    pub(super) fn read_bytes(&self) -> u64 {
        self.read
    }

    /// Bytes in the reader's socket.
    fn queued(&self) -> u64 {
        self.sent - self.read
    }

    /// The writer's next turn.
    pub(super) fn write(&mut self) -> Turn {
        match self.writer {
            Writer::Call if self.queued() >= WINDOW_BYTES => {
                self.writer_waits = true;
                Turn::Wait
            }
            Writer::Call => {
                self.writer = Writer::Copy;
                Turn::Work(WRITE)
            }
            Writer::Copy => {
                self.unsent += WRITE_BYTES;
                self.push()
            }
            Writer::Send(bytes) => self.arrive(bytes),
            // The softirq's ACK of a second segment; a reader in its call will send it instead.
            Writer::Arrived if self.reader == Reader::Look && self.sent - self.acked > MSS => {
                self.writer = Writer::Acknowledge;
                Turn::Work(ACK)
            }
            Writer::Acknowledge => {
                self.acknowledge();
                self.push()
            }
            Writer::Acked => {
                self.una = self.acked;
                self.push()
            }
            Writer::Arrived => self.push(),
        }
    }

    /// Sends one segment, if one may be sent; else the call ends.
    fn push(&mut self) -> Turn {
        if self.unsent >= MSS {
            self.writer = Writer::Send(MSS);
            return Turn::Work(SEGMENT);
        }
        // Minshall: a small segment may leave if the last small one is acknowledged.
        if self.unsent > 0 && self.una >= self.small_end {
            self.writer = Writer::Send(self.unsent);
            return Turn::Work(SEGMENT);
        }
        // ACKs that came while the call held the socket (`release_sock()`).
        if self.backlog > 0 {
            self.writer = Writer::Acked;
            return Turn::Work(ACKED * std::mem::take(&mut self.backlog));
        }
        self.writer = Writer::Call;
        self.write()
    }

    fn arrive(&mut self, bytes: u64) -> Turn {
        self.unsent -= bytes;
        self.sent += bytes;
        if bytes < MSS {
            self.small_end = self.sent;
        }
        self.writer = Writer::Arrived;
        if std::mem::take(&mut self.reader_waits) {
            return Turn::WakeReader;
        }
        self.write()
    }

    fn acknowledge(&mut self) {
        self.acked = self.sent;
        self.backlog += 1;
    }

    /// The reader's next turn.
    pub(super) fn read(&mut self) -> Turn {
        match self.reader {
            Reader::Look if self.queued() == 0 => {
                self.reader_waits = true;
                Turn::Wait
            }
            Reader::Look => {
                let bytes = self.queued().min(READ_BYTES);
                self.reader = Reader::Copy(bytes);
                Turn::Work(READ + COPY * bytes / WRITE_BYTES)
            }
            Reader::Copy(bytes) => {
                self.read += bytes;
                self.reader = Reader::Look;
                if !self.tells() {
                    return self.read();
                }
                self.reader = Reader::Acknowledge;
                Turn::Work(ACK)
            }
            Reader::Acknowledge => {
                self.acknowledge();
                self.reader = Reader::Look;
                if self.has_room() && std::mem::take(&mut self.writer_waits) {
                    return Turn::WakeWriter;
                }
                self.read()
            }
        }
    }

    /// True if a read has a reason to send an acknowledgment (`tcp_cleanup_rbuf()`).
    fn tells(&self) -> bool {
        let news = self.sent - self.acked;
        news > MSS || news > 0 && self.queued() == 0 || self.writer_waits && self.has_room()
    }

    /// True if a writer that sleeps may be woken: half of the window is free, so that it is not
    /// woken for each byte.
    fn has_room(&self) -> bool {
        self.queued() <= WINDOW_BYTES / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Connection {
        /// Lets the writer go on until it begins its next write, and counts the segments.
        fn one_write(&mut self) -> Vec<u64> {
            let mut sizes = Vec::new();
            loop {
                if let Writer::Send(bytes) = self.writer {
                    sizes.push(bytes);
                }
                let turn = self.write();
                if self.writer == Writer::Copy || turn == Turn::Wait {
                    return sizes;
                }
            }
        }

        /// Lets the reader go on until it sleeps.
        fn drain(&mut self) {
            while self.read() != Turn::Wait {}
        }
    }

    /// With a reader that never comes: a first write of its own, then full segments, and the first
    /// one's end acknowledges what was small.
    #[test]
    fn small_segments_wait_for_each_other() {
        let mut s = Connection::default();
        assert_eq!(s.read(), Turn::Wait);
        s.write();
        assert_eq!(s.one_write(), [16_384]);
        assert_eq!(s.one_write(), [0; 0]);
        assert_eq!(s.one_write(), [0; 0]);
        assert_eq!(s.one_write(), [0; 0]);
        // 81 867 bytes have come, more than a full segment: the softirq acknowledges them, and
        // the rest of 53 bytes may leave.
        assert_eq!(s.one_write(), [65_483, 53]);
        assert_eq!((s.acked, s.sent), (81_867, 81_920));
    }

    /// With a reader that is always faster each write leaves by itself.
    #[test]
    fn a_fast_reader_gets_each_write() {
        let mut s = Connection::default();
        s.drain();
        s.write();
        for _ in 0..10 {
            assert_eq!(s.one_write(), [16_384]);
            s.drain();
        }
        assert_eq!(s.read_bytes(), 10 * WRITE_BYTES);
    }

    /// A read takes a buffer at most and acknowledges when nothing is left.
    #[test]
    fn a_slow_reader_takes_much_at_once() {
        let mut s = Connection { sent: 200_000, acked: 150_000, ..Connection::default() };
        assert_eq!(s.read(), Turn::Work(READ + 8 * COPY));
        assert_eq!(s.read(), Turn::Work(READ + COPY * 68_928 / 16_384));
        assert_eq!(s.read_bytes(), 131_072);
        assert_eq!(s.read(), Turn::Work(ACK));
        assert_eq!(s.read(), Turn::Wait);
        assert_eq!((s.acked, s.backlog), (200_000, 1));
    }

    proptest! {
        /// However the ends take turns: no byte is lost or read before it was sent, the socket
        /// holds no more than its window and what one call adds, and one end is awake.
        #[test]
        fn a_stream_goes_on(turns in prop::collection::vec((any::<bool>(), 1..400u32), 1..60)) {
            let mut s = Connection::default();
            for (writes, n) in turns {
                for _ in 0..n {
                    match writes {
                        true if !s.writer_waits => drop(s.write()),
                        false if !s.reader_waits => drop(s.read()),
                        _ => {}
                    }
                    prop_assert!(s.read <= s.sent && s.una <= s.acked && s.acked <= s.sent);
                    prop_assert!(s.queued() < WINDOW_BYTES + WRITE_BYTES + MSS);
                    prop_assert!(s.unsent < MSS + WRITE_BYTES);
                    prop_assert!(!(s.reader_waits && s.writer_waits));
                    prop_assert!(!s.reader_waits || s.queued() == 0);
                }
            }
        }
    }
}

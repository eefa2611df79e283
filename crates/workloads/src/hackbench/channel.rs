//! The channels of a group's messages: one socket pair or one pipe for each receiver.
//!
//! What they hold, and when a writer is let in again, was measured (Linux 6.18; the tests have the
//! figures). Tasks that wait stand in a wait queue, in the kernel's order. Sleepers for room in a
//! socket are all woken, the last one first. Those at a pipe are woken one at a time, in their
//! order. A woken one takes a free page; a writer that has not slept may also add to the last page.
//!
//! Under all policies a pipe is that of 6.14 and later: before, a read from a full pipe woke a
//! writer even if no page was free yet.

use sim_core::Ns;
use std::collections::VecDeque;
use topology::{CpuId, Machine};

/// `SO_SNDBUF` by default, bytes of kernel memory.
const SEND_BUFFER: u32 = 212_992;
/// Pages that a pipe holds by default, and bytes of each.
const PIPE_PAGES: usize = 16;
const PAGE: u32 = 4096;

/// What the messages go through.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Medium {
    /// A pair of Unix stream sockets, hackbench's default.
    Socket,
    /// A pipe (`-p`).
    Pipe,
}

/// What a message costs more if the CPU at the other end is another one. Measured beside the time
/// of a line, on a guest whose CPUs were 22 ns apart in some runs and 124 ns in others
/// (`scripts/measure-messages`): what grew with the distance is lines, the rest is work.
struct Apart {
    /// Tenths of a cache line. A write to, and a read from, what another CPU has touched last.
    write_state: u64,
    read_state: u64,
    /// Each write to what another CPU reads from; each read of what another CPU wrote.
    write_each: u64,
    read_each: u64,
    /// More work, per cent of a message's.
    work_pct: u64,
}

const SOCKET_APART: Apart =
    Apart { write_state: 5, read_state: 36, write_each: 6, read_each: 16, work_pct: 6 };
const PIPE_APART: Apart =
    Apart { write_state: 8, read_state: 18, write_each: 6, read_each: 7, work_pct: 10 };

impl Apart {
    fn work_ns(&self, other_end: CpuId, cpu: CpuId, message_ns: Ns) -> Ns {
        if other_end == cpu { 0 } else { message_ns * self.work_pct / 100 }
    }
}

impl Medium {
    fn apart(self) -> &'static Apart {
        match self {
            Medium::Socket => &SOCKET_APART,
            Medium::Pipe => &PIPE_APART,
        }
    }
}

/// Kernel memory of a message of so many bytes in a Unix stream socket (`skb->truesize`): the
/// sk_buff, and the buffer with its `skb_shared_info`; whole pages for what does not fit into one.
fn truesize(bytes: u32) -> u32 {
    const SK_BUFF: u32 = 256;
    const SHARED_INFO: u32 = 320;
    let in_pages = bytes.saturating_sub(PAGE - SHARED_INFO).next_multiple_of(PAGE);
    let linear = bytes.saturating_sub(in_pages) + SHARED_INFO;
    SK_BUFF + linear.next_power_of_two().max(512) + in_pages
}

/// How full a channel is.
enum Room {
    /// Kernel memory of its messages, and of one of them, bytes.
    Socket { used: u32, each: u32 },
    /// By page: the messages it was filled with; and how many of the first were read.
    Pipe { pages: VecDeque<u32>, read_of_first: u32, per_page: u32 },
}

impl Room {
    fn new(medium: Medium, bytes: u32) -> Self {
        match medium {
            Medium::Socket => Room::Socket { used: 0, each: truesize(bytes) },
            Medium::Pipe => {
                Room::Pipe { pages: VecDeque::new(), read_of_first: 0, per_page: PAGE / bytes }
            }
        }
    }
}

/// The way to one receiver.
pub(crate) struct Channel {
    medium: Medium,
    room: Room,
    /// By message that is there: the CPU that wrote it.
    messages: VecDeque<CpuId>,
    reader_waits: bool,
    /// Senders that wait for room, the last to come at the back.
    writers: VecDeque<u32>,
    touched: CpuId,
    read_by: CpuId,
}

impl Channel {
    /// An empty channel for messages of so many bytes.
    pub fn new(medium: Medium, bytes: u32) -> Self {
        Self {
            medium,
            room: Room::new(medium, bytes),
            messages: VecDeque::new(),
            reader_waits: false,
            writers: VecDeque::new(),
            touched: CpuId(0),
            read_by: CpuId(0),
        }
    }

    /// True if there is room for a message. `waited`: its sender has slept for it; at a pipe it
    /// then needs a free page.
    pub fn has_room(&self, waited: bool) -> bool {
        match &self.room {
            Room::Socket { used, .. } => *used < SEND_BUFFER,
            Room::Pipe { pages, per_page, .. } => {
                let fits = |n: &u32| !waited && n < per_page;
                pages.len() < PIPE_PAGES || pages.back().is_some_and(fits)
            }
        }
    }

    /// `sender` sleeps until there is room.
    pub fn wait_for_room(&mut self, sender: u32) {
        self.writers.push_back(sender);
    }

    /// A sender has room and begins to write: a socket has its memory from here on.
    pub fn begin_write(&mut self) {
        if let Room::Socket { used, each } = &mut self.room {
            *used += *each;
        }
    }

    /// The message is there, for which its sender has looked for room; true if the receiver is to
    /// be woken.
    pub fn write(&mut self, cpu: CpuId, waited: bool) -> bool {
        self.touched = cpu;
        self.messages.push_back(cpu);
        if let Room::Pipe { pages, per_page, .. } = &mut self.room {
            match pages.back_mut().filter(|n| !waited && **n < *per_page) {
                Some(filled) => *filled += 1,
                None => pages.push_back(1),
            }
        }
        std::mem::take(&mut self.reader_waits)
    }

    /// The sender to be woken by a sender that has waited and leaves some room: at a pipe the next
    /// one, at a socket none.
    pub fn next_writer(&mut self) -> Option<u32> {
        match &self.room {
            Room::Pipe { pages, .. } if pages.len() < PIPE_PAGES => self.writers.pop_front(),
            _ => None,
        }
    }

    /// True if there is no message; then the receiver counts as waiting from now on.
    pub fn wait_for_message(&mut self) -> bool {
        self.reader_waits = self.messages.is_empty();
        self.reader_waits
    }

    /// A message was read: adds the senders to be woken, in their order.
    pub fn read(&mut self, cpu: CpuId, wakes: &mut VecDeque<u32>) {
        (self.touched, self.read_by) = (cpu, cpu);
        self.messages.pop_front();
        match &mut self.room {
            Room::Socket { used, each } => {
                *used -= *each;
                // `unix_write_space()` wakes below a quarter only (`unix_writable()`).
                if 4 * *used <= SEND_BUFFER {
                    wakes.extend(self.writers.drain(..).rev());
                }
            }
            Room::Pipe { pages, read_of_first, .. } => {
                *read_of_first += 1;
                if pages.front() == Some(read_of_first) {
                    let was_full = pages.len() == PIPE_PAGES;
                    pages.pop_front();
                    *read_of_first = 0;
                    wakes.extend(if was_full { self.writers.pop_front() } else { None });
                }
            }
        }
    }

    /// What the CPU at the other end adds to the next write of `message_ns` on `cpu`, ns.
    pub fn write_extra_ns(&self, machine: &Machine, cpu: CpuId, message_ns: Ns) -> Ns {
        let apart = self.medium.apart();
        let lines = apart.write_state * machine.line_ns(self.touched, cpu)
            + apart.write_each * machine.line_ns(self.read_by, cpu);
        lines / 10 + apart.work_ns(self.read_by, cpu, message_ns)
    }

    /// What the CPU at the other end adds to the next read of `message_ns` on `cpu`, ns.
    pub fn read_extra_ns(&self, machine: &Machine, cpu: CpuId, message_ns: Ns) -> Ns {
        let apart = self.medium.apart();
        let writer = self.messages.front().copied().unwrap_or(cpu);
        let lines = apart.read_state * machine.line_ns(self.touched, cpu)
            + apart.read_each * machine.line_ns(writer, cpu);
        lines / 10 + apart.work_ns(writer, cpu, message_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Messages until a sender must wait, and reads until one may go on.
    fn limits(medium: Medium, bytes: u32) -> (u32, u32) {
        let mut channel = Channel::new(medium, bytes);
        let (mut held, mut wakes) = (0, VecDeque::new());
        while channel.has_room(false) {
            channel.begin_write();
            channel.write(CpuId(0), false);
            held += 1;
        }
        channel.wait_for_room(7);
        let mut read = 0;
        while wakes.is_empty() {
            channel.read(CpuId(0), &mut wakes);
            read += 1;
        }
        (held, read)
    }

    #[test]
    fn channels_hold_what_the_kernels_do() {
        // Non-blocking writes up to EAGAIN, then reads until poll() finds it writable.
        let sockets = [1, 100, 300, 400, 1000, 3000, 4096].map(|b| limits(Medium::Socket, b));
        let of_kernel =
            [(278, 209), (278, 209), (167, 126), (167, 126), (93, 70), (49, 37), (44, 34)];
        assert_eq!(sockets, of_kernel);
        let pipes = [1, 100, 300, 400, 1000, 3000, 4096].map(|b| limits(Medium::Pipe, b));
        let of_kernel = [(65536, 4096), (640, 40), (208, 13), (160, 10), (64, 4), (16, 1), (16, 1)];
        assert_eq!(pipes, of_kernel);
    }

    #[test]
    fn room_in_a_socket_wakes_all_the_last_first_and_in_a_pipe_one() {
        let mut wakes = VecDeque::new();
        for (medium, woken) in [(Medium::Socket, vec![3, 2, 1]), (Medium::Pipe, vec![1])] {
            let mut channel = Channel::new(medium, 4096);
            while channel.has_room(false) {
                channel.begin_write();
                channel.write(CpuId(0), false);
            }
            (1..=3).for_each(|sender| channel.wait_for_room(sender));
            wakes.clear();
            while wakes.is_empty() {
                channel.read(CpuId(0), &mut wakes);
            }
            assert_eq!(wakes, woken);
        }
    }

    #[test]
    fn a_page_that_was_read_to_its_end_is_not_written_again() {
        let mut pipe = Channel::new(Medium::Pipe, 100);
        for _ in 0..2 * PIPE_PAGES {
            pipe.write(CpuId(0), false);
            pipe.read(CpuId(0), &mut VecDeque::new());
            assert!(matches!(&pipe.room, Room::Pipe { pages, .. } if pages.is_empty()));
        }
    }

    #[test]
    fn a_sender_that_has_slept_takes_a_free_page_or_sleeps_again() {
        let mut pipe = Channel::new(Medium::Pipe, 100);
        while pipe.has_room(false) {
            pipe.write(CpuId(0), false);
        }
        (0..40).for_each(|_| pipe.read(CpuId(0), &mut VecDeque::new()));
        assert!(pipe.has_room(true));
        // Another sender is faster and begins the page that was freed.
        pipe.write(CpuId(0), false);
        assert!(pipe.has_room(false) && !pipe.has_room(true));
    }
}

//! `trace.dat`, version 6, for `trace-cmd report` and KernelShark.
//!
//! ```text
//! description of events | command names | CPUs | options | places | pages of CPU 0 | of CPU 1 ...
//! ```
//!
//! The file keeps each CPU's events together, in pages as the kernel's ring buffer has them. While
//! a run goes on, each CPU has one open page. Full pages go to a scratch file, in the order in
//! which they fill up, and are brought to their places at the end.

use super::event::{Comm, Event, What};
use super::out_file::{OutFile, TraceError};
use super::sink::{Origin, Sink};
use super::tracepoint;
use sim_core::{Ns, Pid};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

const PAGE_BYTES: usize = 4096;
/// Time stamp of the first event, and how much of the page is used.
const PAGE_HEAD_BYTES: usize = 16;
/// In the scratch file a page comes after the number of its CPU.
const SCRATCH_BYTES: usize = PAGE_BYTES + 4;

/// `type_len` of an entry that only lets time pass.
const TIME_EXTEND: u32 = 30;
const TYPE_BITS: u32 = 5;
const DELTA_BITS: u32 = 27;
/// The longest payload, in words, whose length fits into `type_len`.
const SHORT_WORDS: usize = 28;

const OPTION_UNAME: u16 = 5;

/// The open page of a CPU.
struct Page {
    bytes: Vec<u8>,
    last: Ns,
    /// Pages filled before.
    n_full: u64,
}

/// Writes trace.dat.
pub struct TraceDat {
    out: OutFile,
    origin: Origin,
    pages: Vec<Page>,
    full: BufWriter<File>,
    /// Names of tasks that have not exited.
    names: BTreeMap<Pid, Comm>,
    /// Names of tasks that have exited: a long run forks more of them than memory should hold.
    gone: BufWriter<File>,
    payload: Vec<u8>,
}

impl TraceDat {
    /// Writes to this file, which must be seekable. Needs as much room again beside it until it is
    /// complete.
    ///
    /// # Errors
    /// A scratch file cannot be made.
    pub fn new(out: OutFile, origin: Origin) -> Result<Self, TraceError> {
        let page = |_| Page { bytes: Vec::with_capacity(PAGE_BYTES), last: 0, n_full: 0 };
        Ok(Self {
            pages: (0..origin.n_cpus).map(page).collect(),
            full: BufWriter::with_capacity(1 << 18, out.scratch()?),
            gone: BufWriter::new(out.scratch()?),
            names: BTreeMap::new(),
            payload: Vec::with_capacity(128),
            out,
            origin,
        })
    }

    fn remember(&mut self, what: &What) -> io::Result<()> {
        match what {
            What::Renamed { task } => {
                self.names.insert(task.pid, task.comm);
            }
            What::Fork { child, .. } => {
                self.names.insert(child.pid, child.comm);
            }
            What::Exit { task } => {
                self.names.remove(&task.pid);
                writeln!(self.gone, "{} {}", task.pid, task.comm.as_str())?;
            }
            _ => {}
        }
        Ok(())
    }

    fn append(&mut self, event: &Event) -> io::Result<()> {
        self.payload.clear();
        tracepoint::encode(event, &mut self.payload);
        if self.payload.is_empty() {
            return Ok(());
        }
        self.payload.resize(self.payload.len().next_multiple_of(4), 0);
        let cpu = event.cpu.idx();
        // An entry has a word before its payload, perhaps a second one, and a time extend.
        let needed = self.payload.len() + 8 + 8;
        if self.pages[cpu].bytes.len() + needed > PAGE_BYTES {
            self.close(cpu)?;
        }
        self.pages[cpu].add(event.at, &self.payload);
        Ok(())
    }

    /// Moves a CPU's page to the scratch file.
    fn close(&mut self, cpu: usize) -> io::Result<()> {
        let page = &mut self.pages[cpu];
        if page.bytes.is_empty() {
            return Ok(());
        }
        let used = (page.bytes.len() - PAGE_HEAD_BYTES) as u64;
        page.bytes[8..16].copy_from_slice(&used.to_le_bytes());
        page.bytes.resize(PAGE_BYTES, 0);
        self.full.write_all(&(cpu as u32).to_le_bytes())?;
        self.full.write_all(&page.bytes)?;
        page.bytes.clear();
        page.n_full += 1;
        Ok(())
    }

    /// Writes the description of the events and the command names; says how long they are.
    fn put_names(&mut self) -> Result<u64, TraceError> {
        let out = &mut self.out;
        let names = std::mem::take(&mut self.names);
        let written = names
            .iter()
            .try_for_each(|(pid, comm)| writeln!(self.gone, "{pid} {}", comm.as_str()))
            .and_then(|()| self.gone.stream_position());
        let bytes = written.map_err(|e| out.fault(e))?;
        let mut head = tracepoint::description("6");
        head.extend(bytes.to_le_bytes());
        out.put(&head)?;
        self.gone.rewind().map_err(|e| out.fault(e))?;
        let mut piece = vec![0; 1 << 16];
        loop {
            let n = self.gone.get_mut().read(&mut piece).map_err(|e| out.fault(e))?;
            if n == 0 {
                return Ok(head.len() as u64 + bytes);
            }
            out.put(&piece[..n])?;
        }
    }

    /// What comes between the names and the places of the pages.
    fn options(&self) -> Vec<u8> {
        let o = &self.origin;
        let uname = format!("Linux {} {} x86_64\0", o.machine, o.release);
        let mut out = o.n_cpus.to_le_bytes().to_vec();
        // Names of sections are padded to ten bytes.
        out.extend(b"options  \0");
        out.extend(OPTION_UNAME.to_le_bytes());
        out.extend((uname.len() as u32).to_le_bytes());
        out.extend(uname.as_bytes());
        // The end of the options.
        out.extend(0u16.to_le_bytes());
        out.extend(b"flyrecord\0");
        out
    }

    /// Brings the pages to their places, which begin here for each CPU.
    fn place_pages(&mut self, mut next: Vec<u64>) -> Result<(), TraceError> {
        let out = &mut self.out;
        self.full.rewind().map_err(|e| out.fault(e))?;
        let n_pages: u64 = self.pages.iter().map(|p| p.n_full).sum();
        let mut full = BufReader::with_capacity(1 << 18, self.full.get_mut());
        let mut page = [0; SCRATCH_BYTES];
        for _ in 0..n_pages {
            full.read_exact(&mut page).map_err(|e| out.fault(e))?;
            let (cpu, bytes) = page.split_at(4);
            let cpu = u32::from_le_bytes([cpu[0], cpu[1], cpu[2], cpu[3]]) as usize;
            out.seek(next[cpu])?;
            out.put(bytes)?;
            next[cpu] += PAGE_BYTES as u64;
        }
        Ok(())
    }
}

impl Page {
    fn add(&mut self, at: Ns, payload: &[u8]) {
        if self.bytes.is_empty() {
            self.bytes.extend(at.to_le_bytes());
            self.bytes.extend([0; 8]);
            self.last = at;
        }
        let mut delta = at - self.last;
        self.last = at;
        // Gaps of 2^27 ns and more: an entry of their own lets the time pass.
        if delta >> DELTA_BITS > 0 {
            self.word(TIME_EXTEND | (delta as u32) << TYPE_BITS);
            self.word((delta >> DELTA_BITS) as u32);
            delta = 0;
        }
        let delta = (delta as u32) << TYPE_BITS;
        let words = payload.len() / 4;
        if words <= SHORT_WORDS {
            self.word(words as u32 | delta);
        } else {
            // A length of 0: it stands in the next word, which it includes.
            self.word(delta);
            self.word(payload.len() as u32 + 4);
        }
        self.bytes.extend(payload);
    }

    fn word(&mut self, word: u32) {
        self.bytes.extend(word.to_le_bytes());
    }
}

impl Sink for TraceDat {
    fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        let done = self.remember(&event.what).and_then(|()| self.append(event));
        done.map_err(|e| self.out.fault(e))
    }

    fn finish(mut self: Box<Self>) -> Result<OutFile, TraceError> {
        for cpu in 0..self.pages.len() {
            self.close(cpu).map_err(|e| self.out.fault(e))?;
        }
        let before = self.put_names()?;
        let mut head = self.options();
        let end = before + (head.len() + 16 * self.pages.len()) as u64;
        let mut at = end.next_multiple_of(PAGE_BYTES as u64);
        let mut places = Vec::new();
        for page in &self.pages {
            let bytes = page.n_full * PAGE_BYTES as u64;
            places.push(at);
            head.extend(at.to_le_bytes());
            head.extend(bytes.to_le_bytes());
            at += bytes;
        }
        self.out.put(&head)?;
        self.place_pages(places)?;
        Ok(self.out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_packed_as_in_a_ring_buffer() {
        let mut page = Page { bytes: Vec::new(), last: 0, n_full: 0 };
        page.add(1_000_000_000, &[0xaa; 8]);
        page.add(1_000_000_003, &[0xbb; 4]);
        page.add(1_000_000_003 + (5 << 27) + 7, &[0xcc; 4 * 29]);
        let words: Vec<u32> =
            page.bytes[16..].chunks(4).map(|w| u32::from_le_bytes(w.try_into().unwrap())).collect();
        assert_eq!(page.bytes[..8], 1_000_000_000u64.to_le_bytes());
        assert_eq!(words[..3], [2, 0xaaaa_aaaa, 0xaaaa_aaaa]);
        assert_eq!(words[3..5], [1 | 3 << 5, 0xbbbb_bbbb]);
        assert_eq!(words[5..9], [30 | 7 << 5, 5, 0, 4 * 29 + 4]);
        assert_eq!(words.len(), 9 + 29);
    }
}

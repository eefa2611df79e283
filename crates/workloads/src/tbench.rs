//! tbench: clients that replay a file server's requests, and a server process for each, over
//! loopback TCP.
//!
//! ```text
//! client: reads a line of its load file | sends a request | waits for the answer's head, takes it
//! server: waits for a request's head, takes it | sends an answer of the size that was asked for
//! ```
//!
//! The stack is netperf's: all of it runs in the sender, and the wake-up of the peer is SYNC. Which
//! requests come is drawn from a mix of our own ([`MIX`]): operations, sizes and their frequencies
//! as counted by `scripts/measure-tbench`, each request independent of the one before. In the load
//! file that comes with tbench large reads are followed by small ones, and there are some two
//! hundred pairs of sizes.
//!
//! One number is calibrated: `service_ns`, the CPU work of one way of a small message. The rest was
//! measured on a guest of an EPYC at 4.5 GHz (docs/BENCHMARKS.md). Left out: the window of a
//! connection, and the listening server that forks the others.

use crate::netperf::{AFTER_NS, RECEIVE_SHARE, SEND_SHARE, calls};
use crate::random::{self, Purpose, Stream};
use crate::spread::Spread;
use rand::RngExt;
use sim_core::{Calls, Ns, Op, Program, ProgramCx, TaskAttr, TaskId};
use topology::REFERENCE_MHZ;

/// A kind of request of the mix.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// How many of 1000 requests are of this kind.
    pub per_mille: u32,
    /// Bytes of the request, and of its answer.
    pub request: u32,
    /// Bytes of the answer.
    pub answer: u32,
    /// Bytes of a file in one of them: what throughput counts.
    pub data: u32,
}

const fn read(per_mille: u32, data: u32) -> Kind {
    Kind { per_mille, request: HEAD, answer: HEAD + data, data }
}

const fn write(per_mille: u32, data: u32) -> Kind {
    Kind { per_mille, request: HEAD + data, answer: 55, data }
}

/// Bytes of a request to read, and of what comes before the data.
const HEAD: u32 = 59;

/// What 469 094 requests of tbench 4.00 with Debian's load file were, rounded: docs/BENCHMARKS.md.
/// The first kind are those without data: NTCreateX, Close, Qpathinfo, Unlink and so on.
pub const MIX: [Kind; 13] = [
    Kind { per_mille: 614, request: 112, answer: 64, data: 0 },
    // Find.
    Kind { per_mille: 29, request: 111, answer: 1029, data: 0 },
    read(181, 4096),
    read(36, 61_440),
    read(29, 1024),
    read(10, 2048),
    read(10, 8192),
    read(4, 16_384),
    write(28, 65_536),
    write(23, 4096),
    write(18, 1),
    write(14, 20_000),
    write(4, 2048),
];

/// Parameters of tbench.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Clients, each with a server process of its own.
    pub clients: u32,
    /// CPU work of one way of a small message at full speed, ns.
    pub service_ns: Ns,
    /// Coefficient of variation of each piece of that work (log-normal).
    pub spread: f64,
    /// Seed of the pieces' lengths and of the mix.
    pub seed: u64,
}

/// What a client does between two requests, and what a KiB adds to a message, in the sender, which
/// copies it (tbench's receivers throw it away): ns at [`REFERENCE_MHZ`]; measured.
const THINK_NS: Ns = 1600;
const KIB_NS: Ns = 24;
/// The largest segment that loopback carries, bytes. A longer message goes the sender's way again.
const SEGMENT_BYTES: u32 = 65_483;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// A client reads its load file.
    Think,
    Send,
    /// The message is to be put into the peer's socket.
    Deliver,
    /// On the way out of the send and into the next receive.
    After,
    /// Looks into its own socket.
    Receive,
    /// It has taken a message.
    Taken,
}

/// One end of a connection; the ends 2i and 2i+1 are client and server.
#[derive(Clone, Copy, Debug)]
struct End {
    state: State,
    queued: bool,
    asleep: bool,
}

/// The running benchmark.
pub struct Tbench {
    config: Config,
    ends: Vec<End>,
    /// By client: what it has asked for, and where it draws from.
    asked: Vec<usize>,
    draws: Vec<Stream>,
    spread: Spread,
    clock_mhz: u64,
    forked: u32,
    /// Requests that were answered, and their files' bytes.
    done: u64,
    bytes: u64,
}

impl Tbench {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        let end = |i: u32| End {
            state: if i.is_multiple_of(2) { State::Think } else { State::Receive },
            queued: false,
            asleep: false,
        };
        let stream = |i| random::stream(config.seed, u64::from(i), Purpose::Arrival);
        Self {
            ends: (0..2 * config.clients).map(end).collect(),
            asked: vec![0; config.clients as usize],
            draws: (0..config.clients).map(stream).collect(),
            spread: Spread::new(config.spread, 2 * config.clients, config.seed),
            clock_mhz: u64::from(REFERENCE_MHZ),
            forked: 0,
            done: 0,
            bytes: 0,
            config,
        }
    }

    /// Requests that were answered while it was measured.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// The next request of a client.
    fn draw(&mut self, client: usize) {
        let mut at = self.draws[client].random_range(0..1000u32);
        let of_kind = |kind: &Kind| {
            let hit = at < kind.per_mille;
            at = at.wrapping_sub(kind.per_mille);
            hit
        };
        self.asked[client] = MIX.iter().position(of_kind).expect("the mix adds up to 1000");
    }

    fn at_clock(&self, ns: Ns) -> Ns {
        ns * u64::from(REFERENCE_MHZ) / self.clock_mhz
    }

    /// Work of the sender's way with what an end sends now.
    fn send_ns(&self, me: usize) -> Ns {
        let kind = MIX[self.asked[me / 2]];
        let bytes = if me.is_multiple_of(2) { kind.request } else { kind.answer };
        let ways = u64::from(bytes.div_ceil(SEGMENT_BYTES));
        let copy_ns = self.at_clock(KIB_NS * u64::from(bytes) / 1024);
        ways * (self.config.service_ns * SEND_SHARE / 64) + copy_ns
    }

    fn then(&mut self, me: usize, state: State, ns: Ns) -> Op {
        self.ends[me].state = state;
        Op::Kernel(self.spread.vary(me, ns))
    }

    fn turn(&mut self, me: usize) -> Op {
        match self.ends[me].state {
            State::Think => {
                self.draw(me / 2);
                self.ends[me].state = State::Send;
                Op::Run(self.spread.vary(me, self.at_clock(THINK_NS)))
            }
            State::Send => self.then(me, State::Deliver, self.send_ns(me)),
            State::Deliver => {
                self.ends[me].state = State::After;
                self.deliver(me ^ 1)
            }
            State::After => self.then(me, State::Receive, self.at_clock(AFTER_NS)),
            State::Receive if !self.ends[me].queued => {
                self.ends[me].asleep = true;
                Op::Wait
            }
            State::Receive => {
                self.ends[me].queued = false;
                self.then(me, State::Taken, self.config.service_ns * RECEIVE_SHARE / 64)
            }
            State::Taken if me.is_multiple_of(2) => {
                self.done += 1;
                self.bytes += u64::from(MIX[self.asked[me / 2]].data);
                self.ends[me].state = State::Think;
                self.turn(me)
            }
            State::Taken => {
                self.ends[me].state = State::Send;
                self.turn(me)
            }
        }
    }

    /// A message is in the socket of `peer`, which is woken if it sleeps there.
    fn deliver(&mut self, peer: usize) -> Op {
        self.ends[peer].queued = true;
        match std::mem::take(&mut self.ends[peer].asleep) {
            true => Op::Wake { task: TaskId(peer as u32), sync: true },
            false => Op::Kernel(0),
        }
    }
}

impl Program for Tbench {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.clock_mhz = u64::from(cx.machine().clock_mhz);
        let (client, server) = (cx.comm("tbench"), cx.comm("tbench_srv"));
        for i in 0..2 * self.config.clients {
            let comm = if i.is_multiple_of(2) { client } else { server };
            cx.new_task(TaskAttr { comm, mm: i, working_set_kib: 64, ..TaskAttr::default() });
        }
        cx.start_task(TaskAttr { comm: client, mm: u32::MAX, ..TaskAttr::default() });
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if task.idx() < self.ends.len() {
            return self.turn(task.idx());
        }
        // The last task forks all others and waits for their ends.
        if self.forked == 2 * self.config.clients {
            return Op::Wait;
        }
        self.forked += 1;
        Op::Fork(TaskId(self.forked - 1))
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        let Some(end) = self.ends.get(task.idx()) else {
            return op.calls();
        };
        match op {
            Op::Wait => calls::TCP_WAIT,
            Op::Wake { .. } => calls::TCP_WAKE,
            Op::Kernel(_) if matches!(end.state, State::Deliver | State::After) => calls::TCP_SEND,
            _ => calls::TCP_RECEIVE,
        }
    }

    fn is_under_way(&self) -> bool {
        self.forked == 2 * self.config.clients
    }

    fn measurement_begins(&mut self) {
        (self.done, self.bytes) = (0, 0);
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let seconds = elapsed_ns.max(1) as f64 * 1e-9;
        vec![
            ("throughput", self.done as f64 / seconds),
            ("throughput_mb", self.bytes as f64 * 1e-6 / seconds),
        ]
    }

    fn waits_for(&self, task: TaskId) -> String {
        let what = if task.idx() < self.ends.len() { "a message on its socket" } else { "the end" };
        what.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bench(clients: u32) -> Tbench {
        Tbench::new(Config { clients, service_ns: 6400, spread: 0.0, seed: 1 })
    }

    #[test]
    fn the_mix_is_whole_and_has_the_bytes_per_request_that_were_counted() {
        assert_eq!(MIX.iter().map(|kind| kind.per_mille).sum::<u32>(), 1000);
        let mean = MIX.iter().map(|k| k.per_mille * k.data).sum::<u32>() as f64 / 1000.0;
        assert!((mean / 5467.0 - 1.0).abs() < 0.02, "{mean} bytes of files per request");
    }

    #[test]
    fn requests_come_as_often_as_the_mix_says() {
        let mut bench = bench(1);
        let mut counts = [0; MIX.len()];
        for _ in 0..100_000 {
            bench.draw(0);
            counts[bench.asked[0]] += 1;
        }
        for (kind, count) in MIX.iter().zip(counts) {
            let expected = f64::from(kind.per_mille * 100);
            let deviations = (f64::from(count) - expected).abs() / expected.sqrt();
            assert!(deviations < 4.0, "{kind:?}: {count}");
        }
    }

    #[test]
    fn a_long_message_takes_its_bytes_and_perhaps_a_second_segment() {
        let mut bench = bench(1);
        let way = 6400 * 40 / 64;
        let ns = |bench: &mut Tbench, data, me| {
            bench.asked[0] = MIX.iter().position(|kind| kind.data == data).unwrap();
            bench.send_ns(me)
        };
        assert_eq!(ns(&mut bench, 61_440, 0), way + 24 * 59 / 1024);
        assert_eq!(ns(&mut bench, 61_440, 1), way + 24 * 61_499 / 1024);
        assert_eq!(ns(&mut bench, 65_536, 0), 2 * way + 24 * 65_595 / 1024);
    }
}

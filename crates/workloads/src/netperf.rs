//! netperf over loopback: pairs of a client and a server.
//!
//! The whole network stack runs in the sender: down to the loopback device, and up to the peer's
//! socket in a softirq that runs inline. The SYNC wake-up of the peer is a part of it. Then the
//! sender goes on to receive, finds nothing, and sleeps.
//!
//! * `UDP_RR`, `TCP_RR`: one message of one byte goes back and forth.
//! * `TCP_STREAM`: the client writes 16 KiB after 16 KiB into the socket, the server reads;
//!   `netperf/stream.rs` says what becomes of them on the way.
//!
//! One number per machine and test is calibrated, on the baseline with one client: `service_ns`,
//! the CPU work of one way (a request or a reply, or one write with its read). It does not contain
//! the way from a send into the next receive: that is the same code everywhere and scales with the
//! clock.

pub(crate) mod calls;
mod stream;

use crate::latency::Latency;
use crate::spread::Spread;
use sim_core::{Calls, Ns, Op, Program, ProgramCx, TaskAttr, TaskId};
use stream::{Connection, Turn};
use topology::{CpuId, Machine, REFERENCE_MHZ};

/// The tests of netperf that are simulated.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Test {
    /// Request and response over UDP.
    UdpRr,
    /// Request and response over TCP: the same path with more work in it.
    TcpRr,
    /// Bulk transfer over TCP.
    TcpStream,
}

impl Test {
    /// The test by netperf's name.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "UDP_RR" => Some(Test::UdpRr),
            "TCP_RR" => Some(Test::TcpRr),
            "TCP_STREAM" => Some(Test::TcpStream),
            _ => None,
        }
    }
}

/// Bytes of one write of TCP_STREAM (netperf's default on loopback).
pub const WRITE_BYTES: u64 = 16_384;
/// Shares of `service_ns` of a message, in 64ths: unverified, general knowledge of the UDP path.
/// The sender's stack up to the wake-up; the receiver's copy, its return and its next call.
pub(crate) const SEND_SHARE: u64 = 40;
pub(crate) const RECEIVE_SHARE: u64 = 24;
/// From the peer's wake-up to the sleep in the next receive: the way out of the stack and of the
/// call, and into the socket that has nothing, ns at [`REFERENCE_MHZ`]: unverified.
pub(crate) const AFTER_NS: Ns = 800;
/// What changes with the place of the peer (docs/CALIBRATION.md).
struct Peer {
    /// Cache lines that come from its CPU if it is another one: of a send and of a receive.
    send_lines: u64,
    receive_lines: u64,
    /// What is left of the work while both ends share a CPU, and so its caches, in thousandths.
    on_one_cpu: u64,
}
const UDP_RR: Peer = Peer { send_lines: 2, receive_lines: 2, on_one_cpu: 1000 };
const TCP_RR: Peer = Peer { send_lines: 0, receive_lines: 0, on_one_cpu: 800 };
/// On one CPU a stream fills its window of 3 MiB first, which no cache of a core holds.
const TCP_STREAM: Peer = Peer { send_lines: 0, receive_lines: 0, on_one_cpu: 1000 };
/// From the start of one pair to that of the next, a fork and an exec, ns: unverified. If all pairs
/// were placed at once, with nothing running yet, most would land on the first socket.
const START_GAP_NS: Ns = 1_000_000;

/// Parameters of netperf.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Which of the tests is run.
    pub test: Test,
    /// Client and server pairs.
    pub clients: u32,
    /// CPU work of one way at the machine's full speed, ns.
    pub service_ns: Ns,
    /// Coefficient of variation of each piece of that work (log-normal).
    pub spread: f64,
    /// Seed of the pieces' lengths.
    pub seed: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Works its way down the stack with a message.
    Send,
    /// The message is to be put into the peer's socket.
    Deliver,
    /// On the way out of the send and into the next receive.
    After,
    /// Looks into its own socket.
    Receive,
}

/// One end of a connection; the ends 2i and 2i+1 are a pair.
#[derive(Clone, Copy, Debug)]
struct End {
    state: State,
    /// Messages (or writes) in its socket.
    queued: u32,
    asleep: bool,
    /// Where it was last seen.
    cpu: CpuId,
    /// Of a client: when its last send began, ns.
    sent: Option<Ns>,
}

/// What the shell that starts the pairs does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Launch {
    /// Forks a client,
    Client,
    /// which has its server forked,
    Server,
    /// and goes on to the next pair.
    Pause,
}

/// The running benchmark.
pub struct Netperf {
    config: Config,
    after_ns: Ns,
    ends: Vec<End>,
    /// A stream's connections, by pair.
    connections: Vec<Connection>,
    spread: Spread,
    /// Pairs that the shell has started.
    started: u32,
    launch: Launch,
    /// Transactions, or bytes read, that were measured so far.
    done: u64,
    /// Of transactions: from before a send to after the receive (netperf's `MEAN_LATENCY`, …).
    latency: Latency,
}

impl Netperf {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        let end = |i: u32| End {
            state: if i.is_multiple_of(2) { State::Send } else { State::Receive },
            queued: 0,
            asleep: false,
            cpu: CpuId(0),
            sent: None,
        };
        Self {
            config,
            after_ns: AFTER_NS,
            ends: (0..2 * config.clients).map(end).collect(),
            connections: vec![Connection::default(); config.clients as usize],
            spread: Spread::new(config.spread, 2 * config.clients, config.seed),
            started: 0,
            launch: Launch::Client,
            done: 0,
            latency: Latency::new(),
        }
    }

    /// Transactions, or bytes read, that were measured so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    fn streams(&self) -> bool {
        self.config.test == Test::TcpStream
    }

    /// The message is in the peer's socket: wake the peer if it sleeps there.
    fn deliver(&mut self, me: usize) -> Op {
        let peer = me ^ 1;
        self.ends[peer].queued += 1;
        if std::mem::take(&mut self.ends[peer].asleep) {
            return Op::Wake { task: TaskId(peer as u32), sync: true };
        }
        Op::Kernel(0)
    }

    fn receive(&mut self, machine: &Machine, me: usize) -> Op {
        if self.ends[me].queued == 0 {
            self.ends[me].asleep = true;
            return Op::Wait;
        }
        self.ends[me].queued -= 1;
        // The client's receive completes a transaction.
        self.done += u64::from(me.is_multiple_of(2));
        let lines = self.peer().receive_lines;
        self.then(machine, me, State::Send, RECEIVE_SHARE, lines)
    }

    fn round_trip(&mut self, machine: &Machine, now: Ns, me: usize) -> Op {
        match self.ends[me].state {
            State::Send => {
                // A client's receive ends where its next send begins.
                let sent = self.ends[me].sent.replace(now);
                if let Some(sent) = sent.filter(|_| me.is_multiple_of(2)) {
                    self.latency.record(now - sent);
                }
                let lines = self.peer().send_lines;
                self.then(machine, me, State::Deliver, SEND_SHARE, lines)
            }
            State::Deliver => {
                self.ends[me].state = State::After;
                self.deliver(me)
            }
            State::After => {
                self.ends[me].state = State::Receive;
                Op::Kernel(self.spread.vary(me, self.after_ns))
            }
            State::Receive => self.receive(machine, me),
        }
    }

    /// The shell: a client and its server, one pair after the other.
    fn launch(&mut self) -> Op {
        let pair = 2 * self.started;
        match self.launch {
            _ if self.started == self.config.clients => Op::Exit,
            Launch::Client => {
                self.launch = Launch::Server;
                Op::Fork(TaskId(pair))
            }
            Launch::Server => {
                self.launch = Launch::Pause;
                Op::Fork(TaskId(pair + 1))
            }
            Launch::Pause => {
                self.launch = Launch::Client;
                self.started += 1;
                Op::Sleep(START_GAP_NS)
            }
        }
    }

    fn peer(&self) -> &'static Peer {
        match self.config.test {
            Test::UdpRr => &UDP_RR,
            Test::TcpRr => &TCP_RR,
            Test::TcpStream => &TCP_STREAM,
        }
    }

    /// A share of the work, where the two ends were last seen.
    fn work_ns(&mut self, me: usize, share: u64, whole: u64) -> Ns {
        let ns = self.config.service_ns * share / whole;
        let on_one_cpu = self.ends[me].cpu == self.ends[me ^ 1].cpu;
        let ns = if on_one_cpu { ns * self.peer().on_one_cpu / 1000 } else { ns };
        self.spread.vary(me, ns)
    }

    /// Kernel work, with lines of the peer's CPU, and what comes after it.
    fn then(&mut self, machine: &Machine, me: usize, state: State, share: u64, lines: u64) -> Op {
        self.ends[me].state = state;
        let line_ns = machine.line_ns(self.ends[me ^ 1].cpu, self.ends[me].cpu);
        Op::Kernel(self.work_ns(me, share, 64) + lines * line_ns)
    }

    /// The next operation of an end of a stream.
    fn stream(&mut self, me: usize) -> Op {
        let connection = &mut self.connections[me / 2];
        let before = connection.read_bytes();
        let turn = if me.is_multiple_of(2) { connection.write() } else { connection.read() };
        self.done += connection.read_bytes() - before;
        let peer = TaskId(me as u32 ^ 1);
        match turn {
            Turn::Work(share) => Op::Kernel(self.work_ns(me, share, 1000)),
            Turn::WakeReader => Op::Wake { task: peer, sync: true },
            Turn::WakeWriter => Op::Wake { task: peer, sync: false },
            Turn::Wait => Op::Wait,
        }
    }
}

impl Program for Netperf {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let clock_mhz = u64::from(cx.machine().clock_mhz);
        self.after_ns = AFTER_NS * u64::from(REFERENCE_MHZ) / clock_mhz;
        let (client, server) = (cx.comm("netperf"), cx.comm("netserver"));
        for i in 0..2 * self.config.clients {
            let comm = if i.is_multiple_of(2) { client } else { server };
            cx.new_task(TaskAttr { comm, mm: i, working_set_kib: 64, ..TaskAttr::default() });
        }
        let comm = cx.comm("sh");
        cx.start_task(TaskAttr { comm, mm: u32::MAX, ..TaskAttr::default() });
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let me = task.idx();
        if me == self.ends.len() {
            return self.launch();
        }
        self.ends[me].cpu = cx.cpu();
        if self.streams() { self.stream(me) } else { self.round_trip(cx.machine(), cx.now(), me) }
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        let Some(&End { state, .. }) = self.ends.get(task.idx()) else {
            return op.calls();
        };
        let (streams, writes) = (self.streams(), task.idx().is_multiple_of(2));
        let sends = if streams { writes } else { state == State::Deliver };
        match (op, self.config.test) {
            (Op::Wait, Test::UdpRr) => calls::UDP_WAIT,
            (Op::Wait, _) if streams && writes => calls::TCP_WAIT_MEMORY,
            (Op::Wait, _) => calls::TCP_WAIT,
            (Op::Wake { .. }, Test::UdpRr) => calls::UDP_WAKE,
            (Op::Wake { .. }, _) if streams && !writes => calls::TCP_WAKE_WRITER,
            (Op::Wake { .. }, _) => calls::TCP_WAKE,
            (_, Test::UdpRr) if sends => calls::UDP_SEND,
            (_, Test::UdpRr) => calls::UDP_RECEIVE,
            _ if sends => calls::TCP_SEND,
            _ => calls::TCP_RECEIVE,
        }
    }

    /// Each netperf reports its own rate, and a profile is taken while all of them run.
    fn is_under_way(&self) -> bool {
        self.started == self.config.clients
    }

    fn measurement_begins(&mut self) {
        (self.done, self.latency) = (0, Latency::new());
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let per_s = self.done as f64 / (elapsed_ns.max(1) as f64 * 1e-9);
        match self.config.test {
            Test::TcpStream => {
                vec![("throughput_mbit", per_s * 8e-6)]
            }
            _ => {
                let mut results = vec![("throughput", per_s)];
                results.extend(self.latency.results(Latency::NAMES));
                results
            }
        }
    }

    fn waits_for(&self, task: TaskId) -> String {
        let what =
            if self.streams() && task.idx().is_multiple_of(2) { "room in" } else { "a message on" };
        format!("{what} its socket")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use topology::RegularSpec;

    impl Netperf {
        /// Messages of pair 0: in a socket, or in the hands of an end.
        fn outstanding(&self) -> u32 {
            let in_hand = |e: &End| u32::from(matches!(e.state, State::Send | State::Deliver));
            self.ends.iter().map(|e| e.queued + in_hand(e)).sum()
        }
    }

    /// Work of a client's send, or of a stream's first write, with the server seen on that CPU.
    fn first_work(test: Test, server: CpuId) -> Ns {
        let machine = Machine::regular(RegularSpec::default());
        let config = Config { test, clients: 1, service_ns: 64_000, spread: 0.0, seed: 1 };
        let mut pair = Netperf::new(config);
        pair.ends[1].cpu = server;
        let op = match test {
            Test::TcpStream => pair.stream(0),
            _ => pair.round_trip(&machine, 0, 0),
        };
        let Op::Kernel(ns) = op else { panic!("{op:?} is no work") };
        ns
    }

    /// The socket and the packet of a message come from where the peer ran.
    #[test]
    fn work_depends_on_where_the_peer_ran() {
        let machine = Machine::regular(RegularSpec::default());
        let (here, core, apart) = (CpuId(0), CpuId(4), CpuId(1));
        for server in [here, core, apart] {
            let ns = 40_000 + 2 * machine.line_ns(server, here);
            assert_eq!(first_work(Test::UdpRr, server), ns, "{server:?}");
        }
        assert_eq!(first_work(Test::TcpRr, apart), 40_000);
        assert_eq!(first_work(Test::TcpRr, here), 32_000);
        for server in [here, apart] {
            assert_eq!(first_work(Test::TcpStream, server), 64_000 * 290 / 1000);
        }
    }

    proptest! {
        /// However the two ends of a pair take turns, one message goes back and forth, and one of
        /// them is awake.
        #[test]
        fn a_pair_has_one_message(turns in prop::collection::vec(0..2usize, 1..300)) {
            let (test, service_ns) = (Test::UdpRr, 1000);
            let machine = Machine::regular(RegularSpec::default());
            let mut pair = Netperf::new(Config { test, clients: 1, service_ns, spread: 0.1, seed: 1 });
            for me in turns {
                if !pair.ends[me].asleep {
                    pair.round_trip(&machine, 0, me);
                }
                prop_assert_eq!(pair.outstanding(), 1);
                prop_assert!(pair.ends.iter().any(|e| !e.asleep));
            }
        }
    }
}

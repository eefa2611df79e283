//! A web server of the kind of HHVM. It has many threads, each with one request at a time. A thread
//! computes for tens of milliseconds in short stretches and asks backends in between.
//!
//! ```text
//! request: read | compute | send, wait for a backend, read | compute | ... | reply
//! ```
//!
//! Requests and answers come over the network, as an interrupt of the CPU that serves the
//! connection. That is always the same CPU for the answers to a thread, and any CPU for a request.
//! Without a rate threads begin the next request at once: the load generator always has one. With a
//! rate requests arrive at random. A request goes to the thread that has idled for the shortest
//! time, as in HHVM's queue, or waits for one. Its lengths are its own: they do not depend on the
//! thread that serves it.

use crate::latency::Latency;
use crate::random::{self, Purpose, Stream};
use crate::spread::Spread;
use sim_core::{Calls, NEVER, Ns, Op, Program, ProgramCx, Stack, Step, TaskAttr, TaskId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use topology::{CpuId, PerCpu};

/// Parameters of the server and of its backends.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Threads that serve requests.
    pub threads: u32,
    /// Requests per second; none: as many as the threads can serve.
    pub rps: Option<u64>,
    /// CPU work of a request at full speed, ns.
    pub work_ns: Ns,
    /// Calls of a backend in the course of it.
    pub calls: u32,
    /// Mean time that a backend takes for an answer, ns (exponential).
    pub backend_ns: Ns,
    /// Kernel work to send a message, and to take one in, ns.
    pub message_ns: Ns,
    /// What a thread uses again and again, KiB.
    pub footprint_kib: u32,
    /// Coefficient of variation of each stretch of the work (log-normal).
    pub spread: f64,
    /// Seed of all lengths and arrivals.
    pub seed: u64,
}

/// Requests that wait for a thread at most (`net.core.somaxconn`), or for a CPU to take them in;
/// further ones are refused.
const BACKLOG: usize = 4096;
const SECOND: Ns = 1_000_000_000;

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum ThreadStep {
    /// Looks for a request.
    Look,
    /// Sleeps until it is given one.
    Idle,
    /// Reads what has come.
    Read,
    Compute,
    /// Sends a question, if there is one left to be asked, or the reply.
    Send,
    /// Its message is out.
    Sent,
    /// Sleeps until the answer is there.
    Answer,
}

/// A request in a thread's hands.
struct Request {
    began: Ns,
    calls_left: u32,
    /// Its own random numbers.
    rng: Stream,
}

struct Thread {
    at: ThreadStep,
    request: Option<Request>,
    /// The CPU whose interrupts bring its answers.
    connection: CpuId,
}

/// What comes over the network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
enum Message {
    Answer { thread: u32 },
    Request { number: u64, at: Ns },
}

/// One CPU's receive queue: what is in it, and what is being taken in.
#[derive(Clone, Default)]
struct Receive {
    queue: VecDeque<Message>,
    current: Option<Message>,
}

/// The running server.
pub struct Web {
    config: Config,
    threads: Vec<Thread>,
    /// Threads without a request, the last one that became so at the end.
    idle: Vec<u32>,
    backlog: VecDeque<(u64, Ns)>,
    /// Answers on their way: when they arrive, and the thread that waits for each.
    backends: BinaryHeap<Reverse<(Ns, u32)>>,
    arrivals: Stream,
    next_arrival: Ns,
    n_arrived: u64,
    receive: PerCpu<Receive>,
    spread: Spread,
    latency: Latency,
    done: u64,
    refused: u64,
}

impl Web {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        Self {
            threads: Vec::new(),
            idle: Vec::new(),
            backlog: VecDeque::new(),
            backends: BinaryHeap::new(),
            arrivals: random::stream(config.seed, 0, Purpose::Arrival),
            next_arrival: NEVER,
            n_arrived: 0,
            receive: PerCpu::new(),
            spread: Spread::new(config.spread, 0, config.seed),
            latency: Latency::new(),
            done: 0,
            refused: 0,
            config,
        }
    }

    /// Request number `number`, which began at this instant.
    fn request(&self, number: u64, began: Ns) -> Request {
        let rng = random::stream(self.config.seed, number, Purpose::Service);
        Request { began, calls_left: self.config.calls, rng }
    }

    /// The time until the next arrival of a Poisson process, ns.
    fn gap(&mut self, rps: u64) -> Ns {
        let mean = SECOND as f64 / rps as f64;
        ((random::exponential(&mut self.arrivals) * mean).round() as Ns).max(1)
    }

    /// The device's next instant: an arrival or an answer.
    fn next_event(&self) -> Ns {
        self.backends.peek().map_or(NEVER, |Reverse((at, _))| *at).min(self.next_arrival)
    }

    fn serve(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        match self.threads[me].at {
            ThreadStep::Look => self.take_request(cx.now(), me),
            ThreadStep::Read => {
                self.then(me, ThreadStep::Compute, Op::Kernel(self.config.message_ns))
            }
            ThreadStep::Compute => {
                let piece = self.config.work_ns / u64::from(self.config.calls + 1);
                let request = self.threads[me].request.as_mut().expect("it computes for one");
                let work = self.spread.draw(&mut request.rng, piece);
                self.then(me, ThreadStep::Send, Op::Run(work))
            }
            ThreadStep::Send => self.then(me, ThreadStep::Sent, Op::Kernel(self.config.message_ns)),
            ThreadStep::Sent => self.sent(cx, me),
            ThreadStep::Idle | ThreadStep::Answer => Op::Wait,
        }
    }

    fn then(&mut self, me: usize, next: ThreadStep, op: Op) -> Op {
        self.threads[me].at = next;
        op
    }

    /// A question is on its way, or the reply is.
    fn sent(&mut self, cx: &mut ProgramCx<'_>, me: usize) -> Op {
        let now = cx.now();
        let request = self.threads[me].request.as_mut().expect("it has sent for one");
        if request.calls_left == 0 {
            let took = now - request.began;
            self.latency.record(took);
            self.done += 1;
            self.threads[me].request = None;
            return self.take_request(now, me);
        }
        request.calls_left -= 1;
        let wait = random::exponential(&mut request.rng) * self.config.backend_ns as f64;
        self.backends.push(Reverse((now + (wait.round() as Ns).max(1), me as u32)));
        cx.set_device(self.next_event());
        self.then(me, ThreadStep::Answer, Op::Wait)
    }

    /// The next request, which is read; or sleep until there is one.
    fn take_request(&mut self, now: Ns, me: usize) -> Op {
        let next = match self.config.rps {
            Some(_) => self.backlog.pop_front(),
            None => {
                self.n_arrived += 1;
                Some((self.n_arrived, now))
            }
        };
        let Some((number, began)) = next else {
            self.idle.push(me as u32);
            return self.then(me, ThreadStep::Idle, Op::Wait);
        };
        self.threads[me].request = Some(self.request(number, began));
        self.then(me, ThreadStep::Compute, Op::Kernel(self.config.message_ns))
    }

    /// A message has been taken in. Returns the thread to be woken, if one is.
    fn deliver(&mut self, message: Message) -> Option<TaskId> {
        let thread = match message {
            Message::Answer { thread } => thread,
            Message::Request { number, at } => {
                let Some(thread) = self.idle.pop() else {
                    if self.backlog.len() < BACKLOG {
                        self.backlog.push_back((number, at));
                    } else {
                        self.refused += 1;
                    }
                    return None;
                };
                self.threads[thread as usize].request = Some(self.request(number, at));
                thread
            }
        };
        self.threads[thread as usize].at = ThreadStep::Read;
        Some(TaskId(thread))
    }

    /// A request arrives at a random CPU. Returns that CPU.
    fn arrive(&mut self, rps: u64) -> CpuId {
        self.n_arrived += 1;
        let message = Message::Request { number: self.n_arrived, at: self.next_arrival };
        let n = self.receive.len() as f64;
        let cpu = ((random::unit(&mut self.arrivals) * n) as usize).min(self.receive.len() - 1);
        let queue = &mut self.receive[CpuId(cpu as u32)].queue;
        if queue.len() < BACKLOG {
            queue.push_back(message);
        } else {
            self.refused += 1;
        }
        self.next_arrival += self.gap(rps);
        CpuId(cpu as u32)
    }
}

impl Program for Web {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let comm = cx.comm("web");
        let working_set_kib = self.config.footprint_kib;
        let n_cpus = cx.n_cpus();
        self.receive = vec![Receive::default(); n_cpus].into();
        for i in 0..self.config.threads {
            let task = cx.start_task(TaskAttr { comm, working_set_kib, ..TaskAttr::default() });
            debug_assert_eq!(task, TaskId(i));
            let mut rng = random::stream(self.config.seed, u64::from(i), Purpose::Start);
            let cpu = ((random::unit(&mut rng) * n_cpus as f64) as usize).min(n_cpus - 1);
            let connection = CpuId(cpu as u32);
            self.threads.push(Thread { at: ThreadStep::Look, request: None, connection });
        }
        if let Some(rps) = self.config.rps {
            self.next_arrival = self.gap(rps);
            cx.set_device(self.next_arrival);
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        self.serve(cx, task.idx())
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        while let Some(&Reverse((at, thread))) = self.backends.peek()
            && at <= cx.now()
        {
            self.backends.pop();
            let cpu = self.threads[thread as usize].connection;
            self.receive[cpu].queue.push_back(Message::Answer { thread });
            cx.raise(cpu);
        }
        if let Some(rps) = self.config.rps {
            while self.next_arrival <= cx.now() {
                let cpu = self.arrive(rps);
                cx.raise(cpu);
            }
        }
        cx.set_device(self.next_event());
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        loop {
            let receive = &mut self.receive[cx.cpu()];
            if let Some(message) = receive.current.take() {
                match self.deliver(message) {
                    Some(task) => return Step::Wake { task, sync: false },
                    None => continue,
                }
            }
            receive.current = receive.queue.pop_front();
            if receive.current.is_none() {
                return Step::Done;
            }
            return Step::Spend(self.config.message_ns);
        }
    }

    fn measurement_begins(&mut self) {
        (self.latency, self.done, self.refused) = (Latency::new(), 0, 0);
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let per_s = self.done as f64 / (elapsed_ns.max(1) as f64 * 1e-9);
        let mut results = vec![("throughput", per_s)];
        results.extend(self.latency.results(Latency::NAMES));
        results.push(("refused", self.refused as f64));
        results
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        let sends = self.threads.get(task.idx()).is_some_and(|t| t.at == ThreadStep::Sent);
        match op {
            Op::Kernel(_) if sends => &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_sendmsg"],
            Op::Kernel(_) => &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_recvmsg"],
            Op::Wait => &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_epoll_wait", "ep_poll"],
            _ => op.calls(),
        }
    }

    fn unwind(&self, _cpu: CpuId, task: Option<TaskId>, stack: &mut Stack) {
        if task.is_none() {
            stack.call(&["asm_common_interrupt", "net_rx_action", "napi_poll"]);
        }
    }

    fn waits_for(&self, task: TaskId) -> String {
        let answer = self.threads.get(task.idx()).is_some_and(|t| t.at == ThreadStep::Answer);
        if answer { "an answer".into() } else { "a request".into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn web(rps: Option<u64>) -> Web {
        let mut web = Web::new(Config {
            threads: 3,
            rps,
            work_ns: 9_000,
            calls: 2,
            backend_ns: 1_000,
            message_ns: 10,
            footprint_kib: 1,
            spread: 0.0,
            seed: 1,
        });
        let thread = |_| Thread { at: ThreadStep::Look, request: None, connection: CpuId(0) };
        web.threads = (0..3).map(thread).collect();
        web
    }

    #[test]
    fn who_has_idled_for_the_shortest_time_gets_the_next_request() {
        let mut web = web(Some(1000));
        for me in [2, 0, 1] {
            assert_eq!(web.take_request(5, me), Op::Wait);
        }
        let request = |number| Message::Request { number, at: 7 };
        let served: Vec<_> = (1..5).map(|n| web.deliver(request(n))).collect();
        assert_eq!(served, [Some(TaskId(1)), Some(TaskId(0)), Some(TaskId(2)), None]);
        assert!(web.threads.iter().all(|t| t.at == ThreadStep::Read && t.request.is_some()));
        // The fourth one waits for the thread that is done first.
        web.threads[0].request = None;
        assert_eq!(web.take_request(9, 0), Op::Kernel(10));
        assert_eq!(web.threads[0].request.as_ref().map(|r| r.began), Some(7));
    }

    #[test]
    fn a_full_backlog_refuses() {
        let mut web = web(Some(1000));
        for number in 0..5000 {
            web.deliver(Message::Request { number, at: 0 });
        }
        assert_eq!((web.backlog.len(), web.refused), (BACKLOG, (5000 - BACKLOG) as u64));
    }

    #[test]
    fn requests_have_random_numbers_of_their_own() {
        let web = web(None);
        let draw = |number| web.request(number, 0).rng;
        assert_eq!(draw(4), draw(4));
        assert_ne!(draw(4), draw(5));
    }

    #[test]
    fn as_fast_as_they_can_there_always_is_a_request() {
        let mut web = web(None);
        for me in [0, 1, 0] {
            assert_eq!(web.take_request(3, me), Op::Kernel(10));
        }
        assert_eq!(web.n_arrived, 3);
    }
}

//! A service as statistics: threads by role, what a turn of each takes, and who wakes whom.
//!
//! ```text
//! arrivals from outside ──> role ── wakes ──> role ── wakes ──> ...
//! ```
//!
//! A *turn* is what a thread does from the end of one sleep to the beginning of the next: it works,
//! waits for disks, wakes others. A message begins it: from outside (a device's interrupt), or from
//! a turn of another thread, which wakes the one that takes it. A thread that finds another message
//! at the end of its turn does not sleep. A share of the sleeps are for the thread's own timer.
//!
//! Messages of a role come and go in whole numbers: if a turn of one wakes 0.7 of another, ten
//! turns send seven messages. So what circles in a closed loop neither dies out nor grows.
//! Lengths are drawn by the number of the role's turn: all policies meet the same ones.
//!
//! How such numbers are found in a recording is in [`fit`].

pub mod fit;
mod lengths;
mod requests;
mod shared;
mod spec;
mod threads;

pub use lengths::{Lengths, N_CLASSES};
pub use spec::{Gaps, Pause, Role, Spec, Wakes};

use crate::latency::Latency;
use crate::random::{self, Purpose, Stream};
use requests::Requests;
use shared::{OWED_TIMER, Shared};
use sim_core::{
    Calls, GroupId, NEVER, Ns, Op, PerTask, Program, ProgramCx, SleepState, Stack, Step, TaskAttr,
    TaskId,
};
use std::collections::VecDeque;
use std::sync::Arc;
use threads::{Act, Message, State, Thread};
use topology::{CpuId, PerCpu};

/// Parameters of the running service.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its roles.
    pub spec: Arc<Spec>,
    /// Factor of what comes from outside, and of what circles within.
    pub load: f64,
    /// Seed of all lengths and arrivals.
    pub seed: u64,
}

/// Messages that wait for a thread, or for any of a role, at most; further ones are refused.
const BACKLOG: usize = 1 << 16;

/// The running service.
pub struct Service {
    spec: Arc<Spec>,
    load: f64,
    roles: Vec<Shared>,
    threads: Vec<Thread>,
    /// By `TaskId`: the thread.
    thread_of: PerTask<u32>,
    /// Roles of the arrivals that each CPU has to take in.
    receive: PerCpu<VecDeque<u32>>,
    requests: Requests,
    /// Which CPU is interrupted.
    interrupts: Stream,
    latency: Latency,
    done: u64,
    refused: u64,
}

impl Service {
    /// The service with these parameters, not started.
    pub fn new(config: Config) -> Self {
        let stream = |role: usize, purpose| random::stream(config.seed, role as u64, purpose);
        let (mut roles, mut threads) = (Vec::new(), Vec::new());
        let reaches = config.spec.reaches();
        for (number, role) in config.spec.roles.iter().enumerate() {
            let in_loop = role.wakes.iter().map(|to| reaches[to.role as usize][number]).collect();
            let streams = [Purpose::Service, Purpose::Arrival].map(|what| stream(number, what));
            roles.push(Shared::new(threads.len() as u32, in_loop, streams));
            threads.extend((0..role.threads).map(|_| Thread::new(number as u32, role)));
        }
        Self {
            interrupts: stream(roles.len(), Purpose::Arrival),
            spec: config.spec,
            load: config.load,
            roles,
            threads,
            thread_of: PerTask::new(),
            receive: PerCpu::new(),
            requests: Requests::default(),
            latency: Latency::new(),
            done: 0,
            refused: 0,
        }
    }

    /// The factor of a role's messages.
    fn load_of(&self, role: &Role) -> f64 {
        if role.background { 1.0 } else { self.load }
    }

    /// Messages that are there at the beginning, by role. What circles in a loop are whole messages
    /// of all its roles together, and at least one if there is any.
    fn under_way(&self) -> Vec<u32> {
        let roles = &self.spec.roles;
        let mut given = vec![0; roles.len()];
        for members in self.spec.loops() {
            let busy = |role: &usize| roles[*role].busy * self.load_of(&roles[*role]);
            let all: f64 = members.iter().map(busy).sum();
            let whole = if all > 0.0 { all.round().max(1.0) } else { 0.0 };
            let (mut asked, mut sum) = (0.0, 0);
            for role in &members {
                asked += busy(role);
                // The last one brings the sum to the whole, whatever rounding did before.
                let up_to = (whole * asked / all.max(f64::MIN_POSITIVE) + 1e-9).floor() as u32;
                given[*role] = up_to - sum;
                sum = up_to;
            }
        }
        given
    }

    /// The time until the next arrival for a role, ns.
    fn gap(&mut self, role: usize) -> Ns {
        let rng = &mut self.roles[role].gaps;
        let gap = match &self.spec.roles[role].gaps {
            None => return NEVER,
            Some(Gaps::Poisson { per_s }) => random::exponential(rng) * (1e9 / per_s),
            Some(Gaps::Seen(gaps)) => gaps.draw(rng) as f64,
        };
        ((gap / self.load_of(&self.spec.roles[role])).round() as Ns).max(1)
    }

    fn next_event(&self) -> Ns {
        self.roles.iter().map(|role| role.next_arrival).min().unwrap_or(NEVER)
    }

    /// Gives a message to a thread of a role: to this one, or to any that waits, or to the next one
    /// that is done. Returns whom to wake.
    fn give(&mut self, role: usize, to: Option<u32>, message: Message) -> Option<TaskId> {
        let me = match to {
            Some(thread) => thread,
            None => match self.roles[role].next_waiting(&self.threads) {
                Some(thread) => thread,
                None => {
                    if self.roles[role].backlog.len() < BACKLOG {
                        self.roles[role].backlog.push_back(message);
                    } else {
                        self.refuse(message);
                    }
                    return None;
                }
            },
        };
        let thread = &mut self.threads[me as usize];
        if thread.mailbox.len() < BACKLOG {
            thread.mailbox.push_back(message);
        } else {
            self.refuse(message);
        }
        let thread = &mut self.threads[me as usize];
        thread.is_woken().then_some(thread.task)
    }

    /// Too many wait: this one is lost.
    fn refuse(&mut self, message: Message) {
        self.refused += 1;
        if let Some(request) = message.request {
            self.requests.ends(request);
        }
    }

    /// A request from outside, or from a timer, in the hands of a first thread.
    fn request(&mut self, now: Ns) -> Message {
        Message { began: now, request: Some(self.requests.begin(now)) }
    }

    /// The message that `me` works on has had its effect: another is sent.
    fn send(&mut self, now: Ns, me: usize, wakes: usize) -> Option<Op> {
        let role = self.threads[me].role as usize;
        let Wakes { role: to, sync, own, .. } = self.spec.roles[role].wakes[wakes];
        let to = to as usize;
        let partner = own.then(|| self.partner(me, wakes));
        let mut message = self.threads[me].message.following(now);
        match message.request {
            // Nobody waits for what the machine's own threads do about it.
            Some(_) if self.spec.roles[to].background => message.request = None,
            Some(request) => self.requests.goes_on(request),
            None => {}
        }
        self.give(to, partner, message).map(|task| Op::Wake { task, sync })
    }

    /// The thread of a role to which this one always turns; one of its own ones by turns, if there
    /// are several for each.
    fn partner(&mut self, me: usize, wakes: usize) -> u32 {
        let thread = &mut self.threads[me];
        let from = thread.role as usize;
        let to = self.spec.roles[from].wakes[wakes].role as usize;
        let index = me as u64 - u64::from(self.roles[from].first);
        if from == to {
            let last = u64::from(self.spec.roles[to].threads) - 1;
            let is_odd_one = index == last && index.is_multiple_of(2);
            let neighbor = if is_odd_one { last.saturating_sub(1) } else { index ^ 1 };
            return self.roles[to].first + neighbor as u32;
        }
        let [mine, theirs] = [from, to].map(|role| u64::from(self.spec.roles[role].threads));
        let begin = index * theirs / mine;
        let end = ((index + 1) * theirs / mine).max(begin + 1);
        thread.turns_to[wakes] += 1;
        self.roles[to].first + (begin + u64::from(thread.turns_to[wakes]) % (end - begin)) as u32
    }

    /// What is next after a turn: the next one, a timer, or a wait for a message.
    fn look(&mut self, now: Ns, me: usize) -> Option<Op> {
        let role = self.threads[me].role as usize;
        let thread = &mut self.threads[me];
        let message = thread.mailbox.pop_front().or_else(|| self.roles[role].backlog.pop_front());
        if let Some(message) = message {
            self.begin_turn(me, message);
            return None;
        }
        if let State::Timer { due } = thread.state {
            if due <= now {
                let message = self.request(now);
                self.begin_turn(me, message);
                return None;
            }
            self.waits(me);
            return Some(Op::Sleep(due - now));
        }
        let shared = &mut self.roles[role];
        if let Some(timer) = &self.spec.roles[role].timer
            && shared.is_due(OWED_TIMER, timer.per_turn) > 0
        {
            let length = timer.length.draw(&mut shared.lengths).max(1);
            self.threads[me].state = State::Timer { due: now + length };
            self.waits(me);
            return Some(Op::Sleep(length));
        }
        self.threads[me].state = State::Idle;
        self.waits(me);
        Some(Op::Wait)
    }

    fn waits(&mut self, me: usize) {
        let wait = self.threads[me].begin_wait();
        let role = self.threads[me].role as usize;
        self.roles[role].waits(me as u32, wait, &self.threads, &self.spec.roles[role]);
    }

    /// Draws what this turn will be.
    fn begin_turn(&mut self, me: usize, message: Message) {
        let thread = &mut self.threads[me];
        let (spec, shared) =
            (&self.spec.roles[thread.role as usize], &mut self.roles[thread.role as usize]);
        thread.begin_turn(message);
        // A turn without end would take no time.
        let work = spec.work.draw(&mut shared.lengths).max(1);
        thread.plan(work, spec, shared);
    }

    fn end_turn(&mut self, now: Ns, me: usize) {
        let thread = &mut self.threads[me];
        thread.state = State::Idle;
        let message = thread.message;
        // A request ends with the last turn that it led to; what circles ends nowhere.
        let began = match message.request {
            Some(request) => self.requests.ends(request),
            None => Some(message.began),
        };
        let background = self.spec.roles[thread.role as usize].background;
        if let Some(began) = began.filter(|_| !background) {
            self.latency.record(now - began);
            self.done += 1;
        }
    }

    fn act(&mut self, cx: &mut ProgramCx<'_>, me: usize, act: Act) -> Option<Op> {
        match act {
            Act::Run { ns, yields: 0 } => Some(Op::Run(ns)),
            Act::Run { ns, yields } => {
                let piece = ns / (Ns::from(yields) + 1);
                let rest = Act::Run { ns: ns - piece, yields: yields - 1 };
                self.threads[me].todo.extend([rest, Act::Yield]);
                (piece > 0).then_some(Op::Run(piece))
            }
            Act::Wake(wakes) => self.send(cx.now(), me, wakes),
            Act::Yield => Some(Op::Yield),
            Act::Disk(ns) => {
                cx.set_sleep_state(self.threads[me].task, SleepState::Uninterruptible);
                Some(Op::Sleep(ns))
            }
            Act::DiskDone => {
                cx.set_sleep_state(self.threads[me].task, SleepState::Interruptible);
                None
            }
        }
    }
}

impl Program for Service {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.receive = vec![VecDeque::new(); cx.n_cpus()].into();
        let spec = Arc::clone(&self.spec);
        let mut n_processes = 0;
        let under_way = self.under_way();
        for (number, role) in spec.roles.iter().enumerate() {
            let comm = cx.comm(&role.comm);
            for index in 0..role.threads {
                let process =
                    u64::from(index) * u64::from(role.processes) / u64::from(role.threads);
                let attr = TaskAttr {
                    comm,
                    nice: role.nice,
                    mm: n_processes + process as u32,
                    timer_slack_ns: Some(0),
                    rested: true,
                    group: GroupId(role.session),
                    ..TaskAttr::default()
                };
                let me = self.roles[number].first + index;
                let task = cx.start_task(attr);
                self.threads[me as usize].task = task;
                self.thread_of.cover(task, || 0);
                self.thread_of[task] = me;
            }
            n_processes += role.processes;
            for message in 0..under_way[number] {
                // As far from each other as can be: neighbors may be partners.
                let place =
                    u64::from(message) * u64::from(role.threads) / u64::from(under_way[number]);
                let me = self.roles[number].first + place as u32;
                self.threads[me as usize].mailbox.push_back(Message::closed(0));
            }
            // The others wait from the beginning, although they have yet to go to sleep.
            for me in self.roles[number].first..self.roles[number].first + role.threads {
                if self.threads[me as usize].mailbox.is_empty() {
                    self.waits(me as usize);
                }
            }
            self.roles[number].next_arrival = self.gap(number);
        }
        cx.set_device(self.next_event());
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let me = self.thread_of[task] as usize;
        loop {
            let op = if self.threads[me].state != State::Turn {
                self.look(cx.now(), me)
            } else if let Some(act) = self.threads[me].todo.pop() {
                self.act(cx, me, act)
            } else {
                self.end_turn(cx.now(), me);
                None
            };
            if let Some(op) = op {
                return op;
            }
        }
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        for role in 0..self.roles.len() {
            while self.roles[role].next_arrival <= cx.now() {
                let n = self.receive.len();
                let cpu = (random::unit(&mut self.interrupts) * n as f64) as usize;
                let cpu = CpuId(cpu.min(n - 1) as u32);
                self.receive[cpu].push_back(role as u32);
                cx.raise(cpu);
                self.roles[role].next_arrival += self.gap(role);
            }
        }
        cx.set_device(self.next_event());
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        while let Some(role) = self.receive[cx.cpu()].pop_front() {
            let message = self.request(cx.now());
            if let Some(task) = self.give(role as usize, None, message) {
                return Step::Wake { task, sync: false };
            }
        }
        Step::Done
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

    fn calls(&self, _task: TaskId, op: &Op) -> Calls {
        match op {
            Op::Wait => &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_epoll_wait", "ep_poll"],
            _ => op.calls(),
        }
    }

    fn unwind(&self, _cpu: CpuId, task: Option<TaskId>, stack: &mut Stack) {
        if task.is_none() {
            stack.call(&["asm_common_interrupt", "net_rx_action", "napi_poll"]);
        }
    }

    fn waits_for(&self, _task: TaskId) -> String {
        "a message".into()
    }
}

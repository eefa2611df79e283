//! The lock model of the engine against exact results: CPUs that cycle through a lock, each with a
//! task of its own that thinks, takes the lock, and holds it.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use policies::workqueue::POOL_LOCK_SITE;
use rand_distr::{Distribution, Exp1};
use sim_core::{
    Config, LockId, NoObserver, Ns, Observer, Op, Program, ProgramCx, Simulation, Step, TaskAttr,
    TaskId, World,
};
use test_support::{free_machine, simulate};
use topology::{CpuId, CpuSet, Machine, RegularSpec};
use workloads::netperf::{self, Netperf};
use workloads::random::{Purpose, Stream, stream};

const MS: Ns = 1_000_000;

/// What one customer does between two looks at its program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TaskStep {
    Think,
    Enter,
    Locked,
    Held,
    Left,
}

/// One task per CPU: think, lock, hold, unlock, for ever.
struct Repairmen {
    n: u32,
    think: Vec<Stream>,
    hold: Vec<Stream>,
    think_ns: f64,
    hold_ns: f64,
    /// Times are exponential, or all the same.
    exponential: bool,
    lock: LockId,
    at: Vec<TaskStep>,
    done: Vec<u64>,
    /// Tasks in the order in which they came to the lock, and in which they got it.
    came: Vec<TaskId>,
    got: Vec<TaskId>,
}

impl Repairmen {
    fn new(n: u32, think_ns: f64, hold_ns: f64, exponential: bool, seed: u64) -> Self {
        let streams = |purpose| (0..n.into()).map(|i| stream(seed, i, purpose)).collect();
        Self {
            n,
            think: streams(Purpose::Arrival),
            hold: streams(Purpose::Service),
            think_ns,
            hold_ns,
            exponential,
            lock: LockId(0),
            at: vec![TaskStep::Think; n as usize],
            done: vec![0; n as usize],
            came: Vec::new(),
            got: Vec::new(),
        }
    }

    fn draw(exponential: bool, stream: &mut Stream, mean: f64) -> Ns {
        let factor: f64 = if exponential { Exp1.sample(stream) } else { 1.0 };
        (factor * mean).round() as Ns
    }
}

impl Program for Repairmen {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.lock = cx.new_lock("test");
        for cpu in (0..self.n).map(CpuId) {
            let allowed = cx.mask(CpuSet::of(cx.n_cpus(), [cpu]));
            cx.start_task(TaskAttr { allowed, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let me = task.idx();
        if self.at[me] == TaskStep::Think {
            self.at[me] = TaskStep::Enter;
            return Op::Run(Self::draw(self.exponential, &mut self.think[me], self.think_ns));
        }
        Op::Path
    }

    fn path(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        let me = task.idx();
        let (step, next) = match self.at[me] {
            TaskStep::Enter => {
                self.came.push(task);
                (Step::Lock(self.lock, POOL_LOCK_SITE), TaskStep::Locked)
            }
            TaskStep::Locked => {
                self.got.push(task);
                let ns = Self::draw(self.exponential, &mut self.hold[me], self.hold_ns);
                (Step::Spend(ns), TaskStep::Held)
            }
            TaskStep::Held => {
                self.done[me] += 1;
                (Step::Unlock(self.lock), TaskStep::Left)
            }
            TaskStep::Left | TaskStep::Think => (Step::Done, TaskStep::Think),
        };
        self.at[me] = next;
        step
    }
}

fn run(machine: Machine, program: Repairmen, until: Ns) -> Simulation<Fcfs, Repairmen, NoObserver> {
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, NoObserver);
    sim.run_until(until);
    sim
}

/// A queued spinlock is FIFO.
#[test]
fn a_lock_is_granted_in_the_order_of_arrival() {
    let sim = run(free_machine(8), Repairmen::new(8, 5000.0, 1000.0, true, 1), 20 * MS);
    let Repairmen { came, got, .. } = &sim.program;
    assert!(got.len() > 10_000 && came.starts_with(got), "{} of {}", got.len(), came.len());
    let in_turn = got.windows(2).filter(|t| t[1].0 == (t[0].0 + 1) % 8).count();
    assert!(in_turn < got.len() / 2, "they do not come in turn: {in_turn}");
}

/// A saturated lock is handed round without a gap, and each CPU gets its turn.
#[test]
fn a_saturated_lock_serves_all_alike() {
    let (hold, until) = (1000, 20 * MS);
    for n in [2, 3, 8, 36] {
        let sim = run(free_machine(n), Repairmen::new(n, 0.0, hold as f64, false, 1), until);
        // A hand-over takes at least a nanosecond.
        let total = until / (hold + 1);
        let done = &sim.program.done;
        assert!(done.iter().sum::<u64>().abs_diff(total) <= 1, "{n} CPUs: {done:?}");
        let share = total / u64::from(n);
        assert!(done.iter().all(|d| d.abs_diff(share) <= 1), "{n} CPUs: {done:?}");
    }
}

/// The same with the cost of moving the lock's line: once to the one CPU that watches the lock word
/// (its pending bit), twice to one that stands in the queue.
#[test]
fn a_hand_over_costs_a_line_to_the_first_waiter_and_two_to_the_others() {
    let (hold, until) = (1000, 20 * MS);
    for (n, transfers) in [(2, 1), (3, 2), (8, 2)] {
        let mut machine = free_machine(n);
        machine.line.ns = [0, 20, 40, 80, 160];
        let sim = run(machine, Repairmen::new(n, 0.0, hold as f64, false, 1), until);
        let total = until / (hold + transfers * 40);
        let done: u64 = sim.program.done.iter().sum();
        assert!(done.abs_diff(total) <= 1, "{n} CPUs: {done} of {total}");
    }
}

/// Throughput and response time of N customers, a delay Z and one exponential server S: mean value
/// analysis, exact.
fn machine_repairman(n: u32, think: f64, hold: f64) -> (f64, f64) {
    let (mut rate, mut response, mut queue) = (0.0, 0.0, 0.0);
    for k in 1..=n {
        response = hold * (1.0 + queue);
        rate = f64::from(k) / (response + think);
        queue = rate * response;
    }
    (rate, response)
}

/// Compares runs with the exact result. Its us are ms here, so that a hand-over of 1 ns is nothing.
/// `expected`: throughput, response time and percent of time waiting, as text with the digits
/// known.
fn check_repairman(n: u32, think: f64, hold: f64, expected: [&str; 3]) {
    let (rate, response) = machine_repairman(n, think, hold);
    let waiting = (response - hold) / (response + think);
    for (computed, digits) in [rate, response, waiting * 100.0].into_iter().zip(expected) {
        let decimals = digits.split_once('.').map_or(0, |(_, d)| d.len());
        assert_eq!(format!("{computed:.decimals$}"), digits);
    }
    let until = 30_000 * MS;
    let runs: Vec<[f64; 2]> = (1..=8)
        .map(|seed| {
            let program = Repairmen::new(n, think * 1e6, hold * 1e6, true, seed);
            let sim = run(free_machine(n), program, until);
            let done: u64 = sim.program.done.iter().sum();
            let spun = sim.w.spin_ns(POOL_LOCK_SITE) as f64;
            [done as f64 / until as f64 * 1e6, spun / (until as f64 * f64::from(n))]
        })
        .collect();
    for (i, exact) in [rate, waiting].into_iter().enumerate() {
        let values = runs.iter().map(|run| run[i]);
        let mean = values.clone().sum::<f64>() / runs.len() as f64;
        let var = values.map(|v| (v - mean).powi(2)).sum::<f64>() / (runs.len() - 1) as f64;
        let (error, sigma) = ((mean - exact).abs(), (var / runs.len() as f64).sqrt());
        assert!(
            error < 3.5 * sigma && error < 0.05 * exact,
            "N {n}, Z {think}, S {hold}: {mean} (+- {sigma}) against {exact}"
        );
    }
}

#[test]
fn thirty_six_cpus_at_one_lock_wait_half_of_their_time() {
    check_repairman(36, 4.65, 0.28, ["3.571", "5.43", "51"]);
}

#[test]
fn sixty_four_cpus_at_one_lock_wait_most_of_their_time() {
    check_repairman(64, 4.3, 0.40, ["2.5", "21.3", "82"]);
}

#[test]
fn sixteen_cpus_at_one_lock_wait_a_little() {
    check_repairman(16, 2.5, 0.12, ["5.72", "0.30", "6.4"]);
}

#[test]
fn twelve_cpus_at_one_lock_hardly_wait() {
    check_repairman(12, 10.0, 0.17, ["1.18", "0.207", "0.4"]);
}

/// Three CPUs and two locks: CPU 0 holds the inner one from 0 to 100 us, CPU 1 takes the outer one
/// at 10 us and wants the inner one, CPU 2 wants the outer one at 20 us.
struct Nest {
    inner: LockId,
    outer: LockId,
    at: [u32; 3],
}

impl Program for Nest {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        (self.inner, self.outer) = (cx.new_lock("inner"), cx.new_lock("outer"));
        for cpu in (0..3).map(CpuId) {
            let allowed = cx.mask(CpuSet::of(cx.n_cpus(), [cpu]));
            cx.start_task(TaskAttr { allowed, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let me = task.idx();
        self.at[me] += 1;
        match self.at[me] {
            1 => Op::Run(10_000 * me as Ns),
            2 => Op::Path,
            _ => Op::Exit,
        }
    }

    fn path(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        let me = task.idx();
        self.at[me] += 1;
        let (inner, outer) = (self.inner, self.outer);
        let lock = |lock| Step::Lock(lock, POOL_LOCK_SITE);
        let steps: &[Step] = match me {
            0 => &[lock(inner), Step::Spend(100_000), Step::Unlock(inner)],
            1 => &[
                lock(outer),
                lock(inner),
                Step::Spend(5000),
                Step::Unlock(inner),
                Step::Unlock(outer),
            ],
            _ => &[lock(outer), Step::Spend(1000), Step::Unlock(outer)],
        };
        steps.get(self.at[me] as usize - 3).copied().unwrap_or(Step::Done)
    }
}

/// A lock, the CPU that held it, the begin and the end of the hold, and the wait before.
type Hold = (LockId, CpuId, Ns, Ns, Ns);

/// All holds, in the order of their ends.
#[derive(Default)]
struct Holds {
    open: Vec<(LockId, CpuId, Ns, Ns)>,
    closed: Vec<Hold>,
}

impl Observer for Holds {
    fn acquired(&mut self, w: &World, cpu: CpuId, lock: LockId, _: CpuId, wait: Option<Ns>) {
        self.open.push((lock, cpu, w.now, wait.unwrap_or(0)));
    }

    fn released(&mut self, w: &World, cpu: CpuId, lock: LockId) {
        let at = self.open.iter().position(|o| (o.0, o.1) == (lock, cpu)).unwrap();
        let (lock, cpu, from, wait) = self.open.swap_remove(at);
        self.closed.push((lock, cpu, from, w.now, wait));
    }
}

/// A CPU that waits for an inner lock holds the outer one longer, and those that want the outer one
/// wait, too.
#[test]
fn a_wait_for_a_nested_lock_extends_the_hold_outside() {
    let program = Nest { inner: LockId(0), outer: LockId(0), at: [0; 3] };
    let watch = Holds::default();
    let mut sim = simulate(free_machine(3), Config::default(), Fcfs::default(), program, watch);
    sim.run_until(MS);
    let (inner, outer) = (sim.program.inner, sim.program.outer);
    let of = |lock, cpu| {
        let hold = sim.observer.closed.iter().find(|c| (c.0, c.1) == (lock, CpuId(cpu)));
        hold.map(|(.., from, to, wait)| (*from, *to, *wait)).unwrap()
    };
    assert_eq!(of(inner, 0), (0, 100_000, 0));
    assert_eq!(of(outer, 1), (10_000, 105_001, 0), "held for 95 us, of which 90 are a wait");
    assert_eq!(of(inner, 1), (100_001, 105_001, 90_001));
    assert_eq!(of(outer, 2), (105_002, 106_002, 85_002));
}

/// CPU 0 takes a lock for two steps of a microsecond; CPU 1 wants it after half of the first.
struct Disturb {
    lock: Option<LockId>,
    at: [usize; 2],
}

impl Program for Disturb {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.lock.get_or_insert_with(|| cx.new_lock("other"));
        for cpu in (0..2).map(CpuId) {
            let allowed = cx.mask(CpuSet::of(cx.n_cpus(), [cpu]));
            cx.start_task(TaskAttr { allowed, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let me = task.idx();
        self.at[me] += 1;
        match self.at[me] {
            1 => Op::Run(10_000 + 500 * me as Ns),
            2 => Op::Path,
            _ => Op::Exit,
        }
    }

    fn path(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        let Some(lock) = self.lock else { return Step::Done };
        let at = &mut self.at[task.idx()];
        *at += 1;
        match *at {
            3 => Step::Lock(lock, POOL_LOCK_SITE),
            4 | 5 => Step::Spend(1000),
            6 => Step::Unlock(lock),
            _ => Step::Done,
        }
    }
}

/// `nr_running` lies in the line of the runqueue's lock word, which a waiter takes away.
#[test]
fn who_waits_for_a_runqueue_makes_its_owner_fetch_the_line_again() {
    for (lock, lines) in [(Some(LockId::rq(CpuId(2))), 1), (None, 0)] {
        let mut machine = free_machine(3);
        machine.line.ns = [0, 20, 40, 80, 160];
        let (program, watch) = (Disturb { lock, at: [0; 2] }, Holds::default());
        let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, watch);
        sim.run_until(MS);
        let lock = sim.program.lock.unwrap();
        let of = |cpu| sim.observer.closed.iter().find(|c| (c.0, c.1) == (lock, CpuId(cpu)));
        let hold = of(0).map(|(.., from, to, _)| to - from);
        assert_eq!(hold, Some(2000 + lines * 40), "{lock:?}");
        assert!(of(1).is_some_and(|(.., wait)| *wait > 1000), "CPU 1 has waited");
    }
}

/// The same with the locks of the scheduler: a CPU that waits for the shared wakequeue's lock, or
/// has it, holds a runqueue's lock all the while.
#[test]
fn waits_for_the_wakequeue_are_part_of_the_runqueues_holds() {
    let machine = Machine::regular(RegularSpec { cores_per_llc: 16, ..RegularSpec::default() });
    let n = machine.n_cpus();
    let features = Features { swqueue: true, ..Features::default() };
    let fair = Fair::new(features, Tunables::for_cpus(n));
    let program = Netperf::new(netperf::Config {
        test: netperf::Test::UdpRr,
        clients: n as u32,
        service_ns: 1000,
        spread: 0.1,
        seed: 1,
    });
    let mut sim = simulate(machine, Config::default(), fair, program, Holds::default());
    sim.run_until(5 * MS);
    let queues = sim.policy.swqueues.clone();
    let (closed, waits) = (&sim.observer.closed, |c: &&Hold| queues.iter().any(|q| q.lock == c.0));
    let mut n_waits = 0;
    for &(_, cpu, from, to, wait) in closed.iter().filter(waits) {
        let around = |c: &&Hold| {
            c.0.0 < n as u32 && c.1 == cpu && c.2 <= from - wait && to <= c.3 && c.3 < from + MS
        };
        let start = closed.partition_point(|c| c.3 < to);
        // The run's end may come between the two releases.
        let held = |o: &(LockId, CpuId, Ns, Ns)| {
            o.0.0 < n as u32 && o.1 == cpu && o.2 <= from - wait && to + MS > 5 * MS
        };
        let is_around =
            closed[start..].iter().any(|c| around(&c)) || sim.observer.open.iter().any(held);
        assert!(is_around, "{cpu} at {from}");
        n_waits += u32::from(wait > 0);
    }
    assert!(n_waits > 1000, "{n_waits}");
}

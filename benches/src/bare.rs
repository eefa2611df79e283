//! Bare loops: what is left of a simulation without the rules of a kernel.
//!
//! A 4-ary heap of events, a queue by virtual time on each CPU, a bitmask of idle CPUs per LLC, a
//! switch of 500 ns, slices of 4 ms, a histogram of the waits after wake-ups. No locks, interrupts,
//! ticks or balancing, and no wake-up preempts. The loads are those of `runs`. How long a
//! simulation takes beside its bare loop, in the same minute on the same machine, is a number that
//! can be kept: both slow down together.

mod heap;
mod m_m_8;

pub use m_m_8::MM8;

use hdrhistogram::Histogram;
use heap::Heap;
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use sim_core::Ns;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

const SWITCH_NS: Ns = 500;
const SLICE_NS: Ns = 4_000_000;

/// What the tasks do.
enum Load {
    /// Task 2i and task 2i + 1 run in turn for so long.
    PingPong { work_ns: Ns },
    /// Exponential runs and sleeps of these means.
    Short { run_ns: Ns, sleep_ns: Ns },
    /// They never sleep.
    Spinners,
}

#[derive(Clone, Copy, Default)]
struct Task {
    vruntime: Ns,
    left_ns: Ns,
    cpu: u32,
    /// When it was woken, until it runs; 0: it was not.
    woken_at: Ns,
}

#[derive(Default)]
struct Cpu {
    /// The current task, and how long it is to run.
    curr: Option<(u32, Ns)>,
    min_vruntime: Ns,
    queue: BinaryHeap<Reverse<(Ns, u32)>>,
}

/// A bare loop with a load.
pub struct Bare {
    /// Context switches so far.
    pub switches: u64,
    /// The present instant, ns.
    pub now: Ns,
    /// Waits between a wake-up and the first run after it, ns.
    pub waits: Histogram<u64>,
    load: Load,
    random: Xoshiro256PlusPlus,
    tasks: Vec<Task>,
    cpus: Vec<Cpu>,
    cpus_per_llc: u32,
    /// By LLC: its idle CPUs.
    idle: Vec<u64>,
    /// Ids below the number of CPUs: a run ends there. Others: the sleep of a task ends.
    events: Heap,
}

/// The bare loop of `runs::ping_pong_8x64`.
pub fn ping_pong_8x64() -> Bare {
    let mut bare = Bare::new(Load::PingPong { work_ns: 10_000 }, 64, 8, 8);
    (0..64).step_by(2).for_each(|task| bare.wake(task));
    bare
}

/// The bare loop of `runs::short_128x1024`.
pub fn short_128x1024() -> Bare {
    let mut bare = Bare::new(Load::Short { run_ns: 20_000, sleep_ns: 150_000 }, 1024, 128, 16);
    (0..1024).for_each(|task| bare.wake(task));
    bare
}

/// The bare loop of `runs::spinners_8x64`.
pub fn spinners_8x64() -> Bare {
    let mut bare = Bare::new(Load::Spinners, 64, 8, 8);
    (0..64).for_each(|task| bare.wake(task));
    bare
}

impl Bare {
    fn new(load: Load, n_tasks: u32, n_cpus: u32, cpus_per_llc: u32) -> Self {
        let task = |id| Task { cpu: id % n_cpus, ..Task::default() };
        Self {
            switches: 0,
            now: 0,
            waits: histogram(),
            load,
            random: Xoshiro256PlusPlus::seed_from_u64(1),
            tasks: (0..n_tasks).map(task).collect(),
            cpus: (0..n_cpus).map(|_| Cpu::default()).collect(),
            cpus_per_llc,
            idle: vec![u64::MAX >> (64 - cpus_per_llc); (n_cpus / cpus_per_llc) as usize],
            events: Heap::default(),
        }
    }

    /// Goes on until so many switches more.
    pub fn advance(&mut self, switches: u64) {
        let end = self.switches + switches;
        while self.switches < end {
            let (at, id) = self.events.pop().expect("the loads go on for ever");
            self.now = at;
            let n_cpus = self.cpus.len() as u32;
            if id < n_cpus { self.run_ends(id) } else { self.wake(id - n_cpus) }
        }
    }

    fn wake(&mut self, task: u32) {
        let cpu = self.select_cpu(task);
        let t = &mut self.tasks[task as usize];
        t.left_ns = match self.load {
            Load::PingPong { work_ns } => work_ns,
            Load::Short { run_ns, .. } => exponential(&mut self.random, run_ns),
            Load::Spinners => Ns::MAX,
        };
        t.woken_at = self.now;
        t.cpu = cpu;
        let c = &mut self.cpus[cpu as usize];
        t.vruntime = t.vruntime.max(c.min_vruntime);
        c.queue.push(Reverse((t.vruntime, task)));
        if c.curr.is_none() {
            self.idle[(cpu / self.cpus_per_llc) as usize] &= !(1 << (cpu % self.cpus_per_llc));
            self.switch(cpu);
        }
    }

    /// Where it was, if that is idle; an idle CPU of the LLC; where it was.
    fn select_cpu(&self, task: u32) -> u32 {
        let prev = self.tasks[task as usize].cpu;
        let llc = prev / self.cpus_per_llc;
        let idle = self.idle[llc as usize];
        match idle {
            0 => prev,
            _ if idle >> (prev % self.cpus_per_llc) & 1 == 1 => prev,
            _ => llc * self.cpus_per_llc + idle.trailing_zeros(),
        }
    }

    fn run_ends(&mut self, cpu: u32) {
        let c = &mut self.cpus[cpu as usize];
        let (task, ran_ns) = c.curr.take().expect("a run ends where a task runs");
        let t = &mut self.tasks[task as usize];
        t.vruntime += ran_ns;
        t.left_ns -= ran_ns;
        if t.left_ns > 0 {
            c.queue.push(Reverse((t.vruntime, task)));
        } else {
            // The CPU is not idle yet: who is woken now may queue here.
            c.curr = Some((task, 0));
            self.sleep(task);
        }
        self.switch(cpu);
    }

    fn sleep(&mut self, task: u32) {
        match self.load {
            Load::PingPong { .. } => self.wake(task ^ 1),
            Load::Short { sleep_ns, .. } => {
                let at = self.now + exponential(&mut self.random, sleep_ns);
                self.events.push(at, self.cpus.len() as u32 + task);
            }
            Load::Spinners => {}
        }
    }

    /// The first of the queue runs, or the CPU is idle.
    fn switch(&mut self, cpu: u32) {
        self.switches += 1;
        let c = &mut self.cpus[cpu as usize];
        let Some(Reverse((vruntime, task))) = c.queue.pop() else {
            c.curr = None;
            self.idle[(cpu / self.cpus_per_llc) as usize] |= 1 << (cpu % self.cpus_per_llc);
            return;
        };
        c.min_vruntime = c.min_vruntime.max(vruntime);
        let t = &mut self.tasks[task as usize];
        let ran_ns = t.left_ns.min(SLICE_NS);
        c.curr = Some((task, ran_ns));
        let starts = self.now + SWITCH_NS;
        if t.woken_at > 0 {
            self.waits.saturating_record(starts - t.woken_at);
            t.woken_at = 0;
        }
        self.events.push(starts + ran_ns, cpu);
    }
}

/// Up to an hour, in ns, two significant digits.
pub(crate) fn histogram() -> Histogram<u64> {
    Histogram::new_with_max(3_600_000_000_000, 2).expect("two digits are allowed")
}

fn exponential(random: &mut Xoshiro256PlusPlus, mean_ns: Ns) -> Ns {
    let x: f64 = Exp1.sample(random);
    ((x * mean_ns as f64) as i64).max(1) as Ns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loads_do_what_those_of_the_simulations_do() {
        let mut pairs = ping_pong_8x64();
        pairs.advance(1_000_000);
        // A turn is a switch and 10 us on one of eight CPUs, which are nearly always busy.
        let busy = pairs.waits.len() as f64 * 10_500.0 / (8.0 * pairs.now as f64);
        assert!((0.8..=1.0).contains(&busy), "{busy}");
        let mut short = short_128x1024();
        short.advance(1_000_000);
        let rounds = short.waits.len() as f64;
        let round_us = 1024.0 * short.now as f64 / 1000.0 / rounds;
        assert!((175.0..260.0).contains(&round_us), "a round takes {round_us} us");
        let mut hogs = spinners_8x64();
        hogs.advance(10_000);
        assert!(hogs.now.abs_diff(10_000 / 8 * 4_000_500) < 8_000_000, "{}", hogs.now);
    }

    #[test]
    fn a_queue_at_four_fifths_has_the_wait_of_the_formula() {
        let mut queue = MM8::new();
        queue.advance(1_000_000);
        // Erlang C for eight servers at load 0.8 is 0.4: they wait 0.4 * 100 / (8 * 0.2) us.
        let mean_us = queue.waits.mean() / 1000.0;
        assert!((23.0..30.0).contains(&mean_us), "{mean_us} us");
    }
}

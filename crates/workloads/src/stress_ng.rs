//! stress-ng's `--cpu` and `--yield`: processes that compute, wholly or for a share of the time,
//! and processes that yield.
//!
//! ```text
//! --cpu N:        computes; a bogo op is a piece of work of `op_ns`
//! … --cpu-load P: computes for a slice of the clock's time, then sleeps so long that it has
//!                 computed for P % of the time; it takes off what it has overslept
//! --yield N:      calls sched_yield(), again and again; a call is a bogo op
//! ```
//!
//! `--yield N` has two processes for each CPU, however large N, unless N is larger. Bogo ops of
//! `--cpu` are those of one `--cpu-method`; the tool's default method is a mixture. Its slices are
//! numbers of iterations by default, here always times (`--cpu-load-slice` above 0). Left out: the
//! processes that wait for the others. From stress-ng 0.15.

use crate::random;
use sim_core::{Ns, Op, Program, ProgramCx, TaskAttr, TaskId};
use topology::REFERENCE_MHZ;

/// Parameters of stress-ng, with its options in brackets.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Processes that compute (`--cpu`).
    pub cpu: u32,
    /// For how much of the time, % (`--cpu-load`), 1 to 100.
    pub cpu_load: u32,
    /// How long they compute at a stretch (`--cpu-load-slice`), ns.
    pub slice_ns: Ns,
    /// CPU work of a bogo op of these at full speed, ns.
    pub op_ns: Ns,
    /// Processes that yield: see [`yield_processes`].
    pub yields: u32,
    /// Seed of the instant at which they begin.
    pub seed: u64,
}

/// How long a process computes between two looks at the clock, ns.
const LOOK_NS: Ns = 50_000;
/// From a `sched_yield()` into the next one, beside the scheduler's part: entry and exit of the
/// kernel and the loop, ns at [`REFERENCE_MHZ`]: unverified.
const YIELD_NS: Ns = 150;

/// A process that computes for a share of the time.
#[derive(Clone, Copy, Debug, Default)]
struct Hog {
    /// When its present slice of work began; `None` before it begins one.
    slice_from: Option<Ns>,
    /// When its last sleep began, if there was one, and how long it was to be.
    sleep_from: Option<Ns>,
    delay_ns: i64,
    /// By how much its last sleep was too long.
    bias_ns: i64,
    /// Length of the piece of work that is under way, and of all that are done, ns.
    piece_ns: Ns,
    worked_ns: Ns,
}

/// The running stressors.
pub struct StressNg {
    config: Config,
    hogs: Vec<Hog>,
    /// By process that yields: it is about to.
    yields: Vec<bool>,
    yielded: u64,
    yield_ns: Ns,
    begun: bool,
    forked: u32,
    /// What the hogs had done when the measurement began, ns.
    before_ns: Ns,
}

/// Number of processes of so many `--yield` stressors on a machine of so many CPUs.
pub fn yield_processes(stressors: u64, cpus: u64) -> u64 {
    if stressors == 0 { 0 } else { stressors.max(2 * cpus) }
}

impl StressNg {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        Self {
            hogs: vec![Hog::default(); config.cpu as usize],
            yields: vec![false; config.yields as usize],
            yielded: 0,
            yield_ns: YIELD_NS,
            begun: false,
            forked: 0,
            before_ns: 0,
            config,
        }
    }

    fn processes(&self) -> u32 {
        (self.hogs.len() + self.yields.len()) as u32
    }

    fn compute(&mut self, now: Ns, i: usize) -> Op {
        let config = self.config;
        let hog = &mut self.hogs[i];
        hog.worked_ns += std::mem::take(&mut hog.piece_ns);
        if config.cpu_load == 100 {
            hog.piece_ns = config.op_ns;
            return Op::Run(hog.piece_ns);
        }
        let Some(from) = hog.slice_from else {
            // It has come from its sleep. What it has overslept is taken off the next one.
            let slept_ns = hog.sleep_from.map_or(0, |from| (now - from) as i64);
            hog.bias_ns = slept_ns - hog.delay_ns;
            return hog.begin(now, config);
        };
        if now < from + config.slice_ns {
            hog.piece_ns = (from + config.slice_ns - now).min(LOOK_NS);
            return Op::Run(hog.piece_ns);
        }
        let busy_ns = (now - from) * u64::from(100 - config.cpu_load) / u64::from(config.cpu_load);
        // Below 0 the tool's select() fails at once, and the rest is taken off the one after it.
        hog.delay_ns = busy_ns as i64 - hog.bias_ns;
        (hog.slice_from, hog.sleep_from) = (None, Some(now));
        match Ns::try_from(hog.delay_ns) {
            Ok(ns) if ns > 0 => Op::Sleep(ns),
            _ => Op::Kernel(0),
        }
    }

    /// Calls `sched_yield()` and counts it when it has returned.
    fn give_way(&mut self, i: usize) -> Op {
        self.yields[i] = !self.yields[i];
        if self.yields[i] {
            return Op::Run(self.yield_ns);
        }
        self.yielded += 1;
        Op::Yield
    }

    fn worked_ns(&self) -> Ns {
        self.hogs.iter().map(|hog| hog.worked_ns).sum()
    }
}

impl Hog {
    fn begin(&mut self, now: Ns, config: Config) -> Op {
        self.slice_from = Some(now);
        self.piece_ns = config.slice_ns.min(LOOK_NS);
        Op::Run(self.piece_ns)
    }
}

impl Program for StressNg {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let clock_mhz = u64::from(cx.machine().clock_mhz);
        self.yield_ns = YIELD_NS * u64::from(REFERENCE_MHZ) / clock_mhz;
        let (main, cpu) = (cx.comm("stress-ng"), cx.comm("stress-ng-cpu"));
        let yields = cx.comm("stress-ng-yield");
        cx.start_task(TaskAttr { comm: main, ..TaskAttr::default() });
        for i in 0..self.processes() {
            let comm = if (i as usize) < self.hogs.len() { cpu } else { yields };
            cx.new_task(TaskAttr { comm, mm: 1 + i, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let Some(i) = task.idx().checked_sub(1) else {
            if !std::mem::replace(&mut self.begun, true) {
                return Op::Run(random::part_of(self.config.seed, cx.machine().tick_ns()));
            }
            if self.forked == self.processes() {
                return Op::Wait;
            }
            self.forked += 1;
            return Op::Fork(TaskId(self.forked));
        };
        match i.checked_sub(self.hogs.len()) {
            None => self.compute(cx.now(), i),
            Some(i) => self.give_way(i),
        }
    }

    fn is_under_way(&self) -> bool {
        self.forked == self.processes()
    }

    fn measurement_begins(&mut self) {
        (self.before_ns, self.yielded) = (self.worked_ns(), 0);
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let seconds = elapsed_ns.max(1) as f64 * 1e-9;
        let mut results = Vec::new();
        if !self.hogs.is_empty() {
            let ops = (self.worked_ns() - self.before_ns) as f64 / self.config.op_ns as f64;
            results.push(("bogo_ops_cpu", ops / seconds));
        }
        if !self.yields.is_empty() {
            results.push(("bogo_ops_yield", self.yielded as f64 / seconds));
        }
        results
    }

    fn waits_for(&self, _task: TaskId) -> String {
        "the end".to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hog(cpu_load: u32) -> StressNg {
        StressNg::new(Config {
            cpu: 1,
            cpu_load,
            slice_ns: 120_000,
            op_ns: 1_000,
            yields: 0,
            seed: 1,
        })
    }

    #[test]
    fn a_hog_sleeps_for_the_rest_of_the_time_less_what_it_has_overslept() {
        let mut stress = hog(25);
        let pieces = [7000, 57_000, 107_000].map(|now| stress.compute(now, 0));
        assert_eq!(pieces, [Op::Run(50_000), Op::Run(50_000), Op::Run(20_000)]);
        assert_eq!(stress.compute(127_000, 0), Op::Sleep(360_000), "three times as long");
        stress.compute(507_000, 0);
        assert_eq!(stress.hogs[0].bias_ns, 20_000);
        assert_eq!(stress.compute(627_000, 0), Op::Sleep(340_000));
        assert_eq!(stress.worked_ns(), 170_000, "of the second slice it did one piece");
    }

    #[test]
    fn who_has_overslept_more_than_a_sleep_does_not_sleep() {
        let mut stress = hog(50);
        stress.compute(0, 0);
        stress.compute(120_000, 0);
        stress.compute(400_000, 0);
        assert_eq!(stress.compute(520_000, 0), Op::Kernel(0), "160 us too long, of 120");
        stress.compute(520_000, 0);
        assert_eq!(stress.compute(640_000, 0), Op::Sleep(80_000), "40 us are left");
    }

    #[test]
    fn there_are_two_processes_that_yield_for_each_cpu_or_one_for_each_stressor() {
        assert_eq!([0, 1, 3, 9].map(|n| yield_processes(n, 4)), [0, 8, 8, 9]);
    }
}

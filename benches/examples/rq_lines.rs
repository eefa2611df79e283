//! What reads of lines cost that another CPU has written (docs/CALIBRATION.md, "Lines of
//! runqueues"): one after the other, and in a loop over CPUs with a test as in `idle_cpu()` and
//! `sched_idle_cpu()`. `cargo run --release -p benches --example rq_lines`, on two free CPUs or
//! more.

use std::hint::{black_box, spin_loop};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Instant;

const RELAXED: Ordering = Ordering::Relaxed;
const CPUS: usize = 64;
/// Lines from one CPU's runqueue to the next: no stream that a prefetcher would follow.
const STRIDE: usize = 61;
const ROUNDS: u64 = 28_000;
/// Over how many CPUs the loops go.
const COUNTS: [usize; 7] = [1, 2, 4, 8, 16, 32, 63];

#[derive(Default)]
#[repr(align(64))]
struct Line([AtomicU64; 8]);

/// Three lines per CPU: `nr_running`, `idle_h_nr_running`, `curr` (and `idle` beside it).
struct Runqueues {
    lines: Vec<Line>,
    /// By CPU: where its lines begin, as `__per_cpu_offset[]`.
    offsets: Vec<AtomicU64>,
    mask: AtomicU64,
}

impl Runqueues {
    fn new() -> Self {
        let place = |cpu: usize| AtomicU64::new((cpu * 29 % CPUS * STRIDE) as u64);
        Self {
            lines: (0..CPUS * STRIDE).map(|_| Line::default()).collect(),
            offsets: (0..CPUS).map(place).collect(),
            mask: AtomicU64::new(!0),
        }
    }

    fn read(&self, at: usize, word: usize) -> u64 {
        self.lines[at].0[word].load(RELAXED)
    }

    /// Makes all CPUs busy, and keeps in each first line where the next CPU's is.
    fn write(&self) {
        for cpu in 0..CPUS {
            let at = self.offsets[cpu].load(RELAXED) as usize;
            let next = self.offsets[(cpu + 1) % CPUS].load(RELAXED);
            for line in 0..3 {
                self.lines[at + line].0[0].store(cpu as u64 + 1, RELAXED);
                self.lines[at + line].0[2].store(0, RELAXED);
            }
            self.lines[at].0[7].store(next, RELAXED);
        }
    }

    fn is_available(&self, at: usize) -> bool {
        let idles = self.read(at + 2, 0) == self.read(at + 2, 1);
        if idles && self.read(at, 0) == 0 && self.read(at, 3) == 0 {
            return true;
        }
        let nr_running = self.read(at, 0);
        nr_running != 0 && nr_running == self.read(at + 1, 2)
    }

    /// Looks at `n` CPUs.
    fn scan(&self, n: usize) -> Option<usize> {
        let mut cpu = 0;
        for _ in 0..n {
            let left = self.mask.load(RELAXED) >> cpu;
            cpu += left.trailing_zeros() as usize;
            let at = self.offsets[cpu].load(RELAXED) as usize;
            if black_box(self).is_available(at) {
                return Some(cpu);
            }
            cpu += 1;
        }
        None
    }

    /// Reads the first lines of `n` CPUs, each of which says where the next is.
    fn follow(&self, n: usize) -> usize {
        (0..n).fold(0, |at, _| self.read(at, 7) as usize)
    }
}

/// First quartile of the times, ns.
fn quartile(times: &mut [u64]) -> u64 {
    times.sort_unstable();
    times[times.len() / 4]
}

fn timed<T>(body: impl FnOnce() -> T) -> u64 {
    let start = Instant::now();
    black_box(body());
    start.elapsed().as_nanos() as u64
}

fn main() {
    let rqs = Runqueues::new();
    let (asked, written) = (Line::default(), Line::default());
    // By kind of loop and number of CPUs: times of the first reads, and of those after them.
    let mut times = vec![[Vec::new(), Vec::new()]; 2 * COUNTS.len()];
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                while asked.0[0].load(Ordering::Acquire) != round {
                    spin_loop();
                }
                rqs.write();
                written.0[0].store(round, Ordering::Release);
            }
        });
        for round in 1..=ROUNDS {
            asked.0[0].store(round, Ordering::Release);
            while written.0[0].load(Ordering::Acquire) != round {
                spin_loop();
            }
            let kind = round as usize % times.len();
            let n = COUNTS[kind / 2];
            for times in &mut times[kind] {
                let follows = kind % 2 == 1;
                times.push(if follows { timed(|| rqs.follow(n)) } else { timed(|| rqs.scan(n)) });
            }
        }
    });
    for (kind, times) in times.iter_mut().enumerate() {
        let name = if kind % 2 == 1 { "one after the other" } else { "in a loop" };
        let [first, again] = times.each_mut().map(|times| quartile(times));
        println!("{:2} CPUs {name}: {first} ns written, {again} ns again", COUNTS[kind / 2]);
    }
}

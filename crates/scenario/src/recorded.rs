//! What one run looked like, recorded for people who want to see it: every turn of every task on
//! every CPU, the use of each CPU over time, latencies one by one, moves, lock waits.
//!
//! All times are ns of simulated time and begin at 0 with the run; those of a trace begin at 1 s.

use crate::explain::Explanation;
use crate::output::RunOutput;
use crate::profile::SiteTime;

/// Which turns are kept one by one. The rest of a recording is of the whole run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Turns that end before this instant are left out, ns.
    pub from_ns: u64,
    /// Turns that begin at this instant or later are left out, ns.
    pub to_ns: u64,
    /// At most so many are kept, the first ones.
    pub slices_max: usize,
    /// The policy's averages of the runqueues are recorded, too.
    pub signals: bool,
}

/// One run, as it is shown.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The metrics, the same as without a recording.
    pub output: RunOutput,
    /// When the measurement began, ns: what was before counts in no sum of this recording.
    pub measured_from_ns: u64,
    /// When the run ended, ns.
    pub end_ns: u64,
    /// Who ran where and when.
    pub timeline: Timeline,
    /// How busy the CPUs were, and how many tasks waited.
    pub over_time: OverTime,
    /// Times from a wake-up to the first run after it.
    pub wakeups: Vec<Count>,
    /// Moves of tasks between CPUs by LLC, row by row: from `row` to `column`.
    pub moves: Vec<u64>,
    /// Waits for locks and for states of tasks, by call site.
    pub sites: Vec<SiteTime>,
    /// Why CPUs idled while tasks waited.
    pub explanation: Explanation,
    /// The policy's averages, if they were asked for and it has any.
    pub signals: Option<SignalsOverTime>,
}

/// Signals of a runqueue that are recorded.
pub const N_SIGNALS: usize = 3;
/// Their names, in the order in which they are kept.
pub const SIGNALS: [&str; N_SIGNALS] = ["util_avg", "runnable_avg", "load_avg"];

/// PELT averages of the runqueues over time, in buckets of equal length. The first begins at 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignalsOverTime {
    /// Length of a bucket, ns. The last one ends with the run.
    pub bucket_ns: u64,
    /// Of each signal, per CPU: the mean by bucket, each value counted for as long as it stood.
    pub signals: [Vec<Vec<u64>>; N_SIGNALS],
}

/// How many times were as long as this, to three significant digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Count {
    /// The longest of these times, ns.
    pub ns: u64,
    /// How many there were.
    pub n: u64,
}

/// Sums over time, in buckets of equal length. The first begins at 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OverTime {
    /// Length of a bucket, ns. The last one ends with the run.
    pub bucket_ns: u64,
    /// Per CPU: time in which it did not idle, ns by bucket.
    pub busy_ns: Vec<Vec<u64>>,
    /// Time that tasks waited, all added up, ns by bucket.
    pub waiting_ns: Vec<u64>,
    /// The part of it for which a CPU idled that the task may use, ns by bucket.
    pub wasted_ns: Vec<u64>,
}

/// Who ran where and when.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// From here on every turn is kept, ns …
    pub from_ns: u64,
    /// … up to here. A turn that crosses a border is kept whole.
    pub to_ns: u64,
    /// True if there were more turns than may be kept.
    pub is_full: bool,
    /// The tasks that are shown. One that changes its name is here once per name.
    pub tasks: Vec<Named>,
    /// The rules that put tasks onto CPUs: name and meaning.
    pub rules: Vec<(&'static str, &'static str)>,
    /// Per CPU: turns in the order of time.
    pub cpus: Vec<Vec<Slice>>,
}

impl Timeline {
    /// The number of turns.
    pub fn n_slices(&self) -> usize {
        self.cpus.iter().map(Vec::len).sum()
    }
}

/// A task under one of its names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// Process id.
    pub pid: u32,
    /// Command.
    pub comm: String,
}

/// One turn of a task on a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// When the CPU was switched to the task, ns.
    pub at_ns: u64,
    /// Until it was switched away, ns.
    pub ns: u64,
    /// How long the task had waited for it, ns.
    pub waited_ns: u64,
    /// The task, an index into [`Timeline::tasks`].
    pub task: u32,
    /// Why it waited.
    pub came: Came,
    /// The task that was current where it was woken or forked: an index, if it was not idle.
    pub waker: Option<u32>,
    /// The CPU where it was woken or forked, or where it was preempted.
    pub waker_cpu: u32,
    /// The CPU of its turn before; the same if there was none.
    pub last_cpu: u32,
    /// The rule that put it onto this CPU: an index into [`Timeline::rules`].
    pub rule: u16,
    /// How the turn ended.
    pub end: SliceEnd,
}

/// How a task became runnable before a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Came {
    /// It was there from the beginning.
    Started,
    /// Another task has woken it.
    Woken,
    /// An interrupt has woken it: a timer, a device.
    ByInterrupt,
    /// Another task has forked it.
    Forked,
    /// It was preempted, or has yielded.
    Preempted,
}

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SliceEnd {
    /// The task slept, `S`.
    Sleep,
    /// It slept and signals do not wake it, `D`.
    Uninterruptible,
    /// It slept as a kernel thread without work does, `I`.
    Idle,
    /// Another task took the CPU, `R`.
    Preempted,
    /// It exited, `X`.
    Exit,
    /// It has not ended: the recording has.
    Goes,
}

//! Deleting files whose pages are gone: mmtests' sparsetruncate, and the deletions of bonnie.
//!
//! One task unlinks file after file, in the order in which they were written. Together the files
//! are larger than memory. So reclaim has taken the pages of the oldest ones and has left shadow
//! (exceptional) entries in their place; the youngest still have their pages. Truncation takes the
//! entries of a mapping in vectors of 14 (`pagevec_lookup_entries`). Pages are locked, unmapped,
//! removed together under the mapping's `tree_lock`, and freed. Shadow entries are only removed:
//! under one `tree_lock` for each, or under one for the vector ([`Batch`]). Threads that reclaim
//! can run beside it and take the same locks (`truncate/reclaim.rs`).
//!
//! Linux 4.14 and 4.15: `truncate_inode_pages_range`, `truncate_exceptional_pvec_entries`,
//! `clear_shadow_entry`, `delete_from_page_cache_batch`. Left out: page locks (a page that reclaim
//! has in hand counts as reclaimed), dirty pages, large folios, and the disk.

mod file;
mod reclaim;
mod times;

use crate::random::{self, Purpose};
use crate::spread::Spread;
use file::{Files, Vector};
use reclaim::Reclaimer;
use sim_core::{Calls, LockId, Ns, Op, Program, ProgramCx, Site, Stack, Step, TaskAttr, TaskId};
use times::Times;
use topology::CpuId;

/// `truncate_inode_pages_range()`, `__remove_mapping()`: `mapping->tree_lock`.
pub const TREE_LOCK_SITE: &Site =
    &Site { only_if_taken: true, ..Site::new(20, "tree_lock", Site::OTHER_LOCKS) };

/// Entries that truncation takes at a time (`PAGEVEC_SIZE` up to Linux 4.14).
pub const VECTOR: u32 = 14;
/// Bytes of a page.
pub const PAGE_BYTES: u64 = 4096;

/// How often the lock is taken for the shadow entries of a vector.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Batch {
    /// For each entry (Linux up to 4.14).
    Entry,
    /// Once for the vector (since 4.15).
    Pagevec,
}

impl Batch {
    /// The value of this name in a scenario.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "entry" => Some(Batch::Entry),
            "pagevec" => Some(Batch::Pagevec),
            _ => None,
        }
    }
}

/// Parameters of the files, of the costs and of what runs beside.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Files that are deleted.
    pub files: u32,
    /// Pages of each file.
    pub pages: u32,
    /// Data of all files, percent of the machine's memory.
    pub data_pct: f64,
    /// What the page cache holds of them at the end of writing, percent of the same.
    pub cache_pct: f64,
    /// How often the lock is taken.
    pub batch: Batch,
    /// Removing one shadow entry, without the lock, ns at full speed.
    pub entry_ns: f64,
    /// What it takes more if it is removed under a lock of its own, ns at full speed.
    pub alone_ns: f64,
    /// Removing one page, without the lock, ns at full speed; at least `entry_ns`.
    pub page_ns: f64,
    /// Locked instructions for a page, beside those of the `tree_lock`.
    pub page_locked: f64,
    /// Sections with interrupts off for a page, beside those of the `tree_lock`.
    pub page_irqs: f64,
    /// The rest of an unlink, ns at full speed.
    pub file_ns: f64,
    /// User time between two files, ns.
    pub between_ns: Ns,
    /// Coefficient of variation of a file's costs (log-normal).
    pub spread: f64,
    /// Threads that reclaim beside it.
    pub reclaimers: u32,
    /// Seed of the run.
    pub seed: u64,
}

impl Config {
    /// Pages that are in memory when truncation begins: those that were written last.
    fn cached(&self) -> u64 {
        let share = (self.cache_pct / self.data_pct).min(1.0);
        let all = u64::from(self.files) * u64::from(self.pages);
        (all as f64 * share).round() as u64
    }
}

/// Work in thousandths of a ns, so that 1024 entries of 26.5 ns take 1024 times that.
#[derive(Clone, Copy, Default, Debug)]
struct Costs {
    entry_ps: u64,
    /// What an entry of a round of its own takes more.
    alone_ps: u64,
    page_ps: u64,
    /// Work that is not yet a whole ns.
    owed_ps: u64,
}

impl Costs {
    /// What comes before the lock: for pages all but the entry itself.
    fn before(&mut self, round: Round) -> Ns {
        let more = self.page_ps.saturating_sub(self.entry_ps);
        self.time(if round.pages { u64::from(round.entries) * more } else { self.alone_ps })
    }

    /// What is done under the lock.
    fn hold(&mut self, round: Round) -> Ns {
        self.time(u64::from(round.entries) * self.entry_ps)
    }

    /// Whole ns of it and of what is owed.
    fn time(&mut self, ps: u64) -> Ns {
        self.owed_ps += ps;
        let ns = self.owed_ps / 1000;
        self.owed_ps %= 1000;
        ns
    }
}

/// Entries that are removed under one hold of the lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Round {
    /// Shadow entries or pages.
    entries: u32,
    /// True if they are pages.
    pages: bool,
}

/// Where a path is in its round.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
enum PathStep {
    /// What comes before the lock: pages are made ready, interrupts go off.
    #[default]
    Before,
    Lock,
    Hold,
    Unlock,
    Over,
}

/// A round that is under way.
#[derive(Clone, Copy, Default, Debug)]
struct Critical {
    stage: PathStep,
}

impl Critical {
    /// The next step of the round; none if it is over. `irq_ns` is the way into `spin_lock_irq`
    /// and out of it, beside the locked instruction.
    fn step(&mut self, round: Round, lock: LockId, irq_ns: Ns, costs: &mut Costs) -> Option<Step> {
        let (next, step) = match self.stage {
            PathStep::Before => (PathStep::Lock, Step::Spend(irq_ns + costs.before(round))),
            PathStep::Lock => (PathStep::Hold, Step::Lock(lock, TREE_LOCK_SITE)),
            PathStep::Hold => (PathStep::Unlock, Step::Spend(costs.hold(round))),
            PathStep::Unlock => (PathStep::Over, Step::Unlock(lock)),
            PathStep::Over => {
                self.stage = PathStep::Before;
                return None;
            }
        };
        self.stage = next;
        Some(step)
    }
}

/// What the task does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum TaskStep {
    /// Prints the time of the last file and makes the name of the next.
    Between,
    /// Calls `unlink`.
    Unlink,
    /// Has taken the name away; its inode is to be emptied.
    Truncate,
}

/// The running workload.
pub struct Truncate {
    config: Config,
    files: Files,
    locks: Vec<LockId>,
    irq_ns: Ns,
    /// What a page's locked instructions take, in every file, thousandths of a ns.
    locked_ps: u64,
    spread: Spread,
    at: TaskStep,
    /// The clock when the call began.
    began: Ns,
    costs: Costs,
    vector: Vector,
    round: Option<Round>,
    critical: Critical,
    reclaimers: Vec<Reclaimer>,
    times: Times,
    done: bool,
}

impl Truncate {
    /// The workload with these parameters, not started.
    pub fn new(config: Config) -> Self {
        Self {
            files: Files::new(config.files, config.pages, config.cached()),
            locks: Vec::new(),
            irq_ns: 0,
            locked_ps: 0,
            spread: Spread::new(config.spread, 0, config.seed),
            at: TaskStep::Between,
            began: 0,
            costs: Costs::default(),
            vector: Vector::default(),
            round: None,
            critical: Critical::default(),
            reclaimers: Vec::new(),
            times: Times::default(),
            done: false,
            config,
        }
    }

    /// The costs of a file's entries. The file has a factor of its own, which is the same for
    /// truncation and reclaim and for each way of batching.
    fn costs_of(&self, file: u32) -> Costs {
        let mut stream = random::stream(self.config.seed, u64::from(file), Purpose::Service);
        let one = self.spread.draw(&mut stream, 1_000_000) as f64 * 1e-6;
        let ps = |ns: f64| (ns * one * 1e3).round() as u64;
        let alone = if self.config.batch == Batch::Entry { self.config.alone_ns } else { 0.0 };
        Costs {
            entry_ps: ps(self.config.entry_ns),
            alone_ps: ps(alone),
            page_ps: ps(self.config.page_ns) + self.locked_ps,
            owed_ps: 0,
        }
    }

    /// The rest of a file's unlink, ns.
    fn file_ns(&self, file: u32) -> Ns {
        let mut stream = random::stream(self.config.seed, u64::from(file), Purpose::Glue);
        self.spread.draw(&mut stream, self.config.file_ns.round() as Ns)
    }

    /// What the task that deletes does next.
    fn delete(&mut self, now: Ns) -> Op {
        match self.at {
            TaskStep::Between if self.files.all_gone() => {
                self.done = true;
                Op::Exit
            }
            TaskStep::Between => {
                self.at = TaskStep::Unlink;
                Op::Run(self.config.between_ns)
            }
            TaskStep::Unlink => {
                self.at = TaskStep::Truncate;
                self.began = now;
                let file = self.files.current();
                self.costs = self.costs_of(file);
                Op::Kernel(self.file_ns(file))
            }
            TaskStep::Truncate => match self.files.next_vector() {
                Some(vector) => {
                    self.vector = vector;
                    Op::Path
                }
                None => {
                    self.times.record(self.began, now);
                    self.files.next_file();
                    self.at = TaskStep::Between;
                    Op::Kernel(0)
                }
            },
        }
    }

    /// Removes a vector, round after round.
    fn delete_path(&mut self) -> Step {
        let lock = self.locks[self.files.current() as usize];
        loop {
            let round = match self.round {
                Some(round) => round,
                None => match self.vector.next_round(self.config.batch) {
                    Some(round) => *self.round.insert(round),
                    None => return Step::Done,
                },
            };
            if let Some(step) = self.critical.step(round, lock, self.irq_ns, &mut self.costs) {
                return step;
            }
            self.round = None;
        }
    }

    /// Files whose deletion was measured.
    pub fn deleted(&self) -> usize {
        self.times.len()
    }
}

/// The task that deletes is made first.
const DELETER: TaskId = TaskId(0);

impl Program for Truncate {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let costs = cx.machine().locks;
        self.irq_ns = costs.queue_hold_ns;
        let locked_ns = self.config.page_locked * costs.fast_ns as f64
            + self.config.page_irqs * costs.queue_hold_ns as f64;
        self.locked_ps = (locked_ns * 1e3).round() as u64;
        self.locks = (0..self.config.files).map(|_| cx.new_lock("tree_lock")).collect();
        let comm = cx.comm("sparsetruncate");
        let deleter = cx.start_task(TaskAttr { comm, ..TaskAttr::default() });
        debug_assert_eq!(deleter, DELETER);
        let comm = cx.comm("kswapd");
        for _ in 0..self.config.reclaimers {
            cx.start_task(TaskAttr { comm, kthread: true, ..TaskAttr::default() });
            self.reclaimers.push(Reclaimer::default());
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if task == DELETER { self.delete(cx.now()) } else { self.reclaim(task) }
    }

    fn path(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        if task == DELETER { self.delete_path() } else { self.reclaim_path(task) }
    }

    fn is_done(&self) -> bool {
        self.done
    }

    fn progress(&self) -> f64 {
        f64::from(self.files.current()) / f64::from(self.config.files)
    }

    fn measurement_begins(&mut self) {
        self.times = Times::default();
    }

    fn results(&self, elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        let per_s = self.times.len() as f64 / (elapsed_ns.max(1) as f64 * 1e-9);
        let mut results = vec![("throughput", per_s)];
        results.extend(self.times.results());
        results
    }

    fn calls(&self, task: TaskId, op: &Op) -> Calls {
        match op {
            Op::Kernel(_) | Op::Path if task != DELETER => reclaim::CALLS,
            Op::Kernel(_) | Op::Path => UNLINK,
            _ => op.calls(),
        }
    }

    fn unwind(&self, _cpu: CpuId, task: Option<TaskId>, stack: &mut Stack) {
        match (task, self.round, self.config.batch) {
            (Some(DELETER), Some(Round { pages: true, .. }), _) => {
                stack.call(&["truncate_inode_pages_range", "delete_from_page_cache_batch"]);
            }
            (Some(DELETER), _, Batch::Entry) => {
                stack.call(&["truncate_inode_pages_range", "clear_shadow_entry"]);
            }
            (Some(DELETER), _, Batch::Pagevec) => {
                stack.call(&["truncate_inode_pages_range", "truncate_exceptional_pvec_entries"]);
            }
            _ => stack.call(&["__remove_mapping"]),
        }
    }

    fn waits_for(&self, _task: TaskId) -> String {
        "a page to reclaim".to_string()
    }
}

/// The way to the last `iput` of a file that is not open anywhere (Linux 4.14).
const UNLINK: Calls = &["entry_SYSCALL_64", "do_syscall_64", "sys_unlink", "do_unlinkat", "evict"];

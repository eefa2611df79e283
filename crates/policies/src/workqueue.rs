//! Workqueues with affinity scopes, as Linux 6.6 to 6.12 have them (kernel/workqueue.c).
//!
//! A *workqueue* has one *pool_workqueue* (pwq) per CPU, which links it to a *pool* of workers. The
//! pools of an unbound workqueue follow its *pods*: the parts that its scope cuts the machine into.
//! Workers are ordinary tasks of whatever scheduling policy runs. What is decided here is which
//! pool takes an item, which sleeping worker is woken, and where its wake-up begins to look.
//!
//! A workload owns the [`Workqueues`] and passes on what the engine asks it:
//!
//! ```text
//! Program::next(task)   a worker?  turn()  -> an operation, or "work on this item"
//! Program::path, or     under way? step()  -> the next step under the pool's lock
//!   Program::interrupt
//! Program::tick         tick()             -> the CPU hog detection of bound pools
//! ```
//!
//! Left out: the mayday rescuers, the culling of workers idle for 300 s, cpumasks narrower than
//! the machine, CPU hotplug.

mod active;
mod change;
mod check;
mod flush;
mod path;
mod pods;
mod pool;
mod queue;
mod stats;
#[cfg(test)]
mod tests;
mod worker;

pub use active::ActivePer;
pub use change::Change;
pub use pods::Pods;
pub use stats::{PoolInfo, WqStats};
pub use worker::Turn;

use active::NodeActive;
use flush::Flushes;
use path::Path;
use pool::{Pool, Worker};
use sim_core::{Ns, PerTask, ProgramCx, Site, TaskId};
use std::collections::VecDeque;
use topology::{CpuId, DenseId, IdVec, PerCpu};

/// `max_active` if a workqueue does not say (WQ_DFL_ACTIVE).
pub const DEFAULT_MAX_ACTIVE: u32 = 256;
/// The largest `max_active` (WQ_MAX_ACTIVE) up to Linux 6.12; later kernels have four times both.
pub const MAX_ACTIVE: u32 = 512;
/// Cores of a shard of the scope `cache_shard`, unless the workqueue says.
pub const DEFAULT_SHARD_CORES: u32 = 8;
/// `cpu_intensive_thresh_us`: an item of a bound pool that has run this long at a tick is a hog.
const CPU_INTENSIVE_THRESH_NS: Ns = 10_000_000;

/// `queue_work()`, `process_one_work()` and others take a pool's lock.
pub const POOL_LOCK_SITE: &Site = &Site::new(18, "wq_pool_lock", Site::OTHER_LOCKS);

/// How an unbound workqueue cuts the machine into pods.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Scope {
    /// Each CPU.
    Cpu,
    /// Each core.
    Smt,
    /// Each last-level cache; the kernel's default.
    Cache,
    /// Shards of at most this many cores of each last-level cache (Linux 7.1).
    CacheShard(u32),
    /// Each NUMA node.
    Numa,
    /// The machine.
    System,
}

impl Scope {
    /// The scopes' names, as sysfs spells them.
    pub const NAMES: [&'static str; 6] = ["cpu", "smt", "cache", "cache_shard", "numa", "system"];

    /// The scope of a name; a shard has `shard_cores` cores.
    pub fn by_name(name: &str, shard_cores: u32) -> Option<Self> {
        match name {
            "cpu" => Some(Scope::Cpu),
            "smt" => Some(Scope::Smt),
            "cache" => Some(Scope::Cache),
            "cache_shard" => Some(Scope::CacheShard(shard_cores)),
            "numa" => Some(Scope::Numa),
            "system" => Some(Scope::System),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Scope::Cpu => "cpu",
            Scope::Smt => "smt",
            Scope::Cache => "cache",
            Scope::CacheShard(_) => "cache_shard",
            Scope::Numa => "numa",
            Scope::System => "system",
        }
    }
}

/// What sysfs lets an administrator change of an unbound workqueue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Affinity {
    /// `affinity_scope`
    pub scope: Scope,
    /// `affinity_strict`: workers never leave their pod.
    pub strict: bool,
    /// `localize`: items are handed to workers that are sent to the issuing CPU (patch 24 of the
    /// series, never merged).
    pub localize: bool,
}

impl Default for Affinity {
    fn default() -> Self {
        Self { scope: Scope::Cache, strict: false, localize: false }
    }
}

/// Bound to CPUs or not.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Items run on the CPU that queued them, one at a time unless they block.
    Bound,
    /// WQ_UNBOUND
    Unbound(Affinity),
}

/// What a workqueue is like (`alloc_workqueue`).
#[derive(Clone, Debug)]
pub struct WqSpec {
    /// Its name.
    pub name: String,
    /// Bound or unbound.
    pub kind: Kind,
    /// Nice level of its workers.
    pub nice: i8,
    /// Items in execution at most; 1..=[`MAX_ACTIVE`].
    pub max_active: u32,
    /// Whose items it counts.
    pub active_per: ActivePer,
    /// WQ_CPU_INTENSIVE: items of a bound pool do not hold others up.
    pub cpu_intensive: bool,
    /// WQ_MEM_RECLAIM; only shown, for rescuers are left out.
    pub mem_reclaim: bool,
}

impl WqSpec {
    /// A workqueue with the kernel's defaults.
    pub fn new(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_string(),
            kind,
            nice: 0,
            max_active: DEFAULT_MAX_ACTIVE,
            active_per: ActivePer::Cpu,
            cpu_intensive: false,
            mem_reclaim: false,
        }
    }
}

macro_rules! id {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub struct $name(pub u32);

        impl DenseId for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }

            fn from_index(index: usize) -> Self {
                Self(u32::try_from(index).expect("ids are handed out one by one"))
            }
        }
    };
}

id!(/// A workqueue.
    WqId);
id!(/// A work item.
    WorkId);
id!(/// A worker pool.
    PoolId);
id!(/// A worker.
    WorkerId);
id!(/// A pool_workqueue.
    PwqId);

/// A workqueue.
struct Wq {
    spec: WqSpec,
    /// By CPU.
    pwqs: PerCpu<PwqId>,
    /// By NUMA node, that of pools of no node last; none if each pwq counts for itself.
    nodes: Vec<NodeActive>,
    flushes: Flushes,
}

/// What links a workqueue to a pool, for the items that one CPU queues.
struct Pwq {
    wq: WqId,
    pool: PoolId,
    cpu: CpuId,
    nr_active: u32,
    /// Queued and not yet completed, inactive ones included.
    nr_in_flight: u32,
    /// Beyond max_active, oldest first.
    inactive: VecDeque<WorkId>,
    /// The workqueue uses another one for this CPU by now.
    replaced: bool,
    stats: WqStats,
}

/// A work item. What it does is its owner's business.
#[derive(Clone, Debug)]
struct Work {
    wq: WqId,
    pending: bool,
    /// On a list: queued, and not yet begun.
    listed: bool,
    /// While listed or running.
    pwq: PwqId,
    color: u64,
    running: Option<WorkerId>,
    last_pool: Option<PoolId>,
    /// They wait for the end of the execution that is to begin (linked barriers).
    flushers: Vec<TaskId>,
}

/// What a worker does next, once it has started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Item {
    Work(WorkId),
    /// A barrier: the end of what a task flushes.
    Barrier(TaskId),
}

/// All workqueues of a run.
pub struct Workqueues {
    wqs: IdVec<WqId, Wq>,
    pwqs: IdVec<PwqId, Pwq>,
    pools: IdVec<PoolId, Pool>,
    workers: IdVec<WorkerId, Worker>,
    works: IdVec<WorkId, Work>,
    /// By `TaskId`.
    worker_of: PerTask<Option<WorkerId>>,
    /// By `TaskId`: waits in a flush.
    flushing: PerTask<bool>,
    /// By CPU: the path under way.
    paths: PerCpu<Path>,
    /// By CPU: tasks to be woken by that path.
    wakes: PerCpu<Vec<TaskId>>,
    /// By CPU: a hog that its tick has found.
    hogs: PerCpu<Option<WorkerId>>,
}

impl Workqueues {
    /// The workqueues of `specs`, numbered in that order, with their pools and a first worker in
    /// each. To be called in `Program::start`.
    pub fn new(cx: &mut ProgramCx<'_>, specs: Vec<WqSpec>) -> Self {
        let n = cx.n_cpus();
        let mut all = Self {
            wqs: IdVec::new(),
            pwqs: IdVec::new(),
            pools: IdVec::new(),
            workers: IdVec::new(),
            works: IdVec::new(),
            worker_of: IdVec::new(),
            flushing: IdVec::new(),
            paths: vec![Path::NONE; n].into(),
            wakes: vec![Vec::new(); n].into(),
            hogs: vec![None; n].into(),
        };
        for spec in specs {
            let id = WqId(all.wqs.len() as u32);
            let pools = all.pools_of(cx, &spec);
            let nodes = active::node_counts(cx.machine(), &spec);
            all.wqs.push(Wq { spec, pwqs: IdVec::new(), nodes, flushes: Flushes::default() });
            all.install(id, &pools);
        }
        for pool in (0..all.pools.len() as u32).map(PoolId) {
            all.first_worker(cx, pool);
        }
        all
    }

    /// Makes a work item of `wq`.
    pub fn new_work(&mut self, wq: WqId) -> WorkId {
        self.works.push(Work {
            wq,
            pending: false,
            listed: false,
            pwq: PwqId(u32::MAX),
            color: 0,
            running: None,
            last_pool: None,
            flushers: Vec::new(),
        });
        WorkId(self.works.len() as u32 - 1)
    }

    /// `INIT_WORK`: an item that is not in use forgets where it ran last.
    pub fn init_work(&mut self, work: WorkId) {
        debug_assert!(!self.works[work].pending && self.works[work].running.is_none());
        self.works[work].last_pool = None;
    }

    /// The workqueues' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.wqs.iter().map(|wq| wq.spec.name.as_str())
    }

    /// True if `task` is a worker: what it does is then asked by [`Workqueues::turn`].
    #[inline]
    pub fn is_worker(&self, task: TaskId) -> bool {
        self.worker_of.at(task).is_some_and(Option::is_some)
    }

    fn worker_of(&self, task: TaskId) -> WorkerId {
        self.worker_of[task].expect("asked of workers only")
    }

    fn pool_of(&self, worker: WorkerId) -> &Pool {
        &self.pools[self.workers[worker].pool]
    }
}

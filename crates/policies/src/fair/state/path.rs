//! Paths in progress: where each CPU's balance code stands between two of its steps.
//!
//! The functions that take these steps are in the rooms `shared` and `balance`.

use super::lb_env::LoadBalance;
use sim_core::{IdleType, Ns, Step, TaskId};
use std::ops::ControlFlow;
use topology::CpuId;

/// A path that either has a next step for the mechanism or is finished with a result.
pub(crate) type Flow<T> = ControlFlow<Step, T>;

/// Tasks that a path has taken off a runqueue or put on one, whose lock it holds, and that are to
/// be unlinked from the shared queue or appended to it: one hold of its lock each.
#[derive(Clone, Debug, Default)]
pub(crate) struct Links {
    pub tasks: Vec<TaskId>,
    pub next: usize,
    pub stage: LinkStage,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LinkStage {
    #[default]
    Lock,
    Hold,
    Done,
}

impl Links {
    /// A queue's lock is waited for or held.
    pub(crate) fn under_way(&self) -> bool {
        self.stage != LinkStage::Lock
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum PullStage {
    #[default]
    Look,
    Hold,
    Pop,
    Popped,
    PiLock,
    Lock,
    Locked,
    Move,
    Unlink,
    UnlockSrc,
    Relock,
    Attach,
    Append,
    Finish,
    /// The own LLC has nothing.
    LlcEmpty,
    /// SWQUEUE_STEAL: another LLC's queue is next,
    NextLlc,
    /// its head has been read,
    HeadRead,
    /// none is left.
    NoneLeft,
}

/// `swq_pick_next_task` in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PullPath {
    pub stage: PullStage,
    /// How many queues of the own LLC were looked at in vain.
    pub n_looked: u32,
    /// The own LLC had nothing: it is a steal, …
    pub steals: bool,
    /// … and so many others were looked at.
    pub n_stolen_from: u32,
    /// The queue that is being looked at.
    pub queue: u32,
    pub task: TaskId,
    pub src: CpuId,
    pub moved: bool,
}

impl Default for PullPath {
    fn default() -> Self {
        Self {
            stage: PullStage::Look,
            n_looked: 0,
            steals: false,
            n_stolen_from: 0,
            queue: 0,
            task: TaskId::NONE,
            src: CpuId(0),
            moved: false,
        }
    }
}

/// Where the CPU stands on its way to idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum NewidleStage {
    Pull,
    #[default]
    Enter,
    Gates,
    Blocked,
    Level,
    Balance,
    Relock,
    Finish,
    Done,
}

/// `newidle_balance` in progress.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NewidlePath {
    pub stage: NewidleStage,
    pub prev: TaskId,
    /// The slow pick asks, which takes no for an answer.
    pub slow_pick: bool,
    pub level: u32,
    pub n_pulled: u32,
    pub t0: Ns,
    pub curr_cost: Ns,
    pub next_balance: u64,
    /// `continue_balancing`
    pub continue_balancing: bool,
    /// NI_RANDOM: what a success counts at this level.
    pub success_weight: u32,
    /// What it answers: something was pulled or has come, and is there or was.
    pub says_yes: bool,
}

impl Default for NewidlePath {
    fn default() -> Self {
        Self {
            stage: NewidleStage::Enter,
            prev: TaskId::IDLE,
            slow_pick: false,
            level: 0,
            n_pulled: 0,
            t0: 0,
            curr_cost: 0,
            next_balance: 0,
            continue_balancing: true,
            success_weight: 1,
            says_yes: false,
        }
    }
}

impl NewidlePath {
    /// The shared queue is asked.
    pub(crate) fn pulls(&self) -> bool {
        self.stage == NewidleStage::Pull
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum RebalanceStage {
    #[default]
    Level,
    Tried,
    Balance,
    Unlock,
    Next,
    Done,
}

/// `rebalance_domains` in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RebalancePath {
    pub stage: RebalanceStage,
    pub cpu: u32,
    pub idle: IdleType,
    pub level: u32,
    pub continue_balancing: bool,
    pub serialized: bool,
    pub need_decay: bool,
    pub max_cost: u64,
    pub next_balance: u64,
}

impl RebalancePath {
    /// In `load_balance`.
    pub(crate) fn balances(&self) -> bool {
        self.stage == RebalanceStage::Balance
    }
}

/// `_nohz_idle_balance` in progress.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IlbPath {
    /// `nohz_flags(cpu)`: kicks on their way.
    pub pending: u8,
    /// `rq->nohz_idle_balance`: what the softirq has to do.
    pub granted: u8,
    pub flags: u8,
    pub stage: IlbStage,
    /// CPUs passed so far, counted from the one after the balancer.
    pub n_passed: u32,
    pub next_balance: u64,
    pub update_next_balance: bool,
    pub has_blocked: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum IlbStage {
    #[default]
    Next,
    Blocked,
    Look,
    Rebalance,
    Passed,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum StopStage {
    #[default]
    Lock,
    Look,
    Detach,
    Unlink,
    Unlock,
    LockDst,
    Attach,
    Append,
    Done,
}

/// The push in progress on one CPU.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StopPath {
    pub stage: StopStage,
    pub task: TaskId,
}

impl Default for StopPath {
    fn default() -> Self {
        Self { stage: StopStage::Lock, task: TaskId::NONE }
    }
}

/// Work of the softirq path of a CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum SoftirqWork {
    #[default]
    Blocked,
    Rebalance,
    Ilb,
}

/// Stages of `update_blocked_averages` of one runqueue, from a softirq.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum BlockedStage {
    #[default]
    IrqOff,
    Lock,
    Spend,
    Update,
    IrqOn,
    Done,
}

/// What one CPU's balance code is in the middle of. A CPU runs at most one of newidle and softirq
/// balance at a time; the stopper has a state of its own, because softirqs may interrupt it.
#[derive(Clone, Debug)]
pub(crate) struct LbPath {
    pub pull: PullPath,
    pub newidle: NewidlePath,
    pub softirq: SoftirqWork,
    pub blocked: BlockedStage,
    pub rebalance: RebalancePath,
    pub ilb: IlbPath,
    pub lb: LoadBalance,
    pub stop: StopPath,
    /// Tasks that join or leave a shared queue.
    pub links: Links,
    /// Tasks in transit, in the order of detaching.
    pub detached: Vec<TaskId>,
    /// CPUs struck off `env.cpus`.
    pub removed: Vec<CpuId>,
    /// `rq->idle_balance`: idle at the last tick or kick.
    pub idle_at_tick: bool,
    /// The softirq was raised for balancing, not by another class.
    pub has_raised: bool,
    /// State of the draws of NI_RANDOM on this CPU.
    pub draws: u32,
    /// `rq->last_blocked_load_update_tick`, jiffies.
    pub blocked_tick: u64,
}

impl LbPath {
    pub(crate) fn new(cpu: u32) -> Self {
        Self {
            pull: PullPath::default(),
            newidle: NewidlePath::default(),
            softirq: SoftirqWork::default(),
            blocked: BlockedStage::default(),
            rebalance: RebalancePath::default(),
            ilb: IlbPath::default(),
            lb: LoadBalance::default(),
            stop: StopPath::default(),
            links: Links::default(),
            detached: Vec::with_capacity(64),
            removed: Vec::with_capacity(16),
            idle_at_tick: false,
            has_raised: false,
            draws: (cpu + 1).wrapping_mul(0x9e37_79b9),
            blocked_tick: 0,
        }
    }
}

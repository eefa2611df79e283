//! `struct lb_env`: a pass of `load_balance` in progress.

use super::reasons;
use sim_core::{IdleType, Reason};
use topology::{CpuId, DomainId};

/// `enum migration_type`: in what unit the imbalance is counted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum MigrationType {
    Load,
    Util,
    #[default]
    Task,
}

/// SCHED_NR_MIGRATE_BREAK: tasks looked at in one hold of the source's lock.
pub(crate) const NR_MIGRATE_BREAK: u32 = 32;

/// Where the pass stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum LbStage {
    #[default]
    Begin,
    Stats,
    /// The source once more.
    Again,
    LockSrc,
    Look,
    Detach,
    Unlink,
    UnlockSrc,
    LockDst,
    Attach,
    Append,
    IrqOn,
    Judge,
    ActiveIrqOff,
    ActiveLock,
    Active,
    ActiveStart,
    Done,
}

/// What `load_balance` is called for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BalanceCall {
    /// The CPU on whose behalf the pass is made, perhaps by another one.
    pub cpu: CpuId,
    /// Level of the domain in that CPU's chain.
    pub level: usize,
    /// Why that CPU balances.
    pub idle: IdleType,
}

/// `LBF_*`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct LbFlags {
    pub all_pinned: bool,
    pub some_pinned: bool,
    pub dst_pinned: bool,
    pub need_break: bool,
}

/// `struct lb_env`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LoadBalance {
    pub stage: LbStage,
    /// The CPU on whose behalf and with whose domain the pass is made.
    pub cpu: CpuId,
    pub level: u32,
    pub domain: DomainId,
    pub own_group: u32,
    pub idle: IdleType,
    pub dst: CpuId,
    pub new_dst: CpuId,
    pub src: CpuId,
    pub migration_type: MigrationType,
    pub imbalance: i64,
    pub flags: LbFlags,
    pub n_looked: u32,
    pub loop_max: u32,
    pub loop_break: u32,
    pub n_moved: u32,
    /// An imbalance was found, but nothing was moved.
    pub failed: bool,
    /// `continue_balancing`.
    pub continue_balancing: bool,
    /// Active balance: start the stopper after the unlock.
    pub start_active: bool,
    /// Should nothing be moved: why.
    pub why: &'static Reason,
    /// A source was chosen, and `why` is about it.
    pub src_chosen: bool,
}

impl Default for LoadBalance {
    fn default() -> Self {
        Self {
            stage: LbStage::Begin,
            cpu: CpuId(0),
            level: 0,
            domain: DomainId(0),
            own_group: 0,
            idle: IdleType::NotIdle,
            dst: CpuId(0),
            new_dst: CpuId(0),
            src: CpuId(0),
            migration_type: MigrationType::Task,
            imbalance: 0,
            flags: LbFlags::default(),
            n_looked: 0,
            loop_max: 0,
            loop_break: NR_MIGRATE_BREAK,
            n_moved: 0,
            failed: false,
            continue_balancing: true,
            start_active: false,
            why: reasons::NOT_MINE,
            src_chosen: false,
        }
    }
}

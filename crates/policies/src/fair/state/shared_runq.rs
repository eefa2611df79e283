//! The versions of the patches that brought the shared queues: SWQUEUE, which was version 1, and
//! SHARED_RUNQ, versions 2 to 4.
//!
//! Version 1 has one queue per LLC. Its text means tasks that wake up on their previous CPU; its
//! code appends every task that is enqueued. `enqueue_task_fair()` tests the flags after a loop
//! that has set them to ENQUEUE_WAKEUP, so the test always holds. SWQUEUE does what the code does,
//! as the published measurements did; SWQ_FLAGS does what the text means. Later versions split the
//! queue into shards, each for some of the LLC's CPUs, and queue every task that starts to wait:
//! whatever enters the tree of a runqueue is appended, whatever leaves it is unlinked.

use topology::CpuId;

/// A version of the patches.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Version {
    /// None: the features are off.
    #[default]
    None,
    /// RFC, 2023-06-13: SWQUEUE.
    V1,
    /// 2023-07-10
    V2,
    /// 2023-08-09
    V3,
    /// 2023-12-11
    V4,
}

/// Which tasks are queued.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum EnqueueRule {
    /// All that are enqueued: woken, forked, moved or pulled here, or put back after a change of
    /// their attributes (version 1).
    Enqueue,
    /// Those that wake up on their previous CPU (what version 1 means, and patch 5 of version 2).
    #[default]
    Wakeup,
    /// All that start to wait (versions 2 and 3).
    Tree,
    /// The same, if the runqueue was not empty (version 4).
    TreeNonempty,
}

/// What the tunables of SHARED_RUNQ say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SharedRunq {
    /// The version that the feature stands for.
    pub version: Version,
    /// `SHARED_RUNQ_SHARD_SZ`: CPUs of a shard.
    pub shard_size: u32,
}

/// Into how many shards an LLC's queue is split.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shards {
    /// None: one queue per LLC.
    One,
    /// CPUs by size of a shard, rounded down; a CPU's shard is its number modulo that.
    RoundedDown,
    /// The same rounded up. Neighbors by number share a shard, so SMT siblings do only where they
    /// are numbered so.
    RoundedUp,
}

/// Where `schedule()` looks into the shared queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PullHook {
    /// Nowhere.
    Never,
    /// In `pick_next_task_fair`, before it calls `newidle_balance`.
    BeforeNewidle,
    /// Inside `newidle_balance`.
    InNewidle,
}

/// How `schedule()` goes on after a pull.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum AfterPull {
    /// `newidle_balance` is called.
    Newidle,
    /// `newidle_balance` goes on: it compares `avg_idle` with the costs of balancing.
    Gates,
    /// RETRY_TASK: the slow pick, which calls `newidle_balance` once (more).
    SlowPick,
    /// The task is picked at once: the runqueue lock was held all the time.
    Pick,
    /// `newidle_balance` ends at its label `out`.
    Out,
}

/// What a version does where versions differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct VersionRules {
    pub enqueue: EnqueueRule,
    shards: Shards,
    pub pull: PullHook,
    /// No queue had a task that may run here.
    pub after_nothing: AfterPull,
    /// A task was popped, and could not be moved.
    pub after_lost: AfterPull,
    /// A task was moved.
    pub after_moved: AfterPull,
    /// A head that may not run on the CPU that pulls stays on its queue.
    pub leaves_forbidden_head: bool,
    /// `newidle_balance` sets `idle_stamp` after the pull, so the pull is no idle time.
    pub stamps_after_pull: bool,
    /// The first gate compares `avg_idle` with the cost of the level above the LLC: the LLC's
    /// queue has been searched.
    pub gates_above_llc: bool,
    /// Without `rd.overload` there is no pull either; after the pull `ttwu_pending` is read again.
    pub pulls_if_overloaded: bool,
    /// Domains of one LLC are not balanced.
    pub skips_llc_domains: bool,
}

impl Version {
    /// The properties of a version, one after another as each changed the one before.
    pub(crate) const fn rules(self) -> VersionRules {
        const NONE: VersionRules = VersionRules {
            enqueue: EnqueueRule::Wakeup,
            shards: Shards::One,
            pull: PullHook::Never,
            after_nothing: AfterPull::Newidle,
            after_lost: AfterPull::SlowPick,
            after_moved: AfterPull::SlowPick,
            leaves_forbidden_head: false,
            stamps_after_pull: false,
            gates_above_llc: false,
            pulls_if_overloaded: false,
            skips_llc_domains: false,
        };
        const V1: VersionRules =
            VersionRules { enqueue: EnqueueRule::Enqueue, pull: PullHook::BeforeNewidle, ..NONE };
        const V2: VersionRules = VersionRules {
            enqueue: EnqueueRule::Tree,
            shards: Shards::RoundedDown,
            pull: PullHook::InNewidle,
            after_nothing: AfterPull::Gates,
            leaves_forbidden_head: true,
            ..V1
        };
        const V3: VersionRules = VersionRules {
            shards: Shards::RoundedUp,
            after_moved: AfterPull::Pick,
            stamps_after_pull: true,
            gates_above_llc: true,
            ..V2
        };
        const V4: VersionRules = VersionRules {
            enqueue: EnqueueRule::TreeNonempty,
            after_lost: AfterPull::Gates,
            after_moved: AfterPull::Out,
            stamps_after_pull: false,
            gates_above_llc: false,
            pulls_if_overloaded: true,
            skips_llc_domains: true,
            ..V3
        };
        match self {
            Version::None => NONE,
            Version::V1 => V1,
            Version::V2 => V2,
            Version::V3 => V3,
            Version::V4 => V4,
        }
    }
}

impl VersionRules {
    /// The same, but for which tasks are queued.
    pub(crate) fn with_enqueue(self, enqueue: EnqueueRule) -> Self {
        Self { enqueue, ..self }
    }

    /// Shards of an LLC of so many CPUs.
    pub(crate) fn num_shards(&self, llc_size: u32, shard_size: u32) -> u32 {
        match self.shards {
            Shards::One => 1,
            Shards::RoundedDown => (llc_size / shard_size).max(1),
            Shards::RoundedUp => llc_size.div_ceil(shard_size),
        }
    }

    /// The shard of a CPU, of those of its LLC.
    pub(crate) fn shard_of(&self, cpu: CpuId, num_shards: u32) -> u32 {
        match self.shards {
            Shards::One | Shards::RoundedDown => cpu.0 % num_shards,
            Shards::RoundedUp => (cpu.0 >> 1) % num_shards,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_llc_has_as_many_shards_as_the_version_says() {
        let num_shards = |v: Version, llc_size| v.rules().num_shards(llc_size, 6);
        let shards = [(12, 2, 2), (16, 2, 3), (36, 6, 6), (40, 6, 7), (52, 8, 9), (64, 10, 11)];
        for (size, v2, later) in shards {
            assert_eq!(num_shards(Version::V1, size), 1);
            assert_eq!(num_shards(Version::V2, size), v2);
            assert_eq!(num_shards(Version::V3, size), later);
            assert_eq!(num_shards(Version::V4, size), later);
        }
        assert_eq!(num_shards(Version::V2, 4), 1);
        assert_eq!(num_shards(Version::V3, 4), 1);
    }

    /// Of 36 CPUs behind an LLC, 0 and its sibling 18 do not share a shard.
    #[test]
    fn siblings_share_a_shard_only_as_neighbors() {
        let shard_of = |v: Version, cpu| v.rules().shard_of(CpuId(cpu), 6);
        assert_eq!(shard_of(Version::V2, 18), 0);
        assert_eq!(shard_of(Version::V2, 7), 1);
        assert_eq!(shard_of(Version::V3, 0), 0);
        assert_eq!(shard_of(Version::V3, 18), 3);
        assert_eq!(shard_of(Version::V4, 1), 0);
    }
}

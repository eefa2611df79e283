//! What CFS keeps beside `state`: the order of each queue, and the task groups.

use super::queue::CfsQueue;
use crate::fair::state::weights::{NICE_0_WEIGHT, rq_inverse};
use crate::fair::state::{FairRq, FairTask, KernelRules, QueueKind, Rules};
use sim_core::{GroupId, TASKS_MAX, TaskAttr, TaskId};
use topology::{CpuId, PerCpu};

/// CFS as a queueing discipline; with `GROUPS`, tasks may be in task groups (`cfs::groups`).
#[derive(Clone, Debug)]
pub struct Cfs<const GROUPS: bool = false> {
    pub(crate) rules: Rules,
    /// What these rules say.
    pub(crate) kernel: &'static KernelRules,
    pub(crate) groups: Groups,
}

/// The rules of v6.4, without groups.
impl<const GROUPS: bool> Default for Cfs<GROUPS> {
    fn default() -> Self {
        let rules = Rules::V6_4;
        Self { rules, kernel: rules.kernel(), groups: Groups::default() }
    }
}

impl<const GROUPS: bool> QueueKind for Cfs<GROUPS> {
    type Entity = ();
    type Queue = CfsQueue;
    const GROUPS: bool = GROUPS;

    #[inline]
    fn rules(&self) -> Rules {
        self.rules
    }

    #[inline]
    fn kernel(&self) -> &'static KernelRules {
        self.kernel
    }
}

/// The numbers of group entities begin here.
pub(crate) const FIRST_ENTITY: u32 = 1 << 31;
const _: () = assert!(TASKS_MAX < FIRST_ENTITY as usize);

/// Bits of a weight below the unit (SCHED_FIXEDPOINT_SHIFT).
pub(crate) const SHARES_SHIFT: u32 = 10;
/// The least that a group's entity weighs, in units of 1/1024.
const MIN_SHARES: u64 = 2;

/// What a group is given.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GroupSpec {
    /// `cpu.weight` of cgroup v2, 1..=10000; 100 is that of a task of nice 0, and of an autogroup.
    pub cpu_weight: u32,
}

impl GroupSpec {
    /// `sched_weight_from_cgroup`: the weight of all of the group's tasks together, as a task's.
    pub fn weight(self) -> u32 {
        (self.cpu_weight * NICE_0_WEIGHT + 50) / 100
    }
}

/// A queue of entities, the kernel's `cfs_rq`: the root's of a CPU, or a group's there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct QueueId {
    pub cpu: CpuId,
    pub group: GroupId,
}

impl QueueId {
    #[inline]
    pub(crate) fn root(cpu: CpuId) -> Self {
        Self { cpu, group: GroupId::ROOT }
    }
}

/// `task_group`
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// Its weight, in units of 1/1024.
    pub shares: u64,
    /// The sum of what its queues contribute.
    pub load_avg: u64,
}

/// A group on one CPU.
#[derive(Clone, Debug)]
pub(crate) struct GroupOnCpu {
    /// Its entity on the root's queue.
    pub se: FairTask,
    /// Its queue; what a runqueue has beside its `cfs_rq` is not used.
    pub rq: FairRq<CfsQueue>,
    /// How many tasks the entity stood for when it was looked at last.
    pub runnable_weight: u32,
    /// Tasks with averages have come or gone since the entity was updated last; …
    pub propagate: bool,
    /// … and the sum of their `load_sum`.
    pub prop_runnable_sum: i64,
    /// What the queue has added to the group's `load_avg`.
    pub tg_load_avg_contrib: u64,
    /// Its averages are not zero yet: `update_blocked_averages` looks at it.
    pub on_leaf_list: bool,
    /// The load of the queue as the root sees it, …
    pub h_load: u64,
    /// … in this jiffy.
    pub h_load_at: u64,
}

impl GroupOnCpu {
    pub(crate) fn new(group: &Group) -> Self {
        let mut se = FairTask::new(&TaskAttr::default());
        se.avg = Default::default();
        let weight = (group.shares >> SHARES_SHIFT).max(2) as u32;
        (se.weight, se.inv_weight) = (weight, rq_inverse(weight.into()));
        Self {
            se,
            rq: FairRq::new(0),
            runnable_weight: 0,
            propagate: false,
            prop_runnable_sum: 0,
            tg_load_avg_contrib: 0,
            on_leaf_list: false,
            h_load: 0,
            h_load_at: u64::MAX,
        }
    }
}

/// All groups but the root.
#[derive(Clone, Default, Debug)]
pub(crate) struct Groups {
    pub n_cpus: usize,
    /// By group, from 1.
    pub groups: Vec<Group>,
    /// By group, then CPU.
    pub on_cpus: Vec<GroupOnCpu>,
    /// The root queues' load and in which jiffy that was looked at, by CPU.
    pub h_load: PerCpu<(u64, u64)>,
}

impl Groups {
    #[inline]
    pub(crate) fn index(&self, queue: QueueId) -> usize {
        (usize::from(queue.group.0) - 1) * self.n_cpus + queue.cpu.idx()
    }

    pub(crate) fn queues(&self, cpu: CpuId) -> impl Iterator<Item = QueueId> + use<> {
        (1..=self.groups.len() as u16).map(move |group| QueueId { cpu, group: GroupId(group) })
    }

    /// The leaf list of `cpu`, but for the root's queue.
    pub(crate) fn leaves(&self, cpu: CpuId) -> impl Iterator<Item = &GroupOnCpu> {
        let on_cpus = self.queues(cpu).map(|queue| &self.on_cpus[self.index(queue)]);
        on_cpus.filter(|on_cpu| on_cpu.on_leaf_list)
    }
}

/// Is this entity a group's?
#[inline]
pub(crate) fn is_group(se: TaskId) -> bool {
    se.is_task() && se.0 >= FIRST_ENTITY
}

impl GroupOnCpu {
    /// `calc_group_shares`: of the group's weight, the part of its load that is on this CPU, now or
    /// on average; in units of 1/1024.
    pub(crate) fn calc_group_shares(&self, group: &Group) -> u64 {
        let load = self.rq.load_weight.max(self.rq.avg.load_avg);
        let total = group.load_avg.saturating_sub(self.tg_load_avg_contrib) + load;
        let shares = (group.shares * load).checked_div(total).unwrap_or(0);
        shares.clamp(MIN_SHARES, group.shares)
    }
}

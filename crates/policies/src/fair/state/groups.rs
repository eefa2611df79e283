//! What the class keeps for task groups: of a group, and of a group on one CPU.
//!
//! A group has a queue of its own on each CPU, and there an *entity* that stands for it on the
//! queue of its parent. Entities are numbered from [`FIRST_ENTITY`], as tasks that the mechanism
//! never sees. `queue::groups` has the functions on them.

use super::bandwidth::{Bandwidth, BandwidthStat, CpuMax, QueueRuntime};
use super::rq::FairRq;
use super::task::FairTask;
use super::weights::{NICE_0_WEIGHT, rq_inverse};
use sim_core::{GroupId, LineId, NEVER, Ns, TASKS_MAX, TaskAttr, TaskId, World};
use topology::{CpuId, PerCpu};

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
    /// The group that it is in: one with a smaller number.
    pub parent: GroupId,
    /// `cpu.max`, if it has a limit.
    pub max: Option<CpuMax>,
    /// It is an autogroup and no cgroup, which schedulers of the sched_ext shape can tell.
    pub is_autogroup: bool,
}

impl Default for GroupSpec {
    /// A new cgroup.
    fn default() -> Self {
        Self { cpu_weight: 100, parent: GroupId::ROOT, max: None, is_autogroup: false }
    }
}

impl GroupSpec {
    /// `sched_weight_from_cgroup`: the weight of all of the group's tasks together, as a task's.
    pub fn weight(self) -> u32 {
        (self.cpu_weight * NICE_0_WEIGHT + 50) / 100
    }
}

/// A queue of entities, the kernel's `cfs_rq`: the root's of a CPU, or a group's there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueId {
    /// The CPU.
    pub cpu: CpuId,
    /// The group.
    pub group: GroupId,
}

impl QueueId {
    /// The queue of a CPU's own.
    #[inline]
    pub fn root(cpu: CpuId) -> Self {
        Self { cpu, group: GroupId::ROOT }
    }
}

/// `task_group`
#[derive(Clone, Debug)]
pub(crate) struct Group {
    /// The group that it is in.
    pub parent: GroupId,
    /// Its weight, in units of 1/1024.
    pub shares: u64,
    /// The sum of what its queues contribute, …
    pub load_avg: u64,
    /// … and its cache line, once the run begins.
    pub load_line: Option<LineId>,
    /// The CPU time that its queues may take, if that is limited.
    pub bandwidth: Option<Bandwidth>,
}

impl Group {
    pub(crate) fn new(spec: &GroupSpec) -> Self {
        let shares = u64::from(spec.weight()) << SHARES_SHIFT;
        let bandwidth = spec.max.map(Bandwidth::new);
        Self { parent: spec.parent, shares, load_avg: 0, load_line: None, bandwidth }
    }
}

/// A group on one CPU; `E` and `Q` are what the discipline adds to an entity and to a queue.
#[derive(Clone, Debug)]
pub(crate) struct GroupOnCpu<E, Q> {
    /// Its entity on its parent's queue.
    pub se: FairTask<E>,
    /// Its queue; what a runqueue has beside its `cfs_rq` is not used.
    pub rq: FairRq<Q>,
    /// How many tasks the entity stood for when it was looked at last.
    pub runnable_weight: u32,
    /// Tasks with averages have come or gone since the entity was updated last; …
    pub propagate: bool,
    /// … and the sum of their `load_sum`.
    pub prop_runnable_sum: i64,
    /// What the queue has added to the group's `load_avg`.
    pub tg_load_avg_contrib: u64,
    /// It adds no more to it before this instant, ns (`last_update_tg_load_avg`).
    pub tg_load_avg_from: Ns,
    /// Its averages are not zero yet: `update_blocked_averages` looks at it.
    pub on_leaf_list: bool,
    /// The load of the queue as the root sees it, …
    pub h_load: u64,
    /// … in this jiffy.
    pub h_load_at: u64,
    /// What it has of the group's CPU time.
    pub runtime: QueueRuntime,
}

impl<E: Default, Q: Default> GroupOnCpu<E, Q> {
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
            tg_load_avg_from: 0,
            on_leaf_list: false,
            h_load: 0,
            h_load_at: u64::MAX,
            runtime: QueueRuntime::default(),
        }
    }
}

impl<E, Q> GroupOnCpu<E, Q> {
    /// `calc_group_shares`: of the group's weight, the part of its load that is on this CPU, now or
    /// on average; in units of 1/1024.
    pub(crate) fn calc_group_shares(&self, group: &Group) -> u64 {
        let load = self.rq.load_weight.max(self.rq.avg.load_avg);
        let total = group.load_avg.saturating_sub(self.tg_load_avg_contrib) + load;
        let shares = (group.shares * load).checked_div(total).unwrap_or(0);
        shares.clamp(MIN_SHARES, group.shares)
    }
}

/// All groups but the root.
#[derive(Clone, Debug)]
pub(crate) struct Groups<E, Q> {
    pub n_cpus: usize,
    /// By group, from 1.
    pub groups: Vec<Group>,
    /// By group, then CPU.
    pub on_cpus: Vec<GroupOnCpu<E, Q>>,
    /// `cfs_rq.curr` of the root queues.
    pub root_curr: PerCpu<TaskId>,
    /// The root queues' load and in which jiffy that was looked at, by CPU.
    pub h_load: PerCpu<(u64, u64)>,
    /// `cfs_bandwidth_used()`: a group has a limit.
    pub has_bandwidth: bool,
    /// The first timer of all groups' limits.
    pub timer_at: Ns,
}

impl<E: Clone + Default, Q: Clone + Default> Groups<E, Q> {
    pub(crate) fn new(specs: &[GroupSpec]) -> Self {
        let outer = |(i, spec): (usize, &GroupSpec)| usize::from(spec.parent.0) <= i;
        debug_assert!(specs.iter().enumerate().all(outer), "a parent comes before its children");
        Self {
            n_cpus: 0,
            groups: specs.iter().map(Group::new).collect(),
            on_cpus: Vec::new(),
            root_curr: PerCpu::default(),
            h_load: PerCpu::default(),
            has_bandwidth: specs.iter().any(|spec| spec.max.is_some()),
            timer_at: NEVER,
        }
    }

    /// The queues are empty, on each of the CPUs.
    pub(crate) fn init(&mut self, w: &mut World) {
        let n_cpus = w.cpus.len();
        for group in &mut self.groups {
            group.load_line = Some(w.new_line());
        }
        let new = |group| std::iter::repeat_n(GroupOnCpu::new(group), n_cpus);
        self.on_cpus = self.groups.iter().flat_map(new).collect();
        self.root_curr = vec![TaskId::NONE; n_cpus].into();
        self.h_load = vec![(0, u64::MAX); n_cpus].into();
        self.n_cpus = n_cpus;
    }
}

impl<E, Q> Groups<E, Q> {
    /// The counters start again.
    pub(crate) fn measurement_begins(&mut self) {
        for pool in self.groups.iter_mut().filter_map(|group| group.bandwidth.as_mut()) {
            pool.stat = BandwidthStat::default();
        }
    }

    #[inline]
    pub(crate) fn index(&self, queue: QueueId) -> usize {
        (usize::from(queue.group.0) - 1) * self.n_cpus + queue.cpu.idx()
    }

    /// The groups' queues of a CPU, a parent's before those of its children.
    pub(crate) fn queues(
        &self,
        cpu: CpuId,
    ) -> impl DoubleEndedIterator<Item = QueueId> + use<E, Q> {
        (1..=self.groups.len() as u16).map(move |group| QueueId { cpu, group: GroupId(group) })
    }

    #[inline]
    pub(crate) fn group(&self, id: GroupId) -> &Group {
        &self.groups[usize::from(id.0) - 1]
    }

    /// The queue that the entity of a group's queue is on.
    #[inline]
    pub(crate) fn parent(&self, queue: QueueId) -> QueueId {
        QueueId { group: self.group(queue.group).parent, ..queue }
    }

    /// The queue that the entity with this index stands for.
    #[inline]
    pub(crate) fn queue_of_index(&self, index: usize) -> QueueId {
        let group = GroupId((index / self.n_cpus + 1) as u16);
        QueueId { cpu: CpuId((index % self.n_cpus) as u32), group }
    }

    /// The queues of the groups that are in this one.
    pub(crate) fn children(&self, queue: QueueId) -> impl Iterator<Item = QueueId> {
        self.queues(queue.cpu).filter(move |child| self.group(child.group).parent == queue.group)
    }

    /// The leaf list of `cpu`, but for the root's queue.
    pub(crate) fn leaves(&self, cpu: CpuId) -> impl Iterator<Item = &GroupOnCpu<E, Q>> {
        let on_cpus = self.queues(cpu).map(|queue| &self.on_cpus[self.index(queue)]);
        on_cpus.filter(|on_cpu| on_cpu.on_leaf_list)
    }
}

/// Is this entity a group's?
#[inline]
pub(crate) fn is_group(se: TaskId) -> bool {
    se.is_task() && se.0 >= FIRST_ENTITY
}

//! Pools and workers: which workers idle, which count as running, which one a kick wakes.

use super::worker::Stage;
use super::{Item, Kind, Pods, PoolId, PwqId, WorkId, WorkerId, Workqueues, WqId, WqSpec, active};
use sim_core::{LockId, MaskId, Ns, ProgramCx, TaskAttr, TaskId};
use std::collections::VecDeque;
use topology::{CpuId, CpuSet};

/// What a worker touches again and again, KiB: its stack, the pool, the code of its items;
/// unverified. The data of an item is the workload's matter.
const WORKER_KIB: u32 = 16;

/// What pools are told apart by; workqueues with equal keys share them.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct PoolKey {
    /// The CPU of a bound pool.
    pub cpu: Option<CpuId>,
    pub nice: i8,
    pub pod: CpuSet,
    pub strict: bool,
}

/// A worker pool.
pub(super) struct Pool {
    pub key: PoolKey,
    pub lock: LockId,
    pub worklist: VecDeque<WorkId>,
    /// The most recently idled worker last.
    pub idle: Vec<WorkerId>,
    pub n_workers: u32,
    /// Workers of a bound pool that are runnable and count; 0 in unbound pools.
    pub nr_running: u32,
    /// A manager makes a worker.
    pub has_manager: bool,
    /// Pwqs that lead here; without any it takes no new items.
    pub refs: u32,
    comm: u16,
    /// The pod, for repatriation and for strict workers.
    mask: MaskId,
    /// Place of its count of active items among those of a workqueue.
    pub node: usize,
}

impl Pool {
    pub fn is_bound(&self) -> bool {
        self.key.cpu.is_some()
    }

    pub fn need_more_work(&self) -> bool {
        !self.worklist.is_empty() && self.nr_running == 0
    }

    pub fn need_to_create(&self) -> bool {
        self.need_more_work() && self.idle.is_empty()
    }

    pub fn keep_working(&self) -> bool {
        !self.worklist.is_empty() && self.nr_running <= 1
    }
}

/// A worker.
pub(super) struct Worker {
    pub task: TaskId,
    pub pool: PoolId,
    pub stage: Stage,
    /// On its pool's idle list (or about to leave it).
    pub idle: bool,
    /// PREP: between its items.
    pub prep: bool,
    /// CPU_INTENSIVE
    pub cpu_intensive: bool,
    /// It has blocked in an item, and does not count until it runs again.
    pub sleeping: bool,
    /// Attached to its pool: may be woken for work.
    pub attached: bool,
    pub current: Option<WorkId>,
    /// Pwq and color of the current item, which may be queued anew while it runs.
    pub pwq: PwqId,
    pub color: u64,
    /// What it is to do before it looks at the pool's list.
    pub scheduled: VecDeque<Item>,
    /// Its run time when the current item began, or when it woke in it.
    pub since_ns: Ns,
    /// Its run time up to which the current item is accounted.
    pub counted_ns: Ns,
}

impl Workqueues {
    /// The pool that `spec` uses for each CPU; pools that do not exist are made, without workers.
    pub(super) fn pools_of(&mut self, cx: &mut ProgramCx<'_>, spec: &WqSpec) -> Vec<PoolId> {
        let n = cx.n_cpus();
        let nice = spec.nice;
        let keys: Vec<PoolKey> = match spec.kind {
            Kind::Bound => {
                let cpus = (0..n as u32).map(CpuId);
                cpus.map(|cpu| PoolKey {
                    cpu: Some(cpu),
                    nice,
                    pod: CpuSet::of(n, [cpu]),
                    strict: true,
                })
                .collect()
            }
            Kind::Unbound(affinity) => {
                let pods = Pods::new(cx.machine(), affinity.scope);
                let cpus = (0..n as u32).map(CpuId);
                let strict = affinity.strict;
                cpus.map(|cpu| pods.pod_of(cpu).clone())
                    .map(|pod| PoolKey { cpu: None, nice, pod, strict })
                    .collect()
            }
        };
        keys.into_iter().map(|key| self.pool(cx, key)).collect()
    }

    fn pool(&mut self, cx: &mut ProgramCx<'_>, key: PoolKey) -> PoolId {
        // Workqueues of the same nice level and pod share their pools, as in the kernel.
        if let Some(known) = self.pools.iter().position(|p| p.key == key) {
            return PoolId(known as u32);
        }
        let id = self.pools.len() as u32;
        let suffix = if key.nice < 0 { "H" } else { "" };
        let name = match key.cpu {
            Some(cpu) => format!("kworker/{}{suffix}", cpu.0),
            None => format!("kworker/u{id}{suffix}"),
        };
        let mask = cx.mask(key.pod.clone());
        let node = active::node_of(cx.machine(), &key.pod);
        self.pools.push(Pool {
            key,
            lock: cx.new_lock("pool"),
            worklist: VecDeque::new(),
            idle: Vec::new(),
            n_workers: 0,
            nr_running: 0,
            has_manager: false,
            refs: 0,
            comm: cx.comm(&name),
            mask,
            node,
        });
        PoolId(id)
    }

    /// Gives `wq` a pwq for each CPU, in place of those it has.
    pub(super) fn install(&mut self, wq: WqId, pools: &[PoolId]) {
        let old = std::mem::take(&mut self.wqs[wq].pwqs);
        for &pwq in &old {
            // The old pwqs live until their last item is complete.
            self.pwqs[pwq].replaced = true;
            self.put_pwq(pwq);
        }
        for (cpu, pool) in pools.iter().enumerate() {
            self.pools[*pool].refs += 1;
            self.wqs[wq].pwqs.push(PwqId(self.pwqs.len() as u32));
            self.pwqs.push(super::Pwq {
                wq,
                pool: *pool,
                cpu: CpuId(cpu as u32),
                nr_active: 0,
                nr_in_flight: 0,
                inactive: VecDeque::new(),
                replaced: false,
                stats: Default::default(),
            });
        }
    }

    /// A pwq that was replaced lets go of its pool when its last item is complete.
    pub(super) fn put_pwq(&mut self, pwq: PwqId) {
        let p = &self.pwqs[pwq];
        if p.is_released() {
            self.pools[p.pool].refs -= 1;
        }
    }

    /// The worker that a pool is made with; it exists at time 0.
    pub(super) fn first_worker(&mut self, cx: &mut ProgramCx<'_>, pool: PoolId) {
        let attr = self.worker_attr(pool);
        let task = cx.start_task(attr);
        let worker = self.add_worker(task, pool);
        self.attach(worker);
    }

    /// A worker that does not run yet: to be started by `Op::Fork`.
    pub(super) fn make_worker(&mut self, cx: &mut ProgramCx<'_>, pool: PoolId) -> WorkerId {
        let attr = self.worker_attr(pool);
        let task = cx.new_task(attr);
        self.add_worker(task, pool)
    }

    fn worker_attr(&self, pool: PoolId) -> TaskAttr {
        let p = &self.pools[pool];
        TaskAttr {
            comm: p.comm,
            nice: p.key.nice,
            // A scope that is not strict binds its workers to no CPU; a kick sends them into the
            // pod.
            allowed: if p.key.strict { p.mask } else { MaskId::ALL },
            kthread: true,
            working_set_kib: WORKER_KIB,
            ..TaskAttr::default()
        }
    }

    fn add_worker(&mut self, task: TaskId, pool: PoolId) -> WorkerId {
        let id = WorkerId(self.workers.len() as u32);
        self.workers.push(Worker {
            task,
            pool,
            stage: Stage::Unborn,
            idle: false,
            prep: true,
            cpu_intensive: false,
            sleeping: false,
            attached: false,
            current: None,
            pwq: PwqId(u32::MAX),
            color: 0,
            scheduled: VecDeque::new(),
            since_ns: 0,
            counted_ns: 0,
        });
        self.worker_of.cover(task, || None);
        self.worker_of[task] = Some(id);
        id
    }

    /// The worker joins its pool, as an idle one.
    pub(super) fn attach(&mut self, worker: WorkerId) {
        self.workers[worker].attached = true;
        let pool = self.workers[worker].pool;
        self.pools[pool].n_workers += 1;
        self.enter_idle(worker);
    }

    pub(super) fn enter_idle(&mut self, worker: WorkerId) {
        let w = &mut self.workers[worker];
        debug_assert!(!w.idle && w.current.is_none() && w.scheduled.is_empty());
        w.idle = true;
        self.pools[w.pool].idle.push(worker);
    }

    pub(super) fn leave_idle(&mut self, worker: WorkerId) {
        let w = &mut self.workers[worker];
        w.idle = false;
        let idle = &mut self.pools[w.pool].idle;
        let at = idle.iter().rposition(|i| *i == worker);
        idle.remove(at.expect("an idle worker is on its pool's list"));
    }

    /// A worker counts if nothing says that it is not running.
    pub(super) fn counts(&self, worker: WorkerId) -> bool {
        let w = &self.workers[worker];
        self.pools[w.pool].is_bound() && !w.prep && !w.cpu_intensive && !w.sleeping
    }

    /// Changes a worker's flags and keeps its pool's `nr_running`.
    pub(super) fn change_flags(&mut self, worker: WorkerId, change: impl FnOnce(&mut Worker)) {
        let before = self.counts(worker);
        change(&mut self.workers[worker]);
        let after = self.counts(worker);
        let pool = self.workers[worker].pool;
        let nr = &mut self.pools[pool].nr_running;
        *nr = *nr + u32::from(after) - u32::from(before);
    }

    /// One round of `kick_pool`: the task to be woken, and whether the loop goes on. `None`: no
    /// worker idles, or there is nothing to do.
    pub(super) fn kick(&mut self, cx: &mut ProgramCx<'_>, pool: PoolId) -> Option<(TaskId, bool)> {
        let p = &self.pools[pool];
        // The worker that idled last: its caches are the warmest.
        let worker = *p.idle.last().filter(|_| p.need_more_work())?;
        let first = self.works[p.worklist[0]].pwq;
        let task = self.workers[worker].task;
        // At least one idle worker is left.
        if p.idle.len() > 1 && self.localizes(first) && self.assign(pool, worker) {
            self.leave_idle(worker);
            cx.set_wake_cpu(task, self.pwqs[first].cpu);
            return Some((task, true));
        }
        let p = &self.pools[pool];
        if !p.key.strict && !p.key.pod.contains(cx.wake_cpu(task)) {
            // The worker has strayed from its pod, which a scope that is not strict allows.
            let to = cx.any_distribute(p.mask);
            cx.set_wake_cpu(task, to);
            self.pwqs[first].stats.repatriated += 1;
        }
        Some((task, false))
    }

    fn localizes(&self, pwq: PwqId) -> bool {
        let wq = self.pwqs[pwq].wq;
        matches!(self.wqs[wq].spec.kind, Kind::Unbound(affinity) if affinity.localize)
    }

    /// `assign_work`: the head of the pool's list becomes the worker's; false if another worker
    /// executes it at this moment: it then goes to that one.
    pub(super) fn assign(&mut self, pool: PoolId, worker: WorkerId) -> bool {
        let p = &mut self.pools[pool];
        let work = p.worklist.pop_front().expect("the caller has seen an item");
        let running = self.works[work].running;
        // The item is executed by a worker of this pool: it must not run twice at once.
        let busy = running.filter(|r| self.workers[*r].pool == pool);
        let taker = busy.unwrap_or(worker);
        self.workers[taker].scheduled.push_back(Item::Work(work));
        busy.is_none()
    }
}

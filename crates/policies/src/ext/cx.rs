//! What a scheduler may ask and do: the helpers of sched_ext, without their `scx_bpf_`.

use super::cgroups::{CgroupInit, CgroupWalk};
use super::events::Events;
use super::idle::select::Question;
use super::idle::{Allowed, next_common};
use super::queue::Order;
use super::state::{Place, State, is_at_rest, is_forbidden};
use super::types::{Dsq, DsqId, Insert, Kick, Move, Pick, Wake, Wanted, Why};
use sim_core::{GroupId, Ns, TaskId, World};
use topology::{CpuId, CpuSet, Machine};

/// Handed to every operation.
pub struct Cx<'a> {
    pub(super) w: &'a mut World,
    pub(super) state: &'a mut State,
    /// The CPU whose `dispatch` this is.
    pub(super) dispatching: Option<CpuId>,
}

impl<'a> Cx<'a> {
    pub(super) fn new(w: &'a mut World, state: &'a mut State) -> Self {
        Self { w, state, dispatching: None }
    }

    /// The present instant, ns.
    pub fn now(&self) -> Ns {
        self.w.now
    }

    /// The machine.
    pub fn machine(&self) -> &Machine {
        &self.w.machine
    }

    /// The CPU that executes this.
    pub fn this_cpu(&self) -> CpuId {
        self.w.this
    }

    /// Everything that can be looked at.
    pub fn world(&self) -> &World {
        self.w
    }

    /// `SCX_SLICE_DFL`, ns.
    pub fn slice_dfl(&self) -> Ns {
        self.state.tunables.slice_ns
    }

    // --- tasks ---

    /// `scx_bpf_task_cpu`
    pub fn task_cpu(&self, p: TaskId) -> CpuId {
        self.w.tasks[p].cpu
    }

    /// What is left of the slice of `p`, ns; if it runs, as of its CPU's last tick.
    pub fn slice(&mut self, p: TaskId) -> Ns {
        self.state.catch_up(self.w, p);
        self.state.tasks[p].slice
    }

    /// Gives `p` another slice ([`super::SLICE_INF`]: without end). If it runs, what it has run
    /// since its CPU's last tick counts, and the first tick that finds the slice used ends it.
    pub fn set_slice(&mut self, p: TaskId, slice: Ns) {
        self.state.catch_up(self.w, p);
        self.state.tasks[p].slice = slice;
        self.w.touch(self.w.tasks[p].cpu);
    }

    /// `p->scx.dsq_vtime`
    pub fn vtime(&self, p: TaskId) -> u64 {
        self.state.tasks[p].vtime
    }

    /// Sets it; not while `p` is on a queue by vtime.
    pub fn set_vtime(&mut self, p: TaskId, vtime: u64) {
        self.state.tasks[p].vtime = vtime;
    }

    /// `p->scx.weight`, 1 to 10000; 100 is nice 0.
    pub fn weight(&self, p: TaskId) -> u32 {
        self.state.tasks[p].weight
    }

    /// `p->se.sum_exec_runtime`: how long `p` has run, ns; if it runs, as of its CPU's last tick.
    pub fn ran_ns(&mut self, p: TaskId) -> Ns {
        self.state.catch_up(self.w, p);
        let since = match self.w.cpus[self.w.tasks[p].cpu].curr == p {
            true => self.w.now.saturating_sub(self.state.tasks[p].exec_start),
            false => 0,
        };
        self.w.ran_ns(p).saturating_sub(since)
    }

    /// True if there is such a task, or was.
    pub fn is_known(&self, p: TaskId) -> bool {
        p.idx() < self.state.tasks.len()
    }

    // --- cgroups ---

    /// All cgroups, the root first, each before those in it.
    pub fn cgroups(&self) -> &[GroupId] {
        self.state.cgroups.pre_order()
    }

    /// True if this is a cgroup; an autogroup is none.
    pub fn is_cgroup(&self, cgroup: GroupId) -> bool {
        self.state.cgroups.has(cgroup)
    }

    /// What a cgroup is given, as [`super::Ops::cgroup_init`] was told.
    pub fn cgroup_given(&self, cgroup: GroupId) -> Option<CgroupInit> {
        self.state.cgroups.init(cgroup)
    }

    /// `scx_bpf_task_cgroup`: the cgroup of `p`; of a task in an autogroup, the root.
    pub fn task_cgroup(&self, p: TaskId) -> GroupId {
        self.state.cgroups.of_group(self.w.tasks[p].attr.group)
    }

    /// `cgrp->level`: how many others it is in; 0 is the root's.
    pub fn cgroup_level(&self, cgroup: GroupId) -> u32 {
        self.state.cgroups.level(cgroup)
    }

    /// The cgroup that this one is in.
    pub fn cgroup_parent(&self, cgroup: GroupId) -> Option<GroupId> {
        self.state.cgroups.parent(cgroup)
    }

    /// `bpf_cgroup_ancestor`: what it is in at this level; at its own, itself.
    pub fn cgroup_ancestor(&self, cgroup: GroupId, level: u32) -> Option<GroupId> {
        self.state.cgroups.ancestor(cgroup, level)
    }

    /// `bpf_iter_css`: the `n`th cgroup, from 0, on a way that begins with this one.
    pub fn cgroup_nth(&self, start: GroupId, walk: CgroupWalk, n: usize) -> Option<GroupId> {
        self.state.cgroups.nth(start, walk, n)
    }

    // --- queues ---

    /// `scx_bpf_create_dsq`. In `init` only.
    pub fn create_dsq(&mut self, order: Order) -> DsqId {
        self.state.create(self.w, order)
    }

    /// `scx_bpf_destroy_dsq`: nobody may insert there any more. Tasks on it are a fault.
    pub fn destroy_dsq(&mut self, id: DsqId) {
        let n = self.dsq_nr_queued(id);
        if n > 0 {
            self.give_up(format!("attempting to destroy in-use dsq {} (nr={n})", id.0));
        }
        self.state.dsqs[id].is_destroyed = true;
    }

    /// `scx_bpf_dsq_nr_queued`
    pub fn dsq_nr_queued(&self, id: DsqId) -> u32 {
        self.state.dsq(id).queue.len()
    }

    /// Tasks on the local queue of a CPU.
    pub fn local_nr_queued(&self, cpu: CpuId) -> u32 {
        self.state.rqs[cpu].local.len()
    }

    /// `scx_bpf_dispatch` (later `scx_bpf_dsq_insert`): last in a FIFO queue. A slice of 0 leaves
    /// the one that the task has.
    pub fn insert(&mut self, p: TaskId, to: Dsq, slice: Ns) {
        self.insert_with(p, to, slice, Insert::default());
    }

    /// The same, with flags.
    pub fn insert_with(&mut self, p: TaskId, to: Dsq, slice: Ns, flags: Insert) {
        self.want(p, Wanted { to, slice, vtime: None, flags });
    }

    /// `scx_bpf_dispatch_vtime`: into a queue by vtime, whose vtime `p` keeps.
    pub fn insert_vtime(&mut self, p: TaskId, to: DsqId, slice: Ns, vtime: u64, flags: Insert) {
        self.want(p, Wanted { to: Dsq::User(to), slice, vtime: Some(vtime), flags });
    }

    /// `scx_bpf_dispatch_nr_slots`: how many tasks this call of `dispatch` may still insert; more
    /// is a fault of the scheduler.
    pub fn dispatch_nr_slots(&self) -> usize {
        let inserted = |cpu: CpuId| self.state.rqs[cpu].path.inserted.len();
        self.dispatching.map_or(0, |cpu| self.state.batch_max - inserted(cpu))
    }

    /// In `dispatch` tasks that were kept are collected; elsewhere it is the one task at hand.
    fn want(&mut self, p: TaskId, mut wanted: Wanted) {
        let t = &mut self.state.tasks[p];
        if wanted.slice == 0 {
            // 0 leaves the task the slice that it has; a slice of 0 would end it at once.
            wanted.slice = t.slice.max(1);
        }
        if let Some(cpu) = self.dispatching {
            debug_assert_eq!(t.place, Place::Kept, "{p:?} is not the scheduler's to dispatch");
            let inserted = &mut self.state.rqs[cpu].path.inserted;
            debug_assert!(inserted.len() < self.state.batch_max, "see dispatch_nr_slots()");
            // Carried out after `dispatch` returns, unless the task was enqueued anew by then.
            inserted.push_back((p, t.n_enqueued, wanted));
        } else {
            t.wanted = Some(wanted);
        }
    }

    /// True if `p` is runnable and the scheduler keeps it: it may be inserted by `dispatch`.
    pub fn is_kept(&self, p: TaskId) -> bool {
        self.state.tasks[p].place == Place::Kept
    }

    /// True if an insertion of `p` is decided and not yet carried out.
    pub fn is_inserted(&self, p: TaskId) -> bool {
        self.state.tasks[p].wanted.is_some()
    }

    /// In `enqueue`: true if the CPU has nothing else to run (`SCX_ENQ_LAST`).
    pub fn is_last(&self) -> bool {
        self.state.is_last
    }

    /// The first task of a queue.
    pub fn dsq_first(&self, id: DsqId) -> Option<TaskId> {
        self.state.dsq(id).queue.first(&self.state.nodes)
    }

    /// The task behind one that is on this queue; `None` if it has left it meanwhile.
    pub fn dsq_next(&self, id: DsqId, p: TaskId) -> Option<TaskId> {
        let is_there = self.is_on_dsq(id, p);
        is_there.then(|| self.state.dsq(id).queue.next(&self.state.nodes, p))?
    }

    /// The last task of this queue.
    pub fn dsq_last(&self, id: DsqId) -> Option<TaskId> {
        self.state.dsq(id).queue.last(&self.state.nodes)
    }

    /// The task before one that is on this queue; `None` if it has left it meanwhile.
    pub fn dsq_prev(&self, id: DsqId, p: TaskId) -> Option<TaskId> {
        let is_there = self.is_on_dsq(id, p);
        is_there.then(|| self.state.dsq(id).queue.prev(&self.state.nodes, p))?
    }

    /// True if the task is on this queue.
    pub fn is_on_dsq(&self, id: DsqId, p: TaskId) -> bool {
        self.state.tasks.get(p.idx()).is_some_and(|t| t.place == Place::Dsq(id))
    }

    /// The number of the last insertion anywhere.
    pub fn last_seq(&self) -> u64 {
        self.state.seq()
    }

    /// The number of a task's last insertion.
    pub fn seq(&self, p: TaskId) -> u64 {
        self.state.nodes[p].seq()
    }

    /// `scx_bpf_dsq_move` in a timer. To a queue with a lock it takes no time; on a CPU's local
    /// queue ([`Dsq::Local`]: that of the executing CPU) the task arrives by a softirq of the
    /// executing CPU. False: the task is not on that queue.
    pub fn move_now(&mut self, m: Move) -> bool {
        let t = &self.state.tasks[m.task];
        if t.place != Place::Dsq(m.from) || !self.w.tasks[m.task].on_rq {
            return false;
        }
        let slice = m.slice.unwrap_or(t.slice);
        let wanted = Wanted { to: m.to, slice, vtime: m.vtime, flags: m.flags };
        let dst = match m.to {
            Dsq::LocalOn(cpu) => cpu,
            _ => self.w.this,
        };
        match self.state.locked_queue(self.w, m.task, m.to) {
            Some(id) => {
                self.state.remove(self.w, m.task);
                self.state.insert_dsq(self.w, id, m.task, wanted);
            }
            None if is_forbidden(self.w, m.task, dst) => {}
            None => {
                self.state.remove(self.w, m.task);
                self.state.defer(self.w, m.task, dst, wanted);
            }
        }
        true
    }

    /// `scx_bpf_reenqueue_local`: when this operation is over, what waits on the local queue of the
    /// executing CPU is enqueued anew. In [`super::Ops::cpu_release`] only. Returns how many tasks
    /// these are.
    pub fn reenqueue_local(&mut self) -> u32 {
        self.state.gives_up_local = true;
        self.state.to_give_up(self.w, self.w.this).len() as u32
    }

    /// True if what is being enqueued was given up so (`SCX_ENQ_REENQ`).
    pub fn is_reenqueue(&self) -> bool {
        self.state.is_reenqueue
    }

    /// True if a task is dequeued or enqueued for a change of its weight or its CPUs.
    pub fn is_change(&self) -> bool {
        self.state.is_change
    }

    /// The current task of a CPU, if it is this scheduler's.
    pub fn curr(&self, cpu: CpuId) -> Option<TaskId> {
        self.state.own_curr(self.w, cpu)
    }

    /// Tasks on the built-in global queue of the CPU's node.
    pub fn global_nr_queued(&self, cpu: CpuId) -> u32 {
        self.state.dsq(self.state.global_of(self.w, cpu)).queue.len()
    }

    /// What the layer has counted (`scx_bpf_events`, since 6.15).
    pub fn events(&self) -> Events {
        self.state.events
    }

    /// The default slice for a task that the scheduler gives none: the layer counts it.
    pub(super) fn refill_slice(&mut self, p: TaskId) -> Ns {
        self.state.refill_slice(p);
        self.slice_dfl()
    }

    // --- time and the end ---

    /// Asks for one call of [`super::Ops::timer`] at `at`, on this CPU; it takes the place of an
    /// earlier one. [`sim_core::NEVER`]: none.
    pub fn set_timer(&mut self, at: Ns, on: CpuId) {
        self.state.timer = (at, on);
        self.state.arm(self.w);
    }

    /// Adds time to what the executing CPU does next, ns.
    pub fn charge(&mut self, ns: Ns) {
        self.w.charge(ns);
    }

    /// `scx_bpf_error`: the run ends, and this is said.
    pub fn give_up(&mut self, why: String) {
        self.w.give_up(why);
    }

    // --- CPUs ---

    /// `scx_bpf_select_cpu_dfl`: the kernel's choice, claimed if it was idle.
    pub fn select_cpu_dfl(&mut self, p: TaskId, prev: CpuId, wake: Wake) -> (CpuId, Why) {
        self.select(Allowed::Task(p), prev, wake, Pick::default())
    }

    /// `scx_bpf_select_cpu_and` (6.18): the same among these CPUs, all of which the task may use.
    /// `None`: no CPU will do.
    pub fn select_cpu_and(
        &mut self,
        among: &CpuSet,
        prev: CpuId,
        wake: Wake,
        pick: Pick,
    ) -> Option<CpuId> {
        let (cpu, why) = self.select(Allowed::Set(among), prev, wake, pick);
        (why != Why::Prev).then_some(cpu)
    }

    fn select(
        &mut self,
        allowed: Allowed<'_>,
        prev: CpuId,
        wake: Wake,
        pick: Pick,
    ) -> (CpuId, Why) {
        let local_is_empty = self.state.rqs[self.w.this].local.is_empty();
        let question = Question { prev, wake, local_is_empty, allowed, pick };
        self.state.idle.select_cpu_dfl(self.w, question)
    }

    /// `scx_bpf_pick_idle_cpu`: claims an idle CPU that `p` may use, of a whole idle core if there
    /// is one (`cores_only`: of nothing less). Not with masks per node.
    pub fn pick_idle_cpu(&mut self, p: TaskId, cores_only: bool) -> Option<CpuId> {
        self.pick(Allowed::Task(p), None, Pick { core: cores_only, in_node: false })
    }

    /// The same among these CPUs, whatever `p` is.
    pub fn pick_idle_cpu_in(&mut self, among: &CpuSet, cores_only: bool) -> Option<CpuId> {
        self.pick(Allowed::Set(among), None, Pick { core: cores_only, in_node: false })
    }

    /// `scx_bpf_pick_idle_cpu_node`: claims an idle CPU among these, in a node first and then in
    /// the others, nearest first. Only with masks per node ([`super::Ops::idle_per_node`]).
    pub fn pick_idle_cpu_node(&mut self, among: &CpuSet, node: u32, pick: Pick) -> Option<CpuId> {
        self.pick(Allowed::Set(among), Some(node), pick)
    }

    fn pick(&mut self, allowed: Allowed<'_>, node: Option<u32>, pick: Pick) -> Option<CpuId> {
        if node.is_some() != self.state.idle.is_per_node() {
            let is = if node.is_some() { "disabled" } else { "enabled" };
            self.w.give_up(format!("per-node idle tracking is {is}"));
            return None;
        }
        self.state.idle.pick(self.w, allowed, node, pick)
    }

    /// `cpumask_any_distribute`: of these CPUs (those in a node) the one behind that which the
    /// executing CPU's last search has found, idle or not.
    pub fn any_distribute(&mut self, among: &CpuSet, in_node: Option<u32>) -> Option<CpuId> {
        let within = in_node.map_or(among, |node| &self.w.machine.nodes[node as usize]);
        let sets = [among, among, within];
        let cpu = next_common(sets, self.w.cpus.len(), self.w.last_distributed())?;
        self.w.note_distributed(cpu);
        Some(cpu)
    }

    /// Where that search begins: behind this CPU.
    pub fn last_distributed(&self) -> CpuId {
        self.w.last_distributed()
    }

    /// A search of the scheduler's own has found this CPU.
    pub fn note_distributed(&mut self, cpu: CpuId) {
        self.w.note_distributed(cpu);
    }

    /// `scx_bpf_get_idle_cpumask`: as it is at this instant. With masks per node all of them; the
    /// part in a node is that node's (`scx_bpf_get_idle_cpumask_node`).
    pub fn idle_cpus(&self) -> &CpuSet {
        self.state.idle.cpus()
    }

    /// `scx_bpf_get_idle_smtmask`; without SMT that of all idle CPUs.
    pub fn idle_cores(&self) -> &CpuSet {
        self.state.idle.cores()
    }

    /// `scx_bpf_test_and_clear_cpu_idle`: claims a CPU if it idles.
    pub fn test_and_clear_cpu_idle(&mut self, cpu: CpuId) -> bool {
        self.state.idle.claim(self.w, cpu)
    }

    /// True if the CPU idles and was not told to look for something to do: it runs at once
    /// what is put on its local queue. In `enqueue`, for the CPU of the task at hand, this cannot
    /// change before the insertion.
    pub fn is_at_rest(&self, cpu: CpuId) -> bool {
        is_at_rest(&self.state.rqs, self.w, cpu)
    }

    /// `scx_bpf_kick_cpu`: takes effect when the executing CPU has interrupts on again; a task that
    /// is being enqueued is in its queue by then.
    pub fn kick_cpu(&mut self, cpu: CpuId, kick: Kick) {
        self.state.kick_cpu(self.w, cpu, kick);
    }
}

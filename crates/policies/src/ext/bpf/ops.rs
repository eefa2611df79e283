//! The operations of a loaded scheduler: each runs its program.

use super::cgroups;
use super::host::{Books, Doing, Here};
use super::load::{Op, Scheduler, TIMERS};
use super::objects::{Mask, What};
use super::user::{self, UserHalves};
use crate::ext::cgroups::CgroupInit;
use crate::ext::cx::Cx;
use crate::ext::ops::Ops;
use crate::ext::types::{Dsq, Next, Rules, Wake, Why};
use ::bpf::{Count, End, Run};
use sim_core::{EnqueueFlags, GroupId, MaskId, Ns, OperationCount, TaskId};
use topology::{CpuId, PerCpu};

/// Instructions that one call may execute.
const BUDGET: u64 = 1 << 25;

/// A scheduler that runs.
pub struct Bpf {
    scheduler: Scheduler,
    books: Books,
    run: Run,
    /// By CPU: its `dispatch`, which is suspended while a queue is consumed.
    dispatches: PerCpu<Run>,
    /// What callbacks of timers have cost.
    timers: Count,
    user: UserHalves,
    /// It was ended: no program runs any more.
    is_over: bool,
}

impl Bpf {
    /// A run of a scheduler.
    pub fn new(scheduler: &Scheduler) -> Self {
        Self::with_budget(scheduler, BUDGET)
    }

    /// A run of a scheduler, each of whose calls may execute so many instructions.
    pub fn with_budget(scheduler: &Scheduler, budget: u64) -> Self {
        let n_cpus = scheduler.settings.n_cpus as usize;
        Self {
            scheduler: scheduler.clone(),
            books: Books::new(n_cpus, scheduler.builtin_idle, scheduler.idle_per_node),
            run: Run::new(budget),
            dispatches: vec![Run::new(budget); n_cpus].into(),
            timers: Count::default(),
            user: UserHalves::new(scheduler.object.clone(), &scheduler.user),
            is_over: false,
        }
    }

    fn has(&self, op: Op) -> bool {
        !self.is_over && self.scheduler.program(op).is_some()
    }

    /// Runs an operation's program to its end; `None` if there is none.
    fn call(&mut self, cx: &mut Cx<'_>, op: Op, doing: Doing, args: &[u64]) -> Option<u64> {
        let program = self.scheduler.program(op).filter(|_| !self.is_over)?;
        self.scheduler.vm.begin(&mut self.run, program, args);
        // `init_task` runs without a lock.
        self.books.subject =
            if op == Op::InitTask { 0 } else { args.first().copied().unwrap_or(0) };
        self.go_on(cx, doing)
    }

    fn go_on(&mut self, cx: &mut Cx<'_>, doing: Doing) -> Option<u64> {
        self.books.doing = doing;
        let mut here = Here { cx, books: &mut self.books };
        let end = self.scheduler.vm.run(&mut self.run, &mut here);
        self.books.subject = 0;
        charge(cx, &self.run, self.scheduler.settings.ps_per_insn);
        match end {
            End::Done(value) => Some(value),
            End::Suspended => None,
            End::Fault(fault) => {
                self.end(cx, fault.to_string());
                None
            }
        }
    }

    fn end(&mut self, cx: &mut Cx<'_>, why: String) {
        self.is_over = true;
        cx.give_up(why);
    }

    /// An operation that may fail with an error number.
    fn must(&mut self, cx: &mut Cx<'_>, op: Op, args: &[u64]) {
        let result = self.call(cx, op, Doing::Other, args).unwrap_or(0) as i32;
        if result != 0 {
            self.end(cx, format!("{op:?} failed with error {result}"));
        }
    }

    /// The calls that a loader makes before the scheduler starts.
    fn start(&mut self, cx: &mut Cx<'_>) {
        for call in self.scheduler.start.clone() {
            for argument in call.arguments(cx.machine()) {
                if self.is_over {
                    return;
                }
                self.scheduler.vm.begin_with_bytes(&mut self.run, call.program, &argument);
                let result = self.go_on(cx, Doing::Other).unwrap_or(0) as i32;
                if result != 0 {
                    self.end(cx, format!("{} failed with error {result}", call.name));
                }
            }
        }
    }

    /// Has a half in user space act.
    fn act(&mut self, cx: &mut Cx<'_>, number: usize, is_start: bool) {
        let (vm, run) = (&mut self.scheduler.vm, &mut self.run);
        let (user, books) = (&mut self.user, &mut self.books);
        if let Err(why) = user.act(number, is_start, (vm, run), (&mut *cx, books)) {
            self.end(cx, why);
        }
    }

    fn tell(&mut self, cx: &mut Cx<'_>, op: Op, args: &[u64]) {
        self.call(cx, op, Doing::Other, args);
    }

    /// Runs the `dispatch` of a CPU until it is done, names a queue, or moves a task.
    fn dispatch_on(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Next {
        self.books.doing = Doing::Dispatching;
        self.books.asks = None;
        let run = &mut self.dispatches[cpu];
        let mut here = Here { cx, books: &mut self.books };
        let end = self.scheduler.vm.run(run, &mut here);
        match (end, self.books.asks.take()) {
            (End::Suspended, Some(next)) => return next,
            (End::Fault(fault), _) => self.end(cx, fault.to_string()),
            _ => charge(cx, &self.dispatches[cpu], self.scheduler.settings.ps_per_insn),
        }
        Next::Done
    }

    /// Answers the suspended `dispatch` of a CPU: did it get the task?
    fn resume(&mut self, cx: &mut Cx<'_>, cpu: CpuId, found: bool) -> Next {
        if self.is_over || !self.dispatches[cpu].is_suspended() {
            return Next::Done;
        }
        self.dispatches[cpu].resume(found.into());
        self.dispatch_on(cx, cpu)
    }

    fn note_pid(&mut self, cx: &Cx<'_>, p: TaskId, is_alive: bool) {
        let pid = cx.world().tasks[p].pid.0 as usize;
        let by_pid = &mut self.books.by_pid;
        if by_pid.len() <= pid {
            by_pid.resize(pid + 1, TaskId::NONE);
        }
        by_pid[pid] = if is_alive { p } else { TaskId::NONE };
    }
}

/// The time that the instructions of a call take.
fn charge(cx: &mut Cx<'_>, run: &Run, ps_per_insn: u64) {
    if ps_per_insn > 0 {
        cx.charge(run.executed() * ps_per_insn / 1000);
    }
}

/// Arguments that say nothing.
const NO_ARGS: What = What::Args { fork: false, cgroup: GroupId::ROOT };

fn task(p: TaskId) -> u64 {
    What::Task(p).address()
}

/// DEQUEUE_SAVE and ENQUEUE_RESTORE, DEQUEUE_NOCLOCK and ENQUEUE_NOCLOCK (v6.12).
const SAVE_OR_RESTORE: u64 = 2;
const NOCLOCK: u64 = 8;
/// `SCX_ENQ_REENQ`
const REENQ_BIT: u32 = 40;

fn enqueue_flags(cx: &Cx<'_>, p: TaskId, flags: EnqueueFlags) -> u64 {
    let has_choice = cx.world().tasks[p].nr_cpus_allowed > 1;
    let restored = if cx.is_change() { SAVE_OR_RESTORE | NOCLOCK } else { 0 };
    let again = u64::from(cx.is_reenqueue()) << REENQ_BIT;
    enqueue_bits(flags, has_choice, cx.is_last()) | restored | again
}

/// DEQUEUE_*: SLEEP, or SAVE for a change; NOCLOCK.
fn dequeue_flags(cx: &Cx<'_>, sleeps: bool) -> u64 {
    NOCLOCK | if cx.is_change() { SAVE_OR_RESTORE } else { sleeps.into() }
}

/// ENQUEUE_*: WAKEUP, NOCLOCK, MIGRATED, INITIAL; RQ_SELECTED, which `wake_up_new_task` does not
/// tell though it has asked; `SCX_ENQ_LAST`.
fn enqueue_bits(flags: EnqueueFlags, has_choice: bool, is_last: bool) -> u64 {
    let came = flags.wakeup || flags.initial;
    u64::from(flags.wakeup)
        | u64::from(came) << 3
        | u64::from(flags.migrated) << 6
        | u64::from(flags.initial) << 7
        | u64::from(flags.wakeup && has_choice) << 10
        | u64::from(is_last) << 41
}

impl Ops for Bpf {
    fn ticks(&self) -> bool {
        self.has(Op::Tick)
    }

    fn enqueues_last(&self) -> bool {
        self.scheduler.enqueues_last && !self.is_over
    }

    fn enqueues_exiting(&self) -> bool {
        self.scheduler.enqueues_exiting
    }

    fn dispatch_max_batch(&self) -> usize {
        self.scheduler.dispatch_max_batch
    }

    fn builtin_idle(&self) -> bool {
        self.scheduler.builtin_idle
    }

    fn idle_per_node(&self) -> bool {
        self.scheduler.idle_per_node
    }

    fn timeout_ns(&self) -> Ns {
        self.scheduler.timeout_ns
    }

    fn measurement_begins(&mut self) {
        self.scheduler.vm.restart_counts();
        self.timers = Count::default();
    }

    fn operations(&self) -> Vec<OperationCount> {
        let timers = (self.timers.calls > 0).then_some((TIMERS, self.timers));
        let all = self.scheduler.counts().chain(timers);
        let told =
            |(name, Count { calls, instructions })| OperationCount { name, calls, instructions };
        all.map(told).collect()
    }

    fn init(&mut self, cx: &mut Cx<'_>) {
        self.start(cx);
        for number in 0..self.user.len() {
            if !self.is_over {
                self.act(cx, number, true);
            }
        }
        self.must(cx, Op::Init, &[]);
    }

    fn cgroup_init(&mut self, cx: &mut Cx<'_>, cgroup: GroupId, _args: CgroupInit) {
        let args = What::Args { fork: false, cgroup };
        self.must(cx, Op::CgroupInit, &[cgroups::pointer(cgroup), args.address()]);
    }

    fn init_task(&mut self, cx: &mut Cx<'_>, p: TaskId, parent: Option<TaskId>) {
        self.note_pid(cx, p, true);
        let parents = &mut self.books.parents;
        parents.resize(parents.len().max(p.idx() + 1), None);
        parents[p.idx()] = parent.map(|parent| (parent, cx.world().tasks[parent].pid));
        let args = What::Args { fork: parent.is_some(), cgroup: cx.task_cgroup(p) };
        self.must(cx, Op::InitTask, &[task(p), args.address()]);
    }

    fn enable(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.tell(cx, Op::Enable, &[task(p)]);
    }

    fn disable(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.tell(cx, Op::Disable, &[task(p)]);
    }

    fn exit_task(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.tell(cx, Op::ExitTask, &[task(p), NO_ARGS.address()]);
        self.note_pid(cx, p, false);
        self.scheduler.vm.memory.forget_owner(task(p));
    }

    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        if !self.scheduler.builtin_idle && !self.has(Op::SelectCpu) {
            // In 6.12 the search goes through masks in which nobody is idle.
            if self.scheduler.settings.rules >= Rules::V6_18 {
                self.end(cx, "built-in idle tracking is disabled".to_string());
            }
            return prev;
        }
        if !self.has(Op::SelectCpu) {
            let (cpu, why) = cx.select_cpu_dfl(p, prev, wake);
            if why != Why::Prev {
                let slice = cx.refill_slice(p);
                cx.insert(p, Dsq::Local, slice);
            }
            return cpu;
        }
        // WF_FORK, or WF_TTWU with or without WF_SYNC.
        let flags = if wake.fork { 4 } else { 8 | u64::from(wake.sync) << 4 };
        let args = [task(p), prev.0.into(), flags];
        let Some(cpu) = self.call(cx, Op::SelectCpu, Doing::Placing(p), &args) else {
            return prev;
        };
        if cpu as u32 as usize >= cx.machine().n_cpus() {
            self.end(cx, format!("select_cpu returned invalid CPU {}", cpu as i32));
            return prev;
        }
        CpuId(cpu as u32)
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, flags: EnqueueFlags) {
        let flags = enqueue_flags(cx, p, flags);
        if self.call(cx, Op::Enqueue, Doing::Placing(p), &[task(p), flags]).is_none() {
            let slice = cx.refill_slice(p);
            cx.insert(p, Dsq::Global, slice);
        }
    }

    fn dequeue(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        let flags = dequeue_flags(cx, false);
        self.tell(cx, Op::Dequeue, &[task(p), flags]);
    }

    fn dispatch(
        &mut self,
        cx: &mut Cx<'_>,
        cpu: CpuId,
        _prev: Option<TaskId>,
        attempt: u32,
    ) -> Next {
        if attempt > 0 {
            return self.resume(cx, cpu, false);
        }
        let Some(program) = self.scheduler.program(Op::Dispatch).filter(|_| !self.is_over) else {
            return Next::Done;
        };
        // `balance_one` names the previous task also if it sleeps now, or has exited.
        let args = [cpu.0.into(), cx.curr(cpu).map_or(0, task)];
        self.scheduler.vm.begin(&mut self.dispatches[cpu], program, &args);
        self.dispatch_on(cx, cpu)
    }

    fn consumed(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Next {
        self.resume(cx, cpu, true)
    }

    fn timer(&mut self, cx: &mut Cx<'_>) {
        let now = cx.now();
        if let Some((timer, at, _)) = self.books.first_timer()
            && at <= now
            && !self.is_over
        {
            self.books.timers.remove(&timer);
            if let Some(number) = user::of_timer(timer) {
                self.act(cx, number, false);
            } else if self.scheduler.vm.begin_timer(&mut self.run, timer) {
                self.go_on(cx, Doing::Timer);
                self.timers.calls += 1;
                self.timers.instructions += self.run.executed();
            }
        }
        Here { cx, books: &mut self.books }.arm();
    }

    fn tick(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.tell(cx, Op::Tick, &[task(p)]);
    }

    fn runnable(&mut self, cx: &mut Cx<'_>, p: TaskId, flags: EnqueueFlags) {
        let flags = enqueue_flags(cx, p, flags);
        self.tell(cx, Op::Runnable, &[task(p), flags]);
    }

    fn running(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        self.tell(cx, Op::Running, &[task(p)]);
    }

    fn stopping(&mut self, cx: &mut Cx<'_>, p: TaskId, runnable: bool) {
        self.tell(cx, Op::Stopping, &[task(p), runnable.into()]);
    }

    fn quiescent(&mut self, cx: &mut Cx<'_>, p: TaskId) {
        let flags = dequeue_flags(cx, true);
        self.tell(cx, Op::Quiescent, &[task(p), flags]);
    }

    fn yield_task(&mut self, cx: &mut Cx<'_>, p: TaskId) -> bool {
        // `yield_task_scx` does not look at the answer.
        self.call(cx, Op::Yield, Doing::Other, &[task(p), 0]).is_some()
    }

    fn update_idle(&mut self, cx: &mut Cx<'_>, cpu: CpuId, idle: bool) {
        self.tell(cx, Op::UpdateIdle, &[cpu.0.into(), idle.into()]);
    }

    fn set_weight(&mut self, cx: &mut Cx<'_>, p: TaskId, weight: u32) {
        self.tell(cx, Op::SetWeight, &[task(p), weight.into()]);
    }

    fn set_cpumask(&mut self, cx: &mut Cx<'_>, p: TaskId, allowed: MaskId) {
        self.books.allowed = Some((p, allowed));
        let mask = What::Mask(Mask::Allowed(allowed)).address();
        self.tell(cx, Op::SetCpumask, &[task(p), mask]);
        self.books.allowed = None;
    }

    fn cpu_release(&mut self, cx: &mut Cx<'_>, cpu: CpuId, by: TaskId) {
        self.books.taken_by = by;
        let args = [cpu.0.into(), NO_ARGS.address()];
        self.call(cx, Op::CpuRelease, Doing::Releasing, &args);
    }

    fn cpu_acquire(&mut self, cx: &mut Cx<'_>, cpu: CpuId) {
        self.tell(cx, Op::CpuAcquire, &[cpu.0.into(), NO_ARGS.address()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bits of `kernel/sched/sched.h` (v6.12), and of `enum scx_enq_flags`.
    #[test]
    fn a_task_that_is_enqueued_says_why() {
        const WAKEUP: u64 = 0x1;
        const NOCLOCK: u64 = 0x8;
        const MIGRATED: u64 = 0x40;
        const INITIAL: u64 = 0x80;
        const RQ_SELECTED: u64 = 0x400;
        const LAST: u64 = 1 << 41;
        let bits = |wakeup, initial, has_choice, is_last| {
            let flags = EnqueueFlags { wakeup, initial, ..EnqueueFlags::default() };
            enqueue_bits(flags, has_choice, is_last)
        };
        assert_eq!(bits(true, false, true, false), WAKEUP | NOCLOCK | RQ_SELECTED);
        assert_eq!(bits(true, false, false, false), WAKEUP | NOCLOCK);
        assert_eq!(bits(false, true, true, false), INITIAL | NOCLOCK);
        let moved = EnqueueFlags { wakeup: true, migrated: true, ..EnqueueFlags::default() };
        assert_eq!(enqueue_bits(moved, true, false), WAKEUP | NOCLOCK | MIGRATED | RQ_SELECTED);
        assert_eq!(bits(false, false, true, false), 0);
        assert_eq!(bits(false, false, true, true), LAST);
    }
}

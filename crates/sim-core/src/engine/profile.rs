//! Tells an observer of time ([`Observer::watches_time`]) where the time of each CPU goes.
//!
//! A CPU changes what it does in its own events only. So at the beginning of each of them the time
//! since the last one belongs to what the CPU's stack still says: the base and the frames on it,
//! each with the step that is now over. Every nanosecond of busy time is told once; the observer's
//! sums are the CPUs' accounts, exactly.
//!
//! The names are those of Linux 6.4; a policy and a program add theirs.

use crate::cpu::{Base, Cpu};
use crate::frame::AttrStep;
use crate::frame::{Frame, Path, Pc};
use crate::{
    Calls, Category, N_CATEGORIES, Ns, Observer, Op, PathGroup, PerTask, Policy, Program,
    SelectKind, Simulation, Site, Stack, StopWork, TaskId, Within,
};
use topology::{CpuId, PerCpu};

const SLOWPATH: Calls = &["native_queued_spin_lock_slowpath"];
const RQ_LOCK: Calls = &["raw_spin_rq_lock_nested"];
const ACTIVATE: Calls = &["ttwu_do_activate"];
const RESCHED: Calls = &["check_preempt_curr", "resched_curr", "native_smp_send_reschedule"];
const TICK: Calls = &[
    "asm_sysvec_apic_timer_interrupt",
    "hrtimer_interrupt",
    "tick_sched_timer",
    "update_process_times",
    "scheduler_tick",
];

/// What is kept for an observer of time.
#[derive(Default)]
pub(super) struct Watched {
    stack: Stack,
    /// By CPU: the part of its account that has been told.
    told: PerCpu<[Ns; N_CATEGORIES]>,
    /// By task: the functions of its present operation.
    calls: PerTask<Calls>,
}

impl Watched {
    /// The accounts of all CPUs start again.
    pub(super) fn forget(&mut self) {
        self.told.fill([0; N_CATEGORIES]);
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// `p` begins an operation, which gives the functions at the bottom of its stacks.
    #[inline]
    pub(super) fn watch_operation(&mut self, p: TaskId, op: &Op) {
        if self.observer.watches_time() {
            let calls = &mut self.watched.calls;
            calls.cover(p, Calls::default);
            let in_user = matches!(op, Op::Run(_));
            calls[p] = if in_user { &[] } else { self.program.calls(p, op) };
        }
    }

    /// `cpu` has come to the end of something.
    #[inline]
    pub(super) fn watch_time(&mut self, cpu: CpuId) {
        if self.observer.watches_time() {
            self.tell_time(cpu);
        }
    }

    fn tell_time(&mut self, cpu: CpuId) {
        self.w.settle(cpu);
        let c = &self.w.cpus[cpu];
        if c.depth == 0 && matches!(c.base, Base::Idle | Base::Leaving) {
            return;
        }
        if self.watched.told.is_empty() {
            self.watched.told = vec![[0; N_CATEGORIES]; self.w.cpus.len()].into();
        }
        // What the CPU's account has gained since it was told last.
        let told = std::mem::replace(&mut self.watched.told[cpu], c.time);
        let passed = |what: Category| c.time[what as usize] - told[what as usize];
        // In the middle of a segment the only interrupts are ticks.
        let ticks = if c.depth == 0 { passed(Category::Irq) } else { 0 };
        let mut stack = std::mem::take(&mut self.watched.stack);
        self.unwind(cpu, &mut stack);
        for what in
            [Category::User, Category::Kernel, Category::Softirq, Category::Irq, Category::Spin]
        {
            let ns = passed(what);
            if ns > 0 && (what != Category::Irq || ticks == 0) {
                self.observer.time_passed(&self.w, cpu, what, &stack, ns);
            }
        }
        if ticks > 0 {
            if stack.group == PathGroup::User {
                stack.clear(stack.task, PathGroup::Tick);
            }
            stack.call(TICK);
            stack.group = PathGroup::Tick;
            self.observer.time_passed(&self.w, cpu, Category::Irq, &stack, ticks);
        }
        self.watched.stack = stack;
    }

    /// The call chain of `cpu` at the end of its present step.
    fn unwind(&self, cpu: CpuId, stack: &mut Stack) {
        let c = &self.w.cpus[cpu];
        let depth = c.depth as usize;
        let lowest = match depth {
            0 => None,
            1 => Some(&c.top),
            _ => Some(&c.below[0]),
        };
        self.unwind_base(c, lowest, stack);
        for frame in &c.below[..depth.saturating_sub(1)] {
            self.unwind_frame(cpu, frame, stack);
        }
        if depth == 0 {
            return;
        }
        self.unwind_frame(cpu, &c.top, stack);
        // The wait is the innermost function: the top frame's.
        if c.waiting_now {
            stack.site = Some(c.wait_site);
            match c.wait_site {
                Site::ON_CPU_WAIT => {}
                Site::MIGRATING_WAIT => stack.call(&["task_rq_lock"]),
                _ => stack.call(SLOWPATH),
            }
        }
    }

    /// What lies under all frames: a task's operation, the idle loop, or a kernel thread.
    fn unwind_base(&self, c: &Cpu, lowest: Option<&Frame>, stack: &mut Stack) {
        let task = owner(c, lowest);
        stack.clear(task, PathGroup::Schedule);
        if task == TaskId::IDLE {
            return stack.call(&["cpu_startup_entry", "do_idle"]);
        }
        if !task.is_task() {
            return stack.call(&["kthread", "smpboot_thread_fn"]);
        }
        let t = &self.w.tasks[task];
        let in_user = c.base == Base::Work && !t.in_kernel;
        let preempted = lowest.is_some_and(|f| f.path == Path::Preempt);
        // Preempted at the end of a system call, and not in the middle of one.
        let returns = preempted && (in_user || c.base != Base::Work || t.work_left == 0);
        if in_user && lowest.is_some() {
            if preempted {
                stack.call(&["irqentry_exit_to_user_mode", "exit_to_user_mode_loop"]);
            }
        } else if returns {
            stack.call(&["entry_SYSCALL_64", "do_syscall_64"]);
            stack.call(&["syscall_exit_to_user_mode", "exit_to_user_mode_loop"]);
        } else if in_user {
            stack.group = PathGroup::User;
            stack.call(&["[user]"]);
        } else {
            stack.group = PathGroup::Syscall;
            stack.call(self.watched.calls.at(task).copied().unwrap_or_default());
            if preempted {
                stack.call(&["irqentry_exit", "preempt_schedule_irq"]);
            }
        }
    }

    fn unwind_frame(&self, cpu: CpuId, f: &Frame, stack: &mut Stack) {
        match f.path {
            Path::Block | Path::Preempt => self.unwind_schedule(cpu, f, stack),
            Path::Wake | Path::WakeList => self.unwind_wake(cpu, f, stack),
            Path::Fork | Path::Exec => self.unwind_fork(cpu, f, stack),
            Path::Attr => self.unwind_attr(cpu, f, stack),
            Path::Program => {
                stack.group = PathGroup::Syscall;
                self.program.unwind(cpu, Some(f.task), stack);
            }
            Path::Handler => {
                stack.group = PathGroup::Irq;
                self.program.unwind(cpu, None, stack);
            }
            Path::Flush => {
                stack.group = PathGroup::TtwuPending;
                stack.call(&["sched_ttwu_pending"]);
                match f.pc {
                    Pc::FlushLocked => stack.call(RQ_LOCK),
                    Pc::Pop => self.unwind_activation(cpu, f, stack, RESCHED),
                    _ => self.unwind_activation(cpu, f, stack, &[]),
                }
            }
            Path::Softirq => {
                stack.group = PathGroup::Balance;

                if stack.task != TaskId::IDLE {
                    stack.call(&["asm_sysvec_apic_timer_interrupt"]);
                }
                stack.call(&["irq_exit_rcu", "__do_softirq", "run_rebalance_domains"]);
                self.unwind_policy(cpu, Within::Softirq, stack);
            }
            Path::Tick => {
                stack.group = PathGroup::Tick;
                stack.call(TICK);
            }
            Path::Poll | Path::Resched | Path::Call | Path::Timer | Path::Device => {
                stack.group = PathGroup::Irq;
                stack.call(interrupt(f.path));
            }
        }
    }

    fn unwind_policy(&self, cpu: CpuId, at: Within, stack: &mut Stack) {
        self.policy.unwind(&self.w, cpu, at, stack);
    }

    fn unwind_nested(&self, cpu: CpuId, stack: &mut Stack) {
        if let Some(n) = self.w.cpus[cpu].nested {
            self.unwind_policy(cpu, Within::Nested(n.site), stack);
        }
    }

    /// The part of a wake-up that puts the task on its queue; `last` are the functions after that.
    fn unwind_activation(&self, cpu: CpuId, f: &Frame, stack: &mut Stack, last: Calls) {
        stack.call(ACTIVATE);
        match f.pc {
            Pc::NestHold | Pc::NestDone => self.unwind_nested(cpu, stack),
            Pc::Pop => stack.call(last),
            _ => self.unwind_policy(cpu, Within::Enqueue, stack),
        }
    }

    fn unwind_schedule(&self, cpu: CpuId, f: &Frame, stack: &mut Stack) {
        if in_stopper(&self.w.cpus[cpu], f) {
            return self.unwind_stopper(cpu, f, stack);
        }
        stack.group = PathGroup::Schedule;
        let idle = stack.task == TaskId::IDLE;
        // `preempt_schedule_irq()` calls `__schedule()` itself.
        if stack.functions().last() != Some(&"preempt_schedule_irq") {
            stack.call(if idle { &["schedule_idle"] } else { &["schedule"] });
        }
        stack.call(&["__schedule"]);
        match f.pc {
            Pc::SchedBody | Pc::StopRelocked => stack.call(RQ_LOCK),
            Pc::SchedBeforeIdle => self.unwind_policy(cpu, Within::BeforeIdle, stack),
            Pc::NestHold | Pc::NestDone => self.unwind_nested(cpu, stack),
            Pc::SchedDone => stack.call(&["context_switch"]),
            Pc::Pop => stack.call(&["resched_curr", "native_smp_send_reschedule"]),
            _ => {}
        }
    }

    fn unwind_stopper(&self, cpu: CpuId, f: &Frame, stack: &mut Stack) {
        stack.group = PathGroup::Stopper;
        stack.call(&["cpu_stopper_thread"]);
        if matches!(self.w.cpus[cpu].stop_work, Some(StopWork::Push(_))) {
            return self.unwind_policy(cpu, Within::Stopper, stack);
        }
        stack.call(&["migration_cpu_stop"]);
        match f.pc {
            Pc::StopLocked => stack.call(RQ_LOCK),
            Pc::StopAttachLocked => stack.call(&["move_queued_task", "raw_spin_rq_lock_nested"]),
            Pc::StopDetach | Pc::StopDetached => stack.call(&["move_queued_task"]),
            Pc::NestHold | Pc::NestDone => {
                stack.call(&["move_queued_task"]);
                self.unwind_nested(cpu, stack);
            }
            _ => {
                stack.call(&["move_queued_task"]);
                self.unwind_policy(cpu, Within::Enqueue, stack);
            }
        }
    }

    fn unwind_wake(&self, cpu: CpuId, f: &Frame, stack: &mut Stack) {
        stack.group = PathGroup::Wakeup;
        stack.call(&["try_to_wake_up"]);
        match f.pc {
            Pc::WakeBegin | Pc::WakeLook => {}
            Pc::WakeOnRq => stack.call(&["ttwu_runnable", "__task_rq_lock"]),
            Pc::WakeSearched => {
                let in_irq = f.category == Category::Irq;
                let kind = SelectKind::Wake { sync: f.sync, in_irq };
                self.unwind_policy(cpu, Within::Select(kind), stack);
            }
            Pc::WakeLocked => stack.call(&["ttwu_queue", "raw_spin_rq_lock_nested"]),
            Pc::WakePush => stack.call(&["ttwu_queue_wakelist", "__smp_call_single_queue"]),
            Pc::Pop if f.path == Path::WakeList => {
                stack.call(&["ttwu_queue_wakelist", "__smp_call_single_queue"]);
                stack.call(&["send_call_function_single_ipi"]);
            }
            _ => self.unwind_activation(cpu, f, stack, RESCHED),
        }
    }

    fn unwind_attr(&self, cpu: CpuId, f: &Frame, stack: &mut Stack) {
        stack.group = PathGroup::Syscall;
        match f.pc {
            Pc::Attr => self.unwind_attr_step(cpu, stack),
            Pc::NestHold | Pc::NestDone => self.unwind_nested(cpu, stack),
            Pc::Pop => stack.call(RESCHED),
            _ => {}
        }
    }

    fn unwind_attr_step(&self, cpu: CpuId, stack: &mut Stack) {
        match self.w.cpus[cpu].attr_step {
            AttrStep::Locked => stack.call(&["task_rq_lock"]),
            AttrStep::AttachLocked => stack.call(&["move_queued_task", "raw_spin_rq_lock_nested"]),
            AttrStep::Attach => {
                stack.call(&["move_queued_task"]);
                self.unwind_policy(cpu, Within::Enqueue, stack);
            }
            _ => {}
        }
    }

    fn unwind_fork(&self, cpu: CpuId, f: &Frame, stack: &mut Stack) {
        stack.group = PathGroup::Fork;
        let kind = if f.path == Path::Fork { SelectKind::Fork } else { SelectKind::Exec };
        match f.pc {
            Pc::ForkBegin => return stack.call(&["copy_process"]),
            _ if kind == SelectKind::Exec => stack.call(&["sched_exec"]),
            _ => stack.call(&["wake_up_new_task"]),
        }
        match f.pc {
            Pc::ForkCommit | Pc::ExecCommit => {
                self.unwind_policy(cpu, Within::Select(kind), stack);
            }
            Pc::ForkLocked => stack.call(&["__task_rq_lock"]),
            Pc::NestHold | Pc::NestDone => self.unwind_nested(cpu, stack),
            Pc::Pop if kind == SelectKind::Exec => stack.call(&["stop_one_cpu"]),
            Pc::Pop => stack.call(RESCHED),
            _ => self.unwind_policy(cpu, Within::Enqueue, stack),
        }
    }
}

/// The task whose time it is. In `schedule()` that is the previous task until the switch ends, as
/// its stack is in use until then.
fn owner(c: &Cpu, lowest: Option<&Frame>) -> TaskId {
    match lowest {
        Some(f) if !matches!(f.path, Path::Block | Path::Preempt) => c.curr,
        Some(f) if f.pc == Pc::StopRelocked || in_stopper(c, f) => TaskId::STOP,
        Some(f) if f.other != TaskId::NONE => f.other,
        _ => c.curr,
    }
}

/// The `schedule()` that switched to the stopper is its frame, too.
fn in_stopper(c: &Cpu, f: &Frame) -> bool {
    match f.pc {
        Pc::NestHold | Pc::NestDone => {
            matches!(c.after_nested, Pc::StopDetached | Pc::StopAttached)
        }
        Pc::StopStart
        | Pc::StopLocked
        | Pc::StopDetach
        | Pc::StopDetached
        | Pc::StopAttachLocked
        | Pc::StopAttach
        | Pc::StopAttached
        | Pc::StopPush
        | Pc::StopEnd => true,
        _ => false,
    }
}

fn interrupt(path: Path) -> Calls {
    match path {
        Path::Poll => &["flush_smp_call_function_queue"],
        Path::Resched => &["asm_sysvec_reschedule_ipi", "sysvec_reschedule_ipi"],
        Path::Device => &["asm_common_interrupt", "common_interrupt", "handle_irq_event"],
        Path::Timer => &["asm_sysvec_apic_timer_interrupt", "hrtimer_interrupt", "hrtimer_wakeup"],
        _ => &["asm_sysvec_call_function_single", "__flush_smp_call_function_queue"],
    }
}

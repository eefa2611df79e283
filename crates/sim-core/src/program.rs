//! What tasks do: the programs that a workload gives them.

mod boxed;

use crate::{
    Calls, LockId, MaskId, Ns, Pid, SchedAttr, SleepState, Stack, Step, TaskAttr, TaskId, World,
};
use std::any::Any;
use topology::{CpuId, Machine};

/// What a task does next. Everything but `Run`, `Kernel` and `Sleep` takes the time of its kernel
/// path.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Op {
    /// Compute in user mode for this long at full speed, ns.
    Run(Ns),
    /// Work in kernel mode (a system call's body) for this long at full speed, ns. Only a
    /// preemptible kernel lets another task in before its end.
    Kernel(Ns),
    /// Sleep on a timer for this long, ns (timer slack is added).
    Sleep(Ns),
    /// Sleep on a timer that expires at this instant, ns (timer slack is added). An instant that
    /// has passed does not block.
    SleepUntil(Ns),
    /// Go to sleep although the wake-up has come: the task leaves its CPU and is runnable at once.
    /// Who woke it has spent the time of the wake-up before, so neither that nor an interrupt takes
    /// time from others here. A CPU that has nothing else to run finds the task on its wake list,
    /// as if a waker elsewhere had found it idle. Replays need it where threads come in another
    /// order than they were recorded.
    SleepWoken {
        /// It was woken before it had left its CPU, which turns back from idle at once.
        on_its_way: bool,
    },
    /// Wake a task. Nothing happens if it is not asleep when the wake-up looks at it.
    Wake {
        /// The task to wake.
        task: TaskId,
        /// WF_SYNC: the waker is about to sleep.
        sync: bool,
    },
    /// Sleep until woken. A woken program must look again whether what it waited for is there:
    /// wake-ups may be early or left over, as in the kernel. See also
    /// [`ProgramCx::prepare_to_wait`].
    Wait,
    /// Start the task made by [`ProgramCx::new_task`].
    Fork(TaskId),
    /// `execve`: balance on exec.
    Exec,
    /// `sched_yield`.
    Yield,
    /// Run a kernel path of the program's own: [`Program::path`] says its steps.
    Path,
    /// `sched_setscheduler`, `setpriority`: gives a task another policy, nice level and slice. It
    /// stays where it is. If by the new weights another task should run there, it does so at once.
    SetScheduler {
        /// The task to change; often the caller itself.
        task: TaskId,
        /// Its new policy, nice level and slice.
        attr: SchedAttr,
    },
    /// `sched_setaffinity`: gives a task another set of allowed CPUs. If it waits where it is no
    /// longer allowed it is moved at once, if it runs there its CPU's stopper moves it, if it
    /// sleeps its next wake-up chooses anew. (Linux makes the caller wait for the stopper; here it
    /// goes on.)
    SetAffinity {
        /// The task to change; often the caller itself.
        task: TaskId,
        /// The CPUs, from [`ProgramCx::mask`].
        allowed: MaskId,
    },
    /// `exit()`: the task is never asked again.
    Exit,
}

impl Op {
    /// The system call that an operation usually is, and what lies between it and the scheduler.
    pub fn calls(&self) -> Calls {
        match self {
            Op::Run(_) | Op::Kernel(_) | Op::Path => &["entry_SYSCALL_64", "do_syscall_64"],
            Op::Sleep(_) | Op::SleepUntil(_) => &[
                "entry_SYSCALL_64",
                "do_syscall_64",
                "__x64_sys_clock_nanosleep",
                "hrtimer_nanosleep",
                "do_nanosleep",
            ],
            Op::Wake { .. } => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_futex", "futex_wake", "wake_up_q"]
            }
            Op::Wait | Op::SleepWoken { .. } => &[
                "entry_SYSCALL_64",
                "do_syscall_64",
                "__x64_sys_futex",
                "futex_wait",
                "futex_wait_queue",
            ],
            Op::Fork(_) => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_clone", "kernel_clone"]
            }
            Op::Exec => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_execve", "do_execveat_common"]
            }
            Op::SetScheduler { .. } => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_sched_setscheduler"]
            }
            Op::SetAffinity { .. } => {
                &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_sched_setaffinity"]
            }
            Op::Yield => &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_sched_yield"],
            Op::Exit => &["entry_SYSCALL_64", "do_syscall_64", "__x64_sys_exit_group", "do_exit"],
        }
    }
}

/// The programs of all tasks of a workload. One object for all, so that they can share state
/// (pipes, a job server) without indirection.
pub trait Program {
    /// Creates the tasks that exist at time 0.
    fn start(&mut self, cx: &mut ProgramCx<'_>);

    /// What `task` does next. Called when its last operation is complete and it is running.
    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op;

    /// Next step of the kernel path that `task` has entered by [`Op::Path`] on [`ProgramCx::cpu`].
    /// Called again and again until [`Step::Done`], each time at the instant when the step before
    /// has ended. Interrupts are off, so a CPU has at most one such path under way, and it may
    /// hold locks.
    fn path(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Step {
        Step::Done
    }

    /// The instant given to [`ProgramCx::set_device`] has come: something happens outside of the
    /// CPUs, such as the end of a transfer. [`ProgramCx::cpu`] has no meaning here.
    fn device(&mut self, _cx: &mut ProgramCx<'_>) {}

    /// Next step of the handler of a device's interrupt on [`ProgramCx::cpu`]; as
    /// [`Program::path`], in interrupt context. Interrupts raised before it starts are one.
    fn interrupt(&mut self, _cx: &mut ProgramCx<'_>) -> Step {
        Step::Done
    }

    /// A tick has found `task` current on [`ProgramCx::cpu`] (interrupt context). Only told of
    /// tasks that [`ProgramCx::watch_ticks`] was called for.
    fn tick(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) {}

    /// True when the run is over although tasks may remain (checked after an exit).
    fn is_done(&self) -> bool {
        false
    }

    /// Share of the work that is done, 0..=1, for a progress bar.
    fn progress(&self) -> f64 {
        0.0
    }

    /// True when all that the workload starts is there, so that the measurement can begin. Called
    /// after each event until then; [`Program::measurement_begins`] follows at the end of the
    /// instant.
    fn is_under_way(&self) -> bool {
        true
    }

    /// The measurement begins here ([`Simulation::begin_measurement`]): the program's counts start
    /// again.
    ///
    /// [`Simulation::begin_measurement`]: crate::Simulation::begin_measurement
    fn measurement_begins(&mut self) {}

    /// What the workload itself has measured in `elapsed_ns`: metrics by name.
    fn results(&self, _elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// The functions around the operation `op` that `task` has just begun, the outermost first,
    /// for profiles. Not asked in user mode.
    fn calls(&self, _task: TaskId, op: &Op) -> Calls {
        op.calls()
    }

    /// For profiles: adds the functions that a path of `task` on `cpu`, or the handler of a
    /// device's interrupt (`None`), is in.
    fn unwind(&self, _cpu: CpuId, _task: Option<TaskId>, _stack: &mut Stack) {}

    /// A part of the program that a sampler may read between two events, such as its workqueues.
    fn inspect(&self) -> Option<&dyn Any> {
        None
    }

    /// What a blocked task waits for, in words, for the report of a run that cannot go on.
    fn waits_for(&self, _task: TaskId) -> String {
        "an event that never came".to_string()
    }
}

/// What a program may see and do while it is asked.
pub struct ProgramCx<'a> {
    pub(crate) w: &'a mut World,
}

impl<'a> ProgramCx<'a> {
    pub(crate) fn of(w: &'a mut World) -> Self {
        Self { w }
    }
}

impl ProgramCx<'_> {
    /// The present instant, ns since the start of the run.
    pub fn now(&self) -> Ns {
        self.w.now
    }

    /// The tick of a CPU that is next to an instant to come, ns; one that has passed does not
    /// count.
    pub fn tick_near(&self, cpu: CpuId, at: Ns) -> Ns {
        let near = self.w.tick_after(cpu, at.saturating_sub(self.w.tick_ns() / 2 + 1));
        near.max(self.w.tick_after(cpu, self.w.now))
    }

    /// The tick of a CPU that comes as the `nth` one from now on, ns; the next one is the first.
    pub fn tick_of(&self, cpu: CpuId, nth: u32) -> Ns {
        self.w.tick_after(cpu, self.w.now) + Ns::from(nth.saturating_sub(1)) * self.w.tick_ns()
    }

    /// The machine that the run is simulated on.
    pub fn machine(&self) -> &Machine {
        &self.w.machine
    }

    /// The CPU that executes the task, the path or the interrupt that is being asked for.
    pub fn cpu(&self) -> CpuId {
        self.w.this
    }

    /// Number of CPUs of the machine.
    pub fn n_cpus(&self) -> usize {
        self.w.cpus.len()
    }

    /// Registers a command name and returns its number for [`TaskAttr::comm`].
    pub fn comm(&mut self, name: &str) -> u16 {
        self.w.comm(name)
    }

    /// Registers an affinity mask. It must contain a CPU of the machine.
    pub fn mask(&mut self, set: topology::CpuSet) -> MaskId {
        self.w.mask(set)
    }

    /// Keeps the pids up to `last` for tasks that ask for one of them ([`TaskAttr::pid`]).
    pub fn reserve_pids(&mut self, last: Pid) {
        self.w.reserve_pids(last);
    }

    /// Makes a task that does not run yet; start it by [`Op::Fork`].
    pub fn new_task(&mut self, attr: TaskAttr) -> TaskId {
        self.w.new_task(attr)
    }

    /// In [`Program::start`] only: makes a task that is runnable at time 0, placed by the policy
    /// as a forked one.
    pub fn start_task(&mut self, attr: TaskAttr) -> TaskId {
        let p = self.w.new_task(attr);
        self.w.starting.push(p);
        p
    }

    /// Changes a task's attributes of memory: a new address space and working set (`execve`).
    pub fn set_memory(&mut self, task: TaskId, mm: u32, working_set_kib: u32) {
        let attr = &mut self.w.tasks[task].attr;
        attr.mm = mm;
        attr.working_set_kib = working_set_kib;
    }

    /// The task's exit has begun (`do_exit` sets PF_EXITING before it tells the parent).
    pub fn set_exiting(&mut self, task: TaskId) {
        self.w.tasks[task].exiting = true;
    }

    /// Changes a task's command name (`execve`).
    pub fn set_comm(&mut self, task: TaskId, comm: u16) {
        self.w.tasks[task].attr.comm = comm;
    }

    /// Changes how a task sleeps from now on (what tools show for it).
    pub fn set_sleep_state(&mut self, task: TaskId, how: SleepState) {
        self.w.tasks[task].sleeps = how;
    }

    /// How long the interrupt that ends the task's next sleep goes on after it has woken the task,
    /// ns; four seconds at most.
    pub fn set_irq_rest(&mut self, task: TaskId, ns: Ns) {
        self.w.tasks[task].irq_rest_ns = ns.min(Ns::from(u32::MAX)) as u32;
    }

    /// In [`Program::path`]: the wake-ups are over, and their system call goes on, up to the task's
    /// next operation, a sleep or its exit. Interrupts cut in, and nobody preempts the task.
    pub fn stay_in_call(&mut self) {
        let c = &mut self.w.cpus[self.w.this];
        c.stays_in_call = true;
        c.top().irq_off = false;
    }

    /// Whether nothing is to be told of the task's waits, for who watches the run.
    pub fn set_wait_untold(&mut self, task: TaskId, untold: bool) {
        self.w.tasks[task].wait_untold = untold;
    }

    /// `io_schedule()`: `task`, which is about to sleep on the executing CPU, waits for a disk, and
    /// the governor of idle states knows. To be called again when it runs, with `false`: the kernel
    /// counts up to the wake-up.
    pub fn set_io_wait(&mut self, task: TaskId, waits: bool) {
        let w = &mut *self.w;
        let before = w.tasks[task].io_wait.take();
        if let Some(cpu) = before {
            // Where it went to sleep, wherever it runs now.
            w.cpus[cpu].n_io_waits -= 1;
        }
        if waits {
            w.tasks[task].io_wait = Some(w.this);
            w.cpus[w.this].n_io_waits += 1;
        }
    }

    /// Makes a lock for the program's paths, of a class for lockstat.
    pub fn new_lock(&mut self, class: &'static str) -> LockId {
        self.w.new_lock(class)
    }

    /// Time to pull `lines` cache lines from the CPU that released `lock` last, ns: what the
    /// executing CPU, which holds it, pays for what the lock protects.
    pub fn pull_ns(&self, lock: LockId, lines: u32) -> Ns {
        let from = self.w.locks.last_owner(lock).unwrap_or(self.w.this);
        Ns::from(lines) * self.w.line_ns(from, self.w.this)
    }

    /// `set_current_state(TASK_INTERRUPTIBLE)` by `task`, which runs: wakers take it for a sleeper
    /// from here on, and its next [`Op::Wait`] returns at once if one of them has come by then.
    /// Without it a wake-up between the program's look at its condition and the sleep is lost.
    pub fn prepare_to_wait(&mut self, task: TaskId) {
        self.w.prepare_to_wait(task);
    }

    /// `p->wake_cpu`: the CPU at which the next wake-up of `task` begins to look.
    pub fn wake_cpu(&self, task: TaskId) -> CpuId {
        self.w.tasks[task].wake_cpu
    }

    /// Writes `p->wake_cpu`; the CPU need not be allowed.
    pub fn set_wake_cpu(&mut self, task: TaskId, cpu: CpuId) {
        self.w.tasks[task].wake_cpu = cpu;
    }

    /// `cpumask_any_distribute`: the CPUs of a mask in turn, counted by the executing CPU.
    pub fn any_distribute(&mut self, mask: MaskId) -> CpuId {
        self.w.any_distribute(mask)
    }

    /// From now on (or no longer) tells [`Program::tick`] of each tick that finds `task` current.
    pub fn watch_ticks(&mut self, task: TaskId, on: bool) {
        self.w.disturb(self.w.tasks[task].cpu);
        self.w.tasks[task].ticks_watched = on;
    }

    /// How long `task` has been current, ns (`se.sum_exec_runtime`, interrupts included).
    pub fn ran_ns(&self, task: TaskId) -> Ns {
        self.w.ran_ns(task)
    }

    /// Asks for one call of [`Program::device`] at `at` ([`crate::NEVER`]: none), in place of an
    /// earlier request: a program that has several devices keeps their order itself.
    pub fn set_device(&mut self, at: Ns) {
        self.w.device_at = at;
    }

    /// A device interrupts `cpu`, now.
    pub fn raise(&mut self, cpu: CpuId) {
        self.w.device_interrupt(cpu);
    }

    /// Changes how late a task's timers may fire (`PR_SET_TIMERSLACK`), for sleeps that begin from
    /// now on; `None`: the run's default.
    pub fn set_timer_slack(&mut self, task: TaskId, slack_ns: Option<u32>) {
        self.w.tasks[task].attr.timer_slack_ns = slack_ns;
    }

    /// Records one value of a workload metric's histogram (latencies, in ns).
    pub fn record(&mut self, value_ns: Ns) {
        self.w.samples.push(value_ns);
    }
}

//! What tasks do: the programs that a workload gives them.

use crate::{MaskId, Ns, SleepState, TaskAttr, TaskId, World};

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
    /// Wake a task. Nothing happens if it is not asleep when the wake-up looks at it.
    Wake {
        /// Whom.
        task: TaskId,
        /// WF_SYNC: the waker is about to sleep.
        sync: bool,
    },
    /// Sleep until woken. A woken program must look again whether what it waited for is there:
    /// wake-ups may be early or left over, as in the kernel.
    Wait,
    /// Start the task made by [`ProgramCx::new_task`].
    Fork(TaskId),
    /// `execve`: balance on exec.
    Exec,
    /// `sched_yield`.
    Yield,
    /// Leave.
    Exit,
}

/// The programs of all tasks of a workload. One object for all, so that they can share state
/// (pipes, a job server) without indirection.
pub trait Program {
    /// Creates the tasks that exist at time 0.
    fn start(&mut self, cx: &mut ProgramCx<'_>);

    /// What `task` does next. Called when its last operation is complete and it is running.
    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op;

    /// True when the run is over although tasks may remain (checked after an exit).
    fn is_done(&self) -> bool {
        false
    }

    /// Share of the work that is done, 0..=1, for a progress bar.
    fn progress(&self) -> f64 {
        0.0
    }

    /// What the workload itself has measured in a run of `elapsed_ns`: metrics by name.
    fn results(&self, _elapsed_ns: Ns) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// What a blocked task waits for, in words, for the report of a run that cannot go on.
    fn waits_for(&self, _task: TaskId) -> String {
        "an event that never came".to_string()
    }
}

/// What a program may see and do.
pub struct ProgramCx<'a> {
    pub(crate) w: &'a mut World,
    pub(crate) starting: &'a mut Vec<TaskId>,
}

impl ProgramCx<'_> {
    /// The present instant.
    pub fn now(&self) -> Ns {
        self.w.now
    }

    /// Number of CPUs of the machine.
    pub fn n_cpus(&self) -> usize {
        self.w.cpus.len()
    }

    /// Registers a command name and returns its number for [`TaskAttr::comm`].
    pub fn comm(&mut self, name: &str) -> u16 {
        self.w.comm(name)
    }

    /// Registers an affinity mask.
    pub fn mask(&mut self, set: topology::CpuSet) -> MaskId {
        self.w.mask(set)
    }

    /// Makes a task that does not run yet; start it by [`Op::Fork`].
    pub fn new_task(&mut self, attr: TaskAttr) -> TaskId {
        self.w.new_task(attr)
    }

    /// In [`Program::start`] only: makes a task that is runnable at time 0, placed by the policy
    /// as a forked one.
    pub fn start_task(&mut self, attr: TaskAttr) -> TaskId {
        let p = self.w.new_task(attr);
        self.starting.push(p);
        p
    }

    /// Changes a task's attributes of memory: a new address space and working set (`execve`).
    pub fn set_memory(&mut self, task: TaskId, mm: u32, working_set_kib: u32) {
        let attr = &mut self.w.tasks[task.idx()].attr;
        attr.mm = mm;
        attr.working_set_kib = working_set_kib;
    }

    /// The task's exit has begun (`do_exit` sets PF_EXITING before it tells the parent).
    pub fn set_exiting(&mut self, task: TaskId) {
        self.w.tasks[task.idx()].exiting = true;
    }

    /// Changes a task's command name (`execve`).
    pub fn set_comm(&mut self, task: TaskId, comm: u16) {
        self.w.tasks[task.idx()].attr.comm = comm;
    }

    /// Changes how a task sleeps from now on (what tools show for it).
    pub fn set_sleep_state(&mut self, task: TaskId, how: SleepState) {
        self.w.tasks[task.idx()].sleeps = how;
    }

    /// Records one value of a workload metric's histogram (latencies, in ns).
    pub fn record(&mut self, value_ns: Ns) {
        self.w.samples.push(value_ns);
    }
}

//! Replay: what threads did in a recording, done again under another policy or on another machine.
//!
//! The recording decides how much each thread computes between two sleeps, which threads it wakes
//! and starts on the way, and what ends its sleeps. A sleep that another thread ended ends when
//! that thread has come as far again. If that one was there before, it has spent what a wake-up
//! takes, and the sleep takes place and takes no time, unless the two talk in turns. For messages
//! to a thread that is awake are in no recording: where one sleep is lost, nobody knows of the one
//! that comes instead.
//!
//! Any other sleep (for a timer, a device) ends at the recorded instant or after the recorded time,
//! as [`Timers`] say, or within its timer's slack ([`Act::Early`]). An uninterruptible one always
//! ends after the recorded time: a disk takes as long as it takes. The simulation decides where a
//! thread runs and when it has to wait.

mod acts;
mod commands;
mod devices;
mod jitter;
mod paths;

pub use acts::{Act, Acts, Timed};
pub use commands::Command;
pub use paths::{IDLE_LENGTHS_NS, Paths};

use acts::Cursor;
use devices::{Devices, Ending};
use jitter::Jitter;
use sim_core::{
    Calls, GroupId, MaskId, Ns, Op, PerTask, Pid, Program, ProgramCx, SchedAttr, Step, TaskAttr,
    TaskId,
};
use std::sync::Arc;
use topology::{CpuId, CpuSet, Machine};

/// Less work of its own than this between two wake-ups: the thread is taken to have been in the
/// kernel all the time. (Out of a system call, into the next one and to whom it wakes takes longer
/// on most machines. Within one call this is what the machine's costs leave over, such as lines
/// that come from another CPU.)
const BETWEEN_CALLS_NS: Ns = 400;
/// How late timers of threads may fire (`DEFAULT_SLACK_NS` of `init_task`, v6.12), ns.
pub const TIMER_SLACK_NS: Ns = 50_000;
/// Who talks in turns waits for its answer soon; it is not looked further ahead, so that a wake-up
/// takes no long search.
const LOOK_AHEAD: usize = 64;
/// So many are woken at a time: `WAITQUEUE_WALK_BREAK_CNT` (up to v6.5). Interrupts wait meanwhile.
const WAKES_OF_PATH_MAX: u32 = 64;

/// A thread of a recording.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Thread {
    /// Its id in the recording. It keeps it unless one of the simulator's own threads has it.
    pub tid: u32,
    /// Its name at first, an index into [`Recording::names`].
    pub name: u16,
    /// Its nice level at first.
    pub nice: i8,
    /// Its process; threads of one process share an address space.
    pub process: u32,
    /// True for a kernel thread.
    pub kthread: bool,
    /// The CPU of a per-CPU kernel thread; `None` for any other thread.
    pub bound_to: Option<CpuId>,
    /// The CPU of its first event, if it was there before the recording; `None` if another thread
    /// starts it.
    pub first_cpu: Option<CpuId>,
    /// True if its end counts: it belongs to what was measured. Others are the machine's own.
    pub measured: bool,
    /// Its session: 0 for that of what was measured and for kernel threads, others from 1.
    pub session: u16,
    /// How long it was on CPUs or waited for one, ns.
    pub active_ns: Ns,
    /// What it does, from its first event to the last.
    pub acts: Acts,
}

impl Thread {
    /// True if the first thing that it does is to sleep.
    fn begins_asleep(&self) -> bool {
        let first = self.acts.iter().find(|act| !act.says_how_it_sleeps());
        matches!(first, Some(Act::Wait | Act::Answer | Act::Timer { .. } | Act::For(_)))
    }
}

/// What all threads of a recording did.
#[derive(Clone, PartialEq, Debug)]
pub struct Recording {
    /// Command names, by number.
    pub names: Vec<String>,
    /// The threads, in the order of their first appearance.
    pub threads: Vec<Thread>,
    /// From the first event to the last, ns.
    pub length_ns: Ns,
    /// From the first event to the end of the last measured thread, ns.
    pub elapsed_ns: Ns,
    /// What kernel paths took on its machine; `None` if nobody has looked.
    pub paths: Option<Paths>,
    /// Events that were lost when it was recorded.
    pub lost_events: u64,
    /// Waits for answers that were added: in the recording they were there in time.
    pub answers_added: u64,
    /// False if its times are in microseconds.
    pub in_ns: bool,
    /// Sessions of user threads beside that of what was measured.
    pub other_sessions: u16,
    /// What was recorded of the commands that measured threads were, those first that ran longest.
    pub commands: Vec<(u16, Command)>,
}

impl Default for Recording {
    /// A recording of nothing.
    fn default() -> Self {
        Self {
            names: Vec::new(),
            threads: Vec::new(),
            length_ns: 0,
            elapsed_ns: 0,
            lost_events: 0,
            answers_added: 0,
            in_ns: true,
            paths: None,
            other_sessions: 0,
            commands: Vec::new(),
        }
    }
}

/// Whom a wake-up finds.
enum Wakee {
    /// A task that waits for it.
    Sleeper(TaskId),
    /// A thread that was asleep when it was recorded, and here is not yet.
    Late,
    /// None that it has to wake.
    Nobody,
}

/// When a sleep is to end.
enum Until {
    Instant(Ns),
    Length(Ns),
}

/// When a timer is to fire: from this instant on, and so much later at most.
#[derive(Clone, Copy, Debug)]
struct Due {
    at: Ns,
    slack_ns: u32,
}

/// How far a thread has come.
#[derive(Clone, Copy, Debug)]
struct State {
    at: Cursor,
    task: TaskId,
    /// Wake-ups by other threads that it has not yet waited for.
    woken: u32,
    /// It has come to a wait and not gone on since.
    waits: bool,
    /// When its present sleep ends; `None` if no timer ends it.
    due: Option<Due>,
    /// The tick that ends its next sleep, by their number from there on; 0: no tick does.
    ticks: u32,
    /// How long before it had to a timer with slack ended its next sleep; `None`: it had none.
    early_ns: Option<Ns>,
    /// Its next wait's end came, when it was recorded, before it had left its CPU.
    on_its_way: bool,
    /// The CPU that a device interrupts at the end of its next sleep; `None`: its own.
    device: Option<CpuId>,
    /// Wake-ups that may still be part of its kernel path; 0: there is none, or none is to come.
    in_path: u32,
}

/// The rule by which a sleep ends that no thread ended.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Timers {
    /// After the recorded time if others of the thread's sleeps took as long, or a high-resolution
    /// timer ended it without a rhythm; else at the recorded instant.
    #[default]
    AsSeen,
    /// At the recorded instant, or within its slack: a thread that is late does not sleep.
    Absolute,
    /// After the recorded time: a thread that is late stays late.
    Relative,
}

/// The threads of a recording, doing it again.
pub struct Replay {
    recording: Arc<Recording>,
    timers: Timers,
    /// None: all is as it was recorded.
    jitter: Option<Jitter>,
    states: Vec<State>,
    /// By `TaskId`: the thread.
    thread_of: PerTask<u32>,
    devices: Devices,
    /// Devices interrupt the CPUs that they have interrupted in the recording.
    same_machine: bool,
    /// By number of the recording's names.
    comms: Vec<u16>,
    acts_done: u64,
    n_acts: u64,
    /// Measured threads that have not ended.
    n_measured: usize,
    /// [`BETWEEN_CALLS_NS`] where the recording was made.
    between_calls_ns: Ns,
}

impl Replay {
    /// A replay from the beginning.
    pub fn new(recording: Arc<Recording>, timers: Timers) -> Self {
        let state = State {
            at: Cursor::default(),
            task: TaskId::NONE,
            woken: 0,
            waits: false,
            due: None,
            ticks: 0,
            early_ns: None,
            on_its_way: false,
            device: None,
            in_path: 0,
        };
        // Where kernel paths took longer, that way did, too.
        let slow = recording.paths.map_or(1.0, |paths| paths.others.max(1.0));
        Self {
            between_calls_ns: (BETWEEN_CALLS_NS as f64 * slow) as Ns,
            states: vec![state; recording.threads.len()],
            thread_of: PerTask::new(),
            devices: Devices::default(),
            same_machine: false,
            comms: Vec::new(),
            acts_done: 0,
            n_acts: recording.threads.iter().map(|t| t.acts.len() as u64).sum(),
            n_measured: recording.threads.iter().filter(|t| t.measured).count(),
            recording,
            timers,
            jitter: None,
        }
    }

    /// The same, but not quite: lengths of work and where threads begin vary with the seed.
    #[must_use]
    pub fn varied(self, seed: u64) -> Self {
        Self { jitter: Some(Jitter::new(&self.recording, seed)), ..self }
    }

    /// The same on the machine of the recording, where devices interrupt the CPUs that they have
    /// interrupted then. Elsewhere each end of a sleep interrupts the CPU of its sleeper.
    #[must_use]
    pub fn on_same_machine(self) -> Self {
        Self { same_machine: true, ..self }
    }

    fn attr(&self, cx: &mut ProgramCx<'_>, thread: usize) -> TaskAttr {
        let t = &self.recording.threads[thread];
        let fits = |cpu: &CpuId| cpu.idx() < cx.n_cpus();
        let varied = self.jitter.as_ref().filter(|_| t.first_cpu.is_some());
        let first = varied.map(|jitter| jitter.start_cpu(thread, cx.n_cpus())).or(t.first_cpu);
        let start_cpu = t.bound_to.or(first).filter(fits);
        let bound_to = t.bound_to.filter(fits);
        let allowed = bound_to.map_or(MaskId::ALL, |cpu| {
            let mut only = CpuSet::empty(cx.n_cpus());
            only.insert(cpu);
            cx.mask(only)
        });
        TaskAttr {
            comm: self.comms[t.name as usize],
            pid: Some(Pid(t.tid)),
            nice: t.nice,
            allowed,
            start_cpu,
            // Each sleep tells its own.
            timer_slack_ns: Some(0),
            mm: t.process,
            kthread: t.kthread,
            rested: t.first_cpu.is_some() && t.begins_asleep(),
            group: GroupId(t.session),
            ..TaskAttr::default()
        }
    }

    fn is_now(&mut self, task: TaskId, thread: usize) {
        self.thread_of.cover(task, || 0);
        self.thread_of[task] = thread as u32;
        self.states[thread].task = task;
    }

    fn start_thread(&mut self, cx: &mut ProgramCx<'_>, thread: usize) -> Op {
        let attr = self.attr(cx, thread);
        let child = cx.new_task(attr);
        self.is_now(child, thread);
        Op::Fork(child)
    }

    /// A wake-up counts when its waker has come to it, whether or not the other one waits yet.
    fn wake(&mut self, thread: usize) -> Wakee {
        self.states[thread].woken += 1;
        let other = self.states[thread];
        match other.task {
            task if !task.is_task() => Wakee::Nobody,
            task if other.waits && other.woken == 1 => Wakee::Sleeper(task),
            _ if self.will_sleep(thread) => Wakee::Late,
            _ => Wakee::Nobody,
        }
    }

    /// True if the thread's next wait takes place though the wake-up has come.
    fn will_sleep(&self, thread: usize) -> bool {
        let state = &self.states[thread];
        let mut next = self.act_at(thread, state.at);
        if state.waits {
            next = next.and_then(|(_, after)| self.act_at(thread, after));
        }
        for _ in 0..LOOK_AHEAD {
            match next {
                Some((Act::Wait, _)) => return true,
                Some((Act::Answer, _)) | None => return false,
                Some((_, after)) => next = self.act_at(thread, after),
            }
        }
        true
    }

    fn act_at(&self, me: usize, at: Cursor) -> Option<(Act, Cursor)> {
        self.recording.threads[me].acts.at(at)
    }

    /// Is more of the same kernel path to come? With a further wake-up `wake_up_all()` goes on, its
    /// lock held: a wakee that is to preempt the waker waits for the end. `FUTEX_WAKE` does the
    /// same unless the kernel is preemptible, which no recording tells. Where one shows a
    /// preemption in between, there are two pieces of work.
    fn path_goes_on(&self, me: usize, after: Cursor) -> bool {
        let mut next = self.act_at(me, after);
        if let Some((Act::Run(ns), end)) = next
            && ns < self.between_calls_ns
        {
            next = self.act_at(me, end);
        }
        matches!(next, Some((Act::Wake { .. } | Act::InPath(_) | Act::InCall(_), _)))
    }

    /// How long the recorded work takes that the thread has come to.
    fn work(&self, me: usize, recorded_ns: Ns) -> Ns {
        let place = self.states[me].at.byte();
        let varied = self.jitter.as_ref().map(|jitter| jitter.run(me, place, recorded_ns));
        varied.unwrap_or(recorded_ns)
    }

    fn go_on(&mut self, me: usize, after: Cursor) {
        self.states[me].at = after;
        self.acts_done += 1;
    }

    /// Waits for one wake-up. If that has come already, a sleep that is `kept` takes no time, but
    /// takes place: others may run, and the thread waits for its turn again.
    fn wait(&mut self, me: usize, kept: bool) -> Option<Op> {
        let state = &mut self.states[me];
        let comes = !std::mem::replace(&mut state.waits, true);
        if state.woken == 0 {
            return Some(Op::Wait);
        }
        if comes && kept {
            return Some(Op::SleepWoken { on_its_way: state.on_its_way });
        }
        state.woken -= 1;
        (state.waits, state.on_its_way) = (false, false);
        None
    }

    /// True if a sleep ends at its recorded instant.
    fn is_absolute(&self, timed: Timed) -> bool {
        match self.timers {
            Timers::AsSeen => timed == Timed::Until,
            Timers::Absolute => true,
            Timers::Relative => false,
        }
    }

    /// When a sleep ends that is to end at this instant, or of this length. The timer wheel ends
    /// sleeps with ticks: by their number, as `schedule_timeout()` does, or with the one that is
    /// next to the instant. Other timers of user threads have slack.
    fn end_of_sleep(&self, cx: &ProgramCx<'_>, me: usize, until: Until) -> Due {
        let state = &self.states[me];
        if let Some(due) = state.due {
            return due;
        }
        let (now, cpu) = (cx.now(), state.device.unwrap_or(cx.cpu()));
        let end = match until {
            Until::Instant(at) if state.ticks > 0 && at > now => cx.tick_near(cpu, at),
            // Where ticks are as long: timeouts are times, as a rule, whatever the rate is.
            Until::Length(_) if state.ticks > 0 && self.ticks_as_recorded(cx.machine()) => {
                cx.tick_of(cpu, state.ticks)
            }
            Until::Length(ns) if state.ticks > 0 => cx.tick_near(cpu, now + ns),
            Until::Instant(at) => at,
            Until::Length(ns) => now + ns,
        };
        let Some(has_to) = state.early_ns.map(|early| end + early).filter(|at| *at > now) else {
            return Due { at: end, slack_ns: 0 };
        };
        let at = has_to.saturating_sub(TIMER_SLACK_NS).max(now + 1);
        Due { at, slack_ns: (has_to - at) as u32 }
    }

    /// True if this machine's ticks are known to be as long as those of the recording.
    fn ticks_as_recorded(&self, machine: &Machine) -> bool {
        self.recording.paths.as_ref().is_some_and(|paths| paths.hz == Some(machine.hz))
    }

    /// Sleeps until `due`, whatever wakes it before.
    fn sleep_until(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, due: Due) -> Option<Op> {
        let (now, me) = (cx.now(), self.thread_of[task] as usize);
        if now < due.at {
            return Some(self.sleep(cx, task, due));
        }
        let state = &mut self.states[me];
        (state.due, state.device, state.ticks, state.early_ns) = (None, None, 0, None);
        cx.set_wait_untold(task, false);
        None
    }

    /// Goes to sleep until a timer or a device ends it at `due`.
    fn sleep(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, due: Due) -> Op {
        let me = self.thread_of[task] as usize;
        let (rest_ns, state) = (self.irq_rest(me), &mut self.states[me]);
        let begins = state.due.replace(due).is_none();
        let Some(cpu) = state.device else {
            cx.set_irq_rest(task, rest_ns);
            cx.set_timer_slack(task, Some(due.slack_ns));
            return Op::Sleep(due.at - cx.now());
        };
        if begins {
            self.devices.ends(cx, Ending { due: due.at, cpu, task, rest_ns });
        }
        Op::Wait
    }

    /// How long the interrupt goes on that ends the sleep to which the thread has come, ns.
    fn irq_rest(&self, me: usize) -> Ns {
        let next =
            self.act_at(me, self.states[me].at).and_then(|(_, after)| self.act_at(me, after));
        if let Some((Act::InIrq(ns), _)) = next { ns } else { 0 }
    }

    /// Does one act; `None` if it takes no time.
    fn act(
        &mut self,
        cx: &mut ProgramCx<'_>,
        task: TaskId,
        (act, after): (Act, Cursor),
    ) -> Option<Op> {
        let me = self.thread_of[task] as usize;
        match act {
            Act::Run(ns) => Some(Op::Run(self.work(me, ns))),
            Act::InPath(ns) | Act::InCall(ns) => Some(Op::Kernel(ns)),
            Act::Wake { .. } if self.path_goes_on(me, after) => {
                self.states[me].in_path = WAKES_OF_PATH_MAX;
                Some(Op::Path)
            }
            Act::Wake { thread, sync, to_idle } => match self.wake(thread as usize) {
                Wakee::Sleeper(task) => Some(Op::Wake { task, sync }),
                Wakee::Late => Some(Op::Kernel(wake_up_ns(cx.machine(), to_idle))),
                Wakee::Nobody => None,
            },
            Act::Start(thread) => Some(self.start_thread(cx, thread as usize)),
            Act::Timer { at, timed, .. } if self.is_absolute(timed) => {
                let due = self.end_of_sleep(cx, me, Until::Instant(at));
                self.sleep_until(cx, task, due)
            }
            // The sleep was looked at.
            Act::InIrq(_) => None,
            Act::Timer { length: ns, .. } | Act::For(ns) => {
                let due = self.end_of_sleep(cx, me, Until::Length(ns));
                self.sleep_until(cx, task, due)
            }
            Act::Early(ns) => {
                self.states[me].early_ns = Some(ns);
                None
            }
            Act::OnItsWay => {
                self.states[me].on_its_way = true;
                None
            }
            Act::AtTick(ticks) => {
                self.states[me].ticks = ticks.max(1);
                None
            }
            Act::Unseen => {
                cx.set_wait_untold(task, true);
                None
            }
            Act::Interrupts(cpu) => {
                let is_there = self.same_machine && cpu.idx() < cx.n_cpus();
                self.states[me].device = is_there.then_some(cpu);
                None
            }
            Act::Wait => self.wait(me, true),
            Act::Answer => self.wait(me, false),
            Act::Sleeps(how) => {
                cx.set_sleep_state(task, how);
                None
            }
            Act::Named(name) => {
                cx.set_comm(task, self.comms[name as usize]);
                None
            }
            Act::Exec(name) => {
                cx.set_comm(task, self.comms[name as usize]);
                Some(Op::Exec)
            }
            Act::Yield => Some(Op::Yield),
            Act::Nice(nice) => {
                let attr = SchedAttr { nice, ..SchedAttr::default() };
                Some(Op::SetScheduler { task, attr })
            }
        }
    }
}

/// What a wake-up takes its waker, with the enqueue or, `to_idle`, with a signal to the idle CPU.
fn wake_up_ns(machine: &Machine, to_idle: bool) -> Ns {
    let costs = &machine.costs;
    let enqueue_ns = costs.enqueue_ns + machine.locks.fast_ns;
    costs.ttwu_fixed_ns + if to_idle { costs.ipi_send_ns } else { enqueue_ns }
}

impl Program for Replay {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let recording = Arc::clone(&self.recording);
        let last = recording.threads.iter().map(|thread| thread.tid).max().unwrap_or(0);
        cx.reserve_pids(Pid(last));
        self.comms = recording.names.iter().map(|name| cx.comm(name)).collect();
        for (i, thread) in recording.threads.iter().enumerate() {
            if thread.first_cpu.is_some() {
                let attr = self.attr(cx, i);
                let task = cx.start_task(attr);
                self.is_now(task, i);
            }
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let me = self.thread_of[task] as usize;
        while let Some((act, after)) = self.act_at(me, self.states[me].at) {
            let op = self.act(cx, task, (act, after));
            // A sleeper looks at the act again when it wakes up: it may have been woken too early.
            // A path begins with the act.
            let stays =
                matches!(op, Some(Op::Sleep(_) | Op::SleepWoken { .. } | Op::Wait | Op::Path));
            if !stays {
                self.go_on(me, after);
            }
            if let Some(op) = op {
                return op;
            }
        }
        self.states[me].task = TaskId::NONE;
        self.n_measured -= usize::from(self.recording.threads[me].measured);
        Op::Exit
    }

    /// Wake-ups of one path, one after the other, and its rest.
    fn path(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Step {
        let me = self.thread_of[task] as usize;
        while self.states[me].in_path > 0
            && let Some((act, after)) = self.act_at(me, self.states[me].at)
        {
            let step = match act {
                Act::Wake { thread, sync, to_idle } => {
                    let goes_on = self.path_goes_on(me, after);
                    let left = &mut self.states[me].in_path;
                    *left = if goes_on { *left - 1 } else { 0 };
                    match self.wake(thread as usize) {
                        Wakee::Sleeper(task) => Some(Step::Wake { task, sync }),
                        Wakee::Late => Some(Step::Spend(wake_up_ns(cx.machine(), to_idle))),
                        Wakee::Nobody => None,
                    }
                }
                Act::Run(ns) => Some(Step::Spend(self.work(me, ns))),
                Act::InPath(ns) => {
                    self.states[me].in_path = 0;
                    Some(Step::Spend(ns))
                }
                Act::InCall(ns) => {
                    self.states[me].in_path = 0;
                    cx.stay_in_call();
                    Some(Step::Spend(ns))
                }
                _ => unreachable!("a path is of wake-ups, what lies between them, and its rest"),
            };
            self.go_on(me, after);
            if let Some(step) = step {
                return step;
            }
        }
        Step::Done
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        self.devices.expire(cx);
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        self.devices.interrupt(cx.cpu())
    }

    fn calls(&self, _task: TaskId, op: &Op) -> Calls {
        match op {
            Op::Path => Op::Wake { task: TaskId::NONE, sync: false }.calls(),
            _ => op.calls(),
        }
    }

    /// Threads that were not measured may go on for long.
    fn is_done(&self) -> bool {
        self.n_measured == 0
    }

    fn progress(&self) -> f64 {
        self.acts_done as f64 / self.n_acts.max(1) as f64
    }

    fn waits_for(&self, task: TaskId) -> String {
        let state = self.states[self.thread_of[task] as usize];
        match state.due {
            Some(_) => "its timer, or a device".to_string(),
            None => "the thread that woke it in the recording".to_string(),
        }
    }
}

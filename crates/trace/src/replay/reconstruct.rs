//! The recording's events, one after another, become the acts of its threads.
//!
//! Recordings have holes. A virtual machine may lose the events of an idle CPU, and nothing is
//! known of the time before the first event. Two rules fill them. If a thread runs although no
//! switch to it was recorded, the switch is placed at the CPU's last event before. If a thread is
//! switched to although no wake-up was recorded, something outside of all threads woke it at that
//! instant.

pub(super) mod interrupts;
mod measured;
pub(super) mod replies;
mod threads;
mod uncertain_sleeps;
mod unseen;
mod wakes;
mod yields;

use super::clock::Clocks;
use super::costs::Costs;
use super::event::{Event, Left, Named, Part, Trouble, What};
use super::pace::Pace;
use super::sleep_pattern::SleepPattern;
use super::thread::{Doing, Live, UncertainSleep};
use super::ticks::Ticks;
use super::{Asked, MEMORY_MAX};
use interrupts::{Batch, DiskEnds};
use sim_core::{Ns, SleepState};
use std::collections::HashMap;
use threads::nice;
use topology::{CpuId, Machine, PerCpu};
use workloads::replay::{Act, Command, Paths, Recording};

pub(super) use unseen::Unseen;

/// Names that a recording may have; the simulator numbers them with 16 bits.
const NAMES_MAX: usize = 1 << 16;
/// Events between two looks at how much memory the recording takes. One event adds some ten bytes,
/// a doubt, or a thread.
const LOOK_EVERY: u32 = 1 << 14;
/// If a thread runs while another is woken, sleeps within this time and leaves its CPU to the woken
/// thread, it was the waker, ns. A timer would have to know when that thread will sleep.
const HAND_OVER_NS: Ns = 30_000;
/// A wake-up that comes while a thread goes to sleep may be seen so long before the charge in the
/// dequeue, ns. A thread that need not sleep goes on for longer.
pub(super) const DEQUEUE_NS: Ns = 2_000;
/// The longest name of a thread; Linux has 15 bytes, for kernel threads up to 63.
const NAME_BYTES_MAX: usize = 255;
/// Priorities of real-time and deadline tasks are lower (`MAX_RT_PRIO`).
const MAX_RT_PRIO: i32 = 100;

/// What a CPU runs, as far as the events tell.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Curr {
    /// No event has told yet, or the last thread left unseen.
    Unknown,
    /// The idle task.
    Idle,
    /// A thread, by index.
    Thread(u32),
    /// A stopper: the simulation has its own.
    Stopper,
}

#[derive(Clone, Copy)]
struct Cpu {
    curr: Curr,
    /// Time of its last event, ns since the first event of the recording.
    seen: Ns,
    /// When a thread was last woken to run here, and when this CPU last began to wake one.
    woken: Ns,
    woke: Ns,
    /// Its last event was a switch or a charge: nothing in it charges a task at the next event.
    is_calm: bool,
    /// A task has come there out of idle, and no switch was recorded: only there wake-ups may have
    /// to wait (see [`Unseen`]).
    hides_switches: bool,
    /// When a tick charged a task there; `None` if none has yet.
    tick: Option<Ns>,
    /// The process whose address space is loaded.
    mm: u32,
    batch: Batch,
}

/// All that the events so far have told.
pub(super) struct Reconstruction {
    costs: Costs,
    clocks: Clocks,
    cpus: PerCpu<Cpu>,
    lives: Vec<Live>,
    by_tid: HashMap<u32, u32>,
    /// The first thread of each process.
    processes: HashMap<u32, u32>,
    names: Vec<String>,
    by_name: HashMap<Vec<u8>, u16>,
    /// Names of threads that no other thread wakes.
    timed: Vec<Vec<u8>>,
    /// Names of threads whose end counts; none: the recorded command.
    measure: Vec<String>,
    /// The sessions of threads that were there before, by tid.
    sessions: HashMap<u32, u32>,
    /// What threads did, by name.
    commands: Vec<Command>,
    /// Waits for answers that were added.
    answers_added: u64,
    disk_ends: DiskEnds,
    ticks: Option<Ticks>,
    n_events: u32,
    /// Events that perf could not write down.
    lost_events: u64,
    memory_max: usize,
    first: Option<Ns>,
    /// True once a sched_switch was read.
    has_switches: bool,
    /// The time of the present event, ns since the first one.
    now: Ns,
}

impl Reconstruction {
    /// For a recording that was made on `machine` at this pace, and what it shows of the machine.
    pub(super) fn at_pace(pace: Pace, machine: &Machine, asked: Asked<'_>) -> (Self, Paths) {
        let ticks = pace.ticks();
        let paths = pace.paths(machine, ticks.map(|ticks| ticks.hz));
        let mut machine = machine.clone();
        paths.put_into(&mut machine);
        (Self { ticks, ..Self::new(&machine, asked, MEMORY_MAX) }, paths)
    }

    pub(super) fn new(machine: &Machine, asked: Asked<'_>, memory_max: usize) -> Self {
        let cpu = Cpu {
            curr: Curr::Unknown,
            seen: 0,
            woken: 0,
            woke: 0,
            is_calm: false,
            hides_switches: false,
            tick: None,
            mm: u32::MAX,
            batch: Batch::default(),
        };
        Self {
            costs: Costs::new(machine),
            clocks: Clocks::new(machine),
            cpus: vec![cpu; machine.n_cpus()].into(),
            lives: Vec::new(),
            by_tid: HashMap::new(),
            processes: HashMap::new(),
            names: Vec::new(),
            answers_added: 0,
            disk_ends: DiskEnds::default(),
            ticks: None,
            by_name: HashMap::new(),
            timed: asked.timed.iter().map(|name| name.as_bytes().to_vec()).collect(),
            measure: asked.measure.iter().map(|name| (*name).to_string()).collect(),
            sessions: asked.sessions.iter().copied().collect(),
            commands: Vec::new(),
            n_events: 0,
            lost_events: 0,
            memory_max,
            first: None,
            has_switches: false,
            now: 0,
        }
    }

    /// Takes the next event. `came`: since when the task runs that [`Self::unseen`] names, if
    /// something later tells it.
    pub(super) fn take(&mut self, event: &Event<'_>, came: Option<Ns>) -> Result<(), Trouble> {
        self.passes(event.at)?;
        let (cpu, n_cpus) = (event.cpu, self.cpus.len());
        if cpu.idx() >= n_cpus {
            let last = n_cpus - 1;
            let message =
                format!("the machine of the recording has no CPU {cpu}, only 0 to {last}");
            let help = "`recorded_on` names the machine that it was recorded on";
            return Err(Trouble::new(Part::Cpu, message, help));
        }
        self.event(event, came)?;
        if matches!(event.what, What::Switch { .. }) {
            self.cpus[cpu].batch.end();
        }
        self.cpus[cpu].seen = self.now;
        self.cpus[cpu].is_calm = is_own_charge(event) || matches!(event.what, What::Switch { .. });
        Ok(())
    }

    /// Sets the clock to an event's time.
    fn passes(&mut self, at: Ns) -> Result<(), Trouble> {
        self.n_events = (self.n_events + 1) % LOOK_EVERY;
        if self.n_events == 0 && self.memory() > self.memory_max {
            let message =
                format!("the recording takes more than {} MiB of memory", self.memory_max >> 20);
            let help = "`perf script --time` prints a part of it, `trace-cmd split` writes one";
            return Err(Trouble::new(Part::Whole, message, help));
        }
        let first = *self.first.get_or_insert(at);
        if at >= first + self.now {
            self.now = at - first;
            return Ok(());
        }
        let shown = |ns: Ns| format!("{}.{:09}", ns / 1_000_000_000, ns % 1_000_000_000);
        let message =
            format!("time runs backwards, from {} to {}", shown(first + self.now), shown(at));
        let help = "`perf script` prints events in order of time";
        Err(Trouble::new(Part::Time, message, help))
    }

    /// Bytes that are kept, those of hash tables estimated.
    fn memory(&self) -> usize {
        let per_thread = size_of::<Live>() + 4 * size_of::<u64>();
        let acts: usize = self.lives.iter().map(|live| live.thread.acts.capacity()).sum();
        let uncertain_sleeps: usize =
            self.lives.iter().map(|live| live.uncertain_sleeps.capacity()).sum();
        let patterns = self.lives.iter().filter(|live| live.pattern.is_some()).count();
        let names: usize =
            self.names.iter().map(|name| 2 * (name.len() + size_of::<String>())).sum();
        let commands: usize = self.commands.iter().map(Command::bytes).sum();
        acts + names
            + commands
            + uncertain_sleeps * UncertainSleep::BYTES
            + patterns * size_of::<SleepPattern>()
            + per_thread * self.lives.len()
            + size_of::<Cpu>() * self.cpus.len()
    }

    fn event(&mut self, event: &Event<'_>, came: Option<Ns>) -> Result<(), String> {
        let cpu = event.cpu;
        if let What::Lost(n) = event.what {
            self.lost_events = self.lost_events.saturating_add(n);
            // Whatever came and went meanwhile, nobody knows what runs here now.
            if let Some(thread) = self.running(cpu) {
                self.lost(thread, cpu);
            }
            return Ok(());
        }
        let own_charge = is_own_charge(event);
        self.may_have_yielded(event);
        // A task's own charge says since when it runs; `must_run` would have to guess.
        if let (Some(task), Some(came)) = (self.unseen(event), came) {
            self.came(event, task, came)?;
        }
        if !own_charge && !matches!(event.what, What::Switch { .. }) {
            self.must_run(event)?;
        }
        match event.what {
            What::Switch { prev, prev_prio, state, next, next_prio } => {
                self.has_switches = true;
                let preempted = state.preempted || is_stopper(next) || next_prio < MAX_RT_PRIO;
                let state = Left { preempted, ..state };
                if state.state == b'R' {
                    self.may_be_told_by_ipi(cpu, next);
                }
                let left = self.leaves(event, prev, prev_prio, state)?;
                let is_new = !self.by_tid.contains_key(&next.tid);
                if is_new && prev.tid != 0 && next.tid != 0 && !is_stopper(next) {
                    // Nobody was seen to wake it, and the CPU was taken: it has waited so long.
                    let thread = self.meet(next, next_prio, cpu)?;
                    self.live(thread).doing = Doing::Runnable { since: 0 };
                }
                self.comes(cpu, left, next, next_prio)
            }
            What::Wake { task, prio, target } => self.woken(event, task, prio, target, false),
            What::WakeNew { task, prio, target } => self.woken(event, task, prio, target, true),
            What::Runtime { task, ns } if own_charge => self.charged(event, task, ns),
            What::Fork { parent, child } => self.forked(cpu, parent, child),
            What::Renamed => self.renamed(event),
            What::Runtime { .. } | What::Lost(_) | What::Other => Ok(()),
        }
    }

    /// The recording is complete.
    pub(super) fn finish(mut self) -> Result<Recording, String> {
        if self.first.is_none() {
            return Err("there is no event of the scheduler in it".to_string());
        }
        // A run without a thread has no end where the machine's own threads go on.
        if self.lives.is_empty() {
            return Err("there is no thread in it that runs or sleeps".to_string());
        }
        if !self.has_switches {
            return Err("there is no sched_switch in it: nobody is seen to come or go".to_string());
        }
        for thread in 0..self.lives.len() as u32 {
            if let Doing::Running(cpu) = self.live(thread).doing {
                self.account(thread, cpu, 0);
                let (name, came) = (self.live(thread).name(), self.live(thread).came);
                let ran = self.now - came;
                self.commands[name as usize].left(ran);
                self.live(thread).thread.active_ns += ran;
            }
            self.flush(thread);
        }
        self.settle_uncertain_sleeps();
        self.mark_measured();
        let other_sessions = self.mark_sessions();
        let (elapsed_ns, commands) = (self.elapsed_ns(), self.measured_commands());
        let complete = |mut live: Live| {
            live.thread.acts.shrink();
            live.thread
        };
        let threads = self.lives.into_iter().map(complete).collect();
        let (names, length_ns) = (self.names, self.now);
        let (lost_events, answers_added) = (self.lost_events, self.answers_added);
        let rest = Recording { lost_events, answers_added, ..Recording::default() };
        Ok(Recording { names, threads, length_ns, elapsed_ns, commands, other_sessions, ..rest })
    }

    /// The previous task of a switch. Returns which thread it is, and whether it sleeps or ends;
    /// `None` for an idle task or a stopper.
    fn leaves(
        &mut self,
        event: &Event<'_>,
        prev: Named<'_>,
        prio: i32,
        how: Left,
    ) -> Result<Option<(u32, bool)>, String> {
        let cpu = event.cpu;
        if prev.tid == 0 || is_stopper(prev) {
            if let Some(thread) = self.running(cpu) {
                self.lost(thread, cpu);
            }
            return Ok(None);
        }
        let thread = self.meet(prev, prio, cpu)?;
        if self.live(thread).doing != Doing::Running(cpu) {
            self.runs(thread, cpu, self.cpus[cpu].seen);
        }
        self.belongs(thread, event);
        let name = self.name(prev.comm)?;
        self.live(thread).named(name);
        self.live(thread).nice(nice(prio));
        self.cpus[cpu].curr = Curr::Unknown;
        let ran = self.now.saturating_sub(self.live(thread).came);
        self.commands[name as usize].left(ran);
        let live = self.live(thread);
        live.thread.active_ns += ran;
        live.leaves = live.leaves.saturating_add(1);
        if how.state == b'R' {
            self.account(thread, cpu, self.costs.pick);
            if !how.preempted {
                self.may_yield(thread, cpu, ran);
            }
            self.live(thread).leaves_path();
            self.live(thread).doing = Doing::Runnable { since: self.now };
            return Ok(Some((thread, false)));
        }
        self.account_sleeper(thread, cpu);
        self.live(thread).left = Some(cpu);
        // The wake-up came about when the dequeue charged it, and before the switch.
        let live = self.live(thread);
        let last = live.charged.saturating_sub(DEQUEUE_NS);
        if let Some(since) = live.woken_early.take().filter(|at| last <= *at)
            && !b"XZx".contains(&how.state)
        {
            (live.doing, live.woken, live.preempted) = (Doing::Runnable { since }, true, None);
            return Ok(Some((thread, true)));
        }
        self.answers(thread);
        self.live(thread).doing = match how.state {
            b'X' | b'Z' | b'x' => {
                // Its tid may be given to a new thread.
                self.by_tid.remove(&prev.tid);
                self.live(thread).sleeps_no_more();
                self.live(thread).ended = self.now;
                Doing::Gone
            }
            b'D' => Doing::Asleep { since: self.now, how: SleepState::Uninterruptible },
            b'I' => Doing::Asleep { since: self.now, how: SleepState::Idle },
            _ => Doing::Asleep { since: self.now, how: SleepState::Interruptible },
        };
        Ok(Some((thread, true)))
    }

    /// A thread of this name comes to a CPU: how long it has waited for that, ns. It counts if the
    /// thread was woken.
    fn waited(&mut self, thread: u32, name: u16, until: Ns) -> Ns {
        let live = self.live(thread);
        let Doing::Runnable { since } = live.doing else {
            return 0;
        };
        let waited = until.saturating_sub(since);
        live.thread.active_ns += waited;
        if std::mem::take(&mut live.woken) {
            self.commands[name as usize].waited(waited);
        }
        waited
    }

    /// The next task of a switch. If the previous thread woke it and sleeps now (as `left` says),
    /// that wake-up was a SYNC one.
    fn comes(
        &mut self,
        cpu: CpuId,
        left: Option<(u32, bool)>,
        next: Named<'_>,
        prio: i32,
    ) -> Result<(), String> {
        if next.tid == 0 || is_stopper(next) {
            let idle = next.tid == 0;
            self.cpus[cpu].curr = if idle { Curr::Idle } else { Curr::Stopper };
            self.clocks.set_busy(cpu, self.now, !idle);
            return Ok(());
        }
        let thread = self.meet(next, prio, cpu)?;
        let name = self.name(next.comm)?;
        self.may_come_from_interrupt(thread, cpu, left);
        let waited = self.waited(thread, name, self.now);
        let woken_by = self.live(thread).woken_by;
        self.runs(thread, cpu, self.now);
        let live = self.live(thread);
        live.named(name);
        live.nice(nice(prio));
        if let Some((waker, Some(_))) = woken_by
            && left == Some((waker, false))
        {
            // What takes longer was no preemption at once: a tick came, or others ran meanwhile.
            if waited <= HAND_OVER_NS {
                self.live(waker).is_preempted_by(thread);
            }
            self.preempts_waker(thread, waker);
        }
        let live = self.live(thread);
        if let Some((waker, place)) = woken_by
            && left == Some((waker, true))
        {
            let for_this_cpu = live.woken_to == Some(cpu);
            if waited <= HAND_OVER_NS {
                live.pattern.iter_mut().for_each(|pattern| pattern.was_ended_by_a_thread());
                live.uncertain_sleeps
                    .pop_if(|doubt| Some(doubt.wake) == place && doubt.waker == waker);
            }
            if let Some(place) = place {
                let waker = self.live(waker);
                waker.thread.acts.make_sync(place);
                if for_this_cpu && waited <= HAND_OVER_NS {
                    waker.leaves_to(thread);
                }
            }
        }
        Ok(())
    }

    /// Notes the process of the event's current task, this thread, if the event tells it.
    fn belongs(&mut self, thread: u32, event: &Event<'_>) {
        if let (Some(process), Some(tid)) = (event.process, event.tid) {
            let leader = *self.processes.entry(process).or_insert(thread);
            let live = self.live(thread);
            live.thread.process = leader;
            live.tgid = Some(process);
            live.may_exec &= process == tid;
        }
    }

    /// Notes a new name of the current task, which an `execve` may have changed since the switch. A
    /// kworker's name is left alone: perf adds what the worker works on.
    fn goes_by(&mut self, thread: u32, event: &Event<'_>) -> Result<(), String> {
        let (known, comm) = (self.live(thread).name(), event.comm);
        let same = self.names[known as usize].as_bytes() == comm;
        if !same && event.tid.is_some() && !comm.starts_with(b"kworker") {
            let name = self.name(comm)?;
            self.live(thread).named(name);
        }
        Ok(())
    }

    /// The current task has a new name, by `execve` as a rule: what it did before was no work of
    /// that name.
    fn renamed(&mut self, event: &Event<'_>) -> Result<(), String> {
        let Some(thread) = self.running(event.cpu) else {
            return Ok(());
        };
        let known = self.live(thread).name();
        if self.names[known as usize].as_bytes() == event.comm {
            return Ok(());
        }
        self.account(thread, event.cpu, 0);
        self.flush(thread);
        self.goes_by(thread, event)
    }

    /// A charge shows that the task runs, even if no switch to it was recorded.
    fn charged(&mut self, event: &Event<'_>, task: Named<'_>, ns: Ns) -> Result<(), String> {
        let cpu = event.cpu;
        if task.tid == 0 || is_stopper(task) {
            return Ok(());
        }
        let (thread, name) = (self.meet(task, 120, cpu)?, self.name(task.comm)?);
        if self.live(thread).doing != Doing::Running(cpu) {
            // A guest's switches from idle are often not recorded.
            let since = self.now.saturating_sub(ns).max(self.cpus[cpu].seen);
            self.waited(thread, name, since);
            self.runs_unseen(thread, cpu, since);
        } else if self.cpus[cpu].is_calm {
            self.charged_alone(thread, cpu, ns);
        }
        self.belongs(thread, event);
        let now = self.now;
        let live = self.live(thread);
        live.charged = now;
        live.named(name);
        Ok(())
    }

    fn forked(&mut self, cpu: CpuId, parent: Named<'_>, child: Named<'_>) -> Result<(), String> {
        let parent = match self.running(cpu) {
            Some(thread) => thread,
            None => {
                let thread = self.meet(parent, 120, cpu)?;
                self.runs(thread, cpu, self.cpus[cpu].seen);
                thread
            }
        };
        self.starts(parent, cpu, child)
    }

    fn starts(&mut self, parent: u32, cpu: CpuId, child: Named<'_>) -> Result<(), String> {
        self.account(parent, cpu, self.costs.fork);
        self.flush(parent);
        let thread = self.create(child, 0, None)?;
        self.live(thread).parent = Some(parent);
        self.live(parent).thread.acts.push(Act::Start(thread));
        Ok(())
    }
}

/// True if a task is charged for its own time, not by another CPU.
fn is_own_charge(event: &Event<'_>) -> bool {
    matches!(event.what, What::Runtime { task, .. } if event.tid == Some(task.tid))
}

/// Threads that only carry out the scheduler's own moves.
fn is_stopper(task: Named<'_>) -> bool {
    task.comm.starts_with(b"migration/")
}

//! One CPU: what it runs, what interrupts it, where its time goes.

use crate::category::{Category, N_CATEGORIES};
use crate::footprint::Footprint;
use crate::frame::{AttrStep, Change, Frame, Pc};
use crate::hrtimers::Hrtimers;
use crate::menu::Menu;
use crate::{LockId, MaskId, NEVER, Nested, Ns, RqStat, Site, StopWork, TaskId};
use std::collections::VecDeque;
use topology::CpuId;

/// Full speed in work units per ns. Work is kept in units of 2^-17 ns, so that progress is exact:
/// speed is an even integer, and half of it (while a cache debt is paid) still is one.
pub(crate) const FULL_SPEED: u32 = 1 << 17;

/// What a CPU's core sees of it. The speed of its SMT siblings depends on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Occupancy {
    Idle,
    Spinning,
    Busy,
}

/// Interrupts that can be pending; the discriminant indexes `irq_at`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Irq {
    /// A polling idle CPU saw need-resched being set; no interrupt at all.
    Poll,
    /// Reschedule IPI.
    Resched,
    /// Call-function IPI: the wake list has entries, or the nohz idle balancer is wanted.
    Call,
    /// A timer armed here has expired.
    Timer,
    /// A device of the program has something for this CPU.
    Device,
}

pub(crate) const N_IRQ: usize = 5;

/// Frames on a CPU's stack: task or softirq, stopper, interrupt, wake list.
pub(crate) const MAX_DEPTH: usize = 4;

/// What the base of the CPU's stack does when no frame lies on it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Base {
    /// Between two operations of the current task: its program must be asked.
    Next,
    /// The current task works on its segment.
    Work,
    /// In a C-state, or entering it.
    Idle,
    /// Leaving the C-state until `base_end`.
    Leaving,
    /// The idle loop looks for something to do.
    IdleLoop,
}

/// A CPU, and the part of its runqueue (`struct rq`) that belongs to no scheduling class.
///
/// The order of the fields is the order in memory. A machine's CPUs do not fit into a first-level
/// cache; so what each event touches, and what others read in passing, shares a few cache lines.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct Cpu {
    // --- first line: what it does, for itself and for others ---
    /// `rq->curr`: a task, [`TaskId::IDLE`] or [`TaskId::STOP`].
    pub curr: TaskId,
    /// `rq->nr_running`: tasks of all classes, the stopper included.
    pub nr_running: u32,
    /// Those among them that sleep ([`crate::Task::sched_delayed`]).
    pub nr_delayed: u32,
    /// `idle_cpu()`: the idle task is current, nothing is runnable, no wake-up is pending.
    pub idle: bool,
    /// `rq->ttwu_pending`: a wake list entry is on its way.
    pub ttwu_pending: bool,
    /// The current task has TIF_NEED_RESCHED.
    pub need_resched: bool,
    /// The task's wake-ups are over, and their system call goes on: nobody preempts it.
    pub(crate) stays_in_call: bool,
    /// The tick is stopped (nohz idle).
    pub tick_stopped: bool,
    /// `ts->got_idle_tick`: the tick has ended this sleep.
    pub(crate) got_idle_tick: bool,
    /// Number of frames on the stack.
    pub(crate) depth: u8,
    pub(crate) base: Base,
    pub(crate) category: Category,
    pub(crate) occupancy: Occupancy,
    /// The CPU spins for a lock or for a task's state.
    pub(crate) waiting_now: bool,
    pub(crate) softirq: bool,
    /// The interrupt being handled came from a device, too.
    pub(crate) device_irq: bool,
    /// The pending timer interrupt is that of the tick.
    pub(crate) timers_in_tick: bool,
    /// The nohz idle balancer is among the calls that wait for this CPU (`nohz_csd`).
    pub(crate) nohz_call: bool,
    /// A tick edge has been taken that the program has not been told of.
    pub(crate) tick_untold: bool,
    /// Index of the C-state chosen at the last idle entry.
    pub cstate: u8,
    /// Work units per ns, 2^17 = full speed.
    pub(crate) speed: u32,
    /// The next tick edge not yet taken, ns.
    pub tick_next: Ns,
    /// The first interrupt that is pending.
    pub(crate) irq_first: Ns,
    /// Start of the interval not yet accounted.
    pub(crate) since: Ns,
    /// Fixed time (ticks) to pass before the segment goes on.
    pub(crate) stall: Ns,

    // --- second line: the kernel path ---
    /// The frame that owns the CPU's event; meaningful if `depth` > 0.
    pub(crate) top: Frame,
    /// Costs of side effects, charged to the next step.
    pub(crate) carry: Ns,
    /// The first tick edge that may decide something.
    pub(crate) deciding_tick: Ns,
    /// Work queued for the stopper.
    pub stop_work: Option<StopWork>,

    // --- third line: accounts ---
    /// Time by [`Category`], ns.
    pub time: [Ns; N_CATEGORIES],
    /// Tick edges taken.
    pub ticks: u64,

    // --- fourth line: switches and wake-ups ---
    /// Since when `curr` is current, ns.
    pub(crate) curr_since: Ns,
    /// `rq->nr_switches`.
    pub nr_switches: u64,
    /// From when on the CPU is in its C-state; before, it still polls.
    pub cstate_from: Ns,
    /// The timer interrupt is under way: it runs timers with a soft expiry up to this instant, ns.
    pub(crate) timers_until: Option<Ns>,
    /// Wake list, oldest first.
    pub(crate) wake_head: TaskId,
    pub(crate) wake_tail: TaskId,
    /// Wakers that have chosen this CPU and not yet pushed.
    pub(crate) pushes_under_way: u32,
    pub(crate) footprint: Footprint,
    /// The address space that is loaded.
    pub(crate) mm: u32,
    /// `rq_clock()`, which stands still while the runqueue's lock is held: see
    /// `World::update_rq_clock`.
    pub(crate) rq_clock: Ns,
    /// RQCF_REQ_SKIP
    pub(crate) skips_clock: bool,

    // --- fifth line: what /proc/schedstat counts ---
    /// Counters of the runqueue.
    pub stat: RqStat,
    /// When the stopper was last given work, ns.
    pub(crate) stop_queued_at: Ns,

    // --- the rest ---
    /// When each kind of interrupt arrives, ns; [`NEVER`] if none is pending.
    pub(crate) irq_at: [Ns; N_IRQ],
    /// Since when the CPU is in the idle loop, ns (meaningful while current is idle).
    pub idle_since: Ns,
    /// When it was told, before it idled, of a task that it is taken to have idled for
    /// ([`crate::Op::SleepWoken`]).
    pub(crate) told_at: Ns,
    /// It was told before it idled.
    pub(crate) turns_back: bool,
    /// What the menu governor remembers.
    pub(crate) menu: Menu,
    /// Tasks that went to sleep here and wait for a disk (`rq->nr_iowait`).
    pub(crate) n_io_waits: u32,
    /// The frames under the top one, the lowest first.
    pub(crate) below: [Frame; MAX_DEPTH - 1],
    /// The timers that tasks have armed here.
    pub(crate) hrtimers: Hrtimers,
    /// When [`Base::Leaving`] ends, ns.
    pub(crate) base_end: Ns,
    /// An interrupt has ended the C-state; the way out of the idle loop is still to come.
    pub(crate) loop_exit_due: bool,
    /// An interrupt ended the idle loop, and what `schedule()` does before it locks has passed.
    pub(crate) pick_begun: bool,
    /// Further work for the stopper, after `stop_work`.
    pub(crate) stop_queue: VecDeque<StopWork>,
    // waiting for a lock or a task's state
    /// The CPU behind this one in the queue; `u32::MAX` at its end.
    pub(crate) next_waiter: u32,
    /// Start of the wait, ns.
    pub(crate) wait_since: Ns,
    pub(crate) wait_site: &'static Site,
    /// What it waits for, if that is a lock.
    pub(crate) wait_lock: Option<LockId>,
    /// It holds the lock's pending bit: no CPU waits before it.
    pub(crate) wait_is_first: bool,
    /// Outcome of the last [`crate::Step::TryLock`] here; before it is read an interrupt may come,
    /// and another CPU may try.
    pub trylock_ok: bool,
    /// The nested critical section of the top frame, and where it goes on afterwards.
    pub(crate) nested: Option<Nested>,
    pub(crate) after_nested: Pc,
    /// The attribute that the current task is changing, of itself or another.
    pub(crate) change: Change,
    /// Where that path goes on.
    pub(crate) attr_step: AttrStep,
    /// The CPU that was chosen here last of those that may be; `None`: nothing is known of it yet.
    pub(crate) distributed: Option<CpuId>,
}

impl Cpu {
    /// An idle CPU in its deepest C-state.
    pub(crate) fn new(tick_next: Ns, deepest: u8) -> Self {
        Self {
            curr: TaskId::IDLE,
            nr_running: 0,
            nr_delayed: 0,
            ttwu_pending: false,
            need_resched: false,
            stays_in_call: false,
            idle: true,
            tick_next,
            tick_stopped: true,
            got_idle_tick: false,
            idle_since: 0,
            // At boot every CPU has been asleep for long.
            cstate: deepest,
            cstate_from: 0,
            told_at: NEVER,
            turns_back: false,
            nr_switches: 0,
            stat: RqStat::default(),
            stop_queued_at: 0,
            time: [0; N_CATEGORIES],
            stop_work: None,
            top: Frame::EMPTY,
            below: [Frame::EMPTY; MAX_DEPTH - 1],
            depth: 0,
            base: Base::Idle,
            base_end: NEVER,
            loop_exit_due: false,
            pick_begun: false,
            since: 0,
            stall: 0,
            speed: FULL_SPEED,
            occupancy: Occupancy::Idle,
            category: Category::Idle,
            carry: 0,
            irq_at: [NEVER; N_IRQ],
            irq_first: NEVER,
            softirq: false,
            device_irq: false,
            nohz_call: false,
            timers_in_tick: false,
            wake_head: TaskId::NONE,
            wake_tail: TaskId::NONE,
            pushes_under_way: 0,
            hrtimers: Hrtimers::default(),
            stop_queue: VecDeque::new(),
            change: Change::Affinity(MaskId::ALL),
            attr_step: AttrStep::Begin,
            distributed: Some(CpuId(0)),
            next_waiter: u32::MAX,
            wait_since: 0,
            wait_site: Site::SCHEDULE_RQ_LOCK,
            trylock_ok: false,
            wait_lock: None,
            wait_is_first: false,
            waiting_now: false,
            nested: None,
            after_nested: Pc::SchedLock,
            menu: Menu::NEW,
            n_io_waits: 0,
            timers_until: None,
            footprint: Footprint::NEW,
            mm: u32::MAX,
            rq_clock: 0,
            skips_clock: false,
            deciding_tick: tick_next,
            tick_untold: false,
            curr_since: 0,
            ticks: 0,
        }
    }

    /// When the first of its timers expires at the latest, ns.
    #[inline]
    pub(crate) fn next_timer(&self) -> Ns {
        self.hrtimers.first().map_or(NEVER, |first| first.hard)
    }

    /// True if an interrupt or a softirq is being handled: what is executed now is none of the
    /// current task's doing.
    #[inline]
    pub fn in_interrupt(&self) -> bool {
        self.depth > 0 && matches!(self.top.category, Category::Irq | Category::Softirq)
    }

    /// Tasks of this runqueue that wait for the CPU.
    #[inline]
    pub fn waiting(&self) -> u32 {
        let running = self.curr.is_task() && self.curr_on_rq() || self.curr == TaskId::STOP;
        self.nr_running.saturating_sub(u32::from(running) + self.nr_delayed)
    }

    // `nr_running` counts the current task until `schedule()` has dequeued it; from then to the
    // switch `curr` is still set, so it is taken as queued only while something is counted.
    #[inline]
    fn curr_on_rq(&self) -> bool {
        self.nr_running > 0
    }
}

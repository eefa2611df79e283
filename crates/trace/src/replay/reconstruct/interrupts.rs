//! What interrupts and wake lists did in the time of threads, or for them: no work of theirs.

use super::{Curr, HAND_OVER_NS, MAX_RT_PRIO, Reconstruction};
use crate::replay::event::{Event, Named, What};
use crate::replay::thread::{Doing, Live};
use sim_core::{Context, Ns, SleepState};
use topology::CpuId;
use workloads::replay::{Act, TIMER_SLACK_NS, Timed};

/// One interrupt wakes the next thread in less than so long, ns (1 to 5 us with what perf takes).
const NEXT_TIMER_NS: Ns = 8_000;
/// If one in so many sleeps for disks ends on another CPU than the sleeper's, the CPU that a disk
/// interrupts does not depend on the sleeper.
const ELSEWHERE_PART: u64 = 8;

/// How the sleeps of a kernel thread have ended.
#[derive(Clone, Copy, Default)]
pub(in crate::replay) struct KernelWakes {
    all: u32,
    /// With a tick.
    at_ticks: u32,
    /// A timer of the wheel has ended the last one.
    by_wheel: bool,
}

impl KernelWakes {
    /// One more. True if a timer of the wheel has ended it: with a tick, as half of them at least.
    fn see(&mut self, at_tick: bool) -> bool {
        self.all += 1;
        self.at_ticks += u32::from(at_tick);
        self.by_wheel = at_tick && 2 * self.at_ticks >= self.all;
        self.by_wheel
    }
}

/// What ends a sleep outside of all threads.
#[derive(Clone, Copy)]
pub(super) struct Outside {
    pub timed: Timed,
    /// The CPU that it interrupts, if it is a device.
    pub device: Option<CpuId>,
    /// How long before it had to the timer of a user thread fired, ns.
    pub early: Option<Ns>,
}

/// Timers of user threads that one interrupt of a CPU has run.
#[derive(Clone, Copy, Default)]
pub(super) struct Batch {
    n: u32,
    /// The number of those that the interrupt before has run.
    before: u32,
    /// When the last one woke its thread.
    at: Ns,
    /// When the first one fired: all have, by then.
    fired: Ns,
}

impl Batch {
    /// True if the interrupt that has run them may still go on. The next one comes when the slack
    /// is over, or later: what is left has to fire then at the earliest.
    fn goes_on(&self, now: Ns) -> bool {
        let over = now - self.fired > TIMER_SLACK_NS;
        now - self.at <= if over { NEXT_TIMER_NS } else { HAND_OVER_NS }
    }

    /// The interrupt is over.
    pub(super) fn end(&mut self) {
        if self.n > 0 {
            (self.before, self.n) = (self.n, 0);
        }
    }
}

/// Where interrupts have ended uninterruptible sleeps so far.
#[derive(Clone, Copy, Default)]
pub(super) struct DiskEnds {
    all: u64,
    /// On another CPU than the sleeper's.
    elsewhere: u64,
}

impl Reconstruction {
    /// A timer's or a device's interrupt wakes a thread, in the time of the current thread.
    /// `goes_on`: it has woken others before.
    pub(super) fn interrupts(&mut self, current: u32, cpu: CpuId, woken: u32, goes_on: bool) {
        self.account(current, cpu, self.costs.wake_before);
        let by_list = self.seems_to_use_wake_list(cpu, woken);
        let saved = if by_list { self.costs.wake_list } else { 0 };
        self.live(woken).waker_saved = saved;
        let irq = if goes_on { 0 } else { self.costs.irq };
        let rest = self.costs.wake_after - saved + irq;
        self.live(current).owe(rest);
    }

    /// A thread comes. If an interrupt on this CPU has just woken it, it runs as soon as the
    /// interrupt lets it. What that took longer than the paths do, from its last wake-up on, was
    /// spent in the interrupt, at the cost of the thread that it hit. (That one may have been in a
    /// system call of a kernel that does not preempt it there: nothing tells.)
    pub(super) fn may_come_from_interrupt(
        &mut self,
        thread: u32,
        cpu: CpuId,
        left: Option<(u32, bool)>,
    ) {
        let idled = self.curr(cpu) == Curr::Idle;
        let way = if idled { self.costs.from_idle } else { self.costs.irq_preempts };
        let waited = self.now - self.cpus[cpu].woke;
        let live = &self.lives[thread as usize];
        let was_asleep = live.woken && live.ended_by_interrupt == Some(live.thread.acts.end());
        let at_once = match live.woken_by {
            Some((hit, None)) => left == Some((hit, false)),
            Some((_, Some(_))) => false,
            None => idled && left.is_none(),
        };
        let is_here = was_asleep && at_once && live.woken_from == Some(cpu);
        if !is_here || waited <= way || waited > HAND_OVER_NS {
            return;
        }
        self.live(thread).thread.acts.push(Act::InIrq(waited - way));
        if let Some((hit, _)) = left {
            self.live(hit).owe(waited - way);
        }
    }

    /// Something outside of all threads ends a thread's sleep: a device, or a timer. The CPU that
    /// it interrupts has come out of idle, and into the interrupt, before anybody could see it. A
    /// device interrupts its CPU wherever the thread sleeps.
    pub(super) fn outside_ends(&mut self, thread: u32, cpu: CpuId, ends: Ns, by: Outside) {
        let Outside { timed, device, early } = by;
        let before = self.idle_exit(cpu, ends) + self.costs.irq_before;
        // An idle CPU was interrupted no sooner than it idled.
        let idles_since = if self.curr(cpu) == Curr::Idle { self.cpus[cpu].seen } else { 0 };
        let by_tick = self.ticks_of(thread, ends);
        let Doing::Asleep { since, how } = self.live(thread).doing else {
            return;
        };
        let mut at = ends.saturating_sub(before).max(idles_since);
        if early.is_some() {
            let batch = &mut self.cpus[cpu].batch;
            batch.fired = if batch.n == 1 { at } else { batch.fired };
            at = batch.fired;
        }
        let at = at.max(since);
        let live = self.live(thread);
        // The timer is set, and the disk asked, before the thread leaves its CPU.
        let set_at = live.set_at.min(since);
        live.sleeps(how);
        let for_disk = how == SleepState::Uninterruptible;
        if !live.woken && (for_disk || at > 0) {
            live.thread.acts.push(Act::Unseen);
        }
        if let Some(cpu) = device
            && (for_disk || at > 0)
        {
            live.thread.acts.push(Act::Interrupts(cpu));
        }
        if for_disk {
            live.thread.acts.push(Act::For(at - set_at));
        } else if at > 0 {
            // All that come with a tick come with one in a replay, too.
            let at = by_tick.map_or(at, |(_, tick)| tick.max(since));
            if let Some((ticks, _)) = by_tick {
                live.thread.acts.push(Act::AtTick(ticks));
            } else if let Some(early) = early {
                live.thread.acts.push(Act::Early(early));
            }
            live.thread.acts.push(Act::Timer { at, length: at - set_at, timed });
        }
        live.ended_by_interrupt = Some(live.thread.acts.end());
        (live.doing, live.woken_by) = (Doing::Runnable { since: ends.max(since) }, None);
    }

    /// A thread is woken at this instant, and a thread has not done that. True if a timer of the
    /// wheel has: those of kernel threads end with ticks, and half of this one's sleeps at least
    /// have done so, far more than by chance.
    pub(super) fn wheel_ends(&mut self, thread: u32, event: &Event<'_>) -> bool {
        let is_kthread = self.live(thread).thread.kthread;
        let Some(ticks) = self.ticks.as_mut().filter(|_| is_kthread) else {
            return false;
        };
        let at_tick = event.context != Some(Context::Task) && ticks.come_at(event.at);
        self.live(thread).kernel_wakes.see(at_tick)
    }

    /// For how many ticks a thread has slept that is woken at this instant, and when the last one
    /// came, if the wheel's timer has woken it.
    fn ticks_of(&mut self, thread: u32, at: Ns) -> Option<(u32, Ns)> {
        let (ticks, first) = (self.ticks?, self.first?);
        let live = self.live(thread);
        let by_wheel = live.woken && live.kernel_wakes.by_wheel;
        let (by_wheel, Doing::Asleep { since, .. }) = (by_wheel, live.doing) else {
            return None;
        };
        let n = ticks.between(first + since, first + at).try_into().unwrap_or(u32::MAX);
        by_wheel.then(|| (n, ticks.tick_of(first + at).saturating_sub(first)))
    }

    /// An interrupt wakes a thread. How long before it had to, ns, if it is that of a user thread's
    /// high-resolution timer: one interrupt runs all timers whose slack has begun, in the order in
    /// which they have to fire (`__hrtimer_run_queues()`, v6.12). So the first one has to by now,
    /// unless a tick has brought it along, and the others are spread over the slack. How many there
    /// are the interrupt before tells. (Real-time threads have no slack, and how kernel threads
    /// have it depends on who set their timers.) A text does not tell interrupts from each other:
    /// there a sleep has to look like a timer's.
    pub(super) fn early(&mut self, thread: u32, event: &Event<'_>, repeats: bool) -> Option<Ns> {
        let is_timer = event.context.map_or(repeats, |context| context == Context::Hardirq);
        let is_fair = matches!(event.what, What::Wake { prio, .. } if prio >= MAX_RT_PRIO);
        let (now, live) = (self.now, self.live(thread));
        let for_disk = matches!(live.doing, Doing::Asleep { how: SleepState::Uninterruptible, .. });
        if !is_timer || !is_fair || for_disk || live.thread.kthread {
            return None;
        }
        let batch = &mut self.cpus[event.cpu].batch;
        if !batch.goes_on(now) {
            batch.end();
        }
        let nth = batch.n;
        (batch.n, batch.at) = (nth + 1, now);
        Some(TIMER_SLACK_NS * Ns::from(nth) / Ns::from(batch.n.max(batch.before)))
    }

    /// The CPU of an event that ends a thread's sleep, if it is a device's interrupt, which comes
    /// there wherever the thread sleeps. Timers fire where they were set, as a rule. A disk may
    /// have a queue for each CPU, and interrupt the one that asked it: where sleeps for disks end
    /// on other CPUs as well, this one does not.
    pub(super) fn device_of(&mut self, thread: u32, event: &Event<'_>) -> Option<CpuId> {
        let by_task = event.context == Some(Context::Task);
        if by_task || self.curr(event.cpu) == Curr::Stopper {
            return None;
        }
        let live = self.live(thread);
        let left = live.left.filter(|_| live.thread.bound_to.is_none())?;
        let disk = matches!(live.doing, Doing::Asleep { how: SleepState::Uninterruptible, .. });
        let elsewhere = left != event.cpu;
        let ends = &mut self.disk_ends;
        ends.all += u64::from(disk);
        ends.elsewhere += u64::from(disk && elsewhere);
        let by_disk = disk && ends.elsewhere * ELSEWHERE_PART >= ends.all;
        (elsewhere || by_disk).then_some(event.cpu)
    }

    /// What this CPU has taken out of idle at an interrupt, if it idled, ns. Its event before was
    /// the switch to idle, or another interrupt, for which it was out of idle.
    fn idle_exit(&self, cpu: CpuId, at: Ns) -> Ns {
        match self.curr(cpu) {
            Curr::Idle => self.costs.idle_exit(at.saturating_sub(self.cpus[cpu].seen)),
            _ => 0,
        }
    }

    /// A task comes that another CPU has woken just now, in the place of one that could go on: the
    /// interrupt that told so was in the time of that one.
    pub(super) fn may_be_told_by_ipi(&mut self, cpu: CpuId, next: Named<'_>) {
        let next = self.by_tid.get(&next.tid).map(|thread| &self.lives[*thread as usize]);
        let told = next.is_some_and(|next| match next.doing {
            Doing::Runnable { since } if self.now - since <= HAND_OVER_NS => {
                next.woken_from.is_some_and(|from| from != cpu)
            }
            _ => false,
        });
        if let Some(current) = self.running(cpu)
            && told
        {
            let irq = self.costs.irq;
            self.live(current).owe(irq);
        }
    }

    /// Whoever wakes a thread for an idle CPU puts it on that one's wake list (`ttwu_queue_cond()`,
    /// v6.0 and later) and leaves the rest to it.
    pub(super) fn may_come_from_wake_list(&mut self, thread: u32, cpu: CpuId) {
        let live = self.live(thread);
        let by_another = !live.enqueued_by_waker && live.woken_from.is_some_and(|from| from != cpu);
        let taken_for = std::mem::take(&mut live.waker_saved);
        let Some((waker, place)) = live.woken_by else {
            return;
        };
        if !by_another || self.curr(cpu) != Curr::Idle {
            return self.live(waker).owe(taken_for);
        }
        let saved = self.costs.wake_list;
        let waker = self.live(waker);
        waker.owes_less(saved - taken_for);
        // An interrupt in the time of a thread is no act of it.
        if let Some(place) = place {
            waker.thread.acts.make_to_idle(place);
        }
    }

    /// True if a thread that is woken on this CPU has slept on another one, which idles. That one
    /// takes it, as a rule. Who wakes it may sleep before it is seen to run.
    pub(super) fn seems_to_use_wake_list(&self, cpu: CpuId, thread: u32) -> bool {
        let live = &self.lives[thread as usize];
        let asleep = matches!(live.doing, Doing::Asleep { .. });
        // The first wake-up may name a CPU that the machine does not have.
        let idles = |left| left != cpu && self.has_cpu(left) && self.curr(left) == Curr::Idle;
        asleep && live.left.is_some_and(idles)
    }
}

/// True if an interrupt wakes this thread, whatever task it has hit. As a rule, who waits for a
/// packet sleeps interruptibly and is no kernel thread; disks, RCU and the timer wheel wake in
/// softirqs, too.
pub(super) fn by_interrupt(event: &Event<'_>, live: &Live) -> bool {
    let uninterruptible =
        matches!(live.doing, Doing::Asleep { how: SleepState::Uninterruptible, .. });
    match event.context {
        Some(Context::Hardirq) => true,
        Some(Context::Softirq) => live.thread.kthread || uninterruptible,
        _ => false,
    }
}

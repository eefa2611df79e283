//! Wake-ups: who ends whose sleep, a thread, a timer or a device.

use super::interrupts::{Outside, by_interrupt};
use super::threads::nice;
use super::{Reconstruction, is_stopper};
use crate::replay::event::{Event, Named};
use crate::replay::sleep_pattern::{End, NOBODY};
use crate::replay::thread::{Doing, UncertainSleep};
use sim_core::{Context, Ns, SleepState};
use topology::CpuId;
use workloads::replay::{Act, Timed};

/// What the end of a sleep tells that no thread need have ended.
#[derive(Clone, Copy)]
struct Ended {
    /// A timer ended it, or a device.
    is_timer: bool,
    timed: Timed,
}

impl Reconstruction {
    /// A thread is woken, to run on this CPU; `new`: for the first time.
    pub(super) fn woken(
        &mut self,
        event: &Event<'_>,
        task: Named<'_>,
        prio: i32,
        target: CpuId,
        new: bool,
    ) -> Result<(), String> {
        let cpu = event.cpu;
        if task.tid == 0 || is_stopper(task) {
            return Ok(());
        }
        if new
            && !self.by_tid.contains_key(&task.tid)
            && let Some(parent) = self.running(cpu)
        {
            // The fork itself was not recorded.
            self.starts(parent, cpu, task)?;
        }
        if target.idx() < self.cpus.len() {
            self.cpus[target].woken = self.now;
        }
        let (thread, now) = (self.meet(task, prio, target)?, self.now);
        let timed = self.timed.iter().any(|name| name == task.comm);
        self.live(thread).woken_to = Some(target);
        if matches!(self.live(thread).doing, Doing::New | Doing::Asleep { .. }) {
            self.live(thread).woken = true;
            self.live(thread).woken_from = Some(cpu);
            self.cpus[cpu].woke = now;
        }
        match self.live(thread).doing {
            Doing::New => {
                let live = self.live(thread);
                live.begins_with(nice(prio));
                live.doing = Doing::Runnable { since: now };
                // `wake_up_new_task()` is a part of the fork's cost, not of the parent's work.
                self.scheduler_worked(cpu, 0);
            }
            // The second event of the wake-up: `sched_waking` came before, this is `sched_wakeup`.
            // In between the waker's CPU chose a CPU and enqueued the task.
            Doing::Runnable { .. } => {
                let waker = self.live(thread).woken_by.map(|(waker, _)| waker);
                if waker.is_some() && waker == self.running(cpu) {
                    let live = self.live(thread);
                    live.enqueued_by_waker = true;
                    let saved = std::mem::take(&mut live.waker_saved);
                    self.scheduler_worked(cpu, self.costs.wake_after - saved);
                }
            }
            Doing::Asleep { .. } => self.sleep_ends(thread, event, timed)?,
            Doing::Running(elsewhere) if elsewhere != cpu => {
                self.woken_early(thread, event, timed);
            }
            _ => {}
        }
        Ok(())
    }

    /// A sleep ends. `timed`: only timers and devices end the thread's sleeps.
    fn sleep_ends(&mut self, thread: u32, event: &Event<'_>, timed: bool) -> Result<(), String> {
        let (cpu, now) = (event.cpu, self.now);
        let Doing::Asleep { since, how } = self.live(thread).doing else {
            return Ok(());
        };
        let current = self.running(cpu).filter(|current| *current != thread);
        let end = self.how_ends(thread, event, current, since);
        // A text does not tell a tick from the thread that it hit.
        let by_tick = self.wheel_ends(thread, event) && event.context.is_none();
        let is_timer = timed || by_tick || end.is_some_and(|end| end.is_timer);
        let Some(waker) = current.filter(|_| !is_timer) else {
            let device = self.device_of(thread, event);
            let repeats = timed || end.is_some_and(|end| end.timed == Timed::Usual);
            // A device, and what a softirq does, comes after the timers' interrupt.
            let is_other = device.is_some() || event.context == Some(Context::Softirq);
            let early = if is_other { None } else { self.early(thread, event, repeats) };
            if is_other {
                self.cpus[cpu].batch.end();
            }
            if let Some(current) = current {
                self.interrupts(current, cpu, thread, early.is_some_and(|ns| ns > 0));
            }
            let timed = end.map_or(Timed::Until, |end| end.timed);
            self.outside_ends(thread, cpu, now, Outside { timed, device, early });
            self.live(thread).woken_by = current.map(|current| (current, None));
            return Ok(());
        };
        self.cpus[cpu].batch.end();
        self.goes_by(waker, event)?;
        let (wake, wait) = self.wakes(waker, cpu, thread, how);
        if end.is_some() && how != SleepState::Uninterruptible {
            let (at, length) = (now, now - since);
            let set_at = self.live(thread).set_at.min(since);
            let sleep = UncertainSleep { wait, waker, wake, at, length, set_at };
            self.live(thread).note_uncertain(sleep);
        }
        Ok(())
    }

    /// A thread is woken that still runs on another CPU. It is on its way to sleep: a wake-up of
    /// any other thread is not traced (`try_to_wake_up()`). It may find that it need not sleep.
    fn woken_early(&mut self, thread: u32, event: &Event<'_>, timed: bool) {
        let now = self.now;
        let live = self.live(thread);
        // The second event of the wake-up (`ttwu_runnable()`) tells nothing new.
        let (Doing::Running(cpu), None) = (live.doing, live.woken_early.replace(now)) else {
            return;
        };
        let outside = timed || by_interrupt(event, live);
        let how = live.sleep_state();
        // If no thread woke it, the sleep just does not take place.
        if let Some(waker) = self.running(event.cpu).filter(|_| !outside) {
            self.account(thread, cpu, 0);
            self.flush(thread);
            self.live(thread).thread.acts.push(Act::OnItsWay);
            self.wakes(waker, event.cpu, thread, how);
            self.live(thread).doing = Doing::Running(cpu);
        }
    }

    /// What the end of a sleep looks like beside the thread's earlier ones; `None` if it is no
    /// timer for another reason. A timer fires on the CPU where its thread went to sleep. And a
    /// parent that a child wakes has waited for it: children take equally long, as timers do.
    fn how_ends(
        &mut self,
        thread: u32,
        event: &Event<'_>,
        waker: Option<u32>,
        since: Ns,
    ) -> Option<Ended> {
        let (context, now) = (event.context, self.now);
        let by_a_child = waker.is_some_and(|waker| self.live(waker).parent == Some(thread));
        let live = self.live(thread);
        let (by_interrupt, is_kthread) = (by_interrupt(event, live), live.thread.kthread);
        let elsewhere = live.left != Some(event.cpu);
        if context == Some(Context::Task) || !by_interrupt && (elsewhere || by_a_child) {
            live.last_timed = Timed::Until;
            let pattern = live.pattern.get_or_insert_default();
            pattern.other_end(now - since, elsewhere);
            return None;
        }
        let pattern = live.pattern.get_or_insert_default();
        let end = pattern.sleep_ends(now - since, now, waker.unwrap_or(NOBODY));
        // hrtimers wake in the interrupt itself, devices mostly in a softirq. The former are set by
        // `nanosleep()` and by timeouts, for a time, unless their thread keeps a rhythm.
        let hrtimer = context == Some(Context::Hardirq) && !is_kthread && !end.in_rhythm;
        let timed = match end {
            End { repeats: true, .. } => Timed::Usual,
            _ if hrtimer => Timed::For,
            _ => Timed::Until,
        };
        self.live(thread).last_timed = timed;
        Some(Ended { is_timer: end.is_timer || by_interrupt, timed })
    }

    /// A thread wakes another one. Returns the places of the wake-up and of the wait among their
    /// acts.
    fn wakes(&mut self, waker: u32, cpu: CpuId, thread: u32, how: SleepState) -> (usize, usize) {
        self.account(waker, cpu, self.costs.wake_before);
        self.live(waker).split_work();
        self.flush(waker);
        self.message(waker, thread);
        let by_list = self.seems_to_use_wake_list(cpu, thread);
        let saved = if by_list { self.costs.wake_list } else { 0 };
        let (after, now) = (self.costs.wake_after - saved, self.now);
        let in_turns = self.talk_in_turns(thread, waker);
        let by = self.live(waker);
        let wake = by.thread.acts.end();
        by.thread.acts.push(Act::Wake { thread, sync: false, to_idle: false });
        by.last_wake = Some((thread, by.thread.acts.end()));
        by.owe(after);
        let live = self.live(thread);
        live.sleeps(how);
        let wait = live.thread.acts.end();
        live.thread.acts.push(if in_turns { Act::Answer } else { Act::Wait });
        live.doing = Doing::Runnable { since: now };
        live.woken_by = Some((waker, Some(wake)));
        live.waker_saved = saved;
        (wake, wait)
    }
}

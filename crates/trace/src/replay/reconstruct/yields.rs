//! Threads that give their CPU up though they could go on.
//!
//! A yield to another thread is a switch. A yield of a thread that is alone on its CPU is no event
//! of its own, but `schedule()` charges the thread (`sched_stat_runtime`), and no tick, wake-up,
//! fork or switch beside the charge says why.

use super::{Reconstruction, is_own_charge};
use crate::replay::event::{Event, What};
use sim_core::Ns;
use topology::CpuId;
use workloads::replay::Act;

/// A thread that gives its CPU up while it could go on was preempted if another one was woken there
/// so short a time before, or if it had run for so long that a tick may have ended its slice, ns.
/// Otherwise it yields.
const PREEMPTED_WITHIN_NS: Ns = 100_000;
const SLICE_AT_LEAST_NS: Ns = 500_000;
/// Other calls charge a thread as well (`clock_gettime()` of its CPU time), so it has to have
/// yielded to others that often before, and as often as one in so many times that it left its CPU.
const YIELDS_MIN: u32 = 16;
const YIELDS_PART: u32 = 4;
/// A tick comes so much sooner or later than a period after another one, ns.
const TICK_JITTER_NS: Ns = 30_000;

impl Reconstruction {
    /// A task that could go on lets others run after so long on this CPU. If nothing is to be seen
    /// that would have preempted it, it yields.
    pub(super) fn may_yield(&mut self, thread: u32, cpu: CpuId, ran: Ns) {
        let since_wake_up = self.now - self.cpus[cpu].woken;
        let was_woken = self.cpus[cpu].woken > 0 && since_wake_up < ran.min(PREEMPTED_WITHIN_NS);
        if ran >= SLICE_AT_LEAST_NS || was_woken {
            return;
        }
        self.flush(thread);
        let live = self.live(thread);
        live.yields = live.yields.saturating_add(1);
        live.thread.acts.push(Act::Yield);
    }

    /// The running thread is charged for this time. Nothing else has happened on its CPU since the
    /// charge before, or since it came: it may be a yield to nobody.
    pub(super) fn charged_alone(&mut self, thread: u32, cpu: CpuId, ns: Ns) {
        if ns >= SLICE_AT_LEAST_NS {
            self.cpus[cpu].tick = Some(self.now);
            return;
        }
        let (woken, by_tick) = (self.cpus[cpu].woken, self.is_tick(cpu));
        let live = self.live(thread);
        let yields_often = live.yields >= YIELDS_MIN.max(live.leaves / YIELDS_PART);
        if !yields_often || by_tick || woken > live.charged {
            return;
        }
        self.account(thread, cpu, 0);
        self.live(thread).may_have_yielded = true;
    }

    /// True if a tick comes to this CPU about now.
    fn is_tick(&self, cpu: CpuId) -> bool {
        let period = self.costs.tick_period;
        let since = self.cpus[cpu].tick.map_or(period / 2, |tick| (self.now - tick) % period);
        since.min(period - since) <= TICK_JITTER_NS
    }

    /// What the thread does next tells whether the charge before it was that of a yield to nobody,
    /// or belonged to a switch.
    pub(super) fn may_have_yielded(&mut self, event: &Event<'_>) {
        let Some(thread) = self.running(event.cpu) else {
            return;
        };
        let (live, pick) = (&mut self.lives[thread as usize], self.costs.pick);
        if !live.may_have_yielded {
            return;
        }
        let is_its_own = event.tid == Some(live.thread.tid);
        let tells_nothing = match event.what {
            What::Other => true,
            // Newidle balance has charged the task of another CPU.
            What::Runtime { .. } => !is_own_charge(event),
            _ => false,
        };
        if is_its_own && tells_nothing {
            return;
        }
        live.may_have_yielded = false;
        if is_its_own && !matches!(event.what, What::Switch { .. } | What::Lost(_)) {
            live.owe(pick);
            self.flush(thread);
            self.live(thread).thread.acts.push(Act::Yield);
        }
    }
}

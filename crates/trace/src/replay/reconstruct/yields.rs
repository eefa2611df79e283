//! Threads that give their CPU up though they could go on.
//!
//! A yield to another thread is a switch. A yield of a thread that is alone on its CPU is no event
//! of its own, but `schedule()` charges the thread (`sched_stat_runtime`), and no tick, wake-up,
//! fork or switch beside the charge says why.

use super::Reconstruction;
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
/// yielded to others that often before.
const YIELDS_MIN: u32 = 16;

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
        let (charged, woken) = (self.live(thread).charged, self.cpus[cpu].woken);
        let live = self.live(thread);
        if live.yields < YIELDS_MIN || ns >= SLICE_AT_LEAST_NS || woken > charged {
            return;
        }
        self.account(thread, cpu, 0);
        self.live(thread).may_have_yielded = true;
    }

    /// The next event of a CPU tells whether the charge before it was that of a yield to nobody, or
    /// belonged to a switch.
    pub(super) fn may_have_yielded(&mut self, event: &Event<'_>) {
        let Some(thread) = self.running(event.cpu) else {
            return;
        };
        let pick = self.costs.pick;
        let live = self.live(thread);
        let leaves = matches!(event.what, What::Switch { .. } | What::Lost(_));
        if std::mem::take(&mut live.may_have_yielded) && !leaves {
            live.owe(pick);
            self.flush(thread);
            self.live(thread).thread.acts.push(Act::Yield);
        }
    }
}

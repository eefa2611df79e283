//! A CPU that tells others, or itself, to schedule (`scx_bpf_kick_cpu`).
//!
//! A kick is a wish at first. An interrupt of the kicking CPU carries it out, and thus not before
//! that CPU has interrupts on again: after the insertion that the kick belongs to, and when it
//! holds no lock of a runqueue. A CPU that is told to look for a task so finds it.
//!
//! In Linux: `scx_bpf_kick_cpu`, `kick_cpus_irq_workfn`, `ext.c` v6.12; `irq_work_queue` sends the
//! CPU an interrupt of its own. The softirq stands for that interrupt.

use super::later::Kicking;
use super::state::State;
use super::types::Kick;
use sim_core::{LockId, Site, Step, TaskId, World};
use topology::CpuId;

/// `kick_one_cpu()`, `kick_one_cpu_if_idle()`: the runqueue of the kicked CPU.
pub const KICK_RQ_LOCK: &Site = &Site::new(23, "kick_rq_lock", Site::RQ_LOCKS);

impl State {
    /// `scx_bpf_kick_cpu`: the executing CPU shall kick `cpu`.
    pub fn kick_cpu(&mut self, w: &mut World, cpu: CpuId, kick: Kick) {
        // `raw_spin_rq_trylock`: the CPU is left alone only if its runqueue can be looked at now.
        let this = w.this;
        let lock = LockId::rq(cpu);
        if kick == Kick::Idle && w.locks.owner(lock).is_none() {
            let last = w.locks.last_owner(lock).unwrap_or(this);
            w.charge(w.machine.locks.fast_ns + w.line_ns(last, this));
            if !self.may_idle(w, cpu) {
                return;
            }
        }
        let kicks = &mut self.rqs[this].deferred.kicks;
        if kicks.is_empty() {
            w.charge(w.machine.costs.ipi_send_ns);
        }
        kicks.add(cpu, kick);
        w.raise_softirq(this);
    }

    /// `!can_skip_idle_kick(rq)`: the CPU idles, or asks its scheduler for a task.
    fn may_idle(&self, w: &World, cpu: CpuId) -> bool {
        w.cpus[cpu].curr == TaskId::IDLE || self.rqs[cpu].path.is_under_way()
    }

    /// The next step of carrying out `cpu`'s kicks (`kick_cpus_irq_workfn`); interrupts are off.
    pub(super) fn kick_step(&mut self, w: &mut World, cpu: CpuId) -> Step {
        let kicks = &mut self.rqs[cpu].deferred.kicks;
        match std::mem::take(&mut kicks.stage) {
            Kicking::Asleep | Kicking::Next if kicks.wanted.is_empty() => Step::Done,
            Kicking::Asleep => {
                kicks.stage = Kicking::Next;
                Step::Spend(w.machine.costs.irq_ns)
            }
            Kicking::Next => {
                let (target, kick) = kicks.wanted.remove(0);
                kicks.stage = Kicking::Locked(target, kick);
                Step::Lock(LockId::rq(target), KICK_RQ_LOCK)
            }
            Kicking::Locked(target, kick) => {
                kicks.stage = Kicking::Kicked(target);
                self.kick(w, target, kick);
                // What the lock and the interrupt cost passes before the next CPU is kicked.
                Step::Spend(0)
            }
            Kicking::Kicked(target) => {
                kicks.stage = Kicking::Next;
                Step::Unlock(LockId::rq(target))
            }
        }
    }

    /// `kick_one_cpu`, `kick_one_cpu_if_idle`
    fn kick(&mut self, w: &mut World, cpu: CpuId, kick: Kick) {
        match kick {
            Kick::Preempt => self.preempt(w, cpu),
            Kick::Idle if !self.may_idle(w, cpu) => {}
            Kick::Resched | Kick::Idle => w.resched_curr(cpu),
        }
    }
}

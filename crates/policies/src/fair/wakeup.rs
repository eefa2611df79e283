//! Where a waking task runs: `select_task_rq_fair`.
//!
//! First the choice between the waker's and the wakee's last CPU (`wake_affine`), then the search
//! for an idle CPU near the winner (`wakeup::idle`, `wakeup::node`). A waker of many tasks, or a
//! task with many wakers, is left where its cache is (`wake_wide`). Energy-aware placement is left
//! out.

mod idle;
mod node;
#[cfg(test)]
mod tests;

use super::queue::Discipline;
use super::state::{Fair, Wakee, reasons};
use sim_core::{Choice, Ns, Policy, SelectKind, TaskId, World};
use topology::{CpuId, SdFlags};

impl<S: Discipline> Fair<S> {
    /// `select_task_rq_fair`, executed on `w.this`.
    pub(crate) fn select(&mut self, w: &mut World, p: TaskId, kind: SelectKind) -> Choice {
        let prev = w.tasks[p].wake_cpu;
        match kind {
            SelectKind::Wake { sync, in_irq } => self.select_wake(w, p, sync, in_irq),
            SelectKind::Search { target } => self.search_llc(w, p, target),
            SelectKind::Fork => self.select_idlest(w, p, prev, SdFlags::BALANCE_FORK),
            SelectKind::Exec => self.select_idlest(w, p, prev, SdFlags::BALANCE_EXEC),
        }
    }

    fn select_wake(&mut self, w: &mut World, p: TaskId, sync: bool, in_irq: bool) -> Choice {
        let this = w.this;
        let prev = w.tasks[p].wake_cpu;
        let current = w.cpus[this].curr;
        self.record_wakee(w, current, p);
        let mut target = prev;
        if this != prev && !self.wake_wide(this, current, p) && w.allowed(p, this) {
            // A waker that exits will not sleep after its SYNC wake-up: it is on its way out.
            let exiting = current.is_task() && w.tasks[current].exiting;
            target = self.wake_affine(w, p, prev, sync && !exiting);
        }
        self.select_idle_sibling(w, p, target, in_irq)
    }

    /// The highest domain up to which every domain balances at this event, then the slow path,
    /// which is kept out of what each wake-up runs through.
    #[inline(never)]
    fn select_idlest(&mut self, w: &mut World, p: TaskId, prev: CpuId, flag: u32) -> Choice {
        let this = w.this;
        let domains = &w.machine.domains;
        let balances = |level: usize| {
            let link = domains.chains[this][level];
            domains.domains[link.domain].flags.has(flag)
        };
        let n_levels = domains.chains[this].len();
        let level = (0..n_levels).take_while(|l| balances(*l)).last();
        let (cpu, scan_ns) = match level {
            Some(level) => self.find_idlest_cpu(w, p, prev, level, flag),
            None => (prev, 0),
        };
        let idle = w.cpus[cpu].idle;
        w.note_placed(p, if idle { reasons::TAKEN_MEANWHILE } else { reasons::IDLEST_IS_BUSY });
        Choice { cpu, scan_ns }
    }

    fn wakee(&self, this: CpuId, current: TaskId) -> &Wakee {
        if current.is_task() { &self.tasks[current].wakee } else { &self.rqs[this].idle_wakee }
    }

    /// `record_wakee`: counts how often `current` turns to another wakee, forgetting half of it
    /// every second.
    fn record_wakee(&mut self, w: &World, current: TaskId, p: TaskId) {
        let hz = self.topo.hz;
        let wakee = if current.is_task() {
            &mut self.tasks[current].wakee
        } else {
            &mut self.rqs[w.this].idle_wakee
        };
        // "jiffies > flip_ts + HZ", with the product kept instead of the quotient.
        if wakee.decay_due <= w.now {
            wakee.flips >>= 1;
            wakee.decay_due = (w.jiffies() + hz + 1) * w.tick_ns();
        }
        if wakee.last != p {
            wakee.last = p;
            wakee.flips += 1;
        }
    }

    /// When the flips of a waker that has existed since boot are halved for the first time.
    pub(crate) fn first_flip_decay(&self, w: &World) -> Ns {
        (self.topo.hz + 1) * w.tick_ns()
    }

    /// `wake_wide`: so many wakees on one side and wakers on the other that one LLC cannot hold
    /// them all.
    fn wake_wide(&self, this: CpuId, current: TaskId, p: TaskId) -> bool {
        let mine = self.wakee(this, current).flips;
        let theirs = self.tasks[p].wakee.flips;
        is_wide(mine, theirs, self.topo.llc_size[this])
    }

    /// `wake_affine`: this CPU or `prev`, which differ; `prev` if no WAKE_AFFINE domain of this
    /// CPU spans it.
    fn wake_affine(&mut self, w: &mut World, p: TaskId, prev: CpuId, sync: bool) -> CpuId {
        let this = w.this;
        let Some((level, imbalance_pct)) = affine_domain(w, this, prev) else {
            return prev;
        };
        let by_idleness = match self.features.wa_idle {
            true => self.wake_affine_idle(w, this, prev, sync),
            false => None,
        };
        let by_weight =
            |f: &mut Self, w: &mut World| f.wake_affine_weight(w, p, prev, sync, imbalance_pct);
        let target = match by_idleness {
            Some(target) => target,
            None if self.features.wa_weight && by_weight(self, w) => this,
            None => prev,
        };
        w.stat.sd_mut(this, level).ttwu_move_affine += u64::from(target == this);
        target
    }

    /// `wake_affine_idle`
    fn wake_affine_idle(
        &self,
        w: &mut World,
        this: CpuId,
        prev: CpuId,
        sync: bool,
    ) -> Option<CpuId> {
        w.look_at_rq(prev);
        let (here, there) = (&w.cpus[this], &w.cpus[prev]);
        if here.idle && self.topo.share_cache(this, prev) {
            // An interrupt on an idle CPU says nothing about where the data is.
            return Some(if there.idle { prev } else { this });
        }
        let mut nr_running = here.nr_running;
        if S::DELAYS && self.discipline.kernel().sync_ignores_delayed {
            nr_running -= here.nr_delayed;
        }
        // Only the waker is there, and it says that it will sleep.
        if sync && nr_running == 1 {
            return Some(this);
        }
        there.idle.then_some(prev)
    }

    /// `wake_affine_weight`: would this CPU be less loaded with `p` than `prev` is with it?
    fn wake_affine_weight(
        &mut self,
        w: &mut World,
        p: TaskId,
        prev: CpuId,
        sync: bool,
        imbalance_pct: u32,
    ) -> bool {
        let this = w.this;
        self.catch_up(w, prev);
        let current = w.cpus[this].curr;
        let mut here = self.cpu_load(this) as i64;
        if sync {
            let waker = S::task_h_load(self, w, this, current) as i64;
            // Without the waker this CPU has no load.
            if waker > here {
                return true;
            }
            here -= waker;
        }
        // Capacities are equal on both sides, so they are left out, but for the scale of `sync`.
        let capacity = 1024;
        let from = w.tasks[p].cpu;
        if from != prev {
            self.catch_up(w, from);
        }
        let load = S::task_h_load(self, w, from, p) as i64;
        let (mut a, mut b) = (here + load, self.cpu_load(prev) as i64 - load);
        if self.features.wa_bias {
            a *= 100;
            // WA_BIAS: the task stays at `prev` unless this CPU is clearly less loaded.
            b *= 100 + (i64::from(imbalance_pct) - 100) / 2;
        }
        a * capacity < b * capacity + i64::from(sync)
    }
}

/// The decision of `wake_wide` on both sides' flips.
fn is_wide(a: u32, b: u32, llc_size: u32) -> bool {
    let (many, few) = (a.max(b), a.min(b));
    few >= llc_size && u64::from(many) >= u64::from(few) * u64::from(llc_size)
}

/// The level of the lowest WAKE_AFFINE domain of `this` that spans `prev`, and its
/// `imbalance_pct`.
fn affine_domain(w: &World, this: CpuId, prev: CpuId) -> Option<(usize, u32)> {
    let domains = &w.machine.domains;
    domains.chains[this]
        .iter()
        .map(|link| &domains.domains[link.domain])
        .enumerate()
        .find(|(_, d)| d.flags.has(SdFlags::WAKE_AFFINE) && d.span.contains(prev))
        .map(|(level, d)| (level, d.imbalance_pct))
}

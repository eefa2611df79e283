//! Ticks: their edges, and those that pass in the middle of a segment.

use super::World;
use crate::Ns;
use crate::cpu::Base;
use crate::engine::stretch;
use topology::CpuId;

impl World {
    /// floor(now * HZ / 1e9): the kernel's jiffies.
    #[inline]
    pub fn jiffies(&self) -> u64 {
        self.ticks_in(self.now)
    }

    /// `t / tick_ns` without a division: the multiplication is short by at most one.
    #[inline]
    fn ticks_in(&self, t: Ns) -> u64 {
        let q = ((u128::from(t) * u128::from(self.times.tick_inverse)) >> 64) as u64;
        q + u64::from(t - q * self.times.tick_ns >= self.times.tick_ns)
    }

    /// Length of a tick period, ns.
    #[inline]
    pub fn tick_ns(&self) -> Ns {
        self.times.tick_ns
    }

    /// The next tick edge of `cpu` strictly after `t`.
    #[inline]
    pub fn tick_after(&self, cpu: CpuId, t: Ns) -> Ns {
        // With a skew the CPUs do not all tick at one instant (the kernel's `skew_tick=1`).
        let skew = match self.machine.tick_skew_ns {
            0 => 0,
            skew => skew * u64::from(cpu.0) % self.times.tick_ns,
        };
        if t < skew { skew } else { (self.ticks_in(t - skew) + 1) * self.times.tick_ns + skew }
    }

    /// `cpu` leaves idle: its tick runs again if it was stopped.
    #[inline]
    pub(crate) fn start_tick(&mut self, cpu: CpuId) {
        if self.cpus[cpu].tick_stopped {
            self.cpus[cpu].tick_stopped = false;
            self.cpus[cpu].tick_next = self.tick_after(cpu, self.now);
        }
    }

    /// Lets `tick` account for each tick edge of `cpu` that has passed in the middle of its
    /// segment, with `now` and `this` as they were then: [`crate::Policy::catch_up`].
    #[inline]
    pub fn replay_ticks(&mut self, cpu: CpuId, mut tick: impl FnMut(&mut Self)) {
        let (now, this) = (self.now, self.this);
        while self.missed_tick(cpu) {
            let edge = self.take_light_tick(cpu);
            (self.now, self.this) = (edge, cpu);
            tick(self);
            (self.now, self.this) = (now, this);
        }
    }

    /// A tick edge of `cpu` has passed in the middle of its segment.
    #[inline]
    pub(crate) fn missed_tick(&self, cpu: CpuId) -> bool {
        let c = &self.cpus[cpu];
        c.tick_next <= self.now && c.base == Base::Work && c.depth == 0
    }

    /// Takes the oldest tick edge that `cpu` has missed: brings the segment up to it, charges the
    /// tick, and returns the edge. The caller lets the policy account for it, with `now` set to the
    /// edge.
    fn take_light_tick(&mut self, cpu: CpuId) -> Ns {
        let c = &self.cpus[cpu];
        // An edge inside an irq-off path is taken at the end of that path. Several such edges
        // become one tick.
        let tick_next = c.tick_next;
        let edge = tick_next.max(c.since);
        self.advance(cpu, edge);
        let on_time = edge == tick_next;
        let next = if on_time { edge + self.times.tick_ns } else { self.tick_after(cpu, edge) };
        let cost = self.machine.costs.tick_ns;
        let c = &mut self.cpus[cpu];
        // The tick's own time passes before the segment goes on.
        c.stall += stretch(cost, c.speed);
        c.tick_next = next;
        c.ticks += 1;
        c.tick_untold = true;
        self.sample_clock(cpu, edge);
        edge
    }
}

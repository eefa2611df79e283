//! `clock_pelt`: the clock by which averages are updated.
//!
//! PELT is to count work, not time: a CPU that runs at half its highest frequency shall look half
//! as busy. So while a CPU is busy its PELT clock runs at `arch_scale_freq_capacity()` of 1024
//! (Linux v6.1, `update_rq_clock_pelt()`), and where it goes idle the clock catches up: what was
//! stolen counts as idle time. A queue that is saturated at that moment has no idle time to give
//! away; there the difference is forgotten (`lost_idle_time`).

use sim_core::{NEVER, Ns};

/// `arch_scale_freq_capacity()` of a CPU at its highest frequency.
pub const FULL_SCALE: u32 = 1024;

/// A `util_sum` from here on is that of a CPU without idle time: `update_idle_rq_clock_pelt()`.
const SATURATED: u64 = ((super::pelt::LOAD_AVG_MAX as u64 - 1024) << 10) - 47742;

/// The PELT clock of a runqueue.
#[derive(Clone, Copy, Debug)]
pub struct PeltClock {
    /// When the CPU last began to be busy; [`NEVER`] while the idle task runs.
    busy_since: Ns,
    /// `lost_idle_time`
    lost: Ns,
}

impl Default for PeltClock {
    fn default() -> Self {
        Self { busy_since: NEVER, lost: 0 }
    }
}

impl PeltClock {
    /// `rq_clock_pelt()` at `now`, which runs at `scale` of 1024 while the CPU is busy.
    #[inline]
    pub fn read(&self, now: Ns, scale: u32) -> Ns {
        if scale == FULL_SCALE {
            return now;
        }
        self.at_scale(now, scale)
    }

    /// One product from the beginning on: it does not depend on how often one looks. (The kernel
    /// cuts off a fraction of a nanosecond at each update.)
    fn at_scale(&self, now: Ns, scale: u32) -> Ns {
        if self.busy_since > now {
            return now - self.lost;
        }
        let busy = ((now - self.busy_since) * u64::from(scale)) >> 10;
        self.busy_since + busy - self.lost
    }

    /// Another task than the idle one runs from now on.
    #[inline]
    pub fn leave_idle(&mut self, now: Ns) {
        self.busy_since = now;
    }

    /// `update_idle_rq_clock_pelt()`: the idle task runs from now on; the queue's utilization was
    /// `util_sum`.
    pub fn enter_idle(&mut self, now: Ns, scale: u32, util_sum: u64) {
        if util_sum >= SATURATED {
            self.lost = now - self.read(now, scale);
        }
        self.busy_since = NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    #[test]
    fn at_full_scale_it_is_the_clock() {
        let mut clock = PeltClock::default();
        clock.leave_idle(5 * MS);
        assert_eq!(clock.read(9 * MS, FULL_SCALE), 9 * MS);
        clock.enter_idle(9 * MS, FULL_SCALE, u64::MAX);
        assert_eq!(clock.read(10 * MS, FULL_SCALE), 10 * MS);
    }

    #[test]
    fn it_runs_slower_while_busy_and_catches_up_in_idle() {
        let mut clock = PeltClock::default();
        assert_eq!(clock.read(MS, 512), MS);
        clock.leave_idle(MS);
        assert_eq!(clock.read(3 * MS, 512), 2 * MS);
        clock.enter_idle(3 * MS, 512, 0);
        assert_eq!(clock.read(3 * MS, 512), 3 * MS);
    }

    #[test]
    fn a_saturated_queue_never_gets_the_time_back() {
        let mut clock = PeltClock::default();
        clock.leave_idle(MS);
        clock.enter_idle(3 * MS, 512, SATURATED);
        assert_eq!(clock.read(3 * MS, 512), 2 * MS);
        assert_eq!(clock.read(4 * MS, 512), 3 * MS);
        clock.leave_idle(4 * MS);
        assert_eq!(clock.read(6 * MS, 512), 4 * MS);
        clock.enter_idle(6 * MS, 512, SATURATED - 1);
        assert_eq!(clock.read(6 * MS, 512), 5 * MS);
    }
}

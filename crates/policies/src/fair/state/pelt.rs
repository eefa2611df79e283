//! Per-entity load tracking: geometric averages of the recent past.
//!
//! Time is cut into periods of 1024 us; a period's contribution halves every 32 periods. The
//! integer steps are the kernel's, so results depend on *when* averages are brought up to date: an
//! average is as of its last update, and nothing here reads a clock. The clock is `clock_pelt`
//! (`pelt_clock`). `clock_task` is the simulated clock: the simulator keeps no irq time apart, and
//! capacities are equal (simplifications).

use sim_core::{Ns, Signals};

/// The sum of a full past: an entity that always was active.
pub const LOAD_AVG_MAX: u32 = 47742;
/// Smallest divider an average is ever computed with.
pub(crate) const PELT_MIN_DIVIDER: u64 = LOAD_AVG_MAX as u64 - 1024;
/// `last_update_time` of averages that belong to no runqueue: a new task, or one being migrated.
pub const DETACHED: Ns = Ns::MAX;

/// floor-like table of (2^32 - 1) * 2^(-n/32).
const RUNNABLE_AVG_YN_INV: [u32; 32] = [
    0xffff_ffff,
    0xfa83_b2da,
    0xf525_7d14,
    0xefe4_b99a,
    0xeac0_c6e6,
    0xe5b9_06e6,
    0xe0cc_deeb,
    0xdbfb_b796,
    0xd744_fcc9,
    0xd2a8_1d91,
    0xce24_8c14,
    0xc9b9_bd85,
    0xc567_2a10,
    0xc12c_4cc9,
    0xbd08_a39e,
    0xb8fb_af46,
    0xb504_f333,
    0xb123_f581,
    0xad58_3ee9,
    0xa9a1_5ab4,
    0xa5fe_d6a9,
    0xa270_4302,
    0x9ef5_325f,
    0x9b8d_39b9,
    0x9837_f050,
    0x94f4_efa8,
    0x91c3_d373,
    0x8ea4_398a,
    0x8b95_c1e3,
    0x8898_0e80,
    0x85aa_c367,
    0x82cd_8698,
];

/// PELT averages of a task or a runqueue.
#[derive(Clone, Copy, Default, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are the kernel's names")]
pub struct SchedAvg {
    pub last_update_time: Ns,
    pub load_sum: u64,
    pub runnable_sum: u64,
    pub util_sum: u64,
    pub period_contrib: u32,
    pub load_avg: u64,
    pub runnable_avg: u64,
    pub util_avg: u64,
}

/// `cfs.removed`: the averages of tasks that slept on a runqueue and woke elsewhere, or died. They
/// are part of its own until its next update.
#[derive(Clone, Copy, Default, Debug)]
pub struct Removed {
    /// How many there are.
    pub n_tasks: u32,
    /// The sum of their `load_avg`; the others likewise.
    pub load_avg: u64,
    /// `runnable_avg`
    pub runnable_avg: u64,
    /// `util_avg`
    pub util_avg: u64,
}

/// `decay_load`: `v * y^n`.
#[inline]
pub fn decay(v: u64, n: u64) -> u64 {
    // After 63 halvings nothing of 64 bits is left.
    if n > 2016 {
        return 0;
    }
    // A halving per 32 periods; the table has the steps between.
    let v = v >> (n / 32);
    let inv = u64::from(RUNNABLE_AVG_YN_INV[(n % 32) as usize]);
    if v >> 32 == 0 { (v * inv) >> 32 } else { ((u128::from(v) * u128::from(inv)) >> 32) as u64 }
}

/// What an entity did since its last update, as the factors of its contribution.
#[derive(Clone, Copy, Debug)]
pub struct Activity {
    /// A task: 1 if on the runqueue. A runqueue: its load weight.
    pub load: u64,
    /// A task: 1 if on the runqueue. A runqueue: number of its fair tasks.
    pub runnable: u64,
    /// It runs, or the runqueue's current task is a fair one.
    pub running: bool,
}

impl Activity {
    /// The activity of a task.
    #[inline]
    pub fn task(on_rq: bool, running: bool) -> Self {
        Self { load: u64::from(on_rq), runnable: u64::from(on_rq), running }
    }
}

impl SchedAvg {
    /// The averages, without their sums.
    pub fn signals(&self) -> Signals {
        let Self { util_avg, load_avg, runnable_avg, .. } = *self;
        Signals { util_avg, load_avg, runnable_avg }
    }

    /// Brings sums and averages up to `now`; true if the averages changed. The weight is the
    /// task's, or 1 for a runqueue (whose `load` is weighted already).
    #[inline]
    pub fn update(&mut self, now: Ns, activity: Activity, weight: u64) -> bool {
        // Less than 1 us has passed (or it belongs to no runqueue: DETACHED is the end of time).
        if now < self.last_update_time.saturating_add(1024) {
            return false;
        }
        let crossed = self.accumulate(now, activity);
        if crossed {
            let divider = self.divider();
            self.load_avg = weight * self.load_sum / divider;
            self.runnable_avg = self.runnable_sum / divider;
            self.util_avg = self.util_sum / divider;
        }
        crossed
    }

    /// `___update_load_sum`: true if a period boundary was crossed.
    #[inline]
    fn accumulate(&mut self, now: Ns, a: Activity) -> bool {
        let delta = (now - self.last_update_time) >> 10;
        self.last_update_time += delta << 10;
        let mut contrib = delta;
        let since_period = delta + u64::from(self.period_contrib);
        let periods = since_period / 1024;
        if periods > 0 {
            contrib = self.cross(periods, since_period % 1024);
        }
        self.period_contrib = (since_period % 1024) as u32;
        // Of an entity without load nothing counts, not even a current task on its way out.
        if a.load > 0 {
            self.load_sum += a.load * contrib;
            self.runnable_sum += (a.runnable * contrib) << 10;
            self.util_sum += (u64::from(a.running) * contrib) << 10;
        }
        periods > 0
    }

    /// Decays the sums over whole periods; returns the contribution of the interval just passed:
    /// the rest of the first period, the full ones between, and `rest` of the present one.
    fn cross(&mut self, periods: u64, rest: u64) -> u64 {
        self.load_sum = decay(self.load_sum, periods);
        self.runnable_sum = decay(self.runnable_sum, periods);
        self.util_sum = decay(self.util_sum, periods);
        let max = u64::from(LOAD_AVG_MAX);
        let first = decay(1024 - u64::from(self.period_contrib), periods);
        first + (max - decay(max, periods) - 1024) + rest
    }

    /// `get_pelt_divider`: the sum of a full past that ends inside the present period.
    #[inline]
    pub fn divider(&self) -> u64 {
        PELT_MIN_DIVIDER + u64::from(self.period_contrib)
    }

    /// `attach_entity_load_avg`: a task's averages join this runqueue's. The task takes over the
    /// runqueue's position in time.
    pub fn attach(&mut self, se: &mut SchedAvg, weight: u64) {
        let divider = self.divider();
        se.last_update_time = self.last_update_time;
        se.period_contrib = self.period_contrib;
        se.util_sum = se.util_avg * divider;
        se.runnable_sum = se.runnable_avg * divider;
        // The sum of a task is without its weight, that of a runqueue with it.
        se.load_sum = (se.load_avg * divider / weight).max(1);
        self.load_avg += se.load_avg;
        self.load_sum += weight * se.load_sum;
        self.util_avg += se.util_avg;
        self.util_sum += se.util_sum;
        self.runnable_avg += se.runnable_avg;
        self.runnable_sum += se.runnable_sum;
    }

    /// `detach_entity_load_avg`: the reverse. Rounding may have made the parts larger than the
    /// whole, and a sum never falls below what its average stands for.
    pub fn detach(&mut self, se: &mut SchedAvg, weight: u64) {
        let remove = |avg: &mut u64, sum: &mut u64, avg_part: u64, sum_part: u64| {
            *avg = avg.saturating_sub(avg_part);
            *sum = sum.saturating_sub(sum_part).max(*avg * PELT_MIN_DIVIDER);
        };
        remove(&mut self.load_avg, &mut self.load_sum, se.load_avg, weight * se.load_sum);
        remove(&mut self.util_avg, &mut self.util_sum, se.util_avg, se.util_sum);
        remove(&mut self.runnable_avg, &mut self.runnable_sum, se.runnable_avg, se.runnable_sum);
        se.last_update_time = DETACHED;
    }

    /// Takes out of a runqueue's averages those of tasks that have left it in their sleep
    /// (`update_cfs_rq_load_avg`); rounding as in [`SchedAvg::detach`].
    pub fn take_out(&mut self, gone: Removed) {
        let divider = self.divider();
        let take = |avg: &mut u64, sum: &mut u64, part: u64| {
            *avg = avg.saturating_sub(part);
            *sum = sum.saturating_sub(part * divider).max(*avg * PELT_MIN_DIVIDER);
        };
        take(&mut self.load_avg, &mut self.load_sum, gone.load_avg);
        take(&mut self.util_avg, &mut self.util_sum, gone.util_avg);
        take(&mut self.runnable_avg, &mut self.runnable_sum, gone.runnable_avg);
    }

    /// `reweight_entity`: the load of a task whose weight changes from `old` to `new`, and of this
    /// runqueue that it is part of.
    pub fn reweight(&mut self, se: &mut SchedAvg, old: u64, new: u64) {
        let before = se.load_avg;
        se.load_avg = new * se.load_sum / se.divider();
        if se.last_update_time == DETACHED {
            return;
        }
        self.load_avg = self.load_avg.saturating_sub(before);
        let rest = self.load_sum.saturating_sub(old * se.load_sum);
        self.load_sum = rest.max(self.load_avg * PELT_MIN_DIVIDER) + new * se.load_sum;
        self.load_avg += se.load_avg;
    }

    /// All that a task did has decayed.
    pub fn rest(&mut self) {
        (self.load_sum, self.load_avg) = (0, 0);
        (self.util_sum, self.util_avg) = (0, 0);
        (self.runnable_sum, self.runnable_avg) = (0, 0);
    }

    /// `post_init_entity_util_avg`: a new task gets half of what `rq` has left, at most, scaled by
    /// its weight against the load that is there: 1024 times its weight before v6.10
    /// ([`crate::fair::Rules`]).
    pub fn post_init(&mut self, rq: &SchedAvg, scaled_weight: u64) {
        let cap = 1024u64.saturating_sub(rq.util_avg) / 2;
        if cap == 0 {
            // Utilization stays zero, and runnable follows it.
        } else if rq.util_avg == 0 {
            self.util_avg = cap;
        } else {
            self.util_avg = (rq.util_avg * scaled_weight / (rq.load_avg + 1)).min(cap);
        }
        self.runnable_avg = self.util_avg;
    }
}

#[cfg(test)]
mod tests;

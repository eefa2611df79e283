//! What the menu governor remembers of a CPU's idle periods (`drivers/cpuidle/governors/menu.c`,
//! v6.4), and what it predicts from that.
//!
//! The prediction is the time to the next timer, corrected by how far such predictions were right,
//! or the typical length of the last idle periods, if they have one and it is shorter.

use crate::{NEVER, Ns};

/// Idle lengths that are remembered.
const INTERVALS: usize = 8;
/// A correction factor of one.
const UNITY: Ns = RESOLUTION * DECAY;
const RESOLUTION: Ns = 1024;
const DECAY: Ns = 8;
/// From this length on a prediction by the timer counts as perfect, ns.
const MAX_INTERESTING_NS: Ns = 50_000_000;
/// The length that an idle period counts with if only the CPU's own tick has ended it, ns. The
/// prediction that kept the tick was too short. Were the period taken at its own length, an idle
/// CPU would never stop its tick.
const CUT_BY_TICK_NS: Ns = 9 * MAX_INTERESTING_NS / 10;
/// The variance of lengths that deviate by 20 us: less is steady, us squared.
const STEADY: u64 = 400;
/// Lengths that lie within this, us, have no greater variance: that is at most a quarter of the
/// square.
pub(crate) const ALWAYS_STEADY_US: u32 = 40;
/// Longer idle periods are remembered as this, us: squares of them must not overflow.
const LONGEST_US: Ns = 1 << 29;

/// `struct menu_device`
#[derive(Clone, Debug)]
pub(crate) struct Menu {
    /// The last idle lengths, us.
    lengths: [u32; INTERVALS],
    /// Idle periods so far, counted up to 15 and then 8..15 again.
    n_periods: u8,
    /// The class of the prediction under way.
    bucket: u8,
    /// By class of prediction, in parts of [`UNITY`].
    factors: [u16; 12],
    /// The time from the beginning of the idle period to the next timer, ns.
    next_timer: Ns,
}

impl Menu {
    pub(crate) const NEW: Self = Self {
        lengths: [0; INTERVALS],
        n_periods: 0,
        bucket: 0,
        factors: [UNITY as u16; 12],
        next_timer: NEVER,
    };

    /// An idle period begins: the time to the next timer as far as it was right before, ns.
    pub(crate) fn by_timer(&mut self, next_timer: Ns, waits_for_disk: bool) -> Ns {
        self.next_timer = next_timer;
        self.bucket = bucket(next_timer, waits_for_disk);
        if next_timer == NEVER {
            return NEVER;
        }
        let factor = u64::from(self.factors[usize::from(self.bucket)]);
        // In whole us, rounded to the nearest.
        next_timer.saturating_mul(factor).saturating_add(UNITY * 500) / (UNITY * 1000) * 1000
    }

    /// The lengths that are known, us.
    #[inline]
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths[..usize::from(self.n_periods).min(INTERVALS)]
    }

    /// An idle period ends after `ns`, perhaps by the CPU's own tick (`menu_update()`).
    pub(crate) fn period_ends(&mut self, ns: Ns, by_tick: bool, tick_ns: Ns) {
        let cut = by_tick && self.next_timer > tick_ns;
        let ns = if cut { CUT_BY_TICK_NS } else { ns }.min(self.next_timer);
        let factor = &mut self.factors[usize::from(self.bucket)];
        *factor -= *factor / DECAY as u16;
        *factor += if self.next_timer > 0 && ns < MAX_INTERESTING_NS {
            (RESOLUTION * ns / self.next_timer) as u16
        } else {
            RESOLUTION as u16
        };
        self.lengths[usize::from(self.n_periods) % INTERVALS] = (ns / 1000).min(LONGEST_US) as u32;
        // 8 to 15 say that all eight places are filled, and which is the oldest.
        self.n_periods = if self.n_periods == 15 { 8 } else { self.n_periods + 1 };
    }
}

/// `which_bucket()`: the class of a prediction.
fn bucket(ns: Ns, waits_for_disk: bool) -> u8 {
    let limits = [10_000, 100_000, 1_000_000, 10_000_000, 100_000_000];
    let class = limits.into_iter().filter(|limit| ns >= *limit).count() as u8;
    class + if waits_for_disk { 6 } else { 0 }
}

/// The typical one of some idle lengths, in us: their mean if they lie close together, perhaps
/// without the longest or the two longest (`get_typical_interval()`). So one long idle period among
/// short ones does not send a CPU into a deep state. `None` if they have no pattern.
pub(crate) fn typical_us(lengths: &[u32]) -> Option<u64> {
    let all = lengths.len() as u64;
    let mut limit = u32::MAX;
    loop {
        let mut n = 0;
        let mut sum = 0;
        let mut squares = 0;
        let mut longest = 0;
        for us in lengths.iter().copied().filter(|us| *us <= limit) {
            n += 1;
            sum += u64::from(us);
            squares += u64::from(us) * u64::from(us);
            longest = us.max(longest);
        }
        let mean = sum / n.max(1);
        // The sum of the squares of the deviations from the mean, which is rounded.
        let deviation = squares + n * mean * mean - 2 * mean * sum;
        let variance = deviation / n.max(1);
        let most = 4 * n >= 3 * all;
        // Longest ones that are equal go together. If that leaves fewer than three quarters of all
        // eight, those have to be steady; of a shorter history it leaves too few.
        let steady = variance <= STEADY && n > 0 && (most || lengths.len() == INTERVALS);
        if steady || most && mean * mean > 36 * variance {
            return Some(mean);
        }
        if 4 * n <= 3 * all {
            return None;
        }
        // Once more without the longest.
        limit = longest.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn what_is_typical_lies_between_the_extremes(
            mut lengths in prop::collection::vec(0u32..=LONGEST_US as u32, 1..=INTERVALS),
            shift in 0u32..29,
        ) {
            lengths.iter_mut().for_each(|us| *us >>= shift);
            let least = u64::from(*lengths.iter().min().unwrap());
            let most = u64::from(*lengths.iter().max().unwrap());
            prop_assert!(typical_us(&lengths).is_none_or(|us| (least..=most).contains(&us)));
        }

        #[test]
        fn a_corrected_prediction_is_not_longer_than_the_time_to_the_timer(
            periods in prop::collection::vec((1u64..200_000, 1u64..200_000, any::<bool>()), 1..50),
        ) {
            let mut menu = Menu::NEW;
            for (timer_us, ns, by_tick) in periods {
                let timer = 1000 * timer_us;
                prop_assert!(menu.by_timer(timer, false) <= timer);
                menu.period_ends(1000 * ns, by_tick, 4_000_000);
            }
        }
    }

    #[test]
    fn lengths_that_lie_close_together_have_a_typical_one() {
        let far_apart = [0, 0, 0, 0, 1, 1, 1, 1].map(|far| 100 + far * ALWAYS_STEADY_US);
        assert_eq!(typical_us(&far_apart), Some(120));
        // A little further, and the longer half is left out.
        assert_eq!(typical_us(&far_apart.map(|us| us + us / 140)), Some(100));
    }

    #[test]
    fn one_or_two_long_idle_periods_are_not_typical() {
        assert_eq!(typical_us(&[6, 7, 6, 7, 6, 7, 6, 7]), Some(6));
        assert_eq!(typical_us(&[6, 7, 6, 7, 6, 4000, 6, 7]), Some(6));
        assert_eq!(typical_us(&[6, 7, 6, 900, 6, 4000, 6, 7]), Some(6));
    }

    #[test]
    fn lengths_without_a_pattern_have_no_typical_one() {
        assert_eq!(typical_us(&[6, 700, 6, 900, 6, 4000, 6, 7]), None);
        assert_eq!(typical_us(&[1000, 1100, 900, 1000]), Some(1000), "close for their size");
        assert_eq!(typical_us(&[12]), Some(12));
        assert_eq!(typical_us(&[0, 45_000]), None);
    }

    #[test]
    fn longest_ones_that_are_equal_are_left_out_together() {
        let three = [45_000; 3];
        assert_eq!(typical_us(&[&three[..], &[6, 7, 6, 7, 6]].concat()), Some(6));
        assert_eq!(typical_us(&[&three[..], &[100, 200, 300, 400, 500]].concat()), None);
    }

    /// A timer that is due now says nothing of how far others may be believed, nor does a long idle
    /// period.
    #[test]
    fn without_a_distance_to_the_timer_it_is_believed() {
        let mut menu = Menu::NEW;
        menu.by_timer(0, false);
        let before = menu.factors;
        menu.period_ends(5_000, false, 4_000_000);
        assert_eq!(menu.factors, before);
        menu.by_timer(200_000_000, false);
        menu.period_ends(100_000_000, false, 4_000_000);
        assert_eq!(menu.factors, before);
    }

    #[test]
    fn a_timer_that_never_fires_in_time_is_believed_less() {
        let mut menu = Menu::NEW;
        assert_eq!(menu.by_timer(1_000_000, false), 1_000_000);
        menu.period_ends(250_000, false, 4_000_000);
        // Seven eighths of one, and an eighth of a quarter.
        assert_eq!(menu.by_timer(1_000_000, false), 906_000);
        assert_eq!(menu.by_timer(1_000_000, true), 1_000_000, "another class");
        assert_eq!(menu.by_timer(20_000_000, false), 20_000_000, "and another");
        // A tick has ended it: it counts as 45 ms, or as long as it could have been.
        menu.period_ends(3_000_000, true, 4_000_000);
        assert_eq!(menu.lengths(), [250, 20_000]);
        assert_eq!(menu.by_timer(20_000_000, false), 20_000_000);
        assert_eq!(menu.by_timer(NEVER, false), NEVER);
    }
}

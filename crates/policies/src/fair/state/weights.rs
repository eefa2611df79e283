//! Nice levels, weights and the division-free scaling of time by weight.
//!
//! A nice level is worth about 10 % of CPU time against its neighbor, so weights form a geometric
//! series with ratio 1.25 around 1024. Times are scaled by a multiplication with a 32-bit inverse,
//! exactly as `__calc_delta` does it: one nanosecond of rounding can decide a tick.

use sim_core::SchedPolicy;

/// Weight of nice 0, unscaled.
pub const NICE_0_WEIGHT: u32 = 1024;
/// Weight of every SCHED_IDLE task.
pub const WEIGHT_IDLEPRIO: u32 = 3;

/// `sched_prio_to_weight`, by nice + 20.
const PRIO_TO_WEIGHT: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, //
    9548, 7620, 6100, 4904, 3906, 3121, 2501, 1991, 1586, 1277, //
    1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, //
    110, 87, 70, 56, 45, 36, 29, 23, 18, 15,
];

/// Weights whose inverse in the kernel's table (`sched_prio_to_wmult`) is rounded down, where all
/// others are rounded to the nearest: nice 13, 14, 16 and 17.
const ROUNDED_DOWN: [u32; 4] = [56, 45, 29, 23];

/// The weight of a task and its table inverse, 2^32 / weight.
pub fn weight_of(nice: i8, policy: SchedPolicy) -> (u32, u32) {
    let weight = match policy {
        SchedPolicy::Idle => WEIGHT_IDLEPRIO,
        _ => PRIO_TO_WEIGHT[(i32::from(nice).clamp(-20, 19) + 20) as usize],
    };
    let half = if ROUNDED_DOWN.contains(&weight) { 0 } else { u64::from(weight) / 2 };
    let inverse = ((1u64 << 32) + half) / u64::from(weight);
    (weight, inverse as u32)
}

/// The inverse of a runqueue's weight: rounded down, unlike a task's.
#[inline]
pub fn rq_inverse(load_weight: u64) -> u32 {
    (u64::from(u32::MAX) / load_weight.max(1)) as u32
}

/// `__calc_delta`: about `delta * weight * inverse / 2^32`.
#[inline]
pub fn calc_delta(delta: u64, weight: u32, inverse: u32) -> u64 {
    let mut fact = u64::from(weight) * u64::from(inverse);
    let mut shift = 32;
    let high = (fact >> 32) as u32;
    if high != 0 {
        let n = 32 - high.leading_zeros();
        fact >>= n;
        shift -= n;
    }
    if delta >> 32 == 0 {
        // Both factors are below 2^32.
        (delta * fact) >> shift
    } else {
        ((u128::from(delta) * u128::from(fact)) >> shift) as u64
    }
}

/// `calc_delta_fair`: `delta` of wall time in virtual time of a task.
#[inline]
pub fn calc_delta_fair(delta: u64, weight: u32, inverse: u32) -> u64 {
    if weight == NICE_0_WEIGHT { delta } else { calc_delta(delta, NICE_0_WEIGHT, inverse) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inverse(nice: i8) -> u32 {
        weight_of(nice, SchedPolicy::Normal).1
    }

    #[test]
    fn inverses_are_the_kernels() {
        let expected = [(0, 4194304), (1, 5237765), (5, 12820798), (10, 39045157), (19, 286331153)];
        expected.iter().for_each(|(nice, inv)| assert_eq!(inverse(*nice), *inv, "nice {nice}"));
        assert_eq!(weight_of(0, SchedPolicy::Idle).0, 3);
    }

    #[test]
    fn virtual_time_runs_at_the_inverse_of_weight() {
        let vectors = [
            (-20, [11536, 34609, 46146]),
            (-10, [107247, 321742, 428990]),
            (-5, [328099, 984299, 1312399]),
            (-1, [801879, 2405638, 3207517]),
            (0, [1000000, 3000000, 4000000]),
            (1, [1248780, 3746341, 4995121]),
            (5, [3056716, 9170149, 12226865]),
            (10, [9309090, 27927272, 37236363]),
            (15, [28444444, 85333333, 113777777]),
            (19, [68266666, 204799999, 273066666]),
        ];
        for (nice, expected) in vectors {
            let (weight, inv) = weight_of(nice, SchedPolicy::Normal);
            let got = [1_000_000, 3_000_000, 4_000_000].map(|d| calc_delta_fair(d, weight, inv));
            assert_eq!(got, expected, "nice {nice}");
        }
    }

    /// Entries of `sched_prio_to_wmult` around those that are rounded down.
    #[test]
    fn inverses_are_those_of_the_kernels_table() {
        let vectors = [
            (0, 4194304),
            (12, 61356676),
            (13, 76695844),
            (14, 95443717),
            (15, 119304647),
            (16, 148102320),
            (17, 186737708),
            (18, 238609294),
            (19, 286331153),
        ];
        for (nice, inverse) in vectors {
            assert_eq!(weight_of(nice, SchedPolicy::Normal).1, inverse, "nice {nice}");
        }
    }

    #[test]
    fn long_times_do_not_overflow() {
        let (weight, inv) = weight_of(19, SchedPolicy::Normal);
        let day = 86_400_000_000_000;
        let exact = u128::from(day) * 1024 / 15;
        let got = u128::from(calc_delta_fair(day, weight, inv));
        assert!(got.abs_diff(exact) < exact / 1_000_000, "{got} against {exact}");
    }
}

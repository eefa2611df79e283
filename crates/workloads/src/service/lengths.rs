//! Lengths of the same kind, as the means of thirteen classes of them.

use crate::random::{self, Stream};
use sim_core::Ns;

/// Classes of lengths.
pub const N_CLASSES: usize = 13;
/// How many of a thousand lengths are in the classes up to this one: tenths, and the long tail in
/// finer ones.
const UP_TO: [usize; N_CLASSES] = [100, 200, 300, 400, 500, 600, 700, 800, 900, 950, 990, 999, ALL];
const ALL: usize = 1000;

/// Lengths of the same kind: mean of the shortest tenth, of the next tenth and so on, of those from
/// 90 to 95 %, to 99 %, to 99.9 %, and of the longest ones, ns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Lengths([f64; N_CLASSES]);

impl Lengths {
    /// All are the same.
    pub fn constant(ns: f64) -> Self {
        Self([ns; N_CLASSES])
    }

    /// Of the means of the classes, ns.
    pub fn new(means: [f64; N_CLASSES]) -> Self {
        Self(means)
    }

    /// Of lengths that were seen; `None` if none were. The mean is theirs. Sorts them.
    pub fn of(seen: &mut [Ns]) -> Option<Self> {
        if seen.is_empty() {
            return None;
        }
        seen.sort_unstable();
        let n = seen.len();
        let mut from = 0;
        Some(Self(UP_TO.map(|to| {
            let mean = sum(seen, from * n, to * n) as f64 / ((to - from) * n) as f64;
            from = to;
            mean
        })))
    }

    /// The means of the classes, ns.
    pub fn means(&self) -> &[f64; N_CLASSES] {
        &self.0
    }

    /// The mean of all, ns.
    pub fn mean(&self) -> f64 {
        let mut from = 0;
        let share = |(mean, to): (&f64, usize)| {
            let share = mean * (to - from) as f64 / ALL as f64;
            from = to;
            share
        };
        self.0.iter().zip(UP_TO).map(share).sum()
    }

    /// One of them, ns.
    pub(super) fn draw(&self, rng: &mut Stream) -> Ns {
        let unit = random::unit(rng) * ALL as f64;
        let class = UP_TO.iter().position(|to| unit <= *to as f64).unwrap_or(N_CLASSES - 1);
        self.0[class].round() as Ns
    }
}

/// The sum of lengths, of which each has a thousand parts, from a part to another.
fn sum(seen: &[Ns], from: usize, to: usize) -> u128 {
    let parts = |i: usize| to.min((i + 1) * ALL) - from.max(i * ALL);
    (from / ALL..to.div_ceil(ALL)).map(|i| u128::from(seen[i]) * parts(i) as u128).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Purpose;
    use proptest::prelude::*;

    #[test]
    fn few_lengths_fill_all_classes() {
        let lengths = Lengths::of(&mut [30, 10]).unwrap();
        assert_eq!(lengths.means()[..6], [10.0, 10.0, 10.0, 10.0, 10.0, 30.0]);
        assert_eq!(Lengths::of(&mut []), None);
        assert_eq!(Lengths::of(&mut [7]), Some(Lengths::constant(7.0)));
    }

    #[test]
    fn the_tail_has_classes_of_its_own() {
        let mut seen: Vec<Ns> = (1..=1000).collect();
        let lengths = Lengths::of(&mut seen).unwrap();
        let means = lengths.means();
        assert_eq!([means[0], means[9], means[11], means[12]], [50.5, 925.5, 995.0, 1000.0]);
    }

    proptest! {
        #[test]
        fn the_mean_is_that_of_what_was_seen(
            mut seen in prop::collection::vec(0..1u64 << 40, 1..300),
        ) {
            let mean = seen.iter().sum::<Ns>() as f64 / seen.len() as f64;
            let lengths = Lengths::of(&mut seen).unwrap();
            let off = (lengths.mean() - mean).abs();
            prop_assert!(off <= 1e-9 * mean.max(1.0), "{off} {mean}");
            prop_assert!(lengths.means().is_sorted());
        }
    }

    #[test]
    fn draws_have_the_mean_and_the_longest() {
        let mut seen: Vec<Ns> = (0..2000).map(|i| 100 + 7 * i).chain([900_000; 2]).collect();
        let lengths = Lengths::of(&mut seen).unwrap();
        let mut rng = random::stream(1, 2, Purpose::Service);
        let draws: Vec<Ns> = (0..200_000).map(|_| lengths.draw(&mut rng)).collect();
        let mean = draws.iter().sum::<Ns>() as f64 / draws.len() as f64;
        assert!((mean / lengths.mean() - 1.0).abs() < 0.01, "{mean} {}", lengths.mean());
        assert!(draws.iter().any(|ns| *ns > 800_000));
    }
}

//! Pieces of work that vary a little. Without that, two tasks that depend on each other would run
//! in lock-step, and a CPU would lose a race against another one always or never.

use crate::random::{self, Purpose, Stream};
use rand::Rng;
use rand_distr::{Distribution, Normal};
use sim_core::Ns;

/// The factor 1 in [`Spread::factors`].
const ONE: u64 = 1 << 16;

/// How the lengths of the pieces vary: each entity draws factors from one table of log-normal draws
/// with the mean 1, by its own stream.
pub(crate) struct Spread {
    factors: Vec<u32>,
    streams: Vec<Stream>,
}

impl Spread {
    /// Factors for so many entities; `spread` is the coefficient of variation.
    pub fn new(spread: f64, entities: u32, seed: u64) -> Self {
        let sigma = (spread * spread).ln_1p().sqrt();
        let normal = Normal::new(0.0, sigma).expect("the spread is finite and not negative");
        let mut rng = random::stream(seed, u64::MAX, Purpose::Service);
        let draws: Vec<f64> = (0..1024).map(|_| normal.sample(&mut rng).exp()).collect();
        let mean = draws.iter().sum::<f64>() / draws.len() as f64;
        let stream = |entity| random::stream(seed, u64::from(entity), Purpose::Service);
        Self {
            factors: draws.iter().map(|x| (x / mean * ONE as f64).round() as u32).collect(),
            streams: (0..entities).map(stream).collect(),
        }
    }

    /// `ns` with the next factor of `entity`.
    #[inline]
    pub fn vary(&mut self, entity: usize, ns: Ns) -> Ns {
        scale(&self.factors, &mut self.streams[entity], ns)
    }

    /// `ns` with a factor drawn from `stream`.
    #[inline]
    pub fn draw(&self, stream: &mut Stream, ns: Ns) -> Ns {
        scale(&self.factors, stream, ns)
    }
}

#[inline]
fn scale(factors: &[u32], stream: &mut Stream, ns: Ns) -> Ns {
    // The table has 1024 factors: the ten highest bits are the index.
    let factor = factors[(stream.next_u64() >> 54) as usize];
    ns * u64::from(factor) / ONE
}

//! How long simulations take beside bare loops: `cargo run --release -p benches --example ratios`
//!
//! A simulation and its bare loop take turns, so that both have the same noise; the median of the
//! rounds is printed. What is counted is in the names of the columns.

use benches::bare::{self, Bare};
use benches::runs;
use sim_core::{Observer, Policy, Program, Simulation};
use std::time::Instant;

const ROUNDS: usize = 15;

/// Millions per second of `n` that `work` does.
fn rate(n: u64, work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    n as f64 / start.elapsed().as_secs_f64() / 1e6
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// Prints both rates (millions per second) and their ratio.
fn compare(name: &str, mut simulated: impl FnMut() -> f64, mut bare: impl FnMut() -> f64) {
    let rounds: Vec<_> = (0..ROUNDS).map(|_| (simulated(), bare())).collect();
    let simulated = median(rounds.iter().map(|r| r.0).collect());
    let bare = median(rounds.iter().map(|r| r.1).collect());
    let ratio = median(rounds.iter().map(|r| r.1 / r.0).collect());
    println!("{name:<34} {simulated:9.3} {bare:9.2} {:>8}", format!("1/{ratio:.1}"));
}

fn switches<P: Policy, W: Program, O: Observer>(
    name: &str,
    mut sim: Simulation<P, W, O>,
    mut bare: Bare,
    (n_simulated, n_bare): (u64, u64),
) {
    let simulated =
        || rate(n_simulated, || runs::advance(&mut sim, n_simulated, |s| s.w.counters.switches));
    compare(name, simulated, || rate(n_bare, || bare.advance(n_bare)));
}

fn main() {
    println!("{:<34} {:>9} {:>9}", "millions per second", "simulated", "bare");
    let name = "ping_pong_8x64, switches";
    switches(name, runs::ping_pong_8x64(), bare::ping_pong_8x64(), (200_000, 2_000_000));
    let name = "short_128x1024, switches";
    switches(name, runs::short_128x1024(), bare::short_128x1024(), (100_000, 2_000_000));
    let name = "spinners_8x64, switches";
    switches(name, runs::spinners_8x64(), bare::spinners_8x64(), (500_000, 2_000_000));
    let (mut sim, mut queue) = (runs::m_m_8(), bare::MM8::new());
    let name = "m_m_8, events (two per customer)";
    let simulated = || {
        let served = |s: &Simulation<_, workloads::micro::OpenQueue, _>| s.program.served();
        rate(400_000, || runs::advance(&mut sim, 200_000, served))
    };
    compare(name, simulated, || rate(1_000_000, || queue.advance(500_000)));
}

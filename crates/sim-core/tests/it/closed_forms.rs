//! Queueing theory: the engine under a global FIFO against exact formulas.

use policies::fcfs::Fcfs;
use sim_core::{Config, Ns, Observer, TaskId, World};
use test_support::{free_machine, simulate};
use workloads::micro::OpenQueue;

#[derive(Default)]
struct Waits {
    n: u64,
    sum_ns: u64,
}

impl Observer for Waits {
    fn sched_delay(&mut self, _w: &World, _task: TaskId, ns: Ns) {
        self.n += 1;
        self.sum_ns += ns;
    }
}

/// Mean wait of an M/M/c queue in units of the mean service time.
fn erlang_c_wait(servers: u32, load: f64) -> f64 {
    let offered = load * f64::from(servers);
    let mut term = 1.0;
    let mut sum = 1.0;
    for k in 1..servers {
        term *= offered / f64::from(k);
        sum += term;
    }
    let all_busy = term * offered / f64::from(servers) / (1.0 - load);
    all_busy / (sum + all_busy) / (f64::from(servers) - offered)
}

fn mean_wait(servers: u32, load: f64, seed: u64, customers: u64) -> f64 {
    let service = 100_000_u32;
    let interarrival = (f64::from(service) / (load * f64::from(servers))) as Ns;
    let config = Config { timer_slack_ns: 0, ..Config::default() };
    let program = OpenQueue::new(interarrival, Ns::from(service), customers, 500, seed);
    let machine = free_machine(servers);
    let mut sim = simulate(machine, config, Fcfs::default(), program, Waits::default());
    sim.run_until(Ns::MAX);
    sim.observer.sum_ns as f64 / sim.observer.n as f64 / f64::from(service)
}

/// The formula lies within three standard errors of the mean over seeds, and the error is small.
fn check(servers: u32, load: f64) {
    let waits: Vec<f64> = (1..=10).map(|seed| mean_wait(servers, load, seed, 100_000)).collect();
    let n = waits.len() as f64;
    let mean = waits.iter().sum::<f64>() / n;
    let var = waits.iter().map(|w| (w - mean).powi(2)).sum::<f64>() / (n - 1.0);
    let expected = erlang_c_wait(servers, load);
    let error = (mean - expected).abs();
    assert!(
        error < 3.0 * (var / n).sqrt() && error / expected < 0.05,
        "M/M/{servers} at {load}: {mean} against {expected}, {waits:?}"
    );
}

#[test]
fn m_m_1_waits_as_the_formula_says() {
    check(1, 0.7);
}

#[test]
fn m_m_8_waits_as_erlang_c_says() {
    check(8, 0.8);
}

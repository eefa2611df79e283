//! Scratch probe.
use policies::fifo::Fifo;
use sim_core::{Config, NoObserver, Program, Simulation, World};
use std::sync::Arc;
use topology::*;
use workloads::micro::*;
fn go<W: Program>(name: &str, m: Machine, p: W, until: u64) {
    let w = World::new(Arc::new(m), Config::default());
    let mut s = Simulation::new(w, Fifo::default(), p, NoObserver);
    let t = std::time::Instant::now();
    s.run_until(until);
    let dt = t.elapsed().as_secs_f64();
    let sw = s.w.counters.switches as f64;
    println!(
        "{name}: sim {:.2}s wall {dt:.2} switches {:.2} M/s {:.1} ns/sw events/sw {:.2} ns/event {:.1}",
        s.w.now as f64 / 1e9,
        sw / dt / 1e6,
        dt * 1e9 / sw,
        s.w.counters.events as f64 / sw,
        dt * 1e9 / s.w.counters.events as f64
    );
}
fn main() {
    let m = || {
        Machine::regular(RegularSpec {
            cores_per_llc: 8,
            threads_per_core: 1,
            ..RegularSpec::default()
        })
    };
    let ms: u64 = std::env::args().nth(1).map_or(2000, |s| s.parse().unwrap());
    go("pp8x64", m(), PingPong::new(32, 5000, 0), ms * 1_000_000);
    if ms < 2000 {
        return;
    }
    let m2 = Machine::regular(RegularSpec {
        llcs_per_socket: 8,
        cores_per_llc: 16,
        threads_per_core: 1,
        ..RegularSpec::default()
    });
    go(
        "short",
        m2,
        Short::new(1024, 20_000, 200_000, 0, 1),
        300_000_000,
    );
}

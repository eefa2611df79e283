//! Scratch probe.
use policies::fifo::Fifo;
use sim_core::*;
use std::sync::Arc;
use workloads::kernel_build::*;
fn main() {
    let m = topology::load(
        "scenarios/machines/bergamo.toml",
        &std::fs::read_to_string("scenarios/machines/bergamo.toml").unwrap(),
    )
    .unwrap();
    let c = m.clock_mhz;
    let n = m.n_cpus() as u32;
    let w = World::new(Arc::new(m), Config::default());
    let b = KernelBuild::new(workloads::kernel_build::Config {
        jobs: n,
        objects: 5000,
        directories: 400,
        work_s: 33000.0,
        sigma: 0.65,
        prepare_s: 2.0,
        link_s: 6.0,
        clock_mhz: c,
        seed: 1,
    });
    let mut s = Simulation::new(w, Fifo::default(), b, NoObserver);
    let t = std::time::Instant::now();
    let r = s.run_until(u64::MAX);
    let dt = t.elapsed().as_secs_f64();
    let busy: u64 =
        s.w.cpus
            .iter()
            .map(|c| c.time.iter().sum::<u64>() - c.time[Category::Idle as usize])
            .sum();
    println!(
        "{r:?} now {:.2}s cpu% {:.0} cpu-s {:.0} events {} {:.2} M/s wall {dt:.2} {:?}",
        s.w.now as f64 / 1e9,
        busy as f64 * 100. / s.w.now as f64,
        busy as f64 / 1e9,
        s.w.counters.events,
        s.w.counters.events as f64 / dt / 1e6,
        s.w.counters
    );
    for c in &s.w.cpus {
        let sum: u64 = c.time.iter().sum();
        assert_eq!(sum, s.w.now);
    }
}

//! Scratch probe.
use policies::fifo::Fifo;
use sim_core::*;
use std::sync::Arc;
use topology::*;
use workloads::micro::*;
struct Waits {
    n: u64,
    sum: u64,
}
impl Observer for Waits {
    fn sched_delay(&mut self, _w: &World, _t: TaskId, ns: Ns) {
        self.n += 1;
        self.sum += ns;
    }
}
fn main() {
    let mut m = Machine::regular(RegularSpec {
        cores_per_llc: 8,
        threads_per_core: 1,
        ..RegularSpec::default()
    });
    let z = KernelCosts {
        pick_ns: 0,
        dequeue_ns: 0,
        switch_ns: 0,
        mm_switch_ns: 0,
        tick_ns: 0,
        irq_ns: 0,
        ttwu_fixed_ns: 0,
        enqueue_ns: 0,
        enqueue_remote_lines: 0,
        wake_list_lines: 0,
        ipi_send_ns: 0,
        ipi_delivery_ns: 0,
        idle_entry_ns: 0,
        idle_loop_ns: 0,
        scan_cpu_ns: 0,
        lb_domain_ns: 0,
        lb_cpu_ns: [0; 5],
        blocked_ns: 0,
        pull_ns: 0,
        fork_ns: 0,
    };
    m.costs = z;
    m.line.ns = [0; 5];
    m.locks.fast_ns = 0;
    for c in &mut m.cstates {
        c.exit_ns = 0;
        c.polling = true;
    }
    let w = World::new(
        Arc::new(m),
        Config {
            timer_slack_ns: 0,
            ..Config::default()
        },
    );
    let n = 2_000_000;
    // 8 servers, service 100us, load .8 -> interarrival 100/6.4=15.625us
    let q = OpenQueue::new(
        15_625,
        100_000,
        n,
        400,
        std::env::args().nth(1).unwrap().parse().unwrap(),
    );
    let mut s = Simulation::new(w, Fifo::default(), q, Waits { n: 0, sum: 0 });
    let t = std::time::Instant::now();
    let r = s.run_until(u64::MAX);
    let dt = t.elapsed().as_secs_f64();
    println!(
        "{r:?} now {} events {} {:.2} M/s  cust {:.2} M/s wait mean {:.1} n {} switches {}",
        s.w.now,
        s.w.counters.events,
        s.w.counters.events as f64 / dt / 1e6,
        n as f64 / dt / 1e6,
        s.observer.sum as f64 / s.observer.n as f64,
        s.observer.n,
        s.w.counters.switches
    );
    // Erlang C
    let (c, a) = (8.0f64, 6.4f64);
    let mut inv = 0.0;
    let mut term = 1.0;
    for k in 0..8 {
        if k > 0 {
            term *= a / k as f64;
        }
        inv += term;
    }
    let last = term * a / 8.0 * c / (c - a);
    let pc = last / (inv + last);
    println!("erlang {:.1}", pc * 100_000.0 / (c - a));
    for c in &s.w.cpus {
        let sum: u64 = c.time.iter().sum();
        assert_eq!(sum, s.w.now);
    }
}

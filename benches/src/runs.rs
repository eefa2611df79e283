//! The simulations that the benchmarks run, set up and warmed up.

use crate::machines;
use hdrhistogram::Histogram;
use policies::ext::{self, Ext, Fifo};
use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use sim_core::{
    Config, NEVER, NoObserver, Ns, Observer, Policy, Program, Simulation, TaskId, World,
};
use std::sync::Arc;
use topology::Machine;
use workloads::kernel_build::{self, KernelBuild};
use workloads::micro::{OpenQueue, PingPong, Short, Spinners};
use workloads::netperf::{self, Netperf};

const MS: Ns = 1_000_000;

/// Events between two looks at the count.
const EVENTS_PER_LOOK: u32 = 64;

/// Lets `sim` go on as a scenario's run does until `count` has grown by `n`, or a little more.
pub fn advance<P: Policy, W: Program, O: Observer>(
    sim: &mut Simulation<P, W, O>,
    n: u64,
    count: impl Fn(&Simulation<P, W, O>) -> u64,
) {
    let end = count(sim) + n;
    while count(sim) < end {
        let over = sim.run_events(EVENTS_PER_LOOK, NEVER - 1);
        assert_eq!(over, None, "the run has no end");
    }
}

/// CFS with these features on `machine`, without an observer, after `warm_up` of simulated time:
/// the first tasks all start at once on the first LLC, and balancing takes a while to spread them.
fn cfs<W: Program>(
    machine: Arc<Machine>,
    features: Features,
    program: W,
    warm_up: Ns,
) -> Simulation<Fair, W, NoObserver> {
    let policy = Fair::new(features, Tunables::for_cpus(machine.n_cpus()));
    let world = World::new(machine, Config::default());
    let mut sim = Simulation::new(world, policy, program, NoObserver);
    if warm_up > 0 {
        sim.run_until(warm_up);
    }
    sim
}

/// 32 pairs that work 10 us per turn, on 8 CPUs behind one LLC.
///
/// Both ends of a pair come to share a CPU, where a wakee may preempt its partner before that
/// sleeps; the wake-up in the other direction then finds it awake. Such wake-ups grow from 0.31 per
/// switch at 0.1 s to 0.50 at 2.6 s, and a switch becomes cheaper to simulate: compare windows of
/// the same age.
pub fn ping_pong_8x64() -> Simulation<Fair, PingPong, NoObserver> {
    let program = PingPong::new(32, 10_000, 0);
    cfs(machines::one_llc(8), Features::default(), program, 100 * MS)
}

/// 1024 tasks that run 20 us and sleep 150 us in the mean, on 8 LLCs of 16 CPUs.
pub fn short_128x1024() -> Simulation<Fair, Short, NoObserver> {
    short(128)
}

/// The same load in one queue, as sched_ext's scx_simple has it: 128 CPUs share the lock.
pub fn short_128x1024_ext() -> Simulation<Ext<Fifo>, Short, NoObserver> {
    let policy = Ext::new(Fifo::new(true), ext::Rules::V6_18, ext::Tunables::default());
    let world = World::new(machines::llcs(8, 16), Config::default());
    let mut sim =
        Simulation::new(world, policy, Short::new(1024, 20_000, 150_000, 0, 1), NoObserver);
    sim.run_until(100 * MS);
    sim
}

/// Eight short tasks per CPU on LLCs of 16 CPUs: the load of a CPU does not depend on their number.
pub fn short(cpus: u32) -> Simulation<Fair, Short, NoObserver> {
    short_after(cpus, u64::from(cpus) * 1_300_000 + 100 * MS)
}

/// The same after less time: the first LLCs still have more than their share of the tasks.
pub fn short_after(cpus: u32, warm_up: Ns) -> Simulation<Fair, Short, NoObserver> {
    let program = Short::new(8 * cpus, 20_000, 150_000, 0, 1);
    cfs(machines::llcs(cpus / 16, 16), Features::default(), program, warm_up)
}

/// 64 tasks that never sleep, on 8 CPUs behind one LLC.
pub fn spinners_8x64() -> Simulation<Fair, Spinners, NoObserver> {
    let program = Spinners::new(vec![0; 64], 0);
    cfs(machines::one_llc(8), Features::default(), program, 1000 * MS)
}

/// An M/M/8 queue at load 0.8 under a global FIFO, costs off, waits in a histogram: customers come
/// every 15.625 us and are served in 100 us in the mean.
pub fn m_m_8() -> Simulation<Fcfs, OpenQueue, Waits> {
    let program = OpenQueue::new(15_625, 100_000, u64::MAX, 500, 1);
    let config = Config { timer_slack_ns: 0, ..Config::default() };
    let world = World::new(machines::without_costs(8), config);
    Simulation::new(world, Fcfs::default(), program, Waits::default())
}

/// The waiting times of an open queue.
pub struct Waits {
    /// In ns, two significant digits.
    pub histogram: Histogram<u64>,
}

impl Default for Waits {
    fn default() -> Self {
        Self { histogram: crate::bare::histogram() }
    }
}

impl Observer for Waits {
    #[inline]
    fn sched_delay(&mut self, _w: &World, _task: TaskId, ns: Ns) {
        self.histogram.saturating_record(ns);
    }

    // A histogram has no order.
    fn heeds_order(&self) -> bool {
        false
    }
}

/// 128 netperf UDP_RR clients on Ice Lake; with `swqueue` four fifths of the time is spinning.
pub fn netperf_128x128(swqueue: bool) -> Simulation<Fair, Netperf, NoObserver> {
    let test = netperf::Test::UdpRr;
    let program = Netperf::new(netperf::Config {
        test,
        clients: 128,
        service_ns: 2765,
        spread: 0.1,
        seed: 1,
    });
    cfs(machines::ice_lake(), Features { swqueue, ..Features::default() }, program, 10 * MS)
}

/// A kernel build of some 20 simulated seconds on Bergamo, `make -j176`.
pub fn kernel_build_176() -> Simulation<Fair, KernelBuild, NoObserver> {
    let program = KernelBuild::new(kernel_build::Config {
        jobs: 176,
        objects: 1000,
        directories: 100,
        work_s: 1500.0,
        prepare_s: 0.3,
        link_s: 0.5,
        ..kernel_build::Config::default()
    });
    cfs(machines::bergamo(), Features::default(), program, 0)
}

/// Short tasks, three per CPU, that overload one LLC a little under SWQUEUE: its CPUs go idle again
/// and again and compete for the tasks that have just been woken.
pub fn contended_pulls(cpus: u32) -> Simulation<Fair, Short, NoObserver> {
    let features = Features { swqueue: true, ..Features::default() };
    let program = Short::new(3 * cpus, 20_000, 1, 0, 1);
    cfs(machines::one_llc(cpus), features, program, 100 * MS)
}

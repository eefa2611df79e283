//! The measurement begins at an instant: what is measured does not depend on how far the engine
//! goes in one go.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use proptest::prelude::*;
use sim_core::{Config, Counters, NoObserver, Ns, Program, Simulation};
use test_support::{shapes, simulate};
use workloads::hackbench::{self, Hackbench, Medium};
use workloads::netperf::{self, Netperf, Test};

const MS: Ns = 1_000_000;

/// How the engine is driven.
#[derive(Clone, Copy, Debug)]
enum Drive {
    /// One event at a time, and the instant's end is found by hand.
    Step,
    /// As the scenarios do, so many events in one go.
    InOneGo(u32),
}

/// Until the program is under way, which takes a few ticks where its first tasks are in the way of
/// the one that starts the others.
fn start_up<W: Program>(sim: &mut Simulation<Fair, W, NoObserver>, drive: Drive) {
    let until = 1000 * MS;
    let Drive::InOneGo(n) = drive else {
        while !sim.program.is_under_way() {
            assert_eq!(sim.step(until), None, "it never is under way");
        }
        let at = sim.w.now;
        while sim.step(at).is_none() {}
        return sim.begin_measurement();
    };
    while !sim.program.is_under_way() {
        assert_eq!(sim.start_up(n, until), None, "it never is under way");
    }
}

/// All that is measured of a run that ends `within` so long.
fn measured<W: Program>(
    mut sim: Simulation<Fair, W, NoObserver>,
    drive: Drive,
    within: Ns,
) -> String {
    start_up(&mut sim, drive);
    let until = sim.w.measured_from + within;
    loop {
        let end = match drive {
            Drive::Step => sim.step(until),
            Drive::InOneGo(n) => sim.run_events(n, until),
        };
        if end.is_some() {
            break;
        }
    }
    let w = &sim.w;
    let times: Vec<_> = w.cpus.iter().map(|c| (c.time, &c.stat)).collect();
    let counters = Counters { events: 0, ..w.counters };
    let elapsed = w.now - w.measured_from;
    format!(
        "{} {elapsed} {counters:?} {} {:?} {times:?} {:?}",
        w.measured_from,
        w.idle_while_runnable_ns,
        sim.program.results(elapsed),
        w.samples,
    )
}

fn hackbench(seed: u64) -> Hackbench {
    Hackbench::new(hackbench::Config {
        groups: 2,
        fds: 3,
        loops: 5,
        datasize: 100,
        medium: Medium::Socket,
        threads: false,
        message_ns: None,
        spread: 0.3,
        seed,
    })
}

fn netperf(seed: u64) -> Netperf {
    let (test, clients) = (Test::UdpRr, 6);
    Netperf::new(netperf::Config { test, clients, service_ns: 3000, spread: 0.1, seed })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn it_does_not_matter_how_far_the_engine_goes(
        shape in shapes(),
        seed in any::<u64>(),
        n in 1u32..300,
        exchanges in any::<bool>(),
    ) {
        let run = |drive| {
            let machine = shape.machine();
            let tunables = Tunables::for_cpus(machine.n_cpus());
            let policy = Fair::new(Features::default(), tunables);
            let config = Config::default();
            if exchanges {
                let sim = simulate(machine, config, policy, netperf(seed), NoObserver);
                measured(sim, drive, 20 * MS)
            } else {
                let sim = simulate(machine, config, policy, hackbench(seed), NoObserver);
                measured(sim, drive, 1000 * MS)
            }
        };
        let by_hand = run(Drive::Step);
        prop_assert_eq!(&by_hand, &run(Drive::InOneGo(n)));
        prop_assert_eq!(by_hand, run(Drive::InOneGo(u32::MAX)));
    }
}

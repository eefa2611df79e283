//! Damaged objects as schedulers: they are refused, end the run, or schedule; nothing panics.

use policies::ext::bpf::{Bpf, Object, Scheduler, Settings};
use policies::ext::{Ext, Rules, Tunables};
use sim_core::{Config, NoObserver, StopReason};
use std::collections::BTreeMap;
use test_support::{Random, simulate};
use topology::{Machine, RegularSpec};
use workloads::micro::Short;

use super::{MS, object_bytes};

/// Objects per source. More of them: `BPF_DAMAGED=10000 cargo test -p policies damage`, and others
/// with `BPF_SEED=100`.
const DAMAGED: u64 = 100;
/// Instructions that one call may execute.
const BUDGET: u64 = 20_000;

fn damage(bytes: &[u8], random: &mut Random) -> Vec<u8> {
    let mut below = |n: usize| random.below(n as u64) as usize;
    let mut bytes = bytes.to_vec();
    for _ in 0..=below(6) {
        let at = below(bytes.len());
        match below(6) {
            0 => bytes[at] = below(256) as u8,
            1 => bytes[at] = [0, 0xff, 0x7f, 0x80, 1][below(5)],
            2 => {
                let from = below(bytes.len());
                let n = below(64).min(bytes.len() - at).min(bytes.len() - from);
                bytes.copy_within(from..from + n, at);
            }
            _ => bytes[at] ^= 1 << below(8),
        }
    }
    bytes
}

/// How a run under these bytes ends.
fn outcome(bytes: &[u8], rules: Rules, machine: &Machine) -> &'static str {
    let Ok(object) = Object::read(bytes) else {
        return "no object";
    };
    let n_cpus = machine.n_cpus() as u32;
    let settings = Settings { rules, n_cpus, ps_per_insn: 0, flags: 0 };
    let Ok(scheduler) = Scheduler::load(&object, settings, &[]) else {
        return "refused";
    };
    let policy = Ext::new(Bpf::with_budget(&scheduler, BUDGET), rules, Tunables::default());
    let program = Short::new(4, 300_000, 100_000, 20, 1);
    let mut sim = simulate(machine.clone(), Config::default(), policy, program, NoObserver);
    let end = sim.run_until(3 * MS);
    sim.policy.check(&sim.w).unwrap();
    match end {
        StopReason::GivenUp(_) => "ended",
        _ => "ran",
    }
}

#[test]
fn damaged_schedulers_are_refused_end_or_run() {
    let stated = |name| std::env::var(name).ok().and_then(|n| n.parse().ok());
    let n = stated("BPF_DAMAGED").unwrap_or(DAMAGED);
    let first_seed = stated("BPF_SEED").unwrap_or(0);
    let machine = Machine::regular(RegularSpec { cores_per_llc: 1, ..RegularSpec::default() });
    assert_eq!(machine.n_cpus(), 2);
    let mut outcomes: BTreeMap<&str, u32> = BTreeMap::new();
    let names = [
        "fifo", "vtime", "center", "spread", "faults", "moves", "sift", "cgroups", "shares",
        "hand", "events", "partial", "asks", "lives", "front",
    ];
    for (name, seed) in names.iter().zip(first_seed..) {
        let whole = object_bytes(name);
        let mut random = Random::new(seed);
        for i in 0..n {
            let damaged = damage(&whole, &mut random);
            let rules = if i % 2 == 0 { Rules::V6_12 } else { Rules::V6_18 };
            *outcomes.entry(outcome(&damaged, rules, &machine)).or_default() += 1;
        }
    }
    for outcome in ["no object", "refused", "ended", "ran"] {
        assert!(outcomes.get(outcome).is_some_and(|n| *n > 10), "{outcomes:?}");
    }
}

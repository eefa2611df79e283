//! Masks of idle CPUs per NUMA node (`SCX_OPS_BUILTIN_IDLE_PER_NODE`): `nodes.c`.

use super::{MS, end, events, load, machines, object};
use policies::ext::bpf::{Bpf, Refused, Scheduler, Settings};
use policies::ext::{Ext, Rules, Tunables};
use sim_core::{Config, NoObserver, StopReason};
use test_support::{run_checked, simulate, small_build};
use topology::{Machine, RegularSpec};
use workloads::micro::{PingPong, Short};

const PER_NODE: u64 = 1 << 6;

fn load_with(name: &str, fault: u64, flags: u64, machine: &Machine) -> Result<Scheduler, Refused> {
    let mut object = object(name);
    if fault > 0 {
        object.set_int("fault", fault).unwrap();
    }
    let n_cpus = machine.n_cpus() as u32;
    let settings = Settings { rules: Rules::V6_18, n_cpus, ps_per_insn: 0, flags };
    Scheduler::load(&object, settings, &[])
}

/// Two nodes of 8 CPUs, four of 8, and four of 8 without SMT.
fn nodes() -> [Machine; 3] {
    let machine = |llcs_per_socket, cores_per_llc, nodes_per_socket, threads_per_core| {
        let rest = RegularSpec { sockets: 2, threads_per_core, ..RegularSpec::default() };
        let llcs = RegularSpec { llcs_per_socket, cores_per_llc, ..rest };
        Machine::regular(RegularSpec { nodes_per_socket, ..llcs })
    };
    [machine(1, 4, 1, 2), machine(4, 2, 2, 2), machine(2, 8, 2, 1)]
}

/// The object looks at all that it is told, and ends the run if that is wrong. Its two searches
/// are its own, and the kernel's held in the node (`SCX_PICK_IDLE_IN_NODE`).
#[test]
fn idle_cpus_are_found_node_by_node() {
    for machine in nodes() {
        for search in [0, 6] {
            let n = machine.n_cpus() as u32;
            let scheduler = load_with("nodes", search, PER_NODE, &machine).unwrap();
            let policy = || Ext::new(Bpf::new(&scheduler), Rules::V6_18, Tunables::default());
            let short = Short::new(n * 3 / 2, 300_000, 100_000, 20, 1);
            let config = Config::default();
            let mut sim = simulate(machine.clone(), config, policy(), short, NoObserver);
            let end = run_checked(&mut sim, 4000 * MS, |sim| sim.policy.check(&sim.w));
            assert_eq!(end, Ok(StopReason::Done), "{n} CPUs");
            // It has SYNC wake-ups and forks.
            let (build, config) = (small_build(0.3), Config::default());
            let mut sim = simulate(machine.clone(), config, policy(), build, NoObserver);
            let end = run_checked(&mut sim, 4000 * MS, |sim| sim.policy.check(&sim.w));
            assert_eq!(end, Ok(StopReason::Done), "{n} CPUs");
        }
    }
}

/// What does not fit to the masks ends the scheduler, in the kernel's words.
#[test]
fn calls_that_do_not_fit_to_the_masks_end_the_run() {
    let machine = &nodes()[0];
    let ends = |fault, flags| {
        let scheduler = load_with("nodes", fault, flags, machine).unwrap();
        end(&scheduler, machine, Short::new(24, 300_000, 100_000, 20, 1))
    };
    for (fault, flags, said) in [
        (0, 0, "per-node idle tracking is disabled"),
        (1, PER_NODE, "per-node idle tracking is enabled"),
        (2, PER_NODE, "per-node idle tracking is enabled"),
        (3, PER_NODE, "SCX_OPS_BUILTIN_IDLE_PER_NODE enabled"),
        (4, PER_NODE, "SCX_OPS_BUILTIN_IDLE_PER_NODE enabled"),
        (5, PER_NODE, "invalid node 99"),
    ] {
        let end = ends(fault, flags);
        assert!(end.starts_with("GivenUp") && end.contains(said), "{fault}: {end}");
    }
    assert_eq!(ends(0, PER_NODE), "Done");
}

/// On a machine of one node the flag changes no event.
#[test]
fn on_one_node_the_flag_changes_no_event() {
    for machine in &machines()[..2] {
        for name in ["fifo", "vtime"] {
            let run = |flags, is_pair: bool| {
                let scheduler = load_with(name, 0, flags, machine).unwrap();
                let n = machine.n_cpus() as u32;
                match is_pair {
                    true => {
                        let pairs = PingPong::new(n, 5_000, 60);
                        events(machine, Bpf::new(&scheduler), Rules::V6_18, pairs)
                    }
                    false => {
                        let short = Short::new(n * 3 / 2, 300_000, 100_000, 100, 1);
                        events(machine, Bpf::new(&scheduler), Rules::V6_18, short)
                    }
                }
            };
            for is_pair in [false, true] {
                assert_eq!(run(PER_NODE, is_pair), run(0, is_pair), "{name}");
            }
        }
    }
}

/// 6.12 has neither the flag nor its functions.
#[test]
fn what_the_flag_needs_is_refused_by_name() {
    let machine = &nodes()[0];
    let missing = load(&object("nodes"), Rules::V6_12, machine).err().map(|why| why.to_string());
    let missing = missing.unwrap_or_default();
    assert!(missing.contains("scx_bpf_cpu_node"), "{missing}");
    let n_cpus = machine.n_cpus() as u32;
    let settings = Settings { rules: Rules::V6_12, n_cpus, ps_per_insn: 0, flags: PER_NODE };
    let early = Scheduler::load(&object("fifo"), settings, &[]).err();
    let flag = "SCX_OPS_BUILTIN_IDLE_PER_NODE";
    assert_eq!(early, Some(Refused::LaterFlag(flag, "6.15")));
    // `update_idle` without SCX_OPS_KEEP_BUILTIN_IDLE.
    let blind = load_with("idle", 0, PER_NODE, machine).err();
    assert_eq!(blind, Some(Refused::NodesWithoutMasks));
    assert!(load_with("idle", 0, PER_NODE | 1, machine).is_ok());
}

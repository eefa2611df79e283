//! Masks of idle CPUs per NUMA node, for schedulers in Rust.

use super::bpf::{MS, events, hogs, machines};
use policies::ext::{Cx, Ext, Ops, Pick, Rules, Tunables, Wake};
use sim_core::{Config, NoObserver, StopReason, TaskId};
use test_support::{run_checked, simulate, small_build};
use topology::{CpuId, CpuSet, Machine, RegularSpec};
use workloads::micro::{PingPong, Short};

/// The kernel's defaults for all operations.
struct Plain {
    per_node: bool,
}

impl Ops for Plain {
    fn idle_per_node(&self) -> bool {
        self.per_node
    }
}

/// Two nodes of 8 CPUs, four of 8, and eight of 4.
fn nodes() -> [Machine; 3] {
    let machine = |sockets, llcs_per_socket, cores_per_llc, nodes_per_socket| {
        let rest = RegularSpec::default();
        let llcs = RegularSpec { sockets, llcs_per_socket, cores_per_llc, ..rest };
        Machine::regular(RegularSpec { nodes_per_socket, ..llcs })
    };
    [machine(2, 1, 4, 1), machine(2, 4, 2, 2), machine(2, 4, 2, 4)]
}

/// On a machine of one node both kinds of masks are the same.
#[test]
fn on_one_node_masks_per_node_change_no_event() {
    for machine in &machines()[..2] {
        assert_eq!(machine.nodes.len(), 1);
        let n = machine.n_cpus() as u32;
        macro_rules! same {
            ($program:expr) => {
                let run = |per_node| events(machine, Plain { per_node }, Rules::V6_18, $program);
                assert!(run(true).len() > 40);
                assert_eq!(run(true), run(false), "{n} CPUs");
            };
        }
        same!(Short::new(n * 3 / 2, 300_000, 100_000, 100, 1));
        same!(PingPong::new(n, 5_000, 60));
        same!(hogs(n + n / 4));
        same!(small_build(0.3));
    }
}

/// The lines of the masks stay in their nodes, so that there the runs differ.
#[test]
fn on_several_nodes_a_run_keeps_the_invariants_and_is_another_one() {
    for machine in nodes() {
        let n = machine.n_cpus() as u32;
        let program = || Short::new(n * 3 / 2, 300_000, 100_000, 30, 1);
        let policy = Ext::new(Plain { per_node: true }, Rules::V6_18, Tunables::default());
        let mut sim = simulate(machine.clone(), Config::default(), policy, program(), NoObserver);
        let end = run_checked(&mut sim, 4000 * MS, |sim| sim.policy.check(&sim.w));
        assert_eq!(end, Ok(StopReason::Done), "{n} CPUs");
        let run = |per_node| events(&machine, Plain { per_node }, Rules::V6_18, program());
        assert!(run(true) != run(false), "{n} CPUs");
    }
}

/// It asks for an idle CPU in the one way or in the other.
struct Asks {
    per_node: bool,
    by_node: bool,
}

impl Ops for Asks {
    fn idle_per_node(&self) -> bool {
        self.per_node
    }

    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, _wake: Wake) -> CpuId {
        let node = cx.machine().cpus[prev].node;
        let cpu = match self.by_node {
            true => cx.pick_idle_cpu_node(&CpuSet::full(16), node, Pick::default()),
            false => cx.pick_idle_cpu(p, false),
        };
        cpu.unwrap_or(prev)
    }
}

/// As in the kernel a search that does not fit to the masks ends the scheduler.
#[test]
fn a_search_fits_to_the_masks_or_ends_the_run() {
    let machine = &nodes()[0];
    let end = |per_node, by_node| {
        let policy = Ext::new(Asks { per_node, by_node }, Rules::V6_18, Tunables::default());
        let program = Short::new(12, 300_000, 100_000, 20, 1);
        let config = Config::default();
        let mut sim = simulate(machine.clone(), config, policy, program, NoObserver);
        sim.run_until(400 * MS)
    };
    let given_up = |why: &str| StopReason::GivenUp(why.to_string());
    assert_eq!(end(false, false), StopReason::Done);
    assert_eq!(end(true, true), StopReason::Done);
    assert_eq!(end(true, false), given_up("per-node idle tracking is enabled"));
    assert_eq!(end(false, true), given_up("per-node idle tracking is disabled"));
}

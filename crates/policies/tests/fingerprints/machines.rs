//! Machines of one to 32 CPUs.

use topology::{Governor, Machine, RegularSpec};

/// `sockets` of `llcs` LLCs of `cores` cores of `threads` threads.
pub fn regular(sockets: u32, llcs: u32, cores: u32, threads: u32) -> Machine {
    Machine::regular(RegularSpec {
        sockets,
        llcs_per_socket: llcs,
        cores_per_llc: cores,
        threads_per_core: threads,
        ..RegularSpec::default()
    })
}

/// Four sockets of a core each, in a ring: the highest domains overlap.
pub fn ring() -> Machine {
    let far = [[10, 16, 32, 16], [16, 10, 16, 32], [32, 16, 10, 16], [16, 32, 16, 10]];
    Machine::regular(RegularSpec {
        sockets: 4,
        cores_per_llc: 2,
        threads_per_core: 1,
        numa_distance: Some(far.concat()),
        ..RegularSpec::default()
    })
}

/// Two nodes in a socket, with two LLCs each.
pub fn two_nodes() -> Machine {
    Machine::regular(RegularSpec {
        nodes_per_socket: 2,
        llcs_per_socket: 4,
        cores_per_llc: 2,
        ..RegularSpec::default()
    })
}

/// An LLC of three cores with two threads, one of five cores with one, and one of a single core.
pub fn unequal() -> Machine {
    let cores = [(0, 0), (0, 0), (1, 0), (1, 0), (2, 0), (2, 0), (3, 1), (4, 1), (5, 1), (6, 1)];
    let cores = cores.into_iter().chain([(7, 1), (8, 2), (8, 2)]);
    let lines = cores
        .enumerate()
        .map(|(cpu, (core, llc))| format!("{cpu},{core},0,0,,{core},{core},{core},{llc}\n"));
    let text = format!("# CPU,Core,Socket,Node,,L1d,L1i,L2,L3\n{}", lines.collect::<String>());
    topology::import::lscpu("unequal", &text).expect("it is right").machine
}

/// A guest, whose CPUs halt at once, with slow ticks and another frequency.
pub fn guest() -> Machine {
    let mut machine = regular(1, 2, 2, 1);
    (machine.governor, machine.hz, machine.freq_scale) = (Governor::Haltpoll, 1000, 700);
    machine.tick_skew_ns = 10_000;
    machine
}

/// System calls that give way.
pub fn preemptible() -> Machine {
    let mut machine = regular(1, 1, 4, 2);
    (machine.preemptible_kernel, machine.hz) = (true, 1000);
    machine
}

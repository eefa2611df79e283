//! Small machines.

use proptest::prelude::*;
use topology::{Machine, RegularSpec};

/// A regular machine, as the numbers it is made of.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Sockets, each one NUMA node.
    pub sockets: u32,
    /// LLCs per socket.
    pub llcs: u32,
    /// Cores per LLC.
    pub cores: u32,
    /// Threads per core; the sibling of thread k is k + the number of cores.
    pub threads: u32,
    /// Ticks per second.
    pub hz: u32,
    /// `arch_scale_freq_capacity()`, of 1024.
    pub freq_scale: u32,
}

impl Shape {
    /// One socket at 250 Hz and its highest frequency.
    pub const fn new(llcs: u32, cores: u32, threads: u32) -> Self {
        Self { sockets: 1, llcs, cores, threads, hz: 250, freq_scale: 1024 }
    }

    /// The same with so many LLCs per socket.
    pub fn with_llcs(self, llcs: u32) -> Self {
        Self { llcs, ..self }
    }

    /// The machine, with the default costs.
    pub fn machine(self) -> Machine {
        let mut machine = Machine::regular(RegularSpec {
            sockets: self.sockets,
            llcs_per_socket: self.llcs,
            cores_per_llc: self.cores,
            threads_per_core: self.threads,
            hz: self.hz,
            ..RegularSpec::default()
        });
        machine.freq_scale = self.freq_scale;
        machine
    }
}

/// Machines of one to 24 CPUs.
pub fn shapes() -> impl Strategy<Value = Shape> {
    let hz = prop_oneof![Just(100u32), Just(250), Just(1000)];
    let freq_scale = prop_oneof![Just(1024u32), Just(700), Just(273)];
    let counts = (1u32..=2, 1u32..=2, 1u32..=3, 1u32..=2);
    (counts, hz, freq_scale).prop_map(|((sockets, llcs, cores, threads), hz, freq_scale)| Shape {
        sockets,
        llcs,
        cores,
        threads,
        hz,
        freq_scale,
    })
}

/// The same with two to four LLCs per socket.
pub fn shapes_of_many_llcs() -> impl Strategy<Value = Shape> {
    (shapes(), 2u32..=4, 1u32..=2).prop_map(|(shape, llcs, cores)| Shape { llcs, cores, ..shape })
}

/// A machine on which nothing costs time: what is left is queueing.
pub fn free_machine(cpus: u32) -> Machine {
    let spec = RegularSpec { cores_per_llc: cpus, threads_per_core: 1, ..RegularSpec::default() };
    Machine::regular(spec).without_costs()
}

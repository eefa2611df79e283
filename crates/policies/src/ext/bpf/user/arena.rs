//! Schedulers with the arena library of the scx repository hear of the machine by its programs.

use super::{Again, Hands, UserHalf, UserHalfDef};
use crate::ext::bpf::fill::mask_bytes;
use topology::{CpuId, CpuSet, Machine};

pub(super) const ARENA: UserHalfDef = UserHalfDef {
    name: "scx-arena",
    help: "tells the library scx_arena of the machine's nodes, LLCs, cores and CPUs at the start",
    programs: &["arena_topology_init", "arena_alloc_mask", "arena_topology_node_init"],
    make: || Box::new(Arena),
};

struct Arena;

/// Parts of a machine, the whole first: a part comes before those in it.
fn levels(machine: &Machine) -> [Vec<CpuSet>; 5] {
    let n = machine.n_cpus();
    let cpus = (0..n as u32).map(|cpu| CpuSet::of(n, [CpuId(cpu)])).collect();
    let (nodes, llcs, cores) = (&machine.nodes, &machine.llcs, &machine.cores);
    [vec![CpuSet::full(n)], nodes.clone(), llcs.clone(), cores.clone(), cpus]
}

impl UserHalf for Arena {
    fn start(&mut self, hands: &mut Hands<'_, '_>) -> Again {
        let levels = levels(hands.machine());
        // The most parts that a part of the level above has.
        let most = |above: &[CpuSet], below: &[CpuSet]| {
            let within = |set: &CpuSet| below.iter().filter(|own| own.is_subset(set)).count();
            above.iter().map(within).max().unwrap_or(0) as u64
        };
        let fields = ["max_children[0]", "max_children[1]", "max_children[2]", "max_children[3]"];
        let counts = levels.windows(2).map(|pair| most(&pair[0], &pair[1]));
        let args: Vec<(&str, u64)> = fields.into_iter().zip(counts).collect();
        hands.call("arena_topology_init", &args, None)?;
        for level in &levels {
            for (id, cpus) in level.iter().enumerate() {
                let mask = hands.call("arena_alloc_mask", &[], Some("bitmap"))?;
                hands.put(mask, &mask_bytes(cpus))?;
                let args = [("bitmap", mask), ("data_size", 0), ("id", id as u64)];
                hands.call("arena_topology_node_init", &args, None)?;
            }
        }
        Ok(None)
    }
}

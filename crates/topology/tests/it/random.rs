//! Properties of the domains of random machines.

use proptest::prelude::*;
use topology::{CpuId, CpuSet, Level, Machine, RegularSpec};

prop_compose! {
    fn spec()(
        sockets in 1u32..=4,
        nodes_per_socket in 1u32..=3,
        llcs_per_node in 1u32..=4,
        cores_per_llc in 1u32..=5,
        threads_per_core in 1u32..=3,
        llcs_per_ccd in 1u32..=2,
        l3_as_numa: bool,
    ) -> RegularSpec {
        RegularSpec {
            sockets,
            nodes_per_socket: if l3_as_numa { 1 } else { nodes_per_socket },
            llcs_per_socket: nodes_per_socket * llcs_per_node,
            cores_per_llc,
            threads_per_core,
            llcs_per_ccd,
            l3_as_numa,
            ..RegularSpec::default()
        }
    }
}

/// A machine of `n` nodes with random symmetric distances, which overlap more often than not.
fn meshed(n: usize, picks: &[u32]) -> Machine {
    let mut distance = vec![10; n * n];
    for (a, b) in (0..n).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let pick = picks[a * (a - 1) / 2 + b];
        distance[a * n + b] = pick;
        distance[b * n + a] = pick;
    }
    Machine::regular(RegularSpec {
        sockets: n as u32,
        cores_per_llc: 1,
        numa_distance: Some(distance),
        ..RegularSpec::default()
    })
}

fn union(n_cpus: usize, sets: impl Iterator<Item = CpuSet>) -> CpuSet {
    sets.fold(CpuSet::empty(n_cpus), |mut all, set| {
        all.union_with(&set);
        all
    })
}

fn check_chains(machine: &Machine) {
    let domains = &machine.domains;
    for cpu in (0..machine.n_cpus() as u32).map(CpuId) {
        let chain: Vec<_> = domains.chain(cpu).collect();
        for pair in chain.windows(2) {
            assert!(pair[0].span.is_subset(&pair[1].span));
            assert!(pair[0].weight() < pair[1].weight());
        }
        let whole = chain.last().map_or(1, |top| top.weight() as usize);
        assert_eq!(whole, machine.n_cpus());
        for (link, domain) in domains.chains[cpu].iter().zip(&chain) {
            assert!(domain.weight() > 1 && domain.span.contains(cpu));
            let own = domains.ring(*link).next().expect("a domain has groups");
            assert!(own.span.contains(cpu));
            let spans = domain.groups.iter().map(|g| g.span.clone());
            assert_eq!(union(machine.n_cpus(), spans), domain.span);
            for group in &domain.groups {
                assert!(group.balance_mask.is_subset(&group.span));
                assert!(group.span.contains(group.balance_cpu));
            }
        }
    }
}

fn check_partition(machine: &Machine) {
    for domain in &machine.domains.domains {
        let weights = domain.groups.iter().map(|g| g.cpus.len());
        assert_eq!(weights.sum::<usize>(), domain.cpus.len());
        assert!(domain.groups.is_sorted_by_key(|g| g.cpus[0]));
        assert!(domain.groups.len() > 1 || domain.level == Level::Smt);
    }
}

fn check_llcs(machine: &Machine) {
    for (cpu, place) in machine.cpus.iter().enumerate() {
        let llc = &machine.llcs[place.llc as usize];
        assert_eq!(Some(machine.domains.llc_id[CpuId(cpu as u32)]), llc.first());
        assert_eq!(machine.domains.llc_size[CpuId(cpu as u32)] as usize, llc.len());
    }
}

proptest! {
    #[test]
    fn regular_machines_have_sound_domains(spec in spec()) {
        let machine = Machine::regular(spec);
        check_chains(&machine);
        check_partition(&machine);
        check_llcs(&machine);
    }

    #[test]
    fn meshed_nodes_have_sound_domains(
        n in 1usize..=6,
        picks in prop::collection::vec(prop::sample::select(vec![12u32, 16, 22, 32]), 15),
    ) {
        let machine = meshed(n, &picks);
        check_chains(&machine);
        check_llcs(&machine);
    }

    #[test]
    fn a_wrong_file_has_faults_with_places_and_never_panics(
        edits in prop::collection::vec((0usize..200, 0usize..VALUES.len()), 1..4),
    ) {
        let text = include_str!("../../../../scenarios/machines/ice-lake.toml");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        for (line, value) in edits {
            let line = line % lines.len();
            if let Some((key, _)) = lines[line].split_once(" = ") {
                lines[line] = format!("{key} = {}", VALUES[value]);
            }
        }
        let text = lines.join("\n");
        for fault in topology::load("random.toml", &text).err().into_iter().flatten() {
            let place = fault.span.map(|span| text.get(span).is_some());
            assert!(place != Some(false) && !fault.message.is_empty());
        }
    }
}

/// What people, scripts and fuzzers write.
pub const VALUES: [&str; 16] = [
    "-1",
    "0",
    "1",
    "7",
    "8192",
    "1000000000",
    "18446744073709551616",
    "0xffff_ffff",
    "1e300",
    "nan",
    "''",
    "[]",
    "[[10, 20], [20, 10], []]",
    "{}",
    "true",
    "2026-11-20",
];

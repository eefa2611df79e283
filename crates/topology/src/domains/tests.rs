//! The chains of known machines, and machines whose NUMA spans overlap.

use crate::{CpuId, CpuSet, Domain, Level, Machine, RegularSpec, SchedDomains, SdFlags};

fn zen4() -> Machine {
    Machine::regular(RegularSpec { llcs_per_socket: 2, cores_per_llc: 8, ..RegularSpec::default() })
}

fn two_sockets(cores_per_llc: u32) -> Machine {
    Machine::regular(RegularSpec {
        sockets: 2,
        cores_per_llc,
        numa_distance: Some(vec![10, 21, 21, 10]),
        ..RegularSpec::default()
    })
}

fn weights(machine: &Machine, cpu: u32) -> Vec<u32> {
    let chain = machine.domains.chain(CpuId(cpu));
    chain.map(Domain::weight).collect()
}

fn levels(machine: &Machine, cpu: u32) -> Vec<Level> {
    machine.domains.chain(CpuId(cpu)).map(|d| d.level).collect()
}

fn top(machine: &Machine) -> &Domain {
    let chain = machine.domains.chain(CpuId(0));
    chain.last().expect("more than one CPU")
}

#[test]
fn a_7950x_has_smt_mc_and_die() {
    let machine = zen4();
    assert_eq!(weights(&machine, 0), [2, 16, 32]);
    assert_eq!(levels(&machine, 31), [Level::Smt, Level::Mc, Level::Die]);
    assert_eq!(top(&machine).imb_numa_nr, 2);
    assert_eq!(machine.domains.domains.len(), 16 + 2 + 1);
}

#[test]
fn numa_domains_serialize_and_prefer_no_sibling() {
    let machine = two_sockets(20);
    assert_eq!(weights(&machine, 0), [2, 40, 80]);
    let numa = top(&machine);
    assert_eq!(numa.level, Level::Numa(1));
    assert!(numa.flags.has(SdFlags::NUMA | SdFlags::SERIALIZE | SdFlags::WAKE_AFFINE));
    assert!(!numa.flags.has(SdFlags::PREFER_SIBLING));
    assert_eq!((numa.cache_nice_tries, numa.imbalance_pct), (2, 117));
    assert_eq!(numa.groups[1].span.to_string(), "20-39,60-79");
}

#[test]
fn caches_are_shared_within_an_llc() {
    let domains = zen4().domains;
    assert!(domains.share_cache(CpuId(0), CpuId(16)));
    assert!(!domains.share_cache(CpuId(0), CpuId(8)));
    assert_eq!(domains.llc_id[CpuId(25)], CpuId(8));
    assert_eq!(domains.llc_size[CpuId(25)], 16);
    assert_eq!(domains.llc_level[25], Some(1));
}

#[test]
fn a_ring_starts_at_the_own_group() {
    let domains = zen4().domains;
    let link = domains.chains[CpuId(9)][2];
    let ring: Vec<String> = domains.ring(link).map(|g| g.span.to_string()).collect();
    assert_eq!(ring, ["8-15,24-31", "0-7,16-23"]);
    let smt = domains.ring(domains.chains[CpuId(24)][0]).next();
    assert_eq!(smt.map(|g| g.balance_cpu), Some(CpuId(24)));
    assert!(domains.ring(domains.chains[CpuId(9)][1]).all(|g| g.smt));
    assert!(domains.ring(link).all(|g| !g.smt));
}

#[test]
fn a_removed_die_leaves_prefer_sibling_on_mc() {
    let machine = Machine::regular(RegularSpec { cores_per_llc: 26, ..RegularSpec::default() });
    assert_eq!(levels(&machine, 0), [Level::Smt, Level::Mc]);
    assert_eq!(weights(&machine, 0), [2, 52]);
    assert!(top(&machine).flags.has(SdFlags::PREFER_SIBLING | SdFlags::SHARE_LLC));
}

#[test]
fn l3_as_numa_replaces_die_by_numa() {
    let machine = Machine::regular(RegularSpec {
        llcs_per_socket: 6,
        cores_per_llc: 6,
        l3_as_numa: true,
        ..RegularSpec::default()
    });
    assert_eq!(weights(&machine, 0), [2, 12, 72]);
    assert_eq!(levels(&machine, 0), [Level::Smt, Level::Mc, Level::Numa(1)]);
    assert_eq!(top(&machine).imb_numa_nr, 1);
}

#[test]
fn imb_numa_nr_is_an_eighth_of_one_llc_or_the_number_of_llcs() {
    assert_eq!(top(&two_sockets(20)).imb_numa_nr, 5);
    assert_eq!(top(&two_sockets(32)).imb_numa_nr, 8);
    assert_eq!(top(&two_sockets(20)).imb_numa_nr_quarter, 10);
    assert_eq!(top(&two_sockets(32)).imb_numa_nr_quarter, 16);
    let milan = Machine::regular(RegularSpec {
        sockets: 2,
        llcs_per_socket: 8,
        cores_per_llc: 8,
        ..RegularSpec::default()
    });
    let imbs = milan.domains.chain(CpuId(0)).map(|d| d.imb_numa_nr);
    assert_eq!(imbs.collect::<Vec<_>>(), [0, 0, 8, 8]);
}

#[test]
fn several_nodes_in_a_socket_leave_die_out() {
    let nps4 = |reclaim_distance| {
        Machine::regular(RegularSpec {
            sockets: 2,
            nodes_per_socket: 4,
            llcs_per_socket: 8,
            cores_per_llc: 8,
            reclaim_distance,
            ..RegularSpec::default()
        })
    };
    let machine = nps4(30);
    let expected = [Level::Smt, Level::Mc, Level::Node, Level::Numa(1), Level::Numa(2)];
    assert_eq!(levels(&machine, 0), expected);
    assert_eq!(weights(&machine, 0), [2, 16, 32, 128, 256]);
    assert!(!top(&machine).flags.has(SdFlags::WAKE_AFFINE));
    assert!(top(&nps4(32)).flags.has(SdFlags::WAKE_AFFINE | SdFlags::BALANCE_FORK));
}

#[test]
fn one_cpu_has_no_domains() {
    let machine = Machine::regular(RegularSpec {
        cores_per_llc: 1,
        threads_per_core: 1,
        ..RegularSpec::default()
    });
    assert!(weights(&machine, 0).is_empty());
    assert_eq!(machine.domains.llc_id[CpuId(0)], CpuId(0));
    assert_eq!(machine.domains.llc_size[CpuId(0)], 1);
}

#[test]
fn an_llc_of_one_core_is_found_at_smt() {
    let machine = Machine::regular(RegularSpec {
        llcs_per_socket: 4,
        cores_per_llc: 1,
        ..RegularSpec::default()
    });
    assert_eq!(levels(&machine, 0), [Level::Smt, Level::Die]);
    assert_eq!(machine.domains.llc_size[CpuId(0)], 2);
    assert!(top(&machine).groups.iter().all(|g| g.smt));
}

/// Four nodes in a ring, one CPU pair each: 0 - 1 - 2 - 3 - 0, the opposite node at 30.
#[test]
fn overlapping_groups_depend_on_the_node_and_have_smaller_balance_masks() {
    let ring = [[10, 20, 30, 20], [20, 10, 20, 30], [30, 20, 10, 20], [20, 30, 20, 10]];
    let machine = Machine::regular(RegularSpec {
        sockets: 4,
        cores_per_llc: 2,
        threads_per_core: 1,
        numa_distance: Some(ring.concat()),
        ..RegularSpec::default()
    });
    assert_eq!(weights(&machine, 0), [2, 6, 8]);
    let domains = &machine.domains;
    let top_ring = |cpu: usize| -> Vec<(String, String)> {
        let groups = domains.ring(domains.chains[CpuId(cpu as u32)][2]);
        groups.map(|g| (g.span.to_string(), g.balance_mask.to_string())).collect()
    };
    let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
    assert_eq!(top_ring(0), [pair("0-3,6-7", "0-1"), pair("2-7", "4-5")]);
    assert_eq!(top_ring(3), [pair("0-5", "2-3"), pair("0-1,4-7", "6-7")]);
    assert_eq!(domains.ring(domains.chains[CpuId(0)][1]).count(), 3);
}

/// Three nodes in a row: the middle one sees all CPUs one level earlier.
#[test]
fn a_chain_stops_at_the_first_level_that_spans_the_machine() {
    let machine = Machine::regular(RegularSpec {
        sockets: 3,
        cores_per_llc: 2,
        threads_per_core: 1,
        numa_distance: Some(vec![10, 20, 30, 20, 10, 20, 30, 20, 10]),
        ..RegularSpec::default()
    });
    assert_eq!(weights(&machine, 0), [2, 4, 6]);
    assert_eq!(weights(&machine, 2), [2, 6]);
    let domains = &machine.domains;
    let ring = domains.ring(domains.chains[CpuId(0)][2]);
    let spans: Vec<String> = ring.map(|g| g.span.to_string()).collect();
    assert_eq!(spans, ["0-3", "2-5"]);
}

#[test]
fn a_large_machine_is_built_at_once() {
    let machine = Machine::regular(RegularSpec {
        sockets: 8,
        nodes_per_socket: 4,
        llcs_per_socket: 16,
        cores_per_llc: 8,
        llcs_per_ccd: 2,
        threads_per_core: 8,
        ..RegularSpec::default()
    });
    assert_eq!(machine.n_cpus(), 8192);
    assert_eq!(weights(&machine, 8191), [8, 64, 256, 1024, 8192]);
    let SchedDomains { domains, .. } = &machine.domains;
    assert_eq!(domains.len(), 1024 + 128 + 32 + 8 + 1);
    let all = CpuSet::full(8192);
    assert_eq!(top(&machine).span, all);
}

#[test]
fn a_thousand_nodes_are_built_at_once() {
    let machine = Machine::regular(RegularSpec {
        sockets: 2,
        llcs_per_socket: 512,
        cores_per_llc: 4,
        l3_as_numa: true,
        ..RegularSpec::default()
    });
    assert_eq!(weights(&machine, 0), [2, 8, 4096, 8192]);
    assert_eq!(top(&machine).groups.len(), 2);
}

//! Snapshots of what people see.

use super::{table, tree};
use crate::{Machine, RegularSpec, load};
use expect_test::{Expect, expect};

fn check(shown: &str, expected: Expect) {
    expected.assert_eq(shown);
    let trailing_blank = shown.lines().any(|l| l.ends_with(' '));
    assert!(!trailing_blank);
}

#[test]
fn bergamo_fits_on_a_screen() {
    let text = include_str!("../../../../scenarios/machines/bergamo.toml");
    let machine = load("bergamo.toml", text).expect("the machine file is valid");
    check(
        &tree(&machine),
        expect![[r#"
            bergamo: AMD EPYC 9D64 (Bergamo, Zen 4c), 88 cores
            176 CPUs, 88 cores, 11 LLCs, 1 NUMA node, 1 socket; 1200 MHz, 250 Hz

            socket 0, node 0  CPUs 0-175
              CCD 0           CPUs 0-15,88-103
                LLC 0         CPUs 0-7,88-95 (16 MiB, 8 cores x 2 threads)
                LLC 1         CPUs 8-15,96-103 (16 MiB, 8 cores x 2 threads)
              CCD 1           CPUs 16-31,104-119
                LLC 2         CPUs 16-23,104-111 (16 MiB, 8 cores x 2 threads)
                LLC 3         CPUs 24-31,112-119 (16 MiB, 8 cores x 2 threads)
              CCD 2           CPUs 32-47,120-135
                LLC 4         CPUs 32-39,120-127 (16 MiB, 8 cores x 2 threads)
                LLC 5         CPUs 40-47,128-135 (16 MiB, 8 cores x 2 threads)
              CCD 3           CPUs 48-63,136-151
                LLC 6         CPUs 48-55,136-143 (16 MiB, 8 cores x 2 threads)
                LLC 7         CPUs 56-63,144-151 (16 MiB, 8 cores x 2 threads)
              CCD 4           CPUs 64-79,152-167
                LLC 8         CPUs 64-71,152-159 (16 MiB, 8 cores x 2 threads)
                LLC 9         CPUs 72-79,160-167 (16 MiB, 8 cores x 2 threads)
              CCD 5, LLC 10   CPUs 80-87,168-175 (16 MiB, 8 cores x 2 threads)

            scheduling domains of any CPU, all with BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE PREFER_SIBLING
              level  weight  groups        imbalance_pct  imb_numa_nr  flags
              SMT         2  2 x 1 CPU               110            0  SHARE_CPUCAPACITY SHARE_LLC
              MC         16  8 x 2 CPUs              117            0  SHARE_LLC
              DIE       176  11 x 16 CPUs            117           11

            cache-line transfer
              between            ns
              SMT siblings       11
              cores of an LLC    32
              LLCs of a socket  125
              memory            115

            idle states
              C-state  exit us  residency us  woken by
              C1           0.8             2  a store
              C2            25          1600  an IPI

            how sure (proxy: measured on a sibling part)
              unverified  hz, caches.mem_ns, cstate
              inferred    freq_scale, caches.l3_hit_ns, caches.mlp, latency.smt_ns, latency.llc_ns, latency.node_ns, background
              proxy       caches.l1d_kib, caches.l2_kib, caches.l3_kib, locks.fast_ns
        "#]],
    );
}

#[test]
fn two_sockets_show_their_distances() {
    let text = include_str!("../../../../scenarios/machines/skylake.toml");
    let machine = load("skylake.toml", text).expect("the machine file is valid");
    check(
        &tree(&machine),
        expect![[r#"
            skylake: 2 x Intel Xeon Skylake-SP, 40 cores
            80 CPUs, 40 cores, 2 LLCs, 2 NUMA nodes, 2 sockets; 2000 MHz, 250 Hz

            socket 0, node 0, LLC 0  CPUs 0-19,40-59 (28160 KiB, 20 cores x 2 threads)
            socket 1, node 1, LLC 1  CPUs 20-39,60-79 (28160 KiB, 20 cores x 2 threads)

            scheduling domains of any CPU, all with BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE
              level  weight  groups       imbalance_pct  imb_numa_nr  flags
              SMT         2  2 x 1 CPU              110            0  SHARE_CPUCAPACITY SHARE_LLC PREFER_SIBLING
              MC         40  20 x 2 CPUs            117            0  SHARE_LLC PREFER_SIBLING
              NUMA1      80  2 x 40 CPUs            117            5  SERIALIZE NUMA

            NUMA distances
                     node0  node1
              node0     10     21
              node1     21     10

            cache-line transfer
              between           ns
              SMT siblings       7
              cores of an LLC   48
              sockets          141
              memory            90

            idle states
              C-state    exit us  residency us  woken by
              C1             0.8             2  a store
              C1E             10            20  a store
              C6       92 to 133           600  a store

            how sure (proxy: measured on a sibling part)
              unverified  numa_distances, clock_mhz, hz, caches.l3_kib, caches.l3_hit_ns, caches.mem_ns, cstate
              inferred    caches.mlp, background
              proxy       caches.l1d_kib, caches.l2_kib, latency, locks.fast_ns
        "#]],
    );
}

#[test]
fn long_runs_of_equal_parts_are_folded() {
    let machine = Machine::regular(RegularSpec {
        llcs_per_socket: 16,
        cores_per_llc: 1,
        threads_per_core: 1,
        ..RegularSpec::default()
    });
    check(
        &tree(&machine),
        expect![[r#"
            regular
            16 CPUs, 16 cores, 16 LLCs, 1 NUMA node, 1 socket; 3000 MHz, 250 Hz

            socket 0, node 0  CPUs 0-15
              LLC 0           CPUs 0 (32 MiB, 1 core)
              LLC 1           CPUs 1 (32 MiB, 1 core)
              ... 13 more
              LLC 15          CPUs 15 (32 MiB, 1 core)

            scheduling domains of any CPU, all with BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE PREFER_SIBLING
              level  weight  groups      imbalance_pct  imb_numa_nr  flags
              DIE        16  16 x 1 CPU            117           16

            cache-line transfer
              between            ns
              LLCs of a socket  110
              memory            105

            idle states
              C-state  exit us  residency us  woken by
              C1           0.8             2  a store
        "#]],
    );
}

#[test]
fn one_cpu_has_little_to_show() {
    let machine = load("one.toml", "cores = 1").expect("the machine is valid");
    check(
        &tree(&machine),
        expect![[r#"
            one
            1 CPU, 1 core, 1 LLC, 1 NUMA node, 1 socket; 3000 MHz, 250 Hz

            socket 0, node 0, LLC 0  CPUs 0 (32 MiB, 1 core)

            scheduling domains of any CPU: none

            cache-line transfer
              between   ns
              memory   105

            idle states
              C-state  exit us  residency us  woken by
              C1           0.8             2  a store
        "#]],
    );
}

#[test]
fn nodes_in_a_row_have_different_domains() {
    let machine = Machine::regular(RegularSpec {
        sockets: 3,
        cores_per_llc: 2,
        threads_per_core: 1,
        numa_distance: Some(vec![10, 20, 30, 20, 10, 20, 30, 20, 10]),
        ..RegularSpec::default()
    });
    check(
        &tree(&machine),
        expect![[r#"
            regular
            6 CPUs, 6 cores, 3 LLCs, 3 NUMA nodes, 3 sockets; 3000 MHz, 250 Hz

            socket 0, node 0, LLC 0  CPUs 0-1 (32 MiB, 2 cores)
            socket 1, node 1, LLC 1  CPUs 2-3 (32 MiB, 2 cores)
            socket 2, node 2, LLC 2  CPUs 4-5 (32 MiB, 2 cores)

            scheduling domains of CPUs 0-1,4-5, all with BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE
              level  weight  groups      imbalance_pct  imb_numa_nr  flags
              MC          2  2 x 1 CPU             117            0  SHARE_LLC PREFER_SIBLING
              NUMA1       4  2 x 2 CPUs            117            1  SERIALIZE NUMA
              NUMA2       6  2 x 4 CPUs            117            1  SERIALIZE NUMA

            scheduling domains of CPUs 2-3, all with BALANCE_NEWIDLE BALANCE_EXEC BALANCE_FORK WAKE_AFFINE
              level  weight  groups      imbalance_pct  imb_numa_nr  flags
              MC          2  2 x 1 CPU             117            0  SHARE_LLC PREFER_SIBLING
              NUMA1       6  3 x 2 CPUs            117            1  SERIALIZE NUMA

            NUMA distances
                     node0  node1  node2
              node0     10     20     30
              node1     20     10     20
              node2     30     20     10

            cache-line transfer
              between           ns
              cores of an LLC   25
              sockets          200
              memory           105

            idle states
              C-state  exit us  residency us  woken by
              C1           0.8             2  a store
        "#]],
    );
}

#[test]
fn the_table_is_lscpus() {
    let machine = Machine::regular(RegularSpec {
        llcs_per_socket: 2,
        cores_per_llc: 3,
        ..RegularSpec::default()
    });
    check(
        &table(&machine),
        expect![[r#"
        CPU NODE SOCKET CORE L1d:L1i:L2:L3 ONLINE    MAXMHZ    MINMHZ
          0    0      0    0 0:0:0:0          yes 3000.0000 3000.0000
          1    0      0    1 1:1:1:0          yes 3000.0000 3000.0000
          2    0      0    2 2:2:2:0          yes 3000.0000 3000.0000
          3    0      0    3 3:3:3:1          yes 3000.0000 3000.0000
          4    0      0    4 4:4:4:1          yes 3000.0000 3000.0000
          5    0      0    5 5:5:5:1          yes 3000.0000 3000.0000
          6    0      0    0 0:0:0:0          yes 3000.0000 3000.0000
          7    0      0    1 1:1:1:0          yes 3000.0000 3000.0000
          8    0      0    2 2:2:2:0          yes 3000.0000 3000.0000
          9    0      0    3 3:3:3:1          yes 3000.0000 3000.0000
         10    0      0    4 4:4:4:1          yes 3000.0000 3000.0000
         11    0      0    5 5:5:5:1          yes 3000.0000 3000.0000
    "#]],
    );
}

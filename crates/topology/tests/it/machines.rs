//! The machine files that come with the project.

use std::path::PathBuf;
use topology::{CpuId, Machine};

fn machine(name: &str) -> Machine {
    let dir = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/machines");
    let path = dir.join(format!("{name}.toml"));
    let text = std::fs::read_to_string(&path).expect("the machine file exists");
    topology::load(&path, &text).unwrap_or_else(|faults| panic!("{name}: {faults:#?}"))
}

fn check(name: &str, weights: &[u32], llc_of_last: &str) {
    let machine = machine(name);
    let chain = machine.domains.chain(CpuId(0));
    assert_eq!(chain.map(|d| d.weight()).collect::<Vec<_>>(), weights, "{name}");
    let last = machine.llcs.last().expect("a machine has an LLC");
    assert_eq!(last.to_string(), llc_of_last, "{name}");
}

#[test]
fn machines_have_the_domains_of_the_real_ones() {
    check("zen4", &[2, 16, 32], "8-15,24-31");
    check("milan", &[2, 12, 72], "30-35,66-71");
    check("bergamo", &[2, 16, 176], "80-87,168-175");
    check("ryzen-3900x", &[2, 6, 24], "9-11,21-23");
    check("cooper-lake", &[2, 52], "0-51");
    check("skylake", &[2, 40, 80], "20-39,60-79");
    check("skylake-18c", &[2, 36], "0-35");
    check("ice-lake", &[2, 64, 128], "32-63,96-127");
}

#[test]
fn every_constant_given_has_a_source() {
    let names =
        ["zen4", "milan", "bergamo", "ryzen-3900x", "cooper-lake", "skylake", "skylake-18c"];
    for name in names.into_iter().chain(["ice-lake"]) {
        let machine = machine(name);
        let has = |key: &str| {
            let covers = |k: &String| k == key || key.starts_with(&format!("{k}."));
            machine.sources.iter().any(|s| s.keys.iter().any(covers))
        };
        for key in ["cores_per_llc", "clock_mhz", "hz", "caches.mem_ns", "latency.llc_ns", "cstate"]
        {
            assert!(has(key), "{name}: no source for {key}");
        }
    }
}

#[test]
fn bergamo_has_six_dies_of_two_llcs_but_the_last() {
    let machine = machine("bergamo");
    assert_eq!(machine.cpus[CpuId(87)].ccd, 5);
    assert_eq!(machine.cpus[CpuId(79)].ccd, 4);
    assert_eq!(machine.cpus[CpuId(72)].ccd, machine.cpus[CpuId(64)].ccd);
}

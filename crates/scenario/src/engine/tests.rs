//! The registry's words against what the engine makes of them.

use super::*;
use crate::registry::{FEATURES, KeyDef, WORKLOADS, WorkloadDef};
use std::path::Path;

fn spec(policy: &str, variant: &str, workload: &str) -> RunSpec {
    let text = format!(
        r#"
        policy = "{policy}"
        run = {{ seeds = 1, until = "20ms" }}
        [[variant]]
        name = "x"
        {variant}
        [machine]
        cores_per_llc = 4
        llcs_per_socket = 2
        latency = {{ llc_ns = 25, node_ns = 110 }}
        caches = {{ l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }}
        [workload]
        {workload}
        "#
    );
    let experiment = crate::load_str(Path::new("x.toml"), text)
        .unwrap_or_else(|faults| panic!("{}", faults.render(false)));
    experiment.spec(&experiment.variants[0], 1)
}

fn cfs(variant: &str) -> RunSpec {
    spec("cfs", variant, "kind = \"spinners\"\ntasks = 1")
}

/// The kind, and a small value for each key that must be given.
fn smallest(def: &WorkloadDef) -> String {
    let required = |key: &&KeyDef| key.default.is_none();
    let keys = def
        .keys
        .iter()
        .filter(required)
        .map(|key| format!("{} = 8\n", key.name));
    format!("kind = \"{}\"\n{}", def.kind, keys.collect::<String>())
}

#[test]
fn every_workload_of_the_registry_runs() {
    for def in WORKLOADS {
        let spec = spec("fifo", "", &smallest(def));
        let output = SimulationExecutor.run(&spec, &|_| ()).unwrap();
        assert_eq!(output.metrics[0].value, 0.02, "{}", def.kind);
        assert_eq!(output.utilization.unwrap().shares.len(), 2, "{}", def.kind);
    }
}

#[test]
fn every_run_has_the_same_metrics() {
    let names = |def| {
        let spec = spec("fifo", "", &smallest(def));
        let output = SimulationExecutor.run(&spec, &|_| ()).unwrap();
        output
            .metrics
            .into_iter()
            .map(|m| m.name)
            .collect::<Vec<_>>()
    };
    for def in WORKLOADS {
        assert_eq!(names(def), names(&WORKLOADS[0]), "{}", def.kind);
    }
}

#[test]
fn the_registry_and_the_policy_have_the_same_defaults() {
    assert_eq!(fair(&cfs("")).features, Features::default());
    assert_eq!(tunables(&cfs("")), Tunables::for_cpus(8));
}

#[test]
fn every_feature_of_the_registry_reaches_the_policy() {
    for def in FEATURES {
        let no = if def.default { "NO_" } else { "" };
        let toggled = cfs(&format!("features = [\"{no}{}\"]", def.name));
        assert_ne!(fair(&toggled).features, Features::default(), "{}", def.name);
    }
}

#[test]
fn the_knobs_of_a_web_server_recompute_nr_latency() {
    let t = tunables(&cfs(
        "tunables = { migration_cost_ns = 0, latency_ns = 20_000_000, \
         min_granularity_ns = 10_000_000, wakeup_granularity_ns = 12_000_000 }",
    ));
    assert_eq!((t.nr_latency, t.migration_cost_ns), (2, 0));
    assert_eq!(t.wakeup_granularity_ns, 12_000_000);
}

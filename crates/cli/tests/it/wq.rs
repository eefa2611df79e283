//! `schedlab wq`: what it prints, and what it says to input that it cannot use.

use crate::lab::{Lab, SCENARIO};
use snapbox::str;

/// Four CPUs in two LLCs; the scope changes on the way.
const QUEUES: &str = r#"title    = "two LLCs"
policy   = "cfs"
run      = { seeds = 1, until = "4ms" }

[workload]
kind       = "dm-crypt"
numjobs    = 1
iodepth    = 4
hash_mb_s  = 500
crypt_mb_s = 200

[[workload.change]]
at    = "2ms"
scope = "system"

[[variant]]
name      = "CACHE"
workqueue = { scope = "cache" }

[machine]
llcs_per_socket = 2
cores_per_llc   = 2
memory_gib      = 1
latency = { llc_ns = 25, node_ns = 110 }
caches  = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
"#;

#[test]
fn pods_pools_and_counters_are_printed() {
    let lab = Lab::new();
    lab.file("q.toml", QUEUES);
    let twice = || lab.output(["wq", "q.toml", "--interval", "2ms", "--quiet"]);
    let text = twice();
    assert_eq!(text, twice());
    snapbox::assert_data_eq!(text, str![[]]);
}

#[test]
fn bad_input_is_shown_with_its_place() {
    let lab = Lab::new();
    lab.file("q.toml", QUEUES.replace("numjobs    = 1", "numjobs = 300"));
    lab.run(["wq", "q.toml"]).code(2).stdout_eq("").stderr_eq(str![[]]);
    lab.file("q.toml", QUEUES);
    lab.run(["wq", "q.toml", "--interval", "2"]).code(2).stdout_eq("").stderr_eq(str![[]]);
    lab.file("small.toml", SCENARIO);
    lab.run(["wq", "small.toml", "--variant", "SWQUEUE"]).code(2).stdout_eq("").stderr_eq(str![[]]);
}

//! `schedlab wq`: what it prints, and what it says to input that it cannot use.

use crate::lab::{Lab, SCENARIO};
use snapbox::str;

/// Four CPUs in two LLCs; the scope changes on the way.
const QUEUES: &str = r#"title    = "two LLCs"
policy   = "cfs"
run      = { seeds = 1, until = "200ms" }

[workload]
kind       = "dm-crypt"
numjobs    = 1
iodepth    = 4
hash_mb_s  = 500
crypt_mb_s = 200

[[workload.change]]
at    = "160ms"
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
    let twice = || lab.output(["wq", "q.toml", "--interval", "40ms", "--quiet"]);
    let text = twice();
    assert_eq!(text, twice());
    snapbox::assert_data_eq!(
        text,
        str![[r#"
two LLCs
machine q, variant CACHE, seed 1

Affinity Scopes
===============
wq_unbound_cpumask=0000000f

CPU
  nr_pods  4
  pod_cpus [0]=00000001 [1]=00000002 [2]=00000004 [3]=00000008
  pod_node [0]=0 [1]=0 [2]=0 [3]=0
  cpu_pod  [0]=0 [1]=1 [2]=2 [3]=3

SMT
  nr_pods  4
  pod_cpus [0]=00000001 [1]=00000002 [2]=00000004 [3]=00000008
  pod_node [0]=0 [1]=0 [2]=0 [3]=0
  cpu_pod  [0]=0 [1]=1 [2]=2 [3]=3

CACHE
  nr_pods  2
  pod_cpus [0]=00000003 [1]=0000000c
  pod_node [0]=0 [1]=0
  cpu_pod  [0]=0 [1]=0 [2]=1 [3]=1

CACHE_SHARD
  nr_pods  2
  pod_cpus [0]=00000003 [1]=0000000c
  pod_node [0]=0 [1]=0
  cpu_pod  [0]=0 [1]=0 [2]=1 [3]=1

NUMA
  nr_pods  1
  pod_cpus [0]=0000000f
  pod_node [0]=0
  cpu_pod  [0]=0 [1]=0 [2]=0 [3]=0

SYSTEM (in use)
  nr_pods  1
  pod_cpus [0]=0000000f
  pod_node [0]=0
  cpu_pod  [0]=0 [1]=0 [2]=0 [3]=0

Worker Pools
============
pool[02] ref=  1 nice=  0 idle/workers=  1/  1 cpu=  0
pool[03] ref=  1 nice=  0 idle/workers=  1/  1 cpu=  1
pool[04] ref=  1 nice=  0 idle/workers=  1/  1 cpu=  2
pool[05] ref=  1 nice=  0 idle/workers=  1/  1 cpu=  3
pool[06] ref=  4 nice=  0 idle/workers=  3/  5 cpus=0000000f

Workqueue CPU -> pool
=====================
[workqueue               type CPU   0   1   2   3]
kcryptd                  unbound    6   6   6   6
kcryptd_io               percpu     2   3   4   5

Counters
========
0.040 s                      total  infl  CPUtime  CPUhog  CPUlocal  CMW/RPR  mayday rescued
kcryptd                          0     0      0.0       -         0        0       0       0
kcryptd_io                       0     0      0.0       0         -        0       0       0

0.080 s                      total  infl  CPUtime  CPUhog  CPUlocal  CMW/RPR  mayday rescued
kcryptd                          0     0      0.0       -         0        0       0       0
kcryptd_io                       0     0      0.0       0         -        0       0       0

0.120 s                      total  infl  CPUtime  CPUhog  CPUlocal  CMW/RPR  mayday rescued
kcryptd                          0     0      0.0       -         0        0       0       0
kcryptd_io                       0     0      0.0       0         -        0       0       0

0.160 s                      total  infl  CPUtime  CPUhog  CPUlocal  CMW/RPR  mayday rescued
kcryptd                        267     1      0.0       -        94        6       0       0
kcryptd_io                       0     0      0.0       0         -        0       0       0

0.200 s                      total  infl  CPUtime  CPUhog  CPUlocal  CMW/RPR  mayday rescued
kcryptd                        658     2      0.1       -       118        6       0       0
kcryptd_io                       0     0      0.0       0         -        0       0       0


"#]]
    );
}

#[test]
fn a_run_that_ends_before_its_jobs_begin_measures_nothing() {
    let lab = Lab::new();
    lab.file("q.toml", QUEUES.replace("200ms", "100ms").replace("160ms", "50ms"));
    lab.run(["q.toml", "--quiet"]).code(1).stdout_eq("").stderr_eq(str![[r#"
error: q: variant `CACHE`, seed 1: the workload is not under way by 0.100000 s, so there is nothing to measure; ask for a longer run

"#]]);
}

#[test]
fn bad_input_is_shown_with_its_place() {
    let lab = Lab::new();
    lab.file("q.toml", QUEUES.replace("numjobs    = 1", "numjobs = 300"));
    lab.run(["wq", "q.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: 300 issuers of 5 MiB each do not fit into 1 GiB of memory
 --> q.toml:7:11
  |
7 | numjobs = 300
  |           ^^^ there is room for 248
  |
  = help: the machine's memory is its `memory_gib`

error: 1 fault in the input; nothing was run

"#]]);
    lab.file("q.toml", QUEUES.replace("scope = \"cache\"", "scope = \"cashe\""));
    lab.run(["q.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: unknown value `cashe` for `scope`
  --> q.toml:18:23
   |
18 | workqueue = { scope = "cashe" }
   |                       ^^^^^^^
   |
   = help: did you mean `cache`?

error: 1 fault in the input; nothing was run

"#]]);
    lab.file("q.toml", QUEUES.replace("scope = \"cache\"", "max_active = 0"));
    lab.run(["q.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: `max_active` must be at least 1
  --> q.toml:18:28
   |
18 | workqueue = { max_active = 0 }
   |                            ^ allowed: 1 to 512
   |
   = help: a workqueue that may run nothing hangs; leave the key out for the default

error: 1 fault in the input; nothing was run

"#]]);
    lab.file("q.toml", QUEUES);
    lab.run(["wq", "q.toml", "--interval", "1ns"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: --interval 1ns: 200000000 looks in this run; at most 10000

"#]]);
    lab.run(["wq", "q.toml", "--interval", "2"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: --interval 2: a time needs a unit: ns, us, ms, s or min

"#]]);
    lab.file("small.toml", SCENARIO);
    lab.run(["wq", "small.toml", "--variant", "SWQUEUE"]).code(2).stdout_eq("").stderr_eq(str![[
        r#"
error: scenario `small` runs workload `kernel-build`, which uses no workqueue

"#
    ]]);
}

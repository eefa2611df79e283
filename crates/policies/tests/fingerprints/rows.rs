//! The rows: which policy, what runs, where.

use crate::bpf::Loaded;
use crate::machines::{guest, preemptible, regular, ring, two_nodes, unequal};
use crate::mix::Mix;
use crate::programs::{self as p, MIX, Make};
use crate::row::row;
use policies::ext::{self, Ext, Fifo, LlcFifo, Vtime};
use policies::fair::features::{Features, TUNABLES, Tunables};
use policies::fair::{CpuMax, Discipline, Fair, GroupSpec, Rules};
use policies::fcfs::Fcfs;
use policies::workqueue::{Affinity, Scope};
use sim_core::{Config, GroupId, Ns};
use topology::Machine;
use workloads::hackbench::Medium;

const MS: Ns = 1_000_000;

/// A machine and what runs there.
struct Place {
    name: &'static str,
    machine: Machine,
    program: Make,
    until: Ns,
}

fn place(name: &'static str, machine: Machine, program: Make, until_ms: Ns) -> Place {
    Place { name, machine, program, until: 3 * until_ms * MS }
}

/// The defaults of a kernel with features as a scenario writes them.
fn features(rules: Rules, words: &str) -> Features {
    let mut features = Features::for_rules(rules);
    for word in words.split_whitespace().filter(|word| !word.contains('=')) {
        match word.strip_prefix("NO_") {
            Some(name) => features.set(name, false),
            None => features.set(word, true),
        }
    }
    features
}

/// The same with tunables.
fn tunables(rules: Rules, words: &str, n_cpus: usize) -> Tunables {
    let mut tunables = Tunables::for_rules(rules, n_cpus);
    for (name, value) in words.split_whitespace().filter_map(|word| word.split_once('=')) {
        let def = TUNABLES.iter().find(|def| def.name == name).expect("it is a tunable");
        (def.set)(&mut tunables, value.parse().expect("it is a number"));
    }
    tunables
}

/// Groups in groups, with limits or without.
fn groups(limited: bool) -> Vec<GroupSpec> {
    let max = |quota, burst| CpuMax { quota_ns: quota, period_ns: 10 * MS, burst_ns: burst };
    let max = |quota, burst| limited.then(|| max(quota, burst));
    let spec = |parent, cpu_weight, max| GroupSpec {
        parent: GroupId(parent),
        cpu_weight,
        max,
        ..GroupSpec::default()
    };
    let autogroup = GroupSpec { is_autogroup: true, ..GroupSpec::default() };
    vec![spec(0, 300, max(9 * MS, 0)), spec(1, 50, None), spec(1, 100, max(3 * MS, MS)), autogroup]
}

/// What the fair class counts and averages, and what its results do not show.
fn fair<S: Discipline>(policy: &Fair<S>) -> String {
    let mut text = format!("{:?} {:?}\n", policy.counters, policy.balance.swq);
    for rq in &policy.rqs {
        text += &format!("{:?} {} {}\n", rq.avg, rq.min_vruntime, rq.next_balance);
    }
    text
}

fn none<P>(_: &P) -> String {
    String::new()
}

/// The words that are not empty.
fn named(words: &[&str]) -> String {
    let words: Vec<_> = words.iter().copied().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

struct Table(String);

impl Table {
    /// The fair class of a kernel with these features and tunables.
    fn fair(&mut self, rules: Rules, words: &str, at: &Place) {
        let n = at.machine.n_cpus();
        let (features, tunables) = (features(rules, words), tunables(rules, words, n));
        let name = named(&[&format!("{rules:?}"), words, at.name]);
        let place = (&at.machine, Config::default());
        self.0 += &if rules <= Rules::V6_4 {
            let policy = || Fair::new(features, tunables).with_rules(rules);
            row(&name, place, policy, &at.program, at.until, fair)
        } else {
            let policy = || Fair::eevdf(rules, features, tunables);
            row(&name, place, policy, &at.program, at.until, fair)
        };
    }

    /// The same with task groups.
    fn grouped(&mut self, rules: Rules, words: &str, limited: bool, at: &Place) {
        let n = at.machine.n_cpus();
        let (features, tunables) = (features(rules, words), tunables(rules, words, n));
        let kind = if limited { "limits" } else { "groups" };
        let name = named(&[&format!("{rules:?} {kind}"), words, at.name]);
        let config = Config { user_group: GroupId(1), ..Config::default() };
        let (place, groups) = ((&at.machine, config), groups(limited));
        self.0 += &if rules <= Rules::V6_4 {
            let policy = || Fair::with_groups(features, tunables, &groups).with_rules(rules);
            row(&name, place, policy, &at.program, at.until, fair)
        } else {
            let policy = || Fair::eevdf_with_groups(rules, features, tunables, &groups);
            row(&name, place, policy, &at.program, at.until, fair)
        };
    }

    /// An object for all tasks.
    fn object(&mut self, object: Loaded, at: &Place) {
        let name = format!("{:?} {} {}", object.rules, object.name, at.name);
        let policy = || object.all(&at.machine, &groups(false));
        self.0 +=
            &row(&name, (&at.machine, Config::default()), policy, &at.program, at.until, none);
    }

    /// An object for some tasks, beside EEVDF.
    fn partial(&mut self, object: Loaded, at: &Place) {
        let name = format!("{:?} partial {} {}", object.rules, object.name, at.name);
        let policy = || object.some(&at.machine);
        self.0 +=
            &row(&name, (&at.machine, Config::default()), policy, &at.program, at.until, none);
    }

    /// A scheduler in Rust.
    fn native<S: ext::Ops>(&mut self, name: &str, ops: impl Fn() -> S, at: &Place) {
        for rules in [ext::Rules::V6_12, ext::Rules::V6_18] {
            let name = format!("{rules:?} {name} {}", at.name);
            let policy = || Ext::new(ops(), rules, ext::Tunables { slice_ns: 3 * MS });
            self.0 +=
                &row(&name, (&at.machine, Config::default()), policy, &at.program, at.until, none);
        }
    }
}

const KERNELS: [Rules; 6] =
    [Rules::V5_19, Rules::V6_1, Rules::V6_4, Rules::V6_6, Rules::V6_12, Rules::V6_18];

/// All kernels with their defaults.
fn defaults(t: &mut Table) {
    let places = [
        place("mix, 1 CPU", regular(1, 1, 1, 1), p::mix(Mix { tasks: 5, ..MIX }), 60),
        place("mix, 2x2x2x2", regular(2, 2, 2, 2), p::mix(Mix { tasks: 20, ..MIX }), 16),
        place("mix, unequal LLCs", unequal(), p::mix(Mix { tasks: 17, seed: 2, ..MIX }), 20),
        place("hogs, two nodes", two_nodes(), p::hogs(23), 120),
        place("hogs, unequal LLCs", unequal(), p::hogs(15), 120),
    ];
    for rules in KERNELS {
        places.iter().for_each(|at| t.fair(rules, "", at));
    }
}

/// Machines and programs, each under an old and a new kernel.
fn variety(t: &mut Table) {
    let calm = Mix { policies: p::NORMAL, meddles: false, ..MIX };
    let cache = |strict, localize| Affinity { scope: Scope::Cache, strict, localize };
    let places = [
        place("mix, ring", ring(), p::mix(Mix { tasks: 10, seed: 4, ..MIX }), 20),
        place("mix, guest", guest(), p::mix(Mix { tasks: 7, seed: 5, ..MIX }), 25),
        place("mix, preemptible", preemptible(), p::mix(Mix { tasks: 14, seed: 6, ..MIX }), 20),
        place("calm, 1x2x4x1", regular(1, 2, 4, 1), p::mix(Mix { tasks: 9, ..calm }), 20),
        place("idle policy, 1x2x2x2", regular(1, 2, 2, 2), p::mix(Mix { seed: 8, ..MIX }), 30),
        place("hogs, ring", ring(), p::hogs(13), 150),
        place("spinners, 2x1x3x2", regular(2, 1, 3, 2), p::spinners(17), 200),
        place("spinners, 1x1x4x1", regular(1, 1, 4, 1), p::spinners(9), 200),
        place("short, 1x2x4x2", regular(1, 2, 4, 2), p::short(20, 400, 200), 30),
        place("short, full", regular(1, 2, 3, 2), p::short(40, 900, 100), 30),
        place("pairs, 1x4x2x1", regular(1, 4, 2, 1), p::pairs(5), 20),
        place("build, 2x1x4x2", regular(2, 1, 4, 2), p::build(), 60),
        place("dm-crypt, 1x2x2x2", regular(1, 2, 2, 2), p::crypt(cache(false, false), &[]), 5),
        place("dm-crypt, changes", two_nodes(), p::crypt(cache(true, false), p::CHANGES), 8),
        place("work, cpu", regular(1, 2, 2, 2), p::work(Scope::Cpu, true, false, 256), 4),
        place("work, smt", regular(1, 2, 2, 2), p::work(Scope::Smt, false, false, 3), 4),
        place(
            "work, shards",
            regular(1, 2, 4, 2),
            p::work(Scope::CacheShard(3), true, false, 9),
            4,
        ),
        place("work, numa", two_nodes(), p::work(Scope::Numa, false, true, 16), 4),
        place("hackbench, pipes", regular(1, 2, 4, 1), p::hackbench(2, Medium::Pipe), 20),
        place("hackbench, sockets", regular(2, 1, 2, 2), p::hackbench(3, Medium::Socket), 20),
        place("netperf, 1x2x2x2", regular(1, 2, 2, 2), p::netperf(6), 5),
        place("schbench, 1x2x4x2", regular(1, 2, 4, 2), p::schbench(9), 12),
    ];
    for at in &places {
        t.fair(Rules::V6_4, "", at);
        t.fair(Rules::V6_18, "", at);
    }
}

/// What is not the default.
fn turned(t: &mut Table) {
    let wide = place("mix, 1x4x2x2", regular(1, 4, 2, 2), p::mix(Mix { tasks: 18, ..MIX }), 14);
    let busy = place("hogs, 1x2x2x2", regular(1, 2, 2, 2), p::hogs(14), 80);
    let short = place("short, 1x4x2x2", regular(1, 4, 2, 2), p::short(22, 300, 250), 14);
    for words in [
        "SIS_NODE",
        "SIS_NODE sis_node_limit=1 sis_node_skip_own=0",
        "SIS_NODE SIS_NODE_TOPOEXT",
        "SIS_PROP NO_SIS_UTIL",
        "NO_SIS_UTIL",
        "SWQUEUE",
        "SWQUEUE SWQ_FLAGS NO_TTWU_QUEUE",
        "SWQUEUE SWQUEUE_STEAL",
        "SHARED_RUNQ",
        "SHARED_RUNQ shared_runq_version=2 shared_runq_shard_size=2",
        "NO_WA_IDLE NO_WA_BIAS",
        "NO_WA_WEIGHT NI_RANDOM newidle_ratio=300",
        "NO_UTIL_EST NO_NEWIDLE_AVG_IDLE",
    ] {
        t.fair(Rules::V6_4, words, &wide);
        t.fair(Rules::V6_4, words, &short);
    }
    for words in [
        "NEXT_BUDDY NO_CACHE_HOT_BUDDY",
        "NO_LAST_BUDDY NO_BASE_SLICE NO_ALT_PERIOD",
        "NO_GENTLE_FAIR_SLEEPERS NO_START_DEBIT LB_MIN",
        "NO_WAKEUP_PREEMPTION migration_cost_ns=-1",
        "latency_ns=2000000 min_granularity_ns=300000 wakeup_granularity_ns=0 nr_migrate=2",
    ] {
        t.fair(Rules::V6_1, words, &busy);
        t.fair(Rules::V6_4, words, &wide);
    }
    for words in [
        "SIS_NODE SHARED_RUNQ",
        "NO_PLACE_LAG NO_PLACE_DEADLINE_INITIAL NEXT_BUDDY",
        "NO_RUN_TO_PARITY base_slice_ns=300000",
        "NO_UTIL_EST_FASTUP NO_WAKEUP_PREEMPTION LB_MIN",
    ] {
        t.fair(Rules::V6_6, words, &busy);
        t.fair(Rules::V6_6, words, &wide);
    }
    for words in [
        "NO_PLACE_REL_DEADLINE NEXT_BUDDY",
        "NO_PREEMPT_SHORT NO_DELAY_ZERO",
        "NO_DELAY_DEQUEUE NO_PICK_BUDDY NEXT_BUDDY",
        "NO_RUN_TO_PARITY NO_NI_RANDOM migration_cost_ns=0",
    ] {
        t.fair(Rules::V6_12, words, &wide);
        t.fair(Rules::V6_18, words, &busy);
        t.fair(Rules::V6_18, words, &wide);
    }
}

/// Task groups.
fn in_groups(t: &mut Table) {
    let grouped = |tasks, seed| p::mix(Mix { tasks, groups: 4, seed, ..MIX });
    let busy = Mix { tasks: 15, run: (50, 3000), groups: 4, seed: 3, ..MIX };
    let places = [
        place("mix, 1 CPU", regular(1, 1, 1, 1), grouped(6, 1), 70),
        place("mix, 1x2x2x2", regular(1, 2, 2, 2), grouped(16, 2), 30),
        place("busy, 2x1x2x1", regular(2, 1, 2, 1), p::mix(busy), 80),
    ];
    for rules in [Rules::V5_19, Rules::V6_4, Rules::V6_6, Rules::V6_12, Rules::V6_18] {
        for at in &places {
            t.grouped(rules, "", false, at);
            t.grouped(rules, "", true, at);
        }
    }
    t.grouped(Rules::V6_4, "NEXT_BUDDY NO_ALT_PERIOD", false, &places[1]);
    t.grouped(Rules::V6_4, "SWQUEUE SIS_NODE", true, &places[1]);
    t.grouped(Rules::V6_18, "NEXT_BUDDY NO_DELAY_DEQUEUE", true, &places[1]);
}

/// Schedulers of the sched_ext shape.
fn ext_classes(t: &mut Table) {
    let grouped = Mix { tasks: 20, groups: 4, policies: p::NORMAL, ..MIX };
    let places = [
        place("mix, 1x2x2x2", regular(1, 2, 2, 2), p::mix(grouped), 12),
        place("mix, two nodes", two_nodes(), p::mix(Mix { tasks: 26, seed: 9, ..grouped }), 10),
        place("short, 1x2x2x2", regular(1, 2, 2, 2), p::short(12, 300, 100), 10),
    ];
    for at in &places {
        t.native("fifo", || Fifo::new(true), at);
        t.native("llc_fifo", || LlcFifo::new(false), at);
        t.native("vtime", || Vtime::new(true), at);
        for name in ["fifo", "vtime", "center", "hand", "moves", "shares", "sift"] {
            t.object(Loaded::new(name, ext::Rules::V6_12), at);
            t.object(Loaded::new(name, ext::Rules::V6_18), at);
        }
    }
    let rules = ext::Rules::V6_18;
    for name in ["lives", "events", "asks", "cgroups"] {
        t.object(Loaded::new(name, rules), &places[2]);
    }
    let head = Loaded { set: &[("flags", 0x10)], ..Loaded::new("front", rules) };
    let preempt = Loaded { set: &[("flags", 1 << 32)], ..Loaded::new("front", rules) };
    let spread = Loaded { set: &[("nr_cpu_ids", 8)], ..Loaded::new("spread", rules) };
    let idle = Loaded { set: &[("nr_cpu_ids", 8)], ..Loaded::new("idle", rules) };
    let per_node = Loaded { flags: 1 << 6, ..Loaded::new("vtime", rules) };
    let nodes = Loaded { flags: 1 << 6, ..Loaded::new("nodes", rules) };
    [head, preempt, idle].into_iter().for_each(|object| t.object(object, &places[0]));
    t.object(spread, &places[2]);
    [per_node, nodes].into_iter().for_each(|object| t.object(object, &places[1]));
    let some = Mix { tasks: 20, policies: p::MANY, ..MIX };
    let places = [
        place("mix, 1x2x2x2", regular(1, 2, 2, 2), p::mix(some), 12),
        place("busy, 1x1x2x2", regular(1, 1, 2, 2), p::mix(Mix { run: (50, 3000), ..some }), 40),
    ];
    for at in &places {
        for rules in [ext::Rules::V6_12, ext::Rules::V6_18] {
            t.partial(Loaded::new("fifo", rules), at);
            t.partial(Loaded::new("vtime", rules), at);
            t.partial(Loaded::new("partial", rules), at);
        }
    }
}

/// First come, first served.
fn fcfs(t: &mut Table) {
    let at = place("mix, 1x2x2x2", regular(1, 2, 2, 2), p::mix(MIX), 12);
    let name = format!("fcfs {}", at.name);
    t.0 +=
        &row(&name, (&at.machine, Config::default()), Fcfs::default, &at.program, at.until, none);
}

/// All rows.
pub fn table() -> String {
    let mut table = Table(String::new());
    defaults(&mut table);
    variety(&mut table);
    turned(&mut table);
    in_groups(&mut table);
    ext_classes(&mut table);
    fcfs(&mut table);
    table.0
}

//! Cgroups that an rt-app file names: what the scenario says of them, and what becomes of it.

use expect_test::{Expect, expect};
use scenario::{Experiment, Faults, load_str};
use std::path::Path;

const SHIPPED: &str = include_str!("../../../../scenarios/rt-app/groups.toml");

fn load(text: &str) -> Result<Experiment, Faults> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/rt-app/groups.toml");
    load_str(Path::new(beside), text.to_string())
}

/// Line, message and, below it, the hint of each fault of the shipped scenario with one text replaced.
fn check(replaced: &str, by: &str, expected: Expect) {
    assert!(SHIPPED.contains(replaced), "{replaced}");
    let text = SHIPPED.replacen(replaced, by, 1);
    let told: Vec<String> = match load(&text) {
        Ok(_) => vec!["right".to_string()],
        Err(faults) => faults.0.iter().map(|fault| brief(&text, fault)).collect(),
    };
    expected.assert_eq(&told.join("\n"));
}

fn brief(text: &str, fault: &scenario::Fault) -> String {
    let at = fault.span.as_ref().map_or(0, |span| span.start);
    let line = 1 + text[..at].matches('\n').count();
    let help = fault.help.iter().map(|help| format!("\n    {help}"));
    format!("{line}: {}{}", fault.message, help.collect::<String>())
}

const WEB: &str = "path       = \"/services/web\"\n";

#[test]
fn what_is_said_of_a_cgroup_must_fit_the_file() {
    check(WEB, WEB, expect!["right"]);
    check(
        WEB,
        "path = \"/services/wep\"\n",
        expect![[r#"
            14: no thread of the file is in `/services/wep`
                did you mean `/services/web`?"#]],
    );
    check(
        WEB,
        "path = \"/batch\"\n",
        expect![[r#"
            18: the cgroup `/batch` was told before
                say all of it in one place"#]],
    );
    check(WEB, "", expect!["13: this cgroup has no `path`"]);
    check(
        "file    = \"groups.json\"",
        "file    = \"alone.json\"",
        expect![[r#"
            14: no thread of the file is in `/services/web`
                the thread objects of the file name no `taskgroup`
            18: no thread of the file is in `/batch`
                the thread objects of the file name no `taskgroup`"#]],
    );
}

#[test]
fn keys_of_a_cgroup_are_those_of_the_cgroup_of_all_tasks() {
    check("cpu_weight = 300", "cpu_weight = 0", expect!["15: `cpu_weight` must be at least 1"]);
    check(
        "cpu_max        = 25_000 # us, of each\n",
        "",
        expect![[r#"
            19: `cpu_max_period` without `cpu_max`
                say `cpu_max` too: the group's CPU time in each period, us"#]],
    );
    check(
        "cpu_max_period = 50_000",
        "cpu_max_burst = 50_000",
        expect![[r#"
            20: `cpu_max_burst` is more than `cpu_max`
                the kernel takes 25000 at most"#]],
    );
    check(
        "loop_ns = 8.6",
        "cpu_weight = 200",
        expect![[r#"
            11: `cpu_weight` beside the task groups of the file, such as `/services`
                say it in [[workload.cgroup]] with `path = "/services"`"#]],
    );
    check(
        "policy = \"cfs\"",
        "policy = \"fcfs\"",
        expect![[r#"
            10: `taskgroup` needs policy `cfs` or `eevdf` or a BPF object, but variant `CFS` has `fcfs`
                leave `taskgroup` out, or put such variants into a scenario of their own"#]],
    );
}

/// Results are kept by the scenario's hash: another weight is another scenario.
#[test]
fn what_a_cgroup_is_given_is_part_of_the_hash() {
    let heavier = SHIPPED.replacen("cpu_weight = 300", "cpu_weight = 301", 1);
    let hash = |text: &str| load(text).unwrap().hash;
    assert_ne!(hash(SHIPPED), hash(&heavier));
}

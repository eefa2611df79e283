//! Sweeps, `--set` and `[find]`: what points there are, and what is said about bad ones.

use expect_test::{Expect, expect};
use scenario::{Study, Value};
use std::path::Path;

/// A right scenario but for what follows.
const HEAD: &str = r#"policy = "cfs"
workload = { kind = "short", tasks = 24, run_ns = 200_000, sleep_ns = 100_000 }
run = { seeds = 2, until = "10ms" }
variant = [{ name = "off" }, { name = "on", features = ["SWQUEUE"] }]
[machine]
llcs_per_socket = 2
cores_per_llc = 4
latency = { llc_ns = 25, node_ns = 110 }
caches = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
"#;

fn load(rest: &str, sets: &[&str]) -> Result<Study, scenario::Faults> {
    let sets: Vec<String> = sets.iter().map(|set| set.to_string()).collect();
    scenario::load_study_str(Path::new("s.toml"), text(rest), &sets)
}

/// The whole scenario; what is searched is left out above.
fn text(rest: &str) -> String {
    match rest.starts_with("[find]\ntasks") {
        true => HEAD.replace("tasks = 24, ", "") + rest,
        false => HEAD.to_string() + rest,
    }
}

fn right(rest: &str, sets: &[&str]) -> Study {
    load(rest, sets).unwrap_or_else(|faults| panic!("{}", faults.render(false)))
}

/// The points in words, with their number of tasks and their rate of ticks.
fn points(study: &Study) -> Vec<(String, i64, u32)> {
    let point = |p: &scenario::Point| {
        let tasks = p.experiment.workload.get("tasks").and_then(|v| v.int()).unwrap_or(0);
        (p.experiment.at.clone(), tasks, p.experiment.machine.hz)
    };
    study.points.iter().map(point).collect()
}

fn said(text: &str, tasks: i64, hz: u32) -> (String, i64, u32) {
    (text.to_string(), tasks, hz)
}

#[test]
fn keys_are_combined_and_the_last_one_runs_fastest() {
    let study = right("[sweep]\ntasks = [1, 2]\nmachine.hz = [100, 250]", &[]);
    let expected = [
        said("tasks=1, machine.hz=100", 1, 100),
        said("tasks=1, machine.hz=250", 1, 250),
        said("tasks=2, machine.hz=100", 2, 100),
        said("tasks=2, machine.hz=250", 2, 250),
    ];
    assert_eq!(points(&study), expected);
    assert_eq!(study.n_runs(), 4 * 2 * 2);
    let hashes: std::collections::BTreeSet<_> =
        study.points.iter().map(|p| &p.experiment.hash).collect();
    assert_eq!(hashes.len(), 4, "each point is told apart");
}

#[test]
fn zip_pairs_the_values() {
    let study = right("[sweep]\ntasks = [1, 2]\nmachine.hz = [100, 250]\nzip = true", &[]);
    let expected =
        [said("tasks=1, machine.hz=100", 1, 100), said("tasks=2, machine.hz=250", 2, 250)];
    assert_eq!(points(&study), expected);
    let chosen =
        right("[sweep]\ntasks = [1, 2]\nmachine.hz = [100, 250]\nzip = true", &["machine.hz=250"]);
    assert_eq!(points(&chosen), [said("tasks=2, machine.hz=250", 2, 250)]);
}

#[test]
fn keys_of_variants_and_policies_are_swept_too() {
    let study =
        right("[sweep]\nmigration_cost_ns = [0, 500_000]\nvariant.on.policy = [\"cfs\"]", &[]);
    let costs: Vec<Option<Value>> = study
        .points
        .iter()
        .flat_map(|p| p.experiment.variants.iter().map(|v| v.tunables.first().map(|t| t.1.clone())))
        .collect();
    let [none, some] = [0, 500_000].map(|n| Some(Value::Int(n)));
    assert_eq!(costs, [none.clone(), none, some.clone(), some]);
    let study = right("[sweep]\nvariant.on.tunables.migration_cost_ns = [7]", &[]);
    let variants = &study.points[0].experiment.variants;
    assert_eq!((variants[0].tunables.len(), variants[1].tunables.len()), (0, 1));
}

#[test]
fn what_is_set_takes_the_place_of_what_the_file_says() {
    let study = right("", &["tasks=7", "machine.hz=100", "run.until=5ms"]);
    let only = study.only().expect("there is no sweep");
    assert_eq!(only.until.to_string(), "5ms");
    assert_eq!(points(&study), [said("", 7, 100)]);
    let file = Path::new("../../scenarios/netperf-zen4.toml");
    let text = std::fs::read_to_string(file).expect("it comes with the project");
    let sets = ["machine.hz=100".to_string(), "machine.costs.irq_ns=777".to_string()];
    let study = scenario::load_study_str(file, text, &sets).unwrap();
    let machine = &study.points[0].experiment.machine;
    assert_eq!((machine.hz, machine.costs.irq_ns), (100, 777), "a machine in a file of its own");
    assert!(study.published_dropped && !study.is_published());
}

#[test]
fn a_key_that_is_set_is_not_swept_any_more() {
    let rest = "[sweep]\ntasks = [1, 2]\n[[published]]\nvariant = \"on\"\nmetric = \"elapsed\"\n\
                value = 3\nsource = \"here\"\nat = { tasks = 2 }";
    let published = |sets: &[&str]| {
        let study = right(rest, sets);
        let n = |p: &scenario::Point| p.experiment.published.len();
        (study.points.iter().map(n).collect::<Vec<_>>(), study.published_dropped)
    };
    assert_eq!(published(&[]), (vec![0, 1], false));
    assert_eq!(published(&["tasks=2"]), (vec![1], false));
    assert_eq!(published(&["tasks=3"]), (vec![0], false));
    assert_eq!(published(&["tasks=2", "run_ns=5"]), (vec![0], true), "not what was measured");
}

#[test]
fn levels_are_relative_to_a_point() {
    let study =
        right("[sweep]\ntasks = [1, 2]\nmachine.hz = [100, 250]\nrelative_to = \"tasks=1\"", &[]);
    let references: Vec<_> = study.points.iter().map(|p| p.reference).collect();
    assert_eq!(references, [0, 1, 0, 1].map(Some));
}

#[test]
fn a_load_is_searched_unless_it_is_chosen() {
    let rest = "[find]\ntasks = \"wakeup_latency_p99 <= 2 ms\"\nrange = [3, 64]";
    let find = |sets: &[&str]| {
        let study = right(rest, sets);
        let experiment = study.only().expect("there is no sweep");
        let limit = experiment.find.as_ref().map(|find| find.condition.limit);
        (limit, experiment.workload.int("tasks"))
    };
    assert_eq!(find(&[]), (Some(2000.0), Some(3)), "2 ms are 2000 us");
    assert_eq!(find(&["tasks=7"]), (None, Some(7)));
}

fn check(rest: &str, sets: &[&str], expected: Expect) {
    let text = text(rest);
    let seen = match load(rest, sets) {
        Ok(study) => format!("{} points", study.points.len()),
        Err(faults) => {
            let brief = |d: &scenario::Fault| {
                let start = d.span.as_ref().map_or(0, |s| s.start);
                let source = d.source.as_ref().expect("its text is known");
                let before = &source.text[..start.min(source.text.len())];
                let place = match source.text == text {
                    true => format!("{}", before.matches('\n').count() + 1),
                    false => source.path.clone(),
                };
                let help = d.help.as_ref().map_or(String::new(), |h| format!("\n    {h}"));
                format!("{place}: {}{help}", d.message)
            };
            faults.0.iter().map(brief).collect::<Vec<_>>().join("\n")
        }
    };
    expected.assert_eq(&seen);
}

#[test]
fn bad_sweeps_are_told_with_place_and_hint() {
    check(
        "[sweep]",
        &[],
        expect![[r#"
        10: [sweep] names no key
            such as clients = [1, 2, 4, 8]: a key of the workload, or a tunable"#]],
    );
    check(
        "[sweep]\ntsks = [1, 2]",
        &[],
        expect![[r#"
        11: unknown key `tsks`
            did you mean `tasks`?"#]],
    );
    check(
        "[sweep]\ntasks = []",
        &[],
        expect![[r#"
        11: the list of values of `tasks` is empty
            a sweep needs at least one value of each key"#]],
    );
    check(
        "[sweep]\ntasks = 3",
        &[],
        expect![[r#"
        11: `tasks` has one value here
            write [3], or put the key where it belongs"#]],
    );
    check("[sweep]\ntasks = [3, -1, 3]", &[], expect!["11: the value 3 of `tasks` is given twice"]);
    check(
        "[sweep]\nseeds = [3]",
        &[],
        expect![[r#"
        11: every run has the same seeds
            say how many in [run], or with --seeds"#]],
    );
    check(
        "[sweep]\nvariant.of.policy = [\"cfs\"]",
        &[],
        expect![[r#"
        11: no variant is named `of`
            did you mean `off`?"#]],
    );
    check(
        "[sweep]\ntasks = [1, 2]\nmachine.hz = [100]\nzip = true",
        &[],
        expect![[r#"
        12: `machine.hz` has 1 values, `tasks` 2
            with `zip` all keys have the same number of values; without it they are combined"#]],
    );
    check(
        "[sweep]\ntasks = [1]\nrelative_to = \"tasks=2\"\nmetrics = [\"x\"]",
        &[],
        expect![[r#"
        12: no point of the sweep has `tasks` = 2
            its values: 1
        13: unknown metric `x`
            `schedlab list metrics` prints all of them"#]],
    );
    let ten = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
    let keys = ["tasks", "run_ns", "sleep_ns", "machine.cores_per_llc", "migration_cost_ns"];
    let many: String = keys.iter().map(|key| format!("{key} = {ten}\n")).collect();
    check(
        &format!("[sweep]\n{many}"),
        &[],
        expect![[r#"
        10: this sweep has more than 100000 runs
            take fewer values, or split it into several scenarios"#]],
    );
}

#[test]
fn a_published_row_that_fits_no_point_is_a_fault() {
    let row = "[[published]]\nvariant = \"on\"\nmetric = \"elapsed\"\nvalue = 3\nsource = \"x\"\n";
    check(
        &format!("[sweep]\ntasks = [1, 2]\n{row}at = {{ tasks = 3 }}"),
        &[],
        expect![[r#"
        17: no point of the sweep has `tasks` = 3
            its values: 1, 2"#]],
    );
    check(
        &format!("[sweep]\ntasks = [1, 2]\n{row}"),
        &[],
        expect![[r#"
        12: this published row does not say its `tasks`
            write at = { tasks = 1 }"#]],
    );
    check(
        &format!("[sweep]\ntasks = [1, 2]\n{row}at = {{ hz = 3 }}"),
        &[],
        expect![[r#"
        17: [sweep] has no values of this key
            it sweeps tasks"#]],
    );
    check(
        &format!("[sweep]\ntasks = [1, 2]\n{row}at = 3"),
        &[],
        expect!["17: `at` must be a table such as { clients = 64 }"],
    );
    check(
        &format!("{row}at = {{ tasks = 3 }}"),
        &[],
        expect![[r#"
        15: this scenario has no [sweep] whose point this could be
            remove it"#]],
    );
}

#[test]
fn a_sweep_says_each_thing_once() {
    check(
        "[sweep]\nvariant.on.name = [\"x\", \"y\"]",
        &[],
        expect![[r#"
        11: the `name` of a variant stays as it is
            change its policy, rules, features or tunables"#]],
    );
    check(
        "[sweep]\nvariant.on.baseline = [true, false]",
        &[],
        expect![[r#"
        11: the `baseline` of a variant stays as it is
            change its policy, rules, features or tunables"#]],
    );
    check(
        "[sweep]\ntasks = [1, 2]\nworkload.tasks = [3]",
        &[],
        expect![[r#"
        12: `workload.tasks` is `tasks`, which is swept already
            keep one of the two lists"#]],
    );
    check(
        "[sweep]\nzip = true",
        &[],
        expect![[r#"
        10: [sweep] names no key
            such as clients = [1, 2, 4, 8]: a key of the workload, or a tunable"#]],
    );
    check(
        "[sweep]\ntasks = [0x10, 10, 16]",
        &[],
        expect!["11: the value 16 of `tasks` is given twice"],
    );
    let twice = "relative_to = \"tasks=1, tasks=2\"";
    check(
        &format!("[sweep]\ntasks = [1, 2]\n{twice}"),
        &[],
        expect![[r#"
        12: `relative_to` names `tasks` twice
            a point has one value of each key"#]],
    );
    let row = "[[published]]\nvariant = \"on\"\nmetric = \"elapsed\"\nvalue = 3\nsource = \"x\"\n";
    let both = "at = { tasks = 1, \"workload.tasks\" = 2 }";
    check(
        &format!("[sweep]\ntasks = [1, 2]\n{row}{both}"),
        &[],
        expect![[r#"
        17: `tasks` is given twice here
            a row belongs to one point"#]],
    );
    let hint = "at = { machine.hz = 250 }";
    check(&format!("[sweep]\nmachine.hz = [250, 300]\n{row}{hint}"), &[], expect![["2 points"]]);
}

#[test]
fn bad_sets_are_told_with_the_words_that_were_typed() {
    check(
        "",
        &["tasks"],
        expect![[r#"
        --set: there is no `=` in it
            write KEY=VALUE, such as workload.clients=64"#]],
    );
    check(
        "",
        &["=3"],
        expect![[r#"
        --set: `` is no key
            write KEY=VALUE, such as workload.clients=64"#]],
    );
    check("", &["tasks=-3"], expect!["--set: `tasks` must be at least 1"]);
    check("", &["tasks=many"], expect!["--set: `tasks` must be a whole number"]);
    check("", &["machine.hz=9"], expect!["--set: `hz` must be at least 24"]);
    check(
        "",
        &["variant.of.policy=cfs"],
        expect![[r#"
        --set: no variant is named `of`
            did you mean `off`?"#]],
    );
    check(
        "",
        &["policy.x=3"],
        expect![[r#"
        --set: `policy.x` is no key of a scenario
            such as workload.KEY, machine.KEY, tunables.KEY, variant.NAME.KEY, run.until"#]],
    );
    check(
        "",
        &["machine=pack:1 l3:1 core:4 pu:1", "machine.hz=100"],
        expect![[r#"
        --set: the machine is a description in one line, without keys
            `schedlab topology show --toml` prints it as a machine file, which has them"#]],
    );
    check(
        "",
        &["tasks=3\nkind = \"web\""],
        expect![[r#"
        --set: `tasks` must be a whole number
            write the number without quotes and without a unit"#]],
    );
}

#[test]
fn bad_searches_are_told_with_place_and_hint() {
    let free = |rest: &str, expected| check(&format!("[find]\n{rest}"), &[], expected);
    free(
        "",
        expect![[r#"
        10: [find] names no key to search
            such as rps = "latency_p99 <= 50 ms""#]],
    );
    free(
        "rps = \"latency_p99 <= 5 ms\"\nrange = [1, 2]",
        expect![[r#"
        11: workload `short` has no load `rps`
            known: tasks, run_ns, sleep_ns, range, precision_pct"#]],
    );
    free(
        "run_ns = \"wakeup_latency_p99 <= 5 ms\"\nrange = [1, 2]",
        expect![[r#"
        2: [find] searches `run_ns`
            leave it out here, or remove [find]"#]],
    );
    free(
        "tasks = \"wakeup_latency_p99 < 5 ms\"\nrange = [1, 2]",
        expect![[r#"
        11: a condition has `<=` or `>=` in it
            write METRIC <= VALUE UNIT, such as "latency_p99 <= 50 ms""#]],
    );
    free(
        "tasks = \"wakeup_latency_p98 <= 5 ms\"\nrange = [1, 2]",
        expect![[r#"
        11: unknown metric `wakeup_latency_p98`
            did you mean `wakeup_latency_p90`?"#]],
    );
    free(
        "tasks = \"wakeup_latency_p99 <= 5 MiB\"\nrange = [1, 2]",
        expect![[r#"
        11: the metric is in us, not in `MiB`
            write METRIC <= VALUE UNIT, such as "latency_p99 <= 50 ms""#]],
    );
    free(
        "tasks = \"wakeup_latency_p99 <= 0 us\"\nrange = [1, 2]",
        expect![[r#"
        11: the limit must be more than 0
            write METRIC <= VALUE UNIT, such as "latency_p99 <= 50 ms""#]],
    );
    free(
        "tasks = \"wakeup_latency_p99 <= 5 us\"\nrange = [2, 1]",
        expect![[r#"
        12: `range` must be two numbers above 0, the smaller one first
            the search begins at its ends"#]],
    );
    free(
        "tasks = \"wakeup_latency_p99 <= 5 us\"",
        expect![[r#"
        2: workload `short` has no `tasks`
        10: [find] has no `range`
            say where to look, such as range = [1_000, 200_000]"#]],
    );
}

#[test]
fn a_variant_changes_how_the_kernel_works_and_not_what_it_has_to_do() {
    let variant = "[[variant]]\nname = \"x\"\nworkload = { tasks = 3, tsks = 4 }";
    let text = HEAD.replace("variant = [", "was = [");
    let text = text.lines().filter(|line| !line.starts_with("was"));
    let text = text.map(|line| format!("{line}\n")).collect::<String>() + variant;
    let faults = scenario::load_study_str(Path::new("s.toml"), text, &[]).unwrap_err();
    let said: Vec<&str> = faults.0.iter().map(|d| d.message.as_str()).collect();
    assert_eq!(
        said,
        ["`tasks` is the same for all variants", "a variant says no `tsks` of workload `short`"]
    );
}

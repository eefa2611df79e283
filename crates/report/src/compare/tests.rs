//! Comparisons of made-up results.

use super::*;
use crate::analysis::tests::example;
use anstream::adapter::strip_str;
use expect_test::expect;
use serde_json::Value;

fn side(name: &str, document: &Value) -> Side {
    read(name, &document.to_string()).unwrap()
}

/// Results of two variants under some seeds, as JSON.
fn document(seeds: u64) -> Value {
    serde_json::from_str(&crate::json(&example(seeds, &["off", "on"]))).unwrap()
}

fn values<'a>(document: &'a mut Value, variant: usize, metric: &str) -> &'a mut Vec<Value> {
    let metric = &mut document["variants"][variant]["metrics"][metric];
    metric["values"].as_array_mut().unwrap()
}

fn compare(a: &Value, b: &Value) -> Comparison {
    Comparison::new(&side("a.json", a), &side("b.json", b))
}

#[test]
fn a_run_beside_itself_has_no_difference() {
    let a = document(3);
    let comparison = compare(&a, &a);
    assert!(comparison.is_identical());
    assert!(comparison.changes().all(|c| c.is_identical() && !c.is_change()));
    let shown = strip_str(&text(&comparison, &[], false)).to_string();
    assert!(shown.contains("No difference: "), "{shown}");
    assert!(shown.contains("paired by seed") && !shown.contains(" became "), "{shown}");
}

#[test]
fn what_has_changed_is_shown_and_nothing_else() {
    let (a, mut b) = (document(3), document(3));
    for value in values(&mut b, 1, "wakeup_latency_p99") {
        *value = (value.as_f64().unwrap() * 1.02).into();
    }
    b["variants"][1]["tunables"]["migration_cost_ns"] = 5.into();
    b["scenario_hash"] = "other".into();
    let comparison = compare(&a, &b);
    let shown = strip_str(&text(&comparison, &[], false)).to_string();
    expect![[r#"
        A a.json schedlab 0.1.0
        B b.json schedlab 0.1.0

        An example
        machine example, 16 CPUs   seeds 1-3   paired by seed   input files differ
        off
          all 50 metrics are the same, value by value
        on                                     A         B   change  95 % interval
          tunables.migration_cost_ns: (nothing stated) became 5
          wakeup_latency_p99 [us]            302       308   +2.00%  [+1.98, +2.02] worse
          of 50 metrics 1 changed, 49 are the same value by value, 0 cannot be told apart (1 shown)

        1 of 100 metrics changed; settings that differ: 1.
        schedlab 0.1.0. All metrics: --all, --format json.
    "#]]
    .assert_eq(&shown);
    expect![[r#"
        ## b.json (schedlab 0.1.0) beside a.json (schedlab 0.1.0)

        **1 of 100 metrics changed; settings that differ: 1.**

        ### An example

        machine example, 16 CPUs; seeds 1-3; paired by seed; input files differ

        #### off

        all 50 metrics are the same, value by value

        #### on

        - `tunables.migration_cost_ns`: (nothing stated) became 5

        | metric | A | B | change | 95 % interval | verdict |
        | --- | ---: | ---: | ---: | :---: | --- |
        | wakeup_latency_p99 [us] | 302 | 308 | +2.00% | [+1.98, +2.02] | worse |

        of 50 metrics 1 changed, 49 are the same value by value, 0 cannot be told apart (1 shown)

        schedlab 0.1.0
    "#]]
    .assert_eq(&markdown(&comparison, &[], false));
    let machine: Value = serde_json::from_str(&json(&comparison, &[])).unwrap();
    let on = &machine["scenarios"][0]["variants"][1];
    assert_eq!(on["changed"][0]["key"], "tunables.migration_cost_ns");
    assert_eq!(on["metrics"]["wakeup_latency_p99"]["verdict"], "worse");
    assert_eq!(on["metrics"]["elapsed"]["identical"], true);
    assert_eq!(machine["identical"], false);
}

#[test]
fn other_seeds_or_another_workload_are_compared_by_their_means() {
    let a = document(3);
    let comparison = compare(&a, &document(5));
    assert_eq!(comparison.pairs[0].unpaired, Some("the seeds are others"));
    let mut other = document(3);
    other["workload_hash"] = "other".into();
    let comparison = compare(&a, &other);
    assert_eq!(comparison.pairs[0].unpaired, Some("the workload is another one"));
    // What all seeds have in common counts for nothing then, so the interval is not 0 wide.
    let change = comparison.changes().find(|c| c.name == "elapsed").unwrap();
    let [low, high] = change.delta.ci95.unwrap();
    assert!(low < -0.01 && high > 0.01 && !change.is_change(), "{change:?}");
}

#[test]
fn what_only_one_side_has_is_said() {
    let (mut a, mut b) = (document(2), document(2));
    b["variants"].as_array_mut().unwrap().remove(0);
    b["variants"][0]["metrics"].as_object_mut().unwrap().remove("switches");
    let comparison = compare(&a, &b);
    assert_eq!(comparison.pairs[0].only, [vec!["off".to_string()], vec![]]);
    assert_eq!(comparison.pairs[0].variants[0].only[0], ["switches"]);
    let shown = strip_str(&text(&comparison, &[], false)).to_string();
    assert!(shown.contains("only in A: variant off\n"), "{shown}");
    assert!(shown.contains("only in A: metric switches\n"), "{shown}");
    assert!(!comparison.is_identical());
    a["title"] = "another".into();
    let shown = strip_str(&text(&compare(&a, &b), &[], false)).to_string();
    assert!(shown.contains("only in a.json: another\nonly in b.json: An example\n"), "{shown}");
    assert!(shown.contains("nothing in common"), "{shown}");
}

#[test]
fn several_scenarios_and_sweeps_are_read() {
    let (one, mut two) = (document(2), document(2));
    two["title"] = "two".into();
    let lines = read("x", &format!("{one}\n{two}\n")).unwrap();
    assert_eq!(lines.results.len(), 2);
    let point = |at: i32| serde_json::json!({ "at": [at], "result": one });
    let sweep = serde_json::json!({
        "schema": 1, "tool": "t", "axes": [{ "key": "jobs" }], "points": [point(1), point(2)]
    });
    let titles: Vec<String> = side("s", &sweep).results.into_iter().map(|r| r.title).collect();
    assert_eq!(titles, ["An example, jobs=1", "An example, jobs=2"]);
}

#[test]
fn other_files_are_refused() {
    let said = |text: &str| read("x.json", text).unwrap_err().to_string();
    assert!(said("nonsense").starts_with("x.json is not JSON: "));
    for text in ["", "{}", "[1]", "{\"schema\": 1}"] {
        assert!(said(text).starts_with("x.json has no results of schedlab"), "{text}");
    }
    assert!(said("{\"schema\": 2}").contains("schema 2, of another version"));
}

#[test]
fn conditions_are_read_strictly() {
    let read = |text: &str| text.parse::<Condition>();
    let condition = read("throughput < -1%").unwrap();
    assert_eq!((condition.above, condition.limit_pct), (false, -1.0));
    let condition = read("A + B: wakeup_latency_p99 > 2.5 %").unwrap();
    assert_eq!(condition.variant.as_deref(), Some("A + B"));
    assert_eq!((condition.metric.as_str(), condition.above), ("wakeup_latency_p99", true));
    for bad in ["throughput", "throughput < 1", "< 1%", "a b < 1%", "x < one%", "x < inf%", ""] {
        assert!(read(bad).unwrap_err().contains("write [VARIANT:] METRIC"), "{bad}");
    }
}

#[test]
fn conditions_fail_beyond_their_limits() {
    let (a, mut b) = (document(3), document(3));
    for value in values(&mut b, 1, "elapsed") {
        *value = (value.as_f64().unwrap() * 1.02).into();
    }
    let comparison = compare(&a, &b);
    let judge = |text: &str| {
        let verdicts = text.parse::<Condition>().unwrap().judge(&comparison)?;
        Ok::<_, String>(verdicts.iter().filter(|v| v.fails).map(ToString::to_string).collect())
    };
    let failing = |text: &str| -> Vec<String> { judge(text).unwrap() };
    assert!(failing("elapsed > 2.1%").is_empty() && failing("elapsed < 0%").is_empty());
    assert!(failing("off: elapsed > 1%").is_empty());
    let [line] = &failing("elapsed > 1%")[..] else { panic!("one fails") };
    assert_eq!(
        line,
        "`elapsed > 1%`: An example, on: 301.96 s became 308.00 s, +2.00% [+1.99, +2.01]"
    );
    let said = judge("elasped > 1%").unwrap_err();
    assert!(said.ends_with("did you mean `elapsed`?"), "{said}");
    let said = judge("of: elapsed > 1%").unwrap_err();
    assert!(said.contains("no variant `of`") && said.ends_with("did you mean `off`?"), "{said}");
}

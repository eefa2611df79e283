//! The table for people, whole, as it looks without colors.

use crate::analysis::tests::example;
use expect_test::{ExpectFile, expect_file};

fn check(seeds: u64, variants: &[&str], expected: ExpectFile) {
    let colored = super::text(&example(seeds, variants), super::COLUMNS_MIN);
    let plain = anstream::adapter::strip_str(&colored).to_string();
    for line in plain.lines() {
        assert!(line.chars().count() <= 100, "{line}");
        assert!(!line.ends_with(' '), "spaces at the end: `{line}`");
    }
    expected.assert_eq(&plain);
}

#[test]
fn variants_stand_beside_the_baseline_and_the_published_values() {
    let long = "a name that is longer than what fits into a row";
    check(5, &["off", "on", long], expect_file!["../../tests/golden/three-variants.txt"]);
}

#[test]
fn one_seed_has_no_interval() {
    check(1, &["off", "on"], expect_file!["../../tests/golden/one-seed.txt"]);
}

#[test]
fn one_variant_is_compared_with_nothing() {
    check(5, &["off"], expect_file!["../../tests/golden/one-variant.txt"]);
}

#[test]
fn many_variants_continue_below() {
    let names: Vec<String> = (0..9).map(|n| format!("v{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    check(2, &names, expect_file!["../../tests/golden/nine-variants.txt"]);
}

/// The line of the matrix for one metric, with its values replaced.
fn row(name: &str, values: [(f64, Option<f64>); 2]) -> String {
    let mut analysis = example(5, &["off", "on"]);
    for (variant, (mean, pct)) in analysis.variants.iter_mut().zip(values) {
        let metric = variant.metrics.iter_mut().find(|m| m.name == name).unwrap();
        metric.mean = mean;
        for (_, delta) in variant.deltas.iter_mut().filter(|(metric, _)| metric == name) {
            (delta.pct, delta.ci95) = (pct, pct.map(|pct| [pct, pct]));
            delta.identical = pct == Some(0.0);
        }
    }
    let plain =
        anstream::adapter::strip_str(&super::text(&analysis, super::COLUMNS_MIN)).to_string();
    plain.lines().find(|line| line.contains(name)).unwrap().trim().to_string()
}

#[test]
fn a_baseline_of_next_to_nothing_has_no_percentages_but_values() {
    let seen = row("spin_pct", [(7e-7, None), (5e-6, Some(656.6))]);
    assert_eq!(seen, "spin_pct             %        <0.001     <0.001");
    let seen = row("spin_pct", [(7e-7, None), (1.25, Some(1e8))]);
    assert_eq!(seen, "spin_pct             %        <0.001       1.25");
    let seen = row("pull_hits", [(0.0, None), (429.4, None)]);
    assert_eq!(seen, "pull_hits                          0        429");
}

#[test]
fn equal_counts_are_equal_but_rounded_latencies_only_look_so() {
    let seen = row("wakeup_latency_p99", [(42.0, None), (42.0, Some(0.0))]);
    assert_eq!(seen, "wakeup_latency_p99   us         42.0      0.00%");
    let seen = row("switches", [(42.0, None), (42.0, Some(0.0))]);
    assert_eq!(seen, "switches                       42.00          =");
}

/// How often the head of the matrix stands there, and the longest line.
fn blocks(variants: usize, columns: usize) -> (usize, usize) {
    let names: Vec<String> = (0..variants).map(|n| format!("v{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let colored = super::text(&example(3, &names), columns);
    let plain = anstream::adapter::strip_str(&colored).to_string();
    let heads = plain.lines().filter(|line| line.contains("then changes from it")).count();
    (heads, plain.lines().map(|line| line.chars().count()).max().unwrap_or(0))
}

#[test]
fn a_wide_terminal_has_room_for_seven_changes() {
    assert_eq!(blocks(8, 100).0, 2);
    let (heads, longest) = blocks(8, 120);
    assert_eq!(heads, 1);
    assert!(longest <= 120, "{longest}");
    assert_eq!(blocks(8, 400), blocks(8, 120));
    assert_eq!(blocks(8, 40), blocks(8, 100));
}

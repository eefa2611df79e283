//! The table for people, whole, as it looks without colors.

use crate::analysis::tests::example;
use expect_test::{ExpectFile, expect_file};

fn check(seeds: u64, variants: &[&str], expected: ExpectFile) {
    let colored = super::text(&example(seeds, variants));
    let plain = anstream::adapter::strip_str(&colored).to_string();
    for line in plain.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    expected.assert_eq(&plain);
}

#[test]
fn variants_stand_beside_the_baseline_and_the_published_values() {
    let long = "a name that is longer than what fits into a row";
    check(
        5,
        &["off", "on", long],
        expect_file!["../../tests/golden/three-variants.txt"],
    );
}

#[test]
fn one_seed_has_no_interval() {
    check(
        1,
        &["off", "on"],
        expect_file!["../../tests/golden/one-seed.txt"],
    );
}

#[test]
fn one_variant_is_compared_with_nothing() {
    check(
        5,
        &["off"],
        expect_file!["../../tests/golden/one-variant.txt"],
    );
}

#[test]
fn many_variants_continue_below() {
    let names: Vec<String> = (0..9).map(|n| format!("v{n}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    check(
        2,
        &names,
        expect_file!["../../tests/golden/nine-variants.txt"],
    );
}

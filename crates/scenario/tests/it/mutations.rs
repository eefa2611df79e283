//! Whatever the bytes, reading a scenario ends with an experiment or with faults, never a panic.

use proptest::prelude::*;
use std::path::Path;

/// A right scenario.
pub const RIGHT: &str = r#"title = "a right scenario"
policy = "cfs"

[machine]
llcs_per_socket = 2
cores_per_llc = 4
latency = { llc_ns = 25, node_ns = 110 }
caches = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }

[workload]
kind = "kernel-build"
work_seconds = 10

[run]
seeds = 2

[[variant]]
name = "A"
baseline = true

[[variant]]
name = "B"
features = ["SWQUEUE"]
tunables = { migration_cost_ns = 500000 }

[[published]]
variant = "A"
metric = "elapsed"
value = 322.44
source = "here"

[[published]]
variant = "B"
metric = "elapsed"
value = 321.54
unit = "s"
source = "here"
"#;

const SCRAPS: &[&str] = &[
    "=",
    "[",
    "]]",
    "[[",
    "{",
    "}",
    "\"",
    "'''",
    "\n",
    "\r",
    "\0",
    "é",
    "\u{202e}",
    "-",
    "nan",
    "inf",
    "1e999",
    "0x",
    "99999999999999999999",
    "NO_",
    "variant",
    "baseline = true\n",
    "#",
    ".",
    "1979-05-27",
    "\"\\u0000\"",
    "a.b.c",
    "[[variant]]\n",
    "[machine]\n",
    "seeds",
    ",",
];

/// One edit: cut a range, put a scrap or another part of the text in its place.
#[derive(Clone, Debug)]
struct Edit {
    at: prop::sample::Index,
    cut: usize,
    scrap: Option<usize>,
    copy: Option<(prop::sample::Index, usize)>,
}

fn edit() -> impl Strategy<Value = Edit> {
    (
        any::<prop::sample::Index>(),
        0..30_usize,
        prop::option::of(0..SCRAPS.len()),
        prop::option::of((any::<prop::sample::Index>(), 0..60_usize)),
    )
        .prop_map(|(at, cut, scrap, copy)| Edit {
            at,
            cut,
            scrap,
            copy,
        })
}

fn apply(mut bytes: Vec<u8>, edit: &Edit) -> Vec<u8> {
    let at = edit.at.index(bytes.len() + 1);
    let end = (at + edit.cut).min(bytes.len());
    let mut new: Vec<u8> = edit.scrap.map_or_else(Vec::new, |i| SCRAPS[i].into());
    if let Some((from, len)) = &edit.copy {
        let from = from.index(bytes.len() + 1);
        new.extend(&bytes[from..(from + len).min(bytes.len())]);
    }
    bytes.splice(at..end, new);
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn any_edit_of_a_scenario_is_read_or_refused(edits in prop::collection::vec(edit(), 1..6)) {
        let bytes = edits.iter().fold(RIGHT.as_bytes().to_vec(), apply);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        match scenario::load_str(Path::new("s.toml"), text.clone()) {
            Ok(experiment) => prop_assert!(!experiment.variants.is_empty()),
            Err(faults) => {
                prop_assert!(!faults.0.is_empty(), "refused without a fault:\n{text}");
                prop_assert!(!faults.render(true).is_empty());
            }
        }
    }
}

#[test]
fn the_right_scenario_is_right() {
    let read = scenario::load_str(Path::new("s.toml"), RIGHT.to_string());
    let experiment = read.unwrap_or_else(|faults| panic!("{}", faults.render(false)));
    assert_eq!(experiment.seeds, [1, 2]);
    assert_eq!(experiment.baseline(), 0);
}

//! The page as a text: that it is whole and loads nothing. What it does in a browser is tested by
//! the crate `page-tests`.

use super::*;
use crate::analysis::tests::{example, experiment};
use scenario::recorded::Keep;
use scenario::{Silent, load_str};
use sha2::{Digest, Sha256};
use std::path::Path;

const TEXT: &str = r#"
    title    = "Two <b>schedulers</b> & \"one\" machine"
    policy   = "cfs"
    workload = { kind = "kernel-build", work_seconds = 1 }
    run      = { seeds = 2, until = "80ms" }
    variant  = [{ name = "</script><script>alert(1)</script>" }, { name = "b", policy = "fifo" }]
    [machine]
    llcs_per_socket = 2
    cores_per_llc = 4
    latency = { llc_ns = 25, node_ns = 110 }
    caches = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
"#;

const ALL: Keep = Keep { from_ns: 0, to_ns: u64::MAX, slices_max: usize::MAX, signals: true };

/// What is made of a real run.
fn of_a_run<T>(make: impl Fn(&Chapter<'_>) -> T) -> T {
    let experiment = load_str(Path::new("two.toml"), TEXT.to_string())
        .unwrap_or_else(|faults| panic!("{}", faults.render(false)));
    let results = experiment.run(scenario::engine().as_ref(), 1, &Silent).unwrap();
    let outcome = Outcome::One(Box::new(crate::Analysis::new(&experiment, &results)));
    let recorded = experiment.record(1, ALL, 1, &Silent).unwrap();
    let (experiment, recorded) = (Some(&experiment), recorded.as_slice());
    make(&Chapter { outcome: &outcome, experiment, seed: 1, recorded })
}

fn recorded_page() -> String {
    of_a_run(|chapter| page(std::slice::from_ref(chapter), "schedlab report <x>"))
}

#[test]
fn pictures_of_a_recording_name_all_variants_and_hold_no_markup() {
    let pictures = of_a_run(pictures);
    let names: Vec<_> = pictures.iter().map(|(name, _)| *name).collect();
    assert_eq!(names, ["wakeup_latency.svg", "migrations.svg"]);
    for (_, svg) in pictures {
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("&lt;/script&gt;") && !svg.contains("<script"));
        assert!(svg.lines().any(|line| line.trim() == "b" || line.trim() == "B b"), "{svg}");
    }
}

#[test]
fn a_page_loads_nothing_and_no_name_is_markup() {
    let page = recorded_page();
    // Links to load from; the addresses in the license and in the names of XML spaces are text.
    for loads in ["src=", "@import", "url(", "<link rel=\"stylesheet\"", "fetch(", "import("] {
        assert!(!page.contains(loads), "{loads}");
    }
    assert!(page.contains("default-src 'none'"));
    assert!(page.contains("Copyright (c) 2022 Leon Sorokin") && !LICENSE.contains("--"));
    assert!(!page.contains("alert(1)</script>"));
    // One of data, one of code, and the columns of two variants.
    assert_eq!((page.matches("<script").count(), page.matches("</script>").count()), (4, 4));
    assert!(page.contains("Two &lt;b&gt;schedulers&lt;/b&gt; &amp; &quot;one&quot; machine"));
    assert!(!page.contains("{{"));
}

#[test]
fn the_same_experiment_gives_the_same_page() {
    assert_eq!(recorded_page(), recorded_page());
}

#[test]
fn numbers_of_the_tables_are_those_of_the_json() {
    let analysis = example(3, &["off", "on"]);
    let document: serde_json::Value = serde_json::from_str(&crate::json(&analysis)).unwrap();
    let outcome = Outcome::One(Box::new(analysis));
    let experiment = experiment(3, &["off", "on"]);
    let chapter =
        Chapter { outcome: &outcome, experiment: Some(&experiment), seed: 1, recorded: &[] };
    let page = page(&[chapter], "");
    let mut compared = 0;
    for part in page.split("data-name=\"").skip(1) {
        let (name, rest) = part.split_once('"').unwrap();
        let Some(value) = rest.strip_prefix(" data-value=\"") else { continue };
        let value: f64 = value.split('"').next().unwrap().parse().unwrap();
        let [variant, metric, field] = name.split('/').collect::<Vec<_>>()[..] else {
            panic!("{name}")
        };
        let of_variant = document["variants"].as_array().unwrap();
        let of_variant = of_variant.iter().find(|v| v["name"] == variant).unwrap();
        let table = if field == "mean" { "metrics" } else { "vs_baseline" };
        assert_eq!(of_variant[table][metric][field].as_f64(), Some(value), "{name}");
        compared += 1;
    }
    assert!(compared > 20, "{compared}");
}

#[test]
fn a_run_that_is_not_recorded_has_no_timeline() {
    let outcome = Outcome::One(Box::new(example(1, &["off"])));
    let chapter = Chapter { outcome: &outcome, experiment: None, seed: 1, recorded: &[] };
    assert!(!page(&[chapter], "").contains("data-draw=\"timeline\""));
}

#[test]
fn the_library_is_the_one_that_was_published() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/page/assets/uplot");
    let sums = std::fs::read_to_string(folder.join("SHA256SUMS")).unwrap();
    assert_eq!(sums.lines().count(), 3);
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").unwrap();
        let found = Sha256::digest(std::fs::read(folder.join(name)).unwrap());
        let found: String = found.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(found, sum, "{name}");
    }
}

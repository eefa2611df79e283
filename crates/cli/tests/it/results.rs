//! Good input: results on standard output and in files, the same bytes every time.

use crate::lab::{Lab, SCENARIO};
use snapbox::str;
use std::process::{Command, Stdio};

#[test]
fn check_says_what_would_run() {
    let lab = Lab::new();
    lab.run(["check", "small.toml"])
        .success()
        .stdout_eq(str![[r#"
small.toml: ok, 2 variants x 2 seeds of kernel-build on small (8 CPUs)

"#]])
        .stderr_eq("");
}

#[test]
fn every_format_is_the_same_whatever_the_jobs() {
    let lab = Lab::new();
    for format in ["text", "json", "csv", "markdown"] {
        let run = |jobs| lab.output(["small.toml", "--format", format, "--jobs", jobs]);
        let one = run("1");
        assert_eq!(one, run("2"), "{format}");
        assert_eq!(one, run("1"), "{format}");
        assert!(!one.contains('\u{1b}'), "{format} has colors in a pipe");
    }
}

#[test]
fn json_has_the_documented_shape() {
    let lab = Lab::new();
    let text = lab.output(["small.toml", "--format", "json", "--seeds", "3", "--quiet"]);
    let doc: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(doc["schema"], 1);
    assert_eq!(doc["seeds"], serde_json::json!([1, 2, 3]));
    assert_eq!(doc["machine"]["cpus"], 8);
    assert_eq!(doc["variants"][0]["baseline"], true);
    assert_eq!(doc["variants"][1]["metrics"]["elapsed"]["unit"], "s");
    assert_eq!(doc["variants"][1]["metrics"]["elapsed"]["values"].as_array().unwrap().len(), 3);
    assert!(doc["variants"][1]["vs_baseline"]["elapsed"]["delta_pct"].is_number());
    assert!(doc["variants"][1]["published"][0]["agrees"].is_boolean());
    let mut fields = Vec::new();
    names(&doc, "", &mut fields);
    let unknown: Vec<&String> =
        fields.iter().filter(|field| !RESULTS_MD.contains(&format!("`{field}`"))).collect();
    assert!(unknown.is_empty(), "docs/RESULTS.md does not name {unknown:?}");
}

/// The page that users read.
pub const RESULTS_MD: &str = include_str!("../../../../docs/RESULTS.md");

/// The names of all fields, without those that are names of metrics.
pub fn names(value: &serde_json::Value, of: &str, fields: &mut Vec<String>) {
    for element in value.as_array().into_iter().flatten() {
        names(element, of, fields);
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        match of {
            "metrics" | "vs_baseline" => names(inner, "", fields),
            _ => {
                let is_map = matches!(key.as_str(), "metrics" | "vs_baseline");
                fields.push(if is_map { format!("{key}.NAME") } else { key.clone() });
                names(inner, key, fields);
            }
        }
    }
}

#[test]
fn csv_has_the_documented_columns() {
    let csv = Lab::new().output(["small.toml", "--format", "csv", "--quiet"]);
    let header = csv.lines().next().unwrap();
    assert!(RESULTS_MD.contains(header), "{header}");
}

#[test]
fn two_scenarios_give_two_lines_of_json_and_one_table_of_csv() {
    let lab = Lab::new();
    lab.file("other.toml", SCENARIO);
    let json = lab.output(["small.toml", "other.toml", "--format", "json"]);
    assert_eq!(json.lines().count(), 2);
    let csv = lab.output(["small.toml", "other.toml", "--format", "csv"]);
    assert_eq!(csv.lines().filter(|line| line.starts_with("scenario,")).count(), 1);
}

#[test]
fn a_chosen_variant_runs_beside_the_baseline_only() {
    let lab = Lab::new();
    let more = "\n[[variant]]\nname = \"third\"\n";
    lab.file("small.toml", format!("{SCENARIO}{more}"));
    let text = lab.output(["small.toml", "--variant", "third", "--format", "csv"]);
    assert!(text.contains(",third,") && text.contains(",NO_SWQUEUE,"));
    assert!(!text.contains(",SWQUEUE,"));
}

#[test]
fn out_writes_all_files_and_leaves_nothing_else() {
    let lab = Lab::new();
    lab.run(["small.toml", "--out", "a/b"]).success();
    let mut names: Vec<String> = std::fs::read_dir(lab.path("a/b"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(names, ["deltas.svg", "results.csv", "results.json", "utilization.svg"]);
}

#[test]
fn out_leaves_no_plot_of_an_earlier_experiment() {
    let lab = Lab::new();
    lab.run(["small.toml", "--out", "out"]).success();
    let (one, _) = SCENARIO.split_once("\n[[variant]]\nname = \"SWQUEUE\"").unwrap();
    lab.file("small.toml", one);
    lab.file("out/mine.svg", "kept");
    lab.run(["small.toml", "--out", "out"]).success();
    assert!(!lab.path("out/deltas.svg").exists());
    assert!(lab.path("out/utilization.svg").exists() && lab.path("out/mine.svg").exists());
}

#[test]
fn a_reader_that_leaves_early_is_no_error() {
    let lab = Lab::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .args(["small.toml", "--format", "csv", "--quiet"])
        .current_dir(lab.path(""))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
    assert!(output.status.success());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let lab = Lab::new();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .args(["small.toml", "--quiet"])
        .current_dir(lab.path(""))
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.starts_with("error: cannot write to standard output"), "{stderr}");
}

#[test]
fn lists_name_everything_a_scenario_can_use() {
    let lab = Lab::new();
    let all = lab.output(["list"]);
    for name in ["cfs", "llc-fifo", "SIS_NODE", "migration_cost_ns", "kernel-build", "elapsed"] {
        assert!(all.contains(name), "{name}");
    }
    lab.run(["list", "policies"]).success().stdout_eq(str![[r#"
  cfs       rules 6.4, 6.1, 5.19   the fair class before EEVDF: vruntime, buddies, wake-up preemption
  eevdf     rules 6.18, 6.12, 6.6  the fair class since 6.6: lag, eligibility, virtual deadlines
  fifo      rules 6.18, 6.12       sched_ext: one queue for the whole machine, first come first served (scx_simple -f)
  vtime     rules 6.18, 6.12       sched_ext: one queue for the whole machine, by weighted run time (scx_simple)
  llc-fifo  rules 6.18, 6.12       sched_ext: one queue per LLC, first come first served, with stealing
  bpf       rules 6.18, 6.12       sched_ext: a BPF object, policy = { bpf = "FILE.bpf.o" }
  fcfs      -                      the textbook's queue: one for all CPUs, free of cost, no slices, no preemption

"#]]);
}

#[test]
fn a_machine_can_be_shown_by_file_or_by_name() {
    let lab = Lab::new();
    let tree = lab.output(["topology", "show", "zen4"]);
    assert!(tree.contains("zen4"), "{tree}");
    assert!(lab.output(["topology", "show", "zen4", "--table"]).contains("CPU"));
    let written = lab.output(["topology", "show", "zen4", "--toml"]);
    lab.file("machines/zen4.toml", &written);
    assert_eq!(lab.output(["topology", "show", "machines/zen4.toml"]), tree);
    assert_eq!(lab.output(["topology", "show", "machines/zen4.toml", "--toml"]), written);
    assert!(lab.output(["list", "machines"]).contains("32 CPUs, 2 LLCs"));
}

#[test]
fn completions_and_the_manual_come_from_the_flags() {
    let lab = Lab::new();
    for shell in ["bash", "zsh", "fish"] {
        assert!(lab.output(["completions", shell]).contains("topology"), "{shell}");
    }
    assert!(lab.output(["man"]).contains(".TH schedlab"));
    let page = lab.output(["man", "topology", "import"]);
    assert!(page.contains(".TH schedlab-topology-import") && page.contains("hwloc"), "{page}");
    lab.run(["man", "topolgy"])
        .code(2)
        .stderr_eq("error: `schedlab` has no command `topolgy`; did you mean `topology`?\n");
}

#[test]
fn schemas_are_json_and_name_what_lists_name() {
    let lab = Lab::new();
    let of = |args: &[&str]| -> serde_json::Value {
        serde_json::from_str(&lab.output(args.iter().copied())).unwrap()
    };
    let (scenario, machine) = (of(&["schema"]), of(&["schema", "machine"]));
    assert_eq!(scenario, of(&["schema", "scenario"]));
    for schema in [&scenario, &machine] {
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    }
    let policies = &scenario["properties"]["policy"]["anyOf"];
    let names = policies[0]["enum"].as_array().unwrap();
    for line in lab.output(["list", "policies"]).lines() {
        let name = line.split_whitespace().next().unwrap();
        // One is a table with a key of that name.
        let is_table = policies[1]["properties"].get(name).is_some();
        assert!(names.contains(&name.into()) != is_table, "{name}");
    }
    let keys = machine["properties"]["costs"]["properties"].as_object().unwrap();
    assert!(keys.contains_key("pick_ns"));
    lab.run(["schema", "workload"]).code(2).stdout_eq("");
}

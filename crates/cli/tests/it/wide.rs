//! Letters that take two columns of a terminal leave the tables as they are: what stands beside
//! them is where it is beside as many letters that take one.

use crate::lab::{Lab, MACHINE};

/// Scenario, variants, a task and an idle state with names.
const SCENARIO: &str = r#"title    = "names"
machine  = "scenarios/machines/NAME.toml"
policy   = "cfs"
workload = { kind = "rt-app", file = "load.json" }
run      = { seeds = 2 }

[[variant]]
name = "NAME 1"

[[variant]]
name     = "NAME x NAME y, cut in the middle, y NAME x NAME"
features = ["SWQUEUE"]

[[published]]
variant = "NAME 1"
metric  = "elapsed"
value   = 1
source  = "made up"

[[published]]
variant = "NAME x NAME y, cut in the middle, y NAME x NAME"
metric  = "elapsed"
value   = 1
source  = "made up"
"#;

const LOAD: &str = r#"{ "tasks": {
  "NAME": { "instance": 12, "loop": 30, "run": 900, "sleep": 700 },
  "b":    { "instance": 3,  "loop": 30, "run": 800, "sleep": 100 } } }"#;

/// What all commands with tables print if everything has that name.
fn tables(name: &str) -> String {
    let lab = Lab::new();
    let named = |text: &str| text.replace("NAME", name);
    std::fs::create_dir_all(lab.path("scenarios/machines")).unwrap();
    let cstates =
        "[[cstate]]\nname = \"NAME\"\nexit_ns = 800\nresidency_ns = 2000\npolling = true\n";
    let machine = named("scenarios/machines/NAME.toml");
    lab.file(&machine, named(&format!("{MACHINE}{cstates}")));
    lab.file(&named("NAME.toml"), named(SCENARIO));
    lab.file("load.json", named(LOAD));
    let file = named("NAME.toml");
    let variant = named("NAME 1");
    let one = [file.as_str(), "--variant", variant.as_str(), "--quiet"];
    let mut text = String::new();
    for args in [
        vec![file.as_str(), "--quiet"],
        vec!["fidelity", file.as_str(), "--quiet"],
        vec!["topology", "show", machine.as_str()],
        [vec!["explain"], one.to_vec()].concat(),
        [vec!["profile"], one.to_vec()].concat(),
    ] {
        text += &lab.output(args);
    }
    // The fingerprint of the scenario is another one.
    let lines = text.lines().map(|line| match line.split_once(", scenario ") {
        Some((before, _)) => before,
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn wide_letters_take_two_columns() {
    let narrow = tables("abcd");
    assert!(narrow.contains("b behind abcd") && narrow.contains("abcd behind"), "{narrow}");
    snapbox::assert_data_eq!(tables("共有").replace("共有", "abcd"), narrow);
}

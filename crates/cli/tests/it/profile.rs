//! `schedlab profile`: three views of the same run.

use crate::lab::Lab;
use snapbox::str;

const NETPERF: &str = r#"title = "16 pairs"
machine = "machines/small.toml"
policy = "cfs"
workload = { kind = "netperf", test = "UDP_RR", clients = 16, service_ns = 2000 }
run = { seeds = 1, until = "40ms" }

[[variant]]
name = "NO_SWQUEUE"
baseline = true

[[variant]]
name = "SWQUEUE"
features = ["SWQUEUE"]
"#;

fn lab() -> Lab {
    let lab = Lab::new();
    lab.file("net.toml", NETPERF);
    lab
}

fn profile(format: &str) -> [&str; 6] {
    ["profile", "net.toml", "--variant", "SWQUEUE", "--format", format]
}

/// The stacks of the folded format with their counts.
fn folded(lab: &Lab) -> Vec<(String, u64)> {
    let text = lab.output(profile("folded"));
    let split = |line: &str| {
        let (stack, count) = line.rsplit_once(' ').unwrap();
        (stack.to_string(), count.parse().unwrap())
    };
    text.lines().map(split).collect()
}

#[test]
fn all_formats_add_up_to_the_busy_time() {
    let lab = lab();
    let json: serde_json::Value = serde_json::from_str(&lab.output(profile("json"))).unwrap();
    assert_eq!(json["schema"], 1);
    let busy = json["busy_ns"].as_u64().unwrap();
    assert!(busy > 100_000_000, "{busy}");
    let sum = |list: &str| -> u64 {
        json[list].as_array().unwrap().iter().map(|x| x["ns"].as_u64().unwrap()).sum()
    };
    assert_eq!(sum("paths"), busy);
    assert_eq!(sum("stacks"), busy);
    let spin: u64 = json["paths"]
        .as_array()
        .unwrap()
        .iter()
        .map(|path| path["spin_ns"].as_u64().unwrap())
        .sum();
    assert_eq!(sum("sites"), spin);
    assert_eq!(sum("groups"), spin);
    let folded = folded(&lab);
    assert_eq!(folded.iter().map(|(_, ns)| ns).sum::<u64>(), busy);
    let slowpath = folded.iter().filter(|(s, _)| s.ends_with(";native_queued_spin_lock_slowpath"));
    assert_eq!(Some(slowpath.map(|(_, ns)| ns).sum()), json["slowpath_ns"].as_u64());
}

#[test]
fn folded_stacks_begin_with_the_command_and_have_the_kernels_names() {
    let stacks = folded(&lab());
    let comms = ["netperf;", "netserver;", "swapper;", "sh;"];
    assert!(stacks.iter().all(|(s, _)| comms.iter().any(|c| s.starts_with(c))), "{stacks:?}");
    let way = |s: &str| {
        s.starts_with("netperf;entry_SYSCALL_64;do_syscall_64;__x64_sys_sendto;")
            && s.contains(";udp_sendmsg;")
            && s.ends_with(
                ";try_to_wake_up;ttwu_do_activate;enqueue_task_fair;swqueue_enqueue;\
                 native_queued_spin_lock_slowpath",
            )
    };
    assert!(stacks.iter().any(|(s, _)| way(s)), "{stacks:?}");
}

#[test]
fn the_tables_are_for_people_and_always_the_same() {
    let lab = lab();
    let text = lab.output(profile("text"));
    assert_eq!(text, lab.output(profile("text")));
    assert!(!text.contains('\u{1b}'), "colors in a pipe");
    for word in ["variant SWQUEUE", "cycles by path", "ttwu_enqueue_swq", "lockstat", "netserver"] {
        assert!(text.contains(word), "{word}");
    }
    let (tables, graph) = text.split_once("call graph").unwrap();
    let after = graph.split_once("lockstat").unwrap().1;
    for line in tables.lines().chain(after.lines()) {
        assert!(line.chars().count() <= 100, "{line}");
        assert!(!line.ends_with(' '), "spaces at the end: `{line}`");
    }
}

#[test]
fn a_variant_or_scenario_that_does_not_exist() {
    let lab = lab();
    lab.run(["profile", "net.toml", "--variant", "SWQEUE"]).code(2).stdout_eq("").stderr_eq(str![
        [r#"
error: scenario `net` has no variant `SWQEUE`; did you mean `SWQUEUE`?

"#]
    ]);
    lab.run(["profile", "net.toml"]).code(2).stdout_eq("");
    lab.run(["profile", "nte.toml", "--variant", "SWQUEUE"]).code(2).stdout_eq("");
}

/// A number of an attribute.
fn attribute(frame: &str, name: &str) -> f64 {
    let value = frame.split(&format!(" {name}=\"")).nth(1).unwrap();
    value.split('"').next().unwrap().parse().unwrap()
}

#[test]
fn the_flame_graph_has_a_frame_for_what_can_be_seen_and_no_script() {
    let lab = lab();
    let svg = lab.output(profile("svg"));
    assert_eq!(svg, lab.output(profile("svg")));
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n") && !svg.contains("script>"));
    let frames: Vec<&str> = svg.lines().filter(|line| line.starts_with("<g><title>")).collect();
    assert!(frames.len() > 30, "{}", frames.len());
    assert!(frames[0].starts_with("<g><title>all: ") && frames[0].contains(", 100.00 %<"));
    // The commands stand side by side on the root, and fill it but for what cannot be seen.
    let row = |y: f64| frames.iter().filter(move |frame| attribute(frame, "y") == y);
    let base = attribute(frames[0], "y");
    let width: f64 = row(base - 18.0).map(|frame| attribute(frame, "width")).sum();
    assert!((width - 1180.0).abs() < 5.0, "{width}");
    // A frame's share is that of the folded stacks through it.
    let stacks = folded(&lab);
    let all: u64 = stacks.iter().map(|(_, ns)| ns).sum();
    let through = stacks.iter().filter(|(stack, _)| stack.starts_with("netperf;"));
    let share = through.map(|(_, ns)| ns).sum::<u64>() as f64 / all as f64 * 100.0;
    let title = frames.iter().find(|frame| frame.starts_with("<g><title>netperf: ")).unwrap();
    assert!(title.contains(&format!(", {share:.2} %<")), "{title} {share}");
}

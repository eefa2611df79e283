//! `schedlab trace`: files that appear whole, and faults that are named.

use crate::lab::Lab;
use snapbox::str;
use std::process::{Command, Stdio};

const ONE: [&str; 4] = ["trace", "small.toml", "--variant", "SWQUEUE"];

#[test]
fn without_a_file_the_text_goes_to_standard_output() {
    let lab = Lab::new();
    let text = lab.output(ONE);
    let first = text.lines().next().unwrap();
    let begins =
        "         swapper     0 [000]     1.000000000:   sched:sched_wakeup_new: comm=make";
    assert!(first.starts_with(begins), "{first}");
    let again = [&ONE[..], &["--perf-script", "t.txt", "--seed", "1"]].concat();
    lab.run(again).success().stdout_eq("").stderr_eq(str![[r#"
note: 14549 events in 0.660592 s: 3589 switches, 4.058358 s of run time

"#]]);
    assert_eq!(std::fs::read_to_string(lab.path("t.txt")).unwrap(), text);
}

#[test]
fn a_wrong_variant_is_told_the_nearest_name() {
    let lab = Lab::new();
    lab.run(["trace", "small.toml", "--variant", "SWQEUE"]).code(2).stdout_eq("").stderr_eq(str![
        [r#"
error: scenario `small` has no variant `SWQEUE`; did you mean `SWQUEUE`?

"#]
    ]);
    lab.run(["trace", "small.toml"]).code(2).stderr_eq(str![[r#"
error: which variant? --variant NAME, one of: NO_SWQUEUE, SWQUEUE

"#]]);
}

#[test]
fn a_file_that_cannot_be_made_is_noticed_before_the_run() {
    let lab = Lab::new();
    lab.run([&ONE[..], &["--perf-script", "no/such/t.txt"]].concat()).code(2).stderr_eq(str![[
        r#"
error: cannot write no/such/t.txt: No such file or directory (os error 2)

"#
    ]]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_ends_the_run() {
    let lab = Lab::new();
    lab.run([&ONE[..], &["--perf-script", "/dev/full"]].concat()).code(1).stderr_eq(str![[r#"
error: cannot write /dev/full: No space left on device (os error 28)

"#]]);
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let lab = Lab::new();
    let mut child = Command::new(env!("CARGO_BIN_EXE_schedlab"))
        .args(ONE)
        .current_dir(lab.path("."))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// How many tracks of a Perfetto trace have such a name.
fn tracks(trace: &[u8], name: &str) -> usize {
    trace.windows(name.len()).filter(|window| *window == name.as_bytes()).count()
}

#[test]
fn signals_are_added_and_nothing_else_changes() {
    let lab = Lab::new();
    let run = |variant: &str, more: &[&str]| {
        let one = ["trace", "small.toml", "--variant", variant, "--perf-script", "t.txt"];
        lab.run([&one[..], &["--perfetto", "t.pftrace"], more].concat()).success();
        let read = |name: &str| std::fs::read(lab.path(name)).unwrap();
        (read("t.txt"), read("t.pftrace"))
    };
    let (text, without) = run("SWQUEUE", &[]);
    let (text_too, with) = run("SWQUEUE", &["--signals"]);
    // Around an exec a tick is charged under the one name or the other.
    let events = |text: &[u8]| -> Vec<String> {
        let line = |line: &str| match line.split_once("sched:sched_stat_runtime:") {
            Some((head, fields)) => {
                let (_, place) = head.split_once(" [").unwrap();
                let (_, runtime) = fields.split_once("pid=").unwrap();
                format!("[{place}{runtime}")
            }
            None => line.to_string(),
        };
        std::str::from_utf8(text).unwrap().lines().map(line).collect()
    };
    assert_eq!(events(&text), events(&text_too));
    // A machine of 8 CPUs; tasks that run, by name and pid.
    for signal in ["util_avg", "load_avg", "runnable_avg", "freq_scale"] {
        assert_eq!(tracks(&with, &format!("{signal} 7")), 1, "{signal}");
        assert_eq!(tracks(&without, signal), 0, "{signal}");
    }
    // Of 40 compilers each, but for those that became one after their first turn.
    assert!((30..=40).contains(&tracks(&with, "util_avg cc1:")));
    lab.run(["trace", "small.toml", "--variant", "SWQUEUE", "--signals"]).code(2);
}

#[test]
fn a_policy_without_signals_is_named() {
    let lab = Lab::new();
    let fifo = crate::lab::SCENARIO.replace("policy = \"cfs\"", "policy = \"fifo\"");
    let fifo = fifo.split("[[variant]]").next().unwrap().to_string();
    lab.file("fifo.toml", fifo + "[[variant]]\nname = \"queue\"\n");
    let args = ["trace", "fifo.toml", "--perfetto", "t.pftrace", "--signals"];
    lab.run(args).success().stderr_eq(str![[r#"
note: policy `fifo` keeps no averages: the trace has no signals
note: [..] events in [..] s: [..] switches, [..] s of run time

"#]]);
}

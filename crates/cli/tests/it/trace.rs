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
note: [..] events in 0.660995 s: [..] switches, [..] s of run time

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

//! Whatever is killed or fails while units are done, nothing is lost and nothing counts twice.
//!
//! `strace` injects what disks and administrators do. Where it is missing these tests say so;
//! `SCHEDLAB_NEEDS_STRACE` makes that a failure.
#![cfg(unix)]

use crate::lab::Lab;
use crate::units::{complaint, names, status};
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// A tiny scenario with four units.
const TINY: &str = r#"title = "tiny"
policy = "fifo"
machine = "pack:1 l3:1 core:2 pu:1"
workload = { kind = "mm-c", service_ns = 10_000, rate = 50_000 }
run = { seeds = 2, until = "1ms" }
variant = [{ name = "a" }, { name = "b", policy = "cfs" }]
"#;

const PROGRAM: &str = env!("CARGO_BIN_EXE_schedlab");
const KILLED: i32 = 9;

/// A planned sweep of four units, and the output of a local run.
fn tiny() -> (Lab, String) {
    let lab = Lab::new();
    lab.file("tiny.toml", TINY);
    lab.output(["sweep", "plan", "tiny.toml", "--out", "d"]);
    let local = lab.output(["tiny.toml", "--out", "local"]);
    (lab, local)
}

/// Goes on with a sweep to its end: the results are those of a local run, to the byte.
fn must_end_well(lab: &Lab, local: &str, what: &str) {
    lab.output(["sweep", "run", "d"]);
    let state = status(lab, "d");
    assert_eq!(
        (&state["done"], &state["failed"]),
        (&state["units"], &[(); 0][..].into()),
        "{what}"
    );
    assert_eq!(lab.output(["sweep", "merge", "d"]), local, "{what}");
    for file in ["results.json", "results.csv"] {
        let read = |dir: &str| std::fs::read(lab.path(dir).join(file)).unwrap();
        assert!(read("d") == read("local"), "{what}: {file} differs");
    }
    let runs = names(lab.path("d/runs"));
    let n_whole = runs.iter().filter(|name| name.ends_with(".json")).count();
    assert_eq!(n_whole, 4, "{what}: {runs:?}");
    assert!(!lab.path("d/alarms").exists(), "{what}");
}

fn has_strace() -> bool {
    let found = Command::new("strace").arg("-V").output().is_ok_and(|out| out.status.success());
    if !found {
        assert!(std::env::var_os("SCHEDLAB_NEEDS_STRACE").is_none(), "strace is missing");
        eprintln!("!! strace is missing: NOBODY LOOKS WHETHER UNITS SURVIVE WHAT IS INJECTED !!");
    }
    found
}

/// Runs the program with a fault injected.
fn inject(lab: &Lab, fault: &str, args: &[&str]) -> Output {
    let mut strace = Command::new("strace");
    strace.args(["-f", "-qq", "-o", "trace", "-e", &format!("inject={fault}"), PROGRAM]);
    strace.args(args).current_dir(lab.path(".")).output().unwrap()
}

/// Kills a command at each call of some system calls in turn; `check` looks at what is left.
fn kill_at_each(calls: &[&str], lab: &Lab, args: &[&str], mut check: impl FnMut(&str)) {
    for call in calls {
        for when in 1.. {
            let fault = format!("{call}:signal=KILL:when={when}");
            let output = inject(lab, &fault, args);
            let is_killed = output.status.signal() == Some(KILLED);
            assert!(is_killed || output.status.success(), "{fault}: {output:?}");
            check(&fault);
            if !is_killed {
                assert!(when > 1 || *call == "unlinkat", "{call} is not called at all");
                break;
            }
        }
    }
}

#[test]
fn a_unit_that_is_killed_at_any_system_call_is_lost_or_whole() {
    if !has_strace() {
        return;
    }
    let (lab, local) = tiny();
    let calls = ["write", "fsync", "linkat", "unlink", "openat", "close"];
    let unit = ["sweep", "unit", "d", "--index", "0"];
    kill_at_each(&calls, &lab, &unit, |fault| {
        let state = status(&lab, "d");
        let n_done = state["done"].as_u64().unwrap();
        assert!(n_done <= 1 && state["missing"] == 4 - n_done, "{fault}: {state}");
        must_end_well(&lab, &local, fault);
        std::fs::remove_dir_all(lab.path("d/runs")).unwrap();
    });
}

#[test]
fn a_plan_that_is_killed_at_any_system_call_can_be_made_again() {
    if !has_strace() {
        return;
    }
    let (lab, local) = tiny();
    let calls = ["mkdir", "write", "fsync", "rename", "linkat", "unlink"];
    let plan = ["sweep", "plan", "tiny.toml", "--out", "d"];
    std::fs::remove_dir_all(lab.path("d")).unwrap();
    kill_at_each(&calls, &lab, &plan, |fault| {
        lab.output(plan);
        must_end_well(&lab, &local, fault);
        std::fs::remove_dir_all(lab.path("d")).unwrap();
    });
}

#[test]
fn a_full_or_failing_disk_loses_nothing_and_is_told() {
    if !has_strace() {
        return;
    }
    let (lab, local) = tiny();
    // A `write` that fails takes the complaint with it.
    const SILENT: &str = "";
    for (fault, says) in [
        ("write:error=ENOSPC:when=1", SILENT),
        ("write:error=EIO:when=1", SILENT),
        ("fsync:error=ENOSPC:when=1", "No space left on device (os error 28); make room"),
        ("fsync:error=EIO:when=1+", "Input/output error"),
        ("fsync:error=EIO:when=2+", "Input/output error"),
        ("linkat:error=ENOSPC", "No space left on device"),
        ("linkat:error=EDQUOT", "Disk quota exceeded"),
        ("linkat:error=EPERM", "its file system has no hard links"),
        ("linkat:error=ENOENT", "its temporary file vanishes again and again"),
    ] {
        let output = inject(&lab, fault, &["sweep", "run", "d"]);
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{fault}: {output:?}");
        let is_told = said.contains("cannot write d/runs/") && said.contains(says);
        assert!(is_told || says == SILENT, "{fault}: {said}");
        must_end_well(&lab, &local, fault);
        std::fs::remove_dir_all(lab.path("d/runs")).unwrap();
    }
    // A temporary file that vanishes once is written again.
    let output = inject(&lab, "linkat:error=ENOENT:when=1", &["sweep", "run", "d"]);
    assert!(output.status.success(), "{output:?}");
    must_end_well(&lab, &local, "a file that vanishes");
}

#[test]
fn a_short_write_leaves_no_file() {
    let (lab, local) = tiny();
    let mut shell = Command::new("sh");
    // One block: the first write is cut, the second one fails.
    let line = format!("ulimit -f 1; exec '{PROGRAM}' sweep unit d --index 0");
    let output = shell.args(["-c", &line]).current_dir(lab.path(".")).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    assert!(said.contains("cannot write d/runs/") && said.contains("File too large"), "{said}");
    assert_eq!(names(lab.path("d/runs")), [""; 0]);
    must_end_well(&lab, &local, "a short write");
}

#[test]
fn a_disk_that_lies_is_found_out() {
    if !has_strace() {
        return;
    }
    let (lab, local) = tiny();
    // The system says that the bytes are written, and they are not.
    let output = inject(&lab, "write:retval=100:when=1", &["sweep", "unit", "d", "--index", "0"]);
    assert!(output.status.success(), "{output:?}");
    lab.output(["sweep", "unit", "d", "--from", "1", "--count", "3"]);
    let said = complaint(&lab, 1, &["sweep", "merge", "d"]);
    assert!(said.contains("is damaged: it is not whole"), "{said}");
    must_end_well(&lab, &local, "a disk that lies");
}

fn start(lab: &Lab, args: &[&str]) -> Child {
    let mut command = Command::new(PROGRAM);
    command.args(args).current_dir(lab.path(".")).stdout(Stdio::piped()).spawn().unwrap()
}

/// Forty units of some milliseconds each.
fn forty() -> (Lab, String) {
    let lab = Lab::new();
    let text = crate::lab::SCENARIO.split_once("[[published]]").unwrap().0;
    lab.file("forty.toml", text.replace("seeds = 2", "seeds = 20"));
    lab.output(["sweep", "plan", "forty.toml", "--out", "d"]);
    let local = lab.output(["forty.toml"]);
    (lab, local)
}

#[test]
fn several_at_once_count_each_unit_once() {
    let (lab, local) = forty();
    let children: Vec<Child> =
        (0..3).map(|_| start(&lab, &["sweep", "run", "d", "--jobs", "2"])).collect();
    for child in children {
        assert!(child.wait_with_output().unwrap().status.success());
    }
    let state = status(&lab, "d");
    assert_eq!((&state["done"], &state["units"]), (&40.into(), &40.into()));
    assert_eq!(state["alarms"], serde_json::json!([]));
    assert_eq!(names(lab.path("d/runs")).len(), 40);
    assert_eq!(lab.output(["sweep", "merge", "d", "--out", "o"]), local);
}

#[test]
fn a_sweep_that_is_killed_again_and_again_comes_to_its_end() {
    let (lab, local) = forty();
    // Temporary files of those that were killed are there, too.
    let n_done = || {
        let runs = std::fs::read_dir(lab.path("d/runs")).into_iter().flatten().flatten();
        runs.filter(|run| run.path().extension().is_some_and(|e| e == "json")).count()
    };
    let mut n_kills = 0;
    loop {
        let before = n_done();
        let mut child = start(&lab, &["sweep", "run", "d", "--jobs", "2"]);
        let ended = loop {
            std::thread::sleep(Duration::from_millis(1));
            let is_further = n_done() > before + 5;
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if is_further => break None,
                None => {}
            }
        };
        if let Some(status) = ended {
            assert!(status.success());
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        n_kills += 1;
    }
    assert!(n_kills > 1, "it was killed {n_kills} times");
    assert_eq!(lab.output(["sweep", "merge", "d", "--out", "o"]), local);
}

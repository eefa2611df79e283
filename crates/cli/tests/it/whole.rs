//! Files are whole or not there, and what cannot be written is said: full disks, limits, devices,
//! closed outputs.
#![cfg(unix)]

use crate::lab::Lab;
use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::process::{Command, Output};

/// Runs the program by a shell line, in which it is `$SCHEDLAB`.
fn shell(lab: &Lab, line: &str) -> Output {
    let mut shell = Command::new("sh");
    shell.args(["-c", line]).current_dir(lab.path("")).env("NO_COLOR", "1");
    shell.env("SCHEDLAB", env!("CARGO_BIN_EXE_schedlab")).output().unwrap()
}

/// Exit code, standard output and standard error.
fn ended(output: &Output) -> (Option<i32>, String, String) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

/// All files of the lab, those of its folders as well.
fn files(lab: &Lab) -> Vec<String> {
    let found = shell(lab, "find . -type f | sort");
    ended(&found).1.lines().map(String::from).collect()
}

/// A file that grows beyond `ulimit -f` fails as on a full disk. By default SIGXFSZ would end the
/// program.
#[test]
fn a_limit_of_the_file_size_ends_like_a_full_disk() {
    let lab = Lab::new();
    let before = files(&lab);
    let trace = "trace small.toml --variant SWQUEUE --quiet";
    for (command, target) in [
        (format!("{trace} --perf-script t"), "write t"),
        (format!("{trace} --perf-data t"), "write t"),
        (format!("{trace} --trace-dat t"), "write t"),
        (format!("{trace} --perfetto t"), "write t"),
        ("report small.toml --quiet --html t".into(), "write t"),
        ("report small.toml --quiet --out o".into(), "write o/results.json"),
        ("small.toml --quiet --out o".into(), "write o/results.json"),
        ("topology export machines/small.toml --sysfs d".into(), "write d"),
        ("topology import --sysfs / --out t".into(), "write t"),
    ] {
        let line = format!("ulimit -f 0; exec $SCHEDLAB {command}");
        let (code, _, stderr) = ended(&shell(&lab, &line));
        let message = format!("error: cannot {target}: File too large (os error 27)\n");
        assert!(stderr.ends_with(&message), "{command}: {stderr}");
        assert_eq!(code, Some(1), "{command}");
        assert_eq!(files(&lab), before, "{command}");
    }
}

/// What is neither a file nor absent is written in place: a device must not become a file.
#[test]
fn a_pipe_stays_a_pipe_and_gets_the_page() {
    let lab = Lab::new();
    let pipe = lab.path("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for command in [
        "report small.toml --seeds 1 --quiet --html pipe",
        "topology import --sysfs / --out pipe",
        "trace small.toml --variant SWQUEUE --quiet --perf-script pipe",
    ] {
        let reader = std::thread::spawn({
            let pipe = pipe.clone();
            move || {
                let mut text = String::new();
                std::fs::File::open(pipe).unwrap().read_to_string(&mut text).unwrap();
                text
            }
        });
        let (code, _, stderr) = ended(&shell(&lab, &format!("exec $SCHEDLAB {command}")));
        assert!(std::fs::metadata(&pipe).unwrap().file_type().is_fifo(), "{command}");
        assert_eq!(code, Some(0), "{command}: {stderr}");
        assert!(reader.join().unwrap().len() > 100, "{command}");
    }
}

#[test]
fn a_full_disk_behind_standard_output_is_said() {
    let lab = Lab::new();
    for command in ["small.toml --seeds 1", "list metrics", "--help", "--version", "trace --help"] {
        let (code, _, stderr) =
            ended(&shell(&lab, &format!("exec $SCHEDLAB {command} >/dev/full")));
        let message = "cannot write to standard output: No space left on device (os error 28)";
        assert_eq!(stderr, format!("error: {message}\n"), "{command}");
        assert_eq!(code, Some(1), "{command}");
    }
}

/// Rust's runtime opens /dev/null in place of a closed output, so that writing to it succeeds.
#[test]
fn a_closed_standard_output_is_said() {
    let lab = Lab::new();
    let trace = "trace small.toml --variant SWQUEUE --quiet";
    for command in ["small.toml --seeds 1", "list metrics", trace] {
        let (code, _, stderr) = ended(&shell(&lab, &format!("exec $SCHEDLAB {command} >&-")));
        assert!(stderr.starts_with("warning: standard output is closed"), "{command}: {stderr}");
        assert_eq!(stderr.lines().count(), 1, "{stderr}");
        assert_eq!(code, Some(0), "{command}");
    }
    // Nobody is told who throws the output away on purpose, or asks for files only.
    for line in ["small.toml --seeds 1 > /dev/null", &format!("{trace} --perfetto t >&-")] {
        let (code, _, stderr) = ended(&shell(&lab, &format!("exec $SCHEDLAB {line}")));
        assert_eq!((code, stderr.as_str()), (Some(0), ""), "{line}");
    }
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let lab = Lab::new();
    for command in ["list", "man", "trace small.toml --variant SWQUEUE --quiet", "--help"] {
        let line = format!("{{ $SCHEDLAB {command}; echo $? >&2; }} | head -n 1");
        let (_, stdout, stderr) = ended(&shell(&lab, &line));
        assert_eq!((stdout.lines().count(), stderr.as_str()), (1, "0\n"), "{command}");
    }
}

#[test]
fn a_directory_that_cannot_be_written_is_said_before_anything_runs() {
    let lab = Lab::new();
    // Hours of work, of which nothing must begin.
    lab.edit("work_seconds = 4", "work_seconds = 400000");
    let before = files(&lab);
    for (command, expected) in [
        (
            "small.toml --out small.toml/o",
            "cannot use small.toml/o as output directory: not a directory",
        ),
        // In /proc nobody may make a file, not even root.
        ("report small.toml --html /proc/t", "cannot write /proc/t: entity not found"),
        (
            "trace small.toml --variant SWQUEUE --perfetto /proc/t",
            "cannot write /proc/t: entity not found",
        ),
        (
            "small.toml --out /proc/o",
            "cannot use /proc/o as output directory: no such file or directory",
        ),
        ("report small.toml --html no/t", "cannot write no/t: there is no directory no"),
        ("report small.toml --html t/", "cannot write t/: is a directory"),
        ("trace small.toml --variant SWQUEUE --perfetto t/", "cannot write t/: is a directory"),
        (
            "trace small.toml --variant SWQUEUE --perfetto machines",
            "cannot write machines: is a directory",
        ),
    ] {
        let (code, stdout, stderr) = ended(&shell(&lab, &format!("exec $SCHEDLAB {command}")));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{command}: {stderr}");
        let stderr = stderr.to_lowercase();
        assert_eq!(stderr.split(" (os").next().unwrap().trim(), format!("error: {expected}"));
        assert_eq!(files(&lab), before, "{command}");
    }
}

/// A name that is taken is replaced when the new file is whole, and not before.
#[test]
fn an_existing_file_is_replaced_whole() {
    let lab = Lab::new();
    for command in
        ["report small.toml --seeds 1 --quiet --html t", "topology import --sysfs / --out t"]
    {
        lab.file("t", "old");
        let (code, ..) = ended(&shell(&lab, &format!("ulimit -f 0; exec $SCHEDLAB {command}")));
        assert_eq!(code, Some(1), "{command}");
        assert_eq!(std::fs::read_to_string(lab.path("t")).unwrap(), "old", "{command}");
        assert_eq!(ended(&shell(&lab, &format!("exec $SCHEDLAB {command}"))).0, Some(0));
        assert_ne!(std::fs::read_to_string(lab.path("t")).unwrap(), "old", "{command}");
    }
}

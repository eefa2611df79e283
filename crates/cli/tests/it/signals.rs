//! Ctrl-C, SIGTERM and a closed terminal: the terminal and the directory are left as they were.
#![cfg(unix)]

use crate::lab::Lab;
use nix::pty::{OpenptyResult, Winsize, openpty};
use nix::sys::termios::{FlowArg, tcflow};
use signal_hook::consts::{SIGHUP, SIGINT};
use signal_hook::flag;
use std::fs::File;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Once, atomic::AtomicBool};
use std::time::Duration;

/// A run that ends in hours.
fn long() -> Lab {
    let lab = Lab::new();
    lab.edit("work_seconds = 4", "work_seconds = 400000");
    lab
}

/// Has children hear these signals also when the tests themselves were started under `nohup` or in
/// the background of a script: what is ignored stays ignored in a child, what is handled does not.
fn hear_signals() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for signal in [SIGHUP, SIGINT] {
            let always = Arc::new(AtomicBool::new(true));
            flag::register_conditional_shutdown(signal, 128 + signal, always).unwrap();
        }
    });
}

fn start(lab: &Lab, args: &[&str], stderr: Stdio) -> Child {
    hear_signals();
    let mut command = Command::new(env!("CARGO_BIN_EXE_schedlab"));
    command.args(args).current_dir(lab.path(".")).env("TERM", "xterm");
    command.stdout(Stdio::null()).stderr(stderr).spawn().unwrap()
}

fn send(signal: &str, child: &Child) {
    let pid = child.id().to_string();
    assert!(Command::new("kill").args([signal, &pid]).status().unwrap().success());
}

/// The files of the lab.
fn names(lab: &Lab) -> Vec<String> {
    let entries = std::fs::read_dir(lab.path(".")).unwrap();
    let mut names: Vec<_> =
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

fn wait_until_it_writes(lab: &Lab, child: &mut Child) {
    while names(lab).len() <= 2 {
        assert_eq!(child.try_wait().unwrap(), None, "it ended before it wrote");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn no_half_written_file_is_left() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129), ("-XCPU", 152)] {
        for format in ["--perf-script", "--perf-data", "--trace-dat", "--perfetto"] {
            let lab = long();
            let args = ["trace", "small.toml", "--variant", "SWQUEUE", format, "t"];
            let mut child = start(&lab, &args, Stdio::null());
            wait_until_it_writes(&lab, &mut child);
            send(signal, &child);
            assert_eq!(child.wait().unwrap().code(), Some(code), "{signal} {format}");
            assert_eq!(names(&lab), ["machines", "small.toml"], "{signal} {format}");
        }
    }
}

/// `nohup` starts a program with SIGHUP ignored, and a shell without job control starts a job in
/// the background with SIGINT ignored.
#[test]
fn a_signal_that_is_ignored_stays_ignored() {
    for (signal, name) in [("-HUP", "HUP"), ("-INT", "INT")] {
        let lab = long();
        let program = env!("CARGO_BIN_EXE_schedlab");
        let line = format!("trap '' {name}; exec '{program}' trace small.toml --variant SWQUEUE");
        let mut shell = Command::new("sh");
        shell.args(["-c", &format!("{line} --perfetto t")]).current_dir(lab.path("."));
        let mut child = shell.spawn().unwrap();
        wait_until_it_writes(&lab, &mut child);
        send(signal, &child);
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(child.try_wait().unwrap(), None, "{signal} ended it");
        send("-TERM", &child);
        assert_eq!(child.wait().unwrap().code(), Some(143));
        assert_eq!(names(&lab), ["machines", "small.toml"]);
    }
}

fn open_terminal() -> OpenptyResult {
    openpty(&Winsize { ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0 }, None).unwrap()
}

/// Reads what a program writes to a terminal until it says `until`, or has ended.
fn read(terminal: &mut File, until: &str) -> String {
    let (mut seen, mut chunk) = (Vec::new(), [0; 4096]);
    // When the other side is closed Linux answers with an error.
    while let Ok(n) = terminal.read(&mut chunk) {
        seen.extend_from_slice(&chunk[..n]);
        let ended = n == 0;
        if ended || (!until.is_empty() && String::from_utf8_lossy(&seen).contains(until)) {
            break;
        }
    }
    String::from_utf8(seen).unwrap()
}

/// The line that the cursor is in: what was written since it was last cleared.
fn line(written: &str) -> &str {
    let after = |mark: &str| written.rfind(mark).map_or(0, |at| at + mark.len());
    &written[after("\x1b[2K").max(after("\n"))..]
}

#[test]
fn no_progress_bar_is_left() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143)] {
        for args in [&["small.toml"][..], &["explain", "small.toml", "--variant", "SWQUEUE"]] {
            let lab = long();
            let pty = open_terminal();
            let mut child = start(&lab, args, Stdio::from(pty.slave));
            let mut terminal = File::from(pty.master);
            let mut written = read(&mut terminal, "to go");
            assert!(line(&written).contains("small ["), "{written:?}");
            send(signal, &child);
            written += &read(&mut terminal, "");
            assert_eq!(line(&written).trim_matches('\r'), "", "{signal} {args:?} {written:?}");
            assert_eq!(child.wait().unwrap().code(), Some(code), "{signal} {args:?}");
        }
    }
}

#[test]
fn a_second_signal_does_not_wait() {
    let lab = long();
    let pty = open_terminal();
    let slave = pty.slave.try_clone().unwrap();
    let mut child = start(&lab, &["small.toml"], Stdio::from(pty.slave));
    read(&mut File::from(pty.master.try_clone().unwrap()), "to go");
    // The terminal takes nothing any more, so the progress bar cannot be wiped away.
    tcflow(&slave, FlowArg::TCOOFF).unwrap();
    let pause = Duration::from_millis(300);
    std::thread::sleep(pause);
    send("-INT", &child);
    std::thread::sleep(pause);
    assert_eq!(child.try_wait().unwrap(), None, "it did not try to clean up");
    send("-TERM", &child);
    std::thread::sleep(2 * pause);
    let ended = child.try_wait().unwrap();
    child.kill().unwrap();
    assert_eq!(ended.and_then(|status| status.code()), Some(143));
}

/// A terminal that is closed sends SIGHUP twice: the kernel to the group in the foreground, and the
/// shell to its jobs.
#[test]
fn a_second_hangup_is_not_impatient() {
    let lab = long();
    let pty = open_terminal();
    let slave = pty.slave.try_clone().unwrap();
    let mut child = start(&lab, &["small.toml"], Stdio::from(pty.slave));
    read(&mut File::from(pty.master.try_clone().unwrap()), "to go");
    tcflow(&slave, FlowArg::TCOOFF).unwrap();
    let pause = Duration::from_millis(300);
    for _ in 0..3 {
        std::thread::sleep(pause);
        assert_eq!(child.try_wait().unwrap(), None, "it did not clean up");
        send("-HUP", &child);
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

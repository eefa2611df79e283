//! A scenario whose workload is a recording.

use crate::lab::{Lab, SCENARIO};
use flate2::Compression;
use flate2::write::GzEncoder;
use snapbox::str;
use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

/// Adds a scenario that replays `run.txt`.
fn replays(lab: &Lab, keys: &str) {
    let (before, rest) = SCENARIO.split_once("[workload]").unwrap();
    let (_, after) = rest.split_once("[run]").unwrap();
    let after = after.split("[[published]]").next().unwrap();
    let workload = format!("[workload]\nkind = \"perf-script\"\nfile = \"run.txt\"\n{keys}\n[run]");
    lab.file("again.toml", format!("{before}{workload}{after}"));
}

/// The value of a metric for a variant without features, with one seed.
fn metric(csv: &str, variant: &str, metric: &str) -> f64 {
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let row = rows.find(|row| row[2] == variant && row.contains(&metric)).unwrap();
    row.last().unwrap().parse().unwrap()
}

#[test]
fn a_traced_run_is_done_again() {
    let lab = Lab::new();
    lab.output(["trace", "small.toml", "--variant", "NO_SWQUEUE", "--perf-script", "run.txt"]);
    replays(&lab, "");
    lab.output(["check", "again.toml"]);
    let was = lab.output(["small.toml", "--seeds", "1", "--format", "csv", "--quiet"]);
    let is = lab.output(["again.toml", "--seeds", "1", "--format", "csv", "--quiet"]);
    for (name, percent) in [("elapsed", 3.0), ("wakeups", 5.0), ("switches", 5.0)] {
        let (was, is) = (metric(&was, "NO_SWQUEUE", name), metric(&is, "NO_SWQUEUE", name));
        assert!((is / was - 1.0).abs() * 100.0 < percent, "{name}: {was}, then {is}");
    }
}

/// A trace.dat is replayed, checked, written as a scenario and made a model of like a perf.data.
#[test]
fn a_trace_dat_is_replayed_as_its_perf_data() {
    let lab = Lab::new();
    let trace = ["trace", "small.toml", "--variant", "NO_SWQUEUE"];
    lab.output(trace.into_iter().chain(["--perf-data", "a.data", "--trace-dat", "a.dat"]));
    let of = |file: &str| {
        let how = ["--recorded-on", "pack:1 [numa] l3:1 core:8 pu:1", "--policy", "cfs"];
        let csv = ["--format", "csv", "--quiet"];
        let csv = lab.output(["replay", file].into_iter().chain(how).chain(csv));
        ["elapsed", "wakeups", "switches"].map(|name| metric(&csv, "cfs", name))
    };
    // A process begins with `execve` in a perf.data, and at its next switch in a trace.dat
    // (docs/TRACE.md). So it is balanced later, and this build of a second is 3 % shorter.
    for (dat, data) in of("a.dat").into_iter().zip(of("a.data")) {
        assert!((dat / data - 1.0).abs() < 0.05, "{dat}, and {data}");
    }
    lab.output(["replay", "a.dat", "--write", "mine.toml"]);
    lab.output(["check", "mine.toml"]);
    lab.output(["fit", "a.dat", "--write", "model.toml"]);
}

/// So is a Perfetto trace. Ours has no charges, so where a thread's work ends before a sleep is a
/// guess.
#[test]
fn a_perfetto_trace_is_replayed_as_its_trace_dat() {
    let lab = Lab::new();
    let trace = ["trace", "small.toml", "--variant", "NO_SWQUEUE"];
    lab.output(trace.into_iter().chain(["--perfetto", "a.pftrace", "--trace-dat", "a.dat"]));
    let of = |file: &str| {
        let how = ["--recorded-on", "pack:1 [numa] l3:1 core:8 pu:1", "--policy", "cfs"];
        let csv = ["--format", "csv", "--quiet"];
        let csv = lab.output(["replay", file].into_iter().chain(how).chain(csv));
        ["elapsed", "wakeups", "switches"].map(|name| metric(&csv, "cfs", name))
    };
    for (perfetto, dat) in of("a.pftrace").into_iter().zip(of("a.dat")) {
        assert!((perfetto / dat - 1.0).abs() < 0.05, "{perfetto}, and {dat}");
    }
    lab.output(["replay", "a.pftrace", "--write", "mine.toml"]);
    lab.output(["check", "mine.toml"]);
    lab.output(["fit", "a.pftrace", "--write", "model.toml"]);
}

/// Writes a compressed copy of a file beside it, and gives its name.
fn gzip(lab: &Lab, name: &str) -> String {
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&std::fs::read(lab.path(name)).unwrap()).unwrap();
    let packed = format!("{name}.gz");
    lab.file(&packed, packer.finish().unwrap());
    packed
}

/// Of a perf.data without `--recorded-on` the machine is unpacked, too.
#[test]
fn a_compressed_recording_is_replayed_as_the_plain_one() {
    let lab = Lab::new();
    let trace = ["trace", "small.toml", "--variant", "NO_SWQUEUE", "--perf-script", "a.txt"];
    let others = ["--perf-data", "a.data", "--trace-dat", "a.dat", "--perfetto", "a.pftrace"];
    lab.output(trace.into_iter().chain(others));
    for plain in ["a.txt", "a.data", "a.dat", "a.pftrace"] {
        let of = |file: &str| {
            let replay = ["replay", file, "--policy", "cfs", "--format", "csv", "--quiet"];
            let csv = lab.output(replay);
            ["elapsed", "wakeups", "switches"].map(|name| metric(&csv, "cfs", name))
        };
        let packed = gzip(&lab, plain);
        assert_eq!(of(plain), of(&packed), "{plain}");
        let model = |file: &str, to: &str| {
            lab.output(["fit", file, "--recorded-on", "pack:1 core:8 pu:1", "--write", to]);
            let text = std::fs::read_to_string(lab.path(to)).unwrap();
            text.split_once("[workload]").unwrap().1.to_string()
        };
        let of_plain = model(plain, &format!("{plain}.toml"));
        let of_packed = model(&packed, &format!("{packed}.toml"));
        assert_eq!(of_plain, of_packed, "{plain}");
    }
}

#[test]
fn a_compressed_recording_that_is_cut_off_is_refused() {
    let lab = Lab::new();
    let trace = ["trace", "small.toml", "--variant", "NO_SWQUEUE", "--perf-script", "run.txt"];
    lab.output(trace.into_iter().chain(["--perf-data", "a.data"]));
    for name in ["run.txt", "a.data"] {
        let packed = gzip(&lab, name);
        let whole = std::fs::read(lab.path(packed)).unwrap();
        lab.file(name, &whole[..20_000]);
    }
    lab.run(["replay", "run.txt"]).code(2).stderr_eq(str![[r#"
error: cannot read it: it is gzip and ends early, at byte 20000: is it a whole copy?
--> run.txt

error: 1 fault in the input; nothing was run

"#]]);
    lab.run(["replay", "a.data"]).code(2).stderr_eq(str![[r#"
error: it is gzip and ends early, at byte 20000: is it a whole copy?
--> a.data

error: 1 fault in the input; nothing was run

"#]]);
    replays(&lab, "");
    lab.run(["check", "again.toml"]).code(2).stderr_eq(str![[r#"
error: cannot read the recording: it is gzip and ends early, at byte 20000: is it a whole copy?
 --> again.toml:7:8
  |
7 | file = "run.txt"
  |        ^^^^^^^^^ looked at run.txt

error: 1 fault in the input

"#]]);
}

/// CPU time that threads of each name were charged for, ns.
fn run_times(text: &str) -> BTreeMap<&str, u64> {
    let mut sums = BTreeMap::new();
    for line in text.lines() {
        if let Some((_, fields)) = line.split_once("sched_stat_runtime: comm=") {
            let (name, rest) = fields.split_once(" pid=").unwrap();
            let ns = rest.split_once("runtime=").unwrap().1.split(' ').next().unwrap();
            *sums.entry(name).or_default() += ns.parse::<u64>().unwrap();
        }
    }
    sums
}

/// Threads that only compute do so for as long as recorded. The two ends of the pipe sleep less
/// often than recorded (docs/TRACE.md), and a sleep costs time.
#[test]
fn anchor_a_real_recording_is_done_again() {
    let lab = Lab::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/replay");
    let scenario = folder.join("pipe.toml");
    // The recording goes on for a while after its command.
    let all = ["--set", "workload.measure=rustc"];
    let again = ["trace", scenario.to_str().unwrap(), "--variant", "eevdf"];
    let again = lab.output([&again[..], &all].concat());
    let recorded = std::fs::read_to_string(folder.join("pipe.perf.txt")).unwrap();
    let (was, is) = (run_times(&recorded), run_times(&again));
    for name in ["rustc", "schedlab", "opt 949jwe6mmxs"] {
        let change = is[name] as f64 / was[name] as f64 - 1.0;
        assert!(change.abs() < 0.03, "{name}: {} ns, then {}", was[name], is[name]);
    }
    assert!(is["sched-pipe"] > was["sched-pipe"] / 2);
}

#[test]
fn faults_of_a_recording_are_shown_at_their_line() {
    let lab = Lab::new();
    let head = "            make 1000 [000]     ";
    let waking = "sched:sched_waking: comm=cc pid=1001 prio=120 target_cpu=001";
    let with = |line: &str| {
        lab.file("run.txt", format!("# a comment\n{head}1.000002000: {waking}\n{line}\n"));
    };
    replays(&lab, "");
    with(&format!("{head}1.000001000: {waking}"));
    lab.run(["check", "again.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: time runs backwards, from 1.000002000 to 1.000001000
 --> run.txt:3:33
  |
3 |             make 1000 [000]     1.000001000: sched:sched_waking: comm=cc pid=1001 prio=120 target_cpu=001
  |                                 ^^^^^^^^^^^
  |
  = help: `perf script` prints events in order of time

error: 1 fault in the input

"#]]);
    with(&format!("{head}1.000003000: sched:sched_wakin: comm=cc pid"));
    lab.run(["check", "again.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: unknown event `sched_wakin`
 --> run.txt:3:46
  |
3 |             make 1000 [000]     1.000003000: sched:sched_wakin: comm=cc pid
  |                                              ^^^^^^^^^^^^^^^^^
  |
  = help: did you mean `sched_waking`?

error: 1 fault in the input

"#]]);
    with(&format!("{head}1.000003000: {}", &waking[..50]));
    lab.run(["again.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: the line is cut off: `target_cpu` is missing
 --> run.txt:3:96
  |
3 |             make 1000 [000]     1.000003000: sched:sched_waking: comm=cc pid=1001 prio=120 targ
  |                                                                                                ^

error: 1 fault in the input; nothing was run

"#]]);
}

#[test]
fn names_and_machines_of_a_recording_are_looked_for() {
    let lab = Lab::new();
    let line = "make 1000 [000] 1.0: sched:sched_waking: comm=cc pid=1001 prio=120 target_cpu=001";
    lab.file("run.txt", line);
    replays(&lab, "");
    lab.run(["check", "again.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: there is no sched_switch in it: nobody is seen to come or go
--> run.txt

error: 1 fault in the input

"#]]);
    let sleeps = "prev_comm=make prev_pid=1000 prev_prio=120 prev_state=S";
    let comes = "next_comm=cc next_pid=1001 next_prio=120";
    let switch = format!("make 1000 [000] 1.1: sched:sched_switch: {sleeps} ==> {comes}");
    lab.file("run.txt", format!("{line}\n{switch}\n"));
    replays(&lab, "timed = \"make, cx\"\n");
    lab.run(["check", "again.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: no thread of the recording is named `cx`
 --> again.toml:8:9
  |
8 | timed = "make, cx"
  |         ^^^^^^^^^^
  |
  = help: did you mean `cc`?

error: 1 fault in the input

"#]]);
    replays(&lab, "recorded_on = \"machines/smal.toml\"\n");
    lab.run(["check", "again.toml"]).code(2).stdout_eq("").stderr_eq(str![[r#"
error: cannot read the machine file: no such file
 --> again.toml:8:15
  |
8 | recorded_on = "machines/smal.toml"
  |               ^^^^^^^^^^^^^^^^^^^^ looked at machines/smal.toml
  |
  = help: did you mean `machines/small.toml`?

error: 1 fault in the input

"#]]);
    replays(&lab, "recorded_on = \"machines/small.toml\"\ntimers = \"relative\"\ntimed = \"cc\"\n");
    lab.output(["check", "again.toml"]);
}

/// The recording that comes with the project.
fn recording() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios/replay");
    folder.join("pipe.perf.txt").to_str().unwrap().to_string()
}

#[test]
fn a_recording_needs_no_scenario() {
    let lab = Lab::new();
    let recording = recording();
    let scenario = recording.replace(".perf.txt", ".toml");
    let guest = recording.replace("replay/pipe.perf.txt", "machines/vm-2cpu.toml");
    let how = ["--format", "csv", "--quiet"];
    let replay = ["replay", &recording, "--recorded-on", &guest, "--policy", "eevdf,cfs,fifo"];
    let without = lab.output(replay.into_iter().chain(how));
    let with = lab.output([scenario.as_str()].into_iter().chain(how));
    for variant in ["eevdf", "cfs", "fifo"] {
        for name in ["elapsed", "switches", "wakeups"] {
            let values = [&without, &with].map(|csv| metric(csv, variant, name));
            assert_eq!(values[0], values[1], "{variant}: {name}");
        }
    }
}

#[test]
fn a_replay_becomes_a_scenario_that_gives_the_same() {
    let lab = Lab::new();
    let recording = recording();
    let replay = ["replay", &recording, "--on", "milan", "--policy", "llc-fifo,cfs"];
    lab.output(replay.into_iter().chain(["--write", "mine.toml"]));
    lab.output(["check", "mine.toml"]);
    let how = ["--format", "csv", "--quiet"];
    let now = lab.output(replay.into_iter().chain(how));
    let later = lab.output(["mine.toml"].into_iter().chain(how));
    for variant in ["llc-fifo", "cfs"] {
        let values = [&now, &later].map(|csv| metric(csv, variant, "elapsed"));
        assert_eq!(values[0], values[1], "{variant}");
    }
    // Nothing is overwritten.
    lab.run(replay.into_iter().chain(["--write", "mine.toml"])).code(2);
}

#[test]
fn what_is_no_recording_is_told_apart() {
    let lab = Lab::new();
    lab.file("perf.data", "PERFILE2 and so on");
    lab.run(["replay", "perf.data"]).code(2).stderr_eq(str![[r#"
error: this perf.data is damaged: it is cut off in its header
--> perf.data

error: 1 fault in the input; nothing was run

"#]]);
    // The beginning of a trace.dat, whatever its name is.
    std::fs::write(lab.path("perf.data"), b"\x17\x08\x44tracing6\0").unwrap();
    lab.run(["replay", "perf.data"]).code(2).stderr_eq(str![[r#"
error: this trace.dat is damaged: it is cut off in its header
--> perf.data

error: 1 fault in the input; nothing was run

"#]]);
    lab.run(["topology", "import", "--perf-data", "perf.data"]).code(2).stderr_eq(str![[r#"
error: a trace.dat does not describe its machine
--> perf.data
 = help: name a machine file; `schedlab topology import` on that machine writes one

error: 1 fault in the input

"#]]);
    // A packet of a Perfetto trace that only says when it was written, and one that is cut off.
    std::fs::write(lab.path("a.pftrace"), [0x0a, 2, 0x40, 17]).unwrap();
    lab.run(["replay", "a.pftrace"]).code(2).stderr_eq(str![[r#"
error: there are no events of the scheduler in this Perfetto trace; record them as docs/TRACE.md shows
--> a.pftrace

error: 1 fault in the input; nothing was run

"#]]);
    std::fs::write(lab.path("a.pftrace"), [0x0a, 3, 0x40, 17]).unwrap();
    lab.run(["replay", "a.pftrace"]).code(2).stderr_eq(str![[r#"
error: this Perfetto trace is damaged at byte 0: it is cut off in a packet
--> a.pftrace

error: 1 fault in the input; nothing was run

"#]]);
    lab.run(["topology", "import", "--perf-data", "a.pftrace"]).code(2).stderr_eq(str![[r#"
error: a Perfetto trace does not describe its machine
--> a.pftrace
 = help: name a machine file; `schedlab topology import` on that machine writes one

error: 1 fault in the input

"#]]);
    lab.run(["replay", "absent.txt"]).code(2);
    lab.file("empty.txt", "");
    lab.run(["replay", "empty.txt"]).code(2);
}

/// A service on four CPUs: requests from outside to two threads, which ask four others; a clock; a
/// pair that never stops.
const SERVICE: &str = r#"
machine = "pack:1 [numa] l3:1 core:4 pu:1"
policy  = "eevdf"
[run]
seeds = 1
until = "2s"
[[variant]]
name = "eevdf"
baseline = true
[workload]
kind = "service"
[[workload.role]]
name = "front"
threads = 2
work_us = 100
arrivals_per_s = 1500
wakes = [{ role = "store", per_turn = 0.5, at = 0.6 }]
[[workload.role]]
name = "store"
threads = 4
work_us = 300
disk_us = 400
[[workload.role]]
name = "clock"
work_us = 50
busy = 1
sleep_us = 4000
[[workload.role]]
name = "pair"
threads = 2
processes = 2
work_us = 200
busy = 1
wakes = [{ role = "pair", own = true }]
"#;

/// The numbers of a key in a role of a scenario, as text.
fn of_role<'a>(scenario: &'a str, role: &str, key: &str) -> Option<&'a str> {
    let of = |text: &&str| text.starts_with(&format!("name = \"{role}\"\n"));
    let role = scenario.split("[[workload.role]]\n").find(of)?;
    let line = role.lines().find_map(|line| line.trim().strip_prefix(key))?;
    Some(line.trim_start_matches([' ', '=']).trim_end_matches(','))
}

/// What a model was simulated from is found again in the recording of it.
#[test]
fn a_model_is_found_again_in_its_own_recording() {
    let lab = Lab::new();
    lab.file("service.toml", SERVICE);
    lab.output(["trace", "service.toml", "--variant", "eevdf", "--perf-data", "service.data"]);
    let names = "front,store,clock,pair";
    lab.output([
        "fit",
        "service.data",
        "--measure",
        names,
        "--recorded-on",
        "pack:1 [numa] l3:1 core:4 pu:1",
        "--write",
        "found.toml",
    ]);
    let found = std::fs::read_to_string(lab.path("found.toml")).unwrap();
    let near = |role: &str, key: &str, expected: f64, within: f64| {
        let text =
            of_role(&found, role, key).unwrap_or_else(|| panic!("{role}: no {key}\n{found}"));
        let numbers: Vec<f64> = text
            .trim_matches(['[', ']'])
            .split(", ")
            .map(|number| number.parse().unwrap_or_else(|_| panic!("{role} {key}: {text}")))
            .collect();
        // Of the classes of lengths the median one, which few others change.
        let number = numbers[numbers.len() / 3];
        let off = (number / expected - 1.0).abs();
        assert!(off < within, "{role} {key}: {number} for {expected}\n{found}");
    };
    for (role, threads) in [("front", 2.0), ("store", 4.0), ("clock", 1.0), ("pair", 2.0)] {
        near(role, "threads", threads, 0.01);
    }
    for (role, work) in [("front", 100.0), ("store", 300.0), ("clock", 50.0), ("pair", 200.0)] {
        near(role, "work_us", work, 0.05);
    }
    // Exponential gaps: those from 40 to 50 % around -ln(0.55) of the mean.
    near("front", "arrival_gap_us", 0.598 / 1.5e-3, 0.1);
    near("store", "disk_us", 400.0, 0.05);
    near("clock", "sleep_us", 4000.0, 0.05);
    near("pair", "busy", 1.0, 0.01);
    // And it does the same.
    let how = ["--seeds", "1", "--format", "csv", "--quiet"];
    let [was, is] =
        ["service.toml", "found.toml"].map(|file| lab.output([file].into_iter().chain(how)));
    let names = ["front", "store", "clock", "pair"];
    for name in names.iter().flat_map(|name| [format!("run_ms.{name}"), format!("switches.{name}")])
    {
        let [was, is] = [&was, &is].map(|csv| metric(csv, "eevdf", &name));
        assert!((is / was - 1.0).abs() < 0.1, "{name}: {is}, and was {was}");
    }
}

#[test]
fn a_model_has_another_load() {
    let lab = Lab::new();
    lab.file("service.toml", SERVICE);
    let how = ["--format", "csv", "--quiet"];
    let output = |load: &str| lab.output(["service.toml", "--set", load].into_iter().chain(how));
    let [once, twice] = ["load=1", "load=2"].map(|load| {
        let csv = output(load);
        ["run_ms.front", "run_ms.pair"].map(|name| metric(&csv, "eevdf", name))
    });
    assert!((twice[0] / once[0] - 2.0).abs() < 0.1, "{once:?} {twice:?}");
    assert!((twice[1] / once[1] - 2.0).abs() < 0.1, "{once:?} {twice:?}");
}

#[test]
fn what_is_wrong_with_a_service_is_told() {
    let lab = Lab::new();
    let faulty = SERVICE
        .replace("role = \"store\"", "role = \"stores\"")
        .replace("work_us = 50", "work_us = [1, 2]")
        .replace("arrivals_per_s = 1500", "arrivals_per_s = 1500\narrival_gap_us = 5")
        .replace("processes = 2", "processes = 3\nsleeps_per_turn = 0.5");
    lab.file("faulty.toml", &faulty);
    lab.run(["check", "faulty.toml"]).code(2).stderr_eq(str![[r#"
error: `arrivals_per_s` beside `arrival_gap_us`
  --> faulty.toml:16:18
   |
16 | arrivals_per_s = 1500
   |                  ^^^^
   |
   = help: leave one of them out: both say when messages come

error: there is no role `stores`
  --> faulty.toml:18:19
   |
18 | wakes = [{ role = "stores", per_turn = 0.5, at = 0.6 }]
   |                   ^^^^^^^^
   |
   = help: did you mean `store`?

error: `work_us` has 2 numbers
  --> faulty.toml:26:11
   |
26 | work_us = [1, 2]
   |           ^^^^^^
   |
   = help: write one number, or the means of thirteen classes (docs/TRACE.md)

error: 3 processes of 2 threads
  --> faulty.toml:32:13
   |
32 | processes = 3
   |             ^

error: `sleeps_per_turn` without `sleep_us`
  --> faulty.toml:33:19
   |
33 | sleeps_per_turn = 0.5
   |                   ^^^
   |
   = help: say how long they take: `sleep_us`

error: 5 faults in the input

"#]]);
}

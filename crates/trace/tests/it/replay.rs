//! A simulated run, exported and replayed on the same machine and under the same policy, is nearly
//! the run that it was.

use crate::support::{Traced, Witness, fair, machine, small_build_of, small_machine, trace};
use sim_core::{Config, Ns, Pid, Program, Simulation, StopReason, World};
use std::collections::BTreeMap;
use std::sync::Arc;
use topology::{Machine, RegularSpec, Variation};
use workloads::hackbench::{self, Hackbench, Medium};
use workloads::micro::{PingPong, Short, Spinners};
use workloads::replay::{Act, Acts, Recording, Replay, Timers};
use workloads::rt_app::{self, RtApp};
use workloads::speed::Speed;

type Stays = BTreeMap<Pid, (u64, Ns)>;

/// A thread whose sleeps all differ has no habits: that is said of the program of short bursts.
fn recording(traced: &Traced, machine: &Machine) -> Recording {
    let asked = trace::replay::Asked { timed: &["short"], ..Default::default() };
    trace::replay::read(traced.text().as_bytes(), machine, asked).unwrap()
}

/// Eight CPUs, each a core.
fn without_smt() -> Machine {
    Machine::regular(RegularSpec { cores_per_llc: 8, threads_per_core: 1, ..Default::default() })
}

/// What the threads of a recording do when they do it again.
fn replay(recording: Recording, machine: Machine, timers: Timers) -> (Stays, Ns) {
    let policy = fair(&machine);
    let world = World::new(Arc::new(machine), Config::default());
    let program = Replay::new(Arc::new(recording), timers);
    let mut sim = Simulation::new(world, policy, program, Witness::default());
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    assert_eq!(sim.program.progress(), 1.0);
    (sim.observer.all_stays(), sim.w.now)
}

/// Stays of tasks, stoppers left out: those are the simulator's own.
fn of_tasks(stays: &Stays) -> impl Iterator<Item = (Pid, u64, Ns)> + '_ {
    stays.iter().filter(|(pid, _)| pid.0 >= 1000).map(|(pid, (n, ns))| (*pid, *n, *ns))
}

/// How many percent more than `a` is `b`?
fn percent(a: u64, b: u64) -> f64 {
    100.0 * (b as f64 / a as f64 - 1.0)
}

/// The bounds, in percent: of the elapsed time, all run time, the run time of each thread that ran
/// for 1 ms at least, and of all switches.
struct Bounds {
    elapsed: f64,
    run_time: f64,
    thread: f64,
    switches: f64,
}

/// By how many percent a replay took longer, ran longer in all, and had more switches.
struct More {
    elapsed: f64,
    run_time: f64,
    switches: f64,
}

impl More {
    fn mean(all: &[Self]) -> Self {
        let mean = |of: fn(&Self) -> f64| all.iter().map(of).sum::<f64>() / all.len() as f64;
        Self {
            elapsed: mean(|m| m.elapsed),
            run_time: mean(|m| m.run_time),
            switches: mean(|m| m.switches),
        }
    }

    fn check(&self, most: &Bounds) {
        let Self { elapsed, run_time, switches } = self;
        assert!(elapsed.abs() < most.elapsed, "{elapsed:+.2} % longer");
        assert!(run_time.abs() < most.run_time, "{run_time:+.2} % more run time");
        assert!(switches.abs() < most.switches, "{switches:+.2} % more switches");
    }
}

/// Runs, records and replays.
fn again<W: Program>(
    machine: &Machine,
    (program, until): (W, Ns),
    t: Timers,
    most: &Bounds,
) -> More {
    let traced = trace(machine.clone(), program, until);
    let recording = recording(&traced, machine);
    let bytes: usize = recording.threads.iter().map(|t| t.acts.bytes()).sum();
    assert!(bytes * 20 < traced.text().len(), "{bytes} bytes");
    let length_ns = recording.length_ns;
    let (again, elapsed) = replay(recording, machine.clone(), t);
    let was = traced.witness.all_stays();
    let sum = |stays: &Stays| of_tasks(stays).fold((0, 0), |s, (_, n, ns)| (s.0 + n, s.1 + ns));
    let ((n, ns), (n_again, ns_again)) = (sum(&was), sum(&again));
    assert_eq!(of_tasks(&was).count(), of_tasks(&again).count());
    for (pid, _, ns) in of_tasks(&was).filter(|(_, _, ns)| *ns > 1_000_000) {
        let again = again[&pid].1;
        assert!(percent(ns, again).abs() < most.thread, "{pid}: {ns} ns, then {again}");
    }
    More {
        elapsed: percent(length_ns, elapsed),
        run_time: percent(ns, ns_again),
        switches: percent(n, n_again),
    }
}

fn round_trip(machine: Machine, program: impl Program, until: Ns, timers: Timers, most: &Bounds) {
    again(&machine, (program, until), timers, most).check(most);
}

/// How long a small build takes is up to its last compiler, and a make that has not looked yet for
/// one token when the next one comes sleeps once less. So the bounds hold for the mean over
/// builds, and wider ones for each.
fn builds_again(machine: &Machine, most: &Bounds) {
    let builds = [1, 2, 3, 4, 5].map(|seed| (small_build_of(seed), u64::MAX));
    let more = builds.map(|build| again(machine, build, Timers::Absolute, most));
    let one = Bounds { elapsed: 5.0, run_time: 5.0, switches: 10.0, ..*most };
    more.iter().for_each(|m| m.check(&one));
    More::mean(&more).check(most);
}

#[test]
fn a_build_again() {
    // An assembler's bursts are about 10 us long, and whether a CPU looks for other work at their
    // end (which counts as run time) is a matter of chance: a short-lived one may differ by a
    // fifth.
    let most = Bounds { elapsed: 1.0, run_time: 2.0, thread: 25.0, switches: 5.0 };
    builds_again(&without_smt(), &most);
    // With SMT a thread's run time depends on what runs beside it (up to 67 % more).
    let most = Bounds { elapsed: 1.0, run_time: 2.0, thread: 70.0, switches: 10.0 };
    builds_again(&machine(), &most);
}

#[test]
fn pairs_that_play_ping_pong_again() {
    let again = |work_ns, most| {
        let program = PingPong::new(3, work_ns, 500);
        round_trip(without_smt(), program, u64::MAX, Timers::Absolute, &most);
    };
    again(40_000, Bounds { elapsed: 2.0, run_time: 2.0, thread: 2.0, switches: 2.0 });
    // More than a third of these turns is the scheduler's own work, and whether a CPU looks for
    // other work before it idles (which counts as run time) is a matter of some ns.
    again(2_000, Bounds { elapsed: 15.0, run_time: 15.0, thread: 25.0, switches: 2.0 });
}

/// A guest may lose what its idle CPUs would record. Charges tell enough for nearly the same.
#[test]
fn what_idle_cpus_did_not_record_is_found_again() {
    let (machine, program) = (without_smt(), PingPong::new(3, 20_000, 300));
    let traced = trace(machine.clone(), program, u64::MAX);
    let text = traced.text();
    let by_idle = |line: &&str| line.trim_start().starts_with("swapper");
    let seen: Vec<&str> = text.lines().filter(|line| !by_idle(line)).collect();
    assert!(text.lines().count() > seen.len() + 600, "idle CPUs did record");
    let work = |text: &str| {
        let recording = trace::replay::read(text.as_bytes(), &machine, Default::default()).unwrap();
        let run = |act| if let Act::Run(ns) = act { ns } else { 0 };
        let of = |thread: &workloads::replay::Thread| thread.acts.iter().map(run).sum::<Ns>();
        recording.threads.iter().map(|thread| (thread.tid, of(thread))).collect::<BTreeMap<_, _>>()
    };
    let (all, found) = (work(&text), work(&(seen.join("\n") + "\n")));
    for (tid, ns) in all.into_iter().filter(|(_, ns)| *ns > 1_000_000) {
        let more = percent(ns, found[&tid]);
        assert!(more.abs() < 2.0, "{tid}: {more:+.1} % more work");
    }
}

#[test]
fn short_bursts_and_timers_again() {
    let of_seed = |seed| Short::new(9, 700_000, 500_000, 100, seed);
    let program = || of_seed(1);
    let most = Bounds { elapsed: 3.0, run_time: 1.0, thread: 3.0, switches: 5.0 };
    round_trip(without_smt(), program(), u64::MAX, Timers::Absolute, &most);
    round_trip(without_smt(), program(), u64::MAX, Timers::Relative, &most);
    // SMT, and more work than the CPUs can do at once.
    let most = Bounds { thread: 10.0, ..most };
    round_trip(small_machine(), program(), u64::MAX, Timers::Relative, &most);
    // A thread that is late for its timer does not sleep: 14 to 30 % fewer switches.
    let more = |seed| again(&small_machine(), (of_seed(seed), u64::MAX), Timers::Absolute, &most);
    let more: Vec<More> = (1..=6).map(more).collect();
    More::mean(&more).check(&Bounds { switches: 25.0, ..most });
}

/// Here the reader is not told which of the threads have timers. Every CPU is busy all the time, so
/// the thread that runs when a timer fires looks like the waker.
#[test]
fn timers_are_told_from_threads_by_their_habits() {
    let tasks = r#"{"tasks": {
        "hog": {"loop": -1, "run": 10000, "priority": 5},
        "nap": {"instance": 3, "loop": -1, "run": 300, "sleep": 700},
        "long": {"instance": 2, "loop": -1, "run": 3000, "sleep": 1000},
        "beat": {"loop": -1, "phases": {
            "a": {"run": 200, "timer": {"ref": "unique", "period": 4000}},
            "b": {"run": 900, "timer": {"ref": "unique", "period": 4000}}}}
    }, "global": {"duration": 2, "calibration": 1000}}"#;
    let machine = Machine::regular(RegularSpec {
        cores_per_llc: 2,
        threads_per_core: 1,
        ..RegularSpec::default()
    });
    let spec = Arc::new(trace::rt_app::read(tasks, 2).expect("it is valid"));
    // Else naps fall into step with each other.
    let varies = Variation { slowdown: 0.1, held: 0.0, hold_ns: 0 };
    let program = |seed| {
        let (spec, speed) = (Arc::clone(&spec), Speed::new(varies, seed));
        RtApp::new(rt_app::Config { spec, speed, loop_ns: None, round_ns: Some(900), seed })
    };
    // Which threads share a CPU is decided once and for all, and differently each time. Over these
    // forty runs the replays take 7.2 % longer (6.5 % if each timer wakes its own thread alone).
    let most = Bounds { elapsed: 8.0, run_time: 1.0, thread: 10.0, switches: 8.0 };
    let more = |seed| again(&machine, (program(seed), u64::MAX), Timers::AsSeen, &most);
    let all: Vec<More> = (1..=40).map(more).collect();
    More::mean(&all).check(&most);
}

/// The same, but with no sleep kept whose waker comes first.
fn without_kept_sleeps(mut recording: Recording) -> Recording {
    for thread in &mut recording.threads {
        let mut acts = Acts::default();
        for act in thread.acts.iter() {
            acts.push(if act == Act::Wait { Act::Answer } else { act });
        }
        thread.acts = acts;
    }
    recording
}

/// Records hackbench on two CPUs, three times. By how many percent replays had more switches in the
/// mean, as they are and with no sleep kept.
fn hackbench_again(medium: Medium) -> (f64, f64) {
    let spec = RegularSpec { cores_per_llc: 2, threads_per_core: 1, ..RegularSpec::default() };
    let machine = Machine::regular(spec);
    let sizes = hackbench::Config {
        groups: 2,
        fds: 10,
        loops: 50,
        datasize: 100,
        medium,
        threads: false,
        message_ns: None,
        spread: 0.3,
        seed: 0,
    };
    let sum = |stays: &Stays| of_tasks(stays).fold((0, 0), |s, (_, n, ns)| (s.0 + n, s.1 + ns));
    let more = |seed| {
        let program = Hackbench::new(hackbench::Config { seed, ..sizes });
        let traced = trace(machine.clone(), program, u64::MAX);
        let (n, ns) = sum(&traced.witness.all_stays());
        let recording = recording(&traced, &machine);
        [recording.clone(), without_kept_sleeps(recording)].map(|recording| {
            let (n_again, ns_again) = sum(&replay(recording, machine.clone(), Timers::AsSeen).0);
            let longer = percent(ns, ns_again);
            assert!(longer.abs() < 3.0, "{medium:?}, seed {seed}: {longer:+.2} % more run time");
            percent(n, n_again)
        })
    };
    let all = [1, 2, 3].map(more);
    let mean = |of: usize| all.iter().map(|more| more[of]).sum::<f64>() / all.len() as f64;
    (mean(0), mean(1))
}

/// Messages to a receiver that is awake are in no recording, and in a replay others come first than
/// did. The same with no sleep kept shows what keeping them is worth: it is three times as far away
/// as is allowed.
#[test]
fn messages_of_many_senders_again() {
    let (kept, without) = hackbench_again(Medium::Socket);
    assert!(kept.abs() < 5.0, "{kept:+.1} % more switches");
    assert!(without < -15.0, "{without:+.1} % more switches with no sleep kept");
    // Pipes are small, so writers sleep, too.
    let (kept, without) = hackbench_again(Medium::Pipe);
    assert!(kept.abs() < 5.0, "{kept:+.1} % more switches");
    assert!(kept > without, "{kept:+.1} and {without:+.1} % more switches");
}

#[test]
fn a_part_of_a_run_that_has_no_end() {
    let most = Bounds { elapsed: 1.0, run_time: 1.0, thread: 2.0, switches: 15.0 };
    let program = Spinners::new(vec![0, 0, 5, 0, -3], 0);
    round_trip(small_machine(), program, 200_000_000, Timers::Absolute, &most);
}

#[test]
fn a_replay_meets_another_machine() {
    let (small, large) = (small_machine(), machine());
    let program = Short::new(9, 700_000, 500_000, 100, 1);
    let traced = trace(small.clone(), program, u64::MAX);
    let recording = recording(&traced, &small);
    let (_, on_small) = replay(recording.clone(), small, Timers::Relative);
    let (_, on_large) = replay(recording, large, Timers::Relative);
    assert!(on_large < on_small, "{on_small} ns with 4 CPUs, {on_large} with 16");
}

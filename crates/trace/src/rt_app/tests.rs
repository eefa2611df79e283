//! Files that are read, and what is said of those that are not.

use super::read;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use sim_core::SchedPolicy;
use workloads::rt_app::{Event, Spec};

fn good(text: &str) -> Spec {
    read(text, 2).unwrap_or_else(|faults| panic!("{faults:?}"))
}

/// What is wrong, one fault per line, with line and column.
fn faults(text: &str, expect: Expect) {
    let shown: String = read(text, 2)
        .err()
        .unwrap_or_default()
        .into_iter()
        .map(|f| {
            let at = f.span.map_or(0, |s| s.start);
            let line = 1 + text[..at].matches('\n').count();
            let column = 1 + at - text[..at].rfind('\n').map_or(0, |n| n + 1);
            let notes = [Some(f.label).filter(|label| !label.is_empty()), f.help];
            let notes: String = notes.iter().flatten().map(|note| format!(" ({note})")).collect();
            format!("{line}:{column} {}{notes}\n", f.message)
        })
        .collect();
    expect.assert_eq(&shown);
}

#[test]
fn events_keep_their_order_however_they_are_numbered() {
    let spec = good(
        r#"{ "tasks": { "t": {
            "run": 10, "sleep": 20, "run": 30, "run1": 40, "sleep_b": 50, "runtime0": 60, }}}"#,
    );
    let us = |n: u64| n * 1000;
    let expected = [
        Event::Run(us(10)),
        Event::Sleep(us(20)),
        Event::Run(us(30)),
        Event::Run(us(40)),
        Event::Sleep(us(50)),
        Event::Runtime(us(60)),
    ];
    assert_eq!(spec.tasks[0].phases[0].events, expected);
}

#[test]
fn loops_are_endless_for_threads_and_one_for_phases_unless_the_file_says() {
    let spec = good(
        r#"{ "tasks": {
            "short": { "run": 1 },
            "three": { "loop": 3, "run": 1 },
            "long": { "phases": { "a": { "run": 1 }, "b": { "loop": 5, "run": 1 },
                                  "b": { "loop": -1, "run": 1 } } } } }"#,
    );
    let loops: Vec<_> = spec
        .tasks
        .iter()
        .map(|t| (t.loops, t.phases.iter().map(|p| p.loops).collect::<Vec<_>>()))
        .collect();
    assert_eq!(
        loops,
        [(None, vec![Some(1)]), (Some(3), vec![Some(1)]), (None, vec![Some(1), Some(5), None]),]
    );
    assert!(!spec.ends());
}

#[test]
fn forks_in_circles_never_end() {
    let ends = |tasks: &str| good(&format!("{{ \"tasks\": {{ {tasks} }} }}")).ends();
    let once = r#""loop": 1, "run": 1"#;
    assert!(!ends(&format!(r#""t": {{ {once}, "fork": "t" }}"#)));
    let circle = format!(
        r#""b": {{ {once}, "instance": 0, "fork": "c" }}, "c": {{ {once}, "fork": "b", "instance": 0 }}"#
    );
    assert!(!ends(&format!(r#""a": {{ {once}, "fork": "b" }}, {circle}"#)));
    assert!(ends(&format!(r#""a": {{ {once} }}, {circle}"#)), "nobody starts it");
    let twice = r#""fork": "b", "fork2": "b""#;
    assert!(ends(&format!(r#""a": {{ {once}, {twice} }}, "b": {{ {once}, "instance": 0 }}"#)));
}

#[test]
fn names_are_shared_and_unique_timers_are_not() {
    let spec = good(
        r#"{ "tasks": {
            "a": { "instance": 2, "lock": "m", "wait": { "ref": "q", "mutex": "m" },
                   "unlock": "m", "timer": { "ref": "uniqueA", "period": 5 }, "barrier": "b" },
            "b": { "signal": "q", "suspend": "", "resume": "a", "barrier": "b",
                   "timer": { "ref": "tick", "period": 7, "mode": "absolute" },
                   "yield": "", "fork": "a", "sync": { "ref": "q", "mutex": "m" } } },
          "global": { "duration": 3, "calibration": 8 } }"#,
    );
    assert_eq!(spec.mutexes, ["m", "b", "a"]);
    assert_eq!(spec.conds, ["q", "b", "a"]);
    assert_eq!(spec.barriers[0].users, 3, "two threads of a and one of b");
    assert!(spec.timers[0].unique && !spec.timers[1].unique);
    let expected = [
        Event::Signal(0),
        Event::Suspend(1, 1),
        Event::Resume(2, 2),
        Event::Barrier(0),
        Event::Timer { timer: 1, period_ns: 7000, absolute: true },
        Event::Yield,
        Event::Fork(0),
        Event::Sync(0, 0),
    ];
    assert_eq!(spec.tasks[1].phases[0].events, expected);
    assert_eq!((spec.duration_ns, spec.calibration_ns), (Some(3_000_000_000), Some(8)));
    assert!(spec.ends());
}

#[test]
fn properties_of_threads_and_phases() {
    let spec = good(
        r#"// comments as json-c takes them
        { 'tasks': { "t": { "instance": 3, "delay": 20, "priority": -5, "cpus": [1, 0],
              "policy": "SCHED_BATCH", "dl-runtime": 100,
              "phases": { "p": { "cpus": [1], "priority": 4, "run": 1 }, "q": { "run": 2 } } },
            "u": { "run": 1 } },
          "resources": { "m": { "type": "mutex" } },
          "global": { "default_policy": "SCHED_IDLE", "calibration": "CPU0", "duration": -1,
                      "lock_pages": false, "logdir": "./", "log_basename": "x", "ftrace": true,
                      "gnuplot": false, "pi_enabled": false } } /* the end */"#,
    );
    let t = &spec.tasks[0];
    assert_eq!((t.instances, t.delay_ns), (3, 20_000));
    assert_eq!((t.attrs.nice, t.attrs.slice_ns), (Some(-5), Some(100_000)));
    assert_eq!(t.attrs.policy, Some(SchedPolicy::Batch));
    assert_eq!(t.attrs.cpus.as_ref().map(|c| c.len()), Some(2));
    assert_eq!(t.phases[0].attrs.nice, Some(4));
    assert_eq!(t.phases[0].attrs.cpus.as_ref().map(|c| c.len()), Some(1));
    assert!(t.phases[1].attrs.cpus.is_none() && t.phases[1].attrs.policy.is_none());
    assert_eq!(spec.tasks[1].attrs.policy, Some(SchedPolicy::Idle));
    assert_eq!(spec.calibration_ns, None);
}

#[test]
fn task_groups_are_numbered_from_the_outside_in() {
    let spec = good(
        r#"{ "tasks": {
            "deep": { "run": 1, "taskgroup": "/a/b/c" }, "none": { "run": 1 },
            "root": { "run": 1, "taskgroup": "/" }, "wide": { "run": 1, "taskgroup": "/a/d" },
            "again": { "run": 1, "taskgroup": "/a/b" } } }"#,
    );
    assert_eq!(spec.taskgroups, ["/a", "/a/b", "/a/b/c", "/a/d"]);
    let groups: Vec<_> = spec.tasks.iter().map(|t| t.taskgroup).collect();
    assert_eq!(groups, [Some(2), None, None, Some(3), Some(1)]);
}

#[test]
fn a_task_group_is_a_path_and_belongs_to_a_thread() {
    let text = r#"{ "tasks": {
        "a": { "run": 1, "taskgroup": "a" },
        "b": { "run": 1, "taskgroup": "/a//b" },
        "c": { "run": 1, "taskgroup": "/a/../b" },
        "d": { "phases": { "p": { "run": 1, "taskgroup": "/a" } } } } }"#;
    faults(
        text,
        expect![[r#"
            2:39 `taskgroup` is "a", which is no path (write it from the root on: "/a/b")
            3:39 `taskgroup` is "/a//b", which is no path (write it from the root on: "/a/b")
            4:39 `taskgroup` is "/a/../b", which is no path (write it from the root on: "/a/b")
            5:45 a thread stays in one `taskgroup` here (name it beside `phases`)
        "#]],
    );
    let many: String =
        (0..1001).map(|n| format!("\"t{n}\": {{ \"taskgroup\": \"/{n}\" }},")).collect();
    faults(
        &format!("{{ \"tasks\": {{ {many} }} }}"),
        expect![[r#"
            1:1 more than 1000 task groups are not simulated
        "#]],
    );
    // A path of a hundred thousand names is told as soon.
    let deep = "/a".repeat(100_000);
    faults(
        &format!("{{ \"tasks\": {{ \"t\": {{ \"taskgroup\": \"{deep}\" }} }} }}"),
        expect![[r#"
            1:1 more than 1000 task groups are not simulated
        "#]],
    );
}

#[test]
fn all_faults_are_told_with_their_places() {
    faults(
        r#"{ "tasks": {
  "t": { "instance": 1.5, "priority": 30, "runs": 5, "run": "10", "sleep": -1,
         "cpus": [0, 2], "policy": "SCHED_FIFO", "loop": 0,
         "timer": { "ref": "unique", "perod": 5, "mode": "odd" },
         "wait": { "ref": "q" }, "wait1": "q",
         "mem": 100, "util_min": 5, "runtime": 1e3, "fork": "tt" },
  "u": 5,
  "t": { "phases": { "a": [], "b": { "instance": 2 } }, "run": 1 } },
  "golbal": {},
  "global": { "duration": 100000000000000000000, "pi_enabled": true, "calibration": "fast",
              "calibration": 0 } }"#,
        expect![[r#"
            2:22 `instance` must be a whole number, not 1.5
            2:39 `priority` must be at most 19 (allowed: -20 to 19)
            2:43 the task `t` has neither an event nor a property `runs` (did you mean `run`?)
            2:61 `run` must be a whole number (this is a string)
            2:76 `sleep` must not be negative (allowed: 0 to 86400000000)
            3:22 `cpus` must be at most 1 (allowed: 0 to 1) (the machine of the scenario has these CPUs)
            3:36 `policy`: SCHED_FIFO is not simulated (the fair class is: SCHED_OTHER, SCHED_BATCH, SCHED_IDLE)
            3:58 `loop` is 0 (write -1 to loop for ever, or leave the events out)
            4:19 `timer` has no `period`
            4:38 unknown key `perod` in timer (did you mean `period`?)
            4:58 `mode` is "odd" (write "relative" or "absolute")
            5:18 wait has no `mutex`
            5:43 `wait1` must be an object (this is a string)
            6:10 the event `mem` is not simulated
            6:22 `util_min` is not simulated
            6:48 `runtime` must be a whole number, not 1e3
            6:61 there is no task `tt` (did you mean `t`?)
            7:8 the task `u` is not an object
            8:3 the task `t` is given twice
            8:8 the task `t` has events and `phases` (rt-app drops the events: put them into a phase)
            8:27 the phase `a` is not an object
            8:38 the phase `b` has neither an event nor a property `instance` (known: runtime, run, sleep, timer, lock, unlock, wait, signal, broad, sync, barrier, suspend, resume, yield, fork, loop, cpus, policy, priority, dl-runtime)
            9:3 unknown key `golbal` in the file (did you mean `global`?)
            10:27 `duration` must be at most 86400 (allowed: -1 to 86400)
            10:64 `pi_enabled`: mutexes with priority inheritance are not simulated (set it to false)
            11:15 `calibration` is given twice
            11:30 `calibration` must be at least 1 (allowed: 1 to 1000000)
        "#]],
    );
}

#[test]
fn so_many_kinds_of_threads_are_a_slip() {
    let kinds: Vec<String> = (0..10_001).map(|i| format!("\"t{i}\": {{}}")).collect();
    faults(
        &format!("{{ \"tasks\": {{\n{}\n}} }}", kinds.join(",\n")),
        expect![[r#"
        10002:1 10001 kinds of threads; at most 10000 are simulated
    "#]],
    );
}

#[test]
fn what_is_not_json_is_told_at_its_place() {
    faults(
        "",
        expect![[r#"
        1:1 the file is empty
    "#]],
    );
    faults(
        "[]",
        expect![[r#"
        1:1 an rt-app file is an object
    "#]],
    );
    faults(
        "{}",
        expect![[r#"
        1:1 the file has no `tasks` (`tasks` holds one object per kind of thread)
    "#]],
    );
    faults(
        "{ \"tasks\": { \"t\": { \"run\": 5 \"sleep\": 3 } } }",
        expect![[r#"
        1:29 not JSON as rt-app reads it: Expected comma
    "#]],
    );
    faults(
        "{ \"tasks\": { \"t\": { \"run\": 5",
        expect![[r#"
        1:19 not JSON as rt-app reads it: Unterminated object
    "#]],
    );
    faults(
        "{ \"tasks\": { /* \"t\": {} }",
        expect![[r#"
        1:14 not JSON as rt-app reads it: Unterminated comment block
    "#]],
    );
    faults(
        &"[".repeat(100_000),
        expect![[r#"
        1:513 not JSON as rt-app reads it: Maximum nesting depth exceeded
    "#]],
    );
}

const SEED: &str = r#"{ "tasks": { "t": { "instance": 2, "loop": -1, "run": 10, "sleep": 5,
  "timer": { "ref": "unique", "period": 7 }, "lock": "m", "unlock": "m", "cpus": [0],
  "wait": { "ref": "q", "mutex": "m" }, "phases": { "p": { "loop": 2, "fork": "t" } } } },
  "global": { "duration": 5, "calibration": 8 } }"#;

proptest! {
    #[test]
    fn no_text_makes_the_reader_panic(text in "\\PC{0,200}") {
        let _ = read(&text, 2);
    }

    #[test]
    fn no_change_of_a_file_makes_the_reader_panic(
        at in 0..SEED.len(), cut in 0..20_usize, put in "[-0-9\\[\\]{}\",:/*a-z]{0,8}",
    ) {
        let end = (at + cut).min(SEED.len());
        let text = format!("{}{put}{}", &SEED[..at], &SEED[end..]);
        for fault in read(&text, 2).err().unwrap_or_default() {
            let span = fault.span.unwrap_or(0..0);
            prop_assert!(span.start <= span.end && span.end <= text.len());
        }
    }
}

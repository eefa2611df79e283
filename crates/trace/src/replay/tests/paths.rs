//! The rest of a wake-up's path, stays whose beginning was not recorded, and names in time.

use super::{acts, check, machine, script};
use crate::replay::event::{Event, Left, Named, What};
use crate::replay::reconstruct::Reconstruction;
use crate::replay::{Asked, MEMORY_MAX, read};
use expect_test::expect;
use sim_core::Ns;
use topology::CpuId;
use workloads::replay::{Act, Command, Recording};

/// Who is preempted 30 us after a wake-up at most was in the kernel all the time. Later there was a
/// tick, or another preemption.
#[test]
fn a_late_preemption_is_not_of_the_wake_ups_path() {
    check(
        "0 0 switch swapper/0 R a/10
         0 100 waking b/11 0
         0 130 switch a/10 R b/11
         0 200 switch b/11 S a/10
         0 300 waking b/11 0
         0 331 switch a/10 R b/11
         0 400 switch b/11 S a/10
         0 450 switch a/10 S swapper/0",
        expect![[r#"
            a/10 nice 0 on 0: Run(100000) Wake { thread: 1, sync: false, to_idle: false } InPath(30000) Run(100000) Wake { thread: 1, sync: false, to_idle: false } Run(81000)
            b/11 nice 0 on 0: Wait Run(70000) Wait Run(69000)
        "#]],
    );
}

/// Who waits for a device or exits 30 us after a wake-up at most, and leaves its CPU to the wakee,
/// which has not preempted it, was in the kernel all the time. Of who sleeps interruptibly that is
/// not known.
#[test]
fn a_disks_wait_soon_after_a_wake_up_is_in_its_system_call() {
    check(
        "0 0 switch swapper/0 R a/10
         0 100 waking b/11 0
         0 130 switch a/10 D b/11
         0 200 switch b/11 S swapper/0
         0 300 switch swapper/0 R a/10
         0 400 waking b/11 0
         0 431 switch a/10 D b/11
         0 500 switch b/11 S swapper/0
         0 600 switch swapper/0 R a/10
         0 700 waking b/11 0
         0 720 switch a/10 S b/11
         0 800 switch b/11 S swapper/0
         0 900 switch swapper/0 R a/10
         0 950 waking b/11 0
         0 960 switch a/10 X b/11
         0 990 switch b/11 S swapper/0",
        expect![[r#"
            a/10 nice 0 on 0: Run(100000) Wake { thread: 1, sync: true, to_idle: false } InCall(30000) Sleeps(Uninterruptible) Unseen For(170000) Run(100000) Wake { thread: 1, sync: true, to_idle: false } Run(31000) Unseen For(169000) Run(100000) Wake { thread: 1, sync: true, to_idle: false } Run(20000) Sleeps(Interruptible) Unseen Timer { at: 900000, length: 180000, timed: Until } Run(50000) Wake { thread: 1, sync: true, to_idle: false } InCall(10000)
            b/11 nice 0 on 0: Wait Run(70000) Wait Run(69000) Wait Run(80000) Wait Run(30000)
        "#]],
    );
}

/// b slept on another CPU, or was put there, and came to this one later: a's sleep is one of its
/// own. So it is if another thread has preempted a since. A kernel thread is never in user mode.
#[test]
fn only_a_wakee_of_this_cpu_that_comes_next_shows_a_system_call() {
    let rest = |wake: &str, sleeps: &str| {
        let lines = format!(
            "0 0 switch swapper/0 R a/10
             {wake}
             0 130 switch a/10 {sleeps} b/11
             0 200 switch b/11 S swapper/0
             0 300 switch swapper/0 R a/10"
        );
        let recording = read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap();
        let a = recording.threads.iter().find(|thread| thread.tid == 10).unwrap();
        a.acts.iter().skip_while(|act| !matches!(act, Act::Wake { .. })).nth(1).unwrap()
    };
    assert_eq!(rest("0 100 waking b/11 0", "D"), Act::InCall(30_000));
    assert_eq!(rest("0 100 waking b/11 0", "I"), Act::InCall(30_000));
    assert_eq!(rest("0 130 waking b/11 0", "D"), Act::InCall(0));
    assert_eq!(rest("0 100 waking b/11 1", "D"), Act::Run(30_000));
    let put_here = "0 100 waking b/11 1\n0 105 wakeup b/11 0";
    assert_eq!(rest(put_here, "D"), Act::InCall(25_000));
    let preempted = "0 100 waking b/11 0\n0 110 switch a/10 R c/12\n0 120 switch c/12 S a/10";
    assert_eq!(rest(preempted, "D"), Act::Run(20_000));
}

/// b was woken to run on CPU 1, where a charge is the first that is seen of it. It is preempted
/// there and comes to CPU 0: a is not preempted by its own wake-up.
#[test]
fn a_wake_up_is_over_when_the_wakee_has_run() {
    check(
        "0 0 switch swapper/0 R a/10
         1 5 switch swapper/0 R c/12
         1 10 switch c/12 S swapper/0
         0 100 waking b/11 1
         1 110 runtime b/11 5
         1 112 switch b/11 R c/12
         0 120 switch a/10 R b/11
         0 200 switch b/11 S a/10
         0 250 switch a/10 S swapper/0",
        expect![[r#"
            a/10 nice 0 on 0: Run(100000) Wake { thread: 2, sync: false, to_idle: true } Run(20000) Yield Run(50000)
            c/12 nice 0 on 1: Unseen Timer { at: 5000, length: 5000, timed: Until } Run(5000) Unseen Timer { at: 112000, length: 102000, timed: Until } Run(138000)
            b/11 nice 0 on 1: Wait Run(7000) Yield Run(80000)
        "#]],
    );
}

/// The waits of all commands, by name, in us.
fn waits(recording: &Recording) -> Vec<(&str, Option<f64>)> {
    let wait_us = |(name, command): &(u16, Command)| {
        (usize::from(*name), command.wait_us(50.0).map(f64::round))
    };
    let waits = recording.commands.iter().map(wait_us);
    waits.map(|(name, us)| (recording.names[name].as_str(), us)).collect()
}

/// A guest does not record all its switches from idle: the first charge tells since when a thread
/// runs, even if it has woken another one before.
#[test]
fn a_wait_ends_where_the_first_charge_begins() {
    let begin = "0 0 switch swapper/0 R a/10
                 0 50 switch a/10 S swapper/0
                 1 60 switch swapper/0 R b/11
                 1 100 waking a/10 0\n";
    let end = "0 130 runtime a/10 20
               0 150 switch a/10 S swapper/0";
    let wakes = "               a    10 [000]     0.000125: sched:sched_waking: comm=c pid=12 \
                 prio=120 target_cpu=002\n";
    for between in ["", wakes] {
        let text = script(begin) + between + &script(end);
        let recording = read(text.as_bytes(), &machine(), Asked::default()).unwrap();
        let told = waits(&recording);
        assert_eq!(told[..2], [("a", Some(10.0)), ("b", None)], "{between}");
    }
}

/// So no wait and no sleep is work, and what came before the first wake-up came before it.
#[test]
fn work_begins_where_the_first_charge_begins() {
    let acts_of_a = |ends: &str, wakes: &str| {
        let lines = format!(
            "0 0 switch swapper/0 R a/10
             0 50 switch a/10 S swapper/0
             1 60 switch swapper/0 R b/11
             {ends}"
        );
        let rest = "0 130 runtime a/10 20
                    0 150 switch a/10 S swapper/0";
        let text = script(&lines) + wakes + &script(rest);
        let recording = read(text.as_bytes(), &machine(), Asked::default()).unwrap();
        acts(&recording).lines().next().unwrap().to_string()
    };
    let wakes = "               a    10 [000]     0.000125: sched:sched_waking: comm=c pid=12 \
                 prio=120 target_cpu=002\n";
    let woken = acts_of_a("1 100 waking a/10 0\n", wakes);
    let wake = "Wake { thread: 2, sync: false, to_idle: false }";
    assert_eq!(woken, format!("a/10 nice 0 on 0: Run(50000) Wait Run(15000) {wake} Run(5000)"));
    let slept = acts_of_a("", wakes);
    let timer = "Unseen Timer { at: 110000, length: 60000, timed: Until }";
    assert_eq!(slept, format!("a/10 nice 0 on 0: Run(50000) {timer} Run(15000) {wake} Run(5000)"));
    // Without a charge nothing tells it: the CPU's last event is taken.
    let rest = "0 150 switch a/10 S swapper/0";
    let lines = "0 0 switch swapper/0 R a/10\n0 50 switch a/10 S swapper/0\n";
    let text = script(lines) + wakes + &script(rest);
    let recording = read(text.as_bytes(), &machine(), Asked::default()).unwrap();
    assert!(acts(&recording).contains("Run(75000) Wake"));
}

/// Each time b is about to sleep, a wakes it, and the switch that brings it back is not recorded:
/// the charge after the next wake-up tells that it has run since before that.
#[test]
fn who_has_come_unseen_is_woken_on_its_way_to_sleep() {
    let begin = "1 0 switch swapper/0 R b/11
                 0 0 switch swapper/0 R a/10
                 1 15 runtime b/11 15
                 1 17 switch b/11 S swapper/0
                 0 36 waking b/11 1
                 1 50 runtime b/11 10
                 1 52 switch b/11 S swapper/0\n";
    let turn = |at: u64| {
        format!(
            "0 {} waking b/11 1
             1 {} runtime b/11 17
             1 {} switch b/11 S swapper/0\n",
            at + 20,
            at + 21,
            at + 22
        )
    };
    let lines = begin.to_string() + &[60, 80, 100, 120].map(turn).concat();
    check(
        &lines,
        expect![[r#"
            b/11 nice 0 on 1: Run(15000) Wait Run(10000) Unseen Timer { at: 64000, length: 14000, timed: Until } Run(16000) OnItsWay Wait Run(1000) Run(16000) OnItsWay Wait Run(1000) Run(16000) OnItsWay Wait Run(1000) Run(16000) OnItsWay Wait Run(1000)
            a/10 nice 0 on 0: Run(36000) Wake { thread: 0, sync: false, to_idle: true } Run(44000) Wake { thread: 0, sync: false, to_idle: false } Run(20000) Wake { thread: 0, sync: false, to_idle: false } Run(20000) Wake { thread: 0, sync: false, to_idle: false } Run(20000) Wake { thread: 0, sync: false, to_idle: false } Run(2000)
        "#]],
    );
    let recording = read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap();
    assert_eq!(waits(&recording)[1], ("b", Some(4.0)), "woken at 100, it comes at 104");
}

/// Where times are cut to microseconds, a charge may seem to begin a little before the wake-up that
/// has brought its task.
#[test]
fn a_wake_up_brings_its_task_though_times_are_cut() {
    let wakes = |charged_us: u64| {
        let lines = format!(
            "1 0 switch swapper/0 R b/11
             0 0 switch swapper/0 R a/10
             1 15 switch b/11 S swapper/0
             1 50 runtime b/11 10
             1 52 switch b/11 S swapper/0
             0 80 waking b/11 1
             0 81 wakeup b/11 1
             1 100 runtime b/11 {charged_us}
             1 101 switch b/11 S swapper/0
             0 200 switch a/10 S swapper/0"
        );
        let recording = read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap();
        let a = recording.threads.iter().find(|thread| thread.tid == 10).unwrap();
        a.acts.iter().filter(|act| matches!(act, Act::Wake { .. })).count()
    };
    assert_eq!([18, 19, 20].map(wakes), [1; 3]);
}

/// The first wake-up of a thread names the CPU where it was last, of which no event may be.
#[test]
fn a_thread_may_have_slept_on_a_cpu_that_is_not_there() {
    check(
        "0 0 switch swapper/0 R a/10
         0 50 waking b/11 99
         0 60 switch a/10 S b/11
         0 70 switch b/11 S swapper/0",
        expect![[r#"
            a/10 nice 0 on 0: Run(50000) Wake { thread: 1, sync: true, to_idle: false } Run(10000)
            b/11 nice 0 on 99: Wait Run(10000)
        "#]],
    );
}

/// A fault is told at its own line, whatever waits for a charge, and before what comes after it.
#[test]
fn a_fault_is_told_where_it_is_though_events_wait() {
    let lines = "0 0 switch swapper/0 R a/10\n0 50 switch a/10 S swapper/0\n";
    let event = |cpu: u32, us: u32| {
        format!(
            "               a    10 [{cpu:03}]     0.{us:06}: sched:sched_waking: comm=c pid=12 \
             prio=120 target_cpu=002\n"
        )
    };
    let fault = |second: String| {
        let text = script(lines) + &event(0, 100) + &event(0, 110) + &second + "nonsense\n";
        read(text.as_bytes(), &machine(), Asked::default()).unwrap_err().to_string()
    };
    let (late, elsewhere) = (fault(event(0, 105)), fault(event(9, 120)));
    assert!(late.contains("line 5") && late.contains("time runs backwards"), "{late}");
    assert!(elsewhere.contains("line 5") && elsewhere.contains("no CPU 9"), "{elsewhere}");
}

/// What a thread did before `execve` was no work of the new program.
#[test]
fn a_new_name_is_told_when_it_is_given() {
    let task = |comm, tid| Named { comm, tid };
    let event = |at: Ns, comm, tid, what| Event {
        comm,
        tid: Some(tid),
        process: Some(tid),
        cpu: CpuId(0),
        at,
        context: None,
        what,
    };
    let switch = |prev, state, next| {
        let state = Left { state, preempted: false };
        What::Switch { prev, prev_prio: 120, state, next, next_prio: 120 }
    };
    let (make, gcc, idle) = (task(b"make", 10), task(b"gcc", 10), task(b"swapper", 0));
    let mut reconstruction = Reconstruction::new(&machine(), Asked::default(), MEMORY_MAX);
    for event in [
        event(0, idle.comm, 0, switch(idle, b'R', make)),
        event(30_000, gcc.comm, 10, What::Renamed),
        event(40_000, gcc.comm, 10, What::Renamed),
        event(100_000, gcc.comm, 10, switch(gcc, b'S', idle)),
    ] {
        assert!(reconstruction.take(&event, None).is_ok());
    }
    expect![[r#"
        make/10 nice 0 on 0: Run(30000) Named(1) Run(70000)
    "#]]
    .assert_eq(&acts(&reconstruction.finish().unwrap()));
}

//! Lines of real and made-up recordings, and what is made of them.

mod interrupts;
mod measured;
mod paths;
mod yields;

use super::event::What;
use super::line::Line;
use super::reconstruct::Reconstruction;
use super::{Asked, ReplayError, read, read_into};
use expect_test::{Expect, expect};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use topology::{Machine, RegularSpec};
use workloads::replay::Recording;

/// The threads named `timer` are woken by timers alone.
const TIMER: Asked<'_> = Asked { timed: &["timer"], measure: &[], sessions: &[] };

/// Two cores with two threads each, on which nothing costs time.
fn machine() -> Machine {
    let spec = RegularSpec { cores_per_llc: 2, threads_per_core: 2, ..RegularSpec::default() };
    let mut machine = Machine::regular(spec).without_costs();
    machine.smt.busy = 0.5;
    machine
}

/// The acts of all threads, in words.
fn acts(recording: &Recording) -> String {
    let mut text = String::new();
    for thread in &recording.threads {
        let name = &recording.names[thread.name as usize];
        let place = match (thread.first_cpu, thread.bound_to) {
            (_, Some(cpu)) => format!("bound to {cpu}"),
            (Some(cpu), _) => format!("on {cpu}"),
            (None, None) => "started".to_string(),
        };
        text += &format!("{name}/{} nice {} {place}:", thread.tid, thread.nice);
        thread.acts.iter().for_each(|act| text += &format!(" {act:?}"));
        text += "\n";
    }
    text
}

/// Lines in short, `cpu us event fields`: the head shows the task switched to or charged last.
fn script(lines: &str) -> String {
    let mut curr = BTreeMap::new();
    let lines = lines.lines().map(str::trim).filter(|l| !l.is_empty());
    lines.map(|line| script_line(&mut curr, line)).collect()
}

fn script_line<'a>(curr: &mut BTreeMap<&'a str, (&'a str, u32)>, line: &'a str) -> String {
    let w: Vec<&str> = line.split(' ').collect();
    let (cpu, us, event, first) = (w[0], w[1].parse::<u64>().unwrap(), w[2], w[3]);
    let named = |prefix: &str, word| {
        let (comm, tid) = task(word);
        format!("{prefix}comm={comm} {prefix}pid={tid}")
    };
    let before = curr.get(cpu).copied().unwrap_or(("swapper", 0));
    let (head, event, fields) = match event {
        "switch" => {
            curr.insert(cpu, task(w[5]));
            let (prev, next) = (named("prev_", first), named("next_", w[5]));
            let fields =
                format!("{prev} prev_prio=120 prev_state={} ==> {next} next_prio=120", w[4]);
            (task(first), event, fields)
        }
        "fork" => {
            (before, "process_fork", format!("{} {}", named("", first), named("child_", w[4])))
        }
        "runtime" => {
            curr.insert(cpu, task(first));
            let fields = format!("{} runtime={}000 [ns]", named("", first), w[4]);
            (task(first), "stat_runtime", fields)
        }
        _ => (before, event, format!("{} prio=120 target_cpu={:0>3}", named("", first), w[4])),
    };
    let (s, us) = (us / 1_000_000, us % 1_000_000);
    let (comm, tid) = head;
    format!("{comm:>16} {tid:>5} [{cpu:0>3}] {s:>5}.{us:06}: sched:sched_{event}: {fields}\n")
}

/// `comm/tid`
fn task(word: &str) -> (&str, u32) {
    let (comm, tid) = word.rsplit_once('/').unwrap();
    (comm, tid.parse().unwrap())
}

fn check(lines: &str, expected: Expect) {
    let recording = read(script(lines).as_bytes(), &machine(), TIMER).unwrap();
    expected.assert_eq(&acts(&recording));
}

#[test]
fn a_thread_wakes_another_one_and_sleeps() {
    check(
        "0 100 switch swapper/0 R ping/10
         0 130 waking pong/11 2
         0 150 switch ping/10 S swapper/0
         2 152 switch swapper/0 R pong/11
         2 180 waking ping/10 0
         2 180 wakeup ping/10 0
         2 190 switch pong/11 S swapper/0
         0 195 switch swapper/0 R ping/10
         0 200 switch ping/10 X swapper/0",
        expect![[r#"
            ping/10 nice 0 on 0: Run(30000) Wake { thread: 1, sync: false, to_idle: false } Run(20000) Wait Run(5000)
            pong/11 nice 0 on 2: Wait Run(28000) Wake { thread: 0, sync: false, to_idle: false } Run(10000)
        "#]],
    );
}

/// The first wake-up comes between a dequeue, which charges, and its switch: that sleep has ended.
/// The second finds a thread that goes on, and sleeps later.
#[test]
fn a_thread_is_woken_on_its_way_to_sleep() {
    check(
        "0 100 switch swapper/0 R a/10
         2 110 switch swapper/0 R b/11
         2 129 runtime b/11 19
         0 130 waking b/11 2
         2 131 switch b/11 S swapper/0
         2 135 switch swapper/0 R b/11
         0 150 waking b/11 2
         0 151 wakeup b/11 2
         2 190 runtime b/11 55
         2 191 switch b/11 S swapper/0
         0 200 switch a/10 S swapper/0",
        expect![[r#"
            a/10 nice 0 on 0: Run(20000) Wake { thread: 1, sync: false, to_idle: false } Run(12000) Wake { thread: 1, sync: false, to_idle: false } Run(29500)
            b/11 nice 0 on 2: Unseen Timer { at: 10000, length: 10000, timed: Until } Run(10000) OnItsWay Wait Run(500) Run(7500) OnItsWay Wait Run(20000)
        "#]],
    );
}

/// A replay takes wake-ups with next to no work between them for one path, in which nobody preempts
/// the waker. Here somebody did: two pieces of work say so.
#[test]
fn a_preemption_between_two_wake_ups_is_kept() {
    check(
        "0 100 switch swapper/0 R a/10
         0 120 waking b/11 0
         0 121 switch a/10 R b/11
         0 130 switch b/11 S a/10
         0 131 waking c/12 0
         0 132 waking d/13 0
         0 150 switch a/10 S swapper/0",
        expect![[r#"
            a/10 nice 0 on 0: Run(20000) Wake { thread: 1, sync: false, to_idle: false } InPath(1000) Run(1000) Wake { thread: 2, sync: false, to_idle: false } Run(1000) Wake { thread: 3, sync: false, to_idle: false } Run(18000)
            b/11 nice 0 on 0: Wait Run(9000)
            c/12 nice 0 on 0: Wait
            d/13 nice 0 on 0: Wait
        "#]],
    );
}

/// Nobody was seen to wake b, which takes the CPU from another: it has waited for it. The CPU that c
/// comes to was idle.
#[test]
fn who_had_to_wait_when_the_recording_began_waits_again() {
    check(
        "0 100 switch swapper/0 R a/10
         0 150 switch a/10 R b/11
         0 200 switch b/11 S swapper/0
         2 250 switch swapper/0 R c/12
         2 300 switch c/12 S swapper/0",
        expect![[r#"
            a/10 nice 0 on 0: Run(50000) Yield
            b/11 nice 0 on 0: Run(50000)
            c/12 nice 0 on 2: Unseen Timer { at: 150000, length: 150000, timed: Until } Run(50000)
        "#]],
    );
}

/// Seven messages that were answered, then one for which the partner preempts its waker. After the
/// first ones the two are known to talk in turns.
#[test]
fn an_answer_that_nobody_had_to_wait_for_is_added() {
    let mut lines = String::from("0 0 switch swapper/0 R ask/10\n");
    for at in (0..7).map(|i| 100 * i) {
        let _ = write!(
            lines,
            "0 {} waking tell/11 0\n0 {} switch ask/10 S tell/11\n\
             0 {} waking ask/10 0\n0 {} switch tell/11 S ask/10\n",
            at + 10,
            at + 20,
            at + 30,
            at + 40
        );
    }
    let preempts = "0 750 waking tell/11 0
                    0 755 switch ask/10 R tell/11
                    0 770 switch tell/11 S ask/10
                    0 790 switch ask/10 X swapper/0";
    let acts_of = |lines: &str| {
        let recording = read(script(lines).as_bytes(), &machine(), TIMER).unwrap();
        acts(&recording).lines().map(str::to_string).collect::<Vec<_>>()
    };
    let told = acts_of(&(lines.clone() + preempts));
    let asked = "Run(110000) Wake { thread: 1, sync: false, to_idle: false } InPath(5000) Answer Run(20000)";
    assert!(told[0].ends_with(asked), "{}", told[0]);
    assert!(
        told[1].ends_with("Answer Run(15000) Wake { thread: 0, sync: false, to_idle: false }"),
        "{}",
        told[1]
    );
    // Two who have not talked before owe each other nothing.
    let told = acts_of(&format!("0 700 switch swapper/0 R ask/10\n{preempts}"));
    assert!(
        told[0]
            .ends_with("Wake { thread: 1, sync: false, to_idle: false } InPath(5000) Run(20000)"),
        "{}",
        told[0]
    );
}

#[test]
fn timers_and_disks_end_sleeps() {
    check(
        "0 100 switch swapper/0 R a/10
         0 150 switch a/10 S swapper/0
         0 900 waking a/10 0
         0 905 switch swapper/0 R a/10
         0 950 switch a/10 D swapper/0
         0 990 waking a/10 0
         0 995 switch swapper/0 R a/10
         0 999 switch a/10 I swapper/0
         0 1500 switch swapper/0 R a/10
         0 1600 switch a/10 S swapper/0",
        expect![[r#"
            a/10 nice 0 on 0: Run(50000) Timer { at: 800000, length: 750000, timed: Until } InIrq(5000) Run(45000) Sleeps(Uninterruptible) For(40000) InIrq(5000) Run(4000) Sleeps(Idle) Unseen Timer { at: 1400000, length: 501000, timed: Until } Run(100000)
        "#]],
    );
}

#[test]
fn an_interrupt_is_told_from_a_thread_by_the_name_of_who_is_woken() {
    check(
        "0 0 switch swapper/0 R hog/10
         0 300 waking timer/11 2
         0 400 waking other/12 2
         0 500 switch hog/10 S swapper/0",
        expect![[r#"
            hog/10 nice 0 on 0: Run(400000) Wake { thread: 2, sync: false, to_idle: false } Run(100000)
            timer/11 nice 0 on 2: Interrupts(CpuId(0)) Timer { at: 300000, length: 300000, timed: Until }
            other/12 nice 0 on 2: Wait
        "#]],
    );
}

/// Eight naps of 1 ms on a CPU where two hogs take turns, and the acts of all three.
fn naps(noise_us: u64) -> String {
    let (mut lines, mut at) = (String::from("0 0 switch swapper/0 R nap/10\n"), 0);
    for i in 0..8 {
        let hog = ["a/11", "b/12"][i % 2];
        let slept = at + 100;
        at = slept + 1000 + noise_us * (i as u64 * 7 % 10);
        let ends = at + 5;
        lines += &format!("0 {slept} switch nap/10 S {hog}\n0 {at} waking nap/10 0\n");
        lines += &format!("0 {ends} switch {hog} R nap/10\n");
        at = ends;
    }
    acts(&read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap())
}

/// Twelve waits of 1 ms beside two others, told by what `end` says of the i-th.
fn waits(end: impl Fn(usize, u64) -> String) -> String {
    let mut lines = String::from("0 0 switch swapper/0 R p/10\n0 10 fork p/10 a/11\n");
    lines += "0 11 fork p/10 b/12\n";
    for i in 0..12 {
        let at = 1000 * (i as u64 * 3 + 1);
        lines += &format!("0 {at} switch p/10 S {}\n", ["a/11", "b/12"][i % 2]);
        lines += &end(i, at + 1000);
    }
    acts(&read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap())
}

#[test]
fn who_waits_as_long_as_ever_for_its_children_has_no_timer() {
    let text = waits(|i, at| {
        let child = ["a/11", "b/12"][i % 2];
        format!("0 {at} waking p/10 0\n0 {} switch {child} R p/10\n", at + 100)
    });
    assert_eq!(text.matches("Wait").count(), 12, "{text}");
    assert!(!text.contains("Timer"), "{text}");
}

#[test]
fn no_timer_fires_on_another_cpu() {
    let text = waits(|i, at| {
        let (child, other) = (["a/11", "b/12"][i % 2], ["c/13", "d/14"][i % 2]);
        let wakes = format!("2 {} switch swapper/0 R {other}\n2 {at} waking p/10 0\n", at - 1);
        let sleeps = format!("2 {} switch {other} S swapper/0\n", at + 1);
        format!("{wakes}{sleeps}0 {} switch {child} R p/10\n", at + 2)
    });
    assert_eq!(text.matches("Wake { thread: 0").count(), 12, "{text}");
}

#[test]
fn who_sleeps_as_long_as_ever_beside_anybody_has_a_timer() {
    let text = naps(1);
    assert_eq!(text.matches("timed: Usual").count(), 8, "{text}");
    assert!(!text.contains("Wa"), "{text}");
    // Waits of any length: the thread that runs may have ended them.
    let text = naps(100);
    assert_eq!(text.matches("Wait").count(), 8, "{text}");
    assert_eq!(text.matches("Wake").count(), 8, "{text}");
}

#[test]
fn a_preempted_thread_goes_on_where_it_was() {
    check(
        "1 0 switch swapper/0 R a/10
         1 400 waking b/11 1
         1 401 switch a/10 R b/11
         1 500 switch b/11 S a/10
         1 600 switch a/10 S swapper/0",
        expect![[r#"
            a/10 nice 0 on 1: Run(400000) Wake { thread: 1, sync: false, to_idle: false } InPath(1000) Run(100000)
            b/11 nice 0 on 1: Wait Run(99000)
        "#]],
    );
}

#[test]
fn a_shell_starts_a_command() {
    check(
        "0 0 switch swapper/0 R sh/10
         0 50 fork sh/10 sh/11
         0 60 wakeup_new sh/11 2
         0 70 switch sh/10 S swapper/0
         2 75 switch swapper/0 R sh/11
         2 90 runtime ls/11 15
         2 100 waking sh/10 0
         2 110 switch ls/11 X swapper/0
         0 111 switch swapper/0 R sh/10
         0 120 fork sh/10 sh/11
         0 121 wakeup_new sh/11 0
         0 125 switch sh/10 S sh/11
         0 140 switch sh/11 Z swapper/0",
        expect![[r#"
            sh/10 nice 0 on 0: Run(50000) Start(1) Run(10000) Wait Run(9000) Start(2) Run(4000)
            sh/11 nice 0 started: Exec(1) Run(25000) Wake { thread: 0, sync: false, to_idle: true } Run(10000)
            sh/11 nice 0 started: Run(15000)
        "#]],
    );
}

#[test]
fn a_wake_up_right_before_the_sleep_on_the_same_cpu_is_sync() {
    check(
        "3 0 switch swapper/0 R writer/10
         3 20 waking reader/11 3
         3 25 switch writer/10 S reader/11
         3 40 waking writer/10 3
         3 45 switch reader/11 R writer/10
         3 50 switch writer/10 S reader/11
         3 60 switch reader/11 S swapper/0",
        expect![[r#"
            writer/10 nice 0 on 3: Run(20000) Wake { thread: 1, sync: true, to_idle: false } Run(5000) Wait Run(5000)
            reader/11 nice 0 on 3: Wait Run(15000) Wake { thread: 0, sync: false, to_idle: false } InPath(5000) Run(10000)
        "#]],
    );
}

#[test]
fn work_beside_a_busy_sibling_is_less() {
    // CPUs 0 and 1 are one core; half speed beside each other.
    let machine = machine();
    let sibling = machine.cores[0].iter().find(|c| c.0 != 0).unwrap();
    let text = format!(
        "0 0 switch swapper/0 R a/10
         {sibling} 100 switch swapper/0 R b/11
         {sibling} 300 switch b/11 S swapper/0
         0 400 switch a/10 S swapper/0"
    );
    check(
        &text,
        expect![[r#"
            a/10 nice 0 on 0: Run(300000)
            b/11 nice 0 on 2: Unseen Timer { at: 100000, length: 100000, timed: Until } Run(100000)
        "#]],
    );
}

#[test]
fn holes_are_filled_with_what_is_likeliest() {
    check(
        // The coming of a and the going of b were lost; c was there from the beginning.
        "0 0 switch c/12 S swapper/0
         0 100 waking d/13 0
         1 150 switch swapper/0 R b/11
         1 170 waking a/10 0
         0 300 switch a/10 S swapper/0
         1 400 switch c/12 S swapper/0",
        expect![[r#"
            c/12 nice 0 on 0: Unseen Timer { at: 170000, length: 170000, timed: Until } Run(230000)
            d/13 nice 0 on 0: Timer { at: 100000, length: 100000, timed: Until }
            b/11 nice 0 on 1: Unseen Timer { at: 150000, length: 150000, timed: Until } Run(20000) Wake { thread: 3, sync: false, to_idle: true }
            a/10 nice 0 on 0: Wait Run(130000)
        "#]],
    );
    // A charge tells of a coming.
    let text = script("0 0 switch swapper/0 R x/9\n 0 10 switch x/9 S swapper/0")
        + "               a    10 [000]     0.000500: sched:sched_stat_runtime: comm=a pid=10 runtime=40000 [ns]\n"
        + "               a    10 [000]     0.000510: sched:sched_switch: prev_comm=a prev_pid=10 prev_prio=120 prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n";
    let recording = read(text.as_bytes(), &machine(), Asked::default()).unwrap();
    expect![[r#"
        x/9 nice 0 on 0: Run(10000)
        a/10 nice 0 on 0: Unseen Timer { at: 460000, length: 460000, timed: Until } Run(40000)
    "#]]
    .assert_eq(&acts(&recording));
}

#[test]
fn stoppers_are_the_simulators_own_and_kernel_threads_stay_on_their_cpus() {
    check(
        "1 0 switch swapper/0 R a/10
         1 10 waking migration/1/21 1
         1 15 switch a/10 R migration/1/21
         1 20 switch migration/1/21 S a/10
         1 30 waking kworker/1:2/22 1
         1 40 switch a/10 S kworker/1:2/22
         1 60 switch kworker/1:2/22 I swapper/0",
        expect![[r#"
            a/10 nice 0 on 1: Run(25000) Wake { thread: 1, sync: true, to_idle: false } Run(10000)
            kworker/1:2/22 nice 0 bound to 1: Wait Run(20000)
        "#]],
    );
}

#[test]
fn lines_of_real_recordings_are_understood() {
    let lines = [
        "            perf 13463 [000]   508.039672: sched:sched_stat_runtime: comm=perf pid=13463 runtime=32649 [ns]",
        "     kworker/0:1 54/54 [000] 5872.7805581: sched:sched_stat_runtime: comm=kworker/0:1 pid=54 runtime=53019 [ns] vruntime=12 [ns]",
        " a [001] 2.5: b c 9217/9221  [191]  5872.780558123:       sched:sched_switch: prev_comm=a [001] 2.5: b c prev_pid=9221 prev_prio=-1 prev_state=R+ ==> next_comm=x pid=3 next_pid=3 y next_pid=54 next_prio=100",
        "             :-1  8984/-1    [001]  5855.778377: sched_switch: prev_comm=locker prev_pid=8987 prev_prio=120 prev_state=X ==> next_comm=swapper/1 next_pid=0 next_prio=120",
        "swapper 0 [000] 1.0: sched:sched_wakeup: comm=rcu_preempt pid=15 prio=98 success=1 target_cpu=000",
        "swapper 0 [000] 1.0: sched:sched_wait_task: comm=x pid=15 prio=120",
    ];
    let seen = lines.map(|line| {
        let l = Line::parse(line.as_bytes()).unwrap().unwrap().event;
        let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
        let what = match l.what {
            What::Switch { prev, prev_prio, state, next, next_prio } => format!(
                "{}/{} {prev_prio} {} -> {}/{} {next_prio}",
                text(prev.comm),
                prev.tid,
                state.state as char,
                text(next.comm),
                next.tid
            ),
            What::Wake { task, prio, target } => {
                format!("wakes {}/{} {prio} on {target}", text(task.comm), task.tid)
            }
            What::Runtime { task, ns } => format!("{}/{} ran {ns}", text(task.comm), task.tid),
            other => format!("{other:?}"),
        };
        format!("{} {:?}/{:?} {} {}: {what}\n", text(l.comm), l.process, l.tid, l.cpu, l.at)
    });
    expect![[r#"
        perf None/Some(13463) 0 508039672000: perf/13463 ran 32649
        kworker/0:1 Some(54)/Some(54) 0 5872780558100: kworker/0:1/54 ran 53019
        a [001] 2.5: b c Some(9217)/Some(9221) 191 5872780558123: a [001] 2.5: b c/9221 -1 R -> x pid=3 next_pid=3 y/54 100
        :-1 Some(8984)/None 1 5855778377000: locker/8987 120 X -> swapper/1/0 120
        swapper None/Some(0) 0 1000000000: wakes rcu_preempt/15 98 on 0
        swapper None/Some(0) 0 1000000000: Other
    "#]].assert_eq(&seen.concat());
    for nothing in ["", "   ", "# cpudesc : x", "\tffffffff810 schedule+0x1 ([kernel])"] {
        assert_eq!(Line::parse(nothing.as_bytes()), Ok(None), "{nothing}");
    }
}

/// What is wrong with a recording that ends with this line.
fn fault(line: &str) -> String {
    let good = "            perf 10 [000]   508.039672: sched:sched_stat_runtime: comm=perf pid=10 runtime=9 [ns]\n";
    match read(format!("{good}\n{line}").as_bytes(), &machine(), Asked::default()).unwrap_err() {
        ReplayError::Line { line, text, fault } => {
            let span = fault.span.unwrap();
            let place = text.get(span.clone()).unwrap_or("?");
            let help = fault.help.unwrap_or_default();
            format!("{line}:{} `{place}` {} | {help}\n", span.start + 1, fault.message)
        }
        other => format!("{other}\n"),
    }
}

#[test]
fn what_is_wrong_is_told_with_its_place() {
    let head = "            perf 10 [000]   509.039672: ";
    let switch = "sched:sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=";
    let next = " ==> next_comm=b next_pid=2 next_prio=";
    let faults = [
        "tail of a text".to_string(),
        "            perf 10 [000]   508.0396".to_string(),
        "            perf 10 [000]   508.039671: sched:sched_wait_task: x".to_string(),
        "            perf 10 [9999]   509.039671: sched:sched_wait_task: x".to_string(),
        "            perf 10 [004]   509.039673: sched:sched_wait_task: x".to_string(),
        "            perf 10 [99999999999999999999] 509.039671: sched:sched_wait_task: x"
            .to_string(),
        "        perf 4194305 [000]   509.039671: sched:sched_wait_task: x".to_string(),
        "       perf 10/99999999999999999999 [000] 509.039671: sched:sched_wait_task: x"
            .to_string(),
        "            perf 10 [000] 4294967296.039671: sched:sched_wait_task: x".to_string(),
        format!("{head}sched:sched_swi"),
        format!("{head}sched:sched_swich: prev_comm=a"),
        format!("{head}irq:softirq_entry: vec=1"),
        format!("{head}{switch}S ==> next_comm=b next_pid=2"),
        format!("{head}{switch}S{next}"),
        format!("{head}{switch}S{next}12x"),
        format!("{head}{switch}S{next}140"),
        format!("{head}{switch}S{next}-2"),
        format!("{head}{switch}Q{next}120"),
        format!("{head}sched:sched_waking: comm=a pid=99999999 prio=120 target_cpu=000"),
        format!("{head}sched:sched_waking: comm=a pid=9 prio=120 target_cpu=-1"),
        format!("{head}sched:sched_stat_runtime: comm=a pid=9 runtime=99999999999999999999 [ns]"),
        format!("{head}sched:sched_stat_runtime: comm=a pid=9 runtime=4000"),
    ];
    expect![[r#"
        3:1 `tail of a text` this is no line of `perf script`: task, [CPU] and time are missing | record with `perf sched record`, print with `perf script --ns`
        3:1 `            perf 10 [000]   508.0396` this is no line of `perf script`: task, [CPU] and time are missing | record with `perf sched record`, print with `perf script --ns`
        3:29 `508.039671` time runs backwards, from 508.039672000 to 508.039671000 | `perf script` prints events in order of time
        3:22 `9999` there is no CPU 9999; it must be below 8192 | 
        3:22 `004` the machine of the recording has no CPU 4, only 0 to 3 | `recorded_on` names the machine that it was recorded on
        3:22 `99999999999999999999` there is no CPU 99999999999999999999; it must be below 8192 | 
        3:14 `4194305` a pid is at most 4194304 | 
        3:16 `99999999999999999999` a pid is at most 4194304 | 
        3:27 `4294967296.039671` a time must be below 4294967296 s | 
        3:56 `` the line is cut off: the event is missing | 
        3:41 `sched:sched_swich` unknown event `sched_swich` | did you mean `sched_switch`?
        3:41 `irq:softirq_entry` `irq:softirq_entry` is no event of the scheduler | keep the lines with `sched:` only
        3:137 `` the line is cut off: `next_prio` is missing | 
        3:148 `` the line is cut off: `next_prio` is missing | 
        3:148 `12x` a priority is -1 to 139 | 
        3:148 `140` a priority is -1 to 139 | 
        3:148 `-2` a priority is -1 to 139 | 
        3:109 `Q` there is no such state of a task | R, S, D, T, t, X, Z, P, I
        3:72 `99999999` `pid` must be a number, at most 4194304 | 
        3:94 `-1` `target_cpu` must be a number, at most 8191 | 
        3:88 `99999999999999999999` `runtime` must be a number, at most 4294967296000000000 | 
        3:92 `` the line is cut off: its unit, `[ns]` is missing | 
    "#]].assert_eq(&faults.map(|line| fault(&line)).concat());
    let empty = read("# no events\n".as_bytes(), &machine(), Asked::default()).unwrap_err();
    assert_eq!(empty.to_string(), "there is no event of the scheduler in it");
    let idle = "migration/0 18 [000] 1.5: sched:sched_migrate_task: comm=perf pid=27095 prio=120 \
                orig_cpu=0 dest_cpu=1\n";
    let idle = read(idle.as_bytes(), &machine(), Asked::default()).unwrap_err();
    assert_eq!(idle.to_string(), "there is no thread in it that runs or sleeps");
    let long = format!("x 1 [000] 1.0: sched:sched_wait_task: {}", "x".repeat(1 << 17));
    assert!(fault(&long).contains("longer than 64 KiB"), "{}", fault(&long));
}

#[test]
fn a_recording_takes_no_more_memory_than_it_may() {
    let lines = |n: u64| -> String {
        let line = |i| format!("0 {i} switch t/{} X t/{}\n", 10 + i % 1000, 10 + (i + 1) % 1000);
        script(&(0..n).map(line).collect::<String>())
    };
    let read = |n, max| {
        read_into(Reconstruction::new(&machine(), Asked::default(), max), lines(n).as_bytes())
    };
    assert!(read(40_000, 1 << 24).is_ok());
    match read(40_000, 1 << 20).unwrap_err() {
        ReplayError::Line { line, fault, .. } => {
            assert_eq!(line, 16_384);
            assert_eq!(fault.message, "the recording takes more than 1 MiB of memory");
        }
        other => panic!("{other}"),
    }
}

#[test]
fn names_of_threads_are_short() {
    let text = script(&format!("0 0 waking {}/1 0", "n".repeat(256)));
    let error = read(text.as_bytes(), &machine(), Asked::default()).unwrap_err();
    assert_eq!(error.to_string(), "line 1: a thread's name is longer than 255 bytes");
}

/// What made the reader panic once, or name a place that is in no line.
#[test]
fn fuzzed_recordings_are_read_or_refused() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fuzzed");
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let files: Vec<_> = files.collect();
    assert_eq!(files.len(), 4);
    for file in files {
        let bytes = std::fs::read(&file).unwrap();
        let machine = Machine::regular(RegularSpec::default());
        let read = read(
            bytes.as_slice(),
            &machine,
            Asked { timed: &["a"], measure: &["b"], sessions: &[(1, 1)] },
        );
        if let Err(ReplayError::Line { text, fault, .. }) = read {
            let span = fault.span.unwrap();
            assert!(span.start <= span.end && span.end <= text.len(), "{}", file.display());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Lines of a recording in any order, some of them damaged: a fault or a recording, no panic.
    #[test]
    fn no_recording_makes_the_reader_panic(
        picks in prop::collection::vec((0usize..9, 0u32..4, 0u64..50, any::<u8>()), 1..120),
    ) {
        let mut us = 0;
        let mut text = String::new();
        for (pick, cpu, step, byte) in picks {
            us += step;
            let (a, b) = (10 + u32::from(byte % 5), 10 + u32::from(byte / 5 % 5));
            let line = match pick {
                0 => format!("{cpu} {us} switch t/{a} S t/{b}"),
                1 => format!("{cpu} {us} switch t/{a} R t/{b}"),
                2 => format!("{cpu} {us} switch swapper/0 R u/{b}"),
                3 => format!("{cpu} {us} switch t/{a} X swapper/0"),
                4 => format!("{cpu} {us} waking t/{a} {cpu}"),
                5 => format!("{cpu} {us} wakeup_new t/{a} {cpu}"),
                6 => format!("{cpu} {us} runtime t/{a} {}", byte),
                7 => format!("{cpu} {us} fork t/{a} t/{b}"),
                _ => format!("{cpu} {us} switch migration/0/9 S t/{b}"),
            };
            text += &script(&line);
        }
        let recording = read(text.as_bytes(), &machine(), Asked::default());
        prop_assert_eq!(recording.is_ok(), text.contains("sched_switch"));
        let Ok(recording) = recording else {
            return Ok(());
        };
        prop_assert_eq!(recording.length_ns, (us - us.min(first_us(&text))) * 1000);
        let cut = text.len() * 2 / 3;
        let _ = read(&text.as_bytes()[..cut], &machine(), Asked::default());
    }
}

fn first_us(text: &str) -> u64 {
    let time = text.split(']').nth(1).unwrap().trim_start().split(':').next().unwrap();
    time.replace('.', "").parse().unwrap()
}

//! Whose end counts, in which sessions threads are, and how long the kernel's paths took.

use super::{machine, script};
use crate::replay::{Asked, read};
use sim_core::Ns;
use topology::IDLE_WAKE_TIMES;
use workloads::replay::{Act, Paths, Recording, Thread};

/// A command that starts a child, beside a daemon that outlives them.
const COMMAND: &str = "0 100 switch swapper/0 R perf-exec/10
    0 110 switch perf-exec/10 R make/10
    0 120 fork make/10 make/11
    0 121 wakeup_new make/11 1
    1 130 switch swapper/0 R make/11
    1 140 switch make/11 S swapper/0
    1 150 switch swapper/0 R cc1/11
    1 400 switch cc1/11 X swapper/0
    0 410 switch make/10 S swapper/0
    0 420 waking make/10 0
    0 425 switch swapper/0 R make/10
    0 500 switch make/10 X daemon/12
    0 900 switch daemon/12 S swapper/0";

fn recording(lines: &str, asked: Asked<'_>) -> Recording {
    read(script(lines).as_bytes(), &machine(), asked).unwrap()
}

/// The tids of threads whose end counts.
fn measured(recording: &Recording) -> Vec<u32> {
    recording.threads.iter().filter(|thread| thread.measured).map(|thread| thread.tid).collect()
}

#[test]
fn the_recorded_command_and_its_children_are_measured() {
    let recording = recording(COMMAND, Asked::default());
    assert_eq!(measured(&recording), [10, 11]);
    // From 100 us, the first event, to the exit of make.
    assert_eq!((recording.elapsed_ns, recording.length_ns), (400_000, 800_000));
    let told: Vec<_> = recording
        .commands
        .iter()
        .map(|(name, command)| {
            let name = recording.names[usize::from(*name)].as_str();
            (name, command.run_ns, command.switches, command.wait_us(50.0))
        })
        .collect();
    let [make, cc1] = told[..] else { panic!("{told:?}") };
    assert_eq!(cc1, ("cc1", 250_000, 1, None));
    assert_eq!((make.0, make.1, make.2), ("make", 385_000, 3));
    assert!(make.3.is_some_and(|us| (us / 5.0 - 1.0).abs() < 0.01), "{make:?}");
}

/// trace-cmd's own processes keep the name that its child has before it becomes the command.
#[test]
fn a_command_begins_with_a_process_of_trace_cmds_name() {
    let lines = COMMAND.replace("perf-exec", "trace-cmd").replace("daemon", "trace-cmd");
    let recording = recording(&lines, Asked::default());
    assert_eq!(measured(&recording), [10, 11]);
    let told = recording.commands.iter().map(|(name, _)| &recording.names[usize::from(*name)]);
    assert_eq!(told.collect::<Vec<_>>(), ["make", "cc1"]);
    let asked = Asked { measure: &["trace-cmd"], ..Asked::default() };
    assert_eq!(measured(&self::recording(&lines, asked)), [10, 11, 12]);
}

#[test]
fn names_take_the_place_of_the_recorded_command() {
    let asked = |measure| Asked { measure, ..Asked::default() };
    assert_eq!(measured(&recording(COMMAND, asked(&["cc1"]))), [11]);
    assert_eq!(measured(&recording(COMMAND, asked(&["daemon"]))), [12]);
    assert_eq!(recording(COMMAND, asked(&["daemon"])).elapsed_ns, 800_000);
}

#[test]
fn without_a_command_or_with_one_that_sleeps_all_are_measured() {
    let sleeps = COMMAND.replace("make", "sleep").replace("cc1", "sleep");
    for lines in [sleeps, COMMAND.replace("perf-exec", "bash")] {
        assert_eq!(measured(&recording(&lines, Asked::default())), [10, 11, 12]);
    }
}

#[test]
fn listed_sessions_are_told_apart() {
    let asked = |sessions| Asked { sessions, ..Asked::default() };
    let of = |recording: &Recording| {
        recording.threads.iter().map(|thread| thread.session).collect::<Vec<_>>()
    };
    let one = recording(COMMAND, Asked::default());
    assert_eq!((one.other_sessions, of(&one)), (0, vec![0, 0, 0]));
    let two = recording(COMMAND, asked(&[(12, 7)]));
    assert_eq!((two.other_sessions, of(&two)), (1, vec![0, 0, 1]));
    let same = recording(COMMAND, asked(&[(10, 7), (12, 7)]));
    assert_eq!((same.other_sessions, of(&same)), (0, vec![0, 0, 0]));
}

/// It came after the list was made, and nobody saw who made it; its process is listed.
#[test]
fn a_thread_that_is_not_listed_is_in_the_session_of_its_process() {
    let sessions = [(12, 7), (20, 8)];
    let asked = Asked { sessions: &sessions, ..Asked::default() };
    let text = script(&format!(
        "{COMMAND}\n0 900 switch swapper/0 R late/21\n0 990 switch late/21 S swapper/0"
    ))
    .replace("late    21 [", "late 20/21 [");
    let recording = read(text.as_bytes(), &machine(), asked).unwrap();
    let of = |name: &str| {
        let is = |thread: &&Thread| recording.names[thread.name as usize] == name;
        recording.threads.iter().find(is).map(|thread| thread.session)
    };
    assert_eq!((of("late"), recording.other_sessions), (Some(2), 2));
}

/// The acts of the thread that gives way at 50 us.
fn acts_of_a(lines: &str) -> Vec<Act> {
    let lines = format!("0 0 switch swapper/0 R a/10\n{lines}");
    recording(&lines, Asked::default()).threads[0].acts.iter().collect()
}

#[test]
fn who_gives_way_for_no_reason_yields() {
    let yields = |lines: &str| acts_of_a(lines).contains(&Act::Yield);
    assert!(yields("0 50 switch a/10 R b/11"));
    // b was woken to preempt it; the kernel says that it was preempted; its slice was over.
    assert!(!yields("0 30 waking b/11 0\n0 50 switch a/10 R b/11"));
    assert!(!yields("0 50 switch a/10 R+ b/11"));
    assert!(!yields("0 3000 switch a/10 R b/11"));
    assert!(!yields("0 50 switch a/10 R migration/0/12"));
    // A wake-up on another CPU is no reason.
    assert!(yields("0 30 waking c/12 1\n0 50 switch a/10 R b/11"));
}

#[test]
fn lost_events_and_microseconds_are_told() {
    let line = |at, what| format!("  a 10 [000] 1.{at}: {what}\n");
    let comes = "sched:sched_switch: prev_comm=swapper/0 prev_pid=0 prev_prio=120 prev_state=R ==> \
                 next_comm=a next_pid=10 next_prio=120";
    let lines = [
        line("000001000", comes),
        line("000002000", "sched:sched_set_need_resched_tp: comm=a pid=10 cpu=0"),
        line("000003000", "PERF_RECORD_LOST lost 17"),
        line("000004000", "PERF_RECORD_THROTTLE something"),
        line("000005000", "PERF_RECORD_LOST lost 5"),
    ];
    let ns = read(lines.concat().as_bytes(), &machine(), Asked::default()).unwrap();
    assert_eq!((ns.lost_events, ns.in_ns), (22, true));
    let us = read(line("000001", comes).as_bytes(), &machine(), Asked::default()).unwrap();
    assert_eq!((us.lost_events, us.in_ns), (0, false));
}

#[test]
fn kernel_paths_take_what_the_recording_shows() {
    let mut slow = machine();
    (slow.costs.pick_ns, slow.costs.switch_ns) = (4000, 1000);
    slow.locks.fast_ns = 0;
    // 100 sleeps, each 2 us after the charge: half of what the machine's costs say.
    let mut lines = String::from("0 0 switch swapper/0 R a/10\n");
    for i in 0..100u64 {
        let (at, [from, to]) = (100 * i + 50, [["a/10", "b/11"], ["b/11", "a/10"]][i as usize % 2]);
        lines += &format!("0 {at} runtime {from} 40\n0 {} switch {from} S {to}\n", at + 2);
    }
    let recording = read(script(&lines).as_bytes(), &slow, Asked::default()).unwrap();
    let paths = recording.paths.unwrap();
    assert_eq!((paths.factor, paths.ipi_is_slow, idle_wakes(&paths)), (0.5, false, [0; 5]));
    let costs = paths.costs;
    assert_eq!((costs.pick_ns, costs.switch_ns), (2000, 500));
    let few = lines.lines().take(30).collect::<Vec<_>>().join("\n");
    let recording = read(script(&few).as_bytes(), &slow, Asked::default()).unwrap();
    assert_eq!(recording.paths.unwrap().factor, 1.0);
}

/// What cannot be seen took no longer than the time in which it lies. The rest of `schedule()` is
/// ten times as slow as the machine, but the quickest come to their next charge in 3 us.
#[test]
fn other_paths_have_no_more_than_there_is_room_for() {
    let mut machine = machine();
    (machine.costs.pick_ns, machine.costs.dequeue_ns) = (200, 0);
    (machine.costs.switch_ns, machine.costs.mm_switch_ns) = (900, 100);
    (machine.costs.tick_ns, machine.locks.fast_ns) = (1000, 0);
    let (mut lines, mut at) = (String::from("0 0 switch swapper/0 R a/10\n"), 0);
    for i in 0..100 {
        let [from, to] = [["a/10", "b/11"], ["b/11", "a/10"]][i % 2];
        // One in four is quick.
        at += if i % 4 == 0 { 3 } else { 50 };
        lines += &format!("0 {at} runtime {from} 3\n0 {} switch {from} S {to}\n", at + 2);
        at += 2;
    }
    let recording = read(script(&lines).as_bytes(), &machine, Asked::default()).unwrap();
    let paths = recording.paths.unwrap();
    assert_eq!((paths.factor, paths.others), (10.0, 3.0));
    let costs = paths.costs;
    assert_eq!((costs.pick_ns, costs.switch_ns, costs.tick_ns), (2000, 2700, 3000));
}

/// By the length of idling: the median of what a wake-up takes.
fn idle_wakes(paths: &Paths) -> [Ns; 5] {
    paths.idle_wakes_ns.map(|times| times[IDLE_WAKE_TIMES / 2])
}

/// A guest's interrupts go through its host, which the header of a recording does not tell.
#[test]
fn the_way_to_another_cpu_takes_what_the_recording_shows() {
    let mut machine = machine();
    machine.cstates[0].polling = false;
    (machine.costs.irq_ns, machine.costs.ipi_send_ns) = (600, 400);
    (machine.costs.idle_loop_ns, machine.costs.ipi_delivery_ns) = (2000, 500);
    // a/10 on CPU 0 wakes b/11 on CPU 1: it preempts c/12 after 14 us, or idle after 19 us.
    let mut lines = String::from("0 0 switch swapper/0 R a/10\n");
    for i in 0..100u64 {
        let at = 200 * i + 10;
        let [left, came] = [at + 50, at + 60];
        lines += &format!("1 {at} switch swapper/0 R c/12\n0 {left} waking b/11 1\n");
        lines +=
            &format!("1 {} switch c/12 R b/11\n1 {} switch b/11 S c/12\n", left + 14, left + 20);
        lines +=
            &format!("1 {} switch c/12 S swapper/0\n0 {} waking b/11 1\n", came + 20, came + 30);
        lines += &format!(
            "1 {} switch swapper/0 R b/11\n1 {} switch b/11 S swapper/0\n",
            came + 49,
            came + 60
        );
    }
    let paths = |lines: &str| {
        read(script(lines).as_bytes(), &machine, Asked::default()).unwrap().paths.unwrap()
    };
    let seen = paths(&lines);
    assert_eq!((seen.costs.ipi_delivery_ns, seen.busy_ipi_ns, seen.ipi_is_slow), (13_000, 0, true));
    assert_eq!(seen.idle_wakes_ns, [[17_000; IDLE_WAKE_TIMES]; 5]);
    // Where the switches from idle were not recorded, the first charges tell it.
    let charged = |line: &str| match line.strip_suffix(" switch swapper/0 R b/11") {
        Some(place) => {
            let at: u64 = place.split_once(' ').unwrap().1.parse().unwrap();
            format!("1 {} runtime b/11 6\n", at + 6)
        }
        None => format!("{line}\n"),
    };
    let unseen: String = lines.lines().map(charged).collect();
    assert_eq!(paths(&unseen).idle_wakes_ns, seen.idle_wakes_ns);
    let few = paths(&lines.lines().take(100).collect::<Vec<_>>().join("\n"));
    assert_eq!(
        (few.costs.ipi_delivery_ns, few.ipi_is_slow, idle_wakes(&few)),
        (500, false, [0; 5])
    );
    // Idle CPUs are told sooner: busy ones keep the interrupt waiting.
    let quick: String = lines.lines().map(|line| later_waking(line, 10)).collect();
    let quick = paths(&quick);
    assert_eq!((quick.costs.ipi_delivery_ns, quick.busy_ipi_ns), (6_000, 7_000));
    assert_eq!((idle_wakes(&quick), quick.ipi_is_slow), ([7_000; 5], true));
    // There may be less room for it than the machine says that its paths take.
    let none: String = lines.lines().map(|line| later_waking(line, 17)).collect();
    let none = paths(&none);
    let costs = none.costs;
    assert_eq!((costs.idle_loop_ns, costs.irq_ns, costs.ipi_delivery_ns), (846, 254, 500));
    // What the machine says stands if the recording was faster.
    machine.costs.ipi_delivery_ns = 20_000;
    let slower = read(script(&lines).as_bytes(), &machine, Asked::default()).unwrap();
    let slower = slower.paths.unwrap();
    assert_eq!((slower.costs.ipi_delivery_ns, slower.ipi_is_slow), (20_000, false));
}

/// The same, but wake-ups of idle CPUs are so much later, us.
fn later_waking(line: &str, by_us: u64) -> String {
    let place = line.strip_suffix(" waking b/11 1").and_then(|place| place.split_once(' '));
    match place.and_then(|(cpu, at)| Some((cpu, at.parse::<u64>().ok()?))) {
        Some((cpu, at)) if at % 100 == 0 => format!("{cpu} {} waking b/11 1\n", at + by_us),
        _ => format!("{line}\n"),
    }
}

/// A CPU that has idled for long is out of reach for longer: here 10 us up to 0.3 ms, 25 us up to
/// 1 ms, and 40 us from then on. Of a few spans nothing is taken, nor is it quicker later.
#[test]
fn how_long_a_cpu_has_idled_tells_how_soon_it_is_awake() {
    let machine = machine();
    let (mut lines, mut at) = (String::from("0 0 switch swapper/0 R a/10\n"), 0);
    for i in 0..100 {
        let (idled, took) = [(20, 10), (500, 25), (2000, 40), (9000, 30), (9000, 30)][i % 5];
        let few = i % 5 == 3 && i > 50;
        let (idled, took) = if few { (200, 90) } else { (idled, took) };
        lines += &format!("1 {at} switch b/11 S swapper/0\n0 {} waking b/11 1\n", at + idled);
        at += idled + took;
        lines += &format!("1 {at} switch swapper/0 R b/11\n");
        at += 5;
    }
    let recording = read(script(&lines).as_bytes(), &machine, Asked::default()).unwrap();
    let wakes = idle_wakes(&recording.paths.unwrap());
    assert_eq!(wakes, [10, 10, 25, 40, 40].map(|us| us * 1000));
}

/// An interrupt on an idle CPU has no system call to end: what it takes until the switch is the
/// enqueue's, its own and the idle loop's. The quickest tenth is the path, in both kinds of lines.
#[test]
fn wake_ups_on_idle_cpus_tell_what_an_enqueue_takes() {
    let mut machine = machine();
    (machine.costs.irq_ns, machine.costs.enqueue_ns) = (2_000, 500);
    (machine.costs.idle_loop_ns, machine.costs.pick_ns) = (1_500, 0);
    machine.locks.fast_ns = 0;
    let paths = |twice: bool| {
        let (mut lines, mut at) = (String::from("0 0 switch swapper/0 R b/11\n"), 10);
        for i in 0..100 {
            let took = if i % 4 == 0 { 6 } else { 9 };
            lines += &format!("0 {at} switch b/11 S swapper/0\n0 {} waking b/11 0\n", at + 50);
            if twice {
                lines += &format!("0 {} wakeup b/11 0\n", at + 52);
            }
            at += 50 + took;
            lines += &format!("0 {at} switch swapper/0 R b/11\n");
            // A waker that is preempted takes 20 us.
            lines += &format!("0 {} waking a/10 0\n0 {} switch b/11 R a/10\n", at + 1, at + 21);
            lines += &format!("0 {} switch a/10 S b/11\n", at + 30);
            at += 40;
        }
        read(script(&lines).as_bytes(), &machine, Asked::default()).unwrap().paths.unwrap().costs
    };
    // 6 us for 0.5 of the enqueue, 1.5 of the loop, and 1 of the way out of the interrupt.
    let costs = paths(false);
    assert_eq!((costs.enqueue_ns, costs.idle_loop_ns), (1_000, 3_000));
    assert_eq!(paths(true), costs);
}

/// Waits vary, and a replay's do so as well: 512 wake-ups that took 1 to 512 us.
#[test]
fn wake_ups_of_idle_cpus_vary_as_they_did() {
    let (mut lines, mut at) = (String::from("0 0 switch swapper/0 R a/10\n"), 0);
    for i in 0..512 {
        let (idled, took) = (20, 1 + i * 31 % 512);
        lines += &format!("1 {at} switch b/11 S swapper/0\n0 {} waking b/11 1\n", at + idled);
        at += idled + took;
        lines += &format!("1 {at} switch swapper/0 R b/11\n");
        at += 5;
    }
    let recording = read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap();
    // Two spans have one mean.
    let means = std::array::from_fn(|part| 1_500 + 2_000 * part as u64);
    assert_eq!(recording.paths.unwrap().idle_wakes_ns, [means; 5]);
}

/// The same enqueue is part of a wake-up that preempts its waker, which has a system call to end as
/// well, and of one on an idle CPU: it takes no longer than the quicker one has room for.
#[test]
fn an_enqueue_has_room_in_a_wake_up_of_an_idle_cpu() {
    let mut machine = machine();
    (machine.costs.pick_ns, machine.costs.enqueue_ns) = (0, 500);
    (machine.costs.idle_loop_ns, machine.locks.fast_ns) = (1_500, 0);
    machine.cstates[0].polling = true;
    let (mut lines, mut at) = (String::from("0 0 switch swapper/0 R a/10\n"), 100);
    for _ in 0..50 {
        // 12 us until the waker is preempted, and 4 until an idle CPU runs.
        lines += &format!(
            "1 {at} switch c/12 S swapper/0\n0 {} waking c/12 1\n1 {} switch swapper/0 R c/12\n",
            at + 20,
            at + 24
        );
        lines += &format!(
            "0 {} waking b/11 0\n0 {} switch a/10 R b/11\n0 {} switch b/11 S a/10\n",
            at + 30,
            at + 42,
            at + 50
        );
        at += 100;
    }
    let recording = read(script(&lines).as_bytes(), &machine, Asked::default()).unwrap();
    // A quarter is the enqueue's, as the machine says of what it and the idle loop take.
    let paths = recording.paths.unwrap();
    assert_eq!((paths.costs.enqueue_ns, paths.costs.idle_loop_ns), (1_000, 1_500));
    assert_eq!(idle_wakes(&paths), [1_500; 5]);
}

/// Who is woken by another CPU on its way to sleep comes back at once: from the switch to idle to
/// the switch back there is room for a switch, an enqueue and a choice, whatever was seen of them.
#[test]
fn who_turns_back_from_idle_tells_what_that_takes() {
    let mut machine = machine();
    (machine.costs.pick_ns, machine.costs.dequeue_ns) = (500, 0);
    (machine.costs.switch_ns, machine.costs.enqueue_ns) = (400, 600);
    machine.locks.fast_ns = 0;
    // The wake-up comes so long before the switch to idle, and one in four is quick, us.
    let turns = |woken_before: u64, quick: u64, second: &str| {
        let (mut lines, mut at) = (String::from("0 0 switch swapper/0 R a/10\n"), 100);
        for i in 0..100 {
            let back = at + if i % 4 == 0 { quick } else { 12 };
            // The rest of `schedule()` takes four times as long as the machine says.
            let charge = format!("1 {} runtime b/11 50\n", at - 2);
            let waking = format!("0 {} waking b/11 1\n", at - woken_before);
            lines += &if woken_before > 2 { waking + &charge } else { charge + &waking };
            lines += &format!("1 {at} switch b/11 S swapper/0\n");
            if !second.is_empty() {
                lines += &format!("1 {} {second} b/11 1\n", back - 1);
            }
            lines += &format!("1 {back} switch swapper/0 R b/11\n");
            lines += &format!("1 {} runtime b/11 9\n", back + 10);
            let (left, came) = (back + 12, back + 40);
            lines += &format!("1 {left} switch b/11 R c/12\n1 {came} switch c/12 R b/11\n");
            at += 100;
        }
        let recording = read(script(&lines).as_bytes(), &machine, Asked::default()).unwrap();
        recording.paths.unwrap()
    };
    let paths = turns(1, 5, "");
    // 2 us of `schedule()`, so 3 of 5 are left for a switch and an enqueue of 1.
    assert_eq!((paths.factor, paths.others), (4.0, 3.0));
    let walked = paths.costs.pick_ns + paths.costs.switch_ns + paths.costs.enqueue_ns;
    let times = paths.turns_back_ns.unwrap();
    assert_eq!(times[0], Ns::saturating_sub(5_000, walked));
    assert_eq!(times[IDLE_WAKE_TIMES / 2], 12_000 - walked);
    // The second event of the wake-up, on the idle CPU, is no interrupt.
    assert_eq!(turns(1, 5, "wakeup").turns_back_ns, Some(times));
    // Where there is no room for what was seen nothing is told of the rest.
    assert_eq!((turns(1, 2, "").factor, turns(1, 2, "").others), (4.0, 4.0));
    // Who was woken before it went to sleep need not have slept: another wake-up ended that.
    let paths = turns(30, 5, "");
    assert_eq!((paths.factor, paths.others, paths.turns_back_ns), (4.0, 4.0, None));
}

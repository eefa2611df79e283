//! What interrupts did: whether a timer was for a time, and whose time they took.

use super::{machine, script};
use crate::replay::event::{Event, Left, Named, What};
use crate::replay::reconstruct::Reconstruction;
use crate::replay::{Asked, MEMORY_MAX, read};
use sim_core::{Context, Ns};
use topology::{CpuId, IDLE_WAKE_TIMES, IdleWake};
use workloads::replay::{Act, Recording, Thread, Timed};

/// A thread that works and sleeps eight times: whether it slept for a time each time that a hardirq
/// ended its sleep.
fn naps(work_and_lengths: [(Ns, Ns); 8]) -> Vec<bool> {
    let task = |comm, tid| Named { comm, tid };
    let (napper, idle) = (task(b"napper", 10), task(b"swapper", 0));
    let mut reconstruction = Reconstruction::new(&machine(), Asked::default(), MEMORY_MAX);
    let mut take = |at, current: Named<'static>, context, what| {
        let (comm, tid) = (current.comm, Some(current.tid));
        let event = Event { comm, tid, process: tid, cpu: CpuId(0), at, context, what };
        assert!(reconstruction.take(&event, None).is_ok());
    };
    let switch = |prev, state, next| {
        let state = Left { state, preempted: false };
        What::Switch { prev, prev_prio: 120, state, next, next_prio: 120 }
    };
    take(0, idle, None, switch(idle, b'R', napper));
    let mut at = 0;
    for (work, length) in work_and_lengths {
        at += work;
        take(at, napper, None, switch(napper, b'S', idle));
        at += length;
        let woken = What::Wake { task: napper, prio: 120, target: CpuId(0) };
        take(at, idle, Some(Context::Hardirq), woken);
        take(at, idle, None, switch(idle, b'R', napper));
    }
    let recording = reconstruction.finish().unwrap();
    let timed = |act| match act {
        Act::Timer { timed, .. } => Some(timed != Timed::Until),
        _ => None,
    };
    recording.threads[0].acts.iter().filter_map(timed).collect()
}

/// A high-resolution timer is set for a time, so a replay that is late sleeps as long. It is not
/// if a thread keeps a rhythm: that one sleeps until an instant, and catches up.
#[test]
fn sleeps_that_a_hardirq_ends_are_for_a_time_unless_they_keep_a_rhythm() {
    let backoff = [20, 40, 80, 160, 320, 640, 1280, 2560].map(|us| (30_000 + us * 700, us * 1000));
    assert_eq!(naps(backoff), [true; 8]);
    // A period of 4 ms: work and sleep vary.
    let periodic = [9, 17, 6, 14, 8, 19, 11, 7].map(|n| (n * 100_000, (40 - n) * 100_000));
    let until_known = naps(periodic);
    assert_eq!(until_known[5..], [false; 3], "{until_known:?}");
}

/// Who could see the end of a sleep on an idle CPU came out of idle first. A replay does so again.
#[test]
fn coming_out_of_idle_is_no_part_of_a_sleep() {
    let mut machine = machine();
    machine.cstates[0].exit_ns = 2_000;
    machine.idle_wakes = vec![IdleWake { idle_ns: 5_000_000, wakes_ns: [50_000; IDLE_WAKE_TIMES] }];
    let length_after = |asleep_us: u64| {
        let lines = format!(
            "0 0 switch swapper/0 R timer/10
             0 10 switch timer/10 S swapper/0
             0 {} waking timer/10 0",
            10 + asleep_us
        );
        let asked = Asked { timed: &["timer"], ..Asked::default() };
        let recording = read(script(&lines).as_bytes(), &machine, asked).unwrap();
        let timer = |act| match act {
            Act::Timer { length, .. } => Some(length),
            _ => None,
        };
        recording.threads[0].acts.iter().find_map(timer)
    };
    assert_eq!(length_after(100), Some(98_000));
    // Less than it took to come out: it was awake at once.
    assert_eq!(length_after(1), Some(0));
    assert_eq!(length_after(6_000), Some(5_998_000), "what a recording tells is measured anew");
}

fn thread(recording: &Recording, tid: u32) -> &Thread {
    recording.threads.iter().find(|thread| thread.tid == tid).expect("it was recorded")
}

/// All work of a thread.
fn work_of(recording: &Recording, tid: u32) -> Ns {
    let ns = |act| match act {
        Act::Run(ns) | Act::InPath(ns) | Act::InCall(ns) => ns,
        _ => 0,
    };
    thread(recording, tid).acts.iter().map(ns).sum()
}

/// The work of the thread `a` where an interrupt takes 1 us, an enqueue 4 us and sending an
/// interrupt 0.5 us.
fn work_of_a(lines: &str) -> Ns {
    let mut machine = machine();
    let costs = &mut machine.costs;
    (costs.irq_ns, costs.enqueue_ns, costs.ipi_send_ns) = (1_000, 4_000, 500);
    let text = script(lines);
    work_of(&read(text.as_bytes(), &machine, Asked::default()).unwrap(), 10)
}

/// What interrupts took is no work of the thread that they hit.
#[test]
fn an_interrupt_that_brings_a_task_is_not_the_current_threads_work() {
    let preempted = |by| {
        work_of_a(&format!(
            "0 0 switch swapper/0 R b/11
             1 0 switch swapper/0 R a/10
             1 20 switch a/10 R c/12
             1 30 switch c/12 S a/10
             {by} waking c/12 1
             1 70 switch a/10 R c/12
             1 90 switch c/12 S swapper/0"
        ))
    };
    assert_eq!(preempted("0 60"), 20_000 + 40_000 - 1_000, "told by CPU 0");
    assert_eq!(preempted("0 35"), 20_000 + 40_000, "and the slice has ended meanwhile");
    assert_eq!(
        preempted("1 60"),
        20_000 + 40_000 - 4_000,
        "it was the waker itself, with an enqueue"
    );
}

/// An interrupt for a thread of another CPU that idles leaves the enqueue to that CPU, unless it is
/// seen to enqueue it itself, or another CPU takes the thread.
#[test]
fn an_interrupt_for_an_idle_cpu_enqueues_nobody() {
    let work = |more: &str| {
        let mut machine = machine();
        let costs = &mut machine.costs;
        (costs.irq_ns, costs.enqueue_ns, costs.ipi_send_ns) = (1_000, 4_000, 500);
        (costs.ttwu_fixed_ns, machine.locks.fast_ns) = (0, 0);
        let lines = format!(
            "1 0 switch timer/11 S swapper/0
             0 0 switch swapper/0 R a/10
             0 50 waking timer/11 1
             {more}
             0 100 switch a/10 S swapper/0"
        );
        let asked = Asked { timed: &["timer"], ..Asked::default() };
        work_of(&read(script(&lines).as_bytes(), &machine, asked).unwrap(), 10)
    };
    let idle = work("1 60 switch swapper/0 R timer/11");
    let enqueued = work("0 54 wakeup timer/11 1\n1 60 switch swapper/0 R timer/11");
    assert_eq!(idle - enqueued, 4_000 - 500, "{idle}");
    let busy = "1 55 switch swapper/0 R b/12\n1 60 switch b/12 R timer/11";
    assert_eq!(idle - work(busy), 4_000 - 500, "another task has come there first");
}

/// Whoever an interrupt brings at once waits for its end: that took what the paths did not, and the
/// thread that it hit did not work meanwhile.
#[test]
fn the_rest_of_an_interrupt_is_kept() {
    let rest = |waited_us: u64, before: &str| {
        let mut machine = machine();
        let costs = &mut machine.costs;
        (costs.irq_ns, costs.enqueue_ns, costs.pick_ns) = (1_000, 4_000, 1_500);
        (costs.idle_loop_ns, machine.locks.fast_ns) = (2_000, 0);
        let lines = format!(
            "0 0 switch swapper/0 R timer/10
             0 10 switch timer/10 S {before}
             0 110 waking timer/10 0
             0 {} switch {before} R timer/10",
            110 + waited_us
        );
        let asked = Asked { timed: &["timer"], ..Asked::default() };
        let recording = read(script(&lines).as_bytes(), &machine, asked).unwrap();
        let rest = |act| if let Act::InIrq(ns) = act { Some(ns) } else { None };
        thread(&recording, 10).acts.iter().find_map(rest)
    };
    assert_eq!(rest(12, "swapper/0"), Some(12_000 - 8_000));
    assert_eq!(rest(12, "b/11"), Some(12_000 - 6_000));
    assert_eq!([rest(6, "b/11"), rest(40, "b/11")], [None; 2], "less, and not at once");
}

/// A timer fires where it was set. What ends a sleep on another CPU is a device; and if disks do,
/// so are those that happen to end sleeps on the sleeper's CPU.
#[test]
fn an_interrupt_on_another_cpu_is_that_of_a_device() {
    let devices = |sleeps: &[(&str, u32)]| {
        let (mut lines, mut at) = (String::from("0 0 switch swapper/0 R a/10\n"), 0);
        for (how, cpu) in sleeps {
            lines += &format!("0 {} switch a/10 {how} swapper/0\n", at + 10);
            lines += &format!("{cpu} {} waking a/10 0\n", at + 50);
            lines += &format!("0 {} switch swapper/0 R a/10\n", at + 60);
            at += 100;
        }
        let recording = read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap();
        let device = |act| if let Act::Interrupts(cpu) = act { Some(cpu.0) } else { None };
        thread(&recording, 10).acts.iter().filter_map(device).collect::<Vec<_>>()
    };
    assert_eq!(devices(&[("S", 0), ("S", 1), ("S", 0)]), [1]);
    assert!(devices(&[("D", 0), ("D", 0)]).is_empty());
    assert_eq!(devices(&[("D", 0), ("D", 1), ("D", 0)]), [1, 0]);
}

/// What an interrupt took is no work of the thread that it hit, whatever it woke.
#[test]
fn who_is_hit_by_a_long_interrupt_did_not_work_meanwhile() {
    let work = |waits_us: u64, another: &str| {
        let mut machine = machine();
        (machine.costs.irq_ns, machine.costs.enqueue_ns) = (1_000, 4_000);
        (machine.costs.pick_ns, machine.locks.fast_ns) = (1_500, 0);
        let lines = format!(
            "0 0 switch swapper/0 R timer/11
             0 10 switch timer/11 S other/12
             0 20 switch other/12 S a/10
             0 110 waking timer/11 0
             {another}
             0 {} switch a/10 R timer/11
             0 200 switch timer/11 S a/10
             0 300 switch a/10 S swapper/0",
            110 + waits_us
        );
        let asked = Asked { timed: &["timer", "other"], ..Asked::default() };
        let recording = read(script(&lines).as_bytes(), &machine, asked).unwrap();
        let rest = |act| if let Act::InIrq(ns) = act { ns } else { 0 };
        (work_of(&recording, 10), thread(&recording, 11).acts.iter().map(rest).sum::<Ns>())
    };
    let (short, none) = work(6, "");
    assert_eq!(none, 0);
    assert_eq!(work(16, ""), (short, 10_000));
    // Another one was woken 4 us later: the interrupt's rest is that of the last wake-up.
    assert_eq!(work(16, "0 114 waking other/12 0").1, 6_000);
}

/// Nobody saw when the sleep ended: it is told, so that no wait is made of it.
#[test]
fn a_sleep_whose_end_was_not_recorded_is_known_as_such() {
    let unseen = |waking: &str| {
        let lines = format!(
            "0 0 switch swapper/0 R a/10
             0 10 switch a/10 S swapper/0
             {waking}
             0 110 switch swapper/0 R a/10"
        );
        let recording = read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap();
        recording.threads[0].acts.iter().filter(|act| *act == Act::Unseen).count()
    };
    assert_eq!((unseen(""), unseen("0 105 waking a/10 0")), (1, 0));
}

/// A wakee for an idle CPU goes to that CPU's wake list: the CPU enqueues it.
#[test]
fn a_waker_does_not_enqueue_for_an_idle_cpu() {
    let wakes = |before, seen| {
        work_of_a(&format!(
            "0 0 switch swapper/0 R a/10
             1 0 switch swapper/0 R b/11
             1 10 switch b/11 S {before}
             0 50 waking b/11 1
             {seen}
             1 55 switch {before} R b/11
             0 100 switch a/10 S swapper/0"
        ))
    };
    assert_eq!(wakes("swapper/0", ""), 100_000 - 500);
    assert_eq!(wakes("c/12", ""), 100_000 - 4_000);
    // It enqueued the task itself, for another reason: what that took is known.
    assert_eq!(wakes("swapper/0", "0 53 wakeup b/11 1"), 100_000 - 3_000);
}

/// The timer wheel wakes kernel threads with ticks, here 250 in a second, whatever thread they hit:
/// a text does not tell that. Others that wake up then do so by chance, and so does a kernel thread
/// that devices wake.
#[test]
fn the_timer_wheel_ends_sleeps_with_ticks() {
    let mut lines = String::from("0 0 switch swapper/0 R busy/40\n");
    let mut wakes = |name: &str, hit: &str, at: u64| {
        let (came, left) = (at + 5, at + 8);
        lines += &format!("0 {at} waking {name} 0\n0 {came} switch {hit} R {name}\n");
        lines += &format!("0 {left} switch {name} S {hit}\n");
    };
    for tick in 0..60 {
        let at = 4_000 * (tick + tick / 3) + 250;
        wakes("user/20", "busy/40", at);
        wakes("rcu_preempt/16", "busy/40", at + 10);
        wakes("kworker/0:1/30", "busy/40", if tick % 4 == 3 { at + 20 } else { at + 1_500 });
    }
    let recording = read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap();
    assert_eq!(recording.paths.unwrap().hz, Some(250));
    let at_ticks = |tid: u32| {
        let thread = recording.threads.iter().find(|thread| thread.tid == tid).unwrap();
        let at_tick = |act| if let Act::AtTick(ticks) = act { Some(ticks) } else { None };
        thread.acts.iter().filter_map(at_tick).collect::<Vec<_>>()
    };
    assert!(at_ticks(20).is_empty() && at_ticks(30).is_empty());
    // The first one began before the recording. One in three is a tick longer.
    let rcu = at_ticks(16);
    assert_eq!((rcu.len(), &rcu[1..7]), (60, &[1, 1, 2, 1, 1, 2][..]));
}

/// Three threads sleep; interrupts of their CPU wake all of them, twice, the second time with so
/// much time before the third one. Of each sleep that a timer ended, by thread: when, and how long
/// before it had to if it had slack, us.
fn sleeps(context: Context, prio: i32, gap_us: Ns) -> [Vec<(Ns, Option<Ns>)>; 3] {
    let task = |comm, tid| Named { comm, tid };
    let (idle, tids) = (task(b"swapper", 0), [10, 11, 12]);
    let mut reconstruction = Reconstruction::new(&machine(), Asked::default(), MEMORY_MAX);
    let mut take = |at, tid, context, what| {
        let (comm, tid) = (&b"nap"[..], Some(tid));
        let event = Event { comm, tid, process: tid, cpu: CpuId(0), at, context, what };
        assert!(reconstruction.take(&event, None).is_ok());
    };
    take(0, 0, None, What::Other);
    for (at, gap) in [(1_000_000, 2_000), (2_000_000, gap_us * 1000)] {
        for (after, tid) in [0, 2_000, 2_000 + gap].into_iter().zip(tids) {
            let woken = What::Wake { task: task(b"nap", tid), prio, target: CpuId(0) };
            take(at + after, 0, Some(context), woken);
        }
        let mut prev = idle;
        for (nth, tid) in tids.into_iter().enumerate() {
            let next = task(b"nap", tid);
            let state = Left { state: b'S', preempted: false };
            let what = What::Switch { prev, prev_prio: prio, state, next, next_prio: prio };
            take(at + 60_000 + 10_000 * nth as Ns, prev.tid, None, what);
            prev = next;
        }
        let state = Left { state: b'S', preempted: false };
        let what = What::Switch { prev, prev_prio: prio, state, next: idle, next_prio: 120 };
        take(at + 100_000, prev.tid, None, what);
    }
    let recording = reconstruction.finish().unwrap();
    tids.map(|tid| {
        let (mut sleeps, mut slack) = (Vec::new(), None);
        for act in thread(&recording, tid).acts.iter() {
            match act {
                Act::Early(ns) => slack = Some(ns / 1000),
                Act::Timer { at, .. } => sleeps.push((at / 1000, slack.take())),
                _ => {}
            }
        }
        sleeps
    })
}

/// The first of a batch has to fire by now, and the others fire with it, whenever they wake their
/// threads. Nobody knows how many will come before the first batch is over.
#[test]
fn the_timers_of_a_batch_are_spread_over_their_slack() {
    let all = |slack: [[Ns; 2]; 3]| {
        slack.map(|[first, second]| vec![(1000, Some(first)), (2000, Some(second))])
    };
    assert_eq!(sleeps(Context::Hardirq, 120, 2), all([[0, 0], [25, 16], [33, 33]]));
    // After so long it was another interrupt.
    let [.., third] = sleeps(Context::Hardirq, 120, 31);
    assert_eq!(third, [(1000, Some(33)), (2033, Some(0))]);
    // Devices wake in softirqs, and real-time threads have no slack.
    for (context, prio) in [(Context::Softirq, 120), (Context::Hardirq, 99)] {
        let none = [0, 2, 4].map(|after| vec![(1000 + after, None), (2000 + after, None)]);
        assert_eq!(sleeps(context, prio, 2), none);
    }
}

/// Interrupts of an idle CPU wake threads at these times, us. How long before it had to the timer
/// of each fired, us.
fn early_us(wakes: &[(Ns, Context)]) -> Vec<Option<Ns>> {
    let mut reconstruction = Reconstruction::new(&machine(), Asked::default(), MEMORY_MAX);
    let mut take = |at, context, what| {
        let (comm, tid) = (&b"swapper"[..], Some(0));
        let event = Event { comm, tid, process: tid, cpu: CpuId(0), at, context, what };
        assert!(reconstruction.take(&event, None).is_ok());
    };
    take(0, None, What::Other);
    for (tid, (at, context)) in (10..).zip(wakes) {
        let task = Named { comm: b"nap", tid };
        let woken = What::Wake { task, prio: 120, target: CpuId(0) };
        take(1_000_000 + at * 1000, Some(*context), woken);
    }
    let [prev, next] = [(&b"swapper"[..], 0), (b"nap", 10)].map(|(comm, tid)| Named { comm, tid });
    let state = Left { state: b'R', preempted: false };
    let what = What::Switch { prev, prev_prio: 120, state, next, next_prio: 120 };
    take(2_000_000, None, what);
    let recording = reconstruction.finish().unwrap();
    let early = |act| if let Act::Early(ns) = act { Some(ns / 1000) } else { None };
    let tids = 10..10 + wakes.len() as u32;
    tids.map(|tid| thread(&recording, tid).acts.iter().find_map(early)).collect()
}

/// Two interrupts of a CPU's timers are as far apart as their slack, at least. What else wakes a
/// thread comes after them.
#[test]
fn a_batch_ends_with_its_slack_and_with_what_comes_after_it() {
    let timer = |at| (at, Context::Hardirq);
    let chain: Vec<_> = (0..7).map(|nth| timer(20 * nth)).collect();
    let expected = [0, 25, 33, 0, 16, 33, 0].map(Some);
    assert_eq!(early_us(&chain), expected);
    // One that runs very many is no shorter.
    let long: Vec<_> = (0..30).map(|nth| timer(3 * nth)).collect();
    assert_eq!(early_us(&long)[29], Some(48));
    let device = [timer(0), (4, Context::Softirq), timer(8)];
    assert_eq!(early_us(&device), [Some(0), None, Some(0)]);
}

/// A thread sets its timer, and asks the disk, before it leaves its CPU. A replay does so again.
#[test]
fn leaving_the_cpu_is_a_part_of_a_sleep() {
    let mut machine = machine();
    (machine.costs.pick_ns, machine.costs.dequeue_ns) = (1_000, 500);
    let length = |state: &str, charged_us: u64| {
        let lines = format!(
            "0 0 switch swapper/0 R timer/10
             0 {charged_us} runtime timer/10 {charged_us}
             0 10 switch timer/10 {state} swapper/0
             0 110 waking timer/10 0"
        );
        let asked = Asked { timed: &["timer"], ..Asked::default() };
        let recording = read(script(&lines).as_bytes(), &machine, asked).unwrap();
        let length = |act| match act {
            Act::Timer { length, .. } | Act::For(length) => Some(length),
            _ => None,
        };
        recording.threads[0].acts.iter().find_map(length)
    };
    assert_eq!([length("S", 9), length("D", 9)], [Some(101_500); 2]);
    // After the charge in the dequeue the CPU looked for other work.
    assert_eq!([length("S", 7), length("D", 7)], [Some(103_000); 2]);
}

/// `a` is hit by the interrupt of a timer, and then by a disk's.
#[test]
fn a_device_that_comes_right_after_a_timer_is_an_interrupt_of_its_own() {
    let work = |second: Ns| {
        let lines = format!(
            "1 0 switch swapper/1 R disk/12
             1 5 switch disk/12 D swapper/1
             0 6 switch swapper/0 R timer/11
             0 10 switch timer/11 S a/10
             0 110 waking timer/11 0
             0 {second} waking disk/12 0
             0 300 switch a/10 S timer/11"
        );
        let mut machine = machine();
        machine.costs.irq_ns = 1_000;
        let asked = Asked { timed: &["timer", "disk"], ..Asked::default() };
        work_of(&read(script(&lines).as_bytes(), &machine, asked).unwrap(), 10)
    };
    assert_eq!((work(130), work(150)), (290_000 - 2_000, 290_000 - 2_000));
}

//! Replays of recordings whose threads were made for the purpose: which sleeps take place.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use sim_core::{Config, Ns, Observer, SleepState, StopReason, TaskId, World};
use std::sync::Arc;
use test_support::{free_machine, simulate};
use topology::{CpuId, IDLE_WAKE_TIMES, IdleWake, Machine};
use workloads::replay::{Act, Acts, Paths, Recording, Replay, Thread, Timed, Timers};

const MS: Ns = 1_000_000;

/// Which threads left their CPUs, by their tids, and when.
#[derive(Default)]
struct Left(Vec<(u32, Ns)>);

impl Observer for Left {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, _next: TaskId) {
        if prev.is_task() {
            self.0.push((w.pid(cpu, prev).0, w.now));
        }
    }
}

/// A thread that was there before the recording.
fn thread(tid: u32, acts: &[Act]) -> Thread {
    let mut all = Acts::default();
    acts.iter().for_each(|act| all.push(*act));
    Thread {
        tid,
        name: 0,
        nice: 0,
        process: tid,
        kthread: false,
        bound_to: None,
        first_cpu: Some(CpuId(tid - 1010)),
        measured: true,
        session: 0,
        active_ns: 0,
        acts: all,
    }
}

/// Two threads on a machine where nothing but work takes time: how often the second one leaves its
/// CPU, its end included, and when all are done.
fn two(first: &[Act], second: &[Act]) -> (usize, Ns) {
    two_at(None, first, second)
}

/// The same, of a recording with so many ticks per second.
fn two_at(hz: Option<u32>, first: &[Act], second: &[Act]) -> (usize, Ns) {
    let threads = vec![thread(1010, first), thread(1011, second)];
    let paths = hz.is_some().then(|| Paths {
        costs: free_machine(1).costs,
        factor: 1.0,
        others: 1.0,
        idle_wakes_ns: [[0; IDLE_WAKE_TIMES]; _],
        turns_back_ns: None,
        busy_ipi_ns: 0,
        ipi_is_slow: false,
        hz,
    });
    let recording = Recording { names: vec!["a".into()], threads, paths, ..Recording::default() };
    let program = Replay::new(Arc::new(recording), Timers::default());
    let policy = Fcfs::default();
    let mut sim = simulate(free_machine(2), Config::default(), policy, program, Left::default());
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    (sim.observer.0.iter().filter(|left| left.0 == 1011).count(), sim.w.now)
}

/// Tasks that have waited, and whether that is told.
#[derive(Default)]
struct Told(Vec<(u32, bool)>);

impl Observer for Told {
    fn sched_delay(&mut self, w: &World, task: TaskId, _ns: Ns) {
        self.0.push((task.0, !w.tasks[task].wait_untold));
    }
}

/// A sleep whose end nobody saw has a wait that nobody could tell; the next one's is told again.
#[test]
fn the_wait_after_an_unseen_end_is_not_told() {
    let timer = |ns| Act::Timer { at: ns, length: ns, timed: Timed::For };
    let acts = [Act::Unseen, timer(MS), Act::Run(MS), timer(MS), Act::Run(MS)];
    let threads = vec![thread(1010, &acts)];
    let recording = Recording { names: vec!["a".into()], threads, ..Recording::default() };
    let program = Replay::new(Arc::new(recording), Timers::default());
    let policy = Fcfs::default();
    let mut sim = simulate(free_machine(1), Config::default(), policy, program, Told::default());
    // It slept when the recording began, whoever saw its end.
    assert!(sim.w.tasks[TaskId(0)].attr.rested);
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    let told: Vec<bool> = sim.observer.0.iter().filter(|it| it.0 == 0).map(|it| it.1).collect();
    assert_eq!(told[told.len() - 2..], [false, true], "{told:?}");
}

/// The interrupt that ends a sleep goes on for as long as it did, whoever it hits.
#[test]
fn the_interrupt_of_a_timer_takes_as_long_as_it_did() {
    let timer = |ns| Act::Timer { at: ns, length: ns, timed: Timed::For };
    let ends = |acts: &[Act]| two(&[Act::Run(MS)], acts).1;
    let sleeps = [timer(2 * MS), Act::Run(MS), timer(2 * MS), Act::Run(MS)];
    assert_eq!(ends(&sleeps), 6 * MS);
    let rests = [timer(2 * MS), Act::InIrq(7_000), Act::Run(MS), timer(2 * MS), Act::Run(MS)];
    assert_eq!(ends(&rests), 6 * MS + 7_000);
}

/// A device interrupts the CPU that it has interrupted in the recording, on the same machine: there
/// the interrupt's rest delays whoever runs. Elsewhere it interrupts the sleeper's CPU.
#[test]
fn a_device_interrupts_its_own_cpu() {
    let sleep = |act| [Act::Interrupts(CpuId(0)), act, Act::InIrq(7_000), Act::Run(MS)];
    let ends = |act, same_machine| {
        let threads = vec![thread(1010, &[Act::Run(5 * MS)]), thread(1011, &sleep(act))];
        let recording = Recording { names: vec!["a".into()], threads, ..Recording::default() };
        let program = Replay::new(Arc::new(recording), Timers::default());
        let program = if same_machine { program.on_same_machine() } else { program };
        let (config, policy) = (Config::default(), Fcfs::default());
        let mut sim = simulate(free_machine(2), config, policy, program, Left::default());
        assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
        let end = |tid| sim.observer.0.iter().rfind(|left| left.0 == tid).unwrap().1;
        [end(1010), end(1011)]
    };
    let timer = Act::Timer { at: 2 * MS, length: 2 * MS, timed: Timed::Until };
    for sleep in [Act::For(2 * MS), timer] {
        assert_eq!(ends(sleep, true), [5 * MS + 7_000, 3 * MS]);
        assert_eq!(ends(sleep, false), [5 * MS, 3 * MS + 7_000]);
    }
    // It may come at once, or have come before.
    assert_eq!(ends(Act::For(1), true), [5 * MS + 7_000, MS + 1]);
    assert_eq!(ends(Act::For(0), true), [5 * MS, MS]);
}

/// Two sleeps end at a time, in one interrupt: it wakes both, then goes on for as long as both say.
#[test]
fn one_interrupt_ends_the_sleeps_that_are_due() {
    let sleep = [Act::Interrupts(CpuId(0)), Act::For(2 * MS), Act::InIrq(7_000), Act::Run(MS)];
    let threads =
        vec![thread(1010, &[Act::Run(5 * MS)]), thread(1011, &sleep), thread(1012, &sleep)];
    let recording = Recording { names: vec!["a".into()], threads, ..Recording::default() };
    let program = Replay::new(Arc::new(recording), Timers::default()).on_same_machine();
    let (config, policy) = (Config::default(), Fcfs::default());
    let mut sim = simulate(free_machine(3), config, policy, program, Left::default());
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    let end = |tid| sim.observer.0.iter().rfind(|left| left.0 == tid).unwrap().1;
    assert_eq!([1010, 1011, 1012].map(end), [5 * MS + 14_000, 3 * MS, 3 * MS]);
}

/// When each of two threads of one CPU is back from a timer that fires at 1 ms, and one that fires
/// 30 us later, so long before they have to.
fn back_from_timers(early: [Option<Ns>; 2]) -> [Ns; 2] {
    let threads = [1010, 1011].map(|tid| {
        let nth = tid as usize - 1010;
        let at = MS + 30_000 * nth as Ns;
        let timer = Act::Timer { at, length: at, timed: Timed::Until };
        let acts: Vec<_> = early[nth].map(Act::Early).into_iter().chain([timer]).collect();
        Thread { first_cpu: Some(CpuId(0)), ..thread(tid, &acts) }
    });
    let recording =
        Recording { names: vec!["a".into()], threads: threads.into(), ..Recording::default() };
    let program = Replay::new(Arc::new(recording), Timers::default());
    let (machine, policy) = (free_machine(1), Fcfs::default());
    let mut sim = simulate(machine, Config::default(), policy, program, Left::default());
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    let left = sim.observer.0;
    [1010, 1011].map(|tid| left.iter().rfind(|left| left.0 == tid).unwrap().1)
}

/// A timer has 50 us of slack: one that has to fire runs those that may.
#[test]
fn timers_whose_slack_has_begun_fire_together() {
    assert_eq!(back_from_timers([None, None]), [MS, MS + 30_000]);
    assert_eq!(back_from_timers([Some(0), None]), [MS, MS + 30_000]);
    assert_eq!(back_from_timers([Some(0), Some(0)]), [MS, MS]);
    assert_eq!(back_from_timers([Some(0), Some(20_000)]), [MS, MS]);
    assert_eq!(back_from_timers([Some(0), Some(20_001)]), [MS, MS + 50_001]);
    assert_eq!(back_from_timers([Some(10_000), Some(0)]), [MS + 10_000, MS + 10_000]);
}

/// Who is late, but not later than its timer has to fire, sleeps until that.
#[test]
fn a_late_thread_sleeps_for_the_rest_of_its_slack() {
    let done = |early| {
        let timer = Act::Timer { at: MS, length: MS, timed: Timed::Until };
        two(&[], &[Act::Run(MS + 10_000), Act::Early(early), timer]).1
    };
    assert_eq!((done(20_000), done(5_000)), (MS + 20_000, MS + 10_000));
}

fn wake() -> Act {
    Act::Wake { thread: 1, sync: false, to_idle: false }
}

#[test]
fn a_recorded_sleep_takes_place_though_its_waker_came_first() {
    let early = [Act::Run(MS), wake()];
    let sleeper = |wait| [Act::Run(3 * MS), wait, Act::Run(MS)];
    // It sleeps for no time (its CPU idles for a nanosecond), and ends.
    assert_eq!(two(&early, &sleeper(Act::Wait)), (2, 4 * MS + 1));
    // An answer that was there in the recording need not be slept for.
    assert_eq!(two(&early, &sleeper(Act::Answer)), (1, 4 * MS));
    // Who comes too late for both sleeps ends them.
    let late = [Act::Run(5 * MS), wake()];
    assert_eq!(two(&late, &sleeper(Act::Wait)), (2, 6 * MS));
    assert_eq!(two(&late, &sleeper(Act::Answer)), (2, 6 * MS));
}

/// In the recording the waker spent the time of a wake-up, so it does where its wakee comes later.
#[test]
fn a_wake_up_before_the_sleep_takes_its_waker_as_long() {
    let waker_ends = |wait| {
        let mut machine = free_machine(2);
        (machine.costs.ttwu_fixed_ns, machine.costs.enqueue_ns) = (1_000, 2_000);
        let waker = thread(1010, &[Act::Run(MS), wake()]);
        let wakee = thread(1011, &[Act::Run(3 * MS), wait, Act::Run(MS)]);
        let threads = vec![waker, wakee];
        let recording = Recording { names: vec!["a".into()], threads, ..Recording::default() };
        let program = Replay::new(Arc::new(recording), Timers::default());
        let (config, policy) = (Config::default(), Fcfs::default());
        let mut sim = simulate(machine, config, policy, program, Left::default());
        assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
        let end = sim.observer.0.iter().find(|left| left.0 == 1010);
        end.expect("it has ended").1
    };
    // Nothing was to be woken for an answer that is there.
    assert_eq!(waker_ends(Act::Wait) - waker_ends(Act::Answer), 3_000);
}

#[test]
fn each_sleep_takes_place_once() {
    let early = [wake(), wake(), Act::Run(6 * MS), wake()];
    let sleeper = [Act::Run(MS), Act::Wait, Act::Run(MS), Act::Wait, Act::Run(MS), Act::Wait];
    // Two of no time, one of 3 ms, and the end.
    assert_eq!(two(&early, &sleeper), (4, 6 * MS));
}

/// Who leaves the only CPU, one after the other and when, from the first time that the thread leaves
/// it that wakes three others, which preempt it; with these acts after a wake-up.
fn waker_and_three(after: &[Act]) -> Vec<(u32, Ns)> {
    let mut waker = vec![Act::Run(20 * MS)];
    for thread in 1..=3 {
        waker.push(Act::Wake { thread, sync: false, to_idle: false });
        waker.extend_from_slice(after);
    }
    waker.push(Act::Run(MS));
    let mut threads = vec![thread(1010, &waker)];
    threads.extend((1011..=1013).map(|tid| thread(tid, &[Act::Wait, Act::Run(100_000)])));
    threads.iter_mut().for_each(|thread| thread.first_cpu = Some(CpuId(0)));
    let recording = Recording { names: vec!["a".into()], threads, ..Recording::default() };
    let program = Replay::new(Arc::new(recording), Timers::default());
    let policy: Fair = Fair::new(Features::default(), Tunables::for_cpus(1));
    let mut sim = simulate(free_machine(1), Config::default(), policy, program, Left::default());
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    let is_waker = |left: &(u32, Ns)| left.0 == 1010;
    let from = sim.observer.0.iter().position(is_waker).expect("it has ended");
    sim.observer.0[from..].to_vec()
}

fn tids(left: &[(u32, Ns)]) -> Vec<u32> {
    left.iter().map(|(tid, _)| *tid).collect()
}

/// `wake_up_all()` is one path: the first wakee that is to preempt comes when all are awake. Who
/// has time for a system call in between is preempted at the end of each.
#[test]
fn wake_ups_of_one_path_are_not_interrupted() {
    for between in [0, 1, 399] {
        let left = waker_and_three(&[Act::Run(between)]);
        assert_eq!(tids(&left), [1010, 1011, 1012, 1013, 1010], "{between} ns");
    }
    for between in [400, 3000] {
        let left = waker_and_three(&[Act::Run(between)]);
        assert_eq!(tids(&left), [1010, 1011, 1010, 1012, 1010, 1013, 1010], "{between} ns");
    }
}

/// What the kernel still did after a wake-up, before the wakee took the CPU, comes before that
/// again.
#[test]
fn a_wakee_waits_for_the_end_of_the_path() {
    for in_path in [1, 5_000, 70_000] {
        let left = waker_and_three(&[Act::InPath(in_path)]);
        assert_eq!(tids(&left), [1010, 1011, 1010, 1012, 1010, 1013, 1010], "{in_path} ns");
        // Nothing else takes time on this machine: a wake-up comes when the last wakee has ended.
        let from_wakee_to_waker = [1, 3, 5].map(|wakee| left[wakee + 1].1 - left[wakee].1);
        assert_eq!(from_wakee_to_waker, [in_path, in_path, MS]);
    }
}

/// Who sleeps or exits in the system call of its wake-up is not preempted before.
#[test]
fn a_wakee_waits_for_a_waker_that_sleeps_in_its_call() {
    let leaves = |ends: &[Act]| {
        let mut waker = vec![Act::Run(20 * MS), wake()];
        waker.extend_from_slice(ends);
        let wakee = [Act::Wait, Act::Run(MS)];
        let mut threads = vec![thread(1010, &waker), thread(1011, &wakee)];
        threads.iter_mut().for_each(|thread| thread.first_cpu = Some(CpuId(0)));
        let recording = Recording { names: vec!["a".into()], threads, ..Recording::default() };
        let program = Replay::new(Arc::new(recording), Timers::default());
        let policy: Fair = Fair::new(Features::default(), Tunables::for_cpus(1));
        let machine = free_machine(1);
        let mut sim = simulate(machine, Config::default(), policy, program, Left::default());
        assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
        tids(&sim.observer.0[1..])
    };
    let disk = [Act::Sleeps(SleepState::Uninterruptible), Act::For(3 * MS)];
    for ns in [0, 5_000] {
        let in_call = [&[Act::InCall(ns)][..], &disk].concat();
        assert_eq!(leaves(&in_call), [1010, 1011, 1010], "{ns}");
        assert_eq!(leaves(&[Act::InCall(ns)]), [1010, 1011], "{ns}");
    }
    // Preempted at the end of the path, it sleeps later.
    let preempted = [&[Act::InPath(5_000)][..], &disk].concat();
    assert_eq!(leaves(&preempted), [1010, 1011, 1010, 1010]);
}

/// Who sends to a thread that does not wait finds nobody to wake, not even if that one sleeps for
/// another reason.
#[test]
fn a_message_to_a_thread_that_does_not_wait_wakes_nobody() {
    let sender = [Act::Run(MS), wake(), Act::Run(MS)];
    let nap = Act::For(3 * MS);
    assert_eq!(two(&sender, &[nap, Act::Wait, Act::Run(MS)]), (3, 4 * MS + 1));
}

/// The timer wheel ends a sleep with a tick: one until an instant with the tick that is next to
/// it, if that is to come, and one for a time with as many ticks as it did. Other sleeps end when
/// they do.
#[test]
fn a_sleep_of_the_timer_wheel_ends_with_a_tick() {
    // A tick comes every 4 ms.
    let ends = |acts: &[Act]| two(&[Act::Run(1)], acts).1;
    let until = |at| Act::Timer { at, length: at, timed: Timed::Until };
    for (at, end) in [(MS, 4), (5 * MS, 4), (7 * MS, 8), (8 * MS, 8)] {
        assert_eq!(ends(&[Act::AtTick(9), until(at)]), end * MS);
    }
    let late = [Act::Run(7 * MS), Act::AtTick(1), until(6 * MS)];
    assert_eq!(ends(&late), 7 * MS);
    let length = |ns| Act::Timer { at: ns, length: ns, timed: Timed::For };
    let at_rate = |acts: &[Act], hz| two_at(hz, &[Act::Run(1)], acts).1;
    for (ticks, end) in [(1, 4), (2, 8), (3, 12)] {
        let acts = [Act::Run(MS), Act::AtTick(ticks), length(6 * MS)];
        assert_eq!(at_rate(&acts, Some(250)), end * MS);
        // Of other ticks it is the time that counts.
        assert_eq!([at_rate(&acts, Some(1000)), at_rate(&acts, None)], [8 * MS; 2]);
    }
    let then = [Act::AtTick(1), length(5 * MS), Act::Run(MS), length(MS / 2)];
    assert_eq!(ends(&then), 5 * MS + MS / 2);
}

/// Who is woken before the tick comes sleeps on until that tick.
#[test]
fn a_wake_up_does_not_move_the_tick_of_a_sleep() {
    let wake = Act::Wake { thread: 1, sync: false, to_idle: false };
    let first = [Act::Run(5 * MS), wake, Act::Run(MS), wake];
    for timed in [Timed::Until, Timed::For] {
        let sleep = Act::Timer { at: 8 * MS + 100, length: 8 * MS, timed };
        assert_eq!(two(&first, &[Act::AtTick(2), sleep]).1, 8 * MS);
    }
}

/// A device's interrupt that comes with a tick does so on its CPU.
#[test]
fn a_device_comes_with_a_tick_of_its_cpu() {
    let sleep = Act::Timer { at: 5 * MS, length: 5 * MS, timed: Timed::Until };
    let acts = [Act::AtTick(1), Act::Interrupts(CpuId(1)), sleep];
    let recording = Recording {
        names: vec!["a".into()],
        threads: vec![thread(1010, &acts)],
        ..Recording::default()
    };
    let program = Replay::new(Arc::new(recording), Timers::default()).on_same_machine();
    let machine = Machine { tick_skew_ns: 30_000, ..free_machine(2) };
    let (config, policy) = (Config::default(), Fcfs::default());
    let mut sim = simulate(machine, config, policy, program, Left::default());
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    assert_eq!(sim.w.now, 4 * MS + 30_000);
}

/// Who finds its wake-up there comes back as it came when it was recorded: at once if it was woken
/// on its way to sleep, which holds for one wait.
#[test]
fn who_was_woken_on_its_way_to_sleep_comes_back_at_once() {
    let ends = |waits: &[Act]| {
        let wake = Act::Wake { thread: 1, sync: false, to_idle: true };
        let second = [&[Act::Run(MS)], waits, &[Act::Run(MS), Act::Wait, Act::Run(MS)]].concat();
        let threads = vec![thread(1010, &[wake, wake]), thread(1011, &second)];
        let recording = Recording { names: vec!["a".into()], threads, ..Recording::default() };
        let program = Replay::new(Arc::new(recording), Timers::default());
        let mut machine = free_machine(2);
        machine.turns_back_ns = Some(Box::new([7_000; IDLE_WAKE_TIMES]));
        machine.idle_wakes = vec![IdleWake { idle_ns: 0, wakes_ns: [90_000; IDLE_WAKE_TIMES] }];
        let (config, policy) = (Config::default(), Fcfs::default());
        let mut sim = simulate(machine, config, policy, program, Left::default());
        assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
        sim.w.now - 3 * MS
    };
    let (woken, on_its_way) = (ends(&[Act::Wait]), ends(&[Act::OnItsWay, Act::Wait]));
    assert_eq!(woken - on_its_way, 90_000 - 7_000);
}

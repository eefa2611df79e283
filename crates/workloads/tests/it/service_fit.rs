//! Models of recordings whose threads were made for the purpose.

use sim_core::{Ns, SleepState};
use topology::CpuId;
use workloads::replay::{Act, Acts, Recording, Thread, Timed};
use workloads::service::fit::fit;
use workloads::service::{Gaps, Role, Spec};

const MS: Ns = 1_000_000;
const SECOND: Ns = 1_000 * MS;

/// A thread that was there before the recording, with a name by its number.
fn thread(name: u16, acts: impl IntoIterator<Item = Act>) -> Thread {
    let mut all = Acts::default();
    acts.into_iter().for_each(|act| all.push(act));
    Thread {
        tid: 1000 + u32::from(name),
        name,
        nice: 0,
        process: name.into(),
        kthread: false,
        bound_to: None,
        first_cpu: Some(CpuId(0)),
        measured: true,
        session: 0,
        active_ns: 0,
        acts: all,
    }
}

/// A second of these threads, whose names are letters.
fn model(threads: Vec<Thread>) -> Spec {
    let names = ('a'..='z').map(String::from).collect();
    let times = Recording { length_ns: SECOND, elapsed_ns: SECOND, ..Recording::default() };
    fit(&Recording { names, threads, ..times }).unwrap()
}

fn role<'a>(spec: &'a Spec, name: &str) -> &'a Role {
    spec.roles.iter().find(|role| role.name == name).unwrap()
}

fn wake(thread: u32) -> Act {
    Act::Wake { thread, sync: false, to_idle: false }
}

fn repeat(n: usize, acts: &[Act]) -> Vec<Act> {
    acts.iter().copied().cycle().take(n * acts.len()).collect()
}

fn near(value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} for {expected}");
}

#[test]
fn wake_ups_from_outside_are_arrivals() {
    let arrival = |i: u64| {
        [Act::Timer { at: 7 * i * MS, length: MS, timed: Timed::Until }, Act::Run(500_000)]
    };
    let spec = model(vec![thread(0, (1..100).flat_map(arrival))]);
    let served = role(&spec, "a");
    let Some(Gaps::Seen(gaps)) = &served.gaps else { panic!("{served:?}") };
    near(gaps.mean(), 7e6);
    near(served.work.mean(), 5e5);
    assert_eq!((served.busy, &served.timer, served.wakes.len()), (0.0, &None, 0));
}

#[test]
fn a_timer_that_repeats_is_the_threads_own() {
    let sleep = Act::Timer { at: 0, length: 3 * MS, timed: Timed::Usual };
    let spec = model(vec![thread(0, repeat(50, &[Act::Run(MS), sleep]))]);
    let clock = role(&spec, "a");
    let timer = clock.timer.as_ref().unwrap();
    near(timer.length.mean(), 3e6);
    near(timer.per_turn, 1.0);
    assert_eq!((clock.busy, &clock.gaps), (1.0, &None));
}

/// Of ten turns of the first each wakes the second once; the second answers nine times, and its
/// last turn is the recording's last. A loop of two messages in the mean goes on for ever.
#[test]
fn a_loop_that_nothing_feeds_is_closed() {
    let mut first = thread(0, repeat(10, &[Act::Run(MS), wake(1), Act::Run(MS), Act::Wait]));
    let mut second = thread(1, repeat(10, &[Act::Wait, Act::Run(4 * MS), wake(0)]));
    (first.active_ns, second.active_ns) = (SECOND, 2 * SECOND);
    second.acts = second.acts.with(&[(second.acts.end() - 2, None)]);
    let spec = model(vec![first, second]);
    let [first, second] = ["a", "b"].map(|name| role(&spec, name));
    let gain = first.wakes[0].per_turn * second.wakes[0].per_turn;
    assert!((gain - 1.0).abs() < 1e-6, "{gain}");
    near(first.wakes[0].at, 0.5);
    near(second.wakes[0].at, 1.0);
    // Three were active; two roles owe half a message each.
    assert_eq!(first.busy + second.busy, 2.0);
}

#[test]
fn a_loop_that_is_fed_stays_as_it_was() {
    let arrival = |i: u64| {
        let at = 9 * i * MS;
        [
            Act::Timer { at, length: MS, timed: Timed::Until },
            Act::Run(MS),
            wake(1),
            Act::Wait,
            Act::Run(MS),
        ]
    };
    let asks = thread(0, (1..100).flat_map(arrival));
    let answers = thread(1, repeat(99, &[Act::Wait, Act::Run(MS), wake(0)]));
    let spec = model(vec![asks, answers]);
    let [asks, answers] = ["a", "b"].map(|name| role(&spec, name));
    assert!(asks.gaps.is_some() && answers.gaps.is_none());
    near(asks.wakes[0].per_turn, 0.5);
    near(answers.wakes[0].per_turn, 1.0);
}

/// It began to work, and nobody is seen to wake it ever after.
#[test]
fn a_hog_goes_on() {
    let spec = model(vec![thread(0, [Act::Run(900 * MS)])]);
    let hog = role(&spec, "a");
    assert_eq!((hog.busy, hog.wakes.len(), hog.wakes[0].role), (1.0, 1, 0));
    near(hog.wakes[0].per_turn, 1.0);
}

#[test]
fn who_works_much_more_has_another_role() {
    let acts =
        |ns| repeat(20, &[Act::Run(ns), Act::Timer { at: 0, length: MS, timed: Timed::Usual }]);
    let threads = [1, 2, 100].map(|n| thread(0, acts(n * MS / 10)));
    let spec = model(threads.to_vec());
    let [most, less] = ["a", "a 2"].map(|name| role(&spec, name));
    assert_eq!((most.threads, less.threads, less.comm.as_str()), (1, 2, "a"));
}

#[test]
fn partners_and_pools_are_told_apart() {
    let asks = |to: [u32; 2]| {
        repeat(20, &[Act::Run(MS), wake(to[0]), Act::Run(MS), wake(to[1]), Act::Wait])
    };
    let answers = || thread(1, repeat(40, &[Act::Wait, Act::Run(MS)]));
    let own = model(vec![thread(0, asks([2, 2])), thread(0, asks([3, 3])), answers(), answers()]);
    let any = model(vec![thread(0, asks([2, 3])), thread(0, asks([3, 2])), answers(), answers()]);
    assert_eq!([own, any].map(|spec| role(&spec, "a").wakes[0].own), [true, false]);
}

#[test]
fn others_are_background_if_they_worked() {
    let other = |name, ns| {
        let acts =
            repeat(30, &[Act::Run(ns), Act::Timer { at: 0, length: MS, timed: Timed::Usual }]);
        Thread { measured: false, session: 2, ..thread(name, acts) }
    };
    let kthread = Thread { kthread: true, ..other(3, MS) };
    let own = thread(0, [Act::Run(MS)]);
    let spec = model(vec![own, other(1, MS), other(2, 1_000), kthread]);
    let names: Vec<_> = spec.roles.iter().map(|role| role.name.as_str()).collect();
    assert_eq!(names, ["a", "b"]);
    let other = role(&spec, "b");
    assert!(other.background && other.session == 2);
}

#[test]
fn disks_are_waited_for_within_a_turn() {
    let disk = |length| [Act::Sleeps(SleepState::Uninterruptible), Act::For(length), Act::Run(MS)];
    let more = Act::Sleeps(SleepState::Interruptible);
    let acts = [Act::Wait, Act::Run(MS)].into_iter().chain(disk(2 * MS)).chain([more, Act::Wait]);
    let reads = thread(0, acts.chain([Act::Run(2 * MS), Act::Yield]));
    let wakes = thread(
        1,
        repeat(2, &[Act::Run(MS), wake(0), Act::Timer { at: 0, length: MS, timed: Timed::Usual }]),
    );
    let spec = model(vec![reads, wakes]);
    let reads = role(&spec, "a");
    let disk = reads.disk.as_ref().unwrap();
    near(reads.work.mean(), 2e6);
    near(disk.per_turn, 0.5);
    near(disk.length.mean(), 2e6);
    near(reads.yields_per_ms, 0.25);
}

#[test]
fn without_work_there_is_no_model() {
    let idle = thread(0, [Act::Wait]);
    assert_eq!(
        fit(&Recording { names: vec!["a".into()], threads: vec![idle], ..Recording::default() }),
        None
    );
    assert_eq!(fit(&Recording::default()), None);
}

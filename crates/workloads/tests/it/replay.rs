//! Replays of recordings whose threads were made for the purpose: which sleeps take place.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use sim_core::{Config, Ns, Observer, StopReason, TaskId, World};
use std::sync::Arc;
use test_support::{free_machine, simulate};
use topology::CpuId;
use workloads::replay::{Act, Acts, Recording, Replay, Thread, Timers};

const MS: Ns = 1_000_000;

/// Counts how often each thread left its CPU, by its tid.
#[derive(Default)]
struct Left(Vec<u32>);

impl Observer for Left {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, _next: TaskId) {
        if prev.is_task() {
            self.0.push(w.pid(cpu, prev).0);
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
    let threads = vec![thread(1010, first), thread(1011, second)];
    let recording = Recording { names: vec!["a".into()], threads, ..Recording::default() };
    let program = Replay::new(Arc::new(recording), Timers::default());
    let policy = Fcfs::default();
    let mut sim = simulate(free_machine(2), Config::default(), policy, program, Left::default());
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    (sim.observer.0.iter().filter(|tid| **tid == 1011).count(), sim.w.now)
}

fn wake() -> Act {
    Act::Wake { thread: 1, sync: false }
}

#[test]
fn a_recorded_sleep_takes_place_though_its_waker_came_first() {
    let early = [Act::Run(MS), wake()];
    let sleeper = |wait| [Act::Run(3 * MS), wait, Act::Run(MS)];
    // It sleeps for no time, and ends.
    assert_eq!(two(&early, &sleeper(Act::Wait)), (2, 4 * MS));
    // An answer that was there in the recording need not be slept for.
    assert_eq!(two(&early, &sleeper(Act::Answer)), (1, 4 * MS));
    // Who comes too late for both sleeps ends them.
    let late = [Act::Run(5 * MS), wake()];
    assert_eq!(two(&late, &sleeper(Act::Wait)), (2, 6 * MS));
    assert_eq!(two(&late, &sleeper(Act::Answer)), (2, 6 * MS));
}

#[test]
fn each_sleep_takes_place_once() {
    let early = [wake(), wake(), Act::Run(6 * MS), wake()];
    let sleeper = [Act::Run(MS), Act::Wait, Act::Run(MS), Act::Wait, Act::Run(MS), Act::Wait];
    // Two of no time, one of 3 ms, and the end.
    assert_eq!(two(&early, &sleeper), (4, 6 * MS));
}

/// Who leaves the only CPU, one after the other, from the first time that the thread leaves it that
/// wakes three others, with so much work between. They preempt it.
fn waker_and_three(between: Ns) -> Vec<u32> {
    let wake = |thread| Act::Wake { thread, sync: false };
    let waker = [
        Act::Run(20 * MS),
        wake(1),
        Act::Run(between),
        wake(2),
        Act::Run(between),
        wake(3),
        Act::Run(MS),
    ];
    let mut threads = vec![thread(1010, &waker)];
    threads.extend((1011..=1013).map(|tid| thread(tid, &[Act::Wait, Act::Run(100_000)])));
    threads.iter_mut().for_each(|thread| thread.first_cpu = Some(CpuId(0)));
    let recording = Recording { names: vec!["a".into()], threads, ..Recording::default() };
    let program = Replay::new(Arc::new(recording), Timers::default());
    let policy: Fair = Fair::new(Features::default(), Tunables::for_cpus(1));
    let mut sim = simulate(free_machine(1), Config::default(), policy, program, Left::default());
    assert_eq!(sim.run_until(1000 * MS), StopReason::Done);
    let is_waker = |tid: &u32| *tid == 1010;
    let from = sim.observer.0.iter().position(is_waker).expect("it has ended");
    sim.observer.0[from..].to_vec()
}

/// `wake_up_all()` is one path: the first wakee that is to preempt comes when all are awake. Who
/// has time for a system call in between is preempted at the end of each.
#[test]
fn wake_ups_of_one_path_are_not_interrupted() {
    for between in [0, 1, 399] {
        assert_eq!(waker_and_three(between), [1010, 1011, 1012, 1013, 1010], "{between} ns");
    }
    assert_eq!(waker_and_three(400), [1010, 1011, 1010, 1012, 1010, 1013, 1010]);
    assert_eq!(waker_and_three(3000), [1010, 1011, 1010, 1012, 1010, 1013, 1010]);
}

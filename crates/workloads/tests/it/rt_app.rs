//! What rt-app's events do, seen from outside: which thread ran when.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use sim_core::{Config, NoObserver, Ns, Observer, Program, Simulation, StopReason, TaskId, World};
use std::collections::HashMap;
use std::sync::Arc;
use test_support::{TraceHash, free_machine, simulate};
use topology::{BackgroundThread, CpuId, CpuSet, Machine, Per, Variation};
use workloads::background::WithBackground;
use workloads::rt_app::{
    Attrs, BarrierSpec, Config as AppConfig, Event, PhaseSpec, RtApp, Spec, TaskSpec, TimerSpec,
};
use workloads::speed::Speed;

const MS: Ns = 1_000_000;

/// A thread object with one phase.
fn task(name: &str, loops: Option<u64>, events: Vec<Event>) -> TaskSpec {
    TaskSpec {
        taskgroup: None,
        name: name.to_string(),
        instances: 1,
        delay_ns: 0,
        loops,
        attrs: Attrs::default(),
        phases: vec![PhaseSpec { loops: Some(1), attrs: Attrs::default(), events }],
    }
}

/// A file whose names are numbers: four of each kind, two timers, the first for each thread.
fn file(tasks: Vec<TaskSpec>, duration_ns: Option<Ns>) -> Spec {
    let names = || (0..4).map(|n| n.to_string()).collect();
    let timer = |n: u32| TimerSpec { name: n.to_string(), unique: n == 0 };
    let users = |b: u32| {
        let uses = |t: &TaskSpec| {
            let events = t.phases.iter().flat_map(|p| &p.events);
            t.instances * events.filter(|e| **e == Event::Barrier(b)).count() as u32
        };
        tasks.iter().map(uses).sum()
    };
    Spec {
        taskgroups: Vec::new(),
        duration_ns,
        calibration_ns: None,
        mutexes: names(),
        conds: names(),
        barriers: (0..4).map(|b| BarrierSpec { name: b.to_string(), users: users(b) }).collect(),
        timers: (0..2).map(timer).collect(),
        tasks,
    }
}

fn program(spec: Spec) -> RtApp {
    RtApp::new(AppConfig {
        spec: Arc::new(spec),
        loop_ns: None,
        round_ns: Some(1),
        speed: Speed::new(Variation::default(), 1),
        seed: 1,
    })
}

/// Times on a CPU, by command name.
#[derive(Default)]
struct Stays {
    since: HashMap<u32, Ns>,
    stays: HashMap<String, Vec<(Ns, Ns)>>,
}

impl Stays {
    fn of(&self, comm: &str) -> &[(Ns, Ns)] {
        self.stays.get(comm).map_or(&[], Vec::as_slice)
    }

    /// When the first thread of this name came onto a CPU.
    fn began(&self, comm: &str) -> Ns {
        self.of(comm)[0].0
    }

    fn total(&self, comm: &str) -> Ns {
        self.of(comm).iter().map(|(from, to)| to - from).sum()
    }
}

impl Observer for Stays {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, _next: TaskId) {
        let since = self.since.insert(cpu.0, w.now).unwrap_or(0);
        if prev.is_task() {
            let comm = w.comms[w.tasks[prev].attr.comm as usize].clone();
            self.stays.entry(comm).or_default().push((since, w.now));
        }
    }
}

fn run(cpus: u32, spec: Spec) -> (Simulation<Fair, RtApp, Stays>, StopReason) {
    let machine = free_machine(cpus);
    let policy = Fair::new(Features::default(), Tunables::for_cpus(cpus as usize));
    let config = Config { timer_slack_ns: 0, ..Config::default() };
    let mut sim = simulate(machine, config, policy, program(spec), Stays::default());
    let end = sim.run_until(100_000 * MS);
    (sim, end)
}

/// Rounds of phases per second, as the program counts them.
fn rounds(sim: &Simulation<Fair, RtApp, Stays>) -> f64 {
    (sim.program.results(sim.w.now)[0].1 * sim.w.now as f64 * 1e-9).round()
}

#[test]
fn threads_loop_as_often_as_the_file_says_and_then_the_run_ends() {
    let mut t = task("t", Some(3), vec![Event::Run(MS)]);
    t.phases.push(PhaseSpec {
        loops: Some(4),
        attrs: Attrs::default(),
        events: vec![Event::Run(2 * MS), Event::Sleep(MS)],
    });
    let (sim, end) = run(1, file(vec![t], None));
    assert_eq!(end, StopReason::Done);
    assert_eq!(rounds(&sim), 15.0);
    let work = sim.observer.total("t") as f64;
    assert!((work / MS as f64 - 27.0).abs() < 0.2, "{work}");
}

#[test]
fn a_duration_ends_the_run_whatever_the_threads_do() {
    let t = task("t", None, vec![Event::Run(MS)]);
    let (sim, end) = run(1, file(vec![t], Some(50 * MS)));
    assert_eq!(end, StopReason::Done);
    let ran = sim.w.now - sim.observer.began("t");
    assert!((50 * MS..51 * MS).contains(&ran), "{ran}");
}

#[test]
fn a_mutex_keeps_its_critical_sections_apart() {
    let events = vec![Event::Lock(0), Event::Run(MS), Event::Unlock(0)];
    let tasks = vec![task("a", Some(50), events.clone()), task("b", Some(50), events)];
    let (sim, end) = run(2, file(tasks, None));
    assert_eq!(end, StopReason::Done);
    assert!(sim.w.now > 100 * MS, "{} ns for 100 ms of critical sections", sim.w.now);
}

#[test]
fn who_resumes_and_suspends_alternates_with_the_other() {
    let tasks = vec![
        task("a", None, vec![Event::Run(2 * MS), Event::Resume(1, 1), Event::Suspend(0, 0)]),
        task("b", None, vec![Event::Suspend(1, 1), Event::Run(3 * MS), Event::Resume(0, 0)]),
    ];
    let (sim, _) = run(2, file(tasks, Some(200 * MS)));
    let (a, b) = (sim.observer.total("a"), sim.observer.total("b"));
    assert!((79 * MS..82 * MS).contains(&a), "40 of 100 in the first 200 ms: {a}");
    assert!((114 * MS..122 * MS).contains(&b), "{b}");
    let overlap = |(from, to): &(Ns, Ns)| {
        let inside = |(f, t): &(Ns, Ns)| to.min(t).saturating_sub(*from.max(f));
        sim.observer.of("b").iter().map(inside).sum::<Ns>()
    };
    let both: Ns = sim.observer.of("a").iter().map(overlap).sum();
    assert!(both < MS, "both ran for {both} ns");
}

#[test]
fn a_resume_before_the_suspend_is_lost() {
    let tasks = vec![
        task("early", Some(1), vec![Event::Resume(0, 0)]),
        task("late", Some(1), vec![Event::Run(10 * MS), Event::Suspend(0, 0)]),
    ];
    let (_, end) = run(2, file(tasks, None));
    let StopReason::NoProgress(waiting) = end else { panic!("{end:?}") };
    assert!(waiting.iter().any(|w| w.comm == "late" && w.what == "a signal on `0`"), "{waiting:?}");
}

#[test]
fn two_that_lock_in_opposite_order_are_reported() {
    let cross = |first, second| {
        vec![Event::Lock(first), Event::Run(5 * MS), Event::Lock(second), Event::Unlock(second)]
    };
    let tasks = vec![task("a", Some(1), cross(0, 1)), task("b", Some(1), cross(1, 0))];
    let (_, end) = run(2, file(tasks, None));
    let StopReason::NoProgress(waiting) = end else { panic!("{end:?}") };
    let mut what: Vec<&str> = waiting.iter().map(|w| w.what.as_str()).collect();
    what.sort_unstable();
    assert_eq!(what, ["its threads to end", "the mutex `0`", "the mutex `1`"]);
}

#[test]
fn a_barrier_holds_everyone_back_until_the_last_has_come() {
    let at = |ms: Ns| vec![Event::Run(ms * MS), Event::Barrier(0)];
    let mut quick = task("quick", Some(10), at(1));
    quick.instances = 2;
    let (sim, end) = run(4, file(vec![quick, task("slow", Some(10), at(6))], None));
    assert_eq!(end, StopReason::Done);
    assert_eq!(rounds(&sim), 30.0);
    let ran = sim.w.now - sim.observer.began("quick");
    assert!((60 * MS..65 * MS).contains(&ran), "{ran}");
}

#[test]
fn a_signal_wakes_one_and_a_broadcast_all() {
    let waiter = vec![Event::Lock(0), Event::Wait(0, 0), Event::Unlock(0), Event::Run(MS)];
    let rounds_with = |event| {
        let mut waiters = task("w", None, waiter.clone());
        waiters.instances = 3;
        let waker = task("k", None, vec![Event::Sleep(10 * MS), event]);
        let (sim, _) = run(4, file(vec![waiters, waker], Some(300 * MS)));
        sim.observer.total("w") / MS
    };
    let (one, all) = (rounds_with(Event::Signal(0)), rounds_with(Event::Broadcast(0)));
    assert!((28..=31).contains(&one), "{one}");
    assert!((84..=92).contains(&all), "{all}");
}

/// rt-app's `t_zero`: the first thread reads the clock for all, however late one has its turn.
#[test]
fn timers_of_all_threads_count_from_one_start() {
    let timer = Event::Timer { timer: 0, period_ns: 40 * MS, absolute: false };
    let t = task("t", Some(2), vec![Event::Run(MS), timer]);
    let mut before = task("once", Some(1), vec![Event::Run(9 * MS)]);
    before.instances = 2;
    before.attrs.nice = Some(-20);
    let (sim, _) = run(1, file(vec![t, before], None));
    let stays = sim.observer.of("t");
    let (comes, turn, last) = (stays[0].1, stays[1].0, stays.last().unwrap().0);
    assert!(turn - comes > 2 * MS, "its first turn is late: {}", turn - comes);
    assert!((80 * MS..81 * MS).contains(&(last - comes)), "{}", last - comes);
}

#[test]
fn timers_keep_their_period_and_relative_ones_forget_what_they_missed() {
    let periods = |events: Vec<Event>| {
        let (sim, _) = run(1, file(vec![task("t", None, events)], Some(405 * MS)));
        rounds(&sim)
    };
    let timer = |absolute| Event::Timer { timer: 0, period_ns: 10 * MS, absolute };
    assert_eq!(periods(vec![Event::Run(3 * MS), timer(false)]), 40.0, "not a period of 13 ms");
    // Every fourth round is 30 ms long: 2 periods are missed.
    let long = |absolute| {
        let round = [Event::Run(2 * MS), timer(absolute)];
        let mut events = vec![Event::Run(30 * MS), timer(absolute)];
        events.extend(round.iter().cycle().take(6));
        periods(events)
    };
    assert_eq!(long(true), 10.0, "absolute: 4 periods of 10 ms, the missed ones made up for");
    assert_eq!(long(false), 6.0, "relative: 30 ms and three periods");
}

#[test]
fn threads_share_a_timer_that_is_not_unique() {
    let mut t =
        task("t", None, vec![Event::Timer { timer: 1, period_ns: 10 * MS, absolute: false }]);
    t.instances = 2;
    let (sim, _) = run(2, file(vec![t], Some(405 * MS)));
    assert!((39.0..=41.0).contains(&rounds(&sim)), "{}: one period after the other", rounds(&sim));
}

#[test]
fn runtime_is_the_time_on_the_clock_and_run_is_work() {
    let share = |event| {
        let mut t = task("t", Some(1), vec![event]);
        t.instances = 2;
        let (sim, _) = run(1, file(vec![t], None));
        sim.observer.total("t") / MS
    };
    assert_eq!(share(Event::Run(100 * MS)), 200);
    let both = share(Event::Runtime(100 * MS));
    assert!((100..=110).contains(&both), "{both}");
}

#[test]
fn properties_hold_in_their_phase_only() {
    let mut t = task("t", Some(5), vec![Event::Run(10 * MS), Event::Sleep(MS)]);
    let only = |cpu| CpuSet::of(2, [CpuId(cpu)]);
    t.attrs = Attrs { nice: Some(3), cpus: Some(only(0)), ..Attrs::default() };
    t.phases.push(PhaseSpec {
        loops: Some(1),
        attrs: Attrs { nice: Some(7), cpus: Some(only(1)), ..Attrs::default() },
        events: vec![Event::Run(5 * MS), Event::Sleep(MS)],
    });
    let machine = free_machine(2);
    let policy = Fair::new(Features::default(), Tunables::for_cpus(2));
    let program = program(file(vec![t], None));
    let mut sim = simulate(machine, Config::default(), policy, program, NiceTimes::default());
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    let ms = |nice, cpu| sim.observer.by.get(&(nice, cpu)).map_or(0, |ns| ns / MS);
    assert_eq!((ms(3, 0), ms(7, 1)), (50, 25));
    assert_eq!(ms(3, 1) + ms(7, 0), 0);
}

/// Time on each CPU, by nice level.
#[derive(Default)]
struct NiceTimes {
    since: HashMap<u32, Ns>,
    by: HashMap<(i8, u32), Ns>,
}

impl Observer for NiceTimes {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, _next: TaskId) {
        let since = self.since.insert(cpu.0, w.now).unwrap_or(0);
        if prev.is_task() {
            *self.by.entry((w.tasks[prev].attr.nice, cpu.0)).or_default() += w.now - since;
        }
    }
}

#[test]
fn a_thread_keeps_to_its_cpus_from_its_first_phase_on_and_not_before() {
    // Forks spread over both CPUs, so threads wait on CPU 1 for the end of their delay.
    let mut t = task("t", Some(1), vec![Event::Run(10 * MS)]);
    (t.instances, t.delay_ns) = (4, 20 * MS);
    t.attrs = Attrs { cpus: Some(CpuSet::of(2, [CpuId(0)])), ..Attrs::default() };
    let (machine, tunables) = (free_machine(2), Tunables::for_cpus(2));
    let policy = Fair::new(Features::default(), tunables);
    let program = program(file(vec![t], None));
    let mut sim = simulate(machine, Config::default(), policy, program, OnCpu1::default());
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    let seen = &sim.observer;
    assert!(seen.last - seen.first > 19 * MS, "{} ns", seen.last - seen.first);
    assert!(seen.total < MS, "{} ns", seen.total);
}

/// When threads named `t` were on CPU 1.
#[derive(Default)]
struct OnCpu1 {
    since: Ns,
    first: Ns,
    last: Ns,
    total: Ns,
}

impl Observer for OnCpu1 {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, _next: TaskId) {
        if cpu != CpuId(1) {
            return;
        }
        let since = std::mem::replace(&mut self.since, w.now);
        if prev.is_task() && w.comms[w.tasks[prev].attr.comm as usize] == "t" {
            self.first = if self.first == 0 { since } else { self.first };
            self.last = w.now;
            self.total += w.now - since;
        }
    }
}

#[test]
fn forked_threads_run_and_do_not_wait_for_the_start() {
    let mut child = task("child", Some(1), vec![Event::Run(2 * MS)]);
    child.instances = 0;
    let parent = task("parent", Some(5), vec![Event::Run(MS), Event::Fork(0)]);
    let (sim, end) = run(2, file(vec![child, parent], None));
    assert_eq!(end, StopReason::Done);
    assert_eq!(sim.observer.total("child") / MS, 10);
}

#[test]
fn a_delay_comes_before_the_first_event_and_timers_count_from_its_end() {
    let period = Event::Timer { timer: 0, period_ns: 10 * MS, absolute: false };
    let mut t = task("t", Some(2), vec![period]);
    t.delay_ns = 35 * MS;
    let (sim, _) = run(1, file(vec![t], None));
    let (set_up, last) = (sim.observer.of("t")[0].1, sim.observer.of("t").last().unwrap().1);
    assert!((55 * MS..56 * MS).contains(&(last - set_up)), "{}", last - set_up);
}

fn daemon(name: &str, cpu: Option<CpuId>) -> BackgroundThread {
    BackgroundThread {
        name: name.to_string(),
        per: Per::Machine,
        cpu,
        nice: 0,
        kthread: true,
        run_ns: MS,
        sleep_ns: 9 * MS,
        long_every: 4,
        long_ns: 5 * MS,
    }
}

fn with_daemons(threads: &[BackgroundThread], tasks: Vec<TaskSpec>) -> (StopReason, u64) {
    let mut machine = free_machine(2);
    machine.background = threads.to_vec();
    let policy = Fair::new(Features::default(), Tunables::for_cpus(2));
    let program = WithBackground::new(program(file(tasks, None)), &machine, 1);
    let mut sim = simulate(machine, Config::default(), policy, program, TraceHash::default());
    let end = sim.run_until(10_000 * MS);
    (end, sim.observer.hash)
}

#[test]
fn background_threads_work_and_do_not_keep_a_run_going() {
    let mut machine: Machine = free_machine(2);
    machine.background = vec![daemon("free", None), daemon("bound", Some(CpuId(1)))];
    let policy = Fair::new(Features::default(), Tunables::for_cpus(2));
    let app = program(file(vec![task("t", Some(1), vec![Event::Sleep(1000 * MS)])], None));
    let program = WithBackground::new(app, &machine, 1);
    let mut sim = simulate(machine, Config::default(), policy, program, Stays::default());
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    for name in ["free", "bound"] {
        // Rounds of four, to the next tick: 3 x 12 ms and 16 ms, with 8 ms of work.
        let share = sim.observer.total(name) as f64 / sim.w.now as f64;
        assert!((0.13..0.17).contains(&share), "{name}: {share}");
    }
}

#[test]
fn each_cpu_and_each_node_has_its_own_thread() {
    let mut machine: Machine = free_machine(2);
    let of_cpu = BackgroundThread { per: Per::Cpu, ..daemon("ksoftirqd/{}", None) };
    let of_node = BackgroundThread { per: Per::Node, ..daemon("kcompactd{}", None) };
    machine.background = vec![of_cpu, of_node];
    let policy = Fair::new(Features::default(), Tunables::for_cpus(2));
    let app = program(file(vec![task("t", Some(1), vec![Event::Sleep(1000 * MS)])], None));
    let program = WithBackground::new(app, &machine, 1);
    let mut sim = simulate(machine, Config::default(), policy, program, Stays::default());
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    for name in ["ksoftirqd/0", "ksoftirqd/1", "kcompactd0"] {
        assert!(sim.observer.total(name) > 0, "{name} never ran");
    }
    assert!(sim.observer.of("kcompactd1").is_empty(), "there is one node");
}

#[test]
fn a_run_that_only_background_threads_go_on_with_is_stuck() {
    let lost = || vec![task("t", Some(1), vec![Event::Suspend(0, 0)])];
    let (end, _) = with_daemons(&[daemon("d", None)], lost());
    assert!(matches!(end, StopReason::NoProgress(_)), "{end:?}");
}

#[test]
fn without_background_threads_a_workload_is_as_it_was() {
    let tasks = || vec![task("t", Some(30), vec![Event::Run(MS), Event::Sleep(2 * MS)])];
    let machine = free_machine(2);
    let policy = Fair::new(Features::default(), Tunables::for_cpus(2));
    let bare = program(file(tasks(), None));
    let mut sim = simulate(machine, Config::default(), policy, bare, TraceHash::default());
    let end = sim.run_until(10_000 * MS);
    assert_eq!((end, sim.observer.hash), with_daemons(&[], tasks()));
}

#[test]
fn a_thread_that_does_what_takes_no_time_does_not_hang_the_run() {
    let idle = task("t", None, vec![Event::Unlock(0), Event::Signal(0), Event::Broadcast(1)]);
    let machine = free_machine(1);
    let policy = Fair::new(Features::default(), Tunables::for_cpus(1));
    let program = program(file(vec![idle], Some(MS / 10)));
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
}

//! Workqueues in small: drivers that queue, items of a given length, and the log of what ran.

mod flush;
mod random;

use super::{ActivePer, Affinity, Change, Kind, Scope, Turn, WorkId, Workqueues, WqId, WqSpec};
use crate::fair::Fair;
use crate::fair::features::{Features, Tunables};
use sim_core::{
    Config, NoObserver, Ns, Op, Program, ProgramCx, Simulation, Step, StopReason, TaskAttr, TaskId,
    World,
};
use std::sync::Arc;
use topology::{CpuId, CpuSet, Machine, RegularSpec};

const US: Ns = 1000;
const MS: Ns = 1_000_000;

/// What a driver does.
#[derive(Clone, Copy, Debug)]
enum Do {
    Queue(u32),
    Flush(u32),
    FlushAll,
    Change(Affinity),
    /// All workers have slept on CPU 0.
    Exile,
    Op(Op),
}

/// An item that began or ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Ran {
    work: u32,
    task: TaskId,
    cpu: CpuId,
    from: Ns,
    to: Ns,
}

/// What the promise of a flush is about, in the order in which it happened: of two things at the
/// same nanosecond, one is first all the same.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    /// The `nth` queueing of an item, counted from 1, is over.
    Queued {
        work: u32,
        nth: u32,
    },
    /// An execution of this item is.
    Ended(u32),
    /// A driver begins the flush of this item, or of all.
    FlushBegins {
        driver: usize,
        of: Option<u32>,
    },
    FlushEnds {
        driver: usize,
    },
}

struct Rig {
    specs: Vec<WqSpec>,
    /// Of each item: its workqueue, and what it does.
    items: Vec<(WqId, Vec<Op>)>,
    /// By driver: its CPU, and what it does.
    drivers: Vec<(u32, Vec<Do>)>,
    wq: Option<Workqueues>,
    tasks: Vec<TaskId>,
    at: Vec<usize>,
    /// By item: how far its execution is.
    in_item: Vec<usize>,
    change: Option<Change>,
    log: Vec<Ran>,
    open: Vec<Option<Ran>>,
    /// By driver: when each of its actions was over.
    done: Vec<Vec<Ns>>,
    /// Queueings that were not no-ops: driver, its action, item.
    accepted: Vec<(usize, usize, u32)>,
    events: Vec<Event>,
    /// Wake-ups of workers: from where, and where each begins to look for a CPU.
    kicks: Vec<(CpuId, CpuId)>,
}

impl Rig {
    fn new(spec: WqSpec, items: Vec<Vec<Op>>, drivers: Vec<(u32, Vec<Do>)>) -> Self {
        let n = items.len();
        Self {
            specs: vec![spec],
            items: items.into_iter().map(|ops| (WqId(0), ops)).collect(),
            at: vec![0; drivers.len()],
            done: vec![Vec::new(); drivers.len()],
            drivers,
            wq: None,
            tasks: Vec::new(),
            in_item: vec![0; n],
            change: None,
            log: Vec::new(),
            open: vec![None; n],
            accepted: Vec::new(),
            events: Vec::new(),
            kicks: Vec::new(),
        }
    }

    fn wq(&mut self) -> &mut Workqueues {
        self.wq.as_mut().expect("made at the start")
    }

    fn drive(&mut self, cx: &mut ProgramCx<'_>, driver: usize, task: TaskId) -> Op {
        loop {
            if self.wq().is_flushing(task) {
                return Op::Wait;
            }
            if let Some(mut change) = self.change.take()
                && let Some(op) = change.next(self.wq(), cx)
            {
                self.change = Some(change);
                return op;
            }
            let at = self.at[driver];
            if at > self.done[driver].len() {
                self.done[driver].push(cx.now());
                self.note_end(driver);
            }
            let Some(what) = self.drivers[driver].1.get(at).copied() else {
                return Op::Exit;
            };
            self.at[driver] += 1;
            if let Do::Flush(_) | Do::FlushAll = what {
                let of = if let Do::Flush(work) = what { Some(work) } else { None };
                self.events.push(Event::FlushBegins { driver, of });
            }
            match what {
                Do::Queue(work) if self.wq().queue(cx, WorkId(work)) => {
                    self.accepted.push((driver, at, work));
                    return Op::Path;
                }
                Do::Flush(work) if self.wq().flush_work(cx, WorkId(work), task) => return Op::Path,
                Do::Queue(_) | Do::Flush(_) => {}
                Do::FlushAll => {
                    self.wq().flush_workqueue(WqId(0), task);
                }
                Do::Exile => {
                    let tasks: Vec<TaskId> = self.wq().workers.iter().map(|w| w.task).collect();
                    tasks.iter().for_each(|task| cx.set_wake_cpu(*task, CpuId(0)));
                }
                Do::Change(affinity) => self.change = Some(self.wq().change(cx, WqId(0), affinity)),
                Do::Op(op) => return op,
            }
        }
    }

    /// The action that `driver` was at is over.
    fn note_end(&mut self, driver: usize) {
        let at = self.at[driver] - 1;
        match self.drivers[driver].1[at] {
            Do::Queue(work) => {
                let mut of_item = self.accepted.iter().filter(|(.., item)| *item == work);
                if let Some(before) = of_item.position(|(d, a, _)| (*d, *a) == (driver, at)) {
                    self.events.push(Event::Queued { work, nth: before as u32 + 1 });
                }
            }
            Do::Flush(_) | Do::FlushAll => self.events.push(Event::FlushEnds { driver }),
            _ => {}
        }
    }

    fn work(&mut self, cx: &mut ProgramCx<'_>, task: TaskId, work: WorkId) -> Op {
        let (now, i) = (cx.now(), work.0 as usize);
        if self.in_item[i] == 0 {
            let ran = Ran { work: work.0, task, cpu: cx.cpu(), from: now, to: 0 };
            assert_eq!(self.open[i].replace(ran), None, "item {i} runs twice at once");
        }
        if let Some(op) = self.items[i].1.get(self.in_item[i]).copied() {
            self.in_item[i] += 1;
            return self.wq().in_work(cx, task, op);
        }
        self.in_item[i] = 0;
        let ran = self.open[i].take().expect("begun");
        self.log.push(Ran { to: now, ..ran });
        self.events.push(Event::Ended(work.0));
        self.wq().work_done(cx, task)
    }
}

impl std::fmt::Debug for Rig {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} items {:?} drivers {:?}", self.specs, self.items, self.drivers)
    }
}

impl Program for Rig {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let mut wq = Workqueues::new(cx, std::mem::take(&mut self.specs));
        for (of, _) in &self.items {
            wq.new_work(*of);
        }
        self.wq = Some(wq);
        for (cpu, _) in &self.drivers {
            let allowed = cx.mask(CpuSet::of(cx.n_cpus(), [CpuId(*cpu)]));
            self.tasks.push(cx.start_task(TaskAttr { allowed, ..TaskAttr::default() }));
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if !self.wq().is_worker(task) {
            let driver = self.tasks.iter().position(|t| *t == task).expect("a driver");
            return self.drive(cx, driver, task);
        }
        match self.wq().turn(cx, task) {
            Turn::Op(op) => op,
            Turn::Work(work) => self.work(cx, task, work),
        }
    }

    fn path(&mut self, cx: &mut ProgramCx<'_>, _task: TaskId) -> Step {
        let step = self.wq().step(cx);
        if let Step::Wake { task, .. } = step {
            self.kicks.push((cx.cpu(), cx.wake_cpu(task)));
        }
        step
    }

    fn tick(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) {
        if self.wq().tick(cx, task) {
            cx.raise(cx.cpu());
        }
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        self.wq().hog_path(cx);
        self.wq().step(cx)
    }
}

fn machine() -> Machine {
    Machine::regular(RegularSpec { llcs_per_socket: 4, cores_per_llc: 3, ..RegularSpec::default() })
}

/// Runs until nothing happens any more, with the invariants checked after each event.
fn run(rig: Rig) -> Simulation<Fair, Rig, NoObserver> {
    let machine = machine();
    let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
    let world = World::new(Arc::new(machine), Config::default());
    let mut sim = Simulation::new(world, policy, rig, NoObserver);
    let mut at_work = Vec::new();
    loop {
        let end = sim.step(1000 * MS);
        let wq = sim.program.wq.as_ref().expect("made at the start");
        check_starts(wq, &mut at_work);
        let checked = sim.w.check_invariants().and_then(|()| wq.check(&sim.w));
        checked.unwrap_or_else(|e| panic!("at {} ns: {e}", sim.w.now));
        if let Some(end) = end {
            let rests = matches!(&end, StopReason::NoProgress(_) | StopReason::Until);
            assert!(rests, "workers never exit: {end:?}");
            return sim;
        }
    }
}

/// Who begins to work leaves an idle worker behind, or one that is being made.
fn check_starts(wq: &Workqueues, at_work: &mut Vec<bool>) {
    at_work.resize(wq.workers.len(), false);
    for (w, was_at_work) in wq.workers.iter().zip(at_work) {
        let begins = !w.prep && !std::mem::replace(was_at_work, !w.prep);
        let pool = &wq.pools[w.pool];
        assert!(!begins || !pool.idle.is_empty() || pool.has_manager, "{:?}", w.task);
    }
}

fn unbound(scope: Scope) -> WqSpec {
    WqSpec::new("test", Kind::Unbound(Affinity { scope, ..Affinity::default() }))
}

/// A driver on `cpu` that queues `n` items in one go after `ns`.
fn burst(cpu: u32, ns: Ns, n: u32) -> (u32, Vec<Do>) {
    (cpu, [Do::Op(Op::Sleep(ns))].into_iter().chain((0..n).map(Do::Queue)).collect())
}

fn items(n: usize, ns: Ns) -> Vec<Vec<Op>> {
    vec![vec![Op::Kernel(ns)]; n]
}

fn starts(sim: &Simulation<Fair, Rig, NoObserver>) -> Vec<Ran> {
    let mut log = sim.program.log.clone();
    log.sort_by_key(|r| r.from);
    log
}

fn workers(log: &[Ran]) -> usize {
    let mut tasks: Vec<TaskId> = log.iter().map(|r| r.task).collect();
    tasks.sort();
    tasks.dedup();
    tasks.len()
}

#[test]
fn a_burst_on_idle_workers_is_a_chain_of_wake_ups_and_a_thread_at_the_end() {
    // The first burst makes workers, one creation at a time; then five are idle.
    let mut drive = burst(3, MS, 4);
    drive.1.push(Do::Op(Op::Sleep(20 * MS)));
    drive.1.extend((0..5).map(Do::Queue));
    let sim = run(Rig::new(unbound(Scope::Cache), items(5, 2 * MS), vec![drive]));
    let log = starts(&sim);
    assert_eq!(log.len(), 9);
    let second = &log[4..];
    assert_eq!(second.iter().map(|r| r.work).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert_eq!(workers(second), 5, "{second:?}");
    let gaps: Vec<Ns> = second.windows(2).map(|w| w[1].from - w[0].from).collect();
    assert!(gaps[..3].iter().all(|ns| (US..15 * US).contains(ns)), "{gaps:?}");
    // The thread is made on a core whose other CPU works: at 62 % of the speed.
    assert!((50 * US..120 * US).contains(&gaps[3]), "{gaps:?}");
    let pools = sim.program.wq.as_ref().unwrap().pools();
    let used = pools.iter().find(|p| p.pod.contains(CpuId(3))).unwrap();
    // Both racers of the creation are woken; one may make one more.
    assert!((6..=7).contains(&used.workers) && used.idle == used.workers as usize, "{used:?}");
}

#[test]
fn the_worker_that_idled_last_is_woken_first() {
    let mut drive = burst(3, MS, 3);
    for _ in 0..4 {
        drive.1.extend([Do::Op(Op::Sleep(10 * MS)), Do::Queue(0)]);
    }
    let mut lengths = items(3, 100 * US);
    lengths[1] = vec![Op::Kernel(5 * MS)];
    let sim = run(Rig::new(unbound(Scope::Cache), lengths, vec![drive]));
    let log = starts(&sim);
    let long = log.iter().find(|r| r.work == 1).unwrap();
    assert!(log[3..].iter().all(|r| r.task == long.task), "{log:?}");
}

#[test]
fn a_worker_comes_home_only_if_it_woke_up_elsewhere() {
    // The first worker sits where the machine started it; after that it stays in the pod.
    let drive = |cpu| {
        let steps = [Do::Queue(0), Do::Op(Op::Sleep(5 * MS))];
        (cpu, [Do::Op(Op::Sleep(MS))].into_iter().chain(steps.repeat(20)).collect())
    };
    let sim = run(Rig::new(unbound(Scope::Cache), items(1, 100 * US), vec![drive(4)]));
    let stats = sim.program.wq.as_ref().unwrap().stats(WqId(0));
    assert_eq!(stats.started, 20);
    assert!(stats.repatriated <= 1, "{stats:?}");
    let pod = CpuSet::of(24, [3, 4, 5, 15, 16, 17].map(CpuId));
    assert!(starts(&sim).iter().all(|r| pod.contains(r.cpu)));
    let sim = run(Rig::new(unbound(Scope::System), items(1, 100 * US), vec![drive(4)]));
    assert_eq!(sim.program.wq.as_ref().unwrap().stats(WqId(0)).repatriated, 0);
}

#[test]
fn workers_come_home_to_the_cpus_of_their_pod_in_turn() {
    // The counter is the issuer's CPU's, and begins behind CPU 0.
    let mut drive = vec![Do::Op(Op::Sleep(MS))];
    for _ in 0..8 {
        drive.extend([Do::Exile, Do::Queue(0), Do::Op(Op::Sleep(5 * MS))]);
    }
    let spec = unbound(Scope::Cache);
    let sim = run(Rig::new(spec, items(1, 100 * US), vec![(4, drive)]));
    let kicks = sim.program.kicks.iter().filter(|(from, _)| *from == CpuId(4));
    let homes: Vec<u32> = kicks.map(|(_, to)| to.0).collect();
    assert_eq!(homes, [3, 4, 5, 15, 16, 17, 3, 4]);
    assert!(sim.program.wq.as_ref().unwrap().stats(WqId(0)).repatriated >= 8);
}

#[test]
fn max_active_is_per_workqueue_and_cpu_and_the_rest_waits_in_order() {
    let spec = WqSpec { max_active: 2, ..unbound(Scope::System) };
    let two = vec![burst(0, MS, 6), (6, (6..12).map(Do::Queue).collect())];
    let sim = run(Rig::new(spec, items(12, MS), two));
    let log = starts(&sim);
    let of = |cpu0: bool| log.iter().filter(move |r| (r.work < 6) == cpu0);
    for cpu0 in [true, false] {
        assert!(of(cpu0).map(|r| r.work).is_sorted(), "{log:?}");
        let its: Vec<Ran> = of(cpu0).copied().collect();
        assert_eq!(most_at_once(&its), 2, "{its:?}");
    }
    assert!(most_at_once(&log) > 2, "{log:?}");
}

/// The most items that ran at a time.
fn most_at_once(log: &[Ran]) -> usize {
    let at = |ns| log.iter().filter(|o| o.from <= ns && ns < o.to).count();
    log.iter().map(|r| at(r.from)).max().unwrap_or(0)
}

/// `wq_node_nr_active`, Linux 6.9: CPUs 0 and 6 share the count of their node, and take turns. With
/// a pool per LLC the one whose item ends wakes a worker of the other one's pool.
#[test]
fn since_6_9_max_active_is_per_node_and_pwqs_take_turns() {
    for scope in [Scope::System, Scope::Cache] {
        let active_per = ActivePer::Node;
        let spec = WqSpec { max_active: 2, active_per, ..unbound(scope) };
        let two = vec![burst(0, MS, 6), (6, (6..12).map(Do::Queue).collect())];
        let log = starts(&run(Rig::new(spec, items(12, MS), two)));
        assert_eq!((log.len(), most_at_once(&log)), (12, 2), "{scope:?} {log:?}");
        // Whoever comes first has both places; from then on each second item is of the other CPU.
        let of: Vec<bool> = log.iter().map(|r| r.work < 6).collect();
        let turns = of[2..8].windows(2).filter(|w| w[0] != w[1]).count();
        assert!(turns >= 4, "{scope:?} {of:?}");
    }
}

fn overlap(log: &[Ran]) -> bool {
    log.windows(2).any(|w| w[1].from < w[0].to)
}

#[test]
fn a_bound_pool_runs_one_item_at_a_time_unless_it_blocks_or_is_intensive() {
    let bound = || WqSpec::new("bound", Kind::Bound);
    let busy = items(3, MS);
    let log = starts(&run(Rig::new(bound(), busy.clone(), vec![burst(5, MS, 3)])));
    assert!(!overlap(&log) && log.iter().all(|r| r.cpu == CpuId(5)), "{log:?}");

    let blocks = vec![vec![Op::Kernel(100 * US), Op::Sleep(5 * MS), Op::Kernel(100 * US)]; 3];
    let sim = run(Rig::new(bound(), blocks, vec![burst(5, MS, 3)]));
    let log = starts(&sim);
    assert!(overlap(&log) && workers(&log) == 3, "{log:?}");
    let stats = sim.program.wq.as_ref().unwrap().stats(WqId(0));
    assert!(stats.cm_wakeups >= 2, "{stats:?}");

    let intensive = WqSpec { cpu_intensive: true, ..bound() };
    let log = starts(&run(Rig::new(intensive, items(3, 30 * MS), vec![burst(5, MS, 3)])));
    assert!(overlap(&log), "{log:?}");
}

#[test]
fn a_bound_workqueue_is_not_unbound() {
    let is_unbound = |spec| {
        let sim = run(Rig::new(spec, items(1, MS), vec![burst(5, MS, 1)]));
        sim.program.wq.as_ref().unwrap().is_unbound(WqId(0))
    };
    assert!(!is_unbound(WqSpec::new("bound", Kind::Bound)));
    assert!(is_unbound(unbound(Scope::Smt)));
}

/// Two CPUs of a core are of one pod.
#[test]
fn workqueues_tell_their_names_and_pools() {
    let sim = run(Rig::new(unbound(Scope::Smt), items(1, MS), vec![burst(5, MS, 1)]));
    let wq = sim.program.wq.as_ref().unwrap();
    assert_eq!(wq.names().count() as u32, wq.n_wqs());
    assert_eq!(wq.names().next(), Some(wq.spec(WqId(0)).name.as_str()));
    let (pools, machine) = (wq.pool_by_cpu(WqId(0)), &sim.w.machine);
    assert_eq!(pools.len(), machine.n_cpus());
    for (a, b) in (0..pools.len()).flat_map(|a| (0..a).map(move |b| (a, b))) {
        let core = |cpu: usize| machine.cpus[CpuId(cpu as u32)].core;
        assert_eq!(pools[a] == pools[b], core(a) == core(b), "{a} and {b}");
    }
}

#[test]
fn a_hog_is_found_by_the_tick_and_others_then_run() {
    let spec = WqSpec::new("bound", Kind::Bound);
    let sim = run(Rig::new(spec, items(2, 40 * MS), vec![burst(5, MS, 2)]));
    let log = starts(&sim);
    let stats = sim.program.wq.as_ref().unwrap().stats(WqId(0));
    assert!(stats.cpu_intensive >= 1 && stats.cm_wakeups >= 1, "{stats:?}");
    // Ten ms, and up to a tick more, after the first began.
    let gap = log[1].from - log[0].from;
    assert!((10 * MS..20 * MS).contains(&gap), "{gap}");
    assert_eq!(stats.cpu_ns / MS, 80);
}

#[test]
fn what_is_started_is_counted_and_completed() {
    let sim = run(Rig::new(unbound(Scope::Smt), items(7, 300 * US), vec![burst(2, MS, 7)]));
    let stats = sim.program.wq.as_ref().unwrap().stats(WqId(0));
    assert_eq!((stats.started, stats.completed, stats.in_flight()), (7, 7, 0));
    // Some of it beside a busy sibling, at 62 % of the speed.
    assert!((7 * 300 * US..7 * 500 * US).contains(&stats.cpu_ns), "{stats:?}");
}

#[test]
fn an_item_queued_while_it_runs_runs_again_after_itself() {
    let drive = vec![
        Do::Op(Op::Sleep(MS)),
        Do::Queue(0),
        Do::Op(Op::Sleep(MS)),
        Do::Queue(0),
        Do::Queue(0),
    ];
    // From another pod: it must go where it runs.
    let other = vec![Do::Op(Op::Sleep(MS + 500 * US)), Do::Queue(0)];
    let rig = Rig::new(unbound(Scope::Cache), items(1, 5 * MS), vec![(0, drive), (9, other)]);
    let log = starts(&run(rig));
    assert_eq!(log.len(), 2, "{log:?}");
    assert!(log[0].to <= log[1].from && log[0].task == log[1].task, "{log:?}");
}

#[test]
fn localized_items_go_to_workers_near_their_issuer_while_two_are_idle() {
    // SYSTEM has one pool; the items' workers are sent to the issuers.
    let affinity = Affinity { scope: Scope::System, localize: true, ..Affinity::default() };
    let spec = WqSpec::new("local", Kind::Unbound(affinity));
    let drive = |cpu: u32, work: u32, first: bool| {
        // The first burst, from CPU 0, makes workers enough for both.
        let warm = [Do::Queue(0), Do::Queue(1), Do::Queue(2), Do::Queue(3)];
        let mut all = vec![Do::Op(Op::Sleep(MS))];
        all.extend(if first { warm.to_vec() } else { Vec::new() });
        for _ in 0..10 {
            all.extend([Do::Op(Op::Sleep(20 * MS)), Do::Queue(work)]);
        }
        (cpu, all)
    };
    let rig = Rig::new(spec, items(6, 2 * MS), vec![drive(0, 4, true), drive(9, 5, false)]);
    let sim = run(rig);
    let llc = |cpu: CpuId| sim.w.machine.cpus[cpu].llc;
    let log = starts(&sim);
    let near = log.iter().filter(|r| {
        let issuer = if r.work == 5 { CpuId(9) } else { CpuId(0) };
        r.work > 3 && llc(r.cpu) == llc(issuer)
    });
    assert_eq!(near.count(), 20, "{log:?}");
}

#[test]
fn a_single_idle_worker_is_not_handed_an_item() {
    // It looks for the item itself, and makes a second worker before.
    let affinity = Affinity { scope: Scope::System, localize: true, ..Affinity::default() };
    let spec = WqSpec::new("local", Kind::Unbound(affinity));
    let sim = run(Rig::new(spec, items(1, MS), vec![burst(9, MS, 1)]));
    let pools = sim.program.wq.as_ref().unwrap().pools();
    assert_eq!((pools.len(), pools[0].workers), (1, 2));
}

#[test]
fn the_scope_can_change_while_items_wait() {
    let strict = Affinity { scope: Scope::Cpu, strict: true, localize: false };
    let mut drive = burst(7, MS, 6);
    drive.1.push(Do::Change(strict));
    drive.1.extend((6..10).map(Do::Queue));
    drive.1.push(Do::FlushAll);
    let spec = WqSpec { max_active: 2, ..unbound(Scope::Cache) };
    let sim = run(Rig::new(spec, items(10, MS), vec![drive]));
    let log = starts(&sim);
    assert_eq!(log.len(), 10, "{log:?}");
    assert!(log.iter().filter(|r| r.work >= 6).all(|r| r.cpu == CpuId(7)), "{log:?}");
    let pools = sim.program.wq.as_ref().unwrap().pools();
    assert_eq!(pools.len(), 24, "only those of the new scope are in use");
    assert!(pools.iter().all(|p| p.refs == 1 && p.workers >= 1), "{pools:?}");
}

#[test]
fn each_name_of_a_scope_leads_to_it() {
    let found = Scope::NAMES.map(|name| Scope::by_name(name, 4).map_or("none", Scope::name));
    assert_eq!(found, Scope::NAMES);
    assert_eq!(Scope::by_name("cache_shard", 4), Some(Scope::CacheShard(4)));
}

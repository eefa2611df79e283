//! Iterators over queues, and moves from queue to queue: `moves.c` and `sift.c`.

use super::{MS, end, events, hogs, load, machines, object, same};
use policies::ext::bpf::Bpf;
use policies::ext::{
    Cx, Dsq, DsqId, Ext, Insert, Move, Next, Ops, Order, Rules, Tunables, Wake, Why,
};
use sim_core::{
    Config, EnqueueFlags, NoObserver, Ns, Op, Simulation, StopReason, TaskAttr, TaskId, World,
};
use test_support::{Scripts, run_checked, simulate};
use topology::{CpuId, CpuSet, PerCpu};
use workloads::micro::Short;

const SLICE_NS: Ns = 3 * MS;

/// What a CPU's `dispatch` does next.
#[derive(Clone, Copy, Default)]
enum Doing {
    #[default]
    Sort,
    Take,
    Nothing,
}

/// `moves.c` in Rust.
#[derive(Default)]
pub struct Moves {
    fresh: DsqId,
    sorted: DsqId,
    n_sorted: u64,
    doing: PerCpu<Doing>,
}

impl Moves {
    fn go_on(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Next {
        loop {
            let doing = &mut self.doing[cpu];
            let (task, from, to, slice, vtime) = match doing {
                Doing::Sort => {
                    *doing = Doing::Take;
                    let Some(p) = cx.dsq_last(self.fresh) else {
                        continue;
                    };
                    let n = self.n_sorted;
                    self.n_sorted += 1;
                    (p, self.fresh, Dsq::User(self.sorted), Some(SLICE_NS), Some(n * 7 % 5))
                }
                Doing::Take => {
                    *doing = Doing::Nothing;
                    let Some(p) = cx.dsq_first(self.sorted) else {
                        continue;
                    };
                    (p, self.sorted, Dsq::LocalOn(cpu), None, None)
                }
                Doing::Nothing => return Next::Done,
            };
            vtime.into_iter().for_each(|vtime| cx.set_vtime(task, vtime));
            let flags = Insert::default();
            return Next::Move(Move { task, from, to, slice, vtime, flags });
        }
    }
}

impl Ops for Moves {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.fresh = cx.create_dsq(Order::Fifo);
        self.sorted = cx.create_dsq(Order::Fifo);
        self.doing = vec![Doing::Nothing; cx.machine().n_cpus()].into();
    }

    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        let (cpu, why) = cx.select_cpu_dfl(p, prev, wake);
        if why != Why::Prev {
            cx.insert(p, Dsq::Local, cx.slice_dfl());
        }
        cpu
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        cx.insert(p, Dsq::User(self.fresh), cx.slice_dfl());
    }

    fn dispatch(&mut self, cx: &mut Cx<'_>, cpu: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        if attempt == 0 {
            self.doing[cpu] = Doing::Sort;
        }
        self.go_on(cx, cpu)
    }

    fn consumed(&mut self, cx: &mut Cx<'_>, cpu: CpuId) -> Next {
        self.go_on(cx, cpu)
    }
}

#[test]
fn moves_of_an_object_are_those_of_rust_event_by_event() {
    same("moves", Moves::default);
}

/// Also what moves to a CPU's local queue from another CPU is in one place after every event.
#[test]
fn moves_keep_the_invariants() {
    for machine in &machines()[..2] {
        let n = machine.n_cpus() as u32;
        let policy = Ext::new(Moves::default(), Rules::V6_12, Tunables::default());
        let program = Short::new(n * 3 / 2, 300_000, 100_000, 50, 1);
        let mut sim = simulate(machine.clone(), Config::default(), policy, program, NoObserver);
        let end = run_checked(&mut sim, 4000 * MS, |sim| sim.policy.check(&sim.w));
        assert_eq!(end, Ok(StopReason::Done), "{n} CPUs");
    }
}

/// Tasks that never sleep change the CPU only if a move to a local queue takes them there.
#[test]
fn a_move_to_a_local_queue_brings_the_task_to_that_cpu() {
    for machine in machines() {
        let n = machine.n_cpus() as u32;
        let events = events(&machine, Moves::default(), Rules::V6_12, hogs(2 * n));
        let moved = events.iter().filter(|event| event.contains(" migrate ")).count();
        assert!(moved > 0, "{n} CPUs");
    }
}

/// The object looks at all that its iterators tell, and ends the run if that is wrong.
#[test]
fn iterators_tell_both_ways_what_was_there_when_they_began() {
    for machine in machines() {
        for rules in [Rules::V6_12, Rules::V6_18] {
            let n = machine.n_cpus() as u32;
            let sift = |fault: u64| {
                let mut object = object("sift");
                object.set_int("fault", fault).unwrap();
                let scheduler = load(&object, rules, &machine).unwrap();
                end(&scheduler, &machine, hogs(3 * n))
            };
            assert_eq!(sift(0), "Done", "{n} CPUs");
            let wrong = sift(1);
            assert!(wrong.contains("scx_bpf_error: wrong: "), "{wrong}");
        }
    }
}

/// A timer that starts itself without delay fires again and again, and time passes all the same.
#[test]
fn a_timer_without_delay_does_not_stop_time() {
    let machine = &machines()[0];
    for fault in [0, 2] {
        let mut object = object("sift");
        object.set_int("fault", fault).unwrap();
        let scheduler = load(&object, Rules::V6_12, machine).unwrap();
        let program = Short::new(40, 300_000, 100_000, 20, 1);
        assert_eq!(end(&scheduler, machine, program), "Done", "{fault}");
    }
}

/// Nobody but a timer gives tasks to CPUs: they go to its own and to all others.
#[test]
fn a_timer_moves_tasks_to_the_local_queues_of_cpus() {
    for machine in machines() {
        for rules in [Rules::V6_12, Rules::V6_18] {
            let n = machine.n_cpus() as u32;
            let scheduler = load(&object("hand"), rules, &machine).unwrap();
            let policy = Ext::new(Bpf::new(&scheduler), rules, Tunables::default());
            let program = Short::new(n * 2, 300_000, 100_000, 10, 1);
            let config = Config::default();
            let mut sim = simulate(machine.clone(), config, policy, program, NoObserver);
            let end = run_checked(&mut sim, 4000 * MS, |sim| sim.policy.check(&sim.w));
            assert_eq!(end, Ok(StopReason::Done), "{n} CPUs");
            // The last CPUs get nothing if all tasks are given to those before them.
            let busy = sim.w.cpus.iter().filter(|c| c.time[0] > 0).count();
            assert!(busy as u32 * 2 > n && sim.w.cpus[CpuId(0)].time[0] > 0, "{busy} of {n}");
        }
    }
}

/// `SCX_DSQ_LOCAL` in a timer is the queue of the CPU that it fires on, and another operation that
/// holds a runqueue's lock may move nothing.
#[test]
fn a_timer_knows_its_own_cpu_and_other_operations_may_not_move() {
    let machine = &machines()[0];
    let hand = |fault| {
        let mut object = object("hand");
        object.set_int("fault", fault).unwrap();
        load(&object, Rules::V6_12, machine).unwrap()
    };
    let policy = Ext::new(Bpf::new(&hand(1)), Rules::V6_12, Tunables::default());
    let program = Short::new(12, 300_000, 100_000, 10, 1);
    let mut sim = simulate(machine.clone(), Config::default(), policy, program, NoObserver);
    assert_eq!(sim.run_until(4000 * MS), StopReason::Done);
    let busy: Vec<u32> = sim.w.cpus.iter().map(|c| (c.time[0] > 0).into()).collect();
    assert_eq!(busy, [1, 0, 0, 0, 0, 0, 0, 0]);
    let end = end(&hand(2), machine, Short::new(12, 300_000, 100_000, 10, 1));
    assert!(end.contains("moved in an operation that may not"), "{end}");
}

/// A timer that moves the first task that waits to CPU 0.
#[derive(Default)]
struct ToFirst {
    waiting: DsqId,
}

impl Ops for ToFirst {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.waiting = cx.create_dsq(Order::Fifo);
        cx.set_timer(MS, CpuId(1));
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        cx.insert(p, Dsq::User(self.waiting), cx.slice_dfl());
    }

    fn select_cpu(&mut self, _: &mut Cx<'_>, _: TaskId, prev: CpuId, _: Wake) -> CpuId {
        prev
    }

    fn timer(&mut self, cx: &mut Cx<'_>) {
        let (from, to) = (self.waiting, Dsq::LocalOn(CpuId(0)));
        if let Some(task) = cx.dsq_first(from) {
            let flags = Insert::default();
            let m = Move { task, from, to, slice: None, vtime: None, flags };
            assert!(cx.move_now(m), "it is there");
        }
        cx.set_timer(cx.now() + MS, CpuId(1));
    }
}

/// `task_can_run_on_remote_rq`: the scheduler has to know where a task may run.
#[test]
fn a_timer_that_moves_a_task_where_it_may_not_run_ends_the_run() {
    let end = |cpu: u32| {
        let machine = machines()[0].clone();
        let policy = Ext::new(ToFirst::default(), Rules::V6_18, Tunables::default());
        let mut world = World::new(machine.into(), Config::default());
        let allowed = world.mask(CpuSet::of(8, [CpuId(cpu)]));
        let task = TaskAttr { allowed, ..TaskAttr::default() };
        let script = vec![(task, vec![Op::Run(MS), Op::Exit])];
        let mut sim = Simulation::new(world, policy, Scripts(script), NoObserver);
        sim.run_until(20 * MS)
    };
    assert_eq!(end(0), StopReason::Done);
    let why = "0 sent to CPU 0, where it may not run".to_string();
    assert_eq!(end(1), StopReason::GivenUp(why));
}

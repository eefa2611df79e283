//! CPUs that nothing else depends on run ahead of the others: the run must be the same to the last
//! bit.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Discipline, Fair};
use proptest::prelude::*;
use sim_core::{
    Config, Counters, LockId, MaskId, Ns, Observer, Op, Program, ProgramCx, TaskAttr, TaskId, World,
};
use test_support::{Random, eevdf, eevdfs, shapes, simulate};
use topology::{CpuId, CpuSet, Machine};

const MS: Ns = 1_000_000;

/// Sums what does not depend on the order; with `heeds_order` it is shown everything in its order.
#[derive(Default)]
struct Delays {
    heeds_order: bool,
    sum_ns: Ns,
    n_told: u64,
    waits: u64,
    /// Locks released by the paths of `schedule()` that were walked step by step, and others.
    n_released: u64,
}

impl Observer for Delays {
    fn sched_delay(&mut self, _w: &World, _task: TaskId, ns: Ns) {
        self.sum_ns += ns;
        self.n_told += 1;
    }

    fn waited_for_cpu(&mut self, _w: &World, cpu: CpuId, p: TaskId, prev: TaskId, ns: Ns) {
        // Which waits there were, in whatever order they are told.
        let who = u64::from(cpu.0) << 32 ^ u64::from(p.0) << 16 ^ u64::from(prev.0);
        self.waits = self.waits.wrapping_add((ns + 1).wrapping_mul(who | 1));
    }

    fn released(&mut self, _w: &World, _cpu: CpuId, _lock: LockId) {
        self.n_released += 1;
    }

    fn heeds_order(&self) -> bool {
        self.heeds_order
    }
}

/// Tasks that compute for long, and some that disturb them: they sleep, wake others, change their
/// attributes or their address space's size.
#[derive(Clone)]
struct Crowd {
    nice: Vec<i8>,
    /// So many of ten tasks only compute.
    hogs: usize,
    /// Some may run on two CPUs only.
    pinned: bool,
    random: Random,
}

impl Program for Crowd {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let n = cx.n_cpus();
        let corners = cx.mask(CpuSet::of(n, [0, n as u32 - 1].map(CpuId)));
        for (i, &nice) in self.nice.iter().enumerate() {
            let working_set_kib = [0, 64, 4096][i % 3];
            let mm = i as u32 / 2;
            let allowed = if self.pinned && i % 7 == 3 { corners } else { MaskId::ALL };
            cx.start_task(TaskAttr { nice, mm, working_set_kib, allowed, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if task.idx() % 10 < self.hogs {
            return Op::Run(20 * MS + self.random.below(3000 * MS));
        }
        let other = TaskId(self.random.below(self.nice.len() as u64) as u32);
        match self.random.below(12) {
            0..4 => Op::Sleep(self.random.below(400 * MS)),
            4 => Op::Kernel(self.random.below(5 * MS)),
            5 => Op::Wake { task: other, sync: false },
            6 => {
                cx.set_memory(other, 7, 512);
                Op::Yield
            }
            7 => Op::Wait,
            _ => Op::Run(self.random.below(30 * MS)),
        }
    }
}

/// Everything that a run leaves behind, after two pieces.
fn run<S: Discipline>(
    machine: &Machine,
    policy: Fair<S>,
    program: Crowd,
    (first, second): (Ns, Ns),
    heeds_order: bool,
) -> (String, Delays, u64) {
    let observer = Delays { heeds_order, ..Delays::default() };
    let mut sim = simulate(machine.clone(), Config::default(), policy, program, observer);
    // CPUs that may run ahead are held up now and then.
    let ends = [first, first + second].map(|until| {
        loop {
            if let Some(end) = sim.run_events(97, until).or_else(|| sim.step(until)) {
                break end;
            }
        }
    });
    let (w, policy) = (&sim.w, &sim.policy);
    let cpus: Vec<_> = (w.cpus.iter())
        .map(|c| (c.curr, c.nr_running, c.time, c.ticks, c.tick_next, c.nr_switches))
        .collect();
    let tasks: Vec<_> =
        w.tasks.iter().map(|t| (t.state, t.cpu, t.work_left, t.debt, t.ran_ns)).collect();
    let fair: Vec<_> = (policy.tasks.iter())
        .map(|p| (p.vruntime, p.sum_exec_runtime, p.exec_start, p.avg, p.list_next))
        .collect();
    let rqs: Vec<_> =
        policy.rqs.iter().map(|rq| (rq.avg, rq.min_vruntime, rq.next_balance)).collect();
    let (waste, counters) = (w.idle_while_runnable_ns, Counters { events: 0, ..w.counters });
    let shown = format!(
        "{ends:?} {counters:?} {:?} {waste} {cpus:?} {tasks:?} {fair:?} {rqs:?}",
        w.locks.sites
    );
    let switches = w.counters.switches;
    (shown, sim.observer, switches)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn who_is_left_alone_does_the_same(
        shape in shapes().prop_filter("of one node", |s| s.machine().nodes.len() == 1),
        nice in prop::collection::vec(-10i8..10, 2..40),
        hogs in 0usize..=10,
        until in (0..3000 * MS, 0..1000 * MS),
        seed in 1u64..1000,
        (base_slice, pinned) in any::<(bool, bool)>(),
        eevdf_rules in prop::option::of(eevdfs()),
    ) {
        let machine = shape.machine();
        let n = machine.n_cpus();
        let program = Crowd { nice, hogs, pinned, random: Random::new(seed) };
        let both = |heeds_order| match eevdf_rules {
            Some((rules, bits)) => {
                run(&machine, eevdf(rules, bits, n), program.clone(), until, heeds_order)
            }
            None => {
                let features = Features { base_slice, ..Features::default() };
                let policy = Fair::new(features, Tunables::for_cpus(n));
                run(&machine, policy, program.clone(), until, heeds_order)
            }
        };
        let ((ahead, delays, _), (in_order, told, _)) = (both(false), both(true));
        prop_assert_eq!(ahead, in_order);
        prop_assert_eq!((delays.sum_ns, delays.n_told, delays.waits),
            (told.sum_ns, told.n_told, told.waits));
    }
}

/// Nearly all switches of a crowd of hogs are made without the steps of `schedule()`.
#[test]
fn hogs_are_left_alone() {
    let shape = topology::RegularSpec { cores_per_llc: 8, ..topology::RegularSpec::default() };
    let machine = Machine::regular(topology::RegularSpec { threads_per_core: 1, ..shape });
    let program = || Crowd { nice: vec![0; 64], hogs: 10, pinned: false, random: Random::new(1) };
    let policy = || Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
    let until = (2000 * MS, 5000 * MS);
    let (ahead, delays, switches) = run(&machine, policy(), program(), until, false);
    let (in_order, told, _) = run(&machine, policy(), program(), until, true);
    assert_eq!(ahead, in_order);
    assert!(told.n_released >= switches, "{} of {switches}", told.n_released);
    assert!(delays.n_released < switches / 2, "{} of {switches}", delays.n_released);
}

//! Two wake-ups that choose a CPU within each other's windows. The wake list marks the CPU as taken
//! at the choice (`ttwu_pending`), a direct enqueue only when it ends.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Discipline, Fair, GroupSpec, Rules};
use sim_core::{
    Config, GroupId, LockId, Ns, Observer, Op, Program, ProgramCx, TaskAttr, TaskId, World,
};
use test_support::simulate;
use topology::{CState, CpuId, CpuSet, Machine, RegularSpec};

const MS: Ns = 1_000_000;

/// Tasks 0 and 1 run on CPUs 0 and 1 and wake tasks 2 and 3, the second one `late_ns` after the
/// first; those may use CPUs 2 and 3.
#[derive(Default)]
struct TwoWakers {
    steps: [u8; 4],
    late_ns: Ns,
}

impl Program for TwoWakers {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let n = cx.n_cpus();
        for cpus in [vec![0], vec![1], vec![2, 3], vec![2, 3]] {
            let allowed = cx.mask(CpuSet::of(n, cpus.into_iter().map(CpuId)));
            cx.start_task(TaskAttr { allowed, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let step = std::mem::replace(&mut self.steps[task.idx()], 1);
        match (task.0, step) {
            (0, 0) => Op::Run(10 * MS),
            (1, 0) => Op::Run(10 * MS + self.late_ns),
            (0 | 1, _) if self.steps[task.idx() + 2] == 1 => {
                self.steps[task.idx() + 2] = 2;
                Op::Wake { task: TaskId(task.0 + 2), sync: false }
            }
            (0 | 1, _) => Op::Run(10 * MS),
            (_, 0) => Op::Wait,
            _ => Op::Run(10 * MS),
        }
    }
}

/// Where woken tasks were put.
#[derive(Default)]
struct Woken(Vec<(TaskId, CpuId)>);

impl Observer for Woken {
    fn wakeup(&mut self, _w: &World, cpu: CpuId, task: TaskId, new: bool) {
        if !new {
            self.0.push((task, cpu));
        }
    }
}

/// The CPUs of tasks 2 and 3, which both slept on CPU 2, after they were woken.
fn chosen(ttwu_queue: bool, rules: Rules, late_ns: Ns) -> Vec<u32> {
    let spec = RegularSpec { cores_per_llc: 4, threads_per_core: 1, ..RegularSpec::default() };
    let machine = Machine::regular(RegularSpec { llcs_per_socket: 1, ..spec });
    let config = Config { ttwu_queue, ..Config::default() };
    let features = Features { ttwu_queue, ..Features::default() };
    let policy = Fair::new(features, Tunables::for_cpus(4)).with_rules(rules);
    let wakers = TwoWakers { late_ns, ..TwoWakers::default() };
    let mut sim = simulate(machine, config, policy, wakers, Woken::default());
    sim.run_until(5 * MS);
    for sleeper in [2, 3] {
        let t = &mut sim.w.tasks[TaskId(sleeper)];
        (t.cpu, t.wake_cpu) = (CpuId(2), CpuId(2));
    }
    sim.run_until(15 * MS);
    let mut cpus: Vec<u32> = sim.observer.0.iter().map(|(_, cpu)| cpu.0).collect();
    cpus.sort_unstable();
    cpus
}

#[test]
fn the_second_of_two_wakers_sees_that_the_cpu_is_taken() {
    assert_eq!(chosen(true, Rules::V6_4, 0), [2, 3]);
}

#[test]
fn without_the_wake_list_two_wakers_may_stack_on_one_cpu() {
    assert_eq!(chosen(false, Rules::V6_4, 0), [2, 2]);
}

/// `sched_ttwu_pending()` took `ttwu_pending` away before it enqueued until v6.2 turned the two
/// around: in between neither that nor `nr_running` tells that the CPU is taken.
#[test]
fn up_to_6_1_a_cpu_looks_idle_while_it_enqueues_what_was_on_its_wake_list() {
    const STEP: Ns = 20;
    let stacked_ns = |rules| {
        let stacks = |late: &Ns| chosen(true, rules, *late) == [2, 2];
        (0..4000).step_by(STEP as usize).filter(stacks).count() as Ns * STEP
    };
    assert_eq!(stacked_ns(Rules::V6_4), 0);
    let machine = Machine::regular(RegularSpec::default());
    let (lock_ns, enqueue_ns) = (machine.locks.fast_ns, machine.costs.enqueue_ns);
    let wide = stacked_ns(Rules::V6_1);
    assert!(wide.abs_diff(lock_ns + enqueue_ns) <= STEP, "{wide} ns");
}

/// For how long a runqueue's lock is held on after an enqueue has appended to a shared queue, and
/// then is free until its CPU takes it to pick, ns.
#[derive(Default)]
struct HeldOn {
    enqueues: bool,
    appended: Option<Ns>,
    ns: Vec<Ns>,
    given_back: Option<(LockId, Ns)>,
    free_ns: Vec<Ns>,
    /// For how long the shared queue's lock was held to append, ns.
    append_ns: Vec<Ns>,
    locked: Ns,
}

impl Observer for HeldOn {
    fn enqueued(&mut self, w: &World, _cpu: CpuId, _task: TaskId) {
        // What exists at time 0 is queued without locks.
        (self.enqueues, self.appended) = (w.now > 0, None);
    }

    fn released(&mut self, w: &World, _cpu: CpuId, lock: LockId) {
        // The runqueues' locks come first.
        if (lock.0 as usize) >= w.cpus.len() {
            self.append_ns.extend(self.enqueues.then_some(w.now - self.locked));
            self.appended = self.enqueues.then_some(w.now);
        } else if let Some(at) = self.appended.take() {
            self.ns.push(w.now - at);
            self.enqueues = false;
            self.given_back = Some((lock, w.now));
        }
    }

    fn acquired(&mut self, w: &World, cpu: CpuId, lock: LockId, _: CpuId, _: Option<Ns>) {
        if (lock.0 as usize) >= w.cpus.len() {
            self.locked = w.now;
        }
        if let Some((_, at)) = self.given_back.take_if(|(of, _)| *of == lock) {
            assert_eq!(lock, LockId::rq(cpu));
            self.free_ns.push(w.now - at);
        }
    }
}

/// What is seen of two wake-ups, one after the other, on CPUs of one LLC.
fn held_on<S: Discipline>(machine: &Machine, policy: Fair<S>, user_group: GroupId) -> HeldOn {
    let wakers = TwoWakers { late_ns: MS, ..TwoWakers::default() };
    let config = Config { user_group, ..Config::default() };
    let mut sim = simulate(machine.clone(), config, policy, wakers, HeldOn::default());
    sim.run_until(15 * MS);
    sim.observer
}

/// Four CPUs of one LLC that sleep in one state.
fn four_cpus(polling: bool) -> Machine {
    let c1 =
        CState { name: "C1".into(), exit_ns: 800, core_exit_ns: 800, residency_ns: 0, polling };
    let spec = RegularSpec { cores_per_llc: 4, threads_per_core: 1, ..RegularSpec::default() };
    Machine::regular(RegularSpec { llcs_per_socket: 1, cstates: vec![c1], ..spec })
}

/// The hook of the shared wakequeue is the end of `enqueue_task_fair()`; what is left under the lock
/// is little, whoever enqueues.
#[test]
fn a_waking_task_is_on_the_shared_queue_shortly_before_the_lock_is_given_back() {
    let mut machine = four_cpus(true);
    let rest_ns = machine.costs.enqueue_rest_ns;
    assert_eq!(rest_ns, machine.costs.enqueue_ns / 15);
    for (ttwu_queue, rest_ns) in [(true, rest_ns), (false, rest_ns), (true, 100), (false, 100)] {
        machine.costs.enqueue_rest_ns = rest_ns;
        let features = Features { ttwu_queue, swqueue: true, ..Features::default() };
        let policy = Fair::new(features, Tunables::for_cpus(4));
        let seen = held_on(&machine, policy, GroupId::ROOT);
        assert_eq!(seen.ns, [rest_ns; 2], "{ttwu_queue}");
    }
}

/// Since version 2 the hook is in `__enqueue_entity()`: the rest of the enqueue comes after it, and
/// that is much in a task group, whose own entity is next.
#[test]
fn later_versions_show_a_waking_task_before_its_group_is_queued() {
    let machine = four_cpus(true);
    let features = Features { shared_runq: true, ..Features::default() };
    let tunables = Tunables::for_cpus(4);
    let flat = held_on(&machine, Fair::new(features, tunables), GroupId::ROOT);
    assert_eq!(flat.ns, [machine.costs.enqueue_ns * 142 / 1205; 2]);

    let policy = Fair::with_groups(features, tunables, &[GroupSpec::default()]);
    let seen = held_on(&machine, policy, GroupId(1));
    assert_eq!(seen.ns, [machine.costs.enqueue_ns * 687 / 1750; 2]);
    // What the group costs before that passes before the queue is locked.
    assert_eq!(seen.append_ns, flat.append_ns);
}

/// Whoever pops a woken task has the time until its CPU has taken the lock to move it away.
#[test]
fn between_the_enqueue_and_the_pick_the_lock_is_free() {
    for polling in [false, true] {
        let machine = four_cpus(polling);
        let costs = &machine.costs;
        let out_of_irq_ns = costs.irq_ns / 2 + costs.idle_loop_ns + costs.pick_before_lock_ns();
        let free_ns = if polling { costs.pick_ns * 108 / 458 } else { out_of_irq_ns };
        let features = Features { swqueue: true, ..Features::default() };
        let policy = Fair::new(features, Tunables::for_cpus(4));
        assert_eq!(held_on(&machine, policy, GroupId::ROOT).free_ns, [free_ns; 2], "{polling}");
    }
}

//! What a policy, a program or an observer does that says nothing, and one behind a pointer.

use sim_core::{Choice, DequeueFlags, EnqueueFlags, Hook, Nested, SchedAttr};
use sim_core::{
    Config, Decision, Observer, Op, OperationCount, Policy, Program, ProgramCx, SelectKind, Step,
    TaskAttr, TaskId, World,
};
use std::any::Any;
use test_support::free_machine;
use topology::CpuId;

/// It says what it must.
struct Silent;

impl Policy for Silent {
    fn init(&mut self, _: &mut World) {}
    fn task_fork(&mut self, _: &mut World, _: TaskId, _: Option<TaskId>) {}
    fn task_tick(&mut self, _: &mut World, _: CpuId) {}
    fn wakeup_preempt(&mut self, _: &mut World, _: CpuId, _: TaskId, _: EnqueueFlags) {}

    fn select_task_rq(&mut self, _: &mut World, _: TaskId, _: SelectKind) -> Choice {
        Choice { cpu: CpuId(0), scan_ns: 0 }
    }

    fn enqueue_task(&mut self, _: &mut World, _: CpuId, _: TaskId, _: EnqueueFlags) -> Hook {
        None
    }

    fn dequeue_task(&mut self, _: &mut World, _: CpuId, _: TaskId, _: DequeueFlags) -> Hook {
        None
    }

    fn pick_next_task(&mut self, _: &mut World, _: CpuId) -> Option<TaskId> {
        None
    }

    fn switch_task(&mut self, _: &mut World, _: CpuId, _: TaskId, _: TaskId) -> Hook {
        None
    }
}

#[test]
fn a_policy_that_says_nothing_takes_no_time_and_heeds_each_tick() {
    let mut w = World::new(free_machine(1).into(), Config::default());
    let (cpu, p) = (CpuId(0), w.new_task(TaskAttr::default()));
    let mut policy = Silent;
    w.cpus[cpu].tick_next = 4_000_000;
    assert_eq!(policy.next_deciding_tick(&w, cpu), 4_000_000);
    assert_eq!(policy.only_ticks_until(&w, cpu), 0);
    assert_eq!(policy.before_idle(&mut w, cpu, p, true), Step::Done);
    assert_eq!(policy.softirq(&mut w, cpu, true), Step::Done);
    assert_eq!(policy.stopper(&mut w, cpu, cpu, true), Step::Done);
    assert_eq!(policy.set_scheduler(&mut w, p, SchedAttr::default()), None);
    assert_eq!(policy.set_cpus_allowed(&mut w, p, sim_core::MaskId::ALL), None);
    let nested =
        Nested { lock: sim_core::LockId(0), site: sim_core::Site::STOP_RQ_LOCK, task: p, op: 0 };
    assert_eq!((policy.nested_hold(&w, cpu, nested), policy.idles_with_queued()), (0, false));
    assert_eq!(policy.nested_done(&mut w, cpu, nested), None);
    assert_eq!((policy.results(), policy.operations()), (vec![], Vec::<OperationCount>::new()));
    assert_eq!((policy.cpu_signals(cpu), policy.task_signals(p)), (None, None));
}

/// A program that says nothing but what it must.
struct Plain;

impl Program for Plain {
    fn start(&mut self, _: &mut ProgramCx<'_>) {}

    fn next(&mut self, _: &mut ProgramCx<'_>, _: TaskId) -> Op {
        Op::Exit
    }
}

/// One that says all.
struct Full;

impl Program for Full {
    fn start(&mut self, _: &mut ProgramCx<'_>) {}

    fn next(&mut self, _: &mut ProgramCx<'_>, _: TaskId) -> Op {
        Op::Exit
    }

    fn is_done(&self) -> bool {
        true
    }

    fn progress(&self) -> f64 {
        0.25
    }

    fn is_under_way(&self) -> bool {
        false
    }

    fn results(&self, elapsed_ns: u64) -> Vec<(&'static str, f64)> {
        vec![("elapsed", elapsed_ns as f64)]
    }

    fn inspect(&self) -> Option<&dyn Any> {
        Some(&7u8)
    }

    fn waits_for(&self, task: TaskId) -> String {
        format!("task {}", task.0)
    }
}

#[test]
fn a_program_behind_a_pointer_says_what_it_says() {
    let plain: Box<dyn Program> = Box::new(Plain);
    assert_eq!((plain.is_done(), plain.progress(), plain.is_under_way()), (false, 0.0, true));
    assert_eq!((plain.results(5), plain.inspect().is_none()), (vec![], true));
    assert_eq!(plain.waits_for(TaskId(3)), "an event that never came");
    let full: Box<dyn Program> = Box::new(Full);
    assert_eq!((full.is_done(), full.progress(), full.is_under_way()), (true, 0.25, false));
    assert_eq!(full.results(5), [("elapsed", 5.0)]);
    assert_eq!(full.inspect().and_then(|part| part.downcast_ref::<u8>()), Some(&7));
    assert_eq!(full.waits_for(TaskId(3)), "task 3");
}

/// What it wants to know.
#[derive(Clone, Copy)]
struct Wants([bool; 5]);

impl Observer for Wants {
    fn has_enough(&self) -> bool {
        self.0[0]
    }

    fn watches_time(&self) -> bool {
        self.0[1]
    }

    fn watches_decisions(&self) -> bool {
        self.0[2]
    }

    fn watches_signals(&self) -> bool {
        self.0[3]
    }

    fn heeds_order(&self) -> bool {
        self.0[4]
    }
}

/// It says nothing.
struct Mute;

impl Observer for Mute {
    fn decided(&mut self, _: &World, _: &Decision) {}
}

#[test]
fn a_pair_of_observers_wants_what_either_wants() {
    fn asked(o: &impl Observer) -> [bool; 5] {
        let watches = [o.watches_time(), o.watches_decisions(), o.watches_signals()];
        [o.has_enough(), watches[0], watches[1], watches[2], o.heeds_order()]
    }
    assert_eq!(asked(&Mute), [false, false, false, false, true]);
    let none = Wants([false; 5]);
    assert_eq!(asked(&(none, none)), [false; 5]);
    for i in 0..5 {
        let mut one = Wants([false; 5]);
        one.0[i] = true;
        assert_eq!(asked(&(one, none)), one.0);
        assert_eq!(asked(&(none, one)), one.0);
        assert_eq!(asked(&(one, one)), one.0);
        let pointer: &mut dyn Observer = &mut one;
        assert_eq!(asked(&pointer), Wants(std::array::from_fn(|k| k == i)).0);
    }
}

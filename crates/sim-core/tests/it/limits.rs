//! As many tasks as a run may have, and what happens then.

use policies::fcfs::Fcfs;
use sim_core::{
    Config, NoObserver, Ns, Op, Program, ProgramCx, Simulation, StopReason, TASKS_MAX, TaskAttr,
    TaskId,
};
use test_support::simulate;
use topology::{Machine, RegularSpec};

/// A main task, the last of many; the others exist without running. It sleeps once and exits, or
/// forks for ever.
struct Crowd {
    n: usize,
    sleeps: Option<Ns>,
    asleep: bool,
    main: Option<TaskId>,
}

impl Program for Crowd {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for _ in 1..self.n {
            cx.new_task(TaskAttr::default());
        }
        self.main = Some(cx.start_task(TaskAttr::default()));
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if self.main != Some(task) {
            return Op::Wait;
        }
        match (self.sleeps, std::mem::replace(&mut self.asleep, true)) {
            (Some(ns), false) => Op::Sleep(ns),
            (Some(_), true) => Op::Exit,
            (None, _) => Op::Fork(cx.new_task(TaskAttr::default())),
        }
    }

    fn is_done(&self) -> bool {
        true
    }
}

fn run(n: usize, sleeps: Option<Ns>) -> (StopReason, Simulation<Fcfs, Crowd, NoObserver>) {
    let machine = Machine::regular(RegularSpec::default());
    let crowd = Crowd { n, sleeps, asleep: false, main: None };
    let mut sim = simulate(machine, Config::default(), Fcfs::default(), crowd, NoObserver);
    (sim.run_until(u64::MAX), sim)
}

#[test]
fn a_sleep_of_a_day_ends_however_many_tasks_there_are() {
    let day: Ns = 86_400_000_000_000;
    for n in [1, 1 << 17, TASKS_MAX] {
        let (end, sim) = run(n, Some(day));
        assert_eq!((end, sim.w.now / day), (StopReason::Done, 1), "{n} tasks");
    }
}

#[test]
fn who_forks_for_ever_is_stopped() {
    let (end, sim) = run(TASKS_MAX - 100, None);
    assert_eq!(end, StopReason::TooManyTasks(TaskId(TASKS_MAX as u32 - 101)));
    assert!((TASKS_MAX..TASKS_MAX + 2).contains(&sim.w.tasks.len()), "{}", sim.w.tasks.len());
}

//! Two wake-ups that choose a CPU within each other's windows. The wake list marks the CPU as taken
//! at the choice (`ttwu_pending`), a direct enqueue only when it ends.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use sim_core::{Config, Ns, Observer, Op, Program, ProgramCx, TaskAttr, TaskId, World};
use test_support::simulate;
use topology::{CpuId, CpuSet, Machine, RegularSpec};

const MS: Ns = 1_000_000;

/// Tasks 0 and 1 run on CPUs 0 and 1 and wake tasks 2 and 3 at once; those may use CPUs 2 and 3.
struct TwoWakers {
    steps: [u8; 4],
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
            (0 | 1, 0) => Op::Run(10 * MS),
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

/// The CPUs of tasks 2 and 3, which both slept on CPU 2, after they were woken at once.
fn chosen(ttwu_queue: bool) -> Vec<u32> {
    let spec = RegularSpec { cores_per_llc: 4, threads_per_core: 1, ..RegularSpec::default() };
    let machine = Machine::regular(RegularSpec { llcs_per_socket: 1, ..spec });
    let config = Config { ttwu_queue, ..Config::default() };
    let features = Features { ttwu_queue, ..Features::default() };
    let policy = Fair::new(features, Tunables::for_cpus(4));
    let mut sim = simulate(machine, config, policy, TwoWakers { steps: [0; 4] }, Woken::default());
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
    assert_eq!(chosen(true), [2, 3]);
}

#[test]
fn without_the_wake_list_two_wakers_may_stack_on_one_cpu() {
    assert_eq!(chosen(false), [2, 2]);
}

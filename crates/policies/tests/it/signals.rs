//! Signals as observers are told them, where their closed form is known.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, Rules};
use policies::fcfs::Fcfs;
use sim_core::{
    Config, Ns, Observer, Op, Policy, Program, ProgramCx, SignalSource, Signals, TaskAttr, TaskId,
    World,
};
use test_support::{eevdf, free_machine, simulate};
use topology::CpuId;

const MS: Ns = 1_000_000;
/// A period of PELT, ns: 1024 us of 1024 ns.
const PERIOD: f64 = 1_048_576.0;

/// Each sample of CPU 0 and of task 0: when, of the CPU, of the task.
#[derive(Default)]
struct Samples(Vec<(Ns, Signals, Signals)>);

impl Observer for Samples {
    fn watches_signals(&self) -> bool {
        true
    }

    fn signals(&mut self, w: &World, cpu: CpuId, source: &dyn SignalSource) {
        assert_eq!(cpu, w.this);
        if let (Some(of_cpu), Some(of_task)) = (source.of_cpu(cpu), source.of_task(TaskId(0))) {
            self.0.push((w.now, of_cpu, of_task));
        }
    }
}

/// A task that runs and sleeps by turns.
struct Duty {
    run_ns: Ns,
    sleep_ns: Ns,
    sleeps: bool,
}

impl Program for Duty {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        cx.start_task(TaskAttr::default());
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        self.sleeps = !self.sleeps;
        if self.sleeps { Op::Run(self.run_ns) } else { Op::Sleep(self.sleep_ns) }
    }
}

fn samples<P: Policy>(policy: P, run_ns: Ns, sleep_ns: Ns, until: Ns) -> Samples {
    let program = Duty { run_ns, sleep_ns, sleeps: false };
    let mut sim = simulate(free_machine(1), Config::default(), policy, program, Samples::default());
    sim.run_until(until);
    sim.observer
}

fn on_both(check: impl Fn(&dyn Fn(Ns, Ns, Ns) -> Samples)) {
    let cfs = || Fair::new(Features::default(), Tunables::for_cpus(1));
    check(&|run, sleep, until| samples(cfs(), run, sleep, until));
    check(&|run, sleep, until| samples(eevdf(Rules::V6_12, 0, 1), run, sleep, until));
}

/// What is missing to 1024 halves every 32 periods.
#[test]
fn a_task_that_runs_alone_comes_to_1024_as_the_series_does() {
    on_both(|samples| {
        let Samples(seen) = samples(10_000 * MS, MS, 2_000 * MS);
        // There is a sample at each tick, at least.
        assert!(seen.len() > 450, "{}", seen.len());
        let (begin, _, first) = seen[1];
        for (now, cpu, task) in &seen[1..] {
            let periods = (now - begin) as f64 / PERIOD;
            let expected = 1024.0 - (1024.0 - first.util_avg as f64) * 0.5_f64.powf(periods / 32.0);
            // A period that has begun counts in part.
            let error = (task.util_avg as f64 - expected).abs();
            assert!(error < 24.0, "{periods:.1} periods: {task:?}, expected {expected:.1}");
            assert!(cpu.util_avg.abs_diff(task.util_avg) <= 12, "{cpu:?} {task:?}");
        }
        let (_, cpu, task) = seen[seen.len() - 1];
        for signals in [cpu, task] {
            assert!((1022..=1024).contains(&signals.util_avg), "{signals:?}");
            assert!((1022..=1024).contains(&signals.runnable_avg), "{signals:?}");
            // Nice 0.
            assert!((1022..=1024).contains(&signals.load_avg), "{signals:?}");
        }
    });
}

/// Half of the time, in stretches of 16 periods: between 1024 / (1 + y^16) and y^16 of that.
#[test]
fn half_of_the_time_is_about_half_of_1024() {
    on_both(|samples| {
        let stretch = (16.0 * PERIOD) as Ns;
        let Samples(seen) = samples(stretch, stretch, 4_000 * MS);
        let late = seen.iter().filter(|(now, ..)| *now > 2_000 * MS);
        let utils: Vec<u64> = late.map(|(_, _, task)| task.util_avg).collect();
        let (least, most) = (utils.iter().min().unwrap(), utils.iter().max().unwrap());
        let y16 = 0.5_f64.sqrt();
        let high = 1024.0 / (1.0 + y16);
        assert!((*most as f64 - high).abs() < 16.0, "{most}, expected {high:.1}");
        assert!((*least as f64 - high * y16).abs() < 16.0, "{least}, expected {:.1}", high * y16);
        assert!((least + most).abs_diff(1024) < 24, "{least} {most}");
    });
}

#[test]
fn a_policy_without_averages_says_so() {
    assert!(samples(Fcfs::default(), MS, MS, 50 * MS).0.is_empty());
}

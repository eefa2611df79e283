//! Clocks that follow the load, in whole runs.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Discipline, Fair};
use proptest::prelude::*;
use sim_core::{
    Config, NoObserver, Ns, Op, Program, ProgramCx, Simulation, StopReason, TaskAttr, TaskId,
};
use test_support::{
    FairChecks, Meddlers, eevdf, eevdfs, free_machine, meddlers, run_checked, shapes, simulate,
};
use topology::{CpuFreq, FreqGovernor, Machine};
use workloads::micro::Short;

const MS: Ns = 1_000_000;

/// A machine whose calls cost nothing, with this governor from a half to all of its clock.
fn machine(cpus: u32, governor: FreqGovernor) -> Machine {
    let mut machine = free_machine(cpus);
    let max_mhz = machine.clock_mhz;
    let min_mhz = max_mhz / 2;
    machine.cpufreq =
        Some(CpuFreq { governor, min_mhz, max_mhz, sampling_us: 10_000, io_is_busy: false });
    machine
}

/// When the run is over, and how often CPUs switched.
fn ends<W: Program>(machine: Machine, program: W) -> (Ns, u64) {
    let policy = Fair::new(Features::default(), Tunables::for_cpus(machine.n_cpus()));
    let config = Config { timer_slack_ns: 0, ..Config::default() };
    let mut sim = simulate(machine, config, policy, program, NoObserver);
    assert_eq!(sim.run_until(Ns::MAX), StopReason::Done);
    (sim.w.now, sim.w.counters.switches)
}

/// One task that works so long, sleeps so long, and so on.
struct Works(Vec<Ns>, usize);

impl Program for Works {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        cx.start_task(TaskAttr::default());
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, _task: TaskId) -> Op {
        self.1 += 1;
        let Some(ns) = self.0.get(self.1 - 1) else { return Op::Exit };
        if self.1 % 2 == 1 { Op::Run(*ns) } else { Op::Sleep(*ns) }
    }
}

fn work(governor: FreqGovernor, lengths: &[Ns]) -> Ns {
    ends(machine(1, governor), Works(lengths.to_vec(), 0)).0
}

/// Milliseconds, to the nearest.
fn ms(ns: Ns) -> Ns {
    (ns + MS / 2) / MS
}

#[test]
fn at_half_of_the_clock_work_takes_twice_as_long() {
    assert_eq!(ms(work(FreqGovernor::Performance, &[100 * MS])), 100);
    assert_eq!(ms(work(FreqGovernor::Powersave, &[100 * MS])), 200);
}

#[test]
fn ondemand_takes_the_highest_clock_at_the_first_tick_after_its_interval() {
    // At 250 Hz that is the one at 12 ms: 6 of 100 ms are done by then.
    assert_eq!(ms(work(FreqGovernor::Ondemand, &[100 * MS])), 106);
}

#[test]
fn ondemand_slows_down_who_mostly_sleeps_and_starts_fast_after_a_long_sleep() {
    // 12 ms slow and 94 fast; the first look after 100 ms of sleep takes the old load, so 1 ms of
    // work is done in 1 ms; the next finds 100 of 101 ms idle, and that goes on.
    let lengths = [100 * MS, 100 * MS, MS, 100 * MS, 30 * MS];
    let end = work(FreqGovernor::Ondemand, &lengths);
    // The last 30 ms: slow until the first tick 10 ms after the wake-up, 10 to 14 ms.
    let rest = end - (106 + 100 + 1 + 100) * MS;
    assert!((35 * MS..=37 * MS + MS / 2).contains(&rest), "{rest}");
}

#[test]
fn the_machines_own_clock_all_the_time_changes_nothing() {
    let short = || Short::new(8, 300_000, 700_000, 200, 1);
    let mut without = machine(2, FreqGovernor::Performance);
    without.cpufreq = None;
    assert_eq!(ends(machine(2, FreqGovernor::Performance), short()), ends(without, short()));
}

/// Meddlers some of whose sleeps wait for a disk.
#[derive(Clone, Debug)]
struct WithDisk(Meddlers);

impl Program for WithDisk {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.0.start(cx);
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let op = self.0.next(cx, task);
        cx.set_io_wait(task, matches!(op, Op::Sleep(ns) if ns % 2 == 0));
        op
    }
}

/// Ondemand between any two frequencies, which looks more or less often than ticks come.
fn ondemands() -> impl Strategy<Value = CpuFreq> {
    let governor = FreqGovernor::Ondemand;
    let sampling_us = prop_oneof![100u32..1000, 1000u32..20_000];
    (100u32..5000, 0u32..5000, sampling_us, any::<bool>()).prop_map(
        move |(min_mhz, more_mhz, sampling_us, io_is_busy)| {
            let max_mhz = min_mhz + more_mhz;
            CpuFreq { governor, min_mhz, max_mhz, sampling_us, io_is_busy }
        },
    )
}

/// What a run shows: why and when it ended, switches, wake-ups.
type Shown = (StopReason, Ns, u64, u64);

/// A run whose invariants are checked after each event, and the same in one go.
fn checked_and_in_one_go<S: Discipline>(
    machine: &Machine,
    class: impl Fn() -> Fair<S>,
    program: &WithDisk,
) -> Result<[Shown; 2], String> {
    let new = || simulate(machine.clone(), Config::default(), class(), program.clone(), NoObserver);
    let shown = |end, sim: Simulation<Fair<S>, WithDisk, NoObserver>| {
        (end, sim.w.now, sim.w.counters.switches, sim.w.counters.wakeups)
    };
    let (mut checks, mut checked) = (FairChecks::default(), new());
    let end = run_checked(&mut checked, 100 * MS, |sim| checks.check(sim))?;
    let checked = shown(end, checked);
    let mut in_one_go = new();
    let end = in_one_go.run_until(100 * MS);
    Ok([checked, shown(end, in_one_go)])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn changes_of_the_clock_break_no_invariant(
        shape in shapes(),
        freq in ondemands(),
        program in meddlers().prop_map(WithDisk),
        rules in prop::option::of(eevdfs()),
    ) {
        let machine = Machine { cpufreq: Some(freq), ..shape.machine() };
        let n = machine.n_cpus();
        let fair = || Fair::new(Features::default(), Tunables::for_cpus(n));
        let both = match rules {
            Some((rules, bits)) => {
                checked_and_in_one_go(&machine, || eevdf(rules, bits, n), &program)
            }
            None => checked_and_in_one_go(&machine, fair, &program),
        };
        let [checked, in_one_go] = both.map_err(TestCaseError::fail)?;
        prop_assert_eq!(checked, in_one_go);
    }
}

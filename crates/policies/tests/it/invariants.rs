//! Invariants of the scheduler, after every event, over random shapes, features and workloads.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, Rules};
use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Config, NoObserver, Program, Simulation, StopReason};
use test_support::{check_class, eevdf, eevdfs, run_checked, shapes, simulate, small_build};
use topology::Machine;
use workloads::micro::{PingPong, Short, Spinners};

/// CFS of any kernel, with any features.
fn cfs() -> impl Strategy<Value = (Rules, Features)> {
    use Rules::*;
    let rules = prop_oneof![Just(V5_19), Just(V6_1), Just(V6_4)];
    (rules, any::<u16>(), any::<bool>()).prop_map(|(rules, bits, swqueue)| {
        let on = |bit: u16| bits >> bit & 1 == 1;
        let features = Features {
            gentle_fair_sleepers: on(0),
            start_debit: on(1),
            next_buddy: on(2),
            last_buddy: on(3),
            cache_hot_buddy: on(4),
            wakeup_preemption: on(5),
            sis_prop: on(6),
            sis_util: on(7),
            sis_node: on(8),
            wa_idle: on(9),
            wa_weight: on(10),
            util_est: on(11),
            newidle_avg_idle: on(12),
            base_slice: on(13),
            swqueue_steal: on(14),
            sis_node_topoext: on(15),
            swq_flags: on(0) && on(14),
            swqueue,
            ..Features::for_rules(rules)
        };
        (rules, features)
    })
}

fn check_fair<W: Program>(
    machine: Machine,
    (rules, features): (Rules, Features),
    ttwu_queue: bool,
    program: W,
    until: u64,
) -> Result<StopReason, String> {
    let tunables = Tunables::for_rules(rules, machine.n_cpus());
    let policy = Fair::new(features, tunables).with_rules(rules);
    check_class(machine, policy, ttwu_queue, program, until)
}

/// The same for EEVDF as in the kernel of these rules, with these bits turning features around.
fn check_eevdf<W: Program>(
    machine: Machine,
    (rules, bits): (Rules, u16),
    ttwu_queue: bool,
    program: W,
    until: u64,
) -> Result<StopReason, String> {
    let policy = eevdf(rules, bits, machine.n_cpus());
    check_class(machine, policy, ttwu_queue, program, until)
}

/// Since when each CPU has been idle while some task waited; `None` if that is not so now.
struct Waste {
    since: Vec<Option<u64>>,
    longest_ns: u64,
}

impl Waste {
    fn look<P: sim_core::Policy, W: Program>(&mut self, sim: &Simulation<P, W, NoObserver>) {
        self.since.resize(sim.w.cpus.len(), None);
        for (since, cpu) in self.since.iter_mut().zip(&sim.w.cpus) {
            if !cpu.idle || sim.w.n_waiting == 0 {
                *since = None;
                continue;
            }
            let start = *since.get_or_insert(sim.w.now);
            self.longest_ns = self.longest_ns.max(sim.w.now - start);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Under a global FIFO no CPU idles while a task waits, beyond leaving its C-state and the
    /// way through the scheduler.
    #[test]
    fn a_fifo_conserves_work(
        shape in shapes(),
        tasks in 1u32..20,
        run_us in 1u64..3000,
        sleep_us in 1u64..3000,
        seed: u64,
    ) {
        let machine = shape.machine();
        let exit_ns = machine.cstates.iter().map(|s| s.exit_ns).max().unwrap_or(0);
        let program = Short::new(tasks, run_us * 1000, sleep_us * 1000, 10, seed);
        let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, NoObserver);
        let mut waste = Waste { since: Vec::new(), longest_ns: 0 };
        let end = run_checked(&mut sim, u64::MAX, |sim| {
            waste.look(sim);
            Ok(())
        });
        prop_assert_eq!(end, Ok(StopReason::Done));
        prop_assert!(waste.longest_ns <= exit_ns + 20_000, "idle for {} ns", waste.longest_ns);
    }

    #[test]
    fn a_fifo_keeps_every_invariant(
        shape in shapes(),
        tasks in 1u32..20,
        run_us in 1u64..3000,
        sleep_us in 1u64..3000,
        ttwu_queue: bool,
        seed: u64,
    ) {
        let config = Config { ttwu_queue, ..Config::default() };
        let program = Short::new(tasks, run_us * 1000, sleep_us * 1000, 10, seed);
        let mut sim = simulate(shape.machine(), config, Fcfs::default(), program, NoObserver);
        let end = run_checked(&mut sim, u64::MAX, |_| Ok(()));
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn no_wake_up_is_lost_between_pairs(
        shape in shapes(),
        pairs in 1u32..9,
        work_ns in 0u64..20_000,
        cfs in cfs(),
        ttwu_queue: bool,
    ) {
        let program = PingPong::new(pairs, work_ns, 50);
        let end = check_fair(shape.machine(), cfs, ttwu_queue, program, u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn short_bursts_keep_every_invariant(
        shape in shapes(),
        tasks in 1u32..30,
        run_us in 1u64..6000,
        sleep_us in 1u64..3000,
        cfs in cfs(),
        ttwu_queue: bool,
        seed: u64,
    ) {
        let program = Short::new(tasks, run_us * 1000, sleep_us * 1000, 10, seed);
        let end = check_fair(shape.machine(), cfs, ttwu_queue, program, u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn spinners_keep_every_invariant(shape in shapes(), tasks in 1usize..30, cfs in cfs()) {
        let program = Spinners::new(vec![0; tasks], 40_000_000);
        let end = check_fair(shape.machine(), cfs, true, program, u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn a_build_keeps_every_invariant(shape in shapes(), cfs in cfs(), ttwu_queue: bool) {
        let end = check_fair(shape.machine(), cfs, ttwu_queue, small_build(1.0), u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn under_eevdf_no_wake_up_is_lost_between_pairs(
        shape in shapes(),
        pairs in 1u32..9,
        work_ns in 0u64..20_000,
        eevdf in eevdfs(),
        ttwu_queue: bool,
    ) {
        let program = PingPong::new(pairs, work_ns, 50);
        let end = check_eevdf(shape.machine(), eevdf, ttwu_queue, program, u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn under_eevdf_short_bursts_keep_every_invariant(
        shape in shapes(),
        tasks in 1u32..30,
        run_us in 1u64..6000,
        sleep_us in 1u64..3000,
        eevdf in eevdfs(),
        ttwu_queue: bool,
        seed: u64,
    ) {
        let program = Short::new(tasks, run_us * 1000, sleep_us * 1000, 10, seed);
        let end = check_eevdf(shape.machine(), eevdf, ttwu_queue, program, u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn under_eevdf_spinners_keep_every_invariant(
        shape in shapes(),
        nice in prop::collection::vec(-20i8..20, 1..30),
        eevdf in eevdfs(),
    ) {
        let program = Spinners::new(nice, 40_000_000);
        let end = check_eevdf(shape.machine(), eevdf, true, program, u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn under_eevdf_a_build_keeps_every_invariant(
        shape in shapes(),
        eevdf in eevdfs(),
        ttwu_queue: bool,
    ) {
        let end = check_eevdf(shape.machine(), eevdf, ttwu_queue, small_build(1.0), u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }
}

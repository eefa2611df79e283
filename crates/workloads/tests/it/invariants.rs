//! Invariants of the scheduler, after every event, over random shapes, features and workloads.

use crate::support::{run_checked, shapes, simulate};
use policies::fair::features::{Features, Tunables};
use policies::fair::sites;
use policies::fair::{Discipline, Eevdf, Fair, Rules};
use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{Config, LockId, NoObserver, Program, Simulation, StopReason, TaskId};
use topology::{CpuId, Machine};
use workloads::kernel_build::{self, KernelBuild};
use workloads::micro::{PingPong, Short, Spinners};

fn features() -> impl Strategy<Value = Features> {
    (any::<u16>(), any::<bool>()).prop_map(|(bits, swqueue)| {
        let on = |bit: u16| bits >> bit & 1 == 1;
        Features {
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
            swqueue,
            ..Features::default()
        }
    })
}

/// Invariants of the fair class: `min_vruntime` does not go back, a runqueue's sums are right, the
/// scan budget fits the LLC, idle cores and overload are announced, the shared wakequeue is sound.
#[derive(Default)]
pub struct FairChecks {
    min_vruntime: Vec<u64>,
    nr_running: Vec<u32>,
    idle_cores: Vec<bool>,
    events: u64,
}

impl FairChecks {
    pub fn check<S: Discipline, W: Program>(
        &mut self,
        sim: &Simulation<Fair<S>, W, NoObserver>,
    ) -> Result<(), String> {
        self.min_vruntime.resize(sim.policy.rqs.len(), 0);
        let mut counts = vec![0u32; sim.policy.rqs.len()];
        for t in sim.w.tasks.iter().filter(|t| t.on_rq) {
            counts[t.cpu.idx()] += 1;
        }
        for (cpu, rq) in sim.policy.rqs.iter().enumerate() {
            if (rq.min_vruntime as i64).wrapping_sub(self.min_vruntime[cpu] as i64) < 0 {
                return Err(format!("min_vruntime of cpu {cpu} went back"));
            }
            self.min_vruntime[cpu] = rq.min_vruntime;
            let weight = S::check(&sim.policy, &sim.w, CpuId(cpu as u32))?;
            if (rq.load_weight, rq.h_nr_running) != (weight, counts[cpu]) {
                return Err(format!(
                    "cpu {cpu} has weight {} of {weight}, {} tasks of {}",
                    rq.load_weight, rq.h_nr_running, counts[cpu]
                ));
            }
            let queued = S::queued(&sim.policy, CpuId(cpu as u32));
            if queued.iter().any(|p| sim.w.tasks[*p].cpu.idx() != cpu) {
                return Err(format!("the tree of cpu {cpu} holds a task of another"));
            }
        }
        for (llc, cpus) in sim.policy.llcs.iter().zip(&sim.w.machine.llcs) {
            let n = cpus.len() as u32;
            if llc.nr_idle_scan > n || llc.nr_busy_cpus > n {
                return Err(format!("more than the {n} CPUs of an LLC are counted: {llc:?}"));
            }
        }
        check_steals(sim)?;
        self.check_overload(sim)?;
        self.check_idle_cores(sim)?;
        check_wakequeues(sim)
    }

    /// A CPU that announces an idle core in its LLC has idle siblings. This is only checked after a
    /// single event: a CPU that went on to its next event at once may have woken a task there
    /// since.
    fn check_idle_cores<S: Discipline, W: Program>(
        &mut self,
        sim: &Simulation<Fair<S>, W, NoObserver>,
    ) -> Result<(), String> {
        let llcs = &sim.policy.llcs;
        if self.idle_cores.is_empty() {
            self.idle_cores = llcs.iter().map(|llc| llc.has_idle_cores).collect();
        }
        let n_events = sim.w.counters.events - self.events;
        self.events = sim.w.counters.events;
        for ((llc, cpus), before) in llcs.iter().zip(&sim.w.machine.llcs).zip(&mut self.idle_cores)
        {
            let before = std::mem::replace(before, llc.has_idle_cores);
            // The CPU that announces it may not count as idle itself, yet or any more.
            let could_announce = |c: CpuId| {
                let core = &sim.w.machine.cores[sim.w.machine.cpus[c].core as usize];
                core.iter().all(|s| s == c || sim.w.cpus[s].idle)
            };
            let announced = !before && llc.has_idle_cores && n_events == 1;
            if announced && !cpus.iter().any(could_announce) {
                return Err(format!("an idle core was announced and there is none: {llc:?}"));
            }
        }
        Ok(())
    }

    /// A task that makes a runqueue two or more long sets the overload flag (`add_nr_running()`);
    /// the stopper does, too.
    fn check_overload<S: Discipline, W: Program>(
        &mut self,
        sim: &Simulation<Fair<S>, W, NoObserver>,
    ) -> Result<(), String> {
        self.nr_running.resize(sim.w.cpus.len(), 0);
        for (before, cpu) in self.nr_running.iter_mut().zip(&sim.w.cpus) {
            let before = std::mem::replace(before, cpu.nr_running);
            // A pass that has struck off CPUs with pinned tasks may clear it in the same step.
            let seen_by_all = sim.w.masks.len() == 1;
            if before < 2 && cpu.nr_running >= 2 && seen_by_all && !sim.policy.overload {
                return Err(format!("{} running and no overload", cpu.nr_running));
            }
        }
        Ok(())
    }
}

/// A task is on at most one wakequeue, that of its own LLC, and only while it waits.
fn check_wakequeues<S: Discipline, W: Program>(
    sim: &Simulation<Fair<S>, W, NoObserver>,
) -> Result<(), String> {
    let mut linked = vec![0u32; sim.w.tasks.len()];
    for (q, queue) in sim.policy.swqueues.iter().enumerate() {
        let mut at = queue.head;
        while at != TaskId::NONE {
            linked[at.idx()] += 1;
            if linked[at.idx()] > 1 {
                return Err(format!("{at:?} is on the wakequeues twice"));
            }
            check_waiter(sim, q, at)?;
            at = sim.policy.tasks[at].swq_next;
        }
    }
    let mut marked = sim.policy.tasks.iter().zip(&linked);
    if marked.any(|(se, n)| u32::from(se.on_swqueue) != *n) {
        return Err("tasks are marked as queued that are not, or the reverse".into());
    }
    Ok(())
}

/// A task on a wakequeue is runnable, does not run, may move, and is in that queue's LLC. This is
/// checked where no CPU is in a critical section of the runqueue or the wakequeue.
fn check_waiter<S: Discipline, W: Program>(
    sim: &Simulation<Fair<S>, W, NoObserver>,
    q: usize,
    p: TaskId,
) -> Result<(), String> {
    let t = &sim.w.tasks[p];
    let locks = [LockId::rq(t.cpu), sim.policy.swqueues[q].lock];
    if t.migrating || locks.iter().any(|l| sim.w.locks.owner(*l).is_some()) {
        return Ok(());
    }
    let its_own = sim.policy.shared.own(t.cpu);
    let curr = sim.w.cpus[t.cpu].curr;
    if !t.on_rq || curr == p || t.nr_cpus_allowed < 2 || its_own != q {
        return Err(format!("on shared queue {q}: {p:?} {t:?}"));
    }
    Ok(())
}

/// Every steal ends as one of three things, unless the run ends first: one per CPU.
fn check_steals<S: Discipline, W: Program>(
    sim: &Simulation<Fair<S>, W, NoObserver>,
) -> Result<(), String> {
    let c = &sim.policy.counters;
    let ended = c.steal_hits + c.steal_lost + c.steal_empty;
    let under_way = c.steal_attempts.checked_sub(ended);
    let steals = sim.policy.features.swqueue && sim.policy.features.swqueue_steal;
    let most = if steals { c.pull_empty } else { 0 };
    if under_way.is_none_or(|n| n > sim.w.cpus.len() as u64) || c.steal_attempts > most {
        return Err(format!("steals do not add up: {c:?}"));
    }
    Ok(())
}

/// An append and one way out take the wakequeue's lock once each. More acquisitions come from the
/// counted races only.
fn check_acquisitions<S: Discipline, W: Program>(
    sim: &Simulation<Fair<S>, W, NoObserver>,
    appended_at_start: u64,
) -> Result<(), String> {
    let sites = [
        sites::TTWU_ENQUEUE,
        sites::PUT_PREV_ENQUEUE,
        sites::PICK_REMOVE,
        sites::DEQUEUE_REMOVE,
        sites::PULL_POP,
    ];
    let acquired: u64 = sites.iter().map(|s| sim.w.locks.site(s).acquired).sum();
    let swq = &sim.policy.balance.swq;
    let in_vain = swq.unlinked_nothing + swq.empty_under_lock + swq.head_forbidden;
    let expected = 2 * swq.appended - appended_at_start + in_vain;
    // What is under way when the last task exits is not counted yet.
    if acquired.abs_diff(expected) > sim.w.cpus.len() as u64 {
        return Err(format!("{acquired} acquisitions: {swq:?}"));
    }
    Ok(())
}

fn check_fair<W: Program>(
    machine: Machine,
    features: Features,
    ttwu_queue: bool,
    program: W,
    until: u64,
) -> Result<StopReason, String> {
    let policy = Fair::new(features, Tunables::for_cpus(machine.n_cpus()));
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

pub fn eevdf(rules: Rules, bits: u16, n_cpus: usize) -> Fair<Eevdf> {
    let default = Features::for_rules(rules);
    let turn = |bit: u16, on: bool| on ^ (bits >> bit & 1 == 1);
    let features = Features {
        place_lag: turn(0, default.place_lag),
        place_deadline_initial: turn(1, default.place_deadline_initial),
        place_rel_deadline: turn(2, default.place_rel_deadline),
        run_to_parity: turn(3, default.run_to_parity),
        preempt_short: turn(4, default.preempt_short),
        delay_dequeue: turn(5, default.delay_dequeue),
        delay_zero: turn(6, default.delay_zero),
        pick_buddy: turn(7, default.pick_buddy),
        next_buddy: turn(8, default.next_buddy),
        ni_random: turn(9, default.ni_random),
        wakeup_preemption: turn(10, default.wakeup_preemption),
        ..default
    };
    Fair::eevdf(rules, features, Tunables::for_rules(rules, n_cpus))
}

/// A kernel with EEVDF, and features of it to be turned around: none of them half of the time.
pub fn eevdfs() -> impl Strategy<Value = (Rules, u16)> {
    let rules = prop_oneof![Just(Rules::V6_6), Just(Rules::V6_12), Just(Rules::V6_18)];
    (rules, prop_oneof![Just(0), any::<u16>()])
}

pub fn check_class<S: Discipline, W: Program>(
    machine: Machine,
    policy: Fair<S>,
    ttwu_queue: bool,
    program: W,
    until: u64,
) -> Result<StopReason, String> {
    let config = Config { ttwu_queue, ..Config::default() };
    let mut sim = simulate(machine, config, policy, program, NoObserver);
    let mut checks = FairChecks::default();
    // The first tasks are there before any CPU could contend, and take no lock.
    let appended_at_start = sim.policy.balance.swq.appended;
    let end = run_checked(&mut sim, until, |sim| checks.check(sim))?;
    let c = &sim.policy.counters;
    if c.pull_attempts != c.pull_hits + c.pull_lost + c.pull_empty {
        return Err(format!("pull attempts do not add up: {c:?}"));
    }
    if end == StopReason::Done {
        check_acquisitions(&sim, appended_at_start)?;
    }
    let c = &sim.w.counters;
    // Each migration has one cause.
    if c.migrations.iter().sum::<u64>() != c.migrations_by_cause.iter().sum::<u64>() {
        return Err(format!("migrations do not add up: {c:?}"));
    }
    Ok(end)
}

pub fn small_build() -> KernelBuild {
    KernelBuild::new(kernel_build::Config {
        jobs: 6,
        objects: 12,
        directories: 3,
        work_s: 1.0,
        prepare_s: 0.01,
        link_s: 0.02,
        ..kernel_build::Config::default()
    })
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
        features in features(),
        ttwu_queue: bool,
    ) {
        let program = PingPong::new(pairs, work_ns, 50);
        let end = check_fair(shape.machine(), features, ttwu_queue, program, u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn short_bursts_keep_every_invariant(
        shape in shapes(),
        tasks in 1u32..30,
        run_us in 1u64..6000,
        sleep_us in 1u64..3000,
        features in features(),
        ttwu_queue: bool,
        seed: u64,
    ) {
        let program = Short::new(tasks, run_us * 1000, sleep_us * 1000, 10, seed);
        let end = check_fair(shape.machine(), features, ttwu_queue, program, u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn spinners_keep_every_invariant(shape in shapes(), tasks in 1usize..30, features in features()) {
        let program = Spinners::new(vec![0; tasks], 40_000_000);
        let end = check_fair(shape.machine(), features, true, program, u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }

    #[test]
    fn a_build_keeps_every_invariant(shape in shapes(), features in features(), ttwu_queue: bool) {
        let end = check_fair(shape.machine(), features, ttwu_queue, small_build(), u64::MAX);
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
        let end = check_eevdf(shape.machine(), eevdf, ttwu_queue, small_build(), u64::MAX);
        prop_assert_eq!(end, Ok(StopReason::Done));
    }
}

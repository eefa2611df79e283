//! The fair class: what it must keep after every event, EEVDF of every kernel, and fingerprints.

use crate::{TraceHash, run_checked, simulate};
use policies::fair::features::{Features, Tunables};
use policies::fair::sites;
use policies::fair::{Discipline, Eevdf, Fair, GroupSpec, Rules};
use proptest::prelude::*;
use sim_core::{Config, LockId, NoObserver, Program, Simulation, StopReason, TaskId};
use topology::{CpuId, Machine};

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
    /// Checks the class after an event.
    pub fn check<S: Discipline, W: Program>(
        &mut self,
        sim: &Simulation<Fair<S>, W, NoObserver>,
    ) -> Result<(), String> {
        self.min_vruntime.resize(sim.policy.rqs.len(), 0);
        let mut counts = vec![0u32; sim.policy.rqs.len()];
        for t in sim.w.tasks.iter().filter(|t| t.on_rq && !t.throttled) {
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
            // A pass that has struck off CPUs with pinned tasks may clear it in the same step, and
            // tasks that are throttled at one of the two ends count as pinned.
            let seen_by_all = sim.w.masks.len() == 1 && sim.policy.bandwidth_stat().is_none();
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

/// EEVDF as in the kernel of these rules, with these bits turning features around.
pub fn eevdf(rules: Rules, bits: u16, n_cpus: usize) -> Fair<Eevdf> {
    Fair::eevdf(rules, eevdf_features(rules, bits), Tunables::for_rules(rules, n_cpus))
}

/// The same with task groups.
pub fn grouped_eevdf(
    (rules, bits): (Rules, u16),
    n_cpus: usize,
    groups: &[GroupSpec],
) -> Fair<Eevdf<true>> {
    let tunables = Tunables::for_rules(rules, n_cpus);
    Fair::eevdf_with_groups(rules, eevdf_features(rules, bits), tunables, groups)
}

fn eevdf_features(rules: Rules, bits: u16) -> Features {
    let default = Features::for_rules(rules);
    let turn = |bit: u16, on: bool| on ^ (bits >> bit & 1 == 1);
    Features {
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
    }
}

/// A kernel with EEVDF, and features of it to be turned around: none of them half of the time.
pub fn eevdfs() -> impl Strategy<Value = (Rules, u16)> {
    let rules = prop_oneof![Just(Rules::V6_6), Just(Rules::V6_12), Just(Rules::V6_18)];
    (rules, prop_oneof![Just(0), any::<u16>()])
}

/// Runs with the fair class checked after every event.
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

/// Everything that one run shows: its trace, its times, its counters, the class's averages.
pub fn fingerprint_of<S: Discipline, W: Program>(
    machine: &Machine,
    policy: Fair<S>,
    every_tick: bool,
    program: W,
    until: u64,
) -> String {
    let config = Config { simulate_every_tick: every_tick, ..Config::default() };
    let mut sim = simulate(machine.clone(), config, policy, program, TraceHash::default());
    let end = sim.run_until(until);
    let times: Vec<_> = sim.w.cpus.iter().map(|c| (c.time, c.ticks)).collect();
    let counters = sim_core::Counters { events: 0, ..sim.w.counters };
    let averages: Vec<_> = sim.policy.rqs.iter().map(|rq| (rq.avg, rq.min_vruntime)).collect();
    format!("{end:?} {:x} {times:?} {counters:?} {averages:?}", sim.observer.hash)
}

//! Runs: with a hash of all that happens, with every invariant checked, and what they waste.

use sim_core::{
    Config, MigrationCause, NoObserver, Ns, Observer, Policy, Program, Simulation, StopReason,
    Task, TaskId, World,
};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use topology::{CpuId, Machine};

/// Hashes everything that happens, in order.
#[derive(Default)]
pub struct TraceHash {
    /// The hash so far.
    pub hash: u64,
}

impl TraceHash {
    fn add(&mut self, what: impl Hash) {
        let mut hasher = DefaultHasher::new();
        (self.hash, what).hash(&mut hasher);
        self.hash = hasher.finish();
    }
}

impl Observer for TraceHash {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        self.add((0, w.now, cpu, prev, next));
    }

    fn wakeup(&mut self, w: &World, cpu: CpuId, task: TaskId, new: bool) {
        self.add((1, w.now, cpu, task, new));
    }

    fn sched_delay(&mut self, w: &World, task: TaskId, ns: Ns) {
        self.add((2, w.now, task, ns));
    }

    fn migrate(&mut self, w: &World, task: TaskId, from: CpuId, to: CpuId, why: MigrationCause) {
        self.add((3, w.now, task, from, to, why.index()));
    }
}

/// A simulation that has not begun.
pub fn simulate<P: Policy, W: Program, O: Observer>(
    machine: Machine,
    config: Config,
    policy: P,
    program: W,
    observer: O,
) -> Simulation<P, W, O> {
    Simulation::new(World::new(Arc::new(machine), config), policy, program, observer)
}

/// Runs until an instant in ns, with every invariant checked after every event.
pub fn run_checked<P: Policy, W: Program, O: Observer>(
    sim: &mut Simulation<P, W, O>,
    until: u64,
    mut check: impl FnMut(&Simulation<P, W, O>) -> Result<(), String>,
) -> Result<StopReason, String> {
    loop {
        let before = sim.w.now;
        let end = sim.step(until);
        if sim.w.now < before {
            return Err("time went back".into());
        }
        sim.w.check_invariants().map_err(|e| format!("at {} ns: {e}", sim.w.now))?;
        check(sim).map_err(|e| format!("at {} ns: {e}", sim.w.now))?;
        if let Some(reason) = end {
            return Ok(reason);
        }
    }
}

/// The longest time for which a CPU has idled while a task waited, beyond the time that leaving an
/// idle state takes, ns. All tasks may use all CPUs.
pub fn longest_waste<P: Policy, W: Program>(machine: Machine, policy: P, program: W) -> Ns {
    wastes(machine, policy, program).into_iter().max().unwrap_or(0)
}

/// All such times, each from when the first CPU idles and the first task waits to when another one
/// is the first.
pub fn wastes<P: Policy, W: Program>(machine: Machine, policy: P, program: W) -> Vec<Ns> {
    let exit_ns = machine.cstates.iter().map(|s| s.exit_ns).max().unwrap_or(0);
    let mut sim = simulate(machine, Config::default(), policy, program, NoObserver);
    let mut idles: Vec<Option<Ns>> = Vec::new();
    let mut waits: Vec<Option<Ns>> = Vec::new();
    let mut wastes: Vec<(Ns, Ns)> = Vec::new();
    while sim.step(Ns::MAX).is_none() {
        let w = &sim.w;
        let idle = since(&mut idles, w.now, w.cpus.iter().map(|c| c.idle));
        let is_waiting = |(p, t): (usize, &Task)| {
            t.on_rq && !t.sched_delayed && !t.throttled && w.cpus[t.cpu].curr.idx() != p
        };
        let waits = since(&mut waits, w.now, w.tasks.iter().enumerate().map(is_waiting));
        if let (Some(idle), Some(wait)) = (idle, waits) {
            let begin = idle.max(wait);
            if wastes.last().is_none_or(|last| last.0 != begin) {
                wastes.push((begin, begin));
            }
            wastes.last_mut().expect("there is one").1 = w.now;
        }
    }
    wastes.into_iter().map(|(begin, end)| (end - begin).saturating_sub(exit_ns)).collect()
}

/// Notes since when each of them has been so, and returns the earliest of these times.
fn since(times: &mut Vec<Option<Ns>>, now: Ns, are: impl Iterator<Item = bool>) -> Option<Ns> {
    for (i, is) in are.enumerate() {
        times.resize(times.len().max(i + 1), None);
        times[i] = is.then(|| times[i].unwrap_or(now));
    }
    times.iter().flatten().min().copied()
}

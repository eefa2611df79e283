//! The executor that simulates: a run's specification becomes a policy, a program and a world.
//!
//! The rows of the registry build policy and program, once per run. The engine is compiled once per
//! policy; the program stands behind a pointer, which costs less than 0.1 % of the instructions.

mod latency;
mod ledger;
mod metrics;
mod profile;
mod record;
mod sched_stat;
mod times;
mod workqueue;

use crate::cgroups;
use crate::commands::ByCommand;
use crate::measured::Recorder;
use crate::output::{RunError, RunOutput};
use crate::registry::OF_OBJECTS;
use crate::run::Executor;
use crate::run_spec::{Job, RunSpec, Sampler, Until, Watch};
use crate::workload::WorkloadFile;
use sim_core::{
    Config, NEVER, NoObserver, Ns, Observer, Policy, Program, SchedPolicy, Simulation, StopReason,
    TASKS_MAX, Task, Waiting, World,
};
use std::sync::Arc;
use workloads::background::WithBackground;

/// How often the progress is told: every so many events.
const EVENTS_PER_REPORT: u32 = 1 << 16;
/// Latencies that a run may record: 2 GiB.
const SAMPLES_MAX: usize = 1 << 28;
/// Simulated time after which a run without an end is stopped all the same.
const LONGEST_RUN_NS: Ns = 1 << 60;

/// Runs simulations.
pub struct SimulationExecutor;

impl Executor for SimulationExecutor {
    fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        run_unwatched(spec, progress)
    }
}

/// Runs a simulation for its metrics alone.
pub(crate) fn run_unwatched(spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
    run(spec, Watch::Nobody, progress)
}

/// Runs a simulation that an observer watches besides the metrics' own recorder.
pub(crate) fn run_watched(
    spec: &RunSpec,
    observer: &mut dyn Observer,
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    run(spec, Watch::Observer(observer), progress)
}

/// Runs a simulation that is looked at every `every_ns`.
pub(crate) fn run_sampled(
    spec: &RunSpec,
    every_ns: Ns,
    look: &mut dyn FnMut(&World, &dyn Program),
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    run(spec, Watch::Sampler(Sampler { every_ns, look }), progress)
}

/// The one way to a run, whatever looks at it.
fn run<'a>(
    spec: &'a RunSpec,
    watch: Watch<'a>,
    progress: &'a dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    (spec.policy.0.run)(Job { spec, watch, progress })
}

impl Job<'_> {
    /// Does the job with the policy that `build` makes.
    pub(crate) fn with<P: Policy>(
        self,
        build: impl FnOnce(&RunSpec) -> P,
    ) -> Result<RunOutput, RunError> {
        let policy = build(self.spec);
        let program = (self.spec.workload.def.build)(&self.spec.load());
        // A recording has its own system's threads in it.
        let recorded = matches!(self.spec.workload.file, Some(WorkloadFile::Recording { .. }));
        let program = if recorded {
            WithBackground::none(program)
        } else {
            WithBackground::new(program, &self.spec.machine, self.spec.seed)
        };
        let mut recorder = Recorder::new(&self.spec.machine);
        if let Some(names) = self.spec.workload.commands() {
            recorder.commands = Some(ByCommand::new(names, self.spec.machine.n_cpus()));
        }
        let world = world(self.spec);
        let sampler = match self.watch {
            Watch::Observer(observer) => {
                let sim = Simulation::new(world, policy, program, (recorder, observer));
                return simulate(self.spec, sim, None, self.progress);
            }
            Watch::Sampler(sampler) => Some(sampler),
            Watch::Nobody => None,
        };
        let sim = Simulation::new(world, policy, program, (recorder, NoObserver));
        simulate(self.spec, sim, sampler, self.progress)
    }
}

fn world(spec: &RunSpec) -> World {
    let default = Config::default();
    let slack = spec.tunable_int("timer_slack_ns");
    let config = Config {
        ttwu_queue: spec.feature("TTWU_QUEUE"),
        timer_slack_ns: slack.map_or(default.timer_slack_ns, |v| v as Ns),
        user_group: cgroups::user_group(&spec.workload),
        ..default
    };
    let mut machine = Arc::clone(&spec.machine);
    // On the machine of the recording the kernel's paths take as long as they did.
    if let Some(WorkloadFile::Recording { recording, recorded_here: true }) = &spec.workload.file
        && let Some(paths) = recording.paths
    {
        paths.put_into(Arc::make_mut(&mut machine));
    }
    if let Some(hz) = spec.tunable_int("hz") {
        Arc::make_mut(&mut machine).hz = hz as u32;
    }
    World::new(machine, config)
}

/// A program whose kind is chosen when the run begins: the engine is compiled once per policy.
type AnyProgram = WithBackground<Box<dyn Program>>;

fn simulate<P: Policy, O: Observer>(
    spec: &RunSpec,
    mut sim: Simulation<P, AnyProgram, (Recorder, O)>,
    mut sampler: Option<Sampler<'_>>,
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    let until = match spec.until {
        Until::Done => LONGEST_RUN_NS,
        Until::Time(ns) => ns,
    };
    // The next look of the sampler, or the end.
    let mut stop_at = sampler.as_ref().map_or(until, |sampler| sampler.every_ns.min(until));
    let mut measured = sim.program.is_under_way();
    let end = loop {
        let end = if measured {
            sim.run_events(EVENTS_PER_REPORT, stop_at)
        } else {
            sim.start_up(EVENTS_PER_REPORT, stop_at)
        };
        if let Some(end) = end {
            if let (Some(sampler), StopReason::Until) = (&mut sampler, &end) {
                (sampler.look)(&sim.w, &sim.program);
                if stop_at < until {
                    stop_at = (stop_at + sampler.every_ns).min(until);
                    continue;
                }
            }
            break end;
        }
        measured |= sim.program.is_under_way();
        progress(if until == LONGEST_RUN_NS {
            sim.program.progress()
        } else {
            sim.w.now as f64 / until as f64
        });
        if sim.w.samples.len() > SAMPLES_MAX {
            return Err(too_many_samples(sim.w.now));
        }
        if sim.observer.has_enough() {
            return Err(RunError::Stopped);
        }
    };
    match end {
        StopReason::Until if spec.until == Until::Done => {
            let years = LONGEST_RUN_NS / 1_000_000_000 / 3600 / 24 / 365;
            Err(RunError::Impossible(format!("not done after {years} years of simulated time")))
        }
        StopReason::Until if !measured => Err(RunError::Impossible(format!(
            "the workload is not under way by {:.6} s, so there is nothing to measure; ask for a \
             longer run",
            until as f64 * 1e-9
        ))),
        StopReason::Done | StopReason::Until => {
            every_command_came(spec, &sim.w)?;
            someone_is_limited(spec, &sim.w)?;
            Ok(metrics::output(&mut sim, end == StopReason::Done))
        }
        other => Err(stopped(&sim.w, other)),
    }
}

/// A misspelled command would leave the scheduler without tasks, and nobody would see why.
fn every_command_came(spec: &RunSpec, w: &World) -> Result<(), RunError> {
    let is_missing = |name: &&String| !w.comms.contains(name);
    match spec.sched_ext.iter().find(is_missing) {
        None => Ok(()),
        Some(name) => Err(RunError::Impossible(format!(
            "`sched_ext` names `{name}`, and no task has this name; there are: {}",
            w.comms.join(", ")
        ))),
    }
}

/// Beside a sched_ext scheduler that has the whole group, the fair class limits nobody.
fn someone_is_limited(spec: &RunSpec, w: &World) -> Result<(), RunError> {
    let is_told = spec.policy.name() == OF_OBJECTS && spec.rules != Some("6.12");
    let limited = cgroups::limited(&spec.workload);
    let is_limited = |t: &Task| limited.contains(&t.attr.group);
    let is_fair = |t: &Task| is_limited(t) && t.attr.policy != SchedPolicy::Ext;
    let nobody = !limited.is_empty() && !w.tasks.iter().any(is_fair);
    if spec.sched_ext.is_empty() || is_told || !nobody {
        return Ok(());
    }
    Err(RunError::Impossible(
        "`cpu_max` limits nobody: `sched_ext` names all tasks of the workload, and their scheduler \
         does not keep it"
            .to_string(),
    ))
}

fn too_many_samples(now: Ns) -> RunError {
    RunError::Impossible(format!(
        "more than {SAMPLES_MAX} latencies are recorded by {:.6} s; ask for a shorter run",
        now as f64 * 1e-9
    ))
}

/// Why a run that should have gone on has not.
fn stopped(w: &World, why: StopReason) -> RunError {
    let at_s = w.now as f64 * 1e-9;
    match why {
        StopReason::Done | StopReason::Until => {
            RunError::Impossible(format!("the workload ended at {at_s:.6} s"))
        }
        StopReason::NoProgress(tasks) => {
            RunError::NoProgress { at_s, waiting: tasks.iter().map(describe).collect() }
        }
        StopReason::Livelock(task) => RunError::Impossible(format!(
            "task {} does operation after operation without time passing, at {at_s:.6} s",
            task.comm
        )),
        StopReason::GivenUp(why) => RunError::GivenUp { at_s, why },
        StopReason::TooManyTasks(parent) => {
            let attr = &w.tasks[parent].attr;
            let comm = w.comms.get(attr.comm as usize).map_or("", String::as_str);
            RunError::Impossible(format!(
                "there are {TASKS_MAX} tasks, and {comm} starts one more, at {at_s:.6} s"
            ))
        }
    }
}

fn describe(w: &Waiting) -> String {
    format!("task {} ({}) waits for {}", w.task.0, w.comm, w.what)
}

const _: () = assert!(LONGEST_RUN_NS < NEVER);

#[cfg(test)]
mod tests;

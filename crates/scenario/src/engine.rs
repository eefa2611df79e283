//! The executor that simulates: a run's specification becomes a policy, a program and a world.
//!
//! Policies and programs are chosen here, once per run; inside, everything is resolved at compile
//! time. This file and `metrics.rs` alone know the crates `policies`, `workloads` and `sim-core`.

mod classics;
mod fair;
mod fuse;
mod ledger;
mod metrics;
mod profile;
mod sched_stat;
mod times;
pub(crate) mod workqueue;

use crate::experiment::{RunSpec, Until, WorkloadFile, WorkloadSpec};
use crate::explain::Explanation;
use crate::profile::Profile;
use crate::registry::Class;
use crate::run::{Executor, RunError, RunOutput};
use crate::schedstat::SchedStat;
use fair::{features, rules, tunables};
use metrics::Recorder;
use policies::ext::{self, Ext, Shipped};
use policies::fair::{Cfs, Eevdf, Fair, GroupSpec};
use policies::fcfs::Fcfs;
use sim_core::{
    Config, GroupId, NEVER, NoObserver, Ns, Observer, Policy, Program, Simulation, StopReason,
    TASKS_MAX, Waiting, World,
};
use std::sync::Arc;
use topology::Machine;
use workloads::background::WithBackground;
use workloads::hackbench::{self, Hackbench};
use workloads::kernel_build::{self, KernelBuild};
use workloads::micro::{OpenQueue, PingPong, Short, Spinners};
use workloads::netperf::{self, Netperf};
use workloads::replay::{Replay, Timers};
use workloads::rt_app::{self, RtApp};
use workloads::schbench::{self, Schbench};
use workloads::speed::Speed;
use workloads::truncate::{self, Truncate};
use workloads::web::{self, Web};

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
        with_watch(spec, Watch::Nobody, progress)
    }
}

/// What looks at a run besides the metrics' own recorder. It changes nothing.
enum Watch<'a> {
    /// Nothing: the metrics are all that is asked for.
    Nobody,
    /// An observer of each event: a trace, a profile.
    Observer(&'a mut dyn Observer),
    /// A look from time to time.
    Sampler(Sampler<'a>),
}

/// Looks at the world and the program at regular instants, the last of which is the end.
pub(crate) struct Sampler<'a> {
    /// From one look to the next, ns.
    pub every_ns: Ns,
    /// The look.
    pub look: &'a mut dyn FnMut(&World, &dyn Program),
}

/// Runs a simulation that an observer watches besides the metrics' own recorder.
pub(crate) fn run_watched(
    spec: &RunSpec,
    watch: &mut dyn Observer,
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    with_watch(spec, Watch::Observer(watch), progress)
}

/// Runs a simulation that is looked at from time to time.
pub(crate) fn run_sampled(
    spec: &RunSpec,
    sampler: Sampler<'_>,
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    with_watch(spec, Watch::Sampler(sampler), progress)
}

/// Runs a simulation and says where its time went.
pub(crate) fn profile(spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<Profile, RunError> {
    let mut watch = profile::TimeWatcher::new();
    run_watched(spec, &mut watch, progress)?;
    Ok(watch.result)
}

/// Runs a simulation and says why CPUs idled while tasks waited.
pub(crate) fn explain(spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<Explanation, RunError> {
    let mut watch = ledger::Ledger::new(&spec.machine);
    run_watched(spec, &mut watch, progress)?;
    Ok(watch.result)
}

/// Runs a simulation and says what /proc/schedstat would at its end.
pub(crate) fn schedstat(spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<SchedStat, RunError> {
    let mut watch = sched_stat::Reader::default();
    run_watched(spec, &mut watch, progress)?;
    Ok(watch.result)
}

fn with_watch(
    spec: &RunSpec,
    watch: Watch<'_>,
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    match (spec.policy.0.class, spec.policy.name()) {
        (Class::Alone, _) => with_policy(spec, Fcfs::default(), watch, progress),
        (Class::Ext, _) => with_policy(spec, ext(spec), watch, progress),
        (Class::Fair, "eevdf") => with_policy(spec, eevdf(spec), watch, progress),
        _ if let Some(group) = user_group(spec) => {
            with_policy(spec, grouped(spec, group), watch, progress)
        }
        _ => with_policy(spec, fair(spec), watch, progress),
    }
}

fn with_policy<P: Policy>(
    spec: &RunSpec,
    policy: P,
    watch: Watch<'_>,
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    let load = &spec.workload;
    let seed = spec.seed;
    match load.def.kind {
        "kernel-build" => run(spec, policy, build(spec), watch, progress),
        "rt-app" => run(spec, policy, rt_app(spec), watch, progress),
        "perf-script" => run(spec, policy, replay(load), watch, progress),
        "netperf" => run(spec, policy, netperf(load, seed), watch, progress),
        "hackbench" => run(spec, policy, hackbench(load, seed), watch, progress),
        "perf-bench-pipe" => run(spec, policy, classics::pipe(load, seed), watch, progress),
        "perf-bench-messaging" => {
            run(spec, policy, classics::messaging(load, seed), watch, progress)
        }
        "schbench" => run(spec, policy, schbench(spec), watch, progress),
        "schbench-old" => run(spec, policy, classics::schbench_old(load, seed), watch, progress),
        "tbench" => run(spec, policy, classics::tbench(load, seed), watch, progress),
        "cyclictest" => run(spec, policy, classics::cyclictest(load, seed), watch, progress),
        "stress-ng" => run(spec, policy, classics::stress_ng(spec), watch, progress),
        "web" => run(spec, policy, web(spec), watch, progress),
        "truncate" => run(spec, policy, truncate(load, seed), watch, progress),
        "dm-crypt" => run(spec, policy, workqueue::dm_crypt(spec), watch, progress),
        "fuse" if load.is_build() => run(spec, policy, fuse::build(spec), watch, progress),
        "fuse" => run(spec, policy, fuse::fio(spec), watch, progress),
        "queue-work" => run(spec, policy, workqueue::queue_work(spec), watch, progress),
        "ping-pong" => {
            let program = PingPong::new(int(load, "pairs") as u32, int(load, "work_ns"), 0);
            run(spec, policy, program, watch, progress)
        }
        "spinners" => {
            let program = Spinners::new(vec![0; int(load, "tasks") as usize], 0);
            run(spec, policy, program, watch, progress)
        }
        "short" => {
            let (run_ns, sleep_ns) = (int(load, "run_ns"), int(load, "sleep_ns"));
            let program = Short::new(int(load, "tasks") as u32, run_ns, sleep_ns, 0, seed);
            run(spec, policy, program, watch, progress)
        }
        _ => run(spec, policy, open_queue(load, &spec.machine, seed), watch, progress),
    }
}

/// A whole number that the scenario or the registry gives.
fn int(load: &WorkloadSpec, key: &str) -> u64 {
    load.int(key).expect("the key is required or has a default in the registry")
}

/// A number that the scenario or the registry gives.
fn float(load: &WorkloadSpec, key: &str) -> f64 {
    load.float(key).expect("the key is required or has a default in the registry")
}

fn open_queue(load: &WorkloadSpec, machine: &Machine, seed: u64) -> OpenQueue {
    let interarrival_ns = ((1e9 / float(load, "rate")).round() as Ns).max(1);
    let pool = 64 * machine.n_cpus().max(8) as u32;
    OpenQueue::new(interarrival_ns, int(load, "service_ns"), u64::MAX, pool, seed)
}

fn replay(load: &WorkloadSpec) -> Replay {
    let Some(WorkloadFile::Recording(recording)) = &load.file else {
        unreachable!("a scenario with a recording has read it");
    };
    let timers = match load.get("timers").map(|v| v.to_string()).as_deref() {
        Some("absolute") => Timers::Absolute,
        Some("relative") => Timers::Relative,
        _ => Timers::AsSeen,
    };
    Replay::new(Arc::clone(recording), timers)
}

fn rt_app(spec: &RunSpec) -> RtApp {
    let load = &spec.workload;
    let Some(WorkloadFile::RtApp(file)) = &load.file else {
        unreachable!("a scenario with an rt-app workload has read its file");
    };
    RtApp::new(rt_app::Config {
        spec: Arc::clone(file),
        loop_ns: load.float("loop_ns"),
        round_ns: int(load, "round_ns"),
        speed: Speed::new(spec.machine.variation, spec.seed),
        seed: spec.seed,
    })
}

fn netperf(load: &WorkloadSpec, seed: u64) -> Netperf {
    let name = load.get("test").map(|v| v.to_string()).unwrap_or_default();
    let test = netperf::Test::by_name(&name).expect("the registry lists the tests");
    let (clients, service_ns) = (int(load, "clients") as u32, int(load, "service_ns"));
    let spread = float(load, "spread");
    Netperf::new(netperf::Config { test, clients, service_ns, spread, seed })
}

fn hackbench(load: &WorkloadSpec, seed: u64) -> Hackbench {
    hackbench_of(load, int(load, "datasize") as u32, seed)
}

/// hackbench with messages of so many bytes.
fn hackbench_of(load: &WorkloadSpec, datasize: u32, seed: u64) -> Hackbench {
    let on = |key| load.bool(key).unwrap_or(false);
    Hackbench::new(hackbench::Config {
        groups: int(load, "groups") as u32,
        fds: load.hackbench_fds() as u32,
        loops: int(load, "loops") as u32,
        datasize,
        medium: if on("pipe") { hackbench::Medium::Pipe } else { hackbench::Medium::Socket },
        threads: on("threads"),
        message_ns: load.int("message_ns"),
        spread: float(load, "spread"),
        seed,
    })
}

fn schbench(spec: &RunSpec) -> Schbench {
    let load = &spec.workload;
    Schbench::new(schbench::Config {
        message_threads: int(load, "message_threads") as u32,
        threads: load.schbench_threads(&spec.machine) as u32,
        work_ns: int(load, "work_ns"),
        sleep_ns: int(load, "sleep_ns"),
        rps: load.int("rps"),
        footprint_kib: int(load, "cache_footprint_kib") as u32,
        spread: float(load, "spread"),
        seed: spec.seed,
    })
}

fn web(spec: &RunSpec) -> Web {
    let load = &spec.workload;
    let threads = load.int("threads").unwrap_or(2 * spec.machine.n_cpus() as u64);
    Web::new(web::Config {
        threads: threads as u32,
        rps: load.int("rps"),
        work_ns: int(load, "work_ns"),
        calls: int(load, "calls") as u32,
        backend_ns: int(load, "backend_ns"),
        message_ns: int(load, "message_ns"),
        footprint_kib: int(load, "cache_footprint_kib") as u32,
        spread: float(load, "spread"),
        seed: spec.seed,
    })
}

fn truncate(load: &WorkloadSpec, seed: u64) -> Truncate {
    let name = load.get("batch").map(|v| v.to_string()).unwrap_or_default();
    let ns = |key| float(load, "instruction_ns") * float(load, key);
    Truncate::new(truncate::Config {
        files: int(load, "files") as u32,
        pages: int(load, "pages") as u32,
        data_pct: float(load, "data_pct"),
        cache_pct: float(load, "cache_pct"),
        batch: truncate::Batch::by_name(&name).expect("the registry lists them"),
        entry_ns: ns("entry_work"),
        page_ns: ns("page_work"),
        file_ns: ns("file_work"),
        between_ns: int(load, "between_ns"),
        spread: float(load, "spread"),
        reclaimers: int(load, "reclaimers") as u32,
        seed,
    })
}

fn build(spec: &RunSpec) -> KernelBuild {
    KernelBuild::new(build_config(spec))
}

fn build_config(spec: &RunSpec) -> kernel_build::Config {
    let load = &spec.workload;
    kernel_build::Config {
        jobs: load.int("jobs").map_or(spec.machine.n_cpus() as u32, |n| n as u32),
        objects: int(load, "objects") as u32,
        directories: int(load, "directories") as u32,
        work_s: float(load, "work_seconds"),
        sigma: float(load, "sigma"),
        prepare_s: float(load, "prepare_seconds"),
        link_s: float(load, "link_seconds"),
        seed: spec.seed,
    }
}

fn fair(spec: &RunSpec) -> Fair {
    Fair::new(features(spec), tunables(spec))
}

fn grouped(spec: &RunSpec, group: GroupSpec) -> Fair<Cfs<true>> {
    Fair::with_groups(features(spec), tunables(spec), &[group])
}

/// The group of the workload's user tasks, if they are not in the root's.
fn user_group(spec: &RunSpec) -> Option<GroupSpec> {
    let cpu_weight = spec.workload.int("cpu_weight")?;
    Some(GroupSpec { cpu_weight: cpu_weight as u32 })
}

fn eevdf(spec: &RunSpec) -> Fair<Eevdf> {
    Fair::eevdf(rules(spec), features(spec), tunables(spec))
}

/// A scheduler of the sched_ext shape, by its name.
fn ext(spec: &RunSpec) -> Ext<Shipped> {
    let recheck = spec.tunable("recheck").and_then(|v| v.bool()).unwrap_or(true);
    let ops = match spec.policy.name() {
        "vtime" => Shipped::Vtime(ext::Vtime::new(recheck)),
        "llc-fifo" => Shipped::LlcFifo(ext::LlcFifo::new(recheck)),
        _ => Shipped::Fifo(ext::Fifo::new(recheck)),
    };
    let rules = match spec.rules {
        Some("6.12") => ext::Rules::V6_12,
        _ => ext::Rules::V6_18,
    };
    Ext::new(ops, rules, ext_tunables(spec))
}

fn ext_tunables(spec: &RunSpec) -> ext::Tunables {
    let mut t = ext::Tunables::default();
    let slice = spec.tunable("slice_dfl_ns").and_then(|v| v.int());
    t.slice_ns = slice.map_or(t.slice_ns, |v| v as Ns);
    t
}

fn world(spec: &RunSpec) -> World {
    let default = Config::default();
    let slack = spec.tunable("timer_slack_ns").and_then(|v| v.int());
    let config = Config {
        ttwu_queue: spec.feature("TTWU_QUEUE"),
        timer_slack_ns: slack.map_or(default.timer_slack_ns, |v| v as Ns),
        user_group: GroupId(user_group(spec).is_some().into()),
        ..default
    };
    let mut machine = Arc::clone(&spec.machine);
    if let Some(hz) = spec.tunable("hz").and_then(|v| v.int()) {
        Arc::make_mut(&mut machine).hz = hz as u32;
    }
    World::new(machine, config)
}

fn run<P: Policy, W: Program + 'static>(
    spec: &RunSpec,
    policy: P,
    program: W,
    watch: Watch<'_>,
    progress: &dyn Fn(f64),
) -> Result<RunOutput, RunError> {
    let program: Box<dyn Program> = Box::new(program);
    let program = WithBackground::new(program, &spec.machine.background, spec.seed);
    let recorder = Recorder::new(&spec.machine);
    match watch {
        Watch::Nobody => {
            let sim = Simulation::new(world(spec), policy, program, (recorder, NoObserver));
            simulate(spec, sim, None, progress)
        }
        Watch::Observer(watch) => {
            let sim = Simulation::new(world(spec), policy, program, (recorder, watch));
            simulate(spec, sim, None, progress)
        }
        Watch::Sampler(sampler) => {
            let sim = Simulation::new(world(spec), policy, program, (recorder, NoObserver));
            simulate(spec, sim, Some(sampler), progress)
        }
    }
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
    let mut events = 0;
    let end = loop {
        // The measurement begins right after the event that gets the program under way.
        let n = if measured { EVENTS_PER_REPORT } else { 1 };
        if let Some(end) = sim.run_events(n, stop_at) {
            if let (Some(sampler), StopReason::Until) = (&mut sampler, &end) {
                (sampler.look)(&sim.w, &sim.program);
                if stop_at < until {
                    stop_at = (stop_at + sampler.every_ns).min(until);
                    continue;
                }
            }
            break end;
        }
        if !measured && sim.program.is_under_way() {
            sim.begin_measurement();
            measured = true;
        }
        events += n;
        if events < EVENTS_PER_REPORT {
            continue;
        }
        events = 0;
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
            Ok(metrics::output(&mut sim, end == StopReason::Done))
        }
        other => Err(stopped(&sim.w, other)),
    }
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

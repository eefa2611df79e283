//! One feature, one metric, one workload and one policy, each added in the two places that
//! docs/ARCHITECTURE.md names: what it does, and its line or row. They run as those of the registry
//! do, so a row that needs more than that does not compile here.

use super::{smallest, spec};
use crate::engine::metrics::read;
use crate::engine::{SimulationExecutor, run_sampled};
use crate::measured::{Measured, Recorder};
use crate::output::RunOutput;
use crate::registry::key::{Better, Class};
use crate::registry::metrics::{MetricDef, row};
use crate::registry::workload;
use crate::run::Executor;
use crate::run_spec::{Feature, PolicyDef, PolicyKind, RunSpec};
use crate::workload::{Excess, Load, WorkloadDef, few_tasks};
use input::{Fallback, KeyDef, Kind, Value};
use policies::ext::{Cx, Dsq, DsqId, Ext, Next, Ops, Order, Wake};
use policies::fair::Rules;
use sim_core::{EnqueueFlags, Op, Program, ProgramCx, TaskAttr, TaskId, World};
use topology::CpuId;

// The feature: its line. Its `if` is in `select_cpu` below.
policies::features! {
    ONE_CPU one_cpu [X X X X X N] "all tasks run on CPU 0";
}

/// The policy: what it does.
struct Scratch {
    features: Features,
    queue: DsqId,
    /// Tasks that were made and have not gone.
    known: Vec<bool>,
}

impl Ops for Scratch {
    fn init(&mut self, cx: &mut Cx<'_>) {
        self.queue = cx.create_dsq(Order::Fifo);
    }

    fn init_task(&mut self, _: &mut Cx<'_>, p: TaskId, _parent: Option<TaskId>) {
        self.known.resize(self.known.len().max(p.idx() + 1), false);
        assert!(!std::mem::replace(&mut self.known[p.idx()], true), "{p:?} is made twice");
    }

    fn exit_task(&mut self, _: &mut Cx<'_>, p: TaskId) {
        assert!(std::mem::take(&mut self.known[p.idx()]), "{p:?} goes twice");
    }

    fn running(&mut self, _: &mut Cx<'_>, p: TaskId) {
        assert!(self.known[p.idx()], "{p:?} runs and was never made");
    }

    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        if self.features.one_cpu {
            cx.insert(p, Dsq::Local, cx.slice_dfl());
            return CpuId(0);
        }
        cx.select_cpu_dfl(p, prev, wake).0
    }

    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        cx.insert(p, Dsq::User(self.queue), cx.slice_dfl());
    }

    fn dispatch(&mut self, _: &mut Cx<'_>, _: CpuId, _: Option<TaskId>, attempt: u32) -> Next {
        if attempt == 0 { Next::Consume(self.queue) } else { Next::Done }
    }
}

/// The policy: its row.
const POLICY: PolicyDef = PolicyDef {
    name: "scratch",
    rules: &["6.18"],
    class: Class::Ext,
    help: "one queue, and CPU 0 for all if the feature is on",
    run: |job| {
        job.with(|spec| {
            let mut features = Features::for_rules(Rules::V6_18);
            spec.features.iter().for_each(|stated| features.set(stated.name, stated.on));
            let scratch = Scratch { features, queue: DsqId::default(), known: Vec::new() };
            Ext::new(scratch, policies::ext::Rules::V6_18, Default::default())
        })
    },
};

/// The workload: what it does. Tasks take naps.
struct Naps {
    tasks: u32,
    nap_ns: u64,
}

impl Program for Naps {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for _ in 0..self.tasks {
            cx.start_task(TaskAttr::default());
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if (cx.now() / self.nap_ns + u64::from(task.0)).is_multiple_of(2) {
            Op::Run(self.nap_ns)
        } else {
            Op::Sleep(self.nap_ns)
        }
    }
}

/// The workload: its row.
const WORKLOAD: WorkloadDef = WorkloadDef {
    limits: &[tasks],
    ..WorkloadDef::new("naps", "tasks that take naps", KEYS, |load| {
        Box::new(Naps { tasks: load.count("tasks"), nap_ns: load.int("nap_ns") })
    })
};

const KEYS: &[KeyDef] = &[
    KeyDef {
        name: "tasks",
        kind: Kind::Int { min: 1, max: 1_000_000 },
        unit: "",
        default: Fallback::Int(6),
        help: "tasks",
    },
    KeyDef {
        name: "nap_ns",
        kind: Kind::Int { min: 1, max: 1_000_000_000 },
        unit: "ns",
        default: Fallback::Int(100_000),
        help: "length of a nap",
    },
];

fn tasks(load: &Load<'_>) -> Option<Excess> {
    few_tasks(load, "tasks", "pairs", 2)
}

/// The metric: its row, and its value.
const METRIC: MetricDef =
    row("wakeups_per_switch", "", Better::None, "wake-ups of a task for each context switch")
        .value(|m| Some(m.w.counters.wakeups as f64 / m.w.counters.switches as f64));

/// Runs the scratch workload under the scratch policy.
fn scratch_spec(one_cpu: bool) -> RunSpec {
    let mut spec = spec("fifo", "", "kind = \"spinners\"\ntasks = 6");
    spec.policy = PolicyKind(const { &POLICY });
    spec.workload.def = const { &WORKLOAD };
    spec.features = vec![Feature { name: Features::ALL[0].name, on: one_cpu }];
    spec
}

fn value(output: &RunOutput, name: &str) -> f64 {
    output.metrics.iter().find(|m| m.name == name).expect("every run has it").value
}

#[test]
fn a_feature_a_workload_and_a_policy_need_their_code_and_their_row() {
    assert_eq!(Features::ALL[0].kernels(), "6.18 only");
    let run = |one_cpu| SimulationExecutor.run(&scratch_spec(one_cpu), &|_| ()).unwrap();
    let (all_cpus, one_cpu) = (run(false), run(true));
    let busy = [&all_cpus, &one_cpu].map(|output| value(output, "cpu_pct"));
    assert!(busy[0] > 140.0 && busy[1] <= 100.0, "{busy:?}");
    let mut spec = scratch_spec(false);
    let excess = |spec: &RunSpec| (spec.workload.def.limits[0])(&spec.load()).map(|e| e.message);
    assert_eq!(excess(&spec), None);
    spec.workload.values = vec![("tasks", Value::Int(1_000_000))];
    let said = "1000000 pairs of 2 tasks; at most 1000000 are simulated";
    assert_eq!(excess(&spec).as_deref(), Some(said));
}

/// What a policy keeps for each task it makes in `init_task`, whatever the workload does.
#[test]
fn a_policy_is_told_of_every_task_before_it_runs() {
    for kind in ["kernel-build", "hackbench", "short", "dm-crypt", "netperf", "schbench"] {
        let workload = smallest(workload(kind).unwrap_or_else(|| panic!("{kind}")));
        let mut spec = spec("fifo", "", &workload);
        spec.policy = PolicyKind(const { &POLICY });
        SimulationExecutor.run(&spec, &|_| ()).unwrap_or_else(|e| panic!("{workload}: {e}"));
    }
}

#[test]
fn a_metric_needs_its_row_and_its_value() {
    let mut seen = Vec::new();
    let mut look = |w: &World, _: &dyn Program| {
        let recorder = Recorder::new(&w.machine);
        let measured = Measured {
            w,
            recorder: &recorder,
            counted: Vec::new(),
            operations: Vec::new(),
            samples: Vec::new(),
        };
        seen = read(&[METRIC], &measured, Vec::new());
    };
    let output = run_sampled(&scratch_spec(false), 200_000_000, &mut look, &|_| ()).unwrap();
    let expected = value(&output, "wakeups") / value(&output, "switches");
    assert_eq!((seen[0].name.as_str(), seen[0].value), (METRIC.name, expected));
    assert!(expected > 0.1, "{expected}");
}

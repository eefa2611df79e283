//! A service as statistics.

use super::keys::count;
use crate::registry::shapes;
use crate::workload::{Excess, Load, TASKS_MAX, WorkloadDef, WorkloadFile, few_in_all};
use input::Fallback::{Float, Int, Required, Words};
use input::{Fallback, KeyDef, Kind};
use sim_core::Program;
use std::sync::Arc;
use workloads::service::fit::PER_TURN_MAX;
use workloads::service::{Config, Service};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    limits: &[few_threads, few_messages],
    ..WorkloadDef::new(
        "service",
        "threads by role: what their turns take, and who wakes whom (docs/TRACE.md)",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    KeyDef {
        name: "load",
        kind: Kind::Float { min: 0.001, max: 1000.0 },
        unit: "",
        default: Float(1.0),
        help: "factor of what comes from outside, and of what circles in closed loops",
    },
    KeyDef {
        name: "role",
        kind: Kind::Tables(ROLE),
        unit: "",
        default: Required,
        help: "threads that do the same",
    },
];

/// What happens so often per turn, or per second.
const fn rate(
    name: &'static str,
    max: f64,
    unit: &'static str,
    default: Fallback,
    help: &'static str,
) -> KeyDef {
    KeyDef { name, kind: Kind::Float { min: 0.0, max }, unit, default, help }
}

/// Lengths of the same kind.
const fn lengths(name: &'static str, default: Fallback, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Special(shapes::lengths), unit: "us", default, help }
}

/// Keys of `[[workload.role]]`. Lengths are a number, or the means of thirteen classes.
pub const ROLE: &[KeyDef] = &[
    KeyDef { help: "what other roles call it", ..KeyDef::required("name", Kind::Line) },
    KeyDef {
        default: Words("the role's name"),
        help: "the threads' command name",
        ..KeyDef::optional("comm", Kind::Line)
    },
    count("threads", TASKS_MAX, Int(1), "how many they are"),
    count("processes", TASKS_MAX, Int(1), "in how many processes they are"),
    KeyDef {
        name: "nice",
        kind: Kind::Int { min: -20, max: 19 },
        unit: "",
        default: Int(0),
        help: "their nice level",
    },
    KeyDef {
        name: "session",
        kind: Kind::Int { min: 0, max: 64 },
        unit: "",
        default: Int(0),
        help: "their session, a task group as autogroups are (cfs, eevdf); 0: the service's own",
    },
    KeyDef {
        default: Fallback::Bool(false),
        help: "they are the machine's own: `load` changes nothing of them",
        ..KeyDef::optional("background", Kind::Switch)
    },
    lengths("work_us", Required, "CPU work of a turn, from the end of a sleep to the next one"),
    rate("busy", 1e6, "", Float(0.0), "turns that begin with the run"),
    rate("arrivals_per_s", 1e9, "1/s", Float(0.0), "messages from outside, a Poisson process"),
    lengths(
        "arrival_gap_us",
        Words("as arrivals_per_s says"),
        "times between messages from outside",
    ),
    lengths("sleep_us", Words("no timers"), "sleeps for a timer of its own after a turn"),
    rate("sleeps_per_turn", 1.0, "", Float(1.0), "part of the turns that such a sleep follows"),
    lengths("disk_us", Words("no disks"), "waits for a disk in the course of a turn"),
    rate("disks_per_turn", PER_TURN_MAX, "", Float(1.0), "how many of them a turn has"),
    rate("yields_per_ms", 1e6, "1/ms", Float(0.0), "calls of sched_yield in a ms of work"),
    KeyDef { help: "whom a turn wakes", ..KeyDef::optional("wakes", Kind::Tables(WAKES)) },
];

/// Keys of an element of `wakes`.
pub const WAKES: &[KeyDef] = &[
    KeyDef { help: "the role that is woken", ..KeyDef::required("role", Kind::Line) },
    rate("per_turn", PER_TURN_MAX, "", Float(1.0), "messages that a turn sends"),
    rate("at", 1.0, "", Float(1.0), "where in the work of the turn; the mean if there are several"),
    KeyDef {
        default: Fallback::Bool(false),
        help: "WF_SYNC",
        ..KeyDef::optional("sync", Kind::Switch)
    },
    KeyDef {
        default: Fallback::Bool(false),
        help: "to a thread of its own (in its role: its neighbor), not to who has waited longest",
        ..KeyDef::optional("own", Kind::Switch)
    },
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    let Some(WorkloadFile::Service { spec, .. }) = &load.spec.file else {
        unreachable!("a scenario with a service has read its roles");
    };
    let config = Config { spec: Arc::clone(spec), load: load.float("load"), seed: load.seed };
    Box::new(Service::new(config))
}

fn few_threads(load: &Load<'_>) -> Option<Excess> {
    let Some(WorkloadFile::Service { spec, .. }) = &load.spec.file else {
        return None;
    };
    few_in_all("role", spec.roles.iter().map(|role| u64::from(role.threads)).sum(), 0)
}

/// Messages that are there at the beginning at most.
const MESSAGES_MAX: f64 = 1e6;

fn few_messages(load: &Load<'_>) -> Option<Excess> {
    let Some(WorkloadFile::Service { spec, .. }) = &load.spec.file else {
        return None;
    };
    let n = spec.roles.iter().map(|role| role.busy).sum::<f64>() * load.maybe_float("load")?;
    (n > MESSAGES_MAX).then(|| {
        let message = format!("{n:.0} messages are there at the beginning");
        Excess::new("load", message).label(format!("at most {MESSAGES_MAX}: it multiplies `busy`"))
    })
}

//! A recording, done again.

use crate::workload::{Load, WorkloadDef, WorkloadFile};
use input::Fallback::{Required, Word, Words};
use input::{KeyDef, Kind};
use sim_core::Program;
use std::sync::Arc;
use workloads::replay::{Replay, Timers};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    ends: |_| true,
    ..WorkloadDef::new(
        "perf-script",
        "what the threads of a recording did, done again (docs/TRACE.md)",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    KeyDef {
        name: "file",
        kind: Kind::File,
        unit: "",
        default: Required,
        help: "what `perf sched record`, `trace-cmd record` or Perfetto wrote, or perf's text",
    },
    KeyDef {
        name: "recorded_on",
        kind: Kind::File,
        unit: "",
        default: Words("the scenario's machine"),
        help: "the machine it was recorded on: its costs are not the threads' own work",
    },
    KeyDef {
        name: "sessions",
        kind: Kind::File,
        unit: "",
        default: Words("all in one"),
        help: "output of `ps -eLo tid=,sid=` before it was recorded: sessions become task groups",
    },
    KeyDef {
        name: "timed",
        kind: Kind::Names,
        unit: "",
        default: Word(""),
        help: "names, with commas between: threads that only timers and devices wake",
    },
    KeyDef {
        name: "measure",
        kind: Kind::Names,
        unit: "",
        default: Words("the recorded command"),
        help: "names, with commas between: threads whose end is the run's, with their descendants",
    },
    KeyDef {
        name: "timers",
        kind: Kind::Word(&["as_seen", "absolute", "relative"]),
        unit: "",
        default: Word("as_seen"),
        help: "sleeps that no thread ended: until then, or as long (as_seen: if usual)",
    },
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    let Some(WorkloadFile::Recording { recording, recorded_here }) = &load.spec.file else {
        unreachable!("a scenario with a recording has read it");
    };
    let timers = match load.word("timers").as_str() {
        "absolute" => Timers::Absolute,
        "relative" => Timers::Relative,
        _ => Timers::AsSeen,
    };
    let mut replay = Replay::new(Arc::clone(recording), timers);
    if *recorded_here {
        replay = replay.on_same_machine();
    }
    // The first seed is the recording itself.
    Box::new(if load.seed > 1 { replay.varied(load.seed) } else { replay })
}

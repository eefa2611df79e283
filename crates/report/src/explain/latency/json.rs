//! The waits as JSON, schema version 1: fields may be added, none renamed or removed. Times are in
//! ns, instants by the clock of traces; shares in percent of the time of the slow wake-ups.

use super::View;
use scenario::Blame;
use scenario::latency::{Behind, Cause, HeldTime, Hold, LeftCpu, Name, Stay, Story};
use serde_json::{Map, Value, json};

/// Version of the format, the field `schema`.
const SCHEMA: u32 = 1;

/// The waits as an indented document.
pub fn json(view: &View<'_>) -> String {
    let x = view.latencies;
    let of_cause = |cause: Cause| {
        let times = x.causes[cause as usize];
        let [p50, p90, p99, p999] = times.percentiles_ns;
        let told = json!({
            "n": times.n, "ns": times.total_ns, "p50_ns": p50, "p90_ns": p90, "p99_ns": p99,
            "p999_ns": p999, "max_ns": times.max_ns,
        });
        (cause.name().to_string(), told)
    };
    let sum = |hold: Hold| (hold.name().to_string(), Value::from(view.held_ns(hold)));
    let stories = |stories: &[Story]| stories.iter().map(story).collect::<Vec<_>>();
    let blame = |pairs: &[Blame]| pairs.iter().map(|pair| blame(view, pair)).collect::<Vec<_>>();
    let found = json!({
        "elapsed_ns": x.elapsed_ns,
        "waits": Cause::ALL.map(of_cause).into_iter().collect::<Map<_, _>>(),
        "beyond_ns": x.beyond_ns,
        "beyond": view.beyond.percentile(),
        "slow": { "n": x.n_slow, "ns": x.slow_ns },
        "slow_ns_by_hold": Hold::ALL.map(sum).into_iter().collect::<Map<_, _>>(),
        "held": x.held.iter().map(|row| held(view, row)).collect::<Vec<_>>(),
        "blame": blame(&x.pairs),
        "preempted": x.preempted.iter().map(pair).collect::<Vec<_>>(),
        "slowest": stories(&x.slowest),
        "stall_ns": x.stall_ns,
        "n_stalls": x.n_stalls,
        "stalls": stories(&x.stalls),
    });
    view.run.document(SCHEMA, found)
}

fn held(view: &View<'_>, row: &HeldTime) -> Value {
    json!({
        "hold": row.hold.name(),
        "rule": row.rule,
        "text": row.text,
        "knob": row.knob,
        "n": row.n,
        "ns": row.ns,
        "pct": view.share(row.ns),
        "max_ns": row.max_ns,
    })
}

fn pair(pair: &Blame) -> Value {
    json!({ "waiter": pair.waiter, "runner": pair.runner, "ns": pair.ns })
}

fn blame(view: &View<'_>, b: &Blame) -> Value {
    json!({ "waiter": b.waiter, "runner": b.runner, "ns": b.ns, "pct": view.share(b.ns) })
}

fn name((comm, pid): &Name) -> Value {
    json!({ "comm": comm, "pid": pid })
}

fn story(story: &Story) -> Value {
    let stay = |s: &Stay| json!({ "at_ns": s.at_ns, "cpu": s.cpu, "rule": s.rule });
    let behind = |b: &Behind| {
        let (comm, pid) = &b.runner;
        json!({ "cpu": b.cpu, "comm": comm, "pid": pid, "at_ns": b.at_ns, "ns": b.ns })
    };
    let left = |l: &LeftCpu| {
        let near = l.near.name();
        json!({ "cpu": l.cpu, "distance": near, "rule": l.rule, "ns": l.ns })
    };
    json!({
        "cause": story.cause.name(),
        "comm": story.task.0,
        "pid": story.task.1,
        "at_ns": story.at_ns,
        "ns": story.ns,
        "goes_on": story.goes_on,
        "by": story.by.as_ref().map(name),
        "by_interrupt": story.by_interrupt,
        "by_cpu": story.by_cpu,
        "cpu": story.cpu,
        "way_ns": story.way_ns,
        "moving_ns": story.moving_ns,
        "throttled_ns": story.throttled_ns,
        "stays": story.stays.iter().map(stay).collect::<Vec<_>>(),
        "behind": story.behind.iter().map(behind).collect::<Vec<_>>(),
        "idle_cpus": story.left.iter().map(left).collect::<Vec<_>>(),
    })
}

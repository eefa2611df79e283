//! The explanation as JSON, schema version 1: fields may be added, none renamed or removed. Times
//! are in ns of CPU time; shares in percent of `idle_while_runnable`.

use super::View;
use scenario::{Blame, Near, RuleTime, Wait};
use serde_json::{Map, Value, json};

/// Version of the format, the field `schema`.
const SCHEMA: u32 = 1;

/// The explanation as an indented document.
pub fn json(view: &View<'_>) -> String {
    let x = view.explanation;
    let found = json!({
        "elapsed_ns": x.elapsed_ns,
        "idle_while_runnable_ns": x.wasted_ns,
        "idle_while_throttled_ns": x.throttled_ns,
        "rules": x.rules.iter().map(|r| rule(view, r)).collect::<Vec<_>>(),
        "blame": x.blame.iter().map(|b| blame(view, b)).collect::<Vec<_>>(),
        "longest": x.longest.iter().map(wait).collect::<Vec<_>>(),
    });
    view.run.document(SCHEMA, found)
}

fn rule(view: &View<'_>, rule: &RuleTime) -> Value {
    let by_distance: Map<String, Value> =
        Near::ALL.iter().map(|n| (n.name().to_string(), rule.ns[*n as usize].into())).collect();
    json!({
        "rule": rule.name,
        "kind": rule.kind.name(),
        "text": rule.text,
        "knob": rule.knob,
        "ns": rule.total_ns(),
        "pct": view.share(rule.total_ns()),
        "ns_by_distance": by_distance,
        "waits": {
            "n": rule.waits.n,
            "mean_ns": rule.waits.mean_ns(),
            "p95_ns": rule.waits.p95_ns,
            "max_ns": rule.waits.max_ns,
        },
    })
}

fn blame(view: &View<'_>, b: &Blame) -> Value {
    json!({ "waiter": b.waiter, "runner": b.runner, "ns": b.ns, "pct": view.share(b.ns) })
}

fn wait(wait: &Wait) -> Value {
    json!({
        "at_ns": wait.at_ns,
        "ns": wait.ns,
        "comm": wait.task.0,
        "pid": wait.task.1,
        "cpu": wait.cpu,
        "runner": wait.runner,
        "rule": wait.rule,
    })
}

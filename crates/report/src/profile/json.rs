//! The profile as JSON, schema version 1: fields may be added, none renamed or removed. Times are
//! in ns; shares in percent of busy time.

use super::View;
use scenario::{LockClass, SiteTime, Spread, StackTime};
use serde_json::{Map, Value, json};

/// Version of the format, the field `schema`.
const SCHEMA: u32 = 1;

/// The profile as an indented document.
pub fn json(view: &View<'_>) -> String {
    let p = view.profile;
    let found = json!({
        "elapsed_ns": p.elapsed_ns,
        "busy_ns": p.busy_ns,
        "slowpath_ns": view.slowpath(),
        "slowpath_pct": view.share(view.slowpath()),
        "paths": view.groups().iter().map(|g| path(view, *g)).collect::<Vec<_>>(),
        "sites": p.sites.iter().map(|s| site(view, s)).collect::<Vec<_>>(),
        "groups": view.site_groups().iter().map(|g| group(view, *g)).collect::<Vec<_>>(),
        "locks": p.locks.iter().map(lock).collect::<Vec<_>>(),
        "stacks": p.stacks.iter().map(stack).collect::<Vec<_>>(),
    });
    view.run.document(SCHEMA, found)
}

fn path(view: &View<'_>, (name, ns, spin_ns): (&str, u64, u64)) -> Value {
    json!({ "path": name, "ns": ns, "pct": view.share(ns), "spin_ns": spin_ns })
}

fn group(view: &View<'_>, (name, ns): (&str, u64)) -> Value {
    json!({ "group": name, "ns": ns, "pct": view.share(ns) })
}

fn site(view: &View<'_>, site: &SiteTime) -> Value {
    let ns = view.spin_at(site.name, None);
    let by_comm: Map<String, Value> = view
        .spinning_comms()
        .into_iter()
        .map(|(comm, _)| (comm.to_string(), view.spin_at(site.name, Some(comm)).into()))
        .collect();
    json!({
        "site": site.name,
        "group": site.group,
        "lock": !site.no_lock,
        "ns": ns,
        "pct": view.share(ns),
        "by_comm": by_comm,
        "acquisitions": site.acquisitions,
        "wait": spread(&site.wait),
    })
}

fn lock(class: &LockClass) -> Value {
    json!({
        "class": class.name,
        "con_bounces": class.con_bounces,
        "contentions": class.contended,
        "acq_bounces": class.bounces,
        "acquisitions": class.acquisitions,
        "wait": spread(&class.wait),
        "hold": spread(&class.hold),
    })
}

fn spread(s: &Spread) -> Value {
    json!({
        "n": s.n,
        "total_ns": s.total_ns,
        "mean_ns": s.mean_ns(),
        "p95_ns": s.p95_ns,
        "max_ns": s.max_ns,
    })
}

fn stack(stack: &StackTime) -> Value {
    json!({
        "comm": stack.comm,
        "functions": stack.functions,
        "path": stack.group,
        "site": stack.site,
        "ns": stack.ns,
    })
}

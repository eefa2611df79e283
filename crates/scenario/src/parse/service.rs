//! `[[workload.role]]`: the threads of a service.

use crate::glue::service::{Gaps, Lengths, N_CLASSES, Pause, Role, Spec, Wakes};
use crate::registry::{ROLE, WAKES};
use input::{Fallback, Fault, KeyDef, Node, Table, Walk, did_you_mean};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// The shortest mean time between messages, ns.
const GAP_MIN_NS: f64 = 1.0;
/// The longest length, us: eleven days.
const LENGTH_MAX_US: f64 = 1e12;

/// The roles of a workload's table; `None` if there are none, or one is wrong.
pub(crate) fn roles(walk: &mut Walk, table: &DeTable<'_>) -> Option<Spec> {
    let faults = walk.faults.len();
    let node = table.get("role")?;
    let tables = walk.tables(node, "workload.role")?;
    let tables: Vec<Table<'_>> = tables
        .into_iter()
        .map(|(node, table)| walk.open("this role".to_string(), node.span(), table, ROLE))
        .collect();
    if tables.is_empty() {
        walk.fault(Fault::at(node.span(), "a service has at least one role"));
    }
    let names = names(walk, &tables);
    // All are looked at, whatever is wrong with one.
    let roles: Vec<_> = tables.iter().map(|table| role(walk, table, &names)).collect();
    let roles = roles.into_iter().collect::<Option<_>>()?;
    (walk.faults.len() == faults).then_some(Spec { roles })
}

/// The names of all roles; each has its own.
fn names(walk: &mut Walk, tables: &[Table<'_>]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for table in tables {
        let name = table.text(walk, "name").unwrap_or_default();
        if !name.is_empty() && names.contains(&name) {
            let message = format!("there is a role `{name}` already");
            walk.fault(Fault::at(table.span_of("name"), message));
        }
        names.push(name);
    }
    names
}

fn role(walk: &mut Walk, table: &Table<'_>, names: &[String]) -> Option<Role> {
    let name = table.text(walk, "name")?;
    let [threads, processes] = ["threads", "processes"].map(|key| whole(walk, table, key) as u32);
    if processes > threads {
        let message = format!("{processes} processes of {threads} threads");
        walk.fault(Fault::at(table.span_of("processes"), message));
    }
    let sleeps = lengths(walk, table, "sleep_us");
    let disks = lengths(walk, table, "disk_us");
    for (key, of, is_there) in [
        ("sleeps_per_turn", "sleep_us", sleeps.is_some()),
        ("disks_per_turn", "disk_us", disks.is_some()),
    ] {
        if table.has(key) && !is_there {
            let fault = Fault::at(table.span_of(key), format!("`{key}` without `{of}`"));
            walk.fault(fault.help(format!("say how long they take: `{of}`")));
        }
    }
    let pause = |length: Option<Lengths>, per_turn| length.map(|length| Pause { per_turn, length });
    Some(Role {
        comm: table.text(walk, "comm").unwrap_or_else(|| name.clone()),
        name,
        threads,
        processes,
        nice: whole(walk, table, "nice") as i8,
        session: whole(walk, table, "session") as u16,
        background: table.switch(walk, "background").unwrap_or_default(),
        work: lengths(walk, table, "work_us")?,
        busy: number(walk, table, "busy"),
        gaps: gaps(walk, table),
        timer: pause(sleeps, number(walk, table, "sleeps_per_turn")),
        disk: pause(disks, number(walk, table, "disks_per_turn")),
        yields_per_ms: number(walk, table, "yields_per_ms"),
        wakes: wakes(walk, table, names),
    })
}

fn gaps(walk: &mut Walk, table: &Table<'_>) -> Option<Gaps> {
    let seen = lengths(walk, table, "arrival_gap_us");
    let per_s = number(walk, table, "arrivals_per_s");
    match seen {
        Some(_) if table.has("arrivals_per_s") => {
            let message = "`arrivals_per_s` beside `arrival_gap_us`";
            let fault = Fault::at(table.span_of("arrivals_per_s"), message);
            walk.fault(fault.help("leave one of them out: both say when messages come"));
            None
        }
        Some(gaps) if gaps.mean() < GAP_MIN_NS => {
            let message = "messages that come all at once";
            let fault = Fault::at(table.span_of("arrival_gap_us"), message);
            walk.fault(fault.help("the mean of `arrival_gap_us` must be 0.001 at least"));
            None
        }
        Some(gaps) => Some(Gaps::Seen(gaps)),
        None => (per_s > 0.0).then_some(Gaps::Poisson { per_s }),
    }
}

fn wakes(walk: &mut Walk, table: &Table<'_>, names: &[String]) -> Vec<Wakes> {
    if !table.has("wakes") {
        return Vec::new();
    }
    let mut all = Vec::new();
    for wakes in table.tables(walk, "wakes").unwrap_or_default() {
        let Some(role) = wakes.text(walk, "role") else {
            continue;
        };
        let Some(number_of_role) = names.iter().position(|name| *name == role) else {
            let known = names.iter().map(String::as_str);
            let message = format!("there is no role `{role}`");
            let fault = Fault::at(wakes.span_of("role"), message);
            walk.fault(fault.help(did_you_mean(&role, known)));
            continue;
        };
        all.push(Wakes {
            role: number_of_role as u32,
            per_turn: number(walk, &wakes, "per_turn"),
            at: number(walk, &wakes, "at"),
            sync: wakes.switch(walk, "sync").unwrap_or_default(),
            own: wakes.switch(walk, "own").unwrap_or_default(),
        });
    }
    all
}

/// A number, or what the row of its key says.
fn number(walk: &mut Walk, table: &Table<'_>, key: &str) -> f64 {
    let stated = table.float(walk, key);
    stated.or_else(|| default(key).value()?.float()).unwrap_or_default()
}

fn whole(walk: &mut Walk, table: &Table<'_>, key: &str) -> i64 {
    let stated = table.int(walk, key);
    stated.or_else(|| default(key).value()?.int()).unwrap_or_default()
}

fn default(key: &str) -> Fallback {
    let is_it = |row: &&KeyDef| row.name == key;
    ROLE.iter().chain(WAKES).find(is_it).map_or(Fallback::Elsewhere, |row| row.default)
}

/// Lengths, which are a number or the means of the classes, in us.
fn lengths(walk: &mut Walk, table: &Table<'_>, key: &str) -> Option<Lengths> {
    if !table.has(key) {
        return None;
    }
    let node = table.any(key)?;
    let DeValue::Array(_) = node.get_ref() else {
        return length(walk, node, key).map(Lengths::constant);
    };
    let nodes = walk.array(node, key)?;
    let means: Vec<f64> =
        nodes.iter().map(|node| length(walk, node, key)).collect::<Option<_>>()?;
    let span: Range<usize> = node.span();
    let Ok(means) = <[f64; N_CLASSES]>::try_from(means) else {
        let message = format!("`{key}` has {} numbers", nodes.len());
        let help = "write one number, or the means of thirteen classes (docs/TRACE.md)";
        walk.fault(Fault::at(span, message).help(help));
        return None;
    };
    if !means.is_sorted() {
        walk.fault(Fault::at(span, format!("the numbers of `{key}` must not fall")));
        return None;
    }
    Some(Lengths::new(means))
}

/// A length in ns.
fn length(walk: &mut Walk, node: Node<'_>, key: &str) -> Option<f64> {
    let us = walk.number(node, key)?;
    if (0.0..=LENGTH_MAX_US).contains(&us) {
        return Some(us * 1e3);
    }
    let bounds = [0.0, LENGTH_MAX_US];
    walk.fault(Fault::out_of_range(node.span(), key, us < 0.0, bounds, "us"));
    None
}

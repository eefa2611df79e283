//! `schedlab list`: the names that scenarios can use, from the registry.

mod markdown;

use crate::args::{ListFormat, Listed};
use crate::output::{Stop, count, print};
use anstyle::Style;
use report::pad;
use scenario::cgroups::CGROUP;
use scenario::glue::machine_info;
use scenario::registry::{
    COMMON, FEATURES, Fallback, FeatureDef, KeyDef, Kind, METRICS, POLICIES, TUNABLES, TunableDef,
    WORKLOADS, WORKQUEUE, WorkloadDef,
};
use scenario::shipped::{self, Summary};

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

type Rows = Vec<Vec<String>>;

/// All lists with their titles, in the order in which all are printed.
const ALL: [(Listed, &str); 7] = [
    (Listed::Policies, "policies"),
    (Listed::Features, "features"),
    (Listed::Tunables, "tunables"),
    (Listed::Workloads, "workloads"),
    (Listed::Metrics, "metrics"),
    (Listed::Machines, "machines"),
    (Listed::Scenarios, "scenarios"),
];

/// Prints one list, or all of them with titles.
pub fn list(what: Option<Listed>, format: ListFormat) -> Result<(), Stop> {
    let wanted = ALL.iter().filter(|(one, _)| what.is_none_or(|what| what == *one));
    for (idx, (one, title)) in wanted.enumerate() {
        let gap = if idx == 0 { "" } else { "\n" };
        print(&match (format, what) {
            (ListFormat::Markdown, _) => format!("{gap}{}", markdown::page(*one, title)),
            (ListFormat::Text, Some(_)) => table(*one),
            (ListFormat::Text, None) => format!("{gap}{BOLD}{title}{BOLD:#}\n{}", table(*one)),
        })?;
    }
    Ok(())
}

fn table(what: Listed) -> String {
    match what {
        Listed::Workloads => workloads(),
        _ => aligned(&rows(what)),
    }
}

/// The rows of a list; those of workloads have tables of their own.
fn rows(what: Listed) -> Rows {
    match what {
        Listed::Scenarios => scenarios(),
        Listed::Machines => machines(),
        Listed::Policies => policies(),
        Listed::Features => features(),
        Listed::Tunables => TUNABLES.iter().map(tunable_row).collect(),
        Listed::Metrics => metrics(),
        Listed::Workloads => Rows::new(),
    }
}

fn policies() -> Rows {
    let rules = |known: &[&str]| match known {
        [] => "-".to_string(),
        known => format!("rules {}", known.join(", ")),
    };
    POLICIES.iter().map(|p| vec![p.name.into(), rules(p.rules), p.help.into()]).collect()
}

fn features() -> Rows {
    let state = |on: bool| if on { "on" } else { "off" }.to_string();
    let row = |f: &FeatureDef| vec![f.name.into(), state(f.is_on()), f.kernels(), f.help.into()];
    FEATURES.iter().map(row).collect()
}

/// Name, range, default, the policies that have it, help.
fn tunable_row(t: &TunableDef) -> Vec<String> {
    let mut row = key_row(&t.key);
    row.insert(row.len() - 1, t.owners());
    row
}

fn metrics() -> Rows {
    let member = |name: &str, family: bool| {
        if family { format!("{name}*") } else { name.into() }
    };
    let row = |m: &scenario::registry::MetricDef| {
        let better = format!("{} is better", m.better.word());
        let better = if m.better.word() == "none" { "-".into() } else { better };
        vec![member(m.name, m.is_family()), m.unit.to_string(), better, m.help.into()]
    };
    METRICS.iter().map(row).collect()
}

fn workloads() -> String {
    let mut text = String::new();
    for w in WORKLOADS {
        text += &format!("  {BOLD}{}{BOLD:#}  {}\n", w.kind, w.help);
        let rows: Rows = w.keys.iter().map(key_row).collect();
        text += &indented(&rows);
        for (name, keys) in inner(w.keys, "workload") {
            text += &format!("    in {name}\n");
            let rows: Rows = keys.iter().map(key_row).collect();
            text += &indented(&rows);
        }
        if !w.kernel_keys.is_empty() {
            text += "    here, or in the `workload` of a variant\n";
            let rows: Rows = w.kernel_keys.iter().map(key_row).collect();
            text += &indented(&rows);
        }
    }
    let kinds = |which: fn(&WorkloadDef) -> bool| {
        let kinds = WORKLOADS.iter().filter(|w| which(w)).map(|w| w.kind);
        kinds.collect::<Vec<_>>().join(" and ")
    };
    text += &format!("  every workload but {}\n", kinds(|w| w.kernel_threads));
    let rows: Rows = COMMON.iter().map(key_row).collect();
    text += &indented(&rows);
    text += &format!("  in [variant.workqueue], for {}\n", kinds(|w| w.workqueue));
    let rows: Rows = WORKQUEUE.iter().map(key_row).collect();
    text += &indented(&rows);
    text += &format!("  in [[workload.cgroup]], for {}\n", kinds(|w| w.cgroups));
    let rows: Rows = CGROUP.iter().map(key_row).collect();
    text += &indented(&rows);
    text
}

/// The arrays of tables among these keys, and those in them: how they are written, and their keys.
fn inner(keys: &'static [KeyDef], of: &str) -> Vec<(String, &'static [KeyDef])> {
    let mut all = Vec::new();
    for key in keys {
        if let Kind::Tables(keys) = key.kind {
            let path = format!("{of}.{}", key.name);
            all.push((format!("[[{path}]]"), keys));
            all.extend(inner(keys, &path));
        }
    }
    all
}

/// The rows of a table below its title.
fn indented(rows: &Rows) -> String {
    aligned(rows).lines().map(|line| format!("  {line}\n")).collect()
}

/// Name, range, default, help.
fn key_row(key: &KeyDef) -> Vec<String> {
    let unit = if key.unit.is_empty() { String::new() } else { format!(" {}", key.unit) };
    let range = match key.kind {
        Kind::Int { min, max } => format!("{} to {}{unit}", bound(min as f64), bound(max as f64)),
        Kind::Float { min, max } => format!("{} to {}{unit}", bound(min), bound(max)),
        Kind::Bool | Kind::Switch => "true or false".to_string(),
        Kind::Word(words) => words.join(" or "),
        Kind::File => "a path".to_string(),
        Kind::Names => "names".to_string(),
        Kind::Text | Kind::Line => "a text".to_string(),
        Kind::List(_) => "a list".to_string(),
        Kind::Tables(_) => "tables".to_string(),
        Kind::Special(schema) if schema()["anyOf"][0]["type"] == "number" => {
            "a number or several".to_string()
        }
        Kind::Table(_) | Kind::Special(_) => "a table".to_string(),
    };
    vec![key.name.into(), range, default(key.default), key.help.into()]
}

fn default(default: Fallback) -> String {
    match default {
        Fallback::Required => "required".to_string(),
        Fallback::Elsewhere => String::new(),
        Fallback::Int(n) => format!("default {n}"),
        Fallback::Float(x) => format!("default {x}"),
        Fallback::Bool(b) => format!("default {b}"),
        Fallback::Word("") => "default none".to_string(),
        Fallback::Word(words) | Fallback::Words(words) => format!("default {words}"),
    }
}

/// An end of a range; large ones as powers of ten.
fn bound(x: f64) -> String {
    if x.abs() >= 1e5 || (x != 0.0 && x.abs() < 1e-3) { format!("{x:e}") } else { x.to_string() }
}

fn scenarios() -> Rows {
    let machine = |s: &Summary| s.machine.clone().unwrap_or_else(|| "its own".into());
    let row = |s: Summary| vec![s.name.into(), machine(&s), s.workload, s.title];
    shipped::summaries().into_iter().map(row).collect()
}

fn machines() -> Rows {
    shipped::machines().map(machine_row).collect()
}

fn machine_row(name: &str) -> Vec<String> {
    let (size, title) = match scenario::load_machine_file(&shipped::machine_path(name)) {
        Ok(machine) => {
            let info = machine_info(&machine);
            let size = format!("{}, {}", count(info.cpus, "CPU"), count(info.llcs, "LLC"));
            (size, info.title)
        }
        Err(_) => ("-".to_string(), "-".to_string()),
    };
    vec![name.into(), size, title]
}

/// Columns as wide as their widest cell; the last one as it is.
fn aligned(rows: &Rows) -> String {
    let n_columns = rows.first().map_or(0, Vec::len);
    let width = |column: usize| rows.iter().map(|row| pad::width(&row[column])).max();
    let widths: Vec<usize> = (0..n_columns).map(|c| width(c).unwrap_or(0)).collect();
    let line = |row: &Vec<String>| {
        let mut line = String::from("  ");
        for (idx, (cell, width)) in row.iter().zip(&widths).enumerate() {
            line += &match idx {
                0 => pad::left(cell, *width),
                _ if idx + 1 == n_columns => format!("  {cell}"),
                _ => format!("  {DIM}{}{DIM:#}", pad::left(cell, *width)),
            };
        }
        line + "\n"
    };
    rows.iter().map(line).collect()
}

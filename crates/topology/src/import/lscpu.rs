//! What lscpu prints with a line per CPU: `-p`, `-e`, and `-J -e`.
//!
//! Its ids are logical and machine-wide. Columns that are missing have a default and a remark;
//! columns that mean nothing here are passed over. `lscpu -J` without `-e` is a summary that does
//! not tell which CPUs share what.

mod json;
mod row;
mod text;

use super::Imported;
use super::defaults::CLOCK_MHZ;
use super::found::{Conflict, Found, FoundCpu};
use super::runs::{CpuRuns, number};
use input::Fault;
use row::Row;
use std::collections::BTreeMap;
use std::ops::Range;

/// Makes a machine from the text.
///
/// # Errors
/// The faults of the text, in its order.
pub fn lscpu(name: &str, text: &str) -> Result<Imported, Vec<Fault>> {
    let is_json = text.trim_start().starts_with('{');
    let rows = if is_json { json::rows(text) } else { text::rows(text) };
    let rows = rows.map_err(|fault| vec![fault])?;
    let (found, places) = found(&rows)?;
    found.machine(name).map_err(|Conflict { cpu, message }| {
        vec![Fault { span: places.get(&cpu).cloned(), ..Fault::whole(message) }]
    })
}

type Places = BTreeMap<u32, Range<usize>>;

fn found(rows: &[Row<'_>]) -> Result<(Found, Places), Vec<Fault>> {
    let mut found = Found { what: "lscpu", ..Found::default() };
    let mut places = Places::new();
    let mut offline = Vec::new();
    let mut faults = Vec::new();
    for row in rows {
        match cpu(row) {
            Ok(Line::Online(cpu)) => {
                if places.insert(cpu.os, row.span.clone()).is_some() {
                    let message = format!("CPU {} is listed twice", cpu.os);
                    faults.push(Fault::at(row.span.clone(), message));
                }
                found.cpus.push(cpu);
            }
            Ok(Line::Offline(cpu)) => offline.push(cpu),
            Err(fault) => faults.push(fault),
        }
    }
    if found.cpus.is_empty() && faults.is_empty() {
        let fault = Fault::whole("no CPU is on line in it");
        faults.push(fault.help("`lscpu -p` prints a line for each CPU"));
    }
    faults.truncate(20);
    if !faults.is_empty() {
        return Err(faults);
    }
    let with_llc = found.cpus.iter().filter(|c| c.llc.is_some()).count();
    if let Some(without) = found.cpus.iter().find(|c| c.llc.is_none() && with_llc > 0) {
        let message = format!("CPU {} has no last-level cache, while others have", without.os);
        return Err(vec![Fault::at(places[&without.os].clone(), message)]);
    }
    remark(rows, &offline, &mut found.remarks);
    found.clock = rows.iter().find_map(clock);
    Ok((found, places))
}

fn remark(rows: &[Row<'_>], offline: &[u32], remarks: &mut Vec<String>) {
    if !offline.is_empty() {
        let offline = CpuRuns::of(offline.iter().copied());
        remarks.push(format!("CPUs {offline} are offline and left out"));
    }
    let lacks = |column: &str| rows.iter().all(|row| row.cell(column).is_none());
    let defaults = [
        ("node", "no NODE column: all CPUs are in one node"),
        ("socket", "no SOCKET column: all CPUs are in one socket"),
        ("core", "no CORE column: each CPU is a core"),
    ];
    let lacking = defaults.iter().filter(|(column, _)| lacks(column));
    remarks.extend(lacking.map(|(_, remark)| (*remark).to_owned()));
}

enum Line {
    Online(FoundCpu),
    Offline(u32),
}

fn cpu(row: &Row<'_>) -> Result<Line, Fault> {
    let id = |column: &str| -> Result<Option<u32>, Fault> {
        row.cell(column).map(|cell| number(cell.text, &cell.span)).transpose()
    };
    let Some(os) = id("cpu")? else {
        let fault = Fault::at(row.span.clone(), "a line without the number of its CPU");
        return Err(fault.help("the column CPU is needed: `lscpu -p` has it"));
    };
    if let Some(online) = row.cell("online") {
        match online.text.to_ascii_lowercase().as_str() {
            "yes" | "y" | "true" | "1" => {}
            "no" | "n" | "false" | "0" => return Ok(Line::Offline(os)),
            other => {
                let message = format!("`{other}` is neither yes nor no");
                return Err(Fault::at(online.span.clone(), message));
            }
        }
    }
    let (socket, node) = (id("socket")?.unwrap_or(0), id("node")?.unwrap_or(0));
    // lscpu numbers cores machine-wide but does not promise it, so the socket is part of the id.
    // Bit 63 keeps CPUs without a CORE column apart from all cores.
    let core = match id("core")? {
        Some(core) => 1 + u64::from(core) + (u64::from(socket) << 32),
        None => 1 << 63 | u64::from(os),
    };
    let llc = row.last_level_cache()?;
    Ok(Line::Online(FoundCpu { os, core, llc, die: None, node, socket: u64::from(socket) }))
}

fn clock(row: &Row<'_>) -> Option<(u32, &'static str)> {
    let columns = [
        ("maxmhz", "MAXMHZ: the highest clock, sustained or not"),
        ("mhz", "MHZ: the clock when lscpu ran"),
    ];
    let mhz = |column: &str| row.cell(column)?.text.split('.').next()?.parse::<u32>().ok();
    let found = columns.iter().filter_map(|(column, text)| Some((mhz(column)?, *text)));
    found.into_iter().find(|(mhz, _)| CLOCK_MHZ.contains(mhz))
}

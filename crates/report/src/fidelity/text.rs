//! Fidelity for people: a block per scenario, printed as soon as it has run, and the score.
//!
//! ```text
//! elapsed [s]                    published   change  simulated   change  95 % interval
//!  NO_SWQUEUE + NO_SIS_NODE         322.44 baseline     319.22           level -1.00%   calibrated
//!  SWQUEUE + NO_SIS_NODE            321.54   -0.28%     318.72   -0.15%  [-0.34, +0.03] agrees
//! ```

use super::{By, Compared, Fidelity, Part, Row, Score, view};
use crate::TOOL;
use crate::number::{Shown, interval, percent, seeds};
use crate::pad;
use crate::text::{BAD, BOLD, DIM, GOOD, paint};
use std::fmt::Write;

/// Width of the names of variants and of scenarios; longer ones are cut.
const NAME: usize = 27;

/// One scenario's rows, with colors.
pub fn scenario_text(compared: &Compared) -> String {
    let mut out = String::new();
    let name = paint(BOLD, &compared.scenario);
    let remark = paint(DIM, &format!("(seeds {})", seeds(&compared.seeds)));
    let _ = writeln!(out, "{name}: {} {remark}", compared.title);
    let mut metric = "";
    let mut shown = Shown::as_it_is("");
    for row in &compared.rows {
        if row.published.metric != metric {
            metric = &row.published.metric;
            shown = view::shown(compared, row);
            heading(&mut out, row, shown, compared.has_intervals());
        }
        line(&mut out, row, shown);
    }
    out.push('\n');
    out
}

fn heading(out: &mut String, row: &Row, shown: Shown, intervals: bool) {
    let metric = format!(" {}", name(&shown.heading(&row.published.metric), NAME));
    let interval = if intervals { "  95 % interval" } else { "" };
    let head = format!(
        " {:>9} {:>8}  {:>9} {:>8}{interval}",
        "published", "change", "simulated", "change"
    );
    let _ = writeln!(out, "{metric}{}", paint(DIM, &head));
}

fn line(out: &mut String, row: &Row, shown: Shown) {
    let (name, p) = (name(&row.variant, NAME - 1), &row.published);
    let value = shown.number(p.value);
    let simulated = p.simulated.map_or("-".into(), |mean| shown.number(mean));
    let _ = write!(out, "  {name} {value:>9} {:>8}", view::published_change(row));
    let (change, ci95) = match row.by {
        By::Change => {
            let ci95 = row.delta.and_then(|delta| delta.ci95);
            let change = p.simulated_delta_pct.map_or("-".into(), percent);
            (change, ci95.map_or(String::new(), interval))
        }
        By::Level => (String::new(), view::level(row)),
    };
    let style = match row.right.filter(|_| !p.calibrated) {
        Some(true) => GOOD,
        Some(false) => BAD,
        None => DIM,
    };
    let (mark, mechanism) = view::mark(row);
    let gap = if mechanism.is_empty() { 0 } else { 8usize.saturating_sub(mark.len()) };
    let (mark, mechanism) = (paint(style, mark), paint(DIM, mechanism));
    let _ = writeln!(out, "  {simulated:>9} {change:>8}  {ci95:<14} {mark}{:gap$}{mechanism}", "");
}

/// Where the rows come from, the score of all scenarios, and what it means, with colors.
pub fn score_text(fidelity: &Fidelity) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", paint(BOLD, "sources"));
    for (source, scenarios) in fidelity.sources() {
        let _ = writeln!(out, "  {source}");
        for line in wrapped(&scenarios) {
            let _ = writeln!(out, "    {}", paint(DIM, &line));
        }
    }
    let head = view::SCORE.iter().map(|title| format!(" {title:>11}")).collect::<String>();
    let gap = " ".repeat(NAME - "score".len() + 1);
    let _ = writeln!(out, "\n{}{gap}{}", paint(BOLD, "score"), paint(DIM, &head));
    for compared in &fidelity.scenarios {
        let _ = writeln!(out, "{}", score_line(&compared.scenario, compared.score()));
    }
    if fidelity.scenarios.len() > 1 {
        let _ = writeln!(out, "{}", paint(BOLD, &score_line("all", fidelity.score())));
    }
    for part in Part::ALL {
        let score = fidelity.score_of(part);
        if score != Score::default() {
            let _ = writeln!(out, "{}", score_line(&view::part(part), score));
        }
    }
    out.push('\n');
    for remark in view::remarks(fidelity) {
        let _ = writeln!(out, "{remark}");
    }
    let _ = writeln!(out, "{}", paint(DIM, &format!("{TOOL}.")));
    out
}

fn score_line(of: &str, score: Score) -> String {
    let name = name(of, NAME - 1);
    let cells = view::cells(score).map(|cell| format!(" {cell:>11}")).concat();
    format!("  {name}{cells}")
}

/// The cell of a name, cut to its width.
fn name(text: &str, columns: usize) -> String {
    pad::left(&pad::short(text, columns), columns)
}

/// Names with commas between, in lines of less than 100 columns with their indentation.
fn wrapped(names: &[&str]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for name in names {
        match lines.last_mut() {
            Some(line) if pad::width(line) + pad::width(name) < 92 => {
                let _ = write!(line, ", {name}");
            }
            _ => lines.push(name.to_string()),
        }
    }
    lines
}

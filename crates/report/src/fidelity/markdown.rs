//! Fidelity as Markdown: a table of rows, a table of scores, the sources.

use super::{By, Compared, Fidelity, Row, view};
use crate::TOOL;
use crate::markdown::escape;
use crate::number::{number, percent};
use std::fmt::Write;

/// All rows, the scores and the sources as Markdown.
pub fn markdown(fidelity: &Fidelity) -> String {
    let mut out = String::from(
        "| scenario | variant | metric | published | change | simulated | change | 95 % interval | \
         |\n| --- | --- | --- | ---: | ---: | ---: | ---: | :---: | --- |\n",
    );
    for compared in &fidelity.scenarios {
        for row in &compared.rows {
            line(&mut out, compared, row);
        }
    }
    let _ = writeln!(out, "\n| score | {} |", view::SCORE.join(" | "));
    let _ = writeln!(out, "| --- |{}", " ---: |".repeat(view::SCORE.len()));
    for compared in &fidelity.scenarios {
        let cells = view::cells(compared.score()).join(" | ");
        let _ = writeln!(out, "| {} | {cells} |", escape(&compared.scenario));
    }
    let _ = writeln!(out, "| all | {} |\n", view::cells(fidelity.score()).join(" | "));
    for remark in view::remarks(fidelity) {
        let _ = writeln!(out, "{remark}  ");
    }
    out.push('\n');
    for (source, scenarios) in fidelity.sources() {
        let _ = writeln!(out, "- {}: {}", escape(source), escape(&scenarios.join(", ")));
    }
    let _ = writeln!(out, "\n{TOOL}");
    out
}

fn line(out: &mut String, compared: &Compared, row: &Row) {
    let p = &row.published;
    let simulated = p.simulated.map_or("-".into(), |mean| number(mean, row.unit));
    let (change, ci95) = match row.by {
        By::Change => {
            let ci95 = row.delta.and_then(|delta| delta.ci95);
            let ci95 = ci95.map(|[low, high]| format!("{} to {}", percent(low), percent(high)));
            (p.simulated_delta_pct.map_or("-".into(), percent), ci95.unwrap_or_default())
        }
        By::Level => (String::new(), view::level(row)),
    };
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {simulated} | {change} | {ci95} | {} |",
        escape(&compared.scenario),
        escape(&row.variant),
        view::metric(row),
        number(p.value, row.unit),
        view::published_change(row),
        row.mark(),
    );
}

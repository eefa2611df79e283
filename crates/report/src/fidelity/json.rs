//! Fidelity as JSON, schema version 1: fields may be added, none renamed or removed.

use super::{Compared, Fidelity, Row, Score, Tally};
use crate::TOOL;
use serde_json::{Value, json};

/// Version of the format, the field `schema`.
const SCHEMA: u32 = 1;

/// All rows and scores as an indented document.
pub fn json(fidelity: &Fidelity) -> String {
    let document = json!({
        "schema": SCHEMA,
        "tool": TOOL,
        "score": score(fidelity.score()),
        "scenarios": fidelity.scenarios.iter().map(scenario).collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

fn scenario(compared: &Compared) -> Value {
    json!({
        "scenario": compared.scenario,
        "scenario_hash": compared.hash,
        "title": compared.title,
        "machine": compared.machine,
        "seeds": compared.seeds,
        "score": score(compared.score()),
        "rows": compared.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn score(score: Score) -> Value {
    json!({
        "changes": tally(score.changes),
        "changes_clear": tally(score.clear),
        "levels": tally(score.levels),
        "calibrated": score.calibrated,
        "unjudged": score.unjudged,
    })
}

fn tally(tally: Tally) -> Value {
    json!({ "right": tally.right, "of": tally.of })
}

fn row(row: &Row) -> Value {
    let p = &row.published;
    json!({
        "variant": row.variant,
        "baseline": row.baseline,
        "metric": p.metric,
        "unit": row.unit,
        "published": p.value,
        "published_sd": p.sd,
        "published_delta_pct": p.delta_pct,
        "simulated": p.simulated,
        "off_pct": row.off_pct,
        "simulated_delta_pct": p.simulated_delta_pct,
        "ci95": row.delta.and_then(|delta| delta.ci95),
        "calibrated": p.calibrated,
        "judged_by": row.by.word(),
        "right": row.right,
        "source": p.source,
    })
}

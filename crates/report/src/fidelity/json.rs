//! Fidelity as JSON, schema version 1: fields may be added, none renamed or removed.

use super::{Compared, Fidelity, Part, Row, Score, Tally};
use crate::TOOL;
use scenario::Mechanism;
use serde_json::{Map, Value, json};

/// Version of the format, the field `schema`.
const SCHEMA: u32 = 1;

/// All rows and scores as an indented document.
pub fn json(fidelity: &Fidelity) -> String {
    let document = json!({
        "schema": SCHEMA,
        "tool": TOOL,
        "score": score(fidelity.score()),
        "mechanisms": mechanisms(fidelity),
        "errors": errors(fidelity),
        "scenarios": fidelity.scenarios.iter().map(scenario).collect::<Vec<_>>(),
    });
    let mut text = serde_json::to_string_pretty(&document).unwrap_or_default();
    text.push('\n');
    text
}

/// The score of the rows of each sort of mechanism.
fn mechanisms(fidelity: &Fidelity) -> Value {
    let of = |(word, mechanism): (&str, Mechanism)| {
        (word.to_string(), score(fidelity.score_of(Part::Mechanism(mechanism))))
    };
    Value::Object(Mechanism::WORDS.into_iter().map(of).collect::<Map<_, _>>())
}

/// The score of the changes that were told apart from zero, that were not, and of the rest.
fn errors(fidelity: &Fidelity) -> Value {
    let of = |told| score(fidelity.score_of(Part::ToldApart(told)));
    json!({
        "told_apart": of(Some(true)),
        "not_told_apart": of(Some(false)),
        "unknown": of(None),
    })
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
        "published_runs": p.runs,
        "published_delta_pct": p.delta_pct(),
        "published_error_pct": p.change.and_then(|change| change.error_pct),
        "told_apart": p.told_apart(),
        "simulated": p.simulated,
        "off_pct": row.off_pct,
        "simulated_delta_pct": p.simulated_delta_pct,
        "ci95": row.delta.and_then(|delta| delta.ci95),
        "calibrated": p.calibrated,
        "judged_by": row.by.word(),
        "right": row.right,
        "mechanism": p.mechanism.word(),
        "source": p.source,
    })
}

//! The cells of the text in words, and what the words mean.

use super::{By, CLEAR_PCT, Compared, Fidelity, LEVEL_PCT, Row, Score, Tally};
use crate::analysis::SAME_PCT;
use crate::number::percent;

/// Titles of the score's columns.
pub const SCORE: [&str; 4] = ["changes", "1 % and up", "levels", "calibrated"];

/// A metric and its unit.
pub fn metric(row: &Row) -> String {
    match row.unit {
        "" => row.published.metric.clone(),
        unit => format!("{} [{unit}]", row.published.metric),
    }
}

/// The published change.
pub fn published_change(row: &Row) -> String {
    match row.published.delta_pct {
        Some(pct) => percent(pct),
        None if row.baseline => "baseline".to_string(),
        None => "-".to_string(),
    }
}

/// How far the simulated value is from the published one.
pub fn level(row: &Row) -> String {
    row.off_pct.map_or(String::new(), |pct| format!("level {}", percent(pct)))
}

/// A score as cells, by the titles of [`SCORE`].
pub fn cells(score: Score) -> [String; 4] {
    let tally = |t: Tally| if t.of == 0 { "-".into() } else { format!("{} of {}", t.right, t.of) };
    let calibrated = if score.calibrated == 0 { "-".into() } else { score.calibrated.to_string() };
    [tally(score.changes), tally(score.clear), tally(score.levels), calibrated]
}

/// What the columns and marks mean, and what speaks against the numbers.
pub fn remarks(fidelity: &Fidelity) -> Vec<String> {
    let score = fidelity.score();
    let mut remarks = Vec::new();
    if score.changes.of > 0 {
        remarks.push(format!(
            "changes that agree: same direction or both under {SAME_PCT} %, and at most 1 point or \
             1/4 apart."
        ));
        remarks.push(format!(
            "Below {CLEAR_PCT} % the direction is nearly all that counts, and chance gets about \
             half of them right."
        ));
    }
    if fidelity.scenarios.iter().flat_map(|s| &s.rows).any(|row| row.by == By::Level) {
        remarks.push(format!(
            "levels within {LEVEL_PCT} %: values of baselines, and those whose baseline nobody \
             published."
        ));
    }
    if score.calibrated > 0 {
        remarks.push(
            "calibrated: a constant was fitted to this row (docs/CALIBRATION.md), so it counts for \
             nothing."
                .to_string(),
        );
    }
    if score.unjudged > 0 {
        remarks.push(format!("not judged ({}): the runs have nothing beside it.", score.unjudged));
    }
    remarks.extend(one_seed(fidelity));
    remarks
}

/// The remark that changes have no intervals, with the scenarios concerned if not all are.
fn one_seed(fidelity: &Fidelity) -> Option<String> {
    let changes = |s: &&Compared| s.rows.iter().any(|row| row.by == By::Change);
    let compared: Vec<&Compared> = fidelity.scenarios.iter().filter(changes).collect();
    let bare: Vec<&str> =
        compared.iter().filter(|s| !s.has_intervals()).map(|s| s.scenario.as_str()).collect();
    let of = match bare.len() {
        0 => return None,
        n if n == compared.len() => String::new(),
        _ => format!(" ({})", bare.join(", ")),
    };
    Some(format!("One seed gives no interval{of}: --seeds 5 tells chance from effect."))
}

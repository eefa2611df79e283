//! The cells of the text in words, and what the words mean.

use super::{By, CLEAR_PCT, Compared, Fidelity, LEVEL_PCT, Part, Row, Score, Tally};
use crate::agree;
use crate::number::{Shown, percent};
use scenario::Mechanism;

/// Titles of the score's columns.
pub const SCORE: [&str; 4] = ["changes", "1 % and up", "levels", "calibrated"];

/// How the rows of a metric show their values: those of one scenario share a unit.
pub fn shown(compared: &Compared, row: &Row) -> Shown {
    let metric = &row.published.metric;
    let rows = compared.rows.iter().map(|row| &row.published).filter(|p| p.metric == *metric);
    Shown::of(metric, row.unit, rows.flat_map(|p| p.simulated.into_iter().chain([p.value])))
}

/// The published change, marked if it was not told apart from zero.
pub fn published_change(row: &Row) -> String {
    let nothing = if row.published.told_apart() == Some(false) { "~" } else { "" };
    match row.published.delta_pct() {
        Some(pct) => format!("{nothing}{}", percent(pct)),
        None if row.baseline => "baseline".to_string(),
        None => "-".to_string(),
    }
}

/// How far the simulated value is from the published one.
pub fn level(row: &Row) -> String {
    row.off_pct.map_or(String::new(), |pct| format!("level {}", percent(pct)))
}

/// How the row was judged, and what is known about its mechanism if it counts.
pub fn mark(row: &Row) -> (&'static str, &'static str) {
    let counts = row.right.is_some() && !row.published.calibrated;
    (row.mark(), if counts { mechanism(row.published.mechanism) } else { "" })
}

fn mechanism(mechanism: Mechanism) -> &'static str {
    match mechanism {
        Mechanism::Built => "built",
        Mechanism::LeftOut => "left out",
        Mechanism::Unknown => "unknown",
    }
}

/// The name of a part of the rows.
pub fn part(part: Part) -> String {
    match part {
        Part::Mechanism(known) => format!("mechanism {}", mechanism(known)),
        Part::ToldApart(Some(true)) => "told apart from zero".to_string(),
        Part::ToldApart(Some(false)) => "~ not told apart".to_string(),
        Part::ToldApart(None) => "error not published".to_string(),
    }
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
        remarks.push(format!("changes that agree: {}", agree::rule()));
        remarks.push(format!(
            "Below {CLEAR_PCT} % the direction is nearly all that counts, and chance gets about \
             half of them right."
        ));
    }
    if fidelity.rows().any(|row| row.published.told_apart().is_some()) {
        remarks.extend(agree::ERRORS.map(String::from));
    }
    remarks.push(
        "mechanism (what makes the row so): built into the model, known and left out, or unknown."
            .to_string(),
    );
    if fidelity.rows().any(|row| row.by == By::Level) {
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

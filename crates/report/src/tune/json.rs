//! A search as JSON, schema version 1.

use super::{Found, Point, TuneReport};
use crate::TOOL;
use crate::analysis::paired;
use crate::stats;
use scenario::Better;
use scenario::registry::metric;
use serde_json::{Map, Value, json};

/// Everything that was found.
pub fn json(report: &TuneReport) -> String {
    let tune = &report.tune;
    let goals = tune.goals.iter().map(|goal| {
        json!({ "metric": goal.metric, "better": if goal.maximize { "higher" } else { "lower" } })
    });
    let limits = tune.limits.iter().map(|limit| &limit.text);
    let front = report.front.iter().map(|idx| json!(idx));
    let n_failed = report.looked.iter().filter(|looked| looked.found.is_err()).count();
    let document = json!({
        "schema": 1,
        "tool": TOOL,
        "scenario": report.scenario,
        "title": report.title,
        "hash": report.hash,
        "variant": tune.variant,
        "goals": goals.collect::<Vec<_>>(),
        "while": limits.collect::<Vec<_>>(),
        "keys": tune.keys.iter().map(|key| &key.key).collect::<Vec<_>>(),
        "n_points": tune.n_points(),
        "optimizer": report.optimizer,
        "search_seed": report.search_seed,
        "batch": report.batch,
        "seeds": report.seeds,
        "runs": report.n_runs,
        "failed": n_failed,
        "as_it_is": measured(report, &report.as_it_is, None),
        "best": report.best,
        "front": front.collect::<Vec<_>>(),
        "points": report.looked.iter().map(|looked| point(report, looked)).collect::<Vec<_>>(),
        "fresh": fresh(report),
    });
    serde_json::to_string_pretty(&document).unwrap_or_default() + "\n"
}

/// A point that was looked at.
fn point(report: &TuneReport, looked: &super::Looked) -> Value {
    let at = at(report, &looked.point);
    let set = report.tune.sets(&looked.point);
    match &looked.found {
        Err(error) => json!({ "at": at, "set": set, "error": error }),
        Ok(found) => {
            let metrics = measured(report, found, Some(&report.as_it_is));
            json!({ "at": at, "set": set, "keeps": found.keeps, "metrics": metrics })
        }
    }
}

/// Its values by key, as the scenario has them.
fn at(report: &TuneReport, point: &Point) -> Value {
    let pair = |(key, value): (&scenario::tune::TunedKey, _)| (key.key.clone(), key.shown(value));
    let pairs = report.tune.keys.iter().zip(point.iter().copied()).map(pair);
    Value::Object(pairs.map(|(key, value)| (key, json!(value))).collect::<Map<_, _>>())
}

/// What was measured, with paired changes from the variant as it is.
fn measured(report: &TuneReport, found: &Found, base: Option<&Found>) -> Value {
    let of = |(idx, name): (usize, &String)| {
        let values = &found.values[idx];
        let row = metric(name);
        let mut one = json!({
            "unit": row.map_or("", |row| row.unit),
            "mean": stats::mean(values),
            "ci95": stats::ci95(values),
            "values": values,
        });
        if let Some(base) = base {
            let better = row.map_or(Better::None, |row| row.better);
            let change = paired(values, &base.values[idx], better);
            one["change_pct"] = json!(change.pct);
            one["change_ci95"] = json!(change.ci95);
            one["verdict"] = json!(change.verdict.word());
        }
        (name.clone(), one)
    };
    Value::Object(report.metrics.iter().enumerate().map(of).collect::<Map<_, _>>())
}

/// The winner with fresh seeds.
fn fresh(report: &TuneReport) -> Value {
    let Some(validation) = &report.validation else {
        return Value::Null;
    };
    let as_it_is = measured(report, &validation.as_it_is, None);
    match &validation.best {
        Err(error) => {
            json!({ "seeds": validation.seeds, "as_it_is": as_it_is, "error": error })
        }
        Ok(found) => json!({
            "seeds": validation.seeds,
            "as_it_is": as_it_is,
            "keeps": found.keeps,
            "metrics": measured(report, found, Some(&validation.as_it_is)),
        }),
    }
}

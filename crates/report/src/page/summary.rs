//! The results: a sentence per variant, a block per headline metric, a matrix of the others.

use super::markup::{cell, escape, number_cell, plain_number, row, table};
use crate::analysis::{Analysis, Delta, Metric, VariantAnalysis, Verdict};
use crate::number::{Shown, interval, number, percent};
use crate::view;
use std::fmt::Write;

/// The variants with their letters, and what is set in them.
pub fn variants(analysis: &Analysis) -> String {
    let item = |(idx, v): (usize, &VariantAnalysis)| {
        let rules = v.rules.map_or(v.policy.to_string(), |rules| format!("{} {rules}", v.policy));
        let set = v.tunables.iter().chain(&v.workqueue).chain(&v.workload);
        let set = set.map(|(key, value)| format!("{key} = {value}"));
        let stated: Vec<String> = v.features.iter().cloned().chain(set).collect();
        let baseline = if v.baseline { " <small>baseline</small>" } else { "" };
        format!(
            "<li>{} <b>{}</b>{baseline} <small>{}</small></li>\n",
            swatch(idx),
            escape(&v.name),
            escape(&[vec![rules], stated].concat().join(", "))
        )
    };
    let items: String = analysis.variants.iter().enumerate().map(item).collect();
    format!("<ul class=\"variants\">\n{items}</ul>\n")
}

/// The letter of a variant in its color.
pub fn swatch(idx: usize) -> String {
    format!("<span class=\"swatch v{}\">{}</span>", idx % 8, view::letter(idx))
}

/// Letter and name.
pub fn named(idx: usize, variant: &VariantAnalysis) -> String {
    format!("{} {}", swatch(idx), escape(&variant.name))
}

/// One sentence per variant, with the verdict on the first headline in front.
pub fn verdicts(analysis: &Analysis) -> String {
    let Some(baseline) = analysis.baseline() else {
        return String::new();
    };
    let headlines = view::headlines(analysis);
    let mut items = String::new();
    for variant in analysis.variants.iter().filter(|v| !v.baseline) {
        let deltas = headlines.iter().filter_map(|m| Some((*m, variant.delta(&m.name)?)));
        let deltas: Vec<(&Metric, &Delta)> = deltas.take(3).collect();
        let Some((_, first)) = deltas.first() else { continue };
        let clauses: Vec<String> = deltas.iter().map(|(m, d)| clause(variant, m, d)).collect();
        let judged = variant.published.iter().filter(|p| !p.calibrated).filter_map(|p| p.agrees);
        let (yes, all) =
            judged.fold((0, 0), |(yes, all), agrees| (yes + i32::from(agrees), all + 1));
        let published = match all {
            0 => String::new(),
            all => format!("; {yes} of {all} published changes agree"),
        };
        let _ = writeln!(
            items,
            "<li>{} <b>{}</b> against {}: {}{published}.</li>",
            badge(first),
            escape(&variant.name),
            escape(&baseline.name),
            clauses.join(", ")
        );
    }
    if items.is_empty() {
        return String::new();
    }
    format!("<ul class=\"verdicts\">\n{items}</ul>\n{}", remarks(&view::remarks(analysis)))
}

/// What the words of tables mean.
pub fn remarks(lines: &[String]) -> String {
    lines.iter().map(|line| format!("<p class=\"remark\">{}</p>\n", escape(line))).collect()
}

/// What became of one metric.
fn clause(variant: &VariantAnalysis, metric: &Metric, delta: &Delta) -> String {
    let (pct, ci95, word) = view::change(delta, metric);
    let size = match delta.pct {
        _ if pct == "=" => "unchanged".to_string(),
        Some(_) => pct,
        None => variant.metric(&metric.name).map_or(pct, |m| number(m.mean, m.unit)),
    };
    let ci95 = ci95.map_or(String::new(), |ci95| format!(" {}", interval(ci95)));
    let word = if size == "unchanged" { String::new() } else { format!(" ({word})") };
    format!("{} {}{ci95}{word}", escape(&metric.name), escape(&size))
}

/// The verdict as a word with a color.
pub fn badge(delta: &Delta) -> String {
    let doubt = if delta.by_interval || delta.identical { "" } else { "?" };
    let word = delta.verdict.word();
    format!("<span class=\"badge {word}\">{word}{doubt}</span>")
}

/// A table per headline metric: a row per variant.
pub fn blocks(analysis: &Analysis) -> String {
    view::headlines(analysis).into_iter().map(|metric| block(analysis, metric)).collect()
}

fn block(analysis: &Analysis, metric: &Metric) -> String {
    let compares = analysis.variants.len() > 1;
    let published = analysis.variants.iter().any(|v| v.published(&metric.name).is_some());
    let mut head = vec!["variant", ">simulated", ">95 % interval"];
    if compares {
        head.extend([">change", ">95 % interval", "verdict", ""]);
    }
    if published {
        head.extend([">published", ">change", ""]);
    }
    let span = span(analysis, metric);
    let shown = view::in_block(analysis, metric);
    let line = |(idx, variant): (usize, &VariantAnalysis)| {
        let mut cells = level(variant, metric, shown);
        if compares {
            cells.extend(change(variant, metric, span));
        }
        if published {
            cells.extend(beside(variant, metric, shown));
        }
        row(&named(idx, variant), &cells)
    };
    let rows: Vec<String> = analysis.variants.iter().enumerate().map(line).collect();
    let caption =
        format!("<b>{}</b>{}", escape(&shown.heading(&metric.name)), view::direction(metric));
    let head: Vec<String> = head.into_iter().map(String::from).collect();
    table("block", &caption, &head, &rows)
}

fn level(variant: &VariantAnalysis, metric: &Metric, shown: Shown) -> Vec<String> {
    let own = variant.metric(&metric.name);
    let mean = own.map_or("-".into(), |m| shown.number(m.mean));
    let ends = |[low, high]: [f64; 2]| format!("{} to {}", shown.number(low), shown.number(high));
    let ci95 = own.and_then(|m| m.ci95).map_or(String::new(), ends);
    let name = format!("{}/{}/mean", variant.name, metric.name);
    vec![number_cell(&mean, &name, own.map(|m| m.mean)), plain_number(&ci95)]
}

fn change(variant: &VariantAnalysis, metric: &Metric, span: (f64, f64)) -> Vec<String> {
    let Some(delta) = variant.delta(&metric.name) else {
        let what = if variant.baseline { "baseline" } else { "" };
        return vec![cell(what), cell(""), cell(""), cell("")];
    };
    let (pct, ci95, _) = view::change(delta, metric);
    let name = format!("{}/{}/delta_pct", variant.name, metric.name);
    vec![
        number_cell(&pct, &name, delta.pct),
        plain_number(&ci95.map_or(String::new(), interval)),
        format!("<td>{}</td>", badge(delta)),
        format!("<td class=\"bar\">{}</td>", bar(variant, metric, delta, span)),
    ]
}

fn beside(variant: &VariantAnalysis, metric: &Metric, shown: Shown) -> Vec<String> {
    let Some(row) = variant.published(&metric.name) else {
        return vec![cell(""), cell(""), cell("")];
    };
    let sd = row.sd.map_or(String::new(), |sd| format!(" \u{b1}{}", shown.deviation(sd)));
    let word = match row.agrees {
        _ if row.calibrated => "calibrated on it",
        Some(true) => "agrees",
        Some(false) => "differs",
        None => "",
    };
    let value = format!(
        "<td class=\"number\" title=\"{}\">{}{sd}</td>",
        escape(&row.source),
        shown.number(row.value)
    );
    let pct = row.delta_pct().map_or(String::new(), percent);
    vec![value, plain_number(&pct), format!("<td><span class=\"{word}\">{word}</span></td>")]
}

/// The changes that a picture of this metric spans, in percent.
fn span(analysis: &Analysis, metric: &Metric) -> (f64, f64) {
    let mut marks = vec![0.0];
    for variant in &analysis.variants {
        if let Some(delta) = variant.delta(&metric.name) {
            marks.extend(delta.pct);
            marks.extend(delta.ci95.into_iter().flatten());
        }
        marks.extend(variant.published(&metric.name).and_then(|p| p.delta_pct()));
    }
    let low = marks.iter().copied().fold(0.0, f64::min);
    let high = marks.iter().copied().fold(0.0, f64::max);
    (low, high)
}

/// The change as a picture: a bar for the interval, a dot for the mean, a ring for the published
/// change, a line for zero. All variants of a metric share the axis.
fn bar(
    variant: &VariantAnalysis,
    metric: &Metric,
    delta: &Delta,
    (low, high): (f64, f64),
) -> String {
    const WIDTH: f64 = 150.0;
    const EDGE: f64 = 9.0;
    let Some(pct) = delta.pct.filter(|pct| pct.is_finite()) else {
        return String::new();
    };
    let width = (high - low).max(1e-9);
    let x = |pct: f64| EDGE + (pct - low) / width * (WIDTH - 2.0 * EDGE);
    let class = match delta.verdict {
        Verdict::Better => "better",
        Verdict::Worse => "worse",
        _ => "same",
    };
    let mut svg = format!(
        "<svg width=\"{WIDTH}\" height=\"20\" role=\"img\" aria-label=\"{}\"><line class=\"zero\" \
         x1=\"{zero:.1}\" x2=\"{zero:.1}\" y1=\"0\" y2=\"20\"/>",
        escape(&percent(pct)),
        zero = x(0.0),
    );
    if let Some([from, to]) = delta.ci95 {
        let (from, to) = (x(from), x(to));
        let _ = write!(
            svg,
            "<path class=\"{class}\" d=\"M{from:.1} 4V16M{to:.1} 4V16M{from:.1} 10H{to:.1}\"/>"
        );
    }
    let _ = write!(svg, "<circle class=\"{class}\" cx=\"{:.1}\" cy=\"10\" r=\"4\"/>", x(pct));
    if let Some(published) = variant.published(&metric.name).and_then(|p| p.delta_pct()) {
        let at = x(published);
        let _ = write!(svg, "<circle class=\"published\" cx=\"{at:.1}\" cy=\"10\" r=\"7\"/>");
    }
    svg + "</svg>"
}

/// The other metrics: the baseline's value, and the change of each variant.
pub fn matrix(analysis: &Analysis) -> String {
    let details = view::details(analysis);
    let Some(baseline) = analysis.baseline().filter(|_| !details.is_empty()) else {
        return String::new();
    };
    let others: Vec<(usize, &VariantAnalysis)> =
        analysis.variants.iter().enumerate().filter(|(_, v)| !v.baseline).collect();
    let base = analysis.variants.iter().position(|v| v.baseline).unwrap_or(0);
    let mut head = vec!["metric".to_string(), format!(">{}", named(base, baseline))];
    head.extend(others.iter().map(|(idx, v)| format!(">{}", named(*idx, v))));
    let line = |metric: &&Metric| {
        let name = format!("{}/{}/mean", baseline.name, metric.name);
        let shown = view::in_matrix(analysis, metric);
        let mut cells = vec![number_cell(&shown.number(metric.mean), &name, Some(metric.mean))];
        for (_, variant) in &others {
            let name = format!("{}/{}/delta_pct", variant.name, metric.name);
            let pct = variant.delta(&metric.name).and_then(|delta| delta.pct);
            cells.push(number_cell(&view::relative(variant, metric, shown), &name, pct));
        }
        row(&escape(&shown.heading(&metric.name)), &cells)
    };
    let rows: Vec<String> = details.iter().map(line).collect();
    let notes = view::notes(analysis, &baseline.name);
    let lines: Vec<String> = notes.into_iter().chain(view::directions(&details)).collect();
    table("matrix", "", &head, &rows) + &remarks(&lines)
}

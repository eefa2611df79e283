//! What goes on one screen, in which order: shared by the text table and Markdown.
//!
//! The headline metrics get a block each, with intervals, verdicts and published values. The rest
//! shares one matrix of changes, a row per metric and a column per variant. What is left out
//! (rare counters, single lock sites) is in JSON and CSV.

use crate::agree;
use crate::analysis::{Analysis, Delta, Metric, VariantAnalysis, Verdict};
use crate::number::{Shown, is_tiny, percent};
use crate::{expected, replayed};
use scenario::Better;
use scenario::glue::MachineInfo;
use scenario::registry::{Show, metric};

/// The metrics that get a block: the headlines, and all that were published.
pub fn headlines(analysis: &Analysis) -> Vec<&Metric> {
    let Some(baseline) = analysis.baseline() else {
        return Vec::new();
    };
    let published = |name: &str| analysis.variants.iter().any(|v| v.published(name).is_some());
    // A time that the scenario prescribes is no result, even if one was published.
    let prescribed = |name: &str| name == "elapsed" && !analysis.all_finished();
    let wanted = |m: &&Metric| {
        let headline = headline_rank(&m.name).is_some() && is_used(analysis, &m.name);
        (published(&m.name) || headline) && !prescribed(&m.name)
    };
    let mut chosen: Vec<&Metric> = baseline.metrics.iter().filter(wanted).collect();
    // What was only published comes last.
    chosen.sort_by_key(|m| headline_rank(&m.name).unwrap_or(u8::MAX));
    chosen
}

/// The metrics of the matrix, in the order of its rows.
pub fn details(analysis: &Analysis) -> Vec<&Metric> {
    let Some(baseline) = analysis.baseline() else {
        return Vec::new();
    };
    let blocks: Vec<&str> = headlines(analysis).iter().map(|m| m.name.as_ref()).collect();
    let wanted = |m: &&Metric| {
        let name = m.name.as_ref();
        !blocks.contains(&name) && shown(name) == Show::Table && is_used(analysis, name)
    };
    baseline.metrics.iter().filter(wanted).collect()
}

/// True if any variant has a value other than zero.
fn is_used(analysis: &Analysis, name: &str) -> bool {
    let used = |v: &VariantAnalysis| v.metric(name).is_some_and(|m| m.mean != 0.0);
    analysis.variants.iter().any(used)
}

/// What the row of a metric says of the screen.
fn shown(name: &str) -> Show {
    metric(name).map_or(Show::Table, |row| row.shown(name))
}

/// The place of a metric among the headlines, if it is one.
fn headline_rank(name: &str) -> Option<u8> {
    match shown(name) {
        Show::Headline(rank) => Some(rank),
        _ => None,
    }
}

/// A letter (or two) for each variant: A, B, ... Z, AA, AB.
pub fn letter(idx: usize) -> String {
    let one = |n: usize| char::from(b'A' + (n % 26) as u8);
    match idx {
        0..26 => one(idx).to_string(),
        _ => format!("{}{}", one((idx / 26 + 25) % 26), one(idx)),
    }
}

/// The machine, workload and so on, as (what, value).
pub fn facts(analysis: &Analysis) -> Vec<(&'static str, String)> {
    let machine = &analysis.machine;
    let cpus = size(machine);
    let mut facts = vec![
        ("machine", format!("{}, {cpus}", machine.name)),
        ("workload", analysis.workload.to_string()),
        ("policy", policies(analysis)),
    ];
    if !analysis.at.is_empty() {
        facts.push(("at", analysis.at.clone()));
    }
    if analysis.until != "done" {
        facts.push(("until", analysis.until.clone()));
    }
    facts.push(("seeds", crate::number::seeds(&analysis.seeds)));
    facts
}

fn policies(analysis: &Analysis) -> String {
    let mut names: Vec<String> = Vec::new();
    for v in &analysis.variants {
        let name = v.rules.map_or(v.policy.to_string(), |rules| format!("{} {rules}", v.policy));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// A metric and its unit, as a heading.
pub fn heading(metric: &Metric) -> String {
    match metric.unit {
        "" => metric.name.to_string(),
        unit => format!("{} [{unit}]", metric.name),
    }
}

/// How the block of a metric shows its values: those of all variants, and the published ones.
pub fn in_block(analysis: &Analysis, metric: &Metric) -> Shown {
    let variants = || analysis.variants.iter();
    let simulated = variants().filter_map(|v| Some(v.metric(&metric.name)?.mean));
    let published = variants().filter_map(|v| Some(v.published(&metric.name)?.value));
    Shown::of(&metric.name, metric.unit, simulated.chain(published))
}

/// How the matrix shows the values of a metric: the baseline's, or those of all variants if it has
/// nothing that others could be a percentage of.
pub fn in_matrix(analysis: &Analysis, metric: &Metric) -> Shown {
    if metric.mean != 0.0 && !is_tiny(metric.mean) {
        return Shown::of(&metric.name, metric.unit, [metric.mean]);
    }
    let means = analysis.variants.iter().filter_map(|v| Some(v.metric(&metric.name)?.mean));
    Shown::of(&metric.name, metric.unit, means)
}

/// True if values that look equal are equal. Latencies come rounded from a histogram: two that look
/// equal may differ.
pub fn is_exact(metric: &Metric) -> bool {
    metric.unit != "us"
}

/// A change, its interval if the runs are not all alike, and its verdict: with a question mark if
/// there is no interval to tell it from chance.
pub fn change(delta: &Delta, metric: &Metric) -> (String, Option<[f64; 2]>, String) {
    let identical = delta.identical && is_exact(metric);
    let pct = match delta.pct {
        Some(_) if identical => "=".to_string(),
        pct => pct.map_or("-".into(), percent),
    };
    let word = format!("{}{}", delta.verdict.word(), doubt(delta));
    (pct, delta.ci95.filter(|_| !identical), word)
}

/// A question mark if no interval tells the change from chance.
fn doubt(delta: &Delta) -> &'static str {
    if delta.by_interval { "" } else { "?" }
}

/// One change of the matrix, or the value itself where a percentage of the baseline says nothing.
pub fn relative(variant: &VariantAnalysis, metric: &Metric, shown: Shown) -> String {
    let own = variant.metric(&metric.name).map(|own| shown.number(own.mean));
    let Some(delta) = variant.delta(&metric.name) else {
        return "-".to_string();
    };
    let text = match (delta.pct, own) {
        _ if delta.identical && is_exact(metric) => return "=".to_string(),
        (Some(_), Some(own)) if is_tiny(metric.mean) => return own,
        (Some(pct), _) => percent(pct),
        (None, Some(own)) => own,
        (None, None) => return "-".to_string(),
    };
    match delta.verdict == Verdict::Same && delta.by_interval {
        true => format!("({text})"),
        false => format!("{text}{}", doubt(delta)),
    }
}

/// What the cells of the matrix mean, if it has such cells.
pub fn notes(analysis: &Analysis, baseline: &str) -> Option<String> {
    let (mut bracketed, mut values) = (false, false);
    for metric in details(analysis) {
        for variant in analysis.variants.iter().filter(|v| !v.baseline) {
            let cell = relative(variant, metric, in_matrix(analysis, metric));
            bracketed |= cell.contains('(');
            values |= !cell.contains(['%', '=', 'x']) && cell != "-";
        }
    }
    let bracketed =
        bracketed.then(|| format!("in brackets: the seeds cannot tell it from {baseline}"));
    let values = values.then(|| "no sign: the value itself".to_string());
    let notes: Vec<String> = [bracketed, values].into_iter().flatten().collect();
    (!notes.is_empty()).then(|| notes.join("; "))
}

/// The good direction in words; empty if there is none.
pub fn direction(metric: &Metric) -> &'static str {
    match metric.better {
        Better::Lower => ", lower is better",
        Better::Higher => ", higher is better",
        Better::None => "",
    }
}

/// The good directions of some metrics in a line, for headings that have no room for them.
pub fn directions(metrics: &[&Metric]) -> Option<String> {
    let of = |better, word: &str| {
        let names = metrics.iter().filter(|m| m.better == better).map(|m| m.name.as_ref());
        let names: Vec<&str> = names.collect();
        (!names.is_empty()).then(|| format!("{word} {}", names.join(", ")))
    };
    let parts: Vec<String> =
        [of(Better::Higher, "higher"), of(Better::Lower, "lower")].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("better: {}.", parts.join("; ")))
}

/// Remarks below the tables: what their words mean.
pub fn remarks(analysis: &Analysis) -> Vec<String> {
    let mut remarks = replayed::remarks(analysis);
    let (agree, all) = analysis.agreement();
    if all > 0 {
        remarks.push(format!("agrees ({agree} of {all}): {}", agree::rule()));
        if analysis.has_errors() {
            remarks.extend(agree::ERRORS.map(String::from));
        }
    }
    remarks.extend(expected::remark(analysis));
    let cut_off: usize = analysis.variants.iter().map(|v| v.cut_off).sum();
    if cut_off > 0 {
        let n_runs = analysis.variants.len() * analysis.seeds.len();
        remarks.push(format!(
            "{cut_off} of {n_runs} runs were cut off at {}, before their work was done: a variant \
             may have done less.",
            analysis.until
        ));
    }
    let unmeasured = unmeasured(analysis);
    if !unmeasured.is_empty() {
        remarks.push(format!("published, but not measured here: {}.", unmeasured.join(", ")));
    }
    let several = analysis.variants.len() > 1;
    if analysis.seeds.len() == 1 {
        let mark = if several { "?: one" } else { "One" };
        remarks.push(format!("{mark} seed gives no interval, --seeds 5 tells chance from effect."));
    } else if lacks_interval(analysis) {
        remarks.push("?: all seeds gave the same values, so there is no interval.".into());
    }
    if analysis.seeds.len() > 1 && several {
        remarks.push(
            "same: the interval contains zero. It is over seeds: how repeatable, not how near to \
             hardware."
                .into(),
        );
    }
    remarks
}

/// Published metrics that no run has.
fn unmeasured(analysis: &Analysis) -> Vec<&str> {
    let rows = analysis.variants.iter().flat_map(|v| &v.published);
    let is_measured = |name: &str| analysis.variants.iter().any(|v| v.metric(name).is_some());
    let mut names: Vec<&str> = Vec::new();
    for row in rows.filter(|row| !is_measured(&row.metric)) {
        if !names.contains(&row.metric.as_str()) {
            names.push(&row.metric);
        }
    }
    names
}

/// True if a change is shown without an interval that could tell it from chance.
fn lacks_interval(analysis: &Analysis) -> bool {
    let others = || analysis.variants.iter().filter(|v| !v.baseline);
    let doubts = |v: &VariantAnalysis, m: &Metric| v.delta(&m.name).is_some_and(|d| !d.by_interval);
    let in_block = |m: &&Metric| others().any(|v| doubts(v, m));
    let in_cell =
        |m: &&Metric| others().any(|v| relative(v, m, in_matrix(analysis, m)).contains('?'));
    headlines(analysis).iter().any(in_block) || details(analysis).iter().any(in_cell)
}

/// "16 CPUs in 2 LLCs"
pub fn size(machine: &MachineInfo) -> String {
    let plural = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
    format!("{} in {}", plural(machine.cpus, "CPU"), plural(machine.llcs, "LLC"))
}

#[cfg(test)]
mod tests {
    use super::letter;

    #[test]
    fn letters_go_on_after_z() {
        assert_eq!([0, 25, 26, 27, 52].map(letter), ["A", "Z", "AA", "AB", "BA"]);
    }
}

//! The same tables as Markdown, ready for a pull request or a mail.

use crate::TOOL;
use crate::analysis::{Analysis, Metric, VariantAnalysis};
use crate::number::{Shown, percent};
use crate::view;
use std::fmt::Write;

/// The analysis as Markdown.
pub fn markdown(analysis: &Analysis) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "## {}\n", escape(&analysis.title));
    let facts: Vec<String> =
        view::facts(analysis).iter().map(|(what, v)| format!("{what}: {}", escape(v))).collect();
    let _ = writeln!(out, "{}", facts.join("; "));
    for metric in view::headlines(analysis) {
        block(&mut out, analysis, metric);
    }
    matrix(&mut out, analysis);
    out.push('\n');
    for remark in view::remarks(analysis) {
        let _ = writeln!(out, "{remark}  ");
    }
    let _ = writeln!(out, "{TOOL}, scenario `{}`", analysis.hash);
    out
}

fn block(out: &mut String, analysis: &Analysis, metric: &Metric) {
    let shown = view::in_block(analysis, metric);
    let heading = format!("{}{}", shown.heading(&metric.name), view::direction(metric));
    let published = analysis.variants.iter().any(|v| v.published(&metric.name).is_some());
    let (head, rule) = match published {
        true => (" published | change | |", " ---: | ---: | --- |"),
        false => ("", ""),
    };
    let _ = writeln!(out, "\n| {heading} | simulated | change | 95 % interval | verdict |{head}");
    let _ = writeln!(out, "| --- | ---: | ---: | :---: | --- |{rule}");
    for variant in &analysis.variants {
        let _ = write!(out, "| {} |", escape(&variant.name));
        let mean = variant.metric(&metric.name).map_or("-".into(), |m| shown.number(m.mean));
        let _ = write!(out, " {mean} | {} |", change(variant, metric));
        if published {
            let _ = write!(out, " {} |", beside(variant, metric, shown));
        }
        out.push('\n');
    }
}

/// Change, interval and verdict: three cells.
fn change(variant: &VariantAnalysis, metric: &Metric) -> String {
    match variant.delta(&metric.name) {
        None if variant.baseline => "baseline | | ".to_string(),
        None => "- | | ".to_string(),
        Some(delta) => {
            let (pct, ci95, word) = view::change(delta, metric);
            let interval = ci95.map_or(String::new(), |[low, high]| {
                format!("{} to {}", percent(low), percent(high))
            });
            format!("{pct} | {interval} | {word}")
        }
    }
}

/// Published value, its change, and whether it agrees: three cells.
fn beside(variant: &VariantAnalysis, metric: &Metric, shown: Shown) -> String {
    let Some(row) = variant.published(&metric.name) else {
        return "| | ".to_string();
    };
    let mark = match row.agrees {
        Some(true) => "agrees",
        Some(false) => "differs",
        None => "",
    };
    let change = row.delta_pct().map_or(String::new(), percent);
    format!("{} | {change} | {mark}", shown.number(row.value))
}

fn matrix(out: &mut String, analysis: &Analysis) {
    let details = view::details(analysis);
    if details.is_empty() {
        return;
    }
    let others: Vec<&VariantAnalysis> = analysis.variants.iter().filter(|v| !v.baseline).collect();
    let baseline = analysis.baseline().map_or(String::new(), |b| escape(&b.name));
    let names: String = others.iter().map(|v| format!(" {} |", escape(&v.name))).collect();
    let _ = writeln!(out, "\n| metric | {baseline} |{names}");
    let _ = writeln!(out, "| --- | ---: |{}", " ---: |".repeat(others.len()));
    for metric in details {
        let shown = view::in_matrix(analysis, metric);
        let heading = shown.heading(&metric.name);
        let _ = write!(out, "| {heading} | {} |", shown.number(metric.mean));
        for variant in &others {
            let _ = write!(out, " {} |", view::relative(variant, metric, shown));
        }
        out.push('\n');
    }
    if let Some(notes) = view::notes(analysis, &baseline) {
        let _ = writeln!(out, "\n({notes})");
    }
}

/// User text must neither end a cell nor be taken for HTML, which would hide it.
pub(crate) fn escape(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "\\<")
}

#[cfg(test)]
mod tests {
    use crate::analysis::tests::example;
    use expect_test::expect;

    #[test]
    fn tables_are_markdown() {
        let text = super::markdown(&example(3, &["off", "on"]));
        expect![[r#"
            ## An example

            machine: example, 16 CPUs in 2 LLCs; workload: kernel-build; policy: cfs 6.4; seeds: 1-3

            | elapsed [s], lower is better | simulated | change | 95 % interval | verdict | published | change | |
            | --- | ---: | ---: | :---: | --- | ---: | ---: | --- |
            | off | 300.47 | baseline | |  | 300.00 |  |  |
            | on | 301.96 | +0.50% | +0.31% to +0.68% | worse | 298.50 | -0.50% | differs |

            | cpu_pct [%] | simulated | change | 95 % interval | verdict |
            | --- | ---: | ---: | :---: | --- |
            | off | 300.36 | baseline | |  |
            | on | 300.43 | +0.03% | -0.26% to +0.31% | same |

            | metric | off | on |
            | --- | ---: | ---: |
            | usecs_per_op [us] | 297 | (-0.07%) |
            | idle_while_runnable [CPU-s] | 298.46 | +0.40% |
            | wakeup_latency_p50 [us] | 300 | (+0.06%) |
            | wakeup_latency_p99 [us] | 301 | +0.30% |
            | wakeup_latency_max [us] | 299 | -0.46% |
            | spin_pct [%] | 300.48 | (-0.07%) |
            | load_avg_write_pct [%] | 298.74 | -0.33% |
            | load_avg_read_pct [%] | 300.81 | +0.34% |
            | switches | 1006429 | (-0.10%) |
            | wakeups | 1002905 | -0.33% |
            | migrations_smt | 995795 | +0.57% |
            | migrations_llc | 999084 | +0.23% |
            | migrations_node | 996084 | (+0.22%) |
            | migrations_remote | 998600 | +0.32% |
            | newidle_pulls | 1006199 | -0.41% |
            | balance_pulls | 1007978 | +0.21% |
            | pull_hits | 996031 | +0.23% |
            | pull_lost | 997995 | (+0.09%) |
            | steal_hits | 997709 | (+0.01%) |
            | steal_lost | 1004843 | (+0.14%) |
            | nr_throttled | 1005817 | (+0.05%) |
            | throttled_usec [us] | 297 | +0.64% |

            (in brackets: the seeds cannot tell it from off)

            agrees (0 of 1): same direction or both under 0.15 %, and within 1 point or 1/4 of the change.  
            same: the interval contains zero. It is over seeds: how repeatable, not how near to hardware.  
            schedlab 0.1.0, scenario `e9a4c9f42ad66781`
        "#]].assert_eq(&text);
    }
}

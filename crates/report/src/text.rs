//! The table for people: at most 100 columns, plain words, color only as a second voice.
//!
//! ```text
//! elapsed [s], lower is better    simulated   change        95 % interval          published
//!   A NO_SWQUEUE + NO_SIS_NODE       322.41  baseline                               322.44
//!   B SWQUEUE + NO_SIS_NODE          321.52   -0.28%   [-0.31%, -0.25%]  better     321.54 ...
//! ```
//!
//! Every mark is a word or a sign as well as a color, so that the table survives a pipe, a mail
//! and a color-blind reader. Cells are padded before they are painted.

use crate::TOOL;
use crate::analysis::{Analysis, Delta, Metric, PublishedRow, VariantAnalysis, Verdict};
use crate::number::{interval, number, percent};
use crate::view;
use anstyle::{AnsiColor, Style};
use std::fmt::Write;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const PLAIN: Style = Style::new();

/// Width of the names of variants; longer ones are cut.
const NAME: usize = 28;

/// Changes per row of the matrix before it continues below.
const COLUMNS: usize = 5;

/// The analysis as a table with colors.
pub fn text(analysis: &Analysis) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "{}", paint(BOLD, &analysis.title));
    let facts: Vec<String> = view::facts(analysis)
        .iter()
        .map(|(what, value)| format!("{} {value}", paint(DIM, what)))
        .collect();
    let _ = writeln!(out, "{}", facts.join("   "));
    for metric in view::headlines(analysis) {
        out.push('\n');
        block(&mut out, analysis, metric);
    }
    matrix(&mut out, analysis);
    out.push('\n');
    for remark in view::remarks(analysis) {
        let _ = writeln!(out, "{remark}");
    }
    let n_metrics = analysis.baseline().map_or(0, |b| b.metrics.len());
    let source = format!(
        "{TOOL}, scenario {}. All {n_metrics} metrics of every run: --format json or csv.",
        analysis.hash
    );
    let _ = writeln!(out, "{}", paint(DIM, &source));
    out
}

/// A headline metric: one row per variant.
fn block(out: &mut String, analysis: &Analysis, metric: &Metric) {
    let compares = analysis.variants.len() > 1;
    let published = analysis
        .variants
        .iter()
        .any(|v| v.published(&metric.name).is_some());
    let indent = NAME + 3;
    let heading = view::heading(metric);
    let fits = |words: &&str| heading.chars().count() + words.len() < indent;
    let direction = Some(view::direction(metric)).filter(fits).unwrap_or("");
    let mut head = format!("{:>9}", "simulated");
    if compares {
        let title = if analysis.seeds.len() > 1 {
            "95 % interval"
        } else {
            ""
        };
        let _ = write!(head, "  {:>7}  {title:<14} {:<7}", "change", "");
    }
    if published {
        let _ = write!(
            head,
            " {:>9}  {:>7}",
            "published",
            if compares { "change" } else { "" }
        );
    }
    let gap = indent.saturating_sub(heading.chars().count() + direction.len());
    let title = format!("{}{}", paint(BOLD, &heading), paint(DIM, direction));
    let _ = writeln!(
        out,
        "{title}{}{}",
        " ".repeat(gap),
        paint(DIM, head.trim_end())
    );
    for (idx, variant) in analysis.variants.iter().enumerate() {
        let name = format!(
            "{:>2} {:<NAME$}",
            view::letter(idx),
            view::short(&variant.name, NAME)
        );
        let mut row = name;
        row.push_str(&simulated(variant, metric));
        if compares {
            row.push_str(&change(variant, metric));
        }
        if let Some(row_published) = variant.published(&metric.name) {
            row.push_str(&beside(row_published, metric));
        }
        let _ = writeln!(out, "{}", row.trim_end());
    }
}

fn simulated(variant: &VariantAnalysis, metric: &Metric) -> String {
    let mean = variant
        .metric(&metric.name)
        .map_or("-".into(), |m| number(m.mean, m.unit));
    format!(" {mean:>8}")
}

/// Change, interval and verdict: 33 columns.
fn change(variant: &VariantAnalysis, metric: &Metric) -> String {
    if variant.baseline {
        return format!("  {}{}", paint(DIM, "baseline"), " ".repeat(23));
    }
    let Some(delta) = variant.delta(&metric.name) else {
        return " ".repeat(33);
    };
    let pct = delta.pct.map_or("-".into(), percent);
    let interval = delta.ci95.map_or(String::new(), interval);
    let word = match delta.ci95 {
        None if delta.pct.is_some() => format!("{}?", delta.verdict.word()),
        _ => delta.verdict.word().to_string(),
    };
    let style = style(delta.verdict);
    let (pct, word) = (
        paint(style, &format!("{pct:>7}")),
        paint(style, &format!("{word:<7}")),
    );
    format!("  {pct}  {interval:<14} {word}")
}

fn beside(row: &PublishedRow, metric: &Metric) -> String {
    let value = number(row.value, metric.unit);
    let change = row.delta_pct.map_or(String::new(), percent);
    let mark = match row.agrees {
        Some(true) => paint(GOOD, "agrees"),
        Some(false) => paint(BAD, "differs"),
        None => String::new(),
    };
    format!("  {value:>8}  {change:>7} {mark}")
}

/// All other metrics: the baseline's value, and the change of each variant.
fn matrix(out: &mut String, analysis: &Analysis) {
    let details = view::details(analysis);
    let others: Vec<(usize, &VariantAnalysis)> = analysis
        .variants
        .iter()
        .enumerate()
        .filter(|(_, v)| !v.baseline)
        .collect();
    let Some(base) = analysis.variants.iter().position(|v| v.baseline) else {
        return;
    };
    if details.is_empty() {
        return;
    }
    let mut bracketed = false;
    for chunk in others
        .chunks(COLUMNS)
        .chain(others.is_empty().then_some(&[][..]))
    {
        let letters: String = chunk
            .iter()
            .map(|(idx, _)| format!("  {:>9}", view::letter(*idx)))
            .collect();
        let base = view::letter(base);
        let what = match chunk {
            [] => "mean".to_string(),
            _ => format!("mean of {base}, then changes from it"),
        };
        let head = format!("   {what:<33}{base:>3}{letters}");
        let _ = write!(out, "\n{}\n", paint(DIM, &head));
        for metric in &details {
            let unit = paint(DIM, &format!("{:<6}", metric.unit));
            let value = number(metric.mean, metric.unit);
            let _ = write!(out, "   {:<20} {unit}{value:>9}", metric.name);
            for (_, variant) in chunk {
                let cell = cell(variant, metric);
                bracketed |= cell.contains('(');
                out.push_str(&cell);
            }
            out.push('\n');
        }
    }
    if bracketed {
        let base = view::letter(base);
        let note = format!("   (in brackets: the seeds cannot tell it from {base})");
        let _ = writeln!(out, "{}", paint(DIM, &note));
    }
}

/// One change of the matrix: 11 columns.
fn cell(variant: &VariantAnalysis, metric: &Metric) -> String {
    let Some(delta) = variant.delta(&metric.name) else {
        return format!("  {:>9}", "-");
    };
    let text = match (delta.pct, variant.metric(&metric.name)) {
        (Some(0.0), _) => "=".to_string(),
        (Some(pct), _) if is_chance(delta) => format!("({})", percent(pct)),
        (Some(pct), _) => percent(pct),
        (None, Some(own)) => number(own.mean, own.unit),
        (None, None) => "-".to_string(),
    };
    format!("  {}", paint(style(delta.verdict), &format!("{text:>9}")))
}

fn is_chance(delta: &Delta) -> bool {
    delta.verdict == Verdict::Same && delta.ci95.is_some()
}

fn style(verdict: Verdict) -> Style {
    match verdict {
        Verdict::Better => GOOD,
        Verdict::Worse => BAD,
        Verdict::Same => DIM,
        Verdict::Higher | Verdict::Lower => PLAIN,
    }
}

fn paint(style: Style, text: &str) -> String {
    match style == PLAIN {
        true => text.to_string(),
        false => format!("{style}{text}{style:#}"),
    }
}

#[cfg(test)]
mod tests {
    use crate::analysis::tests::example;
    use expect_test::{Expect, expect};

    fn check(seeds: u64, variants: &[&str], expected: Expect) {
        let colored = super::text(&example(seeds, variants));
        let plain = anstream::adapter::strip_str(&colored).to_string();
        for line in plain.lines() {
            assert!(line.chars().count() <= 100, "{line}");
        }
        let trimmed: Vec<&str> = plain.lines().map(str::trim_end).collect();
        expected.assert_eq(&trimmed.join("\n"));
    }

    #[test]
    fn variants_stand_beside_the_baseline_and_the_published_values() {
        check(
            5,
            &[
                "off",
                "on",
                "a name that is longer than what fits into a row",
            ],
            expect![[r#"
                An example
                machine example, 16 CPUs in 2 LLCs   workload kernel-build   policy cfs 6.4   seeds 1-5

                elapsed [s], lower is better   simulated   change  95 % interval          published   change
                 A off                            299.96  baseline                           300.00
                 B on                             301.47   +0.50%  [+0.42, +0.59] worse      298.50   -0.50% differs
                 C a name that i..ts into a row   301.22   +0.42%  [+0.29, +0.55] worse

                cpu_pct [%], higher is better  simulated   change  95 % interval
                 A off                            299.64  baseline
                 B on                             299.68   +0.01%  [-0.09, +0.12] same
                 C a name that i..ts into a row   300.42   +0.26%  [+0.18, +0.34] better

                   mean of A, then changes from it    A          B          C
                   idle_while_runnable  CPU-s    298.49     +0.45%     +0.54%
                   wakeup_latency_p50   us       299.81   (+0.10%)   (-0.04%)
                   wakeup_latency_p99   us       300.50     +0.34%     -0.17%
                   wakeup_latency_max   us       299.46     -0.39%     -0.16%
                   spin_pct             %        299.35     -0.06%     +0.24%
                   switches                     1003981     -0.17%     -0.49%
                   wakeups                      1002624     -0.39%     -0.51%
                   migrations_smt                996845     +0.59%     +0.13%
                   migrations_llc               1000007     +0.28%     +0.26%
                   migrations_node               994297     +0.29%   (-0.03%)
                   migrations_remote             998568     +0.33%   (+0.08%)
                   newidle_pulls                1004507     -0.48%   (+0.06%)
                   balance_pulls                1003675     +0.24%   (+0.03%)
                   pull_hits                     994428     +0.25%     +0.58%
                   pull_lost                     996976     +0.09%     +0.42%
                   (in brackets: the seeds cannot tell it from A)

                0 of 1 published changes agree: same verdict, and within 1 point or a quarter of the change.
                Intervals are over seeds: how repeatable the simulation is, not how near to hardware.
                schedlab 0.1.0, scenario b81c00ba2fe7aa9b. All 21 metrics of every run: --format json or csv."#]],
        );
    }

    #[test]
    fn one_seed_and_one_variant_make_no_fuss() {
        check(
            1,
            &["off", "on"],
            expect![[r#"
                An example
                machine example, 16 CPUs in 2 LLCs   workload kernel-build   policy cfs 6.4   seeds 1

                elapsed [s], lower is better   simulated   change                         published   change
                 A off                            300.73  baseline                           300.00
                 B on                             301.98   +0.42%                 worse?     298.50   -0.50% differs

                cpu_pct [%], higher is better  simulated   change
                 A off                            302.06  baseline
                 B on                             301.79   -0.09%                 same?

                   mean of A, then changes from it    A          B
                   idle_while_runnable  CPU-s    297.13     +0.34%
                   wakeup_latency_p50   us       302.88     +0.19%
                   wakeup_latency_p99   us       298.98     +0.35%
                   wakeup_latency_max   us       299.34     -0.34%
                   spin_pct             %        301.63     -0.12%
                   switches                     1007336     -0.20%
                   wakeups                      1010794     -0.44%
                   migrations_smt               1000552     +0.65%
                   migrations_llc                995600     +0.30%
                   migrations_node               989157     +0.14%
                   migrations_remote             994579     +0.30%
                   newidle_pulls                1002159     -0.47%
                   balance_pulls                1008729     +0.21%
                   pull_hits                     994428     +0.15%
                   pull_lost                    1002294     +0.09%

                0 of 1 published changes agree: same verdict, and within 1 point or a quarter of the change.
                One seed gives no interval: use --seeds 5 to tell chance from effect.
                schedlab 0.1.0, scenario 208f04b238034510. All 21 metrics of every run: --format json or csv."#]],
        );
        check(
            5,
            &["off"],
            expect![[r#"
                An example
                machine example, 16 CPUs in 2 LLCs   workload kernel-build   policy cfs 6.4   seeds 1-5

                elapsed [s], lower is better   simulated published
                 A off                            299.96    300.00

                cpu_pct [%], higher is better  simulated
                 A off                            299.64

                   mean                               A
                   idle_while_runnable  CPU-s    298.49
                   wakeup_latency_p50   us       299.81
                   wakeup_latency_p99   us       300.50
                   wakeup_latency_max   us       299.46
                   spin_pct             %        299.35
                   switches                     1003981
                   wakeups                      1002624
                   migrations_smt                996845
                   migrations_llc               1000007
                   migrations_node               994297
                   migrations_remote             998568
                   newidle_pulls                1004507
                   balance_pulls                1003675
                   pull_hits                     994428
                   pull_lost                     996976

                schedlab 0.1.0, scenario 4e0f5058618a0d66. All 21 metrics of every run: --format json or csv."#]],
        );
    }

    #[test]
    fn many_variants_continue_below() {
        let names: Vec<String> = (0..9).map(|n| format!("v{n}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        check(
            2,
            &names,
            expect![[r#"
                An example
                machine example, 16 CPUs in 2 LLCs   workload kernel-build   policy cfs 6.4   seeds 1-2

                elapsed [s], lower is better   simulated   change  95 % interval
                 A v0                             302.12  baseline
                 B v1                             301.41   -0.23%  [-1.33, +0.86] same
                 C v2                             302.75   +0.21%  [-0.96, +1.38] same
                 D v3                             301.06   -0.35%  [-0.71, +0.01] same
                 E v4                             301.54   -0.19%  [-1.29, +0.90] same
                 F v5                             301.33   -0.26%  [-1.14, +0.62] same
                 G v6                             300.79   -0.44%  [-0.61, -0.27] better
                 H v7                             301.51   -0.20%  [-1.96, +1.56] same
                 I v8                             302.92   +0.26%  [-0.26, +0.79] same

                cpu_pct [%], higher is better  simulated   change  95 % interval
                 A v0                             301.03  baseline
                 B v1                             300.56   -0.16%  [-0.81, +0.50] same
                 C v2                             299.45   -0.52%  [-1.14, +0.09] same
                 D v3                             300.27   -0.25%  [-0.59, +0.09] same
                 E v4                             300.31   -0.24%  [-0.34, -0.14] worse
                 F v5                             300.05   -0.33%  [-0.47, -0.18] worse
                 G v6                             299.28   -0.58%  [-1.26, +0.10] same
                 H v7                             300.50   -0.17%  [-0.54, +0.19] same
                 I v8                             299.96   -0.36%  [-0.90, +0.19] same

                   mean of A, then changes from it    A          B          C          D          E          F
                   idle_while_runnable  CPU-s    299.60   (-0.04%)   (-0.09%)     -0.10%   (-0.46%)     -0.43%
                   wakeup_latency_p50   us       300.34   (-0.09%)   (-0.05%)   (+0.51%)   (+0.44%)   (-0.27%)
                   wakeup_latency_p99   us       301.69   (-0.01%)   (-0.17%)   (-0.16%)   (-0.44%)   (-0.57%)
                   wakeup_latency_max   us       298.31   (+0.40%)   (-0.17%)   (+0.14%)   (+0.14%)   (-0.23%)
                   spin_pct             %        301.71   (+0.19%)     +0.21%   (+0.52%)     +0.60%   (+0.17%)
                   switches                     1008406   (+0.17%)   (-0.14%)   (+0.11%)   (-0.15%)   (+0.16%)
                   wakeups                       996438     +0.54%   (+0.49%)   (+0.16%)   (+0.07%)   (+0.26%)
                   migrations_smt               1001482   (-0.27%)   (-0.06%)     -0.70%   (-0.71%)   (-0.07%)
                   migrations_llc                998748   (+0.39%)   (-0.12%)     +0.32%     +0.48%   (+0.36%)
                   migrations_node               996240   (+0.50%)   (+0.18%)   (-0.12%)   (+0.52%)   (+0.23%)
                   migrations_remote             991950   (+0.34%)   (+0.30%)     +0.22%   (+0.47%)     +0.26%
                   newidle_pulls                1003150     -0.43%   (-0.03%)   (-0.01%)   (+0.12%)   (+0.14%)
                   balance_pulls                1007102   (+0.29%)     +0.13%   (+0.10%)   (+0.23%)   (+0.09%)
                   pull_hits                     995064   (-0.02%)   (+0.25%)   (+0.15%)   (+0.47%)   (+0.42%)
                   pull_lost                    1001098     -0.26%     -0.36%   (+0.22%)   (-0.11%)     +0.25%

                   mean of A, then changes from it    A          G          H          I
                   idle_while_runnable  CPU-s    299.60   (-0.38%)   (+0.06%)   (-0.29%)
                   wakeup_latency_p50   us       300.34   (+0.14%)   (+0.33%)   (-0.04%)
                   wakeup_latency_p99   us       301.69   (-0.67%)     -0.49%   (-0.13%)
                   wakeup_latency_max   us       298.31     +0.46%   (+0.32%)   (+0.34%)
                   spin_pct             %        301.71     +0.31%   (+0.03%)   (+0.07%)
                   switches                     1008406   (-0.30%)   (-0.55%)     -0.48%
                   wakeups                       996438   (+0.65%)     +0.11%   (+0.72%)
                   migrations_smt               1001482     -0.35%     -0.66%   (-0.07%)
                   migrations_llc                998748   (+0.22%)   (+0.27%)     +0.46%
                   migrations_node               996240   (+0.41%)   (+0.27%)   (-0.06%)
                   migrations_remote             991950     +0.34%   (-0.02%)   (+0.44%)
                   newidle_pulls                1003150     -0.38%   (+0.09%)   (-0.12%)
                   balance_pulls                1007102   (-0.26%)   (-0.12%)   (+0.11%)
                   pull_hits                     995064    (0.00%)   (-0.22%)   (-0.10%)
                   pull_lost                    1001098   (+0.01%)   (+0.22%)   (-0.22%)
                   (in brackets: the seeds cannot tell it from A)

                Intervals are over seeds: how repeatable the simulation is, not how near to hardware.
                schedlab 0.1.0, scenario cdf73258cc1a579b. All 21 metrics of every run: --format json or csv."#]],
        );
    }
}

//! The explanation as tables for people.

use super::View;
use crate::number::time;
use crate::pad;
use anstyle::Style;
use scenario::{Kind, Near, RuleTime};
use std::fmt::Write;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Rows below this share, in percent, are added up.
const SHOWN_PCT: f64 = 0.1;
/// Pairs of commands that are shown at most.
const PAIRS: usize = 8;

/// The explanation as tables with colors.
pub fn text(view: &View<'_>) -> String {
    let mut out = String::new();
    head(&mut out, view);
    if view.explanation.wasted_ns > 0 {
        let near = columns(view);
        rules(&mut out, view, &near);
        blame(&mut out, view);
        longest(&mut out, view);
        legend(&mut out, view);
    }
    out + &view.run.foot()
}

fn head(out: &mut String, view: &View<'_>) {
    let x = view.explanation;
    *out += &view.run.head();
    if x.throttled_ns > 0 {
        let _ = writeln!(
            out,
            "CPUs idled for {} because their tasks were throttled: cpu.max was used up",
            time(x.throttled_ns as f64)
        );
    }
    if x.wasted_ns == 0 {
        let _ = writeln!(out, "no CPU idled while a task that it may run waited");
        return;
    }
    let all = x.elapsed_ns.saturating_mul(x.cpus as u64);
    let _ = writeln!(
        out,
        "CPUs idled for {} while a task waited that they may run, {:.2} % of all CPU time",
        time(x.wasted_ns as f64),
        x.wasted_ns as f64 / all.max(1) as f64 * 100.0
    );
}

fn title(out: &mut String, what: &str, remark: &str) {
    let _ = writeln!(out, "\n{BOLD}{what}{BOLD:#}   {DIM}{remark}{DIM:#}");
}

/// The distances that occur.
fn columns(view: &View<'_>) -> Vec<Near> {
    let ns = view.by_distance();
    Near::ALL.into_iter().filter(|n| ns[*n as usize] > 0).collect()
}

fn rules(out: &mut String, view: &View<'_>, near: &[Near]) {
    title(out, "by rule", "the later of two decisions; right: how far off the idle CPU was");
    let _ =
        write!(out, "  {:<43}{:>9}{:>8}{:>9}{:>9}", "", "CPU time", "share", "waits", "longest");
    let heads: String = near.iter().map(|n| format!("{:>6}", n.name())).collect();
    let _ = writeln!(out, "{heads}");
    for (kind, what) in
        [(Kind::Placed, "where the task was put"), (Kind::Sought, "what the idle CPU looked for")]
    {
        let all: Vec<&RuleTime> = view.of_kind(kind).collect();
        if all.is_empty() {
            continue;
        }
        let sum: u64 = all.iter().map(|r| r.total_ns()).sum();
        let _ = writeln!(out, "{what:<45}{:>9}{:>8}", time(sum as f64), percent(view.share(sum)));
        let (shown, rest): (Vec<&RuleTime>, Vec<_>) =
            all.into_iter().partition(|r| view.share(r.total_ns()) >= SHOWN_PCT);
        for rule in shown {
            row(out, view, rule, near);
        }
        let sum: u64 = rest.iter().map(|r| r.total_ns()).sum();
        if sum > 0 {
            let what = format!("{} more, each below {SHOWN_PCT} %", rest.len());
            let _ = writeln!(
                out,
                "  {DIM}{what:<43}{:>9}{:>8}{DIM:#}",
                time(sum as f64),
                percent(view.share(sum))
            );
        }
    }
}

fn row(out: &mut String, view: &View<'_>, rule: &RuleTime, near: &[Near]) {
    let total = rule.total_ns();
    let _ = write!(out, "  {:<43}{:>9}", rule.name, time(total as f64));
    let _ = write!(out, "{:>8}{:>9}", percent(view.share(total)), rule.waits.n);
    let _ = write!(out, "{:>9}", time(rule.waits.max_ns as f64));
    for n in near {
        let share = rule.ns[*n as usize] as f64 / total.max(1) as f64 * 100.0;
        let cell = if rule.ns[*n as usize] > 0 { format!("{share:.0}%") } else { String::new() };
        let _ = write!(out, "{cell:>6}");
    }
    let end = out.trim_end().len();
    out.truncate(end);
    out.push('\n');
}

fn percent(share: f64) -> String {
    format!("{share:.1}%")
}

fn blame(out: &mut String, view: &View<'_>) {
    title(out, "who waited for whom", "commands; nobody: the CPU was switching, or not awake yet");
    let mut row = |what: &str, ns: u64| {
        let what = pad::left(what, 43);
        let _ = writeln!(out, "  {what}{:>9}{:>8}", time(ns as f64), percent(view.share(ns)));
    };
    let (shown, rest) = view.explanation.blame.split_at(PAIRS.min(view.explanation.blame.len()));
    for b in shown {
        row(&format!("{} behind {}", name(&b.waiter), name(&b.runner)), b.ns);
    }
    if !rest.is_empty() {
        row(&format!("{} more pairs", rest.len()), rest.iter().map(|b| b.ns).sum());
    }
}

fn name(comm: &str) -> &str {
    if comm.is_empty() { "nobody" } else { comm }
}

fn longest(out: &mut String, view: &View<'_>) {
    title(out, "longest waits", "to be looked at with schedlab trace, same variant and seed");
    let _ = writeln!(
        out,
        "  {:<23}{:>13}{:>6}{:>9}  {:<16}rule",
        "task", "at", "CPU", "waited", "behind"
    );
    for wait in &view.explanation.longest {
        let (comm, pid) = &wait.task;
        let at = format!("{:.6} s", wait.at_ns as f64 * 1e-9);
        let task = pad::left(&format!("{comm}:{pid}"), 23);
        let _ = write!(out, "  {task}{at:>13}{:>6}{:>9}", wait.cpu, time(wait.ns as f64));
        let _ = writeln!(out, "  {}{}", pad::left(name(&wait.runner), 16), wait.rule);
    }
}

fn legend(out: &mut String, view: &View<'_>) {
    title(out, "what the rules mean", "beside them: features and tunables that change them");
    let shown = view.explanation.rules.iter().filter(|r| view.share(r.total_ns()) >= SHOWN_PCT);
    for rule in shown {
        let line = format!("  {:<45}{}", rule.name, rule.knob);
        let _ = writeln!(out, "{}\n      {DIM}{}{DIM:#}", line.trim_end(), rule.text);
    }
}

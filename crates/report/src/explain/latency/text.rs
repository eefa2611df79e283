//! The waits as tables and stories for people.

use super::View;
use crate::number::time;
use crate::pad;
use anstyle::Style;
use scenario::Blame;
use scenario::latency::{Cause, HeldTime, Hold, Name, Story};
use std::fmt::Write;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Rows below this share, in percent, are added up.
const SHOWN_PCT: f64 = 0.1;
/// Pairs of commands, runners of a story and idle CPUs of a story that are shown at most.
const PAIRS: usize = 8;
const RUNNERS: usize = 5;
const IDLE_CPUS: usize = 3;

/// The waits as tables and stories with colors.
pub fn text(view: &View<'_>) -> String {
    let mut out = view.run.head();
    causes(&mut out, view);
    stalls(&mut out, view);
    if slow(&mut out, view) {
        held(&mut out, view);
        pairs(&mut out, view);
        preempted(&mut out, view);
        slowest(&mut out, view);
        legend(&mut out, view);
    } else {
        preempted(&mut out, view);
    }
    out + &view.run.foot()
}

fn title(out: &mut String, what: &str, remark: &str) {
    let _ = writeln!(out, "\n{BOLD}{what}{BOLD:#}   {DIM}{remark}{DIM:#}");
}

fn causes(out: &mut String, view: &View<'_>) {
    title(out, "waits for a CPU", "runnable to running; wake-ups: from sched_waking");
    let _ = writeln!(
        out,
        "  {:<12}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}{:>10}",
        "", "waits", "in all", "mean", "p50", "p90", "p99", "p99.9", "max"
    );
    for cause in Cause::ALL {
        let times = view.latencies.causes[cause as usize];
        if times.n == 0 {
            continue;
        }
        let _ = write!(out, "  {:<12}{:>10}", cause.name(), times.n);
        let mean = times.total_ns as f64 / times.n as f64;
        let [p50, p90, p99, p999] = times.percentiles_ns.map(|ns| ns as f64);
        for ns in [times.total_ns as f64, mean, p50, p90, p99, p999, times.max_ns as f64] {
            let _ = write!(out, "{:>10}", time(ns));
        }
        out.push('\n');
    }
}

/// What there is to explain; false if it is nothing.
fn slow(out: &mut String, view: &View<'_>) -> bool {
    let x = view.latencies;
    let percentile = view.beyond.percentile().map(|p| format!(" ({p})")).unwrap_or_default();
    let beyond = format!("{}{percentile}", time(x.beyond_ns as f64));
    if x.causes[Cause::Woken as usize].n == 0 {
        out.push_str("\nno task was woken\n");
        return false;
    }
    if x.n_slow == 0 {
        let _ = writeln!(out, "\nno wake-up took longer than {beyond}");
        return false;
    }
    let all = x.causes[Cause::Woken as usize].total_ns.max(1);
    let _ = writeln!(
        out,
        "\n{} took longer than {beyond}: {}, {:.1} % of the time of all wake-ups",
        counted(x.n_slow, "wake-up"),
        time(x.slow_ns as f64),
        x.slow_ns as f64 / all as f64 * 100.0
    );
    true
}

fn counted(n: u64, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn heading(hold: Hold) -> &'static str {
    match hold {
        Hold::Way => "on the way to a runqueue",
        Hold::Busy => "no CPU idled for it; put there by",
        Hold::Idled => "a CPU idled that might have run it",
        Hold::Throttled => "throttled: cpu.max was used up",
        Hold::Moving => "between two runqueues",
    }
}

fn held(out: &mut String, view: &View<'_>) {
    title(out, "what held them up", "and the rule to blame; n: slow wake-ups with a part of it");
    let _ = writeln!(out, "  {:<43}{:>9}{:>8}{:>9}{:>9}", "", "time", "share", "n", "longest");
    for hold in Hold::ALL {
        let rows: Vec<&HeldTime> = view.held(hold).collect();
        let sum: u64 = rows.iter().map(|row| row.ns).sum();
        match rows.as_slice() {
            [] => {}
            [row] if row.rule.is_empty() => line(out, view, heading(hold), 45, row),
            rows => {
                let share = percent(view.share(sum));
                let _ = writeln!(out, "{:<45}{:>9}{share:>8}", heading(hold), time(sum as f64));
                by_rule(out, view, rows);
            }
        }
    }
}

fn by_rule(out: &mut String, view: &View<'_>, rows: &[&HeldTime]) {
    let (shown, rest): (Vec<&HeldTime>, Vec<_>) =
        rows.iter().partition(|row| view.share(row.ns) >= SHOWN_PCT);
    for row in shown {
        line(out, view, &format!("  {}", row.rule), 45, row);
    }
    let sum: u64 = rest.iter().map(|row| row.ns).sum();
    if sum > 0 {
        let what = format!("{} more, each below {SHOWN_PCT} %", rest.len());
        let (ns, share) = (time(sum as f64), percent(view.share(sum)));
        let _ = writeln!(out, "  {DIM}{what:<43}{ns:>9}{share:>8}{DIM:#}");
    }
}

fn line(out: &mut String, view: &View<'_>, what: &str, width: usize, row: &HeldTime) {
    let (ns, share, max) =
        (time(row.ns as f64), percent(view.share(row.ns)), time(row.max_ns as f64));
    let _ = writeln!(out, "{what:<width$}{ns:>9}{share:>8}{:>9}{max:>9}", row.n);
}

fn percent(share: f64) -> String {
    format!("{share:.1}%")
}

fn pairs(out: &mut String, view: &View<'_>) {
    title(out, "who ran meanwhile", "where they waited; nobody: the CPU was leaving idle");
    list(out, &view.latencies.pairs, "behind", Some(view));
}

fn preempted(out: &mut String, view: &View<'_>) {
    let pairs = &view.latencies.preempted;
    if pairs.is_empty() {
        return;
    }
    let beyond = time(view.latencies.beyond_ns as f64);
    let remark = format!("until they ran again, if that took longer than {beyond}");
    title(out, "who was preempted by whom", &remark);
    list(out, pairs, "by", None);
}

fn list(out: &mut String, pairs: &[Blame], word: &str, shares: Option<&View<'_>>) {
    let mut row = |what: &str, ns: u64| {
        let share = shares.map(|view| percent(view.share(ns))).unwrap_or_default();
        let _ = write!(out, "  {}{:>9}", pad::left(what, 43), time(ns as f64));
        let _ = writeln!(out, "{}", format!("{share:>8}").trim_end());
    };
    let (shown, rest) = pairs.split_at(PAIRS.min(pairs.len()));
    for pair in shown {
        row(&format!("{} {word} {}", who(&pair.waiter), who(&pair.runner)), pair.ns);
    }
    if !rest.is_empty() {
        row(&format!("{} more pairs", rest.len()), rest.iter().map(|pair| pair.ns).sum());
    }
}

fn who(comm: &str) -> &str {
    if comm.is_empty() { "nobody" } else { comm }
}

fn slowest(out: &mut String, view: &View<'_>) {
    title(out, "the slowest", "by the clock of schedlab trace, same variant and seed");
    for (at, told) in view.latencies.slowest.iter().enumerate() {
        story(out, &format!("{:>3}. ", at + 1), told);
    }
}

fn stalls(out: &mut String, view: &View<'_>) {
    let x = view.latencies;
    if x.n_stalls == 0 {
        return;
    }
    let limit = time(x.stall_ns as f64);
    let what = format!("{} longer than {limit}", counted(x.n_stalls, "wait"));
    title(out, &what, "a task that may run did not; whatever the wait began with");
    for told in &x.stalls {
        story(out, "  !  ", told);
    }
    let more = x.n_stalls - x.stalls.len() as u64;
    if more > 0 {
        let _ = writeln!(out, "  {DIM}and {more} shorter ones{DIM:#}");
    }
}

fn named((comm, pid): &Name) -> String {
    match pid {
        0 if comm.is_empty() => "nobody".to_string(),
        0 => format!("other {comm}"),
        pid => format!("{comm}:{pid}"),
    }
}

fn clock(ns: u64) -> String {
    format!("{}.{:09} s", ns / 1_000_000_000, ns % 1_000_000_000)
}

/// A wait, step by step.
fn story(out: &mut String, mark: &str, told: &Story) {
    let end = if told.goes_on { ", and still waits" } else { "" };
    let (task, ns) = (named(&told.task), time(told.ns as f64));
    let _ = writeln!(out, "{mark}{BOLD}{task}{BOLD:#} waited {ns} for CPU {}{end}", told.cpu);
    let mut step = |at: u64, what: &str| {
        let _ = writeln!(out, "     {:>16}  {what}", clock(at));
    };
    step(told.at_ns, &began(told));
    let mut stays = told.stays.iter();
    if let Some(stay) = stays.next()
        && told.cause != Cause::Preempted
    {
        step(stay.at_ns, &format!("on the runqueue of CPU {}: {}", stay.cpu, stay.rule));
    }
    for stay in stays {
        step(stay.at_ns, &format!("moved to CPU {}: {}", stay.cpu, stay.rule));
    }
    if !told.goes_on {
        step(told.at_ns + told.ns, &format!("runs on CPU {}", told.cpu));
    }
    runners(out, told);
    idle_cpus(out, told);
    if told.throttled_ns > 0 {
        let ns = time(told.throttled_ns as f64);
        let _ = writeln!(out, "       throttled for {ns}: its group had used up its cpu.max");
    }
}

fn began(told: &Story) -> String {
    let by = told.by.as_ref().map(named);
    let cpu = told.by_cpu;
    match (told.cause, by) {
        (Cause::Woken, Some(by)) if !told.by_interrupt => format!("woken by {by} on CPU {cpu}"),
        (Cause::Woken, Some(by)) => format!("woken by an interrupt on CPU {cpu}, where {by} ran"),
        (Cause::Woken, None) => format!("woken by an interrupt on CPU {cpu}"),
        (Cause::Forked, Some(by)) => format!("forked by {by}"),
        (Cause::Forked, None) => "started".to_string(),
        (Cause::Preempted, Some(by)) => format!("preempted by {by} on CPU {cpu}"),
        (Cause::Preempted, None) => format!("lost CPU {cpu}"),
    }
}

/// Who ran meanwhile, the longest first.
fn runners(out: &mut String, told: &Story) {
    let mut behind: Vec<_> = told.behind.iter().collect();
    behind.sort_by_key(|b| std::cmp::Reverse(b.ns));
    let (shown, rest) = behind.split_at(RUNNERS.min(behind.len()));
    let several = told.stays.len() > 1;
    let mut parts: Vec<String> = (shown.iter())
        .map(|b| {
            let at = if several { format!(" on CPU {}", b.cpu) } else { String::new() };
            format!("{}{at} {}", named(&b.runner), time(b.ns as f64))
        })
        .collect();
    if !rest.is_empty() {
        let ns: u64 = rest.iter().map(|b| b.ns).sum();
        parts.push(format!("{} more {}", rest.len(), time(ns as f64)));
    }
    if !parts.is_empty() {
        let _ = writeln!(out, "       behind {}", parts.join(", "));
    }
}

/// The CPUs that might have run it.
fn idle_cpus(out: &mut String, told: &Story) {
    let (shown, rest) = told.left.split_at(IDLE_CPUS.min(told.left.len()));
    for left in shown {
        let (cpu, near, ns) = (left.cpu, left.near.name(), time(left.ns as f64));
        let _ = writeln!(out, "       CPU {cpu} ({near}) idled for {ns} of it: {}", left.rule);
    }
    if !rest.is_empty() {
        let ns = time(rest.iter().map(|left| left.ns).sum::<u64>() as f64);
        let _ = writeln!(out, "       {} more idle CPUs or rules: {ns}", rest.len());
    }
}

fn legend(out: &mut String, view: &View<'_>) {
    let mut seen: Vec<&str> = Vec::new();
    let shown = view.latencies.held.iter().filter(|row| view.share(row.ns) >= SHOWN_PCT);
    let rows: Vec<&HeldTime> = shown.filter(|row| !row.rule.is_empty()).collect();
    if rows.is_empty() {
        return;
    }
    title(out, "what the rules mean", "beside them: features and tunables that change them");
    for row in rows {
        if seen.contains(&row.rule) {
            continue;
        }
        seen.push(row.rule);
        let line = format!("  {:<45}{}", row.rule, row.knob);
        let _ = writeln!(out, "{}\n      {DIM}{}{DIM:#}", line.trim_end(), row.text);
    }
}

//! The profile as tables for people.

use super::{SLOWPATH, View, tree};
use crate::number::{time, with_unit};
use crate::pad;
use anstyle::Style;
use scenario::{SiteTime, Spread};
use std::fmt::Write;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();

/// Width of command names, in columns of the terminal.
const COMMS: usize = 3;

/// The profile as tables with colors.
pub fn text(view: &View<'_>) -> String {
    let mut out = String::new();
    head(&mut out, view);
    groups(&mut out, view);
    spinning(&mut out, view);
    title(&mut out, "call graph, callers first", "shares of at least 0.5 %");
    out += &tree::tree(view);
    lockstat(&mut out, view);
    out + &view.run.foot()
}

fn head(out: &mut String, view: &View<'_>) {
    let p = view.profile;
    *out += &view.run.head();
    let all = p.elapsed_ns.saturating_mul(p.cpus as u64).max(1);
    let _ = writeln!(
        out,
        "{} simulated, {} busy ({:.1} % of all CPUs): 100 % of the cycles below",
        with_unit("", p.elapsed_ns as f64 * 1e-9, "s"),
        with_unit("", p.busy_ns as f64 * 1e-9, "CPU-s"),
        p.busy_ns as f64 / all as f64 * 100.0
    );
}

fn title(out: &mut String, what: &str, remark: &str) {
    let _ = writeln!(out, "\n{BOLD}{what}{BOLD:#}   {DIM}{remark}{DIM:#}");
}

fn percent(share: f64) -> String {
    format!("{share:.2}%")
}

fn groups(out: &mut String, view: &View<'_>) {
    title(out, "cycles by path", "spinning is part of the path that spins");
    let _ = writeln!(out, "  {:<18}{:>9}{:>12}", "", "cycles", "spinning");
    for (name, ns, spin) in view.groups() {
        let _ = write!(out, "  {name:<18}{:>9}", percent(view.share(ns)));
        let spin = (spin > 0).then(|| format!("{:>12}", percent(view.share(spin))));
        let _ = writeln!(out, "{}", spin.unwrap_or_default());
    }
}

fn spinning(out: &mut String, view: &View<'_>) {
    let share = percent(view.share(view.slowpath()));
    title(out, SLOWPATH, &format!("{share} of the cycles, by call site and task name"));
    let comms = view.spinning_comms();
    let shown: Vec<&str> = comms.iter().take(COMMS).map(|(comm, _)| *comm).collect();
    let _ = write!(out, "  {:<21}{:>9}", "", "cycles");
    for comm in &shown {
        let _ = write!(out, " {}", pad::right(pad::begin(comm, 10), 10));
    }
    let _ = writeln!(out, "{:>11}{:>11}{:>10}", "contended", "mean wait", "max wait");
    let (no_locks, locks): (Vec<_>, Vec<_>) =
        view.profile.sites.iter().filter(|s| s.wait.n > 0).partition(|s| s.no_lock);
    for site in &locks {
        spin_row(out, view, site, &shown);
    }
    if locks.is_empty() {
        let _ = writeln!(out, "  nothing had to wait for a lock");
    }
    let groups = view.site_groups().into_iter().filter(|(_, ns)| *ns > 0);
    let groups: Vec<String> =
        groups.map(|(name, ns)| format!("{name} {}", percent(view.share(ns)))).collect();
    if groups.len() > 1 {
        let _ = writeln!(out, "  {DIM}together:{DIM:#} {}", groups.join(", "));
    }
    if !no_locks.is_empty() {
        title(out, "spinning without a lock", "until a task has left its CPU, or has arrived");
        for site in &no_locks {
            spin_row(out, view, site, &shown);
        }
    }
}

fn spin_row(out: &mut String, view: &View<'_>, site: &SiteTime, comms: &[&str]) {
    let all = percent(view.share(view.spin_at(site.name, None)));
    let _ = write!(out, "  {:<21}{all:>9}", site.name);
    for comm in comms {
        let one = percent(view.share(view.spin_at(site.name, Some(comm))));
        let _ = write!(out, " {one:>10}");
    }
    let wait = &site.wait;
    let (mean, max) = (time(wait.mean_ns()), time(wait.max_ns as f64));
    let _ = writeln!(out, "{:>11}{mean:>11}{max:>10}", wait.n);
}

/// Two rows per class: what lockstat has in the columns of one.
fn lockstat(out: &mut String, view: &View<'_>) {
    title(out, "lockstat", "bounce: another CPU had it before; a hold includes nested waits");
    let _ = writeln!(
        out,
        "  {:<11}{:<14}{:>12}{:>12}{:>11}{:>11}{:>11}{:>11}",
        "", "", "count", "bounces", "total", "mean", "p95", "max"
    );
    for class in &view.profile.locks {
        let rows = [
            (class.name, "acquisitions", class.acquisitions, class.bounces, &class.hold),
            ("", "contentions", class.contended, class.con_bounces, &class.wait),
        ];
        for (name, what, count, bounces, times) in rows {
            let _ = write!(out, "  {name:<11}{what:<14}{count:>12}{bounces:>12}");
            let _ = writeln!(out, "{}", spread(times));
        }
    }
    let _ =
        writeln!(out, "  {DIM}times: holds of the acquisitions, waits of the contentions{DIM:#}");
}

fn spread(s: &Spread) -> String {
    if s.n == 0 {
        return String::new();
    }
    let cells = [s.total_ns as f64, s.mean_ns(), s.p95_ns as f64, s.max_ns as f64];
    cells.iter().map(|ns| format!("{:>11}", time(*ns))).collect()
}

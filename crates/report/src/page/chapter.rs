//! One scenario as HTML: the sections that people read, and the frames of those that are drawn.

use super::markup::escape;
use super::{Chapter, ledger, summary, sweep_tables, tail};
use crate::{Analysis, Outcome, TOOL, view};
use std::fmt::Write;

/// A scenario.
pub fn html(chapter: &Chapter<'_>, idx: usize) -> String {
    let mut out = format!("<article class=\"chapter\" id=\"chapter-{idx}\">\n");
    match chapter.outcome {
        Outcome::One(analysis) => one(&mut out, chapter, analysis),
        Outcome::Sweep(sweep) => out += &sweep_tables::html(sweep),
    }
    out + "</article>\n"
}

fn one(out: &mut String, chapter: &Chapter<'_>, analysis: &Analysis) {
    head(out, &analysis.title, &view::facts(analysis));
    *out += &summary::variants(analysis);
    *out += &section("Verdict", "verdict", "", &summary::verdicts(analysis));
    if !chapter.recorded.is_empty() {
        timeline(out, chapter);
    }
    *out += &section("Results", "results", "", &summary::blocks(analysis));
    *out += &section("Further metrics", "details", "", &summary::matrix(analysis));
    if !chapter.recorded.is_empty() {
        recorded(out, chapter, analysis);
    }
    let _ = writeln!(
        out,
        "<footer>{TOOL}, scenario {}. All metrics of every run: <code>--format json</code>.\
         </footer>",
        escape(&analysis.hash)
    );
}

/// Title and facts.
pub fn head(out: &mut String, title: &str, facts: &[(&'static str, String)]) {
    let _ = writeln!(out, "<h1>{}</h1>\n<dl class=\"facts\">", escape(title));
    for (what, value) in facts {
        let _ = writeln!(out, "<div><dt>{what}</dt><dd>{}</dd></div>", escape(value));
    }
    *out += "</dl>\n";
}

/// A section; nothing if it is empty.
pub fn section(title: &str, class: &str, remark: &str, content: &str) -> String {
    if content.is_empty() {
        return String::new();
    }
    let remark = match remark {
        "" => String::new(),
        remark => format!("<p class=\"remark\">{remark}</p>\n"),
    };
    format!("<section class=\"{class}\">\n<h2>{title}</h2>\n{remark}{content}</section>\n")
}

/// What is shown of one seed of each variant.
fn recorded(out: &mut String, chapter: &Chapter<'_>, analysis: &Analysis) {
    let seed = format!("One run of each variant, seed {}.", chapter.seed);
    let frame = |name: &str| format!("<div class=\"drawn\" data-draw=\"{name}\"></div>\n");
    let remark = format!(
        "{seed} CPUs that do not idle, tasks that wait, and CPUs that idle while \
                          a task waits that they may run. Drag to zoom, double click to go back."
    );
    *out += &section("Over time", "over-time", &remark, &frame("over-time"));
    let remark = format!("{seed} Share of the time for which the CPUs of an LLC do not idle.");
    *out += &section("CPU use by LLC", "heat", &remark, &frame("heat"));
    let remark = format!("{seed} CPU by CPU, in the order in which the machine is built.");
    *out += &section("The machine", "machine", &remark, &frame("machine"));
    let remark = format!("{seed} From the wake-up of a task (sched_waking) until it runs.");
    let tail = tail::wakeups(analysis, chapter.recorded) + &frame("wakeups");
    *out += &section("Wake-up latency", "wakeups", &remark, &tail);
    let remark = "From being woken, forked or preempted until running; means over all seeds.";
    *out += &section("Waits for a CPU", "tails", remark, &tail::waits(analysis));
    let remark = "Percentiles as means over all seeds.";
    *out += &section("Latency of the workload", "tails", remark, &tail::workload(analysis));
    let remark = format!(
        "{seed} Moves of tasks between CPUs, by LLC: from the row to the column. \
                          On the diagonal are moves behind one LLC."
    );
    *out += &section("Migrations", "moves", &remark, &tail::moves(analysis, chapter.recorded));
    let remark = format!("{seed} Waits for locks, and for a task to leave its CPU.");
    *out += &section("Lock waits", "locks", &remark, &tail::locks(analysis, chapter.recorded));
    let remark = format!(
        "{seed} CPU time that passed idle while a task waited that might have \
                          run there, by the later of two decisions: where the task was put, or \
                          what the idle CPU looked for (as <code>schedlab explain</code>)."
    );
    *out += &section("Why CPUs idled", "ledger", &remark, &ledger::html(analysis, chapter));
}

fn timeline(out: &mut String, chapter: &Chapter<'_>) {
    let remark = format!(
        "One run of each variant, seed {}: CPUs as rows, in the order of nodes and LLCs. \
         <noscript>It needs scripts, which are switched off here.</noscript>",
        chapter.seed
    );
    *out += &section("Timeline", "timeline", &remark, "<div data-draw=\"timeline\"></div>\n");
}

//! Results as one HTML page that needs nothing else: no network, no other file, no server.
//!
//! What people read (verdicts, tables, the ledger) is plain HTML, made here: it is there without
//! scripts, on paper and for a screen reader, and its numbers are those of the JSON. What people
//! look at (curves, maps, the timeline) is drawn in the browser by the scripts of `assets/`, from
//! data that the page carries. A script of the page is a file there, put in as it is, in the order
//! of `SCRIPTS`; there is no build step.
//!
//! The page forbids itself to load anything (`Content-Security-Policy`). Names come from scenario
//! files: whatever is in them, `markup::escape` makes it text.

mod chapter;
mod columns;
mod data;
mod ledger;
mod markup;
mod series;
mod summary;
mod sweep_tables;
mod tail;

use crate::plot::{moves_svg, wakeups_svg};
use crate::{Outcome, TOOL};
use markup::escape;
use scenario::Experiment;
use scenario::recorded::Recorded;
use std::fmt::Write;

/// One scenario of a page.
pub struct Chapter<'a> {
    /// What its runs say.
    pub outcome: &'a Outcome,
    /// The experiment; `None` for a sweep.
    pub experiment: Option<&'a Experiment>,
    /// The seed that was recorded.
    pub seed: u64,
    /// The recording of each variant, in their order; none for a sweep.
    pub recorded: &'a [Recorded],
}

const TEMPLATE: &str = include_str!("page/assets/page.html");

const STYLES: [&str; 2] =
    [include_str!("page/assets/uplot/uPlot.min.css"), include_str!("page/assets/page.css")];

/// Of the library among the scripts: whoever passes on a page passes on a copy of that.
const LICENSE: &str = include_str!("page/assets/uplot/LICENSE");

/// The scripts, each of which uses those before it.
const SCRIPTS: [&str; 18] = [
    include_str!("page/assets/uplot/uPlot.iife.min.js"),
    include_str!("page/assets/base.js"),
    include_str!("page/assets/colors.js"),
    include_str!("page/assets/columns.js"),
    include_str!("page/assets/curves.js"),
    include_str!("page/assets/heat.js"),
    include_str!("page/assets/machine.js"),
    include_str!("page/assets/timeline/turns.js"),
    include_str!("page/assets/timeline/rows.js"),
    include_str!("page/assets/timeline/paint.js"),
    include_str!("page/assets/timeline/words.js"),
    include_str!("page/assets/timeline/state.js"),
    include_str!("page/assets/timeline/view.js"),
    include_str!("page/assets/timeline/keys.js"),
    include_str!("page/assets/timeline/draw.js"),
    include_str!("page/assets/timeline/parts.js"),
    include_str!("page/assets/timeline/timeline.js"),
    include_str!("page/assets/main.js"),
];

/// The page; `command` is what made it.
pub fn page(chapters: &[Chapter<'_>], command: &str) -> String {
    let mut body = String::new();
    let mut blocks = String::new();
    let mut all = Vec::new();
    for (idx, chapter) in chapters.iter().enumerate() {
        body += &chapter::html(chapter, idx);
        all.push(data::of(chapter, idx));
        for (variant, recorded) in chapter.recorded.iter().enumerate() {
            let packed = columns::packed(recorded);
            // Base 64 has no character that HTML heeds.
            let _ = writeln!(
                blocks,
                "<script type=\"text/plain\" id=\"columns-{idx}-{variant}\">{packed}</script>"
            );
        }
    }
    let title = match chapters {
        [one] => title(one.outcome).to_string(),
        _ => format!("{} scenarios", chapters.len()),
    };
    let parts = [
        ("{{title}}", escape(&title)),
        ("{{tool}}", escape(TOOL)),
        ("{{command}}", escape(command)),
        ("{{license}}", LICENSE.to_string()),
        ("{{styles}}", STYLES.join("\n")),
        ("{{contents}}", contents(chapters)),
        ("{{chapters}}", body),
        ("{{data}}", markup::json(&all)),
        ("{{columns}}", blocks),
        ("{{scripts}}", SCRIPTS.join("\n")),
    ];
    filled(TEMPLATE, &parts)
}

/// The pictures that only a recording has, as files.
pub fn pictures(chapter: &Chapter<'_>) -> Vec<(&'static str, String)> {
    let Outcome::One(analysis) = chapter.outcome else {
        return Vec::new();
    };
    let (recorded, seed) = (chapter.recorded, chapter.seed);
    let wakeups = wakeups_svg(analysis, recorded, seed);
    let moves = moves_svg(analysis, recorded, seed);
    [("wakeup_latency.svg", wakeups), ("migrations.svg", moves)]
        .into_iter()
        .filter_map(|(name, svg)| Some((name, svg?)))
        .collect()
}

/// The title of a scenario.
fn title(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::One(analysis) => &analysis.title,
        Outcome::Sweep(sweep) => &sweep.title,
    }
}

/// Links to the scenarios, if there are several.
fn contents(chapters: &[Chapter<'_>]) -> String {
    if chapters.len() < 2 {
        return String::new();
    }
    let link = |(idx, chapter): (usize, &Chapter<'_>)| {
        format!("<a href=\"#chapter-{idx}\">{}</a>", escape(title(chapter.outcome)))
    };
    let links: Vec<String> = chapters.iter().enumerate().map(link).collect();
    format!("<nav aria-label=\"Scenarios\">{}</nav>", links.join(" "))
}

/// A template with its parts put in. What is put in is not looked at again.
fn filled(template: &str, parts: &[(&str, String)]) -> String {
    let mut page = String::new();
    let mut rest = template;
    while let Some(at) = rest.find("{{") {
        page += &rest[..at];
        rest = &rest[at..];
        let part = parts.iter().find(|(name, _)| rest.starts_with(name));
        let (name, text) = part.expect("a template has the parts that it is filled with");
        page += text;
        rest = &rest[name.len()..];
    }
    page + rest
}

#[cfg(test)]
mod tests;

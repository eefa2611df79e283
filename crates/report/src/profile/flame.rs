//! The call graph as a flame graph: an SVG without scripts, whose frames tell their shares when the
//! pointer is over them.
//!
//! As in other flame graphs the width of a frame is its share of the time, what it calls stands on
//! top of it, and frames beside each other are in alphabetical order: left and right mean nothing.

use super::tree::Node;
use super::{SLOWPATH, View};
use crate::number::time;
use std::fmt::Write;

/// Width of the picture and of its margins, px.
const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 10.0;
/// Height of a frame, and of what stands above and below them, px.
const ROW: f64 = 18.0;
const HEAD: f64 = 66.0;
const FOOT: f64 = 12.0;
/// Columns of letters, px.
const LETTER: f64 = 7.4;
/// Frames that are narrower cannot be seen, px.
const NARROW: f64 = 0.3;

/// What a frame is, its two tints, which tell neighbors apart, and a word for the legend.
const SPINS: (&str, [&str; 2]) = ("spinning for a lock", ["#d55e00", "#c25500"]);
const KERNEL: (&str, [&str; 2]) = ("kernel", ["#f4d58d", "#eecb77"]);
const COMMAND: (&str, [&str; 2]) = ("command, with its user time", ["#9ecae1", "#8abfda"]);

/// The flame graph of a profile.
pub fn svg(view: &View<'_>) -> String {
    let root = Node::of(view.profile);
    let mut picture = Picture { view, body: String::new(), rows: rows(&root), n_drawn: 0 };
    picture.frame("all", &root, 0, MARGIN);
    let height = HEAD + picture.rows as f64 * ROW + FOOT;
    let run = &view.run;
    let what = format!("{}: {}, seed {}", run.experiment.title, run.variant, run.seed);
    let busy = time(view.profile.busy_ns as f64);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         width=\"{WIDTH}\" height=\"{height}\" font-family=\"monospace\" font-size=\"12\" \
         role=\"img\" aria-label=\"Flame graph of {0}\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{MARGIN}\" y=\"22\" font-size=\"15\" font-weight=\"bold\">{0}</text>\n\
         <text x=\"{MARGIN}\" y=\"40\">Width: share of {busy} of busy CPU time. Callers below, \
         what they call above; point at a frame for its numbers.</text>\n",
        escape(&what)
    );
    legend(&mut out);
    out + &picture.body + "</svg>\n"
}

/// Rows of frames, the root's included.
fn rows(node: &Node<'_>) -> usize {
    1 + node.by_name().map(|(_, call)| rows(call)).max().unwrap_or(0)
}

fn legend(out: &mut String) {
    let mut x = MARGIN;
    for (word, [color, _]) in [SPINS, KERNEL, COMMAND] {
        let _ = writeln!(
            out,
            "<rect x=\"{x:.1}\" y=\"47\" width=\"11\" height=\"11\" fill=\"{color}\"/>\
             <text x=\"{:.1}\" y=\"57\">{word}</text>",
            x + 16.0
        );
        x += 16.0 + LETTER * word.len() as f64 + 24.0;
    }
}

struct Picture<'a> {
    view: &'a View<'a>,
    body: String,
    rows: usize,
    n_drawn: usize,
}

impl Picture<'_> {
    /// Draws a frame and all above it; `depth` counts from the root, `x` is its left side.
    fn frame(&mut self, name: &str, node: &Node<'_>, depth: usize, x: f64) {
        let busy = self.view.profile.busy_ns.max(1) as f64;
        let width = node.ns as f64 / busy * (WIDTH - 2.0 * MARGIN);
        if width < NARROW {
            return;
        }
        let y = HEAD + (self.rows - 1 - depth) as f64 * ROW;
        let (_, tints) = match depth {
            0 | 1 => COMMAND,
            _ if name == SLOWPATH => SPINS,
            _ => KERNEL,
        };
        let fill = tints[self.n_drawn % tints.len()];
        self.n_drawn += 1;
        let share = self.view.share(node.ns);
        let name = escape(name);
        let _ = write!(
            self.body,
            "<g><title>{name}: {}, {share:.2} %</title><rect x=\"{x:.2}\" y=\"{y}\" \
             width=\"{width:.2}\" height=\"{ROW}\" fill=\"{fill}\" stroke=\"#ffffff\" \
             stroke-width=\"0.5\"/>",
            time(node.ns as f64)
        );
        let letters = ((width - 6.0) / LETTER).max(0.0) as usize;
        if let Some(label) = label(&name, letters) {
            let color = if fill.starts_with("#d") || fill.starts_with("#c") {
                "#ffffff"
            } else {
                "#000000"
            };
            let _ = write!(
                self.body,
                "<text x=\"{:.2}\" y=\"{}\" fill=\"{color}\">{label}</text>",
                x + 3.0,
                y + 13.0
            );
        }
        self.body.push_str("</g>\n");
        let mut left = x;
        for (name, call) in node.by_name() {
            self.frame(name, call, depth + 1, left);
            left += call.ns as f64 / busy * (WIDTH - 2.0 * MARGIN);
        }
    }
}

/// As much of a name as fits; nothing if that says nothing.
fn label(name: &str, letters: usize) -> Option<String> {
    match name.chars().count() {
        n if n <= letters => Some(name.to_string()),
        _ if letters < 4 || name.contains('&') => None,
        _ => Some(name.chars().take(letters - 2).chain("..".chars()).collect()),
    }
}

/// A text inside of XML.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

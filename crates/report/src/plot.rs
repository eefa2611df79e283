//! The plot of paired changes: a panel per metric, a row per variant.
//!
//! A filled mark with a bar is the simulated change with its 95 % interval, whose ends are seen
//! even where the mark is wider than the bar; a hollow circle is the published change. The line
//! through all panels is the baseline: zero, or a ratio of one. What a change amounts to is told by
//! the shape of its mark and by a color, and by the colors' lightness.

mod moves;
mod panel;
mod wakeups;

pub use moves::moves_svg;
pub use wakeups::wakeups_svg;

use crate::analysis::{Analysis, VariantAnalysis};
use crate::{pad, view};
use panel::{Mark, Panel, Row, Tone};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Failed = DrawingAreaErrorKind<std::io::Error>;

const WIDTH: u32 = 860;
/// Columns of text that a title of that width has room for.
pub(crate) const TITLE: usize = 78;
const ROW: i32 = 28;
/// The ends of the axes.
const LEFT: i32 = 250;
const RIGHT: i32 = 830;
/// Heights of a panel above and below its rows.
const ABOVE: i32 = 26;
const BELOW: i32 = 46;
const HEAD: i32 = 52;
const LEGEND: i32 = 62;
/// Half the size of a mark.
const DOT: i32 = 5;
/// Half the height of a mark at an end of an interval: more than a mark's, and a circle's.
const END: i32 = 8;
/// Of Okabe and Ito (2008), which color-blind people tell apart.
const BETTER: RGBColor = RGBColor(0, 114, 178);
const WORSE: RGBColor = RGBColor(213, 94, 0);
const NEITHER: RGBColor = RGBColor(110, 119, 129);
const INK: RGBColor = RGBColor(36, 41, 47);
const GRID: RGBColor = RGBColor(225, 228, 232);

/// The plot as SVG; `None` if there is nothing to compare.
pub fn deltas_svg(analysis: &Analysis) -> Option<String> {
    let others: Vec<&VariantAnalysis> = analysis.variants.iter().filter(|v| !v.baseline).collect();
    let mut metrics = view::headlines(analysis);
    metrics.extend(view::details(analysis).into_iter().filter(|m| m.name.ends_with("p99")));
    metrics.extend(view::details(analysis).into_iter().filter(|m| m.name == "spin_pct"));
    let panel = |metric| Panel::new(analysis, metric, &others);
    let panels: Vec<Panel<'_>> = metrics.into_iter().filter_map(panel).collect();
    if panels.is_empty() {
        return None;
    }
    let each = ABOVE + BELOW + ROW * others.len() as i32;
    let height = HEAD + each * panels.len() as i32 + LEGEND;
    let mut svg = String::new();
    draw(&mut svg, (WIDTH, height as u32), each, analysis, &panels).ok()?;
    Some(svg)
}

fn draw(
    svg: &mut String,
    size: (u32, u32),
    each: i32,
    analysis: &Analysis,
    panels: &[Panel<'_>],
) -> Result<(), Failed> {
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let title = ("sans-serif", 18).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(pad::short(&analysis.title, TITLE), (16, 14), title))?;
    let zero = zero(panels);
    let baseline = analysis.baseline().map_or("", |b| &b.name);
    for (idx, panel) in panels.iter().enumerate() {
        let top = HEAD + each * idx as i32;
        draw_panel(&root, top, panel, zero, baseline)?;
    }
    legend(&root, HEAD + each * panels.len() as i32, analysis)?;
    root.present()
}

/// Where all panels have their zero: so that the marks of both sides have room.
fn zero(panels: &[Panel<'_>]) -> i32 {
    let reaches: Vec<(f64, f64)> = panels.iter().map(Panel::reach).collect();
    let left = |(left, right): &(f64, f64)| left / (left + right).max(f64::MIN_POSITIVE);
    let mean = reaches.iter().map(left).sum::<f64>() / reaches.len() as f64;
    let share = match reaches.iter().all(|(left, _)| *left == 0.0) {
        true => 0.05,
        false => mean.clamp(0.25, 0.95),
    };
    let share = if reaches.iter().any(|(_, right)| *right > 0.0) { share.min(0.75) } else { share };
    LEFT + (share * f64::from(RIGHT - LEFT)).round() as i32
}

/// From the units of a panel's axis to pixels.
struct Scale {
    zero: i32,
    per_unit: f64,
}

impl Scale {
    fn new(panel: &Panel<'_>, zero: i32) -> Self {
        let room = |pixels: i32, reach: f64| match reach {
            0.0 => f64::INFINITY,
            reach => f64::from(pixels - 2 * DOT) / reach,
        };
        let (left, right) = panel.reach();
        let per_unit = room(zero - LEFT, left).min(room(RIGHT - zero, right));
        // Nothing to show but zeros: any scale will do.
        Self { zero, per_unit: if per_unit.is_finite() { per_unit } else { 1.0 } }
    }

    fn pixel(&self, at: f64) -> i32 {
        self.zero + (at * self.per_unit).round() as i32
    }

    fn value(&self, pixel: i32) -> f64 {
        f64::from(pixel - self.zero) / self.per_unit
    }
}

fn draw_panel(
    root: &Area<'_>,
    top: i32,
    panel: &Panel<'_>,
    zero: i32,
    baseline: &str,
) -> Result<(), Failed> {
    let bold = ("sans-serif", 14).into_font().style(FontStyle::Bold).color(&INK);
    let heading = format!("{}{}", view::heading(panel.metric), view::direction(panel.metric));
    root.draw(&Text::new(heading, (16, top + 4), bold))?;
    let scale = Scale::new(panel, zero);
    let first = top + ABOVE;
    let bottom = first + ROW * panel.rows.len() as i32;
    let small = ("sans-serif", 12).into_font().color(&INK);
    let below = small.clone().pos(Pos::new(HPos::Center, VPos::Top));
    for (at, label) in panel.ticks(scale.value(LEFT), scale.value(RIGHT)) {
        let x = scale.pixel(at);
        root.draw(&PathElement::new([(x, first), (x, bottom + 4)], GRID))?;
        root.draw(&Text::new(label, (x, bottom + 6), below.clone()))?;
    }
    root.draw(&PathElement::new([(LEFT, bottom), (RIGHT, bottom)], GRID))?;
    root.draw(&PathElement::new([(zero, first), (zero, bottom)], INK.stroke_width(1)))?;
    let title = pad::short(&panel.title(baseline), 74);
    root.draw(&Text::new(title, ((LEFT + RIGHT) / 2, bottom + 22), below))?;
    for (idx, row) in panel.rows.iter().enumerate() {
        draw_row(root, first + ROW * idx as i32 + ROW / 2, row, &scale)?;
    }
    Ok(())
}

/// The name of a variant, its simulated change with its interval, and the published one.
fn draw_row(root: &Area<'_>, y: i32, row: &Row<'_>, scale: &Scale) -> Result<(), Failed> {
    let names = ("sans-serif", 12).into_font().color(&INK);
    let names = names.pos(Pos::new(HPos::Right, VPos::Center));
    root.draw(&Text::new(pad::short(row.name, 34), (LEFT - 10, y), names))?;
    if let Some(Mark { at, ci95, tone }) = row.mark {
        if let Some([from, to]) = ci95.map(|ends| ends.map(|end| scale.pixel(end))) {
            let color = color(tone);
            root.draw(&PathElement::new([(from, y), (to, y)], color.stroke_width(3)))?;
            for x in [from, to] {
                root.draw(&PathElement::new([(x, y - END), (x, y + END)], color.stroke_width(2)))?;
            }
        }
        dot(root, (scale.pixel(at), y), tone)?;
    }
    if let Some(x) = row.base.map(|at| scale.pixel(at)) {
        root.draw(&PathElement::new([(x, y - END - 3), (x, y + END + 3)], INK.stroke_width(2)))?;
    }
    match row.published {
        Some(at) => root.draw(&Circle::new((scale.pixel(at), y), 7, INK.stroke_width(2))),
        None => Ok(()),
    }
}

fn color(tone: Tone) -> RGBColor {
    match tone {
        Tone::Better => BETTER,
        Tone::Worse => WORSE,
        Tone::Neither => NEITHER,
    }
}

/// A mean: a dot for the better, a diamond for the worse, a square for neither.
fn dot(root: &Area<'_>, (x, y): (i32, i32), tone: Tone) -> Result<(), Failed> {
    let color = color(tone).filled();
    let shape = |corners: [(i32, i32); 4]| {
        Polygon::new(corners.map(|(dx, dy)| (x + dx, y + dy)).to_vec(), color)
    };
    match tone {
        Tone::Better => root.draw(&Circle::new((x, y), DOT, color)),
        Tone::Worse => {
            root.draw(&shape([(0, -DOT - 2), (DOT + 2, 0), (0, DOT + 2), (-DOT - 2, 0)]))
        }
        Tone::Neither => root.draw(&shape([(-4, -4), (4, -4), (4, 4), (-4, 4)])),
    }
}

fn legend(root: &Area<'_>, top: i32, analysis: &Analysis) -> Result<(), Failed> {
    let ink = ("sans-serif", 12).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    let y = top + 16;
    let mut x = 24;
    let words = [(Tone::Better, "better"), (Tone::Worse, "worse"), (Tone::Neither, "neither")];
    for (tone, word) in words {
        dot(root, (x, y), tone)?;
        root.draw(&Text::new(word, (x + 12, y), ink.clone()))?;
        x += 80;
    }
    if analysis.agreement().1 > 0 {
        root.draw(&Circle::new((x, y), 7, INK.stroke_width(2)))?;
        root.draw(&Text::new("published", (x + 14, y), ink.clone()))?;
    }
    let seeds = analysis.seeds.len();
    let words = match seeds {
        1 => "one seed: no interval, so nothing is told apart from chance".to_string(),
        n => format!(
            "bar: 95 % interval over {n} seeds; neither: it contains zero, or neither is better"
        ),
    };
    root.draw(&Text::new(words, (16, y + 24), ink))
}

#[cfg(test)]
mod tests {
    use crate::analysis::tests::example;

    #[test]
    fn a_plot_needs_something_to_compare() {
        assert!(super::deltas_svg(&example(2, &["off"])).is_none());
        let svg = super::deltas_svg(&example(2, &["off", "on"])).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        assert!(svg.contains("published"));
    }

    /// The vertical strokes of that color: where they are, and how high.
    fn upright(svg: &str, color: &str) -> Vec<(i32, i32)> {
        let lines = svg.lines().filter(|l| l.starts_with("<polyline") && l.contains(color));
        let ends = |line: &str| {
            let points = line.split_once("points=\"")?.1.split('"').next()?;
            let numbers: Vec<i32> = points.split([',', ' ']).flat_map(str::parse).collect();
            let [x, y, other_x, other_y] = numbers[..] else { panic!("{line}") };
            (x == other_x).then_some((x, (y - other_y).abs()))
        };
        lines.filter_map(ends).collect()
    }

    #[test]
    fn an_interval_narrower_than_its_dot_is_seen() {
        let mut analysis = example(2, &["off", "on"]);
        analysis.variants[1].deltas.retain(|(name, _)| name == "elapsed");
        for (_, delta) in &mut analysis.variants[1].deltas {
            (delta.pct, delta.ci95) = (Some(50.0), Some([49.8, 50.2]));
            delta.verdict = crate::Verdict::Worse;
        }
        let svg = super::deltas_svg(&analysis).unwrap();
        let ends = upright(&svg, "#D55E00");
        let [(from, height), (to, _)] = ends[..] else { panic!("{ends:?}") };
        assert!(from < to && to - from < 2 * super::DOT && 2 * super::DOT < height, "{ends:?}");
    }

    #[test]
    fn a_panel_of_zeros_is_left_out() {
        let mut analysis = example(2, &["off", "on"]);
        assert!(super::deltas_svg(&analysis).unwrap().contains("wakeup_latency_p99"));
        for (name, delta) in &mut analysis.variants[1].deltas {
            if name == "wakeup_latency_p99" {
                (delta.pct, delta.ci95) = (Some(0.0), Some([0.0, 0.0]));
            }
        }
        let svg = super::deltas_svg(&analysis).unwrap();
        assert!(!svg.contains("wakeup_latency_p99") && svg.contains("elapsed"));
    }
}

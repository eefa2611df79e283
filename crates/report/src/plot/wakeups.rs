//! The distribution of wake-up latencies of one seed: a line per variant on a logarithmic axis of
//! time; above, how many are at most so long; below, on a logarithmic axis, how many are longer.

use super::{Area, Failed, GRID, INK, TITLE};
use crate::analysis::Analysis;
use crate::number::time;
use crate::sweep::curves::{COLORS, mark};
use crate::{pad, view};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use scenario::recorded::{Count, Recorded};

const WIDTH: i32 = 860;
const LEFT: i32 = 86;
const RIGHT: i32 = 836;
const HEAD: i32 = 88;
const PANEL: i32 = 230;
const GAP: i32 = 60;
/// Marks along a line, that tell lines apart without colors.
const MARKS: i32 = 6;

/// An axis of time, from the shortest to the longest latency.
struct Axis {
    low: f64,
    high: f64,
}

impl Axis {
    fn x(&self, ns: u64) -> i32 {
        let share = ((ns.max(1) as f64).log10() - self.low) / (self.high - self.low);
        LEFT + (share.clamp(0.0, 1.0) * f64::from(RIGHT - LEFT)).round() as i32
    }
}

/// The plot as SVG; `None` if no task was woken.
pub fn wakeups_svg(analysis: &Analysis, recorded: &[Recorded], seed: u64) -> Option<String> {
    let all = || recorded.iter().flat_map(|run| &run.wakeups).map(|count| count.ns.max(1) as f64);
    let low = all().reduce(f64::min)?.log10().floor();
    let high = all().reduce(f64::max)?.log10().ceil().max(low + 1.0);
    let height = HEAD + 2 * (PANEL + GAP) + 20 * recorded.len() as i32 + 10;
    let mut svg = String::new();
    let axis = Axis { low, high };
    draw(&mut svg, height, analysis, recorded, seed, &axis).ok()?;
    Some(svg)
}

fn draw(
    svg: &mut String,
    height: i32,
    analysis: &Analysis,
    recorded: &[Recorded],
    seed: u64,
    axis: &Axis,
) -> Result<(), Failed> {
    let root = SVGBackend::with_string(svg, (WIDTH as u32, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = ("sans-serif", 18).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(pad::short(&analysis.title, TITLE), (16, 14), title))?;
    let small = ("sans-serif", 12).into_font().color(&INK);
    let what = format!("wake-up latency (sched_waking to running), seed {seed}");
    root.draw(&Text::new(what, (16, 42), small))?;
    let below = HEAD + PANEL + GAP;
    // Of n wake-ups one is the least share that is not none.
    let n = recorded.iter().map(|run| number_of(&run.wakeups)).max().unwrap_or(1);
    let decades = (n as f64).log10().ceil().clamp(1.0, 8.0);
    let cumulative = |share: f64| HEAD + PANEL - (share * f64::from(PANEL)) as i32;
    let tail = |share: f64| {
        let down = (-(1.0 - share).max(1e-12).log10() / decades).min(1.0);
        below + (down * f64::from(PANEL)) as i32
    };
    let ticks = [0.0, 0.25, 0.5, 0.75, 1.0].map(|s| (cumulative(s), format!("{} %", s * 100.0)));
    frame(&root, HEAD, "share that is at most so long", &ticks, axis)?;
    let ticks: Vec<(i32, String)> = (0..=decades as i32)
        .map(|d| (below + (f64::from(d) / decades * f64::from(PANEL)) as i32, percent(d)))
        .collect();
    frame(&root, below, "share that is longer (logarithmic)", &ticks, axis)?;
    for (idx, run) in recorded.iter().enumerate() {
        line(&root, &run.wakeups, idx, axis, &cumulative)?;
        line(&root, &run.wakeups, idx, axis, &tail)?;
        let y = below + PANEL + GAP - 4 + 20 * idx as i32;
        let color = COLORS[idx % COLORS.len()];
        root.draw(&PathElement::new([(16, y), (48, y)], color.stroke_width(2)))?;
        mark(&root, (32, y), idx)?;
        let style = ("sans-serif", 12).into_font().color(&INK);
        let style = style.pos(Pos::new(HPos::Left, VPos::Center));
        let name = pad::short(&analysis.variants[idx].name, 80);
        root.draw(&Text::new(format!("{} {name}", view::letter(idx)), (58, y), style))?;
    }
    root.present()
}

fn number_of(counts: &[Count]) -> u64 {
    counts.iter().map(|count| count.n).sum()
}

/// 100 % divided by ten so many times.
fn percent(decade: i32) -> String {
    match decade {
        0..=2 => format!("{} %", 10_u32.pow(2 - decade as u32)),
        d => format!("{:.*} %", d as usize - 2, 10_f64.powi(2 - d)),
    }
}

fn frame(
    root: &Area<'_>,
    top: i32,
    title: &str,
    ticks: &[(i32, String)],
    axis: &Axis,
) -> Result<(), Failed> {
    let small = ("sans-serif", 12).into_font().color(&INK);
    let left = small.clone().pos(Pos::new(HPos::Right, VPos::Center));
    for (y, label) in ticks {
        root.draw(&PathElement::new([(LEFT, *y), (RIGHT, *y)], GRID))?;
        root.draw(&Text::new(label.clone(), (LEFT - 8, *y), left.clone()))?;
    }
    let below = small.clone().pos(Pos::new(HPos::Center, VPos::Top));
    for power in axis.low as i32..=axis.high as i32 {
        let ns = 10_f64.powi(power);
        let x = axis.x(ns as u64);
        root.draw(&PathElement::new([(x, top), (x, top + PANEL + 4)], GRID))?;
        root.draw(&Text::new(time(ns), (x, top + PANEL + 7), below.clone()))?;
    }
    let bold = ("sans-serif", 13).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(title.to_string(), (16, top - 18), bold))?;
    let what = "latency (logarithmic)";
    root.draw(&Text::new(what, ((LEFT + RIGHT) / 2, top + PANEL + 24), below))?;
    root.draw(&Rectangle::new([(LEFT, top), (RIGHT, top + PANEL)], GRID.stroke_width(1)))
}

/// The steps of a distribution, with marks at equal distances.
fn line(
    root: &Area<'_>,
    counts: &[Count],
    idx: usize,
    axis: &Axis,
    y_of: &dyn Fn(f64) -> i32,
) -> Result<(), Failed> {
    let all = number_of(counts).max(1) as f64;
    let mut seen = 0;
    let mut y = y_of(0.0);
    let mut path: Vec<(i32, i32)> = Vec::new();
    for count in counts {
        let x = axis.x(count.ns);
        seen += count.n;
        path.push((x, y));
        y = y_of(seen as f64 / all);
        path.push((x, y));
    }
    path.dedup();
    let color = COLORS[idx % COLORS.len()];
    root.draw(&PathElement::new(path.clone(), color.stroke_width(2)))?;
    // Each variant's marks are shifted, so that lines on top of each other show them all.
    let step = (RIGHT - LEFT) / MARKS;
    for n in 0..MARKS {
        let at = LEFT + n * step + 20 + idx as i32 * 17 % step;
        let inside =
            path.first().is_some_and(|p| p.0 <= at) && path.last().is_some_and(|p| p.0 >= at);
        if let Some((_, y)) = path.iter().rev().find(|(x, _)| *x <= at).filter(|_| inside) {
            mark(root, (at, *y), idx)?;
        }
    }
    Ok(())
}

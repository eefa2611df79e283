//! The plot of a sweep: a panel per metric, a curve with its band per variant.
//!
//! The band is the 95 % interval of the mean; hollow marks are published values. An axis is
//! logarithmic if its values are positive and span more than a decade. Variants differ in color
//! and in the shape of their marks, so that the plot survives a black-and-white printer. With
//! several axes the longest one that has numbers runs along the panel, and each combination of the
//! others has panels of its own.

mod scale;

use super::{SweepAnalysis, SweepPoint};
use crate::plot::TITLE;
use crate::{pad, view};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use scale::Scale;

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Failed = DrawingAreaErrorKind<std::io::Error>;

const WIDTH: u32 = 860;
const PANEL: u32 = 280;
const HEAD: u32 = 44;
/// The frame of a panel within it: left, right, top, bottom.
const FRAME: (i32, i32, i32, i32) = (86, 836, 30, 236);
const INK: RGBColor = RGBColor(36, 41, 47);
const GRID: RGBColor = RGBColor(225, 228, 232);
/// Colors that color-blind people tell apart (Okabe and Ito 2008), without yellow, which is hard
/// to see on white.
pub(crate) const COLORS: [RGBColor; 7] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// The plot as SVG; `None` if there is no metric to draw or but one point.
pub fn curves_svg(sweep: &SweepAnalysis) -> Option<String> {
    let panels = panels(sweep);
    if panels.is_empty() || sweep.points.len() < 2 {
        return None;
    }
    let names: Vec<&str> = sweep.first().variants.iter().map(|v| v.name.as_str()).collect();
    let legend = 26 + 20 * names.len() as u32;
    let height = HEAD + PANEL * panels.len() as u32 + legend;
    let mut svg = String::new();
    draw(&mut svg, (WIDTH, height), sweep, &panels).ok()?;
    Some(svg)
}

/// One metric along one axis, at fixed values of the others.
pub(crate) struct Panel<'a> {
    /// Name of the metric.
    pub metric: &'a str,
    /// Its unit.
    pub unit: &'a str,
    /// The values of the other axes, in words; empty if there are none.
    pub at: String,
    /// The points, in the order of the axis.
    pub points: Vec<&'a SweepPoint>,
}

/// The axis that runs along the panels.
pub(crate) fn along(sweep: &SweepAnalysis) -> usize {
    let rank = |idx: &usize| {
        let axis = &sweep.axes[*idx];
        (axis.numbers().is_some(), axis.values.len(), std::cmp::Reverse(*idx))
    };
    (0..sweep.axes.len()).max_by_key(rank).unwrap_or(0)
}

pub(crate) fn panels(sweep: &SweepAnalysis) -> Vec<Panel<'_>> {
    let along = along(sweep);
    let others = |point: &SweepPoint| {
        let all = sweep.axes.iter().zip(sweep.values(point)).enumerate();
        let others = all.filter(|(idx, (axis, _))| *idx != along && axis.values.len() > 1);
        others
            .map(|(_, (axis, value))| format!("{}={value}", axis.key))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut panels: Vec<Panel<'_>> = Vec::new();
    for metric in sweep.metrics.iter().filter_map(|name| sweep.metric(name)) {
        let begin = panels.len();
        for point in &sweep.points {
            let at = others(point);
            match panels[begin..].iter_mut().find(|panel| panel.at == at) {
                Some(panel) => panel.points.push(point),
                None => {
                    let (metric, unit) = (metric.name.as_ref(), metric.unit);
                    panels.push(Panel { metric, unit, at, points: vec![point] });
                }
            }
        }
    }
    panels.retain(|panel| panel.points.len() > 1);
    // A curve runs from left to right, in whatever order the scenario has its values.
    if let Some(numbers) = sweep.axes[along].numbers() {
        let x = |point: &&SweepPoint| numbers[point.at[along]];
        panels.iter_mut().for_each(|panel| panel.points.sort_by(|a, b| x(a).total_cmp(&x(b))));
    }
    panels
}

fn draw(
    svg: &mut String,
    size: (u32, u32),
    sweep: &SweepAnalysis,
    panels: &[Panel<'_>],
) -> Result<(), Failed> {
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let title = ("sans-serif", 18).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(pad::short(&sweep.title, TITLE), (16, 14), title))?;
    let (_, mut rest) = root.split_vertically(HEAD);
    for panel in panels {
        let (area, below) = rest.split_vertically(PANEL);
        draw_panel(&area, sweep, panel)?;
        rest = below;
    }
    legend(&rest, sweep)?;
    root.present()
}

/// A mark of a curve: where it is along both axes, and its band.
struct Mark {
    x: f64,
    mean: f64,
    ci95: [f64; 2],
    published: Option<f64>,
}

/// The curve of a variant with its band and marks.
fn curve(panel: &Panel<'_>, xs: &[f64], variant: usize) -> Vec<Mark> {
    let mark = |(point, x): (&&SweepPoint, &f64)| {
        let variant = &point.analysis.variants[variant];
        let metric = variant.metric(panel.metric)?;
        let published = variant.published(panel.metric).map(|row| row.value);
        let ci95 = metric.ci95.unwrap_or([metric.mean; 2]);
        Some(Mark { x: *x, mean: metric.mean, ci95, published })
    };
    panel.points.iter().zip(xs).filter_map(mark).collect()
}

fn draw_panel(area: &Area<'_>, sweep: &SweepAnalysis, panel: &Panel<'_>) -> Result<(), Failed> {
    let axis = &sweep.axes[along(sweep)];
    let labels: Vec<&str> =
        panel.points.iter().map(|p| axis.values[p.at[along(sweep)]].as_str()).collect();
    let numbers = axis.numbers();
    let xs: Vec<f64> = match &numbers {
        Some(numbers) => panel.points.iter().map(|p| numbers[p.at[along(sweep)]]).collect(),
        None => (0..labels.len()).map(|idx| idx as f64).collect(),
    };
    let curves: Vec<Vec<Mark>> =
        (0..sweep.first().variants.len()).map(|idx| curve(panel, &xs, idx)).collect();
    let (left, right, top, bottom) = FRAME;
    let x = Scale::new(xs.iter().copied(), (left + 12, right - 12), numbers.is_some());
    let all = curves.iter().flatten();
    let all = all.flat_map(|m| [m.mean, m.ci95[0], m.ci95[1]].into_iter().chain(m.published));
    let y = Scale::new(all, (bottom - 6, top + 6), true);
    heading(area, panel)?;
    frame(area, &y)?;
    let small = ("sans-serif", 12).into_font().color(&INK);
    let below = small.clone().pos(Pos::new(HPos::Center, VPos::Top));
    let mut last = i32::MIN;
    for (label, value) in labels.iter().zip(&xs) {
        let at = x.pixel(*value);
        area.draw(&PathElement::new([(at, bottom), (at, bottom + 4)], INK))?;
        let half = 4 * label.chars().count() as i32 + 4;
        // A label that would touch the one before is left out.
        if at - half > last {
            area.draw(&Text::new(label.to_string(), (at, bottom + 7), below.clone()))?;
            last = at + half;
        }
    }
    let unit = if axis.unit.is_empty() { String::new() } else { format!(" [{}]", axis.unit) };
    let name = Text::new(format!("{}{unit}", axis.key), ((left + right) / 2, bottom + 24), below);
    area.draw(&name)?;
    for (idx, curve) in curves.iter().enumerate() {
        draw_curve(area, curve, (&x, &y), idx)?;
    }
    Ok(())
}

fn heading(area: &Area<'_>, panel: &Panel<'_>) -> Result<(), Failed> {
    let bold = ("sans-serif", 14).into_font().style(FontStyle::Bold).color(&INK);
    let unit = if panel.unit.is_empty() { String::new() } else { format!(" [{}]", panel.unit) };
    let at = if panel.at.is_empty() { String::new() } else { format!(", {}", panel.at) };
    area.draw(&Text::new(format!("{}{unit}{at}", panel.metric), (16, 6), bold))
}

/// The frame with the ticks of the values.
fn frame(area: &Area<'_>, y: &Scale) -> Result<(), Failed> {
    let (left, right, top, bottom) = FRAME;
    let style = ("sans-serif", 12).into_font().color(&INK);
    let style = style.pos(Pos::new(HPos::Right, VPos::Center));
    for (value, label) in y.ticks() {
        let at = y.pixel(value);
        area.draw(&PathElement::new([(left, at), (right, at)], GRID))?;
        area.draw(&Text::new(label, (left - 8, at), style.clone()))?;
    }
    area.draw(&Rectangle::new([(left, top), (right, bottom)], GRID.stroke_width(1)))
}

fn draw_curve(
    area: &Area<'_>,
    curve: &[Mark],
    (x, y): (&Scale, &Scale),
    idx: usize,
) -> Result<(), Failed> {
    let color = COLORS[idx % COLORS.len()];
    let upper = curve.iter().map(|m| (x.pixel(m.x), y.pixel(m.ci95[1])));
    let lower = curve.iter().rev().map(|m| (x.pixel(m.x), y.pixel(m.ci95[0])));
    area.draw(&Polygon::new(upper.chain(lower).collect::<Vec<_>>(), color.mix(0.15).filled()))?;
    let line: Vec<(i32, i32)> = curve.iter().map(|m| (x.pixel(m.x), y.pixel(m.mean))).collect();
    area.draw(&PathElement::new(line.clone(), color.stroke_width(2)))?;
    for place in line {
        mark(area, place, idx)?;
    }
    for (place, value) in curve.iter().filter_map(|m| Some((x.pixel(m.x), m.published?))) {
        area.draw(&Circle::new((place, y.pixel(value)), 7, color.stroke_width(2)))?;
    }
    Ok(())
}

/// The mark of a variant, a shape of its own.
pub(crate) fn mark(area: &Area<'_>, (x, y): (i32, i32), idx: usize) -> Result<(), Failed> {
    let color = COLORS[idx % COLORS.len()];
    let shape = |corners: &[(i32, i32)]| {
        let corners = corners.iter().map(|(dx, dy)| (x + dx, y + dy)).collect::<Vec<_>>();
        Polygon::new(corners, color.filled())
    };
    match idx % 5 {
        0 => area.draw(&Circle::new((x, y), 4, color.filled())),
        1 => area.draw(&shape(&[(-4, -4), (4, -4), (4, 4), (-4, 4)])),
        2 => area.draw(&shape(&[(0, -5), (5, 4), (-5, 4)])),
        3 => area.draw(&shape(&[(0, -5), (5, 0), (0, 5), (-5, 0)])),
        _ => area.draw(&shape(&[(-5, -4), (5, -4), (0, 5)])),
    }
}

fn legend(area: &Area<'_>, sweep: &SweepAnalysis) -> Result<(), Failed> {
    let style = ("sans-serif", 12).into_font().color(&INK);
    let style = style.pos(Pos::new(HPos::Left, VPos::Center));
    let mut y = 8;
    for (idx, variant) in sweep.first().variants.iter().enumerate() {
        let color = COLORS[idx % COLORS.len()];
        area.draw(&PathElement::new([(16, y), (48, y)], color.stroke_width(2)))?;
        mark(area, (32, y), idx)?;
        let name = format!("{} {}", view::letter(idx), pad::short(&variant.name, 80));
        area.draw(&Text::new(name, (58, y), style.clone()))?;
        y += 20;
    }
    let published =
        sweep.points.iter().any(|p| !p.analysis.variants.iter().all(|v| v.published.is_empty()));
    let seeds = sweep.first().seeds.len();
    let band = if seeds > 1 { "band: 95 % interval over seeds" } else { "one seed, no interval" };
    let words = match published {
        true => format!("{band}; hollow: published"),
        false => band.to_string(),
    };
    area.draw(&Text::new(words, (16, y), style))
}

#[cfg(test)]
mod tests;

//! CPU use over time per last-level cache, as a heat map: a panel per variant, a row per LLC.
//!
//! One seed only (the first): it shows where and when a machine idles, which an average would blur.

use crate::analysis::Analysis;
use crate::pad;
use crate::plot::TITLE;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use scenario::LlcUtilization;

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Failed = DrawingAreaErrorKind<std::io::Error>;

const WIDTH: u32 = 860;
const LEFT: i32 = 70;
const RIGHT: i32 = 30;
const HEAD: i32 = 26;
const FOOT: i32 = 30;
/// Most columns of the map: a screen shows no more, so further ones are merged.
const COLUMNS_MAX: usize = 240;
const INK: RGBColor = RGBColor(36, 41, 47);

/// The plot as SVG; `None` if no run recorded it.
pub fn utilization_svg(analysis: &Analysis) -> Option<String> {
    let panels: Vec<(&str, &LlcUtilization)> = analysis
        .variants
        .iter()
        .filter_map(|v| Some((v.name.as_str(), v.utilization.as_ref()?)))
        .filter(|(_, u)| u.shares.iter().any(|row| !row.is_empty()))
        .collect();
    let rows = panels.iter().map(|(_, u)| u.shares.len()).max()?;
    let end_s = panels.iter().map(|(_, u)| seconds(u)).fold(0.0, f64::max);
    let row_px = (132 / rows as i32).clamp(2, 24);
    let panel = HEAD + FOOT + row_px * rows as i32;
    let size = (WIDTH, 76 + panel as u32 * panels.len() as u32);
    let mut svg = String::new();
    let drawn = draw(&mut svg, size, analysis, &panels, (panel, row_px, end_s));
    drawn.ok().map(|()| svg)
}

fn seconds(u: &LlcUtilization) -> f64 {
    let buckets = u.shares.iter().map(Vec::len).max().unwrap_or(0);
    buckets as f64 * u.bucket_ns as f64 / 1e9
}

fn draw(
    svg: &mut String,
    size: (u32, u32),
    analysis: &Analysis,
    panels: &[(&str, &LlcUtilization)],
    (panel, row_px, end_s): (i32, i32, f64),
) -> Result<(), Failed> {
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let title = ("sans-serif", 18).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(pad::short(&analysis.title, TITLE), (16, 14), title))?;
    let seed = analysis.seeds.first().copied().unwrap_or(0);
    let machine = &analysis.machine.name;
    let what = format!("CPU use per LLC over simulated time, {machine}, seed {seed}");
    let small = ("sans-serif", 12).into_font().color(&INK);
    root.draw(&Text::new(what, (16, 40), small))?;
    key(&root)?;
    let (_, mut rest) = root.split_vertically(64);
    for (name, utilization) in panels {
        let (area, below) = rest.split_vertically(panel as u32);
        draw_panel(&area, name, utilization, (row_px, end_s))?;
        rest = below;
    }
    root.present()
}

fn draw_panel(
    area: &Area<'_>,
    name: &str,
    u: &LlcUtilization,
    (row_px, end_s): (i32, f64),
) -> Result<(), Failed> {
    let bold = ("sans-serif", 13).into_font().style(FontStyle::Bold).color(&INK);
    area.draw(&Text::new(name.to_string(), (LEFT, 8), bold))?;
    let width = f64::from(WIDTH as i32 - LEFT - RIGHT);
    let x_of = |s: f64| LEFT + (s / end_s * width).round() as i32;
    let merge = u.shares.iter().map(Vec::len).max().unwrap_or(1).div_ceil(COLUMNS_MAX).max(1);
    let small = ("sans-serif", 11).into_font().color(&INK);
    let right = small.pos(Pos::new(HPos::Right, VPos::Center));
    let label_every = (14 / row_px).max(1) as usize;
    for (llc, shares) in u.shares.iter().enumerate() {
        let top = HEAD + row_px * llc as i32;
        if llc % label_every == 0 {
            let place = (LEFT - 6, top + row_px / 2);
            area.draw(&Text::new(format!("LLC {llc}"), place, right.clone()))?;
        }
        for (idx, buckets) in shares.chunks(merge).enumerate() {
            let share = buckets.iter().sum::<f32>() / buckets.len() as f32;
            let from = (idx * merge) as f64 * u.bucket_ns as f64 / 1e9;
            let to = from + buckets.len() as f64 * u.bucket_ns as f64 / 1e9;
            let cell = [(x_of(from), top), (x_of(to), top + row_px - i32::from(row_px > 6))];
            area.draw(&Rectangle::new(cell, heat(share).filled()))?;
        }
    }
    time_axis(area, HEAD + row_px * u.shares.len() as i32, end_s, x_of)
}

fn time_axis(area: &Area<'_>, y: i32, end_s: f64, x_of: impl Fn(f64) -> i32) -> Result<(), Failed> {
    let raw = end_s / 6.0;
    let scale = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * scale).into_iter().find(|s| *s >= raw);
    let step = step.unwrap_or(raw);
    let center = ("sans-serif", 11).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Top));
    for tick in 0..=(end_s / step + 1e-9) as i32 {
        let seconds = f64::from(tick) * step;
        let x = x_of(seconds);
        area.draw(&PathElement::new([(x, y), (x, y + 4)], INK.stroke_width(1)))?;
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let label = format!("{seconds:.digits$} s");
        area.draw(&Text::new(label, (x, y + 6), center.clone()))?;
    }
    Ok(())
}

/// The color key, top right.
fn key(root: &Area<'_>) -> Result<(), Failed> {
    let left = WIDTH as i32 - RIGHT - 150;
    for step in 0..50 {
        let cell = [(left + step * 3, 38), (left + step * 3 + 3, 50)];
        root.draw(&Rectangle::new(cell, heat(step as f32 / 49.0).filled()))?;
    }
    let small = ("sans-serif", 11).into_font().color(&INK);
    let right = small.clone().pos(Pos::new(HPos::Right, VPos::Center));
    root.draw(&Text::new("idle", (left - 6, 44), right))?;
    let left_of = small.pos(Pos::new(HPos::Left, VPos::Center));
    root.draw(&Text::new("busy", (left + 156, 44), left_of))
}

/// From pale (idle) to dark (busy), readable in gray and to the color-blind.
fn heat(share: f32) -> RGBColor {
    const STOPS: [(f32, [u8; 3]); 5] = [
        (0.0, [255, 247, 236]),
        (0.5, [253, 187, 132]),
        (0.8, [239, 101, 72]),
        (0.95, [179, 0, 0]),
        (1.0, [96, 0, 30]),
    ];
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let above = STOPS.iter().position(|(at, _)| *at >= share).unwrap_or(4).max(1);
    let ((from, a), (to, b)) = (STOPS[above - 1], STOPS[above]);
    let mix = (share - from) / (to - from);
    let blend = |i: usize| (f32::from(a[i]) + mix * (f32::from(b[i]) - f32::from(a[i]))) as u8;
    RGBColor(blend(0), blend(1), blend(2))
}

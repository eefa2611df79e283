//! CPU use over time per last-level cache, as a heat map: a panel per variant, a row per LLC, and
//! beside the baseline's competitors how they differ from it.
//!
//! One seed only (the first): it shows where and when a machine idles, which an average would blur.
//! Use goes from 0 to 100 % in equal steps of a scale that is told beside the map.

use crate::analysis::Analysis;
use crate::pad;
use crate::plot::TITLE;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use scenario::LlcUtilization;

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Failed = DrawingAreaErrorKind<std::io::Error>;

const WIDTH: i32 = 860;
/// The maps of use and of differences: where they begin and end.
const MAPS: [(i32, i32); 2] = [(64, 440), (470, 846)];
/// A single variant has the whole width.
const ALONE: (i32, i32) = (64, 846);
const HEAD: i32 = 28;
const FOOT: i32 = 32;
const TOP: i32 = 104;
/// Most columns of a map: a screen shows no more, so further ones are merged.
const COLUMNS_MAX: usize = 188;
const INK: RGBColor = RGBColor(36, 41, 47);
/// Differences of so many points have the full color, unless some are greater.
const LEAST_SPAN: f32 = 0.1;

/// A use, or a difference, of which only the color is drawn.
struct Map<'a> {
    /// Where it begins and ends, pixels.
    x: (i32, i32),
    /// Use of each LLC by bucket.
    rows: Vec<Vec<f32>>,
    bucket_ns: u64,
    color: &'a dyn Fn(f32) -> RGBColor,
}

/// The plot as SVG; `None` if no run recorded it.
pub fn utilization_svg(analysis: &Analysis) -> Option<String> {
    let panels: Vec<(&str, &LlcUtilization)> = analysis
        .variants
        .iter()
        .filter_map(|v| Some((v.name.as_str(), v.utilization.as_ref()?)))
        .filter(|(_, u)| u.shares.iter().any(|row| !row.is_empty()))
        .collect();
    let rows = panels.iter().map(|(_, u)| u.shares.len()).max()?;
    let row_px = (132 / rows as i32).clamp(2, 24);
    let height = TOP + (HEAD + FOOT + row_px * rows as i32) * panels.len() as i32;
    let mut svg = String::new();
    draw(&mut svg, (WIDTH as u32, height as u32), analysis, &panels, row_px).ok()?;
    // Cells that touch must leave no seam between them, whatever the size they are shown at.
    Some(svg.replacen("<svg ", "<svg shape-rendering=\"crispEdges\" ", 1))
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
    row_px: i32,
) -> Result<(), Failed> {
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let title = ("sans-serif", 18).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(pad::short(&analysis.title, TITLE), (16, 14), title))?;
    let seed = analysis.seeds.first().copied().unwrap_or(0);
    let machine = &analysis.machine.name;
    let what = format!("CPU use per LLC over simulated time, machine {machine}, seed {seed}");
    let small = ("sans-serif", 12).into_font().color(&INK);
    root.draw(&Text::new(what, (16, 42), small))?;
    let end_s = panels.iter().map(|(_, u)| seconds(u)).fold(0.0, f64::max);
    let base = analysis.variants.iter().position(|v| v.baseline).unwrap_or(0);
    let base = panels.get(base).map(|(_, u)| *u);
    let several = panels.len() > 1;
    let span = base.map_or(LEAST_SPAN, |base| span(base, panels));
    bar(&root, if several { MAPS[0].0 } else { ALONE.0 }, &use_color, ["0 %", "50 %", "100 %"])?;
    if several {
        let ends = format!("{:.0} points", span * 100.0);
        let ends = [format!("-{ends}"), "0".to_string(), format!("+{ends}")];
        bar(&root, MAPS[1].0, &|x| diff_color(2.0 * x - 1.0), ends.each_ref().map(String::as_str))?;
    }
    let each =
        HEAD + FOOT + row_px * panels.iter().map(|(_, u)| u.shares.len()).max().unwrap_or(0) as i32;
    for (idx, (name, utilization)) in panels.iter().enumerate() {
        let top = TOP + each * idx as i32;
        let is_base = base.is_some_and(|base| std::ptr::eq(base, *utilization));
        let x = if several { MAPS[0] } else { ALONE };
        let bold = ("sans-serif", 13).into_font().style(FontStyle::Bold).color(&INK);
        root.draw(&Text::new(pad::short(name, 48), (x.0, top + 8), bold.clone()))?;
        let rows = utilization.shares.clone();
        let own = Map { x, rows, bucket_ns: utilization.bucket_ns, color: &use_color };
        own.draw(&root, top + HEAD, row_px, end_s, true)?;
        if let Some(base) = base.filter(|_| several && !is_base) {
            let rows = differences(utilization, base);
            let color = |x: f32| diff_color(x / span);
            let map = Map {
                x: MAPS[1],
                rows,
                bucket_ns: utilization.bucket_ns.max(base.bucket_ns),
                color: &color,
            };
            root.draw(&Text::new("difference from the baseline", (MAPS[1].0, top + 8), bold))?;
            map.draw(&root, top + HEAD, row_px, end_s, false)?;
        }
    }
    root.present()
}

impl Map<'_> {
    fn draw(
        &self,
        root: &Area<'_>,
        top: i32,
        row_px: i32,
        end_s: f64,
        named: bool,
    ) -> Result<(), Failed> {
        let width = f64::from(self.x.1 - self.x.0);
        let x_of = |s: f64| self.x.0 + (s / end_s * width).round() as i32;
        let merge = self.rows.iter().map(Vec::len).max().unwrap_or(1).div_ceil(COLUMNS_MAX).max(1);
        let small = ("sans-serif", 11).into_font().color(&INK);
        let right = small.pos(Pos::new(HPos::Right, VPos::Center));
        let label_every = (14 / row_px).max(1) as usize;
        for (llc, shares) in self.rows.iter().enumerate() {
            let y = top + row_px * llc as i32;
            if named && llc % label_every == 0 {
                let place = (self.x.0 - 6, y + row_px / 2);
                root.draw(&Text::new(format!("LLC {llc}"), place, right.clone()))?;
            }
            for (idx, buckets) in shares.chunks(merge).enumerate() {
                let share = buckets.iter().sum::<f32>() / buckets.len() as f32;
                let from = (idx * merge) as f64 * self.bucket_ns as f64 / 1e9;
                let to = from + buckets.len() as f64 * self.bucket_ns as f64 / 1e9;
                let cell = [(x_of(from), y), (x_of(to), y + row_px)];
                root.draw(&Rectangle::new(cell, (self.color)(share).filled()))?;
            }
        }
        time_axis(root, top + row_px * self.rows.len() as i32, end_s, self.x)
    }
}

/// Use less that of the baseline, in buckets of the longer of the two lengths.
fn differences(own: &LlcUtilization, base: &LlcUtilization) -> Vec<Vec<f32>> {
    let bucket = own.bucket_ns.max(base.bucket_ns);
    let (own, base) = (merged(own, bucket), merged(base, bucket));
    // One of the two may have ended: it uses nothing any more.
    let row = |(own, base): (&Vec<f32>, &Vec<f32>)| {
        let at = |row: &Vec<f32>, i: usize| row.get(i).copied().unwrap_or(0.0);
        (0..own.len().max(base.len())).map(|i| at(own, i) - at(base, i)).collect()
    };
    own.iter().zip(&base).map(row).collect()
}

fn merged(u: &LlcUtilization, bucket_ns: u64) -> Vec<Vec<f32>> {
    let n = (bucket_ns / u.bucket_ns).max(1) as usize;
    let mean = |part: &[f32]| part.iter().sum::<f32>() / part.len() as f32;
    u.shares.iter().map(|row| row.chunks(n).map(mean).collect()).collect()
}

/// The difference that has the full color: a round one that few exceed.
fn span(base: &LlcUtilization, panels: &[(&str, &LlcUtilization)]) -> f32 {
    let all = panels.iter().flat_map(|(_, u)| differences(u, base)).flatten();
    let mut sizes: Vec<f32> = all.map(f32::abs).filter(|d| d.is_finite()).collect();
    sizes.sort_by(f32::total_cmp);
    let most = sizes.get(sizes.len() * 98 / 100).copied().unwrap_or(0.0);
    [LEAST_SPAN, 0.2, 0.5].into_iter().find(|span| *span >= most).unwrap_or(1.0)
}

fn time_axis(root: &Area<'_>, y: i32, end_s: f64, (from, to): (i32, i32)) -> Result<(), Failed> {
    let wanted = f64::from(to - from) / 75.0;
    let raw = end_s / wanted;
    let scale = 10_f64.powf(raw.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|n| n * scale).into_iter().find(|s| *s >= raw);
    let step = step.unwrap_or(raw);
    let center = ("sans-serif", 11).into_font().color(&INK).pos(Pos::new(HPos::Center, VPos::Top));
    for tick in 0..=(end_s / step + 1e-9) as i32 {
        let seconds = f64::from(tick) * step;
        let x = from + (seconds / end_s * f64::from(to - from)).round() as i32;
        root.draw(&PathElement::new([(x, y), (x, y + 4)], INK.stroke_width(1)))?;
        let digits = (-step.log10().floor()).max(0.0) as usize;
        // A label at the end must not be cut off by the edge of the picture.
        let place = (x.min(WIDTH - 18), y + 6);
        root.draw(&Text::new(format!("{seconds:.digits$} s"), place, center.clone()))?;
    }
    Ok(())
}

/// What the colors mean: a bar with numbers.
fn bar(
    root: &Area<'_>,
    left: i32,
    color: &dyn Fn(f32) -> RGBColor,
    [low, middle, high]: [&str; 3],
) -> Result<(), Failed> {
    const LENGTH: i32 = 200;
    const STEPS: i32 = 100;
    for step in 0..STEPS {
        let x = left + step * LENGTH / STEPS;
        let cell = [(x, 66), (x + LENGTH / STEPS, 78)];
        let share = step as f32 / (STEPS - 1) as f32;
        root.draw(&Rectangle::new(cell, color(share).filled()))?;
    }
    let small = ("sans-serif", 11).into_font().color(&INK);
    let center = small.pos(Pos::new(HPos::Center, VPos::Top));
    for (part, label) in [(0, low), (1, middle), (2, high)] {
        let x = left + part * LENGTH / 2;
        root.draw(&PathElement::new([(x, 78), (x, 81)], INK.stroke_width(1)))?;
        root.draw(&Text::new(label.to_string(), (x, 84), center.clone()))?;
    }
    Ok(())
}

/// A color between stops at equal distances; `at` is 0 to 1.
fn between<const N: usize>(stops: [[u8; 3]; N], at: f32) -> RGBColor {
    let at = if at.is_finite() { at.clamp(0.0, 1.0) } else { 0.0 } * (N - 1) as f32;
    let below = (at as usize).min(N - 2);
    let mix = at - below as f32;
    let (a, b) = (stops[below], stops[below + 1]);
    let blend =
        |i: usize| (f32::from(a[i]) + mix * (f32::from(b[i]) - f32::from(a[i]))).round() as u8;
    RGBColor(blend(0), blend(1), blend(2))
}

/// From pale (idle) to dark (busy) in equal steps, readable in gray and to the color-blind.
fn use_color(share: f32) -> RGBColor {
    let stops = [[247, 251, 255], [198, 219, 239], [107, 174, 214], [33, 113, 181], [8, 48, 107]];
    between(stops, share)
}

/// Less in orange, more in blue, the same in white; -1 to 1.
fn diff_color(difference: f32) -> RGBColor {
    let stops = [[160, 70, 0], [235, 150, 80], [250, 250, 250], [90, 160, 210], [0, 70, 130]];
    between(stops, (difference + 1.0) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luma(RGBColor(r, g, b): RGBColor) -> f32 {
        0.3 * f32::from(r) + 0.59 * f32::from(g) + 0.11 * f32::from(b)
    }

    #[test]
    fn more_use_is_always_darker() {
        let lumas: Vec<f32> = (0..=100).map(|pct| luma(use_color(pct as f32 / 100.0))).collect();
        assert!(lumas.windows(2).all(|pair| pair[0] > pair[1]), "{lumas:?}");
        assert!(luma(diff_color(0.0)) > luma(diff_color(0.5)));
        assert!(luma(diff_color(0.0)) > luma(diff_color(-0.5)));
    }

    #[test]
    fn runs_of_different_lengths_can_be_subtracted() {
        let long = LlcUtilization { bucket_ns: 20, shares: vec![vec![0.5, 1.0, 0.25]] };
        let short = LlcUtilization { bucket_ns: 10, shares: vec![vec![0.0, 0.5, 1.0, 0.5]] };
        assert_eq!(differences(&long, &short), [[0.25, 0.25, 0.25]]);
        assert_eq!(differences(&short, &long), [[-0.25, -0.25, -0.25]]);
        assert_eq!(span(&long, &[("a", &long)]), LEAST_SPAN);
    }
}

//! The plot of paired changes: a panel per metric, a row per variant.
//!
//! A filled dot with a bar is the simulated change with its 95 % interval, whose ends are seen even
//! where the dot is wider than the bar; a hollow circle is the published change. The vertical line
//! at zero is the baseline.

use crate::analysis::{Analysis, Metric, PublishedRow, VariantAnalysis, Verdict};
use crate::{pad, view};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;
type Plane = Cartesian2d<RangedCoordf64, RangedCoordf64>;
type Chart<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Plane>;
type Failed = DrawingAreaErrorKind<std::io::Error>;

const WIDTH: u32 = 860;
/// Columns of text that a title of that width has room for.
pub(crate) const TITLE: usize = 78;
const ROW: u32 = 30;
const LEFT: u32 = 250;
const DOT: i32 = 5;
/// Half the height of a mark at an end of an interval: more than a dot's, and a circle's.
const END: i32 = 8;
const GREEN_DOT: RGBColor = RGBColor(26, 127, 55);
const RED_DOT: RGBColor = RGBColor(207, 34, 46);
const GRAY_DOT: RGBColor = RGBColor(110, 119, 129);
const INK: RGBColor = RGBColor(36, 41, 47);
const GRID: RGBColor = RGBColor(225, 228, 232);

/// The plot as SVG; `None` if there is nothing to compare.
pub fn deltas_svg(analysis: &Analysis) -> Option<String> {
    let others: Vec<&VariantAnalysis> = analysis.variants.iter().filter(|v| !v.baseline).collect();
    let mut metrics = view::headlines(analysis);
    metrics.extend(view::details(analysis).into_iter().filter(|m| m.name.ends_with("p99")));
    metrics.retain(|m| others.iter().any(|v| says_something(v, m)));
    if metrics.is_empty() {
        return None;
    }
    let panel = 62 + ROW * others.len() as u32;
    let height = 84 + panel * metrics.len() as u32;
    let mut svg = String::new();
    let drawn = draw(&mut svg, (WIDTH, height), panel, analysis, &metrics, &others);
    drawn.ok().map(|()| svg)
}

fn draw(
    svg: &mut String,
    size: (u32, u32),
    panel: u32,
    analysis: &Analysis,
    metrics: &[&Metric],
    others: &[&VariantAnalysis],
) -> Result<(), Failed> {
    let root = SVGBackend::with_string(svg, size).into_drawing_area();
    root.fill(&WHITE)?;
    let title = ("sans-serif", 18).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(pad::short(&analysis.title, TITLE), (16, 14), title))?;
    let (_, mut rest) = root.split_vertically(44);
    for metric in metrics {
        let (area, below) = rest.split_vertically(panel);
        draw_panel(&area, metric, others)?;
        rest = below;
    }
    legend(&rest, analysis)?;
    root.present()
}

fn draw_panel(area: &Area<'_>, metric: &Metric, others: &[&VariantAnalysis]) -> Result<(), Failed> {
    let bold = ("sans-serif", 14).into_font().style(FontStyle::Bold).color(&INK);
    let heading = format!("{}{}", metric.name, view::direction(metric));
    area.draw(&Text::new(heading, (16, 4), bold))?;
    let rows = others.len() as f64;
    let (low, high) = range(metric, others);
    let mut chart = ChartBuilder::on(area)
        .margin_top(22)
        .margin_right(30)
        .set_label_area_size(LabelAreaPosition::Left, LEFT)
        .set_label_area_size(LabelAreaPosition::Bottom, 26)
        .build_cartesian_2d(low..high, 0.0..rows)?;
    let small = ("sans-serif", 12).into_font().color(&INK);
    chart
        .configure_mesh()
        .disable_y_mesh()
        .disable_y_axis()
        .x_labels(7)
        .x_label_formatter(&|x| tick_label(*x, high - low))
        .x_label_style(small.clone())
        .bold_line_style(GRID)
        .light_line_style(TRANSPARENT)
        .axis_style(GRID)
        .draw()?;
    chart.draw_series([PathElement::new([(0.0, 0.0), (0.0, rows)], INK.stroke_width(1))])?;
    let names = small.pos(Pos::new(HPos::Right, VPos::Center));
    for (idx, variant) in others.iter().enumerate() {
        let y = rows - idx as f64 - 0.5;
        let (_, pixel_y) = chart.backend_coord(&(low, y));
        let at = area.get_pixel_range();
        let place = (LEFT as i32 - 10, pixel_y - at.1.start);
        let name = pad::short(&variant.name, 34);
        area.draw(&Text::new(name, place, names.clone()))?;
        draw_marks(&mut chart, y, variant, metric)?;
    }
    Ok(())
}

/// The simulated change with its interval, and the published one, at height `y`.
fn draw_marks(
    chart: &mut Chart<'_, '_>,
    y: f64,
    variant: &VariantAnalysis,
    metric: &Metric,
) -> Result<(), Failed> {
    if let Some((mean, ci95, color)) = change(variant, metric) {
        if let Some([from, to]) = ci95 {
            let bar = PathElement::new([(from, y), (to, y)], color.stroke_width(3));
            chart.draw_series([bar])?;
            let end = |x| EmptyElement::at((x, y)) + end_mark((0, 0), color);
            chart.draw_series([from, to].map(end))?;
        }
        chart.draw_series([Circle::new((mean, y), DOT, color.filled())])?;
    }
    if let Some(published) = variant.published(&metric.name).and_then(PublishedRow::delta_pct) {
        chart.draw_series([Circle::new((published, y), 7, INK.stroke_width(2))])?;
    }
    Ok(())
}

/// An end of an interval.
fn end_mark((x, y): (i32, i32), color: RGBColor) -> PathElement<(i32, i32)> {
    PathElement::new([(x, y - END), (x, y + END)], color.stroke_width(2))
}

/// Mean, interval and color of a change.
fn change(v: &VariantAnalysis, metric: &Metric) -> Option<(f64, Option<[f64; 2]>, RGBColor)> {
    let delta = v.delta(&metric.name)?;
    let color = match delta.verdict {
        _ if !delta.by_interval => GRAY_DOT,
        Verdict::Better => GREEN_DOT,
        Verdict::Worse => RED_DOT,
        _ => GRAY_DOT,
    };
    Some((delta.pct.filter(|p| p.is_finite())?, delta.ci95, color))
}

/// True if there is a mark to draw, and not just a simulated zero.
fn says_something(v: &VariantAnalysis, metric: &Metric) -> bool {
    let published = v.published(&metric.name).is_some_and(|p| p.change.is_some());
    published
        || change(v, metric)
            .is_some_and(|(mean, ci95, _)| mean != 0.0 || ci95.is_some_and(|ci95| ci95 != [0.0; 2]))
}

/// The range of the axis: all marks and zero, with some air.
fn range(metric: &Metric, others: &[&VariantAnalysis]) -> (f64, f64) {
    let mut marks = vec![0.0];
    for variant in others {
        if let Some((mean, ci95, _)) = change(variant, metric) {
            marks.push(mean);
            marks.extend(ci95.into_iter().flatten());
        }
        marks.extend(variant.published(&metric.name).and_then(PublishedRow::delta_pct));
    }
    let low = marks.iter().copied().fold(f64::INFINITY, f64::min);
    let high = marks.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let air = ((high - low) * 0.08).max(0.02);
    (low - air, high + air)
}

fn tick_label(x: f64, span: f64) -> String {
    let digits = if span < 0.5 { 2 } else { usize::from(span < 20.0) };
    match format!("{x:+.digits$}%") {
        zero if zero.trim_matches(['+', '-', '0', '.', '%']).is_empty() => "0".to_string(),
        label => label,
    }
}

fn legend(area: &Area<'_>, analysis: &Analysis) -> Result<(), Failed> {
    let baseline = analysis.baseline().map_or("", |b| &b.name);
    let ink = ("sans-serif", 12).into_font().color(&INK).pos(Pos::new(HPos::Left, VPos::Center));
    let (x, y) = (24, 18);
    area.draw(&PathElement::new([(x - 8, y), (x + 8, y)], GRAY_DOT.stroke_width(3)))?;
    area.draw(&end_mark((x - 8, y), GRAY_DOT))?;
    area.draw(&end_mark((x + 8, y), GRAY_DOT))?;
    area.draw(&Circle::new((x, y), DOT, GRAY_DOT.filled()))?;
    let words = format!("simulated change from {baseline}, 95 % interval over seeds");
    let shift = 30 + 7 * words.chars().count() as i32;
    area.draw(&Text::new(words, (x + 16, y), ink.clone()))?;
    if analysis.agreement().1 > 0 {
        area.draw(&Circle::new((x + shift, y), 7, INK.stroke_width(2)))?;
        area.draw(&Text::new("published", (x + shift + 14, y), ink))?;
    }
    Ok(())
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
            delta.verdict = super::Verdict::Worse;
        }
        let svg = super::deltas_svg(&analysis).unwrap();
        let ends = upright(&svg, "#CF222E");
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

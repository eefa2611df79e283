//! Moves of tasks between LLCs in one seed: a matrix per variant, from the row to the column, with
//! numbers where there is room and one scale of color for all.

use super::{Area, Failed, INK, TITLE};
use crate::analysis::Analysis;
use crate::number::number;
use crate::pad;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};
use scenario::recorded::Recorded;

const WIDTH: i32 = 860;
const HEAD: i32 = 70;
const LEFT: i32 = 60;
/// Size of a matrix, and what is above and below its cells.
const SIZE: i32 = 330;
const ABOVE: i32 = 46;
const GAP: i32 = 40;
/// Cells of this size have room for a number.
const NUMBERED: i32 = 26;

/// The plot as SVG; `None` if no task moved.
pub fn moves_svg(analysis: &Analysis, recorded: &[Recorded], seed: u64) -> Option<String> {
    let most = recorded.iter().flat_map(|run| &run.moves).copied().max().filter(|n| *n > 0)?;
    let rows = recorded.len().div_ceil(2) as i32;
    let height = HEAD + rows * each(recorded) + 24;
    let mut svg = String::new();
    draw(&mut svg, height, analysis, recorded, (seed, most)).ok()?;
    Some(svg.replacen("<svg ", "<svg shape-rendering=\"crispEdges\" ", 1))
}

fn draw(
    svg: &mut String,
    height: i32,
    analysis: &Analysis,
    recorded: &[Recorded],
    (seed, most): (u64, u64),
) -> Result<(), Failed> {
    let root = SVGBackend::with_string(svg, (WIDTH as u32, height as u32)).into_drawing_area();
    root.fill(&WHITE)?;
    let title = ("sans-serif", 18).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(pad::short(&analysis.title, TITLE), (16, 14), title))?;
    let small = ("sans-serif", 12).into_font().color(&INK);
    let what =
        format!("moves of tasks between CPUs by LLC, from the row to the column, seed {seed}");
    root.draw(&Text::new(what, (16, 42), small.clone()))?;
    for (idx, run) in recorded.iter().enumerate() {
        let left = LEFT + (idx as i32 % 2) * (SIZE + 80);
        let top = HEAD + (idx as i32 / 2) * each(recorded);
        matrix(&root, (left, top), &analysis.variants[idx].name, &run.moves, most)?;
    }
    let words = format!("color: 0 (white) to {most} moves (dark), by the square root");
    root.draw(&Text::new(words, (16, height - 24), small)).and_then(|()| root.present())
}

/// The size of a cell.
fn cell(n_llcs: usize) -> i32 {
    (SIZE / n_llcs.max(1) as i32).clamp(2, 60)
}

/// What a matrix needs from top to bottom.
fn each(recorded: &[Recorded]) -> i32 {
    let n_llcs = recorded.iter().map(|run| run.moves.len().isqrt()).max().unwrap_or(0);
    ABOVE + cell(n_llcs) * n_llcs as i32 + GAP
}

fn matrix(
    root: &Area<'_>,
    (left, top): (i32, i32),
    name: &str,
    moves: &[u64],
    most: u64,
) -> Result<(), Failed> {
    let n = moves.len().isqrt();
    let cell = cell(n);
    let bold = ("sans-serif", 13).into_font().style(FontStyle::Bold).color(&INK);
    root.draw(&Text::new(pad::short(name, 48), (left, top), bold))?;
    let small = ("sans-serif", 11).into_font();
    let center = Pos::new(HPos::Center, VPos::Center);
    let every = (14 / cell + 1) as usize;
    for llc in (0..n).step_by(every) {
        let at = cell * llc as i32 + cell / 2;
        let style = small.clone().color(&INK).pos(center);
        root.draw(&Text::new(llc.to_string(), (left + at, top + ABOVE - 12), style.clone()))?;
        root.draw(&Text::new(llc.to_string(), (left - 14, top + ABOVE + at), style))?;
    }
    for (idx, count) in moves.iter().enumerate() {
        let (row, column) = ((idx / n) as i32, (idx % n) as i32);
        let (x, y) = (left + column * cell, top + ABOVE + row * cell);
        let part = (*count as f64 / most as f64).sqrt();
        let shade = |full: u8| (255.0 - part * (255.0 - f64::from(full))).round() as u8;
        let color = RGBColor(shade(8), shade(48), shade(107));
        root.draw(&Rectangle::new([(x, y), (x + cell, y + cell)], color.filled()))?;
        if cell >= NUMBERED {
            let ink = if part > 0.45 { &WHITE } else { &INK };
            let style = small.clone().color(ink).pos(center);
            let place = (x + cell / 2, y + cell / 2);
            root.draw(&Text::new(number(*count as f64, ""), place, style))?;
        }
    }
    Ok(())
}

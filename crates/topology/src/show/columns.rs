//! Text in aligned columns, one space between them as util-linux prints, or indented with two.

use std::fmt;
use unicode_width::UnicodeWidthStr;

#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Right,
}

pub(super) struct Columns {
    rows: Vec<Vec<String>>,
    align: Vec<Align>,
    indent: &'static str,
    gap: &'static str,
}

impl Columns {
    pub fn new<S: Into<String>>(header: impl IntoIterator<Item = S>, align: &[Align]) -> Self {
        Self {
            rows: vec![header.into_iter().map(Into::into).collect()],
            align: align.to_vec(),
            indent: "",
            gap: " ",
        }
    }

    /// The same columns below a heading, with wider gaps.
    pub fn indented(self) -> Self {
        Self { indent: "  ", gap: "  ", ..self }
    }

    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Columns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| self.rows.iter().map(|r| r[column].width()).max();
        let widths: Vec<usize> = (0..self.align.len()).filter_map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&self.align).zip(&widths);
            let cells = cells.map(|((cell, align), width)| {
                let blanks = " ".repeat(width - cell.width());
                match align {
                    Align::Left => format!("{cell}{blanks}"),
                    Align::Right => format!("{blanks}{cell}"),
                }
            });
            let line = cells.collect::<Vec<_>>().join(self.gap);
            writeln!(f, "{}{}", self.indent, line.trim_end())?;
        }
        Ok(())
    }
}

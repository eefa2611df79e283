//! One CPU's line, from whichever format: cells with the lower-case names of their columns.

use super::number;
use input::Fault;
use std::ops::Range;

pub(super) struct Row<'a> {
    pub span: Range<usize>,
    cells: Vec<Cell<'a>>,
}

pub(super) struct Cell<'a> {
    column: String,
    pub text: &'a str,
    pub span: Range<usize>,
}

impl<'a> Row<'a> {
    /// A row from columns and their values with places. A column of several caches
    /// (`L1d:L1i:L2:L3`) becomes one of each; a value that stands for nothing is dropped.
    pub fn new(
        span: Range<usize>,
        cells: impl IntoIterator<Item = (String, &'a str, usize)>,
    ) -> Self {
        let mut row = Self { span, cells: Vec::new() };
        for (column, text, at) in cells {
            let column = column.to_ascii_lowercase();
            let mut at = at;
            // Cells hold no line break: a column of one cache is not split.
            let values = text.split(if column.contains(':') { ':' } else { '\n' });
            for (column, text) in column.split(':').zip(values) {
                if !matches!(text, "" | "-" | "null") {
                    let span = at..at + text.len();
                    row.cells.push(Cell { column: column.to_owned(), text, span });
                }
                at += text.len() + 1;
            }
        }
        row
    }

    /// The cell of a column, if it says something.
    pub fn cell(&self, column: &str) -> Option<&Cell<'a>> {
        self.cells.iter().find(|cell| cell.column == column)
    }

    /// An id of the cache of the highest level above L1.
    pub fn last_level_cache(&self) -> Result<Option<u64>, Fault> {
        let level = |cell: &Cell<'_>| cell.column.strip_prefix('l')?.parse::<u32>().ok();
        let levels = self.cells.iter().filter_map(|cell| Some((level(cell)?, cell)));
        let highest = levels.filter(|(level, _)| *level >= 2).max_by_key(|(level, _)| *level);
        let Some((level, cell)) = highest else {
            return Ok(None);
        };
        let id = number(cell.text, &cell.span)?;
        Ok(Some(u64::from(level) << 32 | u64::from(id)))
    }
}

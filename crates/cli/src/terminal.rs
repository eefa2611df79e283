//! What is known of the terminal.

use report::COLUMNS_MIN;
use std::io::IsTerminal;

/// Columns of the terminal that standard output goes to. A file or a pipe gets what every terminal
/// can show, so that the same command leaves the same bytes everywhere.
pub fn columns() -> usize {
    let known = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
    known.map_or(COLUMNS_MIN, |(width, _)| usize::from(width.0))
}

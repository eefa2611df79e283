//! `lscpu -p` (commas, the names of the columns in the last comment) and `lscpu -e` (blanks, the
//! names in the first line).

use super::row::Row;
use crate::import::runs::items;
use input::Fault;

/// The columns of `-p`, if the comments were cut away.
const COLUMNS: &str = "CPU,Core,Socket,Node,,L1d,L1i,L2,L3";

pub(super) fn rows(text: &str) -> Result<Vec<Row<'_>>, Fault> {
    let mut lines = lines(text);
    let is_comment = |line: &str| line.starts_with('#');
    // `-p=CPU` has a single column. The comments before are sentences.
    let comments = lines.iter().rev().filter(|(_, line)| is_comment(line));
    let mut bare = comments.map(|(_, line)| line.trim_start_matches('#').trim());
    let header = bare.find(|text| is_list_of_names(text));
    let first = lines.iter().find(|(_, line)| !is_comment(line));
    let Some((at, first)) = first.copied() else {
        let fault = Fault::whole("there is no line in it");
        return Err(fault.help("`lscpu -p` prints a line for each CPU"));
    };
    if header.is_some() || first.contains(',') {
        let columns: Vec<&str> = header.unwrap_or(COLUMNS).split(',').collect();
        lines.retain(|(_, line)| !is_comment(line));
        return lines.into_iter().map(|line| row(line, &columns, &items(line.1, ','))).collect();
    }
    let columns: Vec<&str> = first.split_whitespace().collect();
    if !columns.iter().any(|column| column.eq_ignore_ascii_case("CPU")) {
        let message = "this is no list of CPUs that lscpu prints";
        let fault = Fault::at(at..at + first.len(), message);
        return Err(fault.help("write it with `lscpu -p`, `lscpu -e` or `lscpu -J -e`"));
    }
    let after = lines.into_iter().filter(|(start, line)| *start > at && !is_comment(line));
    after.map(|line| row(line, &columns, &words(line.1))).collect()
}

/// True for names with commas between them, or one alone.
fn is_list_of_names(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace)
}

/// The lines that are not blank, trimmed, with their places.
fn lines(text: &str) -> Vec<(usize, &str)> {
    items(text, '\n').into_iter().filter(|(_, line)| !line.is_empty()).collect()
}

fn words(line: &str) -> Vec<(usize, &str)> {
    items(line, ' ').into_iter().filter(|(_, word)| !word.is_empty()).collect()
}

fn row<'a>(
    (at, line): (usize, &'a str),
    columns: &[&str],
    cells: &[(usize, &'a str)],
) -> Result<Row<'a>, Fault> {
    let span = at..at + line.len();
    if cells.len() != columns.len() {
        let some = |n: usize, what: &str| format!("{n} {what}{}", if n == 1 { "" } else { "s" });
        let message =
            format!("{} in {}", some(cells.len(), "value"), some(columns.len(), "column"));
        return Err(Fault::at(span, message));
    }
    let cells =
        columns.iter().zip(cells).map(|(c, (start, text))| ((*c).to_owned(), *text, at + start));
    Ok(Row::new(span, cells))
}

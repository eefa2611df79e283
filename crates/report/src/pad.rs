//! Cells of text tables, padded and cut by the columns that they take on a terminal: letters of
//! East Asian scripts take two, accents that combine with a letter none.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that a text takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// A text at the left of a cell.
pub fn left(text: &str, columns: usize) -> String {
    format!("{text}{}", blanks(text, columns))
}

/// A text at the right of a cell.
pub fn right(text: &str, columns: usize) -> String {
    format!("{}{text}", blanks(text, columns))
}

fn blanks(text: &str, columns: usize) -> String {
    " ".repeat(columns.saturating_sub(width(text)))
}

/// As much of the beginning of a text as fits.
pub fn begin(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let too_much = |c: char| {
        taken += c.width().unwrap_or(0);
        columns < taken
    };
    &text[..text.find(too_much).unwrap_or(text.len())]
}

/// As much of the end of a text as fits.
fn end(text: &str, columns: usize) -> &str {
    let mut taken = 0;
    let fits = |(_, c): &(usize, char)| {
        taken += c.width().unwrap_or(0);
        taken <= columns
    };
    // An accent whose letter is cut off goes, too.
    let letters = text.char_indices().rev().take_while(fits).filter(|(_, c)| c.width() != Some(0));
    &text[letters.last().map_or(text.len(), |(at, _)| at)..]
}

/// A name cut in the middle if it is too long, as the ends tell variants apart.
pub fn short(name: &str, columns: usize) -> String {
    if width(name) <= columns {
        return name.to_string();
    }
    let tail = (columns - 2) / 2;
    format!("{}..{}", begin(name, columns - 2 - tail), end(name, tail))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_too_long_keeps_its_ends() {
        assert_eq!(short("SWQUEUE + NO_SIS_NODE", 21), "SWQUEUE + NO_SIS_NODE");
        assert_eq!(short("SWQUEUE + NO_SIS_NODE", 12), "SWQUE.._NODE");
        assert_eq!(short("SWQUEUE + NO_SIS_NODE", 13), "SWQUEU.._NODE");
        assert_eq!(short("共有待ち行列の名前", 12), "共有..名前");
        assert_eq!(short("共有待ち行列の名前", 18), "共有待ち行列の名前");
        assert_eq!(
            short("e\u{301}e\u{301}e\u{301}e\u{301}", 4),
            "e\u{301}e\u{301}e\u{301}e\u{301}"
        );
        assert_eq!(short("e\u{301}e\u{301}e\u{301}e\u{301}e\u{301}", 4), "e\u{301}..e\u{301}");
    }

    #[test]
    fn cells_are_as_wide_as_they_look() {
        assert_eq!(left("共有", 6), "共有  ");
        assert_eq!(right("共有", 6), "  共有");
        assert_eq!(left("e\u{301}", 3), "e\u{301}  ");
        assert_eq!(left("too long", 3), "too long");
        assert_eq!(begin("共有", 3), "共");
    }
}

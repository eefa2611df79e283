//! From a text to a TOML document, or its syntax errors.

use crate::Fault;
use toml::Spanned;
use toml::de::DeTable;

/// No more syntax errors are looked at: a broken text can have a hundred thousand.
const ERRORS_MAX: usize = 50;

/// The document of a text; its span is that of the whole text.
///
/// # Errors
/// The first syntax error of each line; the others of a line only follow from it.
pub fn parse(text: &str) -> Result<Spanned<DeTable<'_>>, Vec<Fault>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(document);
    }
    let mut faults: Vec<Fault> =
        errors.iter().take(ERRORS_MAX).map(|e| syntax_fault(text, e)).collect();
    faults.sort_by_key(Fault::start);
    let line = |fault: &mut Fault| text.bytes().take(fault.start()).filter(|b| *b == b'\n').count();
    faults.dedup_by_key(line);
    Err(faults)
}

fn syntax_fault(text: &str, error: &toml::de::Error) -> Fault {
    let span = error.span().unwrap_or(0..0);
    match error.message() {
        "duplicate key" => {
            let word = text.get(span.clone()).unwrap_or_default();
            Fault::at(span, format!("`{word}` is given twice")).label("the second one")
        }
        other => Fault::at(span, format!("not valid TOML: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};

    fn check(text: &str, expected: Expect) {
        let faults = parse(text).expect_err("the text is no TOML");
        let shown: Vec<String> =
            faults.iter().map(|f| format!("{}: {}", f.start(), f.message)).collect();
        expected.assert_eq(&shown.join("\n"));
    }

    #[test]
    fn each_line_has_one_syntax_error() {
        check(
            "cores = \nhz = = 3",
            expect![[r#"
            8: not valid TOML: string values must be quoted, expected literal string
            14: not valid TOML: extra `=`, expected nothing"#]],
        );
        check("a = 1\na = 2", expect!["6: `a` is given twice"]);
    }
}

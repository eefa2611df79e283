//! How values look: aligned keys, quoted strings, long texts in lines.

use std::fmt;

/// The longest line of a text that is broken into lines.
const LINE_CHARS: usize = 96;

/// A head such as `[caches]`, and keys with aligned values.
pub(super) struct Block {
    head: String,
    keys: Vec<(&'static str, String)>,
}

impl Block {
    /// A block; the head is empty for keys of the file itself.
    pub fn new(head: impl Into<String>) -> Self {
        Self { head: head.into(), keys: Vec::new() }
    }

    /// Adds a key with its value as it is written.
    pub fn key(&mut self, key: &'static str, value: String) {
        self.keys.push((key, value));
    }

    pub fn has_keys(&self) -> bool {
        !self.keys.is_empty()
    }

    pub fn is_empty(&self) -> bool {
        self.head.is_empty() && self.keys.is_empty()
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.head.is_empty() {
            writeln!(f, "{}", self.head)?;
        }
        // A list in lines of its own needs no alignment.
        let on_one_line = |value: &str| !value.starts_with("[\n");
        let aligned = self.keys.iter().filter(|(_, value)| on_one_line(value));
        let width = aligned.map(|(key, _)| key.len()).max().unwrap_or(0);
        for (key, value) in &self.keys {
            let width = if on_one_line(value) { width } else { 0 };
            writeln!(f, "{key:<width$} = {value}")?;
        }
        Ok(())
    }
}

/// A TOML basic string.
pub(super) fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

/// A TOML basic string; a long one in several lines, whose breaks are not part of it.
pub(super) fn wrapped(text: &str) -> String {
    let escaped = escaped(text);
    if escaped.chars().count() <= LINE_CHARS - 16 {
        return format!("\"{escaped}\"");
    }
    let mut lines = vec![String::new()];
    for word in words(&escaped) {
        let line = lines.last_mut().expect("there is a first line");
        if !line.is_empty() && line.chars().count() + word.chars().count() > LINE_CHARS {
            lines.push(word.to_owned());
        } else {
            line.push_str(word);
        }
    }
    // A backslash at the end of a line swallows the break and the blanks after it: the next line
    // starts with a word.
    format!("\"\"\"\n{}\"\"\"", lines.join("\\\n"))
}

/// The words, each with the blanks behind it; blanks at the start are a word of their own.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut start = 0;
    let mut in_blanks = false;
    for (at, c) in text.char_indices() {
        if c != ' ' && in_blanks {
            words.push(&text[start..at]);
            start = at;
        }
        in_blanks = c == ' ';
    }
    words.push(&text[start..]);
    words
}

fn escaped(text: &str) -> String {
    text.chars().fold(String::with_capacity(text.len()), |mut out, c| {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if c.is_control() => out.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => out.push(c),
        }
        out
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(written: &str) -> String {
        let text = format!("text = {written}");
        let table = toml::de::DeTable::parse(&text).expect("what is written is TOML");
        table.get_ref()["text"].get_ref().as_str().expect("a string").to_owned()
    }

    proptest! {
        #[test]
        fn any_text_is_read_as_it_was(text in "([ a-z\"\\\\\\n\\t\\u{7f}é]{0,12} ){0,30}") {
            prop_assert_eq!(read(&wrapped(&text)), text.clone());
            prop_assert_eq!(read(&quoted(&text)), text);
        }
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        let text = "some words ".repeat(20);
        assert!(wrapped(&text).lines().all(|line| line.len() <= LINE_CHARS + 1));
    }
}

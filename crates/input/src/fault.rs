//! Faults of an input file, shown the way rustc shows them.
//!
//! A fault knows its place, what is wrong and what to do. A reader collects all of them, so one
//! look at the screen is enough to repair a file. Readers do not know the name of the text; the
//! caller that owns the text adds it.

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use std::ops::Range;
use std::sync::Arc;

/// A file that was read: the path as the user knows it, and its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path as it is shown.
    pub path: String,
    /// The text, or the part of it that is shown.
    pub text: String,
    /// Number of the text's first line in the file.
    pub first_line: usize,
}

impl Source {
    /// A file with its whole text.
    pub fn new(path: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Self::part(path, text, 1)
    }

    /// A part of a file that is too long to be kept.
    pub fn part(path: impl Into<String>, text: impl Into<String>, first_line: usize) -> Arc<Self> {
        Arc::new(Self { path: path.into(), text: text.into(), first_line })
    }
}

/// One fault of an input text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The text that it is about; `None` until the owner of the text says it.
    pub source: Option<Arc<Source>>,
    /// Byte range in the text; `None` if the fault is about the text as a whole.
    pub span: Option<Range<usize>>,
    /// What is wrong, in one line.
    pub message: String,
    /// Words beside the caret.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Fault {
    /// A fault at a place of a text.
    pub fn at(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span: Some(span), ..Self::whole(message) }
    }

    /// A fault of a text as a whole.
    pub fn whole(message: impl Into<String>) -> Self {
        let message = message.into();
        Self { source: None, span: None, message, label: String::new(), help: None }
    }

    /// A fault of a file as a whole.
    pub fn of_file(path: impl Into<String>, message: impl Into<String>) -> Self {
        Self::whole(message).of(&Source::new(path, ""))
    }

    /// A value of another type than the key takes, both in words.
    pub fn wrong_type(span: Range<usize>, key: &str, wanted: &str, found: &str) -> Self {
        let message = format!("`{key}` must be {wanted}");
        Self::at(span, message).label(format!("this is {found}"))
    }

    /// A number that is too low, or too high.
    pub fn out_of_range(
        span: Range<usize>,
        key: &str,
        low: bool,
        [min, max]: [f64; 2],
        unit: &str,
    ) -> Self {
        let space = if unit.is_empty() { "" } else { " " };
        let message = match low {
            true if min == 0.0 => format!("`{key}` must not be negative"),
            true => format!("`{key}` must be at least {min}{space}{unit}"),
            false => format!("`{key}` must be at most {max}{space}{unit}"),
        };
        Self::at(span, message).label(format!("allowed: {min} to {max}{space}{unit}"))
    }

    /// Says which text the fault is about, unless that is known.
    pub fn of(mut self, source: &Arc<Source>) -> Self {
        self.source.get_or_insert_with(|| source.clone());
        self
    }

    /// Where the fault begins in its text; 0 if it is about the whole.
    pub fn start(&self) -> usize {
        self.span.as_ref().map_or(0, |span| span.start)
    }

    /// Sets the words beside the caret.
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// Sets the hint.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Sets the hint, if there is one.
    pub fn help_if(self, help: Option<String>) -> Self {
        Self { help: help.or(self.help), ..self }
    }

    /// Sets the hint, unless there is one.
    pub fn or_help(self, help: &str) -> Self {
        Self { help: self.help.or(Some(help.to_string())), ..self }
    }

    /// The fault as rustc would print it, without a newline at the end; without its source, only
    /// the words.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let title = Level::ERROR.primary_title(one_line(&self.message));
        let mut group = match (&self.source, &self.span) {
            (None, _) => Group::with_title(title),
            (Some(source), Some(span)) => {
                let place = AnnotationKind::Primary.span(inside(&source.text, span));
                let snippet = Snippet::source(source.text.as_str())
                    .path(source.path.as_str())
                    .line_start(source.first_line);
                title.element(snippet.annotation(place.label(one_line(&self.label))))
            }
            (Some(source), None) => title.element(Origin::path(source.path.as_str())),
        };
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(one_line(help)));
        }
        renderer.render(&[group])
    }
}

/// All faults of the input, in the order of files and lines.
#[derive(Clone, Debug, Default)]
pub struct Faults(pub Vec<Fault>);

impl Faults {
    /// The faults of a text, but those that are about another one.
    pub fn of(faults: Vec<Fault>, source: &Arc<Source>) -> Self {
        Self(faults.into_iter().map(|fault| fault.of(source)).collect())
    }

    /// Faults that are shown; nobody reads more, and a broken file can have a hundred thousand.
    pub const SHOWN_MAX: usize = 50;

    /// The first faults as rustc would print them, with a blank line between two.
    pub fn render(&self, color: bool) -> String {
        let each: Vec<String> =
            self.0.iter().take(Self::SHOWN_MAX).map(|d| d.render(color)).collect();
        each.join("\n\n")
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Faults(vec![fault])
    }
}

/// A span that lies in the text, on character borders, and covers at least one character of a
/// single line where there is one.
fn inside(text: &str, span: &Range<usize>) -> Range<usize> {
    let floor = |mut i: usize| {
        i = i.min(text.len());
        while !text.is_char_boundary(i) {
            i -= 1;
        }
        i
    };
    let start = floor(span.start);
    let line_end = text[start..].find('\n').map_or(text.len(), |n| start + n);
    let first = text[start..line_end].chars().next().map_or(0, char::len_utf8);
    let end = floor(span.end).max(start + first).min(line_end.max(start + first));
    start..end
}

/// User text inside a message must not break the layout.
fn one_line(text: &str) -> String {
    let mut line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(400).collect();
    if text.chars().nth(400).is_some() {
        line.push_str("...");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    #[test]
    fn a_fault_looks_like_rustcs() {
        let source = Source::new("scenarios/x.toml", "title = \"x\"\nseeds = 0\n");
        let seen = Fault::at(20..21, "`seeds` must be at least 1")
            .of(&source)
            .label("0 seeds run nothing")
            .help("write a number of seeds")
            .render(false);
        expect![[r#"
            error: `seeds` must be at least 1
             --> scenarios/x.toml:2:9
              |
            2 | seeds = 0
              |         ^ 0 seeds run nothing
              |
              = help: write a number of seeds"#]]
        .assert_eq(&seen);
    }

    #[test]
    fn any_span_of_any_text_can_be_shown() {
        let source = Source::new("x", "é\n\r\t\u{0}ü");
        for start in 0..12 {
            for end in 0..12 {
                Fault::at(start..end, "m\nn").of(&source).label("l").render(true);
            }
        }
    }
}

//! Faults of an input file, shown the way rustc shows them.
//!
//! A diagnostic knows the text it talks about, the place in it, what is wrong and what to do. The
//! parser collects all of them, so one look at the screen is enough to repair a file.

use annotate_snippets::{AnnotationKind, Level, Origin, Renderer, Snippet};
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

/// One fault.
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The file it is in.
    pub source: Arc<Source>,
    /// Byte range in the text; `None` if the fault is about the file as a whole.
    pub span: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// Words beside the caret.
    pub label: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Diagnostic {
    /// A fault at a place of a file.
    pub fn at(source: &Arc<Source>, span: Range<usize>, message: impl Into<String>) -> Self {
        let (source, span) = (source.clone(), Some(span));
        Self { source, span, message: message.into(), label: String::new(), help: None }
    }

    /// A fault of a file as a whole.
    pub fn of_file(path: impl Into<String>, message: impl Into<String>) -> Self {
        let source = Source::new(path, "");
        Self { source, span: None, message: message.into(), label: String::new(), help: None }
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
        match help {
            Some(help) => self.help(help),
            None => self,
        }
    }

    /// The fault as rustc would print it, without a newline at the end.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let title = Level::ERROR.primary_title(one_line(&self.message));
        let path = self.source.path.as_str();
        let mut group = match &self.span {
            Some(span) => {
                let place = AnnotationKind::Primary.span(inside(&self.source.text, span));
                let snippet = Snippet::source(self.source.text.as_str())
                    .path(path)
                    .line_start(self.source.first_line);
                title.element(snippet.annotation(place.label(one_line(&self.label))))
            }
            None => title.element(Origin::path(path)),
        };
        if let Some(help) = &self.help {
            group = group.element(Level::HELP.message(one_line(help)));
        }
        renderer.render(&[group])
    }
}

/// All faults of the input, in the order of files and lines.
#[derive(Clone, Debug, Default)]
pub struct Faults(pub Vec<Diagnostic>);

impl Faults {
    /// Faults that are shown; nobody reads more, and a broken file can have a hundred thousand.
    pub const SHOWN_MAX: usize = 50;

    /// The first faults as rustc would print them, with a blank line between two.
    pub fn render(&self, color: bool) -> String {
        let each: Vec<String> =
            self.0.iter().take(Self::SHOWN_MAX).map(|d| d.render(color)).collect();
        each.join("\n\n")
    }
}

impl From<Diagnostic> for Faults {
    fn from(diagnostic: Diagnostic) -> Self {
        Faults(vec![diagnostic])
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
    fn a_diagnostic_looks_like_rustcs() {
        let source = Source::new("scenarios/x.toml", "title = \"x\"\nseeds = 0\n");
        let seen = Diagnostic::at(&source, 20..21, "`seeds` must be at least 1")
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
                Diagnostic::at(&source, start..end, "m\nn").label("l").render(true);
            }
        }
    }
}

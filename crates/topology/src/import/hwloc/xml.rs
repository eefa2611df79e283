//! XML as a stream of elements with places, bounded in depth.
//!
//! Entities are refused: no tool that writes hwloc's format uses them, and what they expand to has
//! no bound.

use input::Fault;
use quick_xml::Reader;
use quick_xml::errors::Error;
use quick_xml::events::{BytesStart, Event};
use std::ops::Range;

/// hwloc nests a few dozen objects at most.
const DEPTH_MAX: usize = 100;

pub(super) struct Xml<'a> {
    text: &'a str,
    reader: Reader<&'a [u8]>,
    /// Names of the open elements, and where they were opened.
    open: Vec<(&'a str, usize)>,
    /// An element without content was opened and is closed next.
    closes: Option<&'a str>,
    has_root: bool,
}

/// What comes next.
pub(super) enum Step<'a> {
    Open(Element<'a>),
    Text { within: &'a str, text: &'a str, span: Range<usize> },
    Close { name: &'a str },
    End,
}

/// The start of an element.
pub(super) struct Element<'a> {
    pub name: &'a str,
    pub span: Range<usize>,
    text: &'a str,
    attributes: Vec<(&'a str, Range<usize>)>,
}

/// The value of an attribute.
pub(super) struct Attribute<'a> {
    text: &'a str,
    span: Range<usize>,
}

impl<'a> Xml<'a> {
    pub fn new(text: &'a str) -> Self {
        let reader = Reader::from_str(text);
        Self { text, reader, open: Vec::new(), closes: None, has_root: false }
    }

    /// The next step.
    ///
    /// # Errors
    /// What is wrong with the XML; there is no next step then.
    pub fn next(&mut self) -> Result<Step<'a>, Fault> {
        if let Some(name) = self.closes.take() {
            return Ok(Step::Close { name });
        }
        loop {
            let start = self.position();
            let event = self.reader.read_event();
            let span = start..self.position();
            match event.map_err(|error| self.broken(&error))? {
                Event::Start(tag) => {
                    let element = self.element(&tag, span)?;
                    self.open.push((element.name, start));
                    self.check_depth(start)?;
                    return Ok(Step::Open(element));
                }
                Event::Empty(tag) => {
                    let element = self.element(&tag, span)?;
                    self.closes = Some(element.name);
                    return Ok(Step::Open(element));
                }
                Event::End(_) => {
                    // The reader has checked that the names agree.
                    let name = self.open.pop().map_or("", |(name, _)| name);
                    return Ok(Step::Close { name });
                }
                Event::Text(_) => {
                    if let (Some((within, _)), Some(text)) =
                        (self.open.last(), self.text.get(span.clone()))
                    {
                        return Ok(Step::Text { within, text, span });
                    }
                }
                Event::DocType(_) => self.check_doctype(span)?,
                Event::Eof => return self.end(),
                _ => {}
            }
        }
    }

    fn position(&self) -> usize {
        usize::try_from(self.reader.buffer_position()).map_or(self.text.len(), |at| at)
    }

    /// The element of a tag that lies at a place. Events borrow from the reader, so names and
    /// values are found again in the text.
    fn element(&mut self, tag: &BytesStart<'_>, span: Range<usize>) -> Result<Element<'a>, Fault> {
        let content = tag.attributes_raw();
        let name = tag.name();
        let name = self.place_of(name.as_ref()).and_then(|at| self.text.get(at)).unwrap_or("");
        let mut attributes = Vec::new();
        // Without checks: looking for duplicates takes the square of their number.
        for attribute in tag.attributes().with_checks(false) {
            let attribute = attribute.map_err(|why| {
                let at = self.place_of(content).unwrap_or(span.clone());
                let why = why.to_string();
                // Its position counts from somewhere in the tag; the place says more.
                let why = why.split_once(": ").map_or(why.as_str(), |(_, words)| words);
                Fault::at(at, format!("broken attributes: {why}"))
            })?;
            let key = self.place_of(attribute.key.as_ref()).and_then(|at| self.text.get(at));
            if let (Some(key), Some(value)) = (key, self.place_of(&attribute.value)) {
                attributes.push((key, value));
            }
        }
        if !self.has_root && name != "topology" {
            let message =
                format!("<{name}> is the first element; hwloc's XML begins with <topology>");
            return Err(Fault::at(span, message));
        }
        self.has_root = true;
        Ok(Element { name, span, text: self.text, attributes })
    }

    /// Where a part of the text lies in it.
    fn place_of(&self, part: &str) -> Option<Range<usize>> {
        let start = (part.as_ptr() as usize).checked_sub(self.text.as_ptr() as usize)?;
        let range = start..start + part.len();
        (range.end <= self.text.len()).then_some(range)
    }

    fn check_depth(&self, at: usize) -> Result<(), Fault> {
        if self.open.len() <= DEPTH_MAX {
            return Ok(());
        }
        let message = format!("elements are nested more than {DEPTH_MAX} deep");
        Err(Fault::at(at..at + 1, message))
    }

    fn check_doctype(&self, span: Range<usize>) -> Result<(), Fault> {
        let text = self.text.get(span.clone()).unwrap_or_default();
        match text.find("<!ENTITY") {
            None => Ok(()),
            Some(at) => {
                let at = span.start + at;
                let message = "entities are not part of hwloc's XML and are not expanded";
                Err(Fault::at(at..at + "<!ENTITY".len(), message))
            }
        }
    }

    fn end(&self) -> Result<Step<'a>, Fault> {
        let end = self.text.len();
        match self.open.last() {
            Some((name, start)) => {
                let line = 1 + self.text[..*start].matches('\n').count();
                let message = format!("the file is cut off: <{name}> of line {line} is still open");
                Err(Fault::at(end..end, message))
            }
            None if !self.has_root => {
                let fault = Fault::whole("this is no XML");
                Err(fault.help("hwloc writes XML with `lstopo machine.xml`"))
            }
            None => Ok(Step::End),
        }
    }

    fn broken(&self, error: &Error) -> Fault {
        let at = usize::try_from(self.reader.error_position()).unwrap_or(0).min(self.text.len());
        let message = match error {
            // The reader's words for a tag without end do not say that the file ends there.
            Error::Syntax(why) => format!("the file is cut off or broken: {why}"),
            Error::IllFormed(why) => format!("broken XML: {why}"),
            other => format!("broken XML: {other}"),
        };
        Fault::at(at..at, message)
    }
}

impl<'a> Element<'a> {
    /// The first attribute of that name.
    pub fn attribute(&self, name: &str) -> Option<Attribute<'a>> {
        let (_, span) = self.attributes.iter().find(|(key, _)| *key == name)?;
        Some(Attribute { text: self.text, span: span.clone() })
    }
}

impl<'a> Attribute<'a> {
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    /// The value as it stands in the text.
    pub fn value(&self) -> &'a str {
        self.text.get(self.span.clone()).unwrap_or_default()
    }

    /// True if it has this value.
    pub fn is(&self, value: &str) -> bool {
        self.value() == value
    }

    /// The value with `&amp;` and the like resolved; as it stands if something else is in it.
    pub fn unescaped(&self) -> String {
        let value = self.value();
        quick_xml::escape::unescape(value).map_or_else(|_| value.to_owned(), |v| v.into_owned())
    }
}

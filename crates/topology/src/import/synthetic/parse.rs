//! The grammar: words with a count, attributes in brackets, nodes in square brackets.

use super::indexes::Indexes;
use crate::file::MAX_CPUS;
use input::Fault;
use input::did_you_mean;
use std::ops::Range;

/// Names of parts for hints; hwloc's others are understood as well.
const KINDS: [&str; 8] = ["package", "die", "group", "numa", "l2", "l3", "core", "pu"];

const ATTRIBUTES: [&str; 4] = ["size", "memory", "memorysidecachesize", "indexes"];

/// A kind of part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Machine,
    Package,
    Die,
    Group,
    Node,
    /// A cache that holds data, with its level.
    Cache(u32),
    /// An instruction cache.
    Instructions,
    Core,
    Pu,
}

/// One word: `l3:16(size=16MB) [numa]`.
#[derive(Debug)]
pub(super) struct Level {
    pub kind: Kind,
    pub count: u32,
    pub span: Range<usize>,
    pub size_kib: Option<u32>,
    pub indexes: Option<Indexes>,
    /// Nodes beside each part, with the numbers that they are given.
    beside: Vec<Option<Indexes>>,
}

impl Level {
    fn new(kind: Kind, count: u32, span: Range<usize>) -> Self {
        Self { kind, count, span, size_kib: None, indexes: None, beside: Vec::new() }
    }

    /// Nodes that each part is or has beside it.
    pub fn n_nodes(&self) -> usize {
        usize::from(self.kind == Kind::Node) + self.beside.len()
    }

    /// The numbers given to the nodes; `None` if none are, or if each part has several nodes, of
    /// which only the first is kept.
    pub fn node_indexes(&self) -> Option<&Indexes> {
        match self.kind {
            Kind::Node => self.indexes.as_ref(),
            _ if self.beside.len() == 1 => self.beside[0].as_ref(),
            _ => None,
        }
    }
}

/// The levels from the machine down to the PUs.
pub(super) fn parse(text: &str) -> Result<Vec<Level>, Fault> {
    let mut cursor = Cursor { text, at: 0 };
    let mut levels = vec![Level::new(Kind::Machine, 1, 0..0)];
    loop {
        cursor.skip_blanks();
        let level = levels.last_mut().expect("the machine is a level");
        match cursor.peek() {
            None => break,
            Some('(') => attributes(&mut cursor, level)?,
            Some('[') => level.beside.push(node_beside(&mut cursor)?),
            Some(_) => {
                let next = word(&mut cursor)?;
                if level.kind == Kind::Pu {
                    let message = "parts inside of pu, the hardware thread";
                    return Err(Fault::at(level.span.clone(), message));
                }
                check_new(&levels, &next)?;
                levels.push(next);
            }
        }
    }
    let last = levels.last().expect("the machine is a level");
    if last.kind != Kind::Pu {
        let message = "the last part must be pu, the hardware thread";
        let help = "end with `pu:1`, or `pu:2` for cores of two threads";
        return Err(Fault::at(last.span.clone(), message).help(help));
    }
    Ok(levels)
}

/// A kind of part makes one level only; groups and instruction caches may make several.
fn check_new(levels: &[Level], next: &Level) -> Result<(), Fault> {
    let what = match next.kind {
        Kind::Group | Kind::Instructions => return Ok(()),
        Kind::Cache(_) => "caches of that kind",
        Kind::Package => "packages",
        Kind::Die => "dies",
        Kind::Node => "nodes",
        Kind::Core => "cores",
        Kind::Machine | Kind::Pu => "PUs",
    };
    match levels.iter().any(|level| level.kind == next.kind) {
        true => Err(Fault::at(next.span.clone(), format!("a second level of {what}"))),
        false => Ok(()),
    }
}

/// `core:8`.
fn word(cursor: &mut Cursor<'_>) -> Result<Level, Fault> {
    let name_span = cursor.take(|c| c.is_ascii_alphanumeric());
    let name = &cursor.text[name_span.clone()];
    if name.is_empty() {
        let span = cursor.at..cursor.at + cursor.peek().map_or(0, char::len_utf8);
        let message = "neither a kind of part nor a bracket";
        return Err(Fault::at(span, message));
    }
    if name.bytes().all(|b| b.is_ascii_digit()) {
        let fault = Fault::at(name_span, "a count without a kind of part");
        return Err(fault.help("write `pack:2`, `core:2`, `pu:2`"));
    }
    let kind = kind(name).ok_or_else(|| {
        Fault::at(name_span.clone(), format!("`{name}` is no kind of part"))
            .help(did_you_mean(name, KINDS))
    })?;
    if cursor.peek() != Some(':') {
        let fault = Fault::at(name_span, format!("`{name}` without a count"));
        return Err(fault.help(format!("write `{name}:2` for two of them")));
    }
    cursor.at += 1;
    let count = number(cursor)?;
    Ok(Level::new(kind, count, name_span.start..cursor.at))
}

fn number(cursor: &mut Cursor<'_>) -> Result<u32, Fault> {
    let span = cursor.take(|c| c.is_ascii_digit());
    let digits = &cursor.text[span.clone()];
    if digits.is_empty() {
        return Err(Fault::at(span, "a number is missing here"));
    }
    let count = digits.parse().ok().filter(|n| (1..=MAX_CPUS).contains(&u64::from(*n)));
    let message = || format!("a count of {digits}; it must be 1 to {MAX_CPUS}");
    count.ok_or_else(|| Fault::at(span.clone(), message()))
}

/// A kind by one of its names.
pub(super) fn kind(name: &str) -> Option<Kind> {
    let name = name.to_ascii_lowercase();
    match name.as_str() {
        "package" | "pack" | "socket" => return Some(Kind::Package),
        "die" => return Some(Kind::Die),
        "numanode" | "numa" | "node" => return Some(Kind::Node),
        "core" => return Some(Kind::Core),
        "pu" => return Some(Kind::Pu),
        _ => {}
    }
    let digits = |text: &str| text.bytes().all(|b| b.is_ascii_digit());
    if name.strip_prefix("group").is_some_and(digits) {
        return Some(Kind::Group);
    }
    // l2, l2u, l1d, l1i, L2Cache, L1dCache, L1iCache.
    let cache = name.strip_prefix('l')?;
    let cache = cache.strip_suffix("cache").unwrap_or(cache);
    if cache.strip_suffix('i').is_some_and(|level| matches!(level, "1" | "2" | "3")) {
        return Some(Kind::Instructions);
    }
    let level = cache.strip_suffix(['d', 'u']).unwrap_or(cache);
    matches!(level, "1" | "2" | "3" | "4" | "5").then(|| level.parse().ok())?.map(Kind::Cache)
}

/// `(size=16MB indexes=2*4)` of a level.
fn attributes(cursor: &mut Cursor<'_>, level: &mut Level) -> Result<(), Fault> {
    for (name, value) in bracket(cursor)? {
        match name {
            "size" => level.size_kib = Some(size_kib(cursor.text, value)?),
            "indexes" => level.indexes = Some(Indexes::parse(cursor.text, value)?),
            _ => {}
        }
    }
    Ok(())
}

/// `[numa(memory=4GB)]`.
fn node_beside(cursor: &mut Cursor<'_>) -> Result<Option<Indexes>, Fault> {
    let start = cursor.at;
    cursor.at += 1;
    cursor.skip_blanks();
    let span = cursor.take(|c| c.is_ascii_alphanumeric());
    if kind(&cursor.text[span.clone()]) != Some(Kind::Node) {
        return Err(Fault::at(span, "only `numa` can be beside other parts"));
    }
    let mut level = Level::new(Kind::Node, 1, span);
    if cursor.peek() == Some('(') {
        attributes(cursor, &mut level)?;
    }
    cursor.skip_blanks();
    if cursor.peek() != Some(']') {
        return Err(Fault::at(start..cursor.text.len(), "the square bracket is not closed"));
    }
    cursor.at += 1;
    Ok(level.indexes)
}

/// The attributes in round brackets, with the places of their values.
fn bracket<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<(&'a str, Range<usize>)>, Fault> {
    let text = cursor.text;
    let start = cursor.at;
    let Some(length) = text[start..].find(')') else {
        return Err(Fault::at(start..text.len(), "the bracket is not closed"));
    };
    cursor.at = start + length + 1;
    let inside = &text[start + 1..start + length];
    let mut attributes = Vec::new();
    for (at, word) in super::super::runs::items(inside, ' ') {
        if word.is_empty() {
            continue;
        }
        let at = start + 1 + at;
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        if !ATTRIBUTES.contains(&name) {
            let fault = Fault::at(at..at + word.len(), format!("`{name}` is no attribute"));
            return Err(fault.help(did_you_mean(name, ATTRIBUTES)));
        }
        attributes.push((name, at + word.len() - value.len()..at + word.len()));
    }
    Ok(attributes)
}

/// A size in KiB.
fn size_kib(text: &str, span: Range<usize>) -> Result<u32, Fault> {
    let size = &text[span.clone()];
    let end = size.find(|c: char| !c.is_ascii_digit()).unwrap_or(size.len());
    let shift = match size[end..].to_ascii_lowercase().as_str() {
        "" | "b" => Some(0),
        "k" | "kb" | "kib" => Some(10),
        "m" | "mb" | "mib" => Some(20),
        "g" | "gb" | "gib" => Some(30),
        _ => None,
    };
    let bytes = size[..end].parse::<u64>().ok();
    let Some((bytes, shift)) = bytes.zip(shift) else {
        let fault = Fault::at(span, format!("`{size}` is no size"));
        return Err(fault.help("write it as 32KB, 16MB or in bytes"));
    };
    let kib = u128::from(bytes) << shift >> 10;
    let fits = u32::try_from(kib).ok().filter(|kib| (1..=16 * 1024 * 1024).contains(kib));
    fits.ok_or_else(|| {
        let fault = Fault::at(span, format!("`{size}` must be 1 KiB to 16 GiB"));
        fault.help("without a unit it is in bytes; write it as 32KB or 16MB")
    })
}

struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl Cursor<'_> {
    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }

    fn skip_blanks(&mut self) {
        self.take(char::is_whitespace);
    }

    /// Goes on while characters are of a kind; where they were.
    fn take(&mut self, is_part: impl Fn(char) -> bool) -> Range<usize> {
        let rest = &self.text[self.at..];
        let start = self.at;
        self.at += rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        start..self.at
    }
}

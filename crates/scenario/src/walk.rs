//! Reading a TOML document value by value, without stopping at the first fault.
//!
//! serde stops at the first error and forgets places; this walks the spanned document instead.
//! Each getter gives the value or `None`, and in the second case has noted the fault.

use crate::diag::{Diagnostic, Source};
use crate::registry::{KeyDef, Kind, Value, nearest};
use std::ops::Range;
use std::sync::Arc;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value of the document, with its place.
pub(crate) type Node<'a> = &'a Spanned<DeValue<'a>>;

/// The text being read and the faults found so far.
pub(crate) struct Walk {
    /// The file.
    pub source: Arc<Source>,
    /// All faults so far.
    pub faults: Vec<Diagnostic>,
}

impl Walk {
    /// Notes a fault.
    pub fn fault(&mut self, diagnostic: Diagnostic) {
        self.faults.push(diagnostic);
    }

    /// Begins a fault at a place.
    pub fn at(&self, span: Range<usize>, message: impl Into<String>) -> Diagnostic {
        Diagnostic::at(&self.source, span, message)
    }

    /// Notes every key of `table` that is not in `known`. `what` names the table to people.
    pub fn check_keys(&mut self, what: &str, table: &DeTable<'_>, known: &[&str]) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let fault = self
                    .at(key.span(), format!("unknown key `{name}` in {what}"))
                    .label("not a key of this table")
                    .help(did_you_mean(name, known.iter().copied()));
                self.fault(fault);
            }
        }
    }

    /// The value of a key that must be there. Silent if a misspelled key was meant for it.
    /// An empty place stands for the file as a whole.
    pub fn required<'a>(
        &mut self,
        what: &str,
        place: Range<usize>,
        table: &'a DeTable<'a>,
        known: &[&str],
        key: &str,
    ) -> Option<Node<'a>> {
        let found = table.get(key);
        let misspelled = |k: &str| !known.contains(&k) && nearest(k, known.to_vec()) == Some(key);
        if found.is_none() && !table.keys().any(|k| misspelled(k.get_ref())) {
            let whole_file = place.is_empty();
            let mut fault = self
                .at(place, format!("{what} has no `{key}`"))
                .label(format!("`{key}` is missing"));
            fault.span = fault.span.filter(|_| !whole_file);
            self.fault(fault);
        }
        found
    }

    /// Notes that a value has the wrong type.
    pub fn wrong_type(&mut self, node: Node<'_>, key: &str, wanted: &str) {
        let found = type_name(node.get_ref());
        let fault = self
            .at(node.span(), format!("`{key}` must be {wanted}"))
            .label(format!("this is {found}"));
        self.fault(fault);
    }

    /// The text of a string.
    pub fn text<'a>(&mut self, node: Node<'a>, key: &str) -> Option<&'a str> {
        match node.get_ref() {
            DeValue::String(s) => Some(s),
            _ => {
                self.wrong_type(node, key, "a string");
                None
            }
        }
    }

    /// The text of a string that is not blank.
    pub fn name<'a>(&mut self, node: Node<'a>, key: &str) -> Option<&'a str> {
        let text = self.text(node, key)?;
        if text.trim().is_empty() || text.contains(char::is_control) {
            let fault =
                self.at(node.span(), format!("`{key}` must be one line of text, and not blank"));
            self.fault(fault);
            return None;
        }
        Some(text)
    }

    /// `true` or `false`.
    pub fn switch(&mut self, node: Node<'_>, key: &str) -> Option<bool> {
        match node.get_ref() {
            DeValue::Boolean(b) => Some(*b),
            _ => {
                self.wrong_type(node, key, "true or false");
                None
            }
        }
    }

    /// A table.
    pub fn table<'a>(&mut self, node: Node<'a>, key: &str) -> Option<&'a DeTable<'a>> {
        match node.get_ref() {
            DeValue::Table(table) => Some(table),
            _ => {
                self.wrong_type(node, key, "a table");
                None
            }
        }
    }

    /// The elements of an array.
    pub fn array<'a>(&mut self, node: Node<'a>, key: &str) -> Option<Vec<Node<'a>>> {
        match node.get_ref() {
            DeValue::Array(array) => Some(array.iter().collect()),
            _ => {
                self.wrong_type(node, key, "an array");
                None
            }
        }
    }

    /// The tables of an array of tables.
    pub fn tables<'a>(&mut self, node: Node<'a>, key: &str) -> Vec<(Node<'a>, &'a DeTable<'a>)> {
        let elements = match node.get_ref() {
            DeValue::Array(array) => array.iter().collect(),
            _ => {
                let fault = self
                    .at(node.span(), format!("`{key}` must be an array of tables"))
                    .label(format!("this is {}", type_name(node.get_ref())))
                    .help(format!("write `[[{key}]]`, with two brackets"));
                self.fault(fault);
                Vec::new()
            }
        };
        elements.into_iter().filter_map(|e: Node<'a>| Some((e, self.table(e, key)?))).collect()
    }

    /// A finite number; whole numbers count.
    pub fn number(&mut self, node: Node<'_>, key: &str) -> Option<f64> {
        let value = match node.get_ref() {
            DeValue::Integer(i) => whole(i).map(|n| n as f64),
            DeValue::Float(x) => x.as_str().replace('_', "").parse().ok(),
            other => {
                let help = unit_in_string(other);
                let found = type_name(other);
                let fault = self
                    .at(node.span(), format!("`{key}` must be a number"))
                    .label(format!("this is {found}"))
                    .help_if(help);
                self.fault(fault);
                return None;
            }
        };
        match value {
            Some(x) if f64::is_finite(x) => Some(x),
            _ => {
                let fault = self.at(node.span(), format!("`{key}` must be a finite number"));
                self.fault(fault);
                None
            }
        }
    }

    /// A value of the kind that a key takes.
    pub fn value(&mut self, node: Node<'_>, def: &KeyDef) -> Option<Value> {
        match def.kind {
            Kind::Bool => self.switch_or_bit(node, def.name).map(Value::Bool),
            Kind::Int { min, max } => self.int(node, def.name, min..=max, def.unit).map(Value::Int),
            Kind::Float { min, max } => {
                let x = self.number(node, def.name)?;
                let fits = min <= x && x <= max;
                if !fits {
                    self.out_of_range(node, def.name, x < min, min, max, def.unit);
                }
                fits.then_some(Value::Float(x))
            }
            Kind::File | Kind::Names => {
                self.text(node, def.name).map(|path| Value::Word(path.to_string()))
            }
            Kind::Word(words) => {
                let word = self.text(node, def.name)?;
                if words.contains(&word) {
                    return Some(Value::Word(word.to_string()));
                }
                let fault = self
                    .at(node.span(), format!("unknown value `{word}` for `{}`", def.name))
                    .help(did_you_mean(word, words.iter().copied()));
                self.fault(fault);
                None
            }
        }
    }

    fn switch_or_bit(&mut self, node: Node<'_>, key: &str) -> Option<bool> {
        match node.get_ref() {
            DeValue::Integer(i) if whole(i) == Some(0) => Some(false),
            DeValue::Integer(i) if whole(i) == Some(1) => Some(true),
            _ => self.switch(node, key),
        }
    }

    /// A whole number within a range.
    pub fn int(
        &mut self,
        node: Node<'_>,
        key: &str,
        range: std::ops::RangeInclusive<i64>,
        unit: &str,
    ) -> Option<i64> {
        let DeValue::Integer(i) = node.get_ref() else {
            let help = unit_in_string(node.get_ref());
            let found = type_name(node.get_ref());
            let fault = self
                .at(node.span(), format!("`{key}` must be a whole number"))
                .label(format!("this is {found}"))
                .help_if(help);
            self.fault(fault);
            return None;
        };
        let negative = i.as_str().starts_with('-');
        match whole(i) {
            Some(n) if range.contains(&n) => Some(n),
            n => {
                let low = n.map_or(negative, |n| n < *range.start());
                let (min, max) = (*range.start() as f64, *range.end() as f64);
                self.out_of_range(node, key, low, min, max, unit);
                None
            }
        }
    }

    fn out_of_range(
        &mut self,
        node: Node<'_>,
        key: &str,
        low: bool,
        min: f64,
        max: f64,
        unit: &str,
    ) {
        let space = if unit.is_empty() { "" } else { " " };
        let message = match low {
            true if min == 0.0 => format!("`{key}` must not be negative"),
            true => format!("`{key}` must be at least {min}{space}{unit}"),
            false => format!("`{key}` must be at most {max}{space}{unit}"),
        };
        let fault =
            self.at(node.span(), message).label(format!("allowed: {min} to {max}{space}{unit}"));
        self.fault(fault);
    }
}

/// The hint for a misspelled name: the nearest one, or all if there are few.
pub(crate) fn did_you_mean<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let known: Vec<&str> = known.into_iter().collect();
    match nearest(word, known.iter().copied()) {
        Some(name) => format!("did you mean `{name}`?"),
        None if known.is_empty() => "there are none".to_string(),
        None => format!("known: {}", known.join(", ")),
    }
}

/// A TOML integer as i64, if it fits.
fn whole(integer: &toml::de::DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(&integer.as_str().replace('_', ""), integer.radix()).ok()
}

/// A hint for people who wrote `"500us"` where a bare number belongs.
fn unit_in_string(value: &DeValue<'_>) -> Option<String> {
    let DeValue::String(text) = value else {
        return None;
    };
    text.trim_start()
        .starts_with(|c: char| c.is_ascii_digit() || c == '-')
        .then(|| "write the number without quotes and without a unit".to_string())
}

fn type_name(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a floating-point number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "an array",
        DeValue::Table(_) => "a table",
    }
}

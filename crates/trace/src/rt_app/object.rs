//! Typed access to the objects of the file, with the place of every fault.

use input::{Fault, did_you_mean};
use jsonc_parser::ast::{Object, Value};
use jsonc_parser::common::Ranged;
use std::ops::{Range, RangeInclusive};

/// An object whose keys are properties, and what messages call it.
pub(super) struct Table<'a> {
    name: &'a str,
    object: &'a Object<'a>,
}

impl<'a> Table<'a> {
    pub fn new(name: &'a str, object: &'a Object<'a>) -> Self {
        Self { name, object }
    }

    /// The value of a key. json-c keeps the last of several; [`Table::check_keys`] faults them.
    pub fn get(&self, key: &str) -> Option<&'a Value<'a>> {
        let prop = self.object.properties.iter().rfind(|p| p.name.as_str() == key);
        prop.map(|p| &p.value)
    }

    /// Faults keys that are not known, and known ones that are given twice.
    pub fn check_keys(&self, known: &[&str], faults: &mut Vec<Fault>) {
        let mut seen: Vec<&str> = Vec::new();
        for prop in &self.object.properties {
            let key = prop.name.as_str();
            if !known.contains(&key) {
                let unknown = format!("unknown key `{key}` in {}", self.name);
                faults.push(
                    Fault::at(span(&prop.name), unknown)
                        .help(did_you_mean(key, known.iter().copied())),
                );
            } else if seen.contains(&key) {
                faults.push(twice(key, span(&prop.name)));
            }
            seen.push(key);
        }
    }

    pub fn object(&self, key: &str, faults: &mut Vec<Fault>) -> Option<&'a Object<'a>> {
        let value = self.get(key)?;
        let Value::Object(object) = value else {
            faults.push(wrong_type(key, value, "an object"));
            return None;
        };
        Some(object)
    }

    pub fn int(
        &self,
        key: &str,
        valid: RangeInclusive<i64>,
        faults: &mut Vec<Fault>,
    ) -> Option<i64> {
        integer(key, self.get(key)?, &valid).map_err(|fault| faults.push(fault)).ok()
    }

    pub fn bool(&self, key: &str, faults: &mut Vec<Fault>) -> Option<bool> {
        let value = self.get(key)?;
        let Value::BooleanLit(b) = value else {
            faults.push(wrong_type(key, value, "true or false"));
            return None;
        };
        Some(b.value)
    }

    /// A string and its place.
    pub fn text(&self, key: &str, faults: &mut Vec<Fault>) -> Option<(&'a str, Range<usize>)> {
        string(key, self.get(key)?).map_err(|fault| faults.push(fault)).ok()
    }

    /// A string that must be there.
    pub fn required_text(&self, key: &str, faults: &mut Vec<Fault>) -> Option<&'a str> {
        if self.get(key).is_none() {
            faults.push(Fault::at(span(self.object), format!("{} has no `{key}`", self.name)));
        }
        self.text(key, faults).map(|(text, _)| text)
    }
}

/// The fault of a key that stands in an object twice.
pub(super) fn twice(key: &str, at: Range<usize>) -> Fault {
    Fault::at(at, format!("`{key}` is given twice"))
}

/// Where something stands in the text.
pub(super) fn span(node: &impl Ranged) -> Range<usize> {
    node.start()..node.end()
}

/// A fault at a value.
pub(super) fn fault(value: &Value<'_>, message: impl Into<String>) -> Fault {
    Fault::at(span(value), message)
}

/// A whole number within bounds. rt-app takes no fractions and no exponents.
pub(super) fn integer(
    key: &str,
    value: &Value<'_>,
    valid: &RangeInclusive<i64>,
) -> Result<i64, Fault> {
    let Value::NumberLit(number) = value else {
        return Err(wrong_type(key, value, "a whole number"));
    };
    let digits = number.value.strip_prefix('-').unwrap_or(number.value);
    if !digits.bytes().all(|b| b.is_ascii_digit()) {
        let message = format!("`{key}` must be a whole number, not {}", number.value);
        return Err(fault(value, message));
    }
    let whole: Option<i64> = number.value.parse().ok();
    whole.filter(|n| valid.contains(n)).ok_or_else(|| {
        let low = whole.map_or(number.value.starts_with('-'), |n| n < *valid.start());
        let bounds = [*valid.start() as f64, *valid.end() as f64];
        Fault::out_of_range(span(value), key, low, bounds, "")
    })
}

/// A string and its place.
pub(super) fn string<'a>(
    key: &str,
    value: &'a Value<'a>,
) -> Result<(&'a str, Range<usize>), Fault> {
    match value {
        Value::StringLit(text) => Ok((&text.value, span(value))),
        other => Err(wrong_type(key, other, "a string")),
    }
}

/// The fault of a value that is of another type.
pub(super) fn wrong_type(key: &str, value: &Value<'_>, wanted: &str) -> Fault {
    let found = match value {
        Value::StringLit(_) => "a string",
        Value::NumberLit(_) => "a number",
        Value::BooleanLit(_) => "true or false",
        Value::Object(_) => "an object",
        Value::Array(_) => "an array",
        Value::NullKeyword(_) => "null",
    };
    Fault::wrong_type(span(value), key, wanted, found)
}

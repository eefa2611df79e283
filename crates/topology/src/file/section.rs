//! One table of the file while it is read: typed access that notes faults and the keys asked for.

use super::asked::{Log, Takes, Visit};
use crate::Fault;
use crate::fault::{did_you_mean, nearest};
use std::borrow::Cow;
use std::fmt::Display;
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

pub(super) struct Section<'a> {
    /// How messages call the table: `[latency]`.
    name: Cow<'static, str>,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    asked: Vec<(&'static str, Takes)>,
    /// Keys that must be there.
    required: Vec<&'static str>,
    faults: Vec<Fault>,
    /// Its key in the table above; empty for the whole file.
    key: &'static str,
    /// Where all questions are kept while a schema is made; `None` otherwise.
    log: Option<Log>,
}

impl<'a> Section<'a> {
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        table: &'a DeTable<'a>,
        span: Range<usize>,
    ) -> Self {
        let (asked, required, faults) = (Vec::new(), Vec::new(), Vec::new());
        Self { name: name.into(), table, span, asked, required, faults, key: "", log: None }
    }

    /// The same, keeping what is asked of it and of the tables below.
    pub fn logged(self, log: &Log) -> Self {
        Self { log: Some(log.clone()), ..self }
    }

    fn below(&self, key: &'static str, of: Self) -> Self {
        Self { key, log: self.log.clone(), ..of }
    }

    /// The table itself, for looking without asking.
    pub fn table(&self) -> &'a DeTable<'a> {
        self.table
    }

    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty() || self.missing().next().is_some()
    }

    /// Keys that must be there and are not.
    fn missing(&self) -> impl Iterator<Item = &'static str> {
        self.required.iter().copied().filter(|key| !self.table.contains_key(*key))
    }

    pub fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Where the value of a key stands; the whole table if the key is absent.
    pub fn span_of(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or_else(|| self.span(), Spanned::span)
    }

    /// The raw value of a key; what it must be is said where it is read.
    pub fn value(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.ask(key, Takes::Anything)
    }

    fn ask(&mut self, key: &'static str, takes: Takes) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.push((key, takes));
        self.table.get(key)
    }

    /// Faults an absent key, unless another key turns out to be a misspelling of it.
    pub fn require(&mut self, key: &'static str) {
        self.required.push(key);
    }

    /// A whole number within bounds.
    pub fn int(&mut self, key: &'static str, valid: RangeInclusive<u64>) -> Option<u64> {
        self.int_within(key, valid.clone(), valid)
    }

    /// A whole number within bounds that other keys narrow down: `ever` is what any file may have.
    pub fn int_within(
        &mut self,
        key: &'static str,
        valid: RangeInclusive<u64>,
        ever: RangeInclusive<u64>,
    ) -> Option<u64> {
        let value = self.ask(key, Takes::ints(&ever))?;
        self.check(whole_number(key, value, &valid))
    }

    /// A whole number within bounds that may be negative.
    pub fn signed(&mut self, key: &'static str, valid: RangeInclusive<i64>) -> Option<i64> {
        let value = self.ask(key, Takes::ints(&valid))?;
        self.check(bounded(key, value, &valid))
    }

    /// A fraction within bounds.
    pub fn float(&mut self, key: &'static str, valid: RangeInclusive<f64>) -> Option<f64> {
        let value = self.ask(key, Takes::Float { min: *valid.start(), max: *valid.end() })?;
        self.check(fraction(key, value, &valid))
    }

    pub fn bool(&mut self, key: &'static str) -> Option<bool> {
        let value = self.ask(key, Takes::Bool)?;
        self.check(value.get_ref().as_bool().ok_or(wrong_type(key, value, "true or false")))
    }

    /// A text that is not empty.
    pub fn string(&mut self, key: &'static str) -> Option<String> {
        self.text(key, Takes::Text)
    }

    /// What one of these words stands for.
    pub fn word<T: Copy>(&mut self, key: &'static str, words: &[(&'static str, T)]) -> Option<T> {
        let names: Vec<&'static str> = words.iter().map(|(name, _)| *name).collect();
        let word = self.text(key, Takes::Words(names.clone()))?;
        let known = words.iter().find(|(name, _)| *name == word).map(|(_, meant)| *meant);
        let span = self.span_of(key);
        let unknown =
            || Fault::at(span, format!("unknown {key} `{word}`")).help(did_you_mean(&word, &names));
        self.check(known.ok_or_else(unknown))
    }

    fn text(&mut self, key: &'static str, takes: Takes) -> Option<String> {
        let value = self.ask(key, takes)?;
        let text = match value.get_ref().as_str() {
            Some(text) if text.trim().is_empty() => {
                Err(Fault::at(value.span(), format!("`{key}` is empty")))
            }
            Some(text) => Ok(text.to_owned()),
            None => Err(wrong_type(key, value, "a string")),
        };
        self.check(text)
    }

    /// The elements of an array. The caller checks that each of them is what `of` says.
    pub fn array(&mut self, key: &'static str, of: Takes) -> Option<&'a [Spanned<DeValue<'a>>]> {
        self.elements(key, of.array_of())
    }

    fn elements(&mut self, key: &'static str, takes: Takes) -> Option<&'a [Spanned<DeValue<'a>>]> {
        let value = self.ask(key, takes)?;
        let array = value.get_ref().as_array().map(|a| &a[..]);
        self.check(array.ok_or(wrong_type(key, value, "an array")))
    }

    /// A table below this one, `[key]`.
    pub fn section(&mut self, key: &'static str) -> Option<Section<'a>> {
        let value = self.ask(key, Takes::Table)?;
        let table = value.get_ref().as_table();
        let table = self.check(table.ok_or(wrong_type(key, value, "a table")))?;
        Some(self.below(key, Section::new(format!("[{key}]"), table, value.span())))
    }

    /// An array of tables below this one, `[[key]]`.
    pub fn sections(&mut self, key: &'static str) -> Option<Vec<Section<'a>>> {
        let elements = self.elements(key, Takes::Tables)?;
        let mut sections = Vec::with_capacity(elements.len());
        for element in elements {
            let table = element.get_ref().as_table();
            let table = self.check(table.ok_or(wrong_type(key, element, "a table")))?;
            let section = Section::new(format!("[[{key}]]"), table, element.span());
            sections.push(self.below(key, section));
        }
        Some(sections)
    }

    /// Keeps the value or notes the fault.
    pub fn check<T>(&mut self, result: Result<T, Fault>) -> Option<T> {
        result.map_err(|fault| self.faults.push(fault)).ok()
    }

    /// Hands over the faults: those noted so far, one for each key that is missing, and one for
    /// each that was never asked for. A key whose misspelling is there does not count as missing.
    pub fn finish(self, faults: &mut Vec<Fault>) {
        let mut valid: Vec<&str> = self.asked.iter().map(|(key, _)| *key).collect();
        valid.extend(&self.required);
        valid.sort_unstable();
        valid.dedup();
        let unknown = || self.table.keys().filter(|k| !valid.contains(&&**k.get_ref()));
        let meant = |key: &str| unknown().any(|k| nearest(k.get_ref(), &valid) == Some(key));
        let missing: Vec<&str> = self.missing().filter(|key| !meant(key)).collect();
        faults.extend(self.faults);
        for key in missing {
            let message = format!("{} has no `{key}`", self.name);
            // An empty text has no bytes to point at.
            let span = Some(self.span.clone()).filter(|span| !span.is_empty());
            faults.push(Fault { span, message, help: None });
        }
        faults.extend(unknown().map(|key| {
            let message = format!("unknown key `{}` in {}", key.get_ref(), self.name);
            Fault::at(key.span(), message).help(did_you_mean(key.get_ref(), &valid))
        }));
        if let Some(log) = self.log {
            let (table, keys, required) = (self.key, self.asked, self.required);
            log.borrow_mut().push(Visit { table, keys, required });
        }
    }
}

/// A whole number within bounds, or what is wrong with it.
pub(super) fn whole_number(
    key: &str,
    value: &Spanned<DeValue<'_>>,
    valid: &RangeInclusive<u64>,
) -> Result<u64, Fault> {
    bounded(key, value, valid)
}

fn bounded<T: TryFrom<i128> + PartialOrd + Display>(
    key: &str,
    value: &Spanned<DeValue<'_>>,
    valid: &RangeInclusive<T>,
) -> Result<T, Fault> {
    let Some(number) = value.get_ref().as_integer() else {
        return Err(wrong_type(key, value, "a whole number"));
    };
    let in_range = parse_integer(number).and_then(|n| T::try_from(n).ok());
    in_range.filter(|n| valid.contains(n)).ok_or_else(|| {
        let (low, high) = (valid.start(), valid.end());
        let message = format!("`{key}` is {number}; it must be {low} to {high}");
        Fault::at(value.span(), message)
    })
}

fn fraction(
    key: &str,
    value: &Spanned<DeValue<'_>>,
    valid: &RangeInclusive<f64>,
) -> Result<f64, Fault> {
    let (number, shown) = match value.get_ref() {
        DeValue::Float(f) => (f.as_str().parse().ok(), f.to_string()),
        DeValue::Integer(i) => (parse_integer(i).map(|n| n as f64), i.to_string()),
        _ => return Err(wrong_type(key, value, "a number")),
    };
    number.filter(|n| valid.contains(n)).ok_or_else(|| {
        let (low, high) = (valid.start(), valid.end());
        let message = format!("`{key}` is {shown}; it must be {low} to {high}");
        Fault::at(value.span(), message)
    })
}

fn parse_integer(number: &DeInteger<'_>) -> Option<i128> {
    i128::from_str_radix(number.as_str(), number.radix()).ok()
}

/// The fault of a value that is of another type.
pub(super) fn wrong_type(key: &str, value: &Spanned<DeValue<'_>>, wanted: &str) -> Fault {
    let found = match value.get_ref().type_str() {
        found @ ("integer" | "array") => format!("an {found}"),
        found => format!("a {found}"),
    };
    Fault::at(value.span(), format!("`{key}` must be {wanted}, not {found}"))
}

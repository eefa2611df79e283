//! One table of the file while it is read: typed access that notes faults and the keys asked for.

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
    asked: Vec<&'static str>,
    /// Keys that must be there and are not.
    missing: Vec<&'static str>,
    faults: Vec<Fault>,
}

impl<'a> Section<'a> {
    pub fn new(
        name: impl Into<Cow<'static, str>>,
        table: &'a DeTable<'a>,
        span: Range<usize>,
    ) -> Self {
        let (asked, missing, faults) = (Vec::new(), Vec::new(), Vec::new());
        Self { name: name.into(), table, span, asked, missing, faults }
    }

    /// The table itself, for looking without asking.
    pub fn table(&self) -> &'a DeTable<'a> {
        self.table
    }

    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }

    pub fn has_faults(&self) -> bool {
        !self.faults.is_empty() || !self.missing.is_empty()
    }

    pub fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Where the value of a key stands; the whole table if the key is absent.
    pub fn span_of(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or_else(|| self.span(), Spanned::span)
    }

    /// The raw value of a key.
    pub fn value(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.asked.push(key);
        self.table.get(key)
    }

    /// Faults an absent key, unless another key turns out to be a misspelling of it.
    pub fn require(&mut self, key: &'static str) {
        if !self.table.contains_key(key) {
            self.missing.push(key);
        }
    }

    /// A whole number within bounds.
    pub fn int(&mut self, key: &'static str, valid: RangeInclusive<u64>) -> Option<u64> {
        let value = self.value(key)?;
        self.check(whole_number(key, value, &valid))
    }

    /// A whole number within bounds that may be negative.
    pub fn signed(&mut self, key: &'static str, valid: RangeInclusive<i64>) -> Option<i64> {
        let value = self.value(key)?;
        self.check(bounded(key, value, &valid))
    }

    /// A fraction within bounds.
    pub fn float(&mut self, key: &'static str, valid: RangeInclusive<f64>) -> Option<f64> {
        let value = self.value(key)?;
        self.check(fraction(key, value, &valid))
    }

    pub fn bool(&mut self, key: &'static str) -> Option<bool> {
        let value = self.value(key)?;
        self.check(value.get_ref().as_bool().ok_or(wrong_type(key, value, "true or false")))
    }

    /// A text that is not empty.
    pub fn string(&mut self, key: &'static str) -> Option<String> {
        let value = self.value(key)?;
        let text = match value.get_ref().as_str() {
            Some(text) if text.trim().is_empty() => {
                Err(Fault::at(value.span(), format!("`{key}` is empty")))
            }
            Some(text) => Ok(text.to_owned()),
            None => Err(wrong_type(key, value, "a string")),
        };
        self.check(text)
    }

    /// The elements of an array.
    pub fn array(&mut self, key: &'static str) -> Option<&'a [Spanned<DeValue<'a>>]> {
        let value = self.value(key)?;
        let array = value.get_ref().as_array().map(|a| &a[..]);
        self.check(array.ok_or(wrong_type(key, value, "an array")))
    }

    /// A table below this one, `[key]`.
    pub fn section(&mut self, key: &'static str) -> Option<Section<'a>> {
        let value = self.value(key)?;
        let table = value.get_ref().as_table();
        let table = self.check(table.ok_or(wrong_type(key, value, "a table")))?;
        Some(Section::new(format!("[{key}]"), table, value.span()))
    }

    /// An array of tables below this one, `[[key]]`.
    pub fn sections(&mut self, key: &'static str) -> Option<Vec<Section<'a>>> {
        let elements = self.array(key)?;
        let mut sections = Vec::with_capacity(elements.len());
        for element in elements {
            let table = element.get_ref().as_table();
            let table = self.check(table.ok_or(wrong_type(key, element, "a table")))?;
            sections.push(Section::new(format!("[[{key}]]"), table, element.span()));
        }
        Some(sections)
    }

    /// Keeps the value or notes the fault.
    pub fn check<T>(&mut self, result: Result<T, Fault>) -> Option<T> {
        result.map_err(|fault| self.faults.push(fault)).ok()
    }

    /// Hands over the faults, one for each key that is missing, and one for each that nobody asked
    /// for. A key whose misspelling is there is not missing as well.
    pub fn finish(self, faults: &mut Vec<Fault>) {
        let mut valid = self.asked;
        valid.extend(&self.missing);
        valid.sort_unstable();
        valid.dedup();
        faults.extend(self.faults);
        let unknown = || self.table.keys().filter(|k| !valid.contains(&&**k.get_ref()));
        let meant = |key: &str| unknown().any(|k| nearest(k.get_ref(), &valid) == Some(key));
        for key in self.missing.iter().filter(|key| !meant(key)) {
            let message = format!("{} has no `{key}`", self.name);
            let span = Some(self.span.clone()).filter(|span| !span.is_empty());
            faults.push(Fault { span, message, help: None });
        }
        faults.extend(unknown().map(|key| {
            let message = format!("unknown key `{}` in {}", key.get_ref(), self.name);
            Fault::at(key.span(), message).help(did_you_mean(key.get_ref(), &valid))
        }));
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

//! Reading a TOML document value by value, without stopping at the first fault.
//!
//! serde stops at the first error and forgets places; this walks the spanned document instead.
//! Each getter gives the value or `None`, and in the second case has noted the fault.

use crate::{Fault, Faults, KeyDef, Kind, Value, did_you_mean, nearest};
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::{DeInteger, DeTable, DeValue};

/// A value of the document, with its place.
pub type Node<'a> = &'a Spanned<DeValue<'a>>;

/// A reading of a document: the faults found so far.
#[derive(Default)]
pub struct Walk {
    /// All faults so far.
    pub faults: Vec<Fault>,
}

impl Walk {
    /// Notes a fault.
    pub fn fault(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// What another reader came to; its faults are kept with those of this one.
    pub fn keep<T>(&mut self, result: Result<T, Faults>) -> Option<T> {
        result.map_err(|faults| self.faults.extend(faults.0)).ok()
    }

    /// Notes every key of `table` that is not in `known`. `what` names the table to people.
    pub fn check_keys(&mut self, what: &str, table: &DeTable<'_>, known: &[&str]) {
        for key in table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let message = format!("unknown key `{name}` in {what}");
                let help = did_you_mean(name, known.iter().copied());
                self.fault(
                    Fault::at(key.span(), message).label("not a key of this table").help(help),
                );
            }
        }
    }

    /// The value of a key that must be there. Silent if a misspelled key was meant for it.
    /// An empty place stands for the text as a whole.
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
            let span = Some(place).filter(|place| !place.is_empty());
            let fault = Fault::whole(format!("{what} has no `{key}`"));
            self.fault(Fault { span, ..fault }.label(format!("`{key}` is missing")));
        }
        found
    }

    /// Notes that a value has the wrong type.
    pub fn wrong_type(&mut self, node: Node<'_>, key: &str, wanted: &str) {
        self.wrong_type_with(node, key, wanted, None);
    }

    fn wrong_type_with(&mut self, node: Node<'_>, key: &str, wanted: &str, help: Option<String>) {
        let found = type_name(node.get_ref());
        self.fault(Fault::wrong_type(node.span(), key, wanted, found).help_if(help));
    }

    /// What a value is, or that it has the wrong type.
    fn typed<T>(&mut self, value: Option<T>, node: Node<'_>, key: &str, wanted: &str) -> Option<T> {
        if value.is_none() {
            self.wrong_type(node, key, wanted);
        }
        value
    }

    /// The text of a string.
    pub fn text<'a>(&mut self, node: Node<'a>, key: &str) -> Option<&'a str> {
        self.typed(node.get_ref().as_str(), node, key, "a string")
    }

    /// The text of a string that is not blank.
    fn words<'a>(&mut self, node: Node<'a>, key: &str) -> Option<&'a str> {
        let text = self.text(node, key)?;
        if text.trim().is_empty() {
            self.fault(Fault::at(node.span(), format!("`{key}` must not be blank")));
            return None;
        }
        Some(text)
    }

    /// The text of a string of one line that is not blank.
    pub fn name<'a>(&mut self, node: Node<'a>, key: &str) -> Option<&'a str> {
        let text = self.text(node, key)?;
        if text.trim().is_empty() || text.contains(char::is_control) {
            let message = format!("`{key}` must be one line of text, and not blank");
            self.fault(Fault::at(node.span(), message));
            return None;
        }
        Some(text)
    }

    /// `true` or `false`.
    pub fn switch(&mut self, node: Node<'_>, key: &str) -> Option<bool> {
        self.typed(node.get_ref().as_bool(), node, key, "true or false")
    }

    /// A table.
    pub fn table<'a>(&mut self, node: Node<'a>, key: &str) -> Option<&'a DeTable<'a>> {
        self.typed(node.get_ref().as_table(), node, key, "a table")
    }

    /// The elements of an array.
    pub fn array<'a>(&mut self, node: Node<'a>, key: &str) -> Option<Vec<Node<'a>>> {
        let array = node.get_ref().as_array().map(|array| array.iter().collect());
        self.typed(array, node, key, "an array")
    }

    /// The tables of an array of tables; elements that are none are left out.
    pub fn tables<'a>(
        &mut self,
        node: Node<'a>,
        key: &str,
    ) -> Option<Vec<(Node<'a>, &'a DeTable<'a>)>> {
        let Some(array) = node.get_ref().as_array() else {
            let help = format!("write `[[{key}]]`, with two brackets");
            self.wrong_type_with(node, key, "an array of tables", Some(help));
            return None;
        };
        Some(array.iter().filter_map(|e| Some((e, self.table(e, key)?))).collect())
    }

    /// A finite number; whole numbers count.
    pub fn number(&mut self, node: Node<'_>, key: &str) -> Option<f64> {
        let value = match node.get_ref() {
            DeValue::Integer(i) => whole(i).map(|n| n as f64),
            DeValue::Float(x) => x.as_str().parse().ok(),
            other => {
                self.wrong_type_with(node, key, "a number", unit_in_string(other));
                return None;
            }
        };
        let value = value.filter(|x: &f64| x.is_finite());
        if value.is_none() {
            self.fault(Fault::at(node.span(), format!("`{key}` must be a finite number")));
        }
        value
    }

    /// A value of the kind that a key takes. Other getters read arrays and tables.
    pub fn value(&mut self, node: Node<'_>, def: &KeyDef) -> Option<Value> {
        let KeyDef { name, unit, .. } = *def;
        let word = |text: &str| Value::Word(text.to_string());
        match def.kind {
            Kind::Switch => self.switch(node, name).map(Value::Bool),
            Kind::Bool => self.switch_or_bit(node, name).map(Value::Bool),
            Kind::Int { min, max } => self.int(node, name, min..=max, unit).map(Value::Int),
            Kind::Float { min, max } => {
                let x = self.number(node, name)?;
                let fits = min <= x && x <= max;
                if !fits {
                    self.fault(Fault::out_of_range(node.span(), name, x < min, [min, max], unit));
                }
                fits.then_some(Value::Float(x))
            }
            Kind::File | Kind::Names => self.text(node, name).map(word),
            Kind::Text => self.words(node, name).map(word),
            Kind::Line => self.name(node, name).map(word),
            Kind::Word(words) => {
                let text = self.text(node, name)?;
                if words.contains(&text) {
                    return Some(word(text));
                }
                let fault = Fault::at(node.span(), format!("unknown value `{text}` for `{name}`"));
                self.fault(fault.help(did_you_mean(text, words.iter().copied())));
                None
            }
            Kind::List(_) | Kind::Table(_) | Kind::Tables(_) | Kind::Special(_) => None,
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
        range: RangeInclusive<i64>,
        unit: &str,
    ) -> Option<i64> {
        let DeValue::Integer(i) = node.get_ref() else {
            self.wrong_type_with(node, key, "a whole number", unit_in_string(node.get_ref()));
            return None;
        };
        let number = whole(i);
        if let Some(n) = number.filter(|n| range.contains(n)) {
            return Some(n);
        }
        let low = number.map_or(i.as_str().starts_with('-'), |n| n < *range.start());
        let bounds = [*range.start() as f64, *range.end() as f64];
        self.fault(Fault::out_of_range(node.span(), key, low, bounds, unit));
        None
    }
}

/// A TOML integer as i64, if it fits.
fn whole(integer: &DeInteger<'_>) -> Option<i64> {
    i64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

/// A hint for people who wrote `"500us"` where a bare number belongs.
fn unit_in_string(value: &DeValue<'_>) -> Option<String> {
    let text = value.as_str()?.trim_start();
    text.starts_with(|c: char| c.is_ascii_digit() || c == '-')
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

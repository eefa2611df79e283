//! A table of the document beside the rows of its keys: values are read by the names of keys.

use crate::{KeyDef, Kind, Node, Value, Walk};
use std::ops::{Range, RangeInclusive};
use toml::Spanned;
use toml::de::DeTable;

/// A table whose keys were checked against rows. Reading a key that has no row panics.
pub struct Table<'a> {
    /// How messages call it: `[latency]`.
    pub name: String,
    /// Where it stands; an empty place is the text as a whole.
    pub span: Range<usize>,
    keys: &'static [KeyDef],
    table: &'a DeTable<'a>,
}

impl Walk {
    /// A document as a table with these keys.
    pub fn table_of<'a>(
        &mut self,
        name: &str,
        document: &'a Spanned<DeTable<'a>>,
        keys: &'static [KeyDef],
    ) -> Table<'a> {
        self.open(name.to_string(), document.span(), document.get_ref(), keys)
    }

    /// A table with these keys: notes each that it has beside them, and each that it must have and
    /// has not.
    pub fn open<'a>(
        &mut self,
        name: String,
        span: Range<usize>,
        table: &'a DeTable<'a>,
        keys: &'static [KeyDef],
    ) -> Table<'a> {
        let table = Table { name, span, keys, table };
        self.check_keys(&table.name, table.table, &table.names());
        for key in keys.iter().filter(|key| key.is_required()) {
            table.require(self, key.name);
        }
        table
    }
}

impl<'a> Table<'a> {
    fn names(&self) -> Vec<&'static str> {
        self.keys.iter().map(|key| key.name).collect()
    }

    fn row(&self, key: &str) -> &'static KeyDef {
        let row = self.keys.iter().find(|row| row.name == key);
        row.unwrap_or_else(|| panic!("{} has no row for `{key}`", self.name))
    }

    fn node(&self, key: &str) -> Option<(&'static KeyDef, Node<'a>)> {
        let row = self.row(key);
        Some((row, self.table.get(key)?))
    }

    /// True if the key is there, right or wrong.
    pub fn has(&self, key: &str) -> bool {
        self.table.contains_key(self.row(key).name)
    }

    /// Where the value of a key stands; the whole table if the key is absent.
    pub fn span_of(&self, key: &str) -> Range<usize> {
        self.table.get(key).map_or_else(|| self.span.clone(), Spanned::span)
    }

    /// Notes that a key is missing which other keys make necessary.
    pub fn require(&self, walk: &mut Walk, key: &str) {
        walk.required(&self.name, self.span.clone(), self.table, &self.names(), key);
    }

    /// The value of a key, within the bounds of its row.
    pub fn value(&self, walk: &mut Walk, key: &str) -> Option<Value> {
        let (row, node) = self.node(key)?;
        walk.value(node, row)
    }

    /// A whole number.
    pub fn int<T: TryFrom<i64>>(&self, walk: &mut Walk, key: &str) -> Option<T> {
        let number = self.value(walk, key)?.int()?;
        T::try_from(number).ok()
    }

    /// A whole number within bounds that other keys narrow down.
    pub fn int_within(
        &self,
        walk: &mut Walk,
        key: &str,
        valid: RangeInclusive<u64>,
    ) -> Option<u64> {
        let (row, node) = self.node(key)?;
        let valid = *valid.start() as i64..=*valid.end() as i64;
        walk.int(node, key, valid, row.unit).map(|n| n as u64)
    }

    /// A number.
    pub fn float(&self, walk: &mut Walk, key: &str) -> Option<f64> {
        self.value(walk, key)?.float()
    }

    /// `true` or `false`.
    pub fn switch(&self, walk: &mut Walk, key: &str) -> Option<bool> {
        self.value(walk, key)?.bool()
    }

    /// A text, or one of the words that the key takes.
    pub fn text(&self, walk: &mut Walk, key: &str) -> Option<String> {
        match self.value(walk, key)? {
            Value::Word(text) => Some(text),
            _ => None,
        }
    }

    /// What one of the words that the key takes stands for.
    pub fn word<T: Copy>(
        &self,
        walk: &mut Walk,
        key: &str,
        words: &[(&'static str, T)],
    ) -> Option<T> {
        let word = self.text(walk, key)?;
        words.iter().find(|(name, _)| *name == word).map(|(_, meant)| *meant)
    }

    /// The value of a key, which is not checked.
    pub fn any(&self, key: &str) -> Option<Node<'a>> {
        Some(self.node(key)?.1)
    }

    /// The elements of an array, which are not checked.
    pub fn list(&self, walk: &mut Walk, key: &str) -> Option<Vec<Node<'a>>> {
        walk.array(self.node(key)?.1, key)
    }

    /// The table `[key]` in this one.
    pub fn table(&self, walk: &mut Walk, key: &str) -> Option<Table<'a>> {
        let (row, node) = self.node(key)?;
        let Kind::Table(keys) = row.kind else {
            return None;
        };
        let table = walk.table(node, key)?;
        Some(walk.open(format!("[{key}]"), node.span(), table, keys))
    }

    /// The tables `[[key]]` in this one.
    pub fn tables(&self, walk: &mut Walk, key: &str) -> Option<Vec<Table<'a>>> {
        let (row, node) = self.node(key)?;
        let Kind::Tables(keys) = row.kind else {
            return None;
        };
        let tables = walk.tables(node, key)?;
        let open = |(node, table): (Node<'a>, &'a DeTable<'a>)| {
            walk.open(format!("[[{key}]]"), node.span(), table, keys)
        };
        Some(tables.into_iter().map(open).collect())
    }
}

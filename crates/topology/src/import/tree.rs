//! A tree of small files, wherever it lies: on a disk, in memory, in a test.

use std::collections::{BTreeMap, BTreeSet};

/// Read access to a tree. Paths are relative to its root, with `/` between names.
pub trait FileTree {
    /// The text of a file; `None` if there is no such file.
    ///
    /// # Errors
    /// Why it cannot be read.
    fn text(&self, path: &str) -> Result<Option<String>, String>;

    /// The names in a directory, sorted; none if there is no such directory.
    fn names(&self, path: &str) -> Vec<String>;
}

/// A tree in memory.
#[derive(Clone, Debug, Default)]
pub struct MemTree {
    /// Text by path.
    pub files: BTreeMap<String, String>,
}

impl MemTree {
    /// A tree from one text: a line `== PATH` begins each file.
    pub fn parse(text: &str) -> Self {
        let files = text.split("== ").filter_map(|part| part.split_once('\n'));
        Self { files: files.map(|(path, text)| (path.to_owned(), text.to_owned())).collect() }
    }
}

impl FileTree for MemTree {
    fn text(&self, path: &str) -> Result<Option<String>, String> {
        Ok(self.files.get(path).cloned())
    }

    fn names(&self, path: &str) -> Vec<String> {
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        let below = self.files.range(prefix.clone()..);
        let below = below.map_while(|(file, _)| file.strip_prefix(&prefix));
        let names: BTreeSet<&str> = below.filter_map(|rest| rest.split('/').next()).collect();
        names.into_iter().map(str::to_owned).collect()
    }
}

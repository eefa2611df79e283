//! Typed access to the files of a tree. What is wrong is noted with its file and place.

use super::super::FileTree;
use super::super::runs::CpuRuns;
use input::{Fault, Source};
use std::collections::BTreeMap;
use std::rc::Rc;

/// More faults than this say nothing new.
const FAULTS_MAX: usize = 20;

pub(super) struct Reader<'a, T> {
    pub tree: &'a T,
    pub faults: Vec<Fault>,
    /// CPU sets by their text: thousands of CPUs repeat the same few.
    known: BTreeMap<(bool, String), Rc<CpuRuns>>,
}

impl<'a, T: FileTree> Reader<'a, T> {
    pub fn new(tree: &'a T) -> Self {
        Self { tree, faults: Vec::new(), known: BTreeMap::new() }
    }

    pub fn fault(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }

    /// The text of a file, `None` if it is not there.
    pub fn text(&mut self, path: &str) -> Option<String> {
        match self.tree.text(path) {
            Ok(text) => text,
            Err(why) => {
                self.fault(Fault::of_file(path, format!("cannot read it: {why}")));
                None
            }
        }
    }

    /// The number in a file, `None` if the file is not there or says something else.
    pub fn number(&mut self, path: &str) -> Option<i64> {
        let text = self.text(path)?;
        let number = text.trim().parse().ok();
        if number.is_none() {
            let message = format!("`{}` is no number", short(&text));
            let fault = Fault::at(0..text.trim_end().len(), message);
            self.fault(fault.of(&Source::new(path.to_owned(), text)));
        }
        number
    }

    /// The text of a file that may be anything: a file that cannot be read is not there.
    pub fn text_if_any(&self, path: &str) -> Option<String> {
        self.tree.text(path).ok().flatten()
    }

    /// The number in a file that may be anything.
    pub fn number_if_any(&self, path: &str) -> Option<i64> {
        self.text_if_any(path)?.trim().parse().ok()
    }

    /// The set of CPUs in the first of some files that is there, and which file that is.
    pub fn cpus<'f>(&mut self, files: &'f [(String, Form)]) -> Option<(&'f str, Rc<CpuRuns>)> {
        let (path, form, text) =
            files.iter().find_map(|(path, form)| Some((path, *form, self.text(path)?)))?;
        let key = (form == Form::List, text);
        if let Some(known) = self.known.get(&key) {
            return Some((path, known.clone()));
        }
        let parsed = match form {
            Form::List => CpuRuns::parse_list(&key.1),
            Form::Mask => CpuRuns::parse_mask(&key.1),
        };
        match parsed {
            Ok(cpus) => {
                let cpus = Rc::new(cpus);
                self.known.insert(key, cpus.clone());
                Some((path, cpus))
            }
            Err(fault) => {
                self.fault(fault.of(&Source::new(path.clone(), key.1)));
                None
            }
        }
    }

    /// The numbered names in a directory, such as `cpu7`, by number.
    pub fn numbered(&self, dir: &str, prefix: &str) -> Vec<u32> {
        let names = self.tree.names(dir);
        let number = |name: &String| {
            let digits = name.strip_prefix(prefix)?;
            digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
        };
        let mut numbers: Vec<u32> = names.iter().filter_map(number).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// How a file writes a set of CPUs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// `0-3,8`.
    List,
    /// `ff,00000000`.
    Mask,
}

/// The files of a set of siblings under its new and its old name, best first.
pub(super) fn siblings(dir: &str, names: &[&str]) -> Vec<(String, Form)> {
    let forms = |name: &&str| {
        [(format!("{dir}/{name}_list"), Form::List), (format!("{dir}/{name}"), Form::Mask)]
    };
    names.iter().flat_map(forms).collect()
}

/// The beginning of a text, for messages.
pub(super) fn short(text: &str) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(40).collect()
}

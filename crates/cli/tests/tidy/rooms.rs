//! Rooms inside a crate: the files of a folder import one another in one direction only.
//!
//! What is read is text: `use` statements of the crate's own modules, and calls of methods. A file
//! that only re-exports a name passes the arrow on to the file that has it.

use super::{Text, check, rust};
use std::collections::{BTreeMap, BTreeSet};

const POLICIES: &str = "crates/policies/src/";

/// The rooms of the fair class, from the bottom up: a room imports from those before it only.
const ROOMS: &[&str] = &["state", "queue", "shared", "balance", "wakeup", "class"];

/// A crate's files by module path: `["fair", "state"]` is `fair/state.rs`.
struct Modules {
    files: BTreeMap<Vec<String>, Text>,
}

impl Modules {
    fn of(folder: &str) -> Self {
        let mine = |t: &Text| t.path.starts_with(folder) && !t.is_test();
        let not_tests = |t: &Text| !t.path.ends_with("/testing.rs");
        let module = |t: &Text| {
            let path = t.path[folder.len()..].trim_end_matches(".rs");
            path.split('/').filter(|part| *part != "lib").map(String::from).collect()
        };
        let files = rust().into_iter().filter(|t| mine(t) && not_tests(t));
        Self { files: files.map(|t| (module(&t), t)).collect() }
    }

    /// All paths that a file imports from its own crate, one per name.
    fn imports(&self, module: &[String]) -> Vec<Vec<String>> {
        let code: Vec<&str> = self.files[module].code().map(|(_, line)| line).collect();
        let statements = code.join("\n");
        let uses = statements.split(';').filter_map(|s| {
            let at = s.rfind("use ").filter(|at| s[..*at].lines().last().is_none_or(is_start))?;
            Some(s[at + 4..].split_whitespace().collect::<String>())
        });
        uses.flat_map(|path| names(&path)).filter_map(|path| absolute(module, &path)).collect()
    }

    /// The file that has the last name of an absolute path.
    fn home(&self, path: &[String]) -> Option<Vec<String>> {
        let n = (0..=path.len()).rev().find(|n| self.files.contains_key(&path[..*n]))?;
        let (module, rest) = path.split_at(n);
        let Some(name) = rest.first() else {
            return Some(module.to_vec());
        };
        let named = |p: &Vec<String>| p.last() == Some(name) && p != path;
        let passed_on = self.imports(module).into_iter().find(named);
        match passed_on {
            Some(path) => self.home(&path),
            None => Some(module.to_vec()),
        }
    }

    /// From which files a file takes something, but for its own children's re-exports.
    fn arrows(&self, module: &[String]) -> BTreeSet<Vec<String>> {
        let homes = self.imports(module).into_iter().filter_map(|path| self.home(&path));
        homes.filter(|home| home != module).collect()
    }

    fn below(&self, folder: &str) -> Vec<&Vec<String>> {
        self.files.keys().filter(|m| m.first().is_some_and(|first| first == folder)).collect()
    }
}

/// The text before a `use` on its line: nothing, or how far it is seen.
fn is_start(before: &str) -> bool {
    let before = before.trim();
    before.is_empty() || before.starts_with("pub")
}

/// The paths of a `use` tree.
fn names(tree: &str) -> Vec<String> {
    let Some((prefix, rest)) = tree.split_once('{') else {
        return vec![tree.split(" as ").next().unwrap().to_string()];
    };
    let inner = rest.strip_suffix('}').unwrap_or(rest);
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (i, c) in inner.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(&inner[start..i]);
                start = i + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let whole = parts.into_iter().filter(|part| !part.is_empty());
    whole.flat_map(|part| names(&format!("{prefix}{part}"))).collect()
}

/// A path from the root of the crate; `None` for another crate's.
fn absolute(module: &[String], path: &str) -> Option<Vec<String>> {
    let mut parts: Vec<&str> = path.split("::").filter(|part| *part != "self").collect();
    let mut at = module.to_vec();
    match parts.first() {
        Some(&"crate") => at.clear(),
        Some(&"super") => {}
        // A child's name, as in `pub use child::Name`; the other crates are filtered here, too.
        Some(first) if first.chars().next().is_some_and(char::is_lowercase) => {
            at.extend(parts.iter().map(ToString::to_string));
            return Some(at).filter(|_| !OTHER_CRATES.contains(first));
        }
        _ => return None,
    }
    while parts.first() == Some(&"super") {
        parts.remove(0);
        at.pop();
    }
    at.extend(parts.iter().filter(|part| **part != "crate").map(ToString::to_string));
    Some(at)
}

const OTHER_CRATES: &[&str] = &["std", "sim_core", "topology", "proptest"];

/// Files that can be reached from themselves.
fn circle(arrows: &BTreeMap<&Vec<String>, BTreeSet<Vec<String>>>) -> Vec<String> {
    let reaches_itself = |start: &&Vec<String>| {
        let (mut seen, mut todo) = (BTreeSet::new(), vec![*start]);
        while let Some(at) = todo.pop() {
            let next = arrows.get(at).into_iter().flatten().filter(|n| seen.insert(*n));
            todo.extend(next);
        }
        seen.contains(*start)
    };
    arrows.keys().filter(|start| reaches_itself(start)).map(|m| m.join("/")).collect()
}

/// The place of a file of the fair class in [`ROOMS`]; `fair.rs` itself is above all.
fn room(module: &[String]) -> usize {
    let Some(name) = module.get(1) else {
        return ROOMS.len();
    };
    let place = ROOMS.iter().position(|room| room == name);
    place.unwrap_or_else(|| panic!("{} is in no room", module.join("/")))
}

#[test]
fn no_circle_of_files_in_the_policies() {
    let modules = Modules::of(POLICIES);
    for folder in ["fair", "ext"] {
        let files = modules.below(folder);
        let arrows = files.into_iter().map(|m| (m, modules.arrows(m))).collect();
        check("imports go one way inside a folder", circle(&arrows));
    }
}

#[test]
fn rooms_of_the_fair_class_are_imported_one_way() {
    let modules = Modules::of(POLICIES);
    let mut faults = Vec::new();
    for module in modules.below("fair") {
        let own = room(module);
        let up =
            modules.arrows(module).into_iter().filter(|home| home[0] == "fair" && room(home) > own);
        faults.extend(up.map(|home| format!("{} takes from {}", module.join("/"), home.join("/"))));
    }
    check("a room imports from those below it", faults);
}

/// A method of [`ROOMS`]' one struct can be called without an import: those have to go down too.
#[test]
fn rooms_of_the_fair_class_call_one_way() {
    let modules = Modules::of(POLICIES);
    let mut lowest: BTreeMap<String, usize> = BTreeMap::new();
    let files = modules.below("fair");
    for module in &files {
        let text = &modules.files[*module];
        let defined = text.code().filter_map(|(_, line)| line.split_once(" fn "));
        for (_, rest) in defined {
            let name = rest.split(['(', '<']).next().unwrap().to_string();
            let own = room(module);
            lowest.entry(name).and_modify(|at| *at = own.min(*at)).or_insert(own);
        }
    }
    let mut faults = Vec::new();
    for module in &files {
        let own = room(module);
        for (n, line) in modules.files[*module].code() {
            // "f." ends "self.", too.
            let receivers = ["f.", "S::"].into_iter();
            let calls = receivers.flat_map(|r| line.match_indices(r).map(|(i, _)| i + r.len()));
            for name in calls.filter_map(|at| line[at..].split_once('(')).map(|(name, _)| name) {
                if lowest.get(name).is_some_and(|at| *at > own) {
                    faults.push(format!("{}:{n} calls {name}", module.join("/")));
                }
            }
        }
    }
    check("a room calls methods of those below it", faults);
}

#[test]
fn a_use_tree_is_read_whole() {
    let module = ["fair", "balance", "pass"].map(String::from);
    let path = |p: &str| absolute(&module, p).map(|p| p.join("/"));
    assert_eq!(names("super::{a::B,c::{D,E}}"), ["super::a::B", "super::c::D", "super::c::E"]);
    assert_eq!(path("super::a::B").as_deref(), Some("fair/balance/a/B"));
    assert_eq!(path("crate::fair::Fair").as_deref(), Some("fair/Fair"));
    assert_eq!(path("sim_core::Ns"), None);
    let (a, b) = (vec!["a".to_string()], vec!["b".to_string()]);
    let arrows = [(&a, BTreeSet::from([b.clone()])), (&b, BTreeSet::from([a.clone()]))];
    assert_eq!(circle(&arrows.into_iter().collect()), ["a", "b"]);
}

//! The house style as a test: heads, sizes, forbidden words, and documents that name everything.
//!
//! What rustfmt and clippy check is left to them. A unit test module at the end of a file, and files
//! below a `tests` folder, are test code: there snapshots may be long and `unwrap` is welcome.

#[path = "tidy/rooms.rs"]
mod rooms;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const LINE_CHARS_MAX: usize = 100;
const FILE_LINES_MAX: usize = 700;

/// Words that must not be in the repository, in pieces, so that this file does not match itself.
const FORBIDDEN: &[&[&str]] = &[
    &["TO", "DO"],
    &["FIX", "ME"],
    &["dbg", "!("],
    &["/wo", "rk/"],
    &["../sha", "red"],
    &["sp", "ec/"],
    &["crates.io", "/"],
    &["/tm", "p/"],
    &["/ro", "ot/"],
    &["/ho", "me/"],
];

/// A text file of the repository.
struct Text {
    path: String,
    text: String,
}

impl Text {
    fn is_test(&self) -> bool {
        self.path.split('/').any(|part| part == "tests" || part == "tests.rs")
    }

    /// The lines before the unit test module, numbered from 1.
    fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.text.lines().zip(1..).map(|(line, n)| (n, line));
        let end = if self.is_test() { 0 } else { self.n_code_lines() };
        lines.take(end)
    }

    fn n_code_lines(&self) -> usize {
        let lines: Vec<&str> = self.text.lines().collect();
        let starts_tests =
            |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].contains("mod tests {");
        lines.windows(2).position(starts_tests).unwrap_or(lines.len())
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All text files of the repository, but what is built or hidden, licenses and pictures.
fn texts() -> Vec<Text> {
    let mut found = Vec::new();
    let mut folders = vec![root()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            let hidden = name.starts_with('.') && name != ".ci";
            if path.is_dir() {
                // A folder with a mark of cargo's own is a target directory, whatever its name.
                let built = path.join("CACHEDIR.TAG").exists() || name == "target";
                if !hidden && !built && name != "proptest-regressions" {
                    folders.push(path);
                }
            } else if !hidden && is_text(&name) {
                let text = fs::read_to_string(&path).unwrap();
                let path = path.strip_prefix(root()).unwrap().to_str().unwrap().to_string();
                found.push(Text { path, text });
            }
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    assert!(found.len() > 50, "the repository was not found");
    found
}

fn is_text(name: &str) -> bool {
    let extensions = [".rs", ".toml", ".md", ".py", ".yml"];
    name == "run" || extensions.iter().any(|e| name.ends_with(e))
}

fn rust() -> Vec<Text> {
    texts().into_iter().filter(|t| t.path.ends_with(".rs")).collect()
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Fails with all faults at once.
fn check(rule: &str, faults: Vec<String>) {
    assert!(faults.is_empty(), "{rule}:\n  {}", faults.join("\n  "));
}

#[test]
fn every_rust_file_says_first_what_it_is() {
    let bare = rust().into_iter().filter(|t| !t.text.starts_with("//! "));
    check("a file starts with `//! `", bare.map(|t| t.path).collect());
}

#[test]
fn lines_are_short() {
    let mut faults = Vec::new();
    for t in rust() {
        let long = t.code().filter(|(_, line)| line.chars().count() > LINE_CHARS_MAX);
        faults.extend(long.map(|(n, _)| format!("{}:{n}", t.path)));
    }
    check("a line has at most 100 characters", faults);
}

#[test]
fn files_are_of_a_size_to_read() {
    let long = rust().into_iter().filter(|t| t.code().count() > FILE_LINES_MAX);
    check("a file has at most 700 lines", long.map(|t| t.path).collect());
}

#[test]
fn libraries_do_not_unwrap() {
    let mut faults = Vec::new();
    for t in rust().into_iter().filter(|t| t.path.starts_with("crates/")) {
        let unwraps = t
            .code()
            .filter(|(_, line)| line.contains(".unwrap()") && !line.trim_start().starts_with("//"));
        faults.extend(unwraps.map(|(n, _)| format!("{}:{n}", t.path)));
    }
    check("`expect(\"why it cannot happen\")`, or an error", faults);
}

#[test]
fn forbidden_words_are_nowhere() {
    let mut faults = Vec::new();
    for t in texts() {
        for (line, n) in t.text.lines().zip(1..) {
            let words = FORBIDDEN.iter().map(|pieces| pieces.concat());
            let bad = words.filter(|word| line.contains(word.as_str()));
            faults.extend(bad.map(|word| format!("{}:{n}: {word}", t.path)));
        }
    }
    check("not in this repository", faults);
}

#[test]
fn no_text_cites_a_document_that_is_not_here() {
    let is_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    let is_section = |line: &str| line.split("spec ").skip(1).any(is_number);
    let is_vector = |word: &str| {
        let number = word.trim_matches(|c: char| !c.is_alphanumeric()).strip_prefix('T');
        number.is_some_and(|n| n.contains('.') && n.parse::<f32>().is_ok())
    };
    let mut faults = Vec::new();
    for t in texts().into_iter().filter(|t| t.path.ends_with(".rs") || t.path.ends_with(".md")) {
        let bad = |line: &str| is_section(line) || line.split_whitespace().any(is_vector);
        let lines = t.text.lines().zip(1..).filter(|(line, _)| bad(line));
        faults.extend(lines.map(|(_, n)| format!("{}:{n}", t.path)));
    }
    check("the kernel's function and version, or the rule in words", faults);
}

#[test]
fn every_scenario_is_named_in_the_documents() {
    let texts = texts();
    let documents = || texts.iter().filter(|t| t.path.ends_with(".md"));
    let scenarios = texts.iter().filter(|t| {
        t.path.starts_with("scenarios/")
            && t.path.ends_with(".toml")
            && !t.path.contains("machines")
    });
    let unnamed = scenarios.filter(|s| !documents().any(|d| d.text.contains(&s.path)));
    check("name it in README.md or docs/", unnamed.map(|s| s.path.clone()).collect());
}

#[test]
fn every_calibrated_scenario_is_named_where_calibration_is_explained() {
    let page = read("docs/CALIBRATION.md");
    let calibrated = texts().into_iter().filter(|t| {
        t.path.starts_with("scenarios/")
            && t.text.lines().any(|l| l.starts_with("calibrated = true"))
    });
    let unnamed = calibrated.filter(|t| !page.contains(&t.path));
    check("name it in docs/CALIBRATION.md", unnamed.map(|t| t.path).collect());
}

#[test]
fn every_published_row_says_what_is_known_about_its_mechanism() {
    let mut silent = Vec::new();
    for t in texts().into_iter().filter(|t| t.path.starts_with("scenarios/")) {
        let rows = t.text.split("\n[[published]]\n").skip(1).zip(1..);
        let is_silent = |row: &str| !row.lines().any(|line| line.starts_with("mechanism"));
        silent.extend(
            rows.filter(|(row, _)| is_silent(row)).map(|(_, n)| format!("{}: row {n}", t.path)),
        );
    }
    check("`mechanism` and its reason in docs/CALIBRATION.md", silent);
}

#[test]
fn every_scenario_and_machine_says_what_it_is() {
    let files = texts().into_iter().filter(|t| t.path.starts_with("scenarios/"));
    let bare = files.filter(|t| !t.text.starts_with("# ") || !t.text.contains("\ntitle"));
    check("a comment first, and a title", bare.map(|t| t.path).collect());
}

#[test]
fn every_dependency_says_what_it_is_for() {
    let architecture = read("docs/ARCHITECTURE.md");
    let manifest = read("Cargo.toml");
    let from = manifest.split("[workspace.dependencies]").nth(1).unwrap();
    let section = from.split("\n[").next().unwrap();
    let names = section.lines().filter_map(|l| l.split_once(" = ")).map(|(name, _)| name.trim());
    let unnamed = names.filter(|name| !architecture.contains(&format!("`{name}`")));
    check("give it its line in docs/ARCHITECTURE.md", unnamed.map(String::from).collect());
}

/// The floors that a crate depends on, its tests aside.
fn uses(name: &str, floors: &[&str]) -> BTreeSet<String> {
    let manifest = read(&format!("crates/{name}/Cargo.toml"));
    let section = manifest.split("[dependencies]\n").nth(1).unwrap().split("\n[").next().unwrap();
    let names = section.lines().filter_map(|line| line.split([' ', '.', '=']).next());
    names.filter(|name| floors.contains(name)).map(String::from).collect()
}

#[test]
fn every_crate_uses_the_floors_below_it_that_the_house_names() {
    let page = read("docs/ARCHITECTURE.md");
    let rows: Vec<Vec<&str>> = page
        .lines()
        .skip_while(|line| !line.starts_with("| crate | what it knows"))
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(|line| line.split('|').map(str::trim).collect())
        .collect();
    let floors: Vec<&str> = rows.iter().map(|row| row[1].trim_matches('`')).collect();
    let folders = fs::read_dir(root().join("crates")).unwrap();
    let mut crates: Vec<String> =
        folders.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    crates.retain(|name| !floors.contains(&name.as_str()));
    check("a crate without a row in docs/ARCHITECTURE.md", crates);
    for (at, row) in rows.iter().enumerate() {
        let named = row[3].split(',').filter_map(|name| name.split_whitespace().next());
        let named: BTreeSet<String> = named.map(String::from).collect();
        assert_eq!(uses(floors[at], &floors), named, "what `{}` uses", floors[at]);
        let above = named.iter().filter(|name| !floors[at + 1..].contains(&name.as_str()));
        check("a crate uses only floors below it", above.cloned().collect());
    }
}

#[test]
fn links_between_documents_lead_somewhere() {
    let mut faults = Vec::new();
    for t in texts().into_iter().filter(|t| t.path.ends_with(".md")) {
        let folder = root().join(&t.path).parent().unwrap().to_path_buf();
        for link in t.text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            let local = !file.is_empty() && !file.contains("://");
            if local && !folder.join(file).exists() {
                faults.push(format!("{}: {link}", t.path));
            }
        }
    }
    check("no such file", faults);
}

#[test]
fn the_scenario_in_the_readme_is_valid() {
    let readme = read("README.md");
    let example = readme.split("```toml\n").nth(1).unwrap().split("```").next().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("my.toml");
    fs::write(&path, example).unwrap();
    let program = env!("CARGO_BIN_EXE_schedlab");
    let output = Command::new(program).arg("check").arg(&path).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_complete_policy_fits_a_page() {
    let page = read("docs/POLICY.md");
    let example = page.split("```rust\n").nth(1).unwrap().split("```").next().unwrap();
    assert!(example.contains("impl Ops for") && example.contains("fn main"));
    assert!(example.lines().count() < 80, "{} lines", example.lines().count());
}

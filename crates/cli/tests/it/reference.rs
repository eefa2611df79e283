//! The book in docs/: pages that are generated are current, and what it shows works.

use crate::lab::Lab;
use std::path::{Path, PathBuf};

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// `SNAPSHOTS=overwrite` writes them anew, as it does with other snapshots.
#[test]
fn pages_of_the_reference_are_what_the_lists_print() {
    let lab = Lab::new();
    for what in
        ["policies", "features", "tunables", "workloads", "metrics", "machines", "scenarios"]
    {
        let page = lab.output(["list", what, "--format", "markdown"]);
        let file = docs().join(format!("reference/{what}.md"));
        if std::env::var("SNAPSHOTS").is_ok_and(|how| how == "overwrite") {
            std::fs::write(&file, &page).unwrap();
        }
        let kept = std::fs::read_to_string(&file).unwrap_or_default();
        assert!(
            kept == page,
            "{what}: schedlab list {what} --format markdown > {}",
            file.display()
        );
    }
}

/// The chapters of the guide.
fn guide() -> Vec<(String, String)> {
    let mut pages: Vec<_> = std::fs::read_dir(docs().join("guide"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.display().to_string(), std::fs::read_to_string(path).unwrap()))
        .collect();
    pages.sort();
    pages
}

/// The blocks of a page in a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let begin = format!("```{language}\n");
    page.split(&begin).skip(1).map(|rest| rest.split("```").next().unwrap()).collect()
}

#[test]
fn scenarios_and_machines_of_the_guide_are_valid() {
    let lab = Lab::new();
    let mut n = 0;
    for (path, page) in guide() {
        for block in blocks(&page, "toml") {
            // Parts of files are shown in between.
            if !block.contains("[[variant]]\nname") && !block.contains("llcs_per_socket") {
                continue;
            }
            n += 1;
            lab.file("load.json", r#"{ "tasks": { "t": { "loop": 1, "run": 900 } } }"#);
            lab.file("shown.toml", block);
            let done = lab.command(["check", "shown.toml"]).output().unwrap();
            assert!(done.status.success(), "{path}: {}", String::from_utf8_lossy(&done.stderr));
        }
    }
    assert!(n >= 3, "{n}");
}

#[test]
fn commands_of_the_guide_exist() {
    let lab = Lab::new();
    let help = lab.output(["--help"]);
    let scenarios = lab.output(["list", "scenarios"]);
    let mut n = 0;
    for (path, page) in guide() {
        let lines = blocks(&page, "sh").into_iter().flat_map(str::lines);
        for line in lines.filter_map(|line| line.trim().strip_prefix("schedlab ")) {
            n += 1;
            let word = line.split_whitespace().next().unwrap();
            let names =
                |list: &str| list.lines().any(|l| l.trim().starts_with(&format!("{word} ")));
            assert!(word.ends_with(".toml") || names(&help) || names(&scenarios), "{path}: {line}");
            // Options are those of the command.
            let own = if names(&help) { lab.output([word, "--help"]) } else { help.clone() };
            let own = if word == "topology" {
                own + &lab.output(["topology", "import", "--help"])
                    + &lab.output(["topology", "show", "--help"])
            } else {
                own
            };
            for option in line.split_whitespace().filter(|word| word.starts_with("--")) {
                assert!(own.contains(option), "{path}: {line}");
            }
        }
    }
    assert!(n >= 20, "{n}");
}

#[test]
fn every_document_is_a_chapter_of_the_book() {
    let summary = std::fs::read_to_string(docs().join("SUMMARY.md")).unwrap();
    for folder in ["", "guide", "reference"] {
        for entry in std::fs::read_dir(docs().join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(docs()).unwrap().display().to_string();
            if name.ends_with(".md") && name != "SUMMARY.md" {
                assert!(summary.contains(&format!("({name})")), "{name}");
            }
        }
    }
}

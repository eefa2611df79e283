//! What comes with the program: the scenarios and machines of the project, by their names.
//!
//! A name is the path below `scenarios/` (below `scenarios/machines/` for a machine) without its
//! extension: `bergamo`, `rt-app/alone`. A file that is named exactly so wins over what comes with
//! the program. Inside the loader a shipped file has a path that begins with `ROOT`, so that the
//! files that it names are found beside it.

use crate::load::Files;
use input::{nearest, parse};
use std::path::{Component, Path, PathBuf};

/// All files, each with its path below `scenarios/`, in order.
static FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/shipped_files.rs"));

/// The first part of the paths of shipped files. No folder has such a name.
const ROOT: &str = "schedlab:";
/// The folder of the machines.
const MACHINES: &str = "machines/";
const EXTENSION: &str = ".toml";

/// The scenario that `schedlab init` writes; NAME stands for its name.
const TEMPLATE: &str = include_str!("init.toml");

/// A scenario to begin with, as the text of the file `NAME.toml`.
pub fn template(name: &str) -> String {
    TEMPLATE.replace("NAME", name)
}

/// A scenario in a few words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summary {
    /// What it is called on the command line.
    pub name: &'static str,
    /// Kind of its workload.
    pub workload: String,
    /// Name of its machine; `None` if it describes one itself.
    pub machine: Option<String>,
    /// Its title.
    pub title: String,
}

/// The names of all scenarios, in order.
pub fn scenarios() -> impl Iterator<Item = &'static str> {
    names().filter(|name| !name.starts_with(MACHINES))
}

/// The names of all machines, in order.
pub fn machines() -> impl Iterator<Item = &'static str> {
    names().filter_map(|name| name.strip_prefix(MACHINES))
}

/// The path of a shipped scenario, which no file of its name can hide.
pub fn scenario_path(name: &str) -> PathBuf {
    path_of(name)
}

/// The path of a shipped machine, which no file of its name can hide.
pub fn machine_path(name: &str) -> PathBuf {
    path_of(&format!("{MACHINES}{name}"))
}

fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(path, _)| path.strip_suffix(EXTENSION))
}

/// All scenarios in a few words each.
pub fn summaries() -> Vec<Summary> {
    scenarios().map(summary).collect()
}

fn summary(name: &'static str) -> Summary {
    let text = text(&path_of(name)).unwrap_or_default();
    let doc = parse(text).map(toml::Spanned::into_inner).unwrap_or_default();
    let word = |node: Option<&toml::Spanned<toml::de::DeValue<'_>>>| {
        node.and_then(|node| node.get_ref().as_str()).unwrap_or_default().to_string()
    };
    let machine = word(doc.get("machine"));
    let machine = match Path::new(&machine).file_stem() {
        Some(stem) if machine.ends_with(EXTENSION) => Some(stem.to_string_lossy().into_owned()),
        _ => None,
    };
    Summary {
        name,
        workload: word(doc.get("workload").and_then(|table| table.get_ref().get("kind"))),
        machine,
        title: word(doc.get("title")),
    }
}

/// Where to find a scenario that was asked for, and what is to be remarked on if a file has the
/// same name.
pub(crate) fn find_scenario(files: &dyn Files, asked: &Path) -> (PathBuf, Option<String>) {
    find(files, (asked, asked), "", "scenario")
}

/// The same for a machine; `beside` is the file that its name would be the path of.
pub fn find_machine(files: &dyn Files, asked: &Path, beside: &Path) -> (PathBuf, Option<String>) {
    find(files, (asked, beside), MACHINES, "machine")
}

fn find(
    files: &dyn Files,
    (asked, file): (&Path, &Path),
    folder: &str,
    what: &str,
) -> (PathBuf, Option<String>) {
    let name = asked.to_str().unwrap_or_default();
    let shipped = path_of(&format!("{folder}{name}"));
    if text(&shipped).is_none() || text(file).is_some() {
        return (file.to_path_buf(), None);
    }
    if files.is_there(file) {
        let remark = format!("`{name}` is the file of that name, not schedlab's own {what}");
        return (file.to_path_buf(), Some(remark));
    }
    let neighbor = file.with_extension("toml");
    let remark = || {
        let neighbor = neighbor.display();
        format!("`{name}` is the {what} that comes with schedlab; {neighbor} is another one")
    };
    (shipped, files.is_there(&neighbor).then(remark))
}

/// A hint for a scenario that is not there: the shipped one of its name, or of the nearest one.
pub fn scenario_hint(asked: &Path) -> Option<String> {
    let asked = asked.with_extension("");
    let below = |path: &Path| path.strip_prefix("scenarios").unwrap_or(path).to_path_buf();
    let by_stem = || scenarios().find(|name| Path::new(name).file_name() == asked.file_name());
    let near = nearest(below(&asked).to_str()?, scenarios()).or_else(by_stem)?;
    Some(format!("did you mean `{near}`? It comes with schedlab: no path, no .toml"))
}

/// The same for a machine.
pub fn machine_hint(asked: &Path) -> Option<String> {
    let stem = asked.file_stem()?.to_str()?;
    match nearest(stem, machines()) {
        Some(near) => {
            Some(format!("did you mean `{near}`? It comes with schedlab: no path, no .toml"))
        }
        None => Some("`schedlab list machines` prints those that come with schedlab".to_string()),
    }
}

/// The path of a shipped file without its extension.
fn path_of(name: &str) -> PathBuf {
    Path::new(ROOT).join(format!("{name}{EXTENSION}"))
}

/// True for the path of a shipped file, or of one that would be beside it.
pub(crate) fn is_inside(path: &Path) -> bool {
    path.starts_with(ROOT)
}

/// The text of a shipped file, by its path inside.
pub(crate) fn text(path: &Path) -> Option<&'static str> {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.strip_prefix(ROOT).ok()?.components() {
        match part {
            Component::Normal(name) => parts.push(name.to_str()?),
            Component::ParentDir => drop(parts.pop()?),
            _ => {}
        }
    }
    let wanted = parts.join("/");
    FILES.iter().find(|(path, _)| *path == wanted).map(|(_, text)| *text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The program has what the folder has: the list is made when it is built.
    #[test]
    fn every_scenario_and_machine_of_the_project_is_inside() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut folders = vec![root.clone()];
        let (mut n_scenarios, mut n_machines) = (0, 0);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                    continue;
                }
                let content = std::fs::read_to_string(&path).unwrap();
                let below = path.strip_prefix(&root).unwrap();
                let is_machine = below.starts_with("machines");
                let is_scenario = content.contains("\n[[variant]]\n");
                if is_machine || is_scenario {
                    assert_eq!(text(&Path::new(ROOT).join(below)), Some(&*content), "{below:?}");
                }
                n_machines += usize::from(is_machine);
                n_scenarios += usize::from(is_scenario);
            }
        }
        assert_eq!((scenarios().count(), machines().count()), (n_scenarios, n_machines));
        assert!(n_scenarios > 30 && n_machines > 8, "{n_scenarios} and {n_machines}");
    }

    #[test]
    fn every_shipped_scenario_can_be_loaded_by_its_name() {
        for Summary { name, workload, machine, title } in summaries() {
            let study = crate::load_study(Path::new(name), &[]).unwrap_or_else(|faults| {
                panic!("{name}: {}", faults.render(false));
            });
            let first = &study.points[0].experiment;
            assert_eq!(study.title, title);
            assert_eq!(first.workload.def.kind, workload, "{name}");
            assert!(machine.is_none_or(|machine| machine == first.machine.name), "{name}");
            assert_eq!(first.remarks, Vec::<String>::new());
        }
    }

    #[test]
    fn the_scenario_to_begin_with_is_right_and_short() {
        let study = crate::load_study_str(Path::new("my.toml"), template("my"), &[]);
        let study = study.unwrap_or_else(|faults| panic!("{}", faults.render(false)));
        assert!(study.title.starts_with("my: ") && study.n_runs() == 10);
        assert!(!template("my").contains("NAME"), "{}", template("my"));
    }

    #[test]
    fn a_file_beside_a_shipped_one_is_found_by_its_path() {
        let inside = |path: &str| text(&Path::new(ROOT).join(path)).is_some();
        assert!(inside("rt-app/../machines/vm-2cpu.toml") && inside("rt-app/alone.json"));
        assert!(!inside("machines/none.toml") && !inside("../machines/milan.toml"));
        assert_eq!(text(Path::new("machines/milan.toml")), None);
    }

    #[test]
    fn hints_name_what_comes_with_the_program() {
        let near = |hint: Option<String>| {
            hint.map_or("none".to_string(), |hint| hint.split('`').nth(1).unwrap().to_string())
        };
        let scenario = |asked: &str| near(scenario_hint(Path::new(asked)));
        assert_eq!(scenario("scenarios/bergamo.toml"), "bergamo");
        assert_eq!(scenario("../bergamo.toml"), "bergamo");
        assert_eq!(scenario("bergmo"), "bergamo");
        assert_eq!(scenario("scenarios/rt-app/alone.toml"), "rt-app/alone");
        assert_eq!(scenario("entirely-else"), "none");
        assert_eq!(near(machine_hint(Path::new("machines/milan.toml"))), "milan");
        assert_eq!(near(machine_hint(Path::new("mian"))), "milan");
    }
}

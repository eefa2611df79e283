//! What a store keeps, refuses and tells.

use super::*;
use crate::analysis::tests::experiment;
use scenario::{Executor, LlcUtilization, LongWait, MockExecutor};
use std::time::{Duration, SystemTime};

fn output() -> RunOutput {
    let experiment = experiment(1, &["off"]);
    let spec = experiment.spec(&experiment.variants[0], 1);
    MockExecutor.run(&spec, &|_| {}).unwrap()
}

/// A store with one run, named `a`.
fn store() -> (tempfile::TempDir, Store) {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::new(dir.path());
    store.prepare().unwrap();
    store.put("a", &output()).unwrap();
    (dir, store)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names = files(folder).unwrap();
    names.sort();
    names
}

#[test]
fn what_is_read_is_what_was_written_to_the_bit() {
    let (_dir, store) = store();
    let mut output = output();
    output.metrics[0].value = 0.1 + 0.2;
    output.metrics[1].value = f64::INFINITY;
    output.utilization = Some(LlcUtilization { bucket_ns: 7, shares: vec![vec![0.1, 1.0 / 3.0]] });
    output.longest_waits = vec![LongWait {
        at_ns: 1,
        ns: u64::MAX,
        task: ("a \"b\"".into(), 7),
        cpu: 3,
        behind: None,
        goes_on: true,
    }];
    store.put("b", &output).unwrap();
    assert_eq!(store.get("b").unwrap(), Some(output));
    assert_eq!(store.get("c").unwrap(), None);
}

#[test]
fn the_same_again_is_nothing_new() {
    let (dir, store) = store();
    let before = std::fs::read(store.path("a")).unwrap();
    store.put("a", &output()).unwrap();
    assert_eq!(std::fs::read(store.path("a")).unwrap(), before);
    assert_eq!(names(&dir.path().join(RUNS)), ["a.json"]);
    assert!(store.known().unwrap().alarms.is_empty());
}

#[test]
fn another_result_of_the_same_run_is_an_alarm_with_both_places() {
    let (dir, store) = store();
    let mut other = output();
    other.metrics[0].value += 1.0;
    let error = store.put("a", &other).unwrap_err();
    let StoreError::Differs { there, other: second } = &error else { panic!("{error}") };
    assert_eq!(there, &store.path("a"));
    assert!(second.starts_with(dir.path().join(ALARMS)) && second.exists(), "{error}");
    assert_eq!(store.get("a").unwrap(), Some(output()), "the first one stays");
    let known = store.known().unwrap();
    assert_eq!(known.alarms, std::slice::from_ref(second));
    assert_eq!(store.alarm(second).to_string(), error.to_string());
}

#[test]
fn a_damaged_file_is_named_and_gives_way() {
    let (dir, store) = store();
    let path = store.path("a");
    let whole = std::fs::read_to_string(&path).unwrap();
    let digit = whole.find("\"run\"").unwrap() - 5;
    let changed = |by: &str| whole[..digit].to_string() + by + &whole[digit + 1..];
    let changed = if whole[digit..].starts_with('0') { changed("1") } else { changed("0") };
    std::fs::write(store.path("b"), &whole).unwrap();
    let said = store.get("b").unwrap_err().to_string();
    assert!(said.contains("b.json is damaged: it is the file of another run"), "{said}");
    for (text, what) in [
        (&whole[..whole.len() / 2], "it is not whole"),
        ("", "it is not whole"),
        (&changed, "its digest is another one"),
    ] {
        std::fs::write(&path, text).unwrap();
        let said = store.get("a").unwrap_err().to_string();
        assert!(said.contains(&format!("a.json is damaged: {what}")), "{said}");
        store.put("a", &output()).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), whole);
        assert!(dir.path().join(RUNS).join("a.damaged").exists());
    }
    assert!(store.known().unwrap().alarms.is_empty());
}

#[test]
fn a_failure_is_kept_until_it_is_forgotten() {
    let (_dir, store) = store();
    store.put_failed("b", "no progress").unwrap();
    store.put_failed("b", "said in other words").unwrap();
    assert_eq!(store.failure("b").unwrap().as_deref(), Some("no progress"));
    assert!(store.known().unwrap().failed.contains("b"));
    store.forget_failure("b").unwrap();
    store.forget_failure("b").unwrap();
    assert_eq!(store.failure("b").unwrap(), None);
}

#[test]
fn what_killed_writers_left_behind_is_removed_once_it_is_old() {
    let (dir, store) = store();
    let runs = dir.path().join(RUNS);
    let left = |name: &str, age_s: u64| {
        let file = std::fs::File::create(runs.join(name)).unwrap();
        file.set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
    };
    left(".schedlab-old", 7200);
    left(".schedlab-young", 60);
    left("old-and-not-ours", 7200);
    // Of a killed planner.
    let copies = dir.path().join(".schedlab-copies");
    std::fs::create_dir(&copies).unwrap();
    std::fs::write(copies.join("file"), "").unwrap();
    let long_ago = SystemTime::now() - Duration::from_secs(7200);
    std::fs::File::open(&copies).unwrap().set_modified(long_ago).unwrap();
    assert_eq!(store.known().unwrap().done.len(), 1);
    store.remove_remains();
    assert_eq!(names(&runs), [".schedlab-young", "a.json", "old-and-not-ours"]);
    assert!(!copies.exists());
}

#[test]
fn many_writers_of_one_run_leave_one_file() {
    let (dir, store) = store();
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..20).for_each(|n| store.put(&format!("n{n}"), &output()).unwrap()));
        }
    });
    assert_eq!(names(&dir.path().join(RUNS)).len(), 21);
    assert!(store.known().unwrap().alarms.is_empty());
}

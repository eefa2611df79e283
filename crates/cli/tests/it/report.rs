//! `schedlab report`: the page and what is beside it.

use crate::lab::{Lab, SCENARIO};
use snapbox::str;

#[test]
fn a_page_is_written_and_nothing_is_printed() {
    let lab = Lab::new();
    let run = lab.run(["report", "small.toml", "--html", "page.html", "--quiet"]);
    run.success().stdout_eq("").stderr_eq("");
    let page = std::fs::read_to_string(lab.path("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.trim_end().ends_with("</html>"));
    assert!(page.contains("schedlab report small.toml --html FILE"));
    assert!(page.contains("id=\"columns-0-0\"") && page.contains("id=\"columns-0-1\""));
}

#[test]
fn the_page_does_not_depend_on_jobs_and_shows_what_was_asked_for() {
    let lab = Lab::new();
    let page = |name: &str, more: &[&str]| {
        let args = [&["report", "small.toml", "--html", name, "--quiet"], more].concat();
        lab.run(args).success();
        std::fs::read_to_string(lab.path(name)).unwrap()
    };
    let all = page("a.html", &["--jobs", "1"]);
    assert_eq!(all, page("b.html", &["--jobs", "4"]));
    let window = page("c.html", &["--window", "1ms..2ms"]);
    assert!(window.contains("--window 1000000ns..2000000ns") && window.len() < all.len());
    let few = page("d.html", &["--slices", "10"]);
    assert!(few.contains("\"is_full\":true") && few.len() < all.len());
}

#[test]
fn out_has_the_page_and_all_plots() {
    let lab = Lab::new();
    lab.run(["report", "small.toml", "--out", "out", "--quiet"]).success();
    let mut names: Vec<String> = std::fs::read_dir(lab.path("out"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    let expected = [
        "deltas.svg",
        "migrations.svg",
        "report.html",
        "results.csv",
        "results.json",
        "utilization.svg",
        "wakeup_latency.svg",
    ];
    assert_eq!(names, expected);
}

#[test]
fn scenarios_are_chapters_and_a_sweep_has_no_timeline() {
    let lab = Lab::new();
    let (unpublished, _) = SCENARIO.split_once("\n[[published]]").unwrap();
    lab.file("sweep.toml", format!("{unpublished}\n[sweep]\nmachine.hz = [250, 1000]\n"));
    let args = ["report", "small.toml", "sweep.toml", "--html", "both.html", "--quiet"];
    lab.run(args).success();
    let page = std::fs::read_to_string(lab.path("both.html")).unwrap();
    assert!(page.contains("id=\"chapter-0\"") && page.contains("id=\"chapter-1\""));
    let sweep = page.split("id=\"chapter-1\"").nth(1).unwrap();
    let sweep = sweep.split("</article>").next().unwrap();
    assert!(sweep.contains("data-draw=\"sweep\"") && !sweep.contains("data-draw=\"timeline\""));
}

#[test]
fn what_cannot_be_written_is_told_before_anything_is_run() {
    let lab = Lab::new();
    lab.run(["report", "small.toml", "--html", "nowhere/page.html"])
        .code(2)
        .stdout_eq("")
        .stderr_eq(str![[r#"
error: cannot write nowhere/page.html: there is no directory nowhere

"#]]);
    lab.run(["report", "small.toml", "--html", "small.toml"]).code(2).stdout_eq("").stderr_eq(
        str![[r#"
error: cannot write small.toml: it is an input of this run

"#]],
    );
    lab.run(["report", "small.toml"]).code(2);
    lab.run(["report", "small.toml", "--html", "x", "--window", "2ms..1ms"]).code(2);
}

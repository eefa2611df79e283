//! What the page does, with a run of some milliseconds.

use crate::browser::Browser;
use fantoccini::actions::{InputSource, MouseActions, PointerAction, WheelAction, WheelActions};
use fantoccini::key::Key;
use report::page::{Chapter, page};
use report::{Analysis, Outcome};
use scenario::recorded::{Came, Keep, Recorded, Slice};
use scenario::{Silent, load_str, load_study_str};
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;

const TEXT: &str = r#"
    title    = "Builds <i>beside</i> each other"
    policy   = "cfs"
    rules    = "6.4"
    workload = { kind = "kernel-build", work_seconds = 1 }
    run      = { seeds = 2, until = "80ms" }
    [[variant]]
    name     = "without"
    baseline = true
    [[variant]]
    name     = "<img src=x onerror=console.error(1)>"
    features = ["SWQUEUE"]
    [machine]
    llcs_per_socket = 2
    cores_per_llc = 4
    latency = { llc_ns = 25, node_ns = 110 }
    caches = { l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }
"#;

const CANVAS: &str = ".tl-canvas";
const STATUS: &str = "document.querySelector('.tl-status').textContent";

/// The page in a directory of its own, the JSON of the same runs, and what was recorded of them.
struct Made {
    dir: TempDir,
    json: serde_json::Value,
    recorded: Vec<Recorded>,
}

impl Made {
    fn new(slices_max: usize) -> Self {
        let experiment = load_str(Path::new("small.toml"), TEXT.to_string())
            .unwrap_or_else(|faults| panic!("{}", faults.render(false)));
        let results = experiment.run(scenario::engine().as_ref(), 1, &Silent).unwrap();
        let analysis = Analysis::new(&experiment, &results);
        let json = serde_json::from_str(&report::json(&analysis)).unwrap();
        let outcome = Outcome::One(Box::new(analysis));
        let keep = Keep { from_ns: 0, to_ns: u64::MAX, slices_max, signals: true };
        let recorded = experiment.record(1, keep, 1, &Silent).unwrap();
        let experiment = Some(&experiment);
        let chapter = Chapter { outcome: &outcome, experiment, seed: 1, recorded: &recorded };
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("page.html"), page(&[chapter], "schedlab")).unwrap();
        Self { dir, json, recorded }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("page.html")
    }
}

/// Runs a test with an open page; without a browser it has said so, and nothing is tested.
fn with_page(slices_max: usize, test: impl AsyncFnOnce(&Browser, &Made)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let Some(browser) = Browser::start().await else { return };
        let made = Made::new(slices_max);
        browser.open(&made.path(), "").await;
        test(&browser, &made).await;
        let (console, _) = browser.logs().await;
        assert_eq!(console, Vec::<String>::new(), "the console");
        browser.client.clone().close().await.unwrap();
    });
}

#[test]
fn a_page_asks_for_nothing_and_complains_of_nothing() {
    with_page(usize::MAX, async |browser, made| {
        let (console, addresses) = browser.logs().await;
        assert_eq!(console, Vec::<String>::new());
        let own = format!("file://{}", made.path().display());
        let foreign = |url: &&String| **url != own && !url.starts_with("data:");
        assert_eq!(addresses.iter().filter(foreign).count(), 0, "{addresses:?}");
        assert!(addresses.contains(&own), "{addresses:?}");
        let drawn = "[...document.querySelectorAll('[data-draw]')].every(d => d.childElementCount)";
        assert_eq!(browser.eval(drawn).await, true);
        assert_eq!(browser.eval("document.images.length").await, 0);
        assert_eq!(browser.eval("document.querySelectorAll('h1 i').length").await, 0);
    });
}

#[test]
fn numbers_of_the_page_are_those_of_the_json() {
    with_page(usize::MAX, async |browser, made| {
        let cells = "[...document.querySelectorAll('td[data-value]')]\
                     .map(td => [td.dataset.name, td.dataset.value])";
        let cells = browser.eval(cells).await;
        let mut compared = 0;
        for cell in cells.as_array().unwrap() {
            let (name, value) = (cell[0].as_str().unwrap(), cell[1].as_str().unwrap());
            let [variant, metric, field] = name.split('/').collect::<Vec<_>>()[..] else {
                continue;
            };
            let variants = made.json["variants"].as_array().unwrap();
            let Some(variant) = variants.iter().find(|v| v["name"] == variant) else { continue };
            let table = if field == "mean" { "metrics" } else { "vs_baseline" };
            if let Some(expected) = variant[table][metric][field].as_f64() {
                assert_eq!(value.parse::<f64>().unwrap(), expected, "{name}");
                compared += 1;
            }
        }
        assert!(compared > 20, "{compared}");
    });
}

/// Reads the columns of a variant once more, and tells every turn.
const READ: &str = "
    const [text, variant, done] = arguments;
    const chapter = JSON.parse(document.getElementById('data').textContent)[0];
    const element = make('script', { type: 'text/plain', id: 'columns-7-0' });
    element.textContent = text;
    document.body.append(element);
    readTurns(7, 0, chapter.variants[variant].recorded).then((turns) => {
      const { at, end, waited, task, wakerCpu, lastCpu, rule, came, ended, run } = turns;
      const name = (task) => (task < 0 ? null : turns.name(task));
      const told = (i) => [at[i], end[i] - at[i], waited[i], name(task[i]), name(turns.waker(i)),
        wakerCpu[i], lastCpu[i], run.rules[rule[i]][0], came[i], ended[i]];
      done([...run.n_slices, ...Array.from({ length: turns.n }, (_, i) => told(i))]);
    });
";

#[test]
fn what_the_browser_reads_is_what_was_recorded() {
    with_page(usize::MAX, async |browser, made| {
        let html = std::fs::read_to_string(made.path()).unwrap();
        for (variant, recorded) in made.recorded.iter().enumerate() {
            let (_, text) = html.split_once(&format!("id=\"columns-0-{variant}\">")).unwrap();
            let text = text.split('<').next().unwrap();
            let read = browser.client.execute_async(READ, vec![text.into(), variant.into()]).await;
            let timeline = &recorded.timeline;
            let name = |task: u32| {
                let task = &timeline.tasks[task as usize];
                format!("{}:{}", task.comm, task.pid)
            };
            let told = |s: &Slice| {
                // A preempted task has nobody who woke it.
                let woken = !matches!(s.came, Came::Preempted | Came::Started);
                let waker = s.waker.filter(|_| woken).map(name);
                let rule = timeline.rules[usize::from(s.rule)].0;
                let (came, end) = (s.came as u8, s.end as u8);
                let cpus = (s.waker_cpu, s.last_cpu);
                let (times, task) = ((s.at_ns, s.ns, s.waited_ns), name(s.task));
                serde_json::json!([
                    times.0, times.1, times.2, task, waker, cpus.0, cpus.1, rule, came, end
                ])
            };
            let counts = timeline.cpus.iter().map(|slices| slices.len().into());
            let slices = timeline.cpus.iter().flatten().map(told);
            let expected: Vec<serde_json::Value> = counts.chain(slices).collect();
            let read = read.unwrap();
            let read = read.as_array().unwrap();
            assert_eq!(read.len(), expected.len());
            for (read, expected) in read.iter().zip(&expected) {
                assert_eq!(read, expected);
            }
        }
    });
}

#[test]
fn keys_zoom_and_pan() {
    with_page(usize::MAX, async |browser, _| {
        browser.press(CANVAS, "w").await;
        let (from, to) = browser.span().await;
        browser.press(CANVAS, "w").await;
        let (nearer_from, nearer_to) = browser.span().await;
        assert!(from < nearer_from && nearer_to < to);
        assert!(((to - from) / (nearer_to - nearer_from) - 1.4).abs() < 0.01);
        browser.press(CANVAS, "d").await;
        let (later_from, later_to) = browser.span().await;
        assert!(later_from > nearer_from && later_to > nearer_to);
        browser.press(CANVAS, "a").await;
        assert_eq!(browser.span().await, (nearer_from, nearer_to));
        browser.press(CANVAS, "s").await;
        browser.press(CANVAS, "s").await;
        let (all_from, all_to) = browser.span().await;
        assert!(all_from <= from && all_to >= to);
    });
}

/// Moves the mouse to a place of the canvas, in parts of its size.
async fn point_at(browser: &Browser, x: f64, y: f64) {
    let canvas = browser.find(CANVAS).await;
    browser.eval("document.querySelector('.tl-canvas').scrollIntoView({ block: 'center' })").await;
    let (_, _, width, height) = canvas.rectangle().await.unwrap();
    let (x, y) = ((x - 0.5) * width, (y - 0.5) * height);
    let to = PointerAction::MoveToElement {
        element: canvas,
        duration: Some(Duration::from_millis(50)),
        x,
        y,
    };
    browser.client.perform_actions(MouseActions::new("mouse".into()).then(to)).await.unwrap();
}

#[test]
fn the_mouse_tells_what_is_there_and_the_wheel_zooms_once_it_is_asked_to() {
    with_page(usize::MAX, async |browser, _| {
        let is_hidden = "document.querySelector('.tl-tip').hidden";
        assert_eq!(browser.eval(is_hidden).await, true);
        point_at(browser, 0.5, 0.3).await;
        assert_eq!(browser.eval(is_hidden).await, false);
        let tip = browser.text("document.querySelector('.tl-tip').textContent").await;
        assert!(tip.contains("CPU "), "{tip}");
        let before = browser.number("scrollY").await;
        let wheel = || async {
            let scroll =
                WheelAction::Scroll { duration: None, x: 700, y: 800, delta_x: 0, delta_y: -240 };
            let actions = WheelActions::new("wheel".into()).then(scroll);
            browser.client.perform_actions(actions).await.unwrap();
            tokio::time::sleep(Duration::from_millis(300)).await;
        };
        // Who only scrolls past the timeline is not caught in it.
        wheel().await;
        assert!(browser.number("scrollY").await < before);
        browser.press(CANVAS, "1").await;
        point_at(browser, 0.5, 0.3).await;
        let (from, to) = browser.span().await;
        let before = browser.number("scrollY").await;
        wheel().await;
        assert_eq!(browser.number("scrollY").await, before);
        let (nearer_from, nearer_to) = browser.span().await;
        assert!(nearer_to - nearer_from < to - from);
    });
}

#[test]
fn arrows_go_from_turn_to_turn_and_say_so() {
    with_page(usize::MAX, async |browser, _| {
        let mut turns = Vec::new();
        for _ in 0..4 {
            browser.press(CANVAS, &Key::Right.to_string()).await;
            turns.push(browser.text(STATUS).await);
        }
        // Each is another one; a stopper's does not wait.
        assert!(turns.windows(2).all(|two| two[0] != two[1]), "{turns:?}");
        assert!(turns[1..].iter().all(|said| said.contains("on CPU 0")), "{turns:?}");
        assert!(turns.iter().any(|said| said.contains("waited")), "{turns:?}");
        let said = &turns[3];
        browser.press(CANVAS, &Key::Down.to_string()).await;
        let below = browser.text(STATUS).await;
        assert!(below.contains("CPU 1") && below != *said, "{below}");
        assert_eq!(browser.text("document.querySelector('.tl-status').ariaLive").await, "polite");
    });
}

#[test]
fn a_turn_can_be_selected_and_its_task_followed() {
    with_page(usize::MAX, async |browser, _| {
        for _ in 0..3 {
            browser.press(CANVAS, &Key::Right.to_string()).await;
        }
        // A turn that is not the task's last.
        while browser.text(STATUS).await.contains("then exits") {
            browser.press(CANVAS, &Key::Right.to_string()).await;
        }
        browser.press(CANVAS, &Key::Enter.to_string()).await;
        let info = "document.querySelector('.tl-info').textContent";
        let first = browser.text(info).await;
        assert!(first.contains("put here by"), "{first}");
        browser.press(CANVAS, "z").await;
        let (from, to) = browser.span().await;
        assert!(to - from < 40e6);
        let hash = browser.text("location.hash").await;
        assert!(hash.contains("&sel=0,0,"), "{hash}");
        browser.press(CANVAS, "n").await;
        let next = browser.text(info).await;
        // It may have executed another program meanwhile.
        let pid = |text: &str| text.split([' ', ':']).nth(3).map(String::from);
        assert_eq!(pid(&first), pid(&next));
        assert!(pid(&next).is_some_and(|pid| pid.parse::<u32>().is_ok()), "{next}");
        assert_ne!(first, next);
        browser.press(CANVAS, &Key::Escape.to_string()).await;
        assert_eq!(browser.text(info).await, "");
    });
}

#[test]
fn a_search_finds_tasks_and_leads_to_their_turns() {
    with_page(usize::MAX, async |browser, _| {
        let field = browser.find("input[type=search]").await;
        field.send_keys("cc1").await.unwrap();
        let found = browser.text("document.querySelector('.tl-found').textContent").await;
        assert!(found.starts_with("A: ") && found.contains("; B: "), "{found}");
        assert!(!found.contains(" 0 tasks"), "{found}");
        field.send_keys(&Key::Enter.to_string()).await.unwrap();
        let info = browser.text("document.querySelector('.tl-info').textContent").await;
        assert!(info.contains("cc1:"), "{info}");
        field.clear().await.unwrap();
        field.send_keys("nobody").await.unwrap();
        let found = browser.text("document.querySelector('.tl-found').textContent").await;
        assert!(found.starts_with("A: 0 tasks, 0 turns"), "{found}");
    });
}

#[test]
fn a_link_leads_to_what_was_seen() {
    with_page(usize::MAX, async |browser, made| {
        let hash = "#timeline=0&a=1&b=0&from=5000000&to=9000000&row=9&q=cc1&m=6000000,7500000";
        browser.open(&made.path(), hash).await;
        assert_eq!(browser.span().await, (5e6, 9e6));
        assert_eq!(browser.text("location.hash").await, hash);
        let marks = browser.text("document.querySelector('.tl-marks').textContent").await;
        assert!(marks.contains("from 1 to 2: 1.50 ms"), "{marks}");
        assert_eq!(browser.text("document.querySelector('input[type=search]').value").await, "cc1");
        // What makes no sense changes nothing.
        for hash in ["#timeline=7", "#timeline=0&a=9&from=x&to=", "#chapter-0", "#q=%E0%A4%A"] {
            browser.open(&made.path(), hash).await;
        }
    });
}

#[test]
fn colors_follow_the_button_and_paper_is_white() {
    with_page(usize::MAX, async |browser, _| {
        let theme = "document.documentElement.dataset.theme";
        let ground = "getComputedStyle(document.body).backgroundColor";
        let before = (browser.text(theme).await, browser.text(ground).await);
        browser.find("#theme").await.click().await.unwrap();
        let after = (browser.text(theme).await, browser.text(ground).await);
        assert!(before.0 != after.0 && before.1 != after.1, "{before:?} {after:?}");
        browser.eval("dispatchEvent(new Event('beforeprint'))").await;
        assert_eq!(browser.text(theme).await, "light");
        // Charts and timelines are drawn anew, no wider than the paper.
        let widest = "Math.max(...[...document.querySelectorAll('main canvas')]
                      .map(e => e.getBoundingClientRect().right
                                - document.querySelector('main').getBoundingClientRect().left))";
        let widest = browser.eval(widest).await.as_f64().unwrap();
        assert!((300.0..=701.0).contains(&widest), "{widest}");
        browser.eval("dispatchEvent(new Event('afterprint'))").await;
        assert_eq!(browser.text(theme).await, after.0);
    });
}

#[test]
fn a_wait_of_the_ledger_leads_into_the_timeline() {
    with_page(usize::MAX, async |browser, _| {
        let from = browser.text("document.querySelector('button.jump').dataset.from").await;
        browser.eval("document.querySelector('button.jump').click()").await;
        let (seen_from, seen_to) = browser.span().await;
        let from: f64 = from.parse().unwrap();
        assert!(seen_from <= from && from <= seen_to && seen_to - seen_from < 60e6);
        assert!(browser.text(STATUS).await.contains("CPU "));
        // The task that waited stands out.
        let pid = browser.text("document.querySelector('button.jump').dataset.pid").await;
        let info = browser.text("document.querySelector('.tl-info').textContent").await;
        assert!(info.contains(&format!(":{pid} on CPU ")), "{pid}: {info}");
    });
}

#[test]
fn a_window_says_that_it_is_one_and_still_shows_the_rest() {
    with_page(400, async |browser, _| {
        let legend = browser.text("document.querySelector('.tl-legend').textContent").await;
        assert!(legend.contains("single turns are kept from 0.0000 s"), "{legend}");
        // At first it is what is kept that is shown.
        let (_, to) = browser.span().await;
        assert!(to < 40e6, "{to}");
        browser.press(CANVAS, &Key::Home.to_string()).await;
        assert!(browser.span().await.1 >= 80e6);
        point_at(browser, 0.95, 0.3).await;
        let tip = browser.text("document.querySelector('.tl-tip').textContent").await;
        assert!(tip.contains("% busy") && tip.contains("not kept here"), "{tip}");
    });
}

#[test]
fn a_sweep_has_curves_and_its_own_chapter() {
    with_page(usize::MAX, async |browser, made| {
        let text = TEXT.replace("until = \"80ms\"", "until = \"20ms\"");
        let text = format!("{text}\n[sweep]\nmachine.hz = [100, 250, 1000]\n");
        let study = load_study_str(Path::new("sweep.toml"), text, &[])
            .unwrap_or_else(|faults| panic!("{}", faults.render(false)));
        let results = study.run(scenario::engine().as_ref(), 1, &Silent).unwrap();
        let outcome = Outcome::new(&study, results, &[]);
        let chapter = || Chapter { outcome: &outcome, experiment: None, seed: 1, recorded: &[] };
        let file = made.dir.path().join("sweep.html");
        std::fs::write(&file, page(&[chapter(), chapter()], "schedlab")).unwrap();
        browser.open(&file, "").await;
        browser.wait_for("document.querySelectorAll('.uplot').length >= 2").await;
        assert_eq!(browser.eval("document.querySelectorAll('nav a').length").await, 2);
    });
}

#[test]
fn averages_are_lines_that_can_be_chosen_and_are_told() {
    with_page(usize::MAX, async |browser, _| {
        let shown = "document.querySelector('.tl-signal').value";
        let legend = "document.querySelector('.tl-legend').textContent";
        assert_eq!(browser.text(shown).await, "0");
        assert!(browser.text(legend).await.contains("line: util_avg, from 0 to "));
        let picture = "document.querySelector('.tl-canvas').toDataURL()";
        let mut pictures = vec![browser.text(picture).await];
        for (chosen, name) in [("1", "runnable_avg"), ("2", "load_avg"), ("", "")] {
            browser.press(".tl-canvas", "u").await;
            assert_eq!(browser.text(shown).await, chosen);
            let told = browser.text(legend).await;
            assert_eq!(told.contains("line: "), !name.is_empty());
            assert!(told.contains(name), "{told}");
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            pictures.push(browser.text(picture).await);
        }
        pictures.sort();
        pictures.dedup();
        assert!(pictures.len() >= 3, "{}", pictures.len());
        browser.press(".tl-canvas", "\u{e014}").await;
        let told = browser.text("document.querySelector('.tl-tip').textContent").await;
        for name in ["util_avg ", "runnable_avg ", "load_avg "] {
            assert!(told.contains(name), "{told}");
        }
    });
}

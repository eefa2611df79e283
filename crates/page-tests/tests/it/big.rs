//! A page with a million turns, which somebody else has made: its size, how soon it can be used,
//! and how long a frame takes.

use crate::browser::Browser;
use std::path::PathBuf;

/// Names the page, which takes minutes to make; `.ci/run` does.
const PAGE: &str = "SCHEDLAB_BIG_PAGE";

const BYTES_MAX: u64 = 20_000_000;
/// Goals on a quiet machine. Any other one is slower by an unknown factor, so a test can only tell
/// that something takes many times as long as it should; what is over its goal is told.
const USABLE_MS_GOAL: f64 = 3000.0;
const FRAME_MS_GOAL: f64 = 50.0;
const SLOW: f64 = 6.0;

/// Tells what is over its goal, and fails where no slow machine explains it.
fn judge(what: &str, ms: f64, goal_ms: f64) {
    if ms > goal_ms {
        eprintln!("OVER ITS GOAL: {what} {ms} ms, wanted {goal_ms}");
    }
    assert!(ms < SLOW * goal_ms, "{what} {ms} ms, wanted {goal_ms}");
}

#[test]
fn a_page_with_a_million_turns_is_small_and_quick() {
    let Some(page) = std::env::var_os(PAGE).map(PathBuf::from) else {
        return eprintln!("NOT TESTED: {PAGE} names no page");
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let Some(browser) = Browser::start().await else { return };
        let bytes = std::fs::metadata(&page).unwrap().len();
        assert!(bytes < BYTES_MAX, "{bytes} bytes");
        browser.open(&page, "").await;
        let usable = browser.text("document.documentElement.dataset.usable").await;
        let usable: f64 = usable.parse().unwrap();
        let mut frames = Vec::new();
        for key in "wwwwwwddddaaaassssssss]]wwwwddd".chars() {
            browser.press(".tl-canvas", &key.to_string()).await;
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            let ms = browser.text("document.querySelector('.tl-canvas').dataset.frameMs").await;
            frames.push(ms.parse::<f64>().unwrap());
        }
        frames.sort_by(f64::total_cmp);
        let (median, p95) = (frames[frames.len() / 2], frames[frames.len() * 95 / 100]);
        let longest = frames[frames.len() - 1];
        eprintln!(
            "{bytes} bytes, usable after {usable} ms, frames {median} ms, 95 % within {p95}, at \
             most {longest}"
        );
        judge("usable after", usable, USABLE_MS_GOAL);
        judge("the median frame", median, FRAME_MS_GOAL);
        judge("the 95th percentile of the frames", p95, FRAME_MS_GOAL);
        let (console, _) = browser.logs().await;
        assert_eq!(console, Vec::<String>::new());
    });
}

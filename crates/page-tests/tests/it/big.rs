//! A page with a million turns, which somebody else has made: its size, how soon it can be used,
//! and how long a frame takes.

use crate::browser::Browser;
use std::path::PathBuf;

/// Names the page, which takes minutes to make; `.ci/run` does.
const PAGE: &str = "SCHEDLAB_BIG_PAGE";

const BYTES_MAX: u64 = 20_000_000;
const USABLE_MS_MAX: f64 = 3000.0;
const FRAME_MS_MAX: f64 = 50.0;

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
        let (median, longest) = (frames[frames.len() / 2], frames[frames.len() - 1]);
        eprintln!("{bytes} bytes, usable after {usable} ms, frames {median} ms, at most {longest}");
        assert!(usable < USABLE_MS_MAX, "usable after {usable} ms");
        assert!(median < FRAME_MS_MAX, "{frames:?}");
        let (console, _) = browser.logs().await;
        assert_eq!(console, Vec::<String>::new());
    });
}

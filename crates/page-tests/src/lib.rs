//! Nothing: this crate is its tests, which open pages of `schedlab report` in a real browser.
//!
//! They need Chromium and its driver (Debian: `chromium`, `chromium-driver`). Where these are
//! missing the tests say so, and fail if `SCHEDLAB_NEEDS_BROWSER` is set, as `.ci/run` does.

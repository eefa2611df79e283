//! The progress bar: on standard error, only for people, only if there is time to read it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scenario::Observer;
use std::io::IsTerminal;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Runs that end sooner show no bar.
const PATIENCE: Duration = Duration::from_millis(400);

const STEPS: u64 = 1000;

/// The bar on the screen, if there is one. A thread that draws or removes it holds the lock.
static SHOWN: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Removes the bar from the screen; while the guard is held no other appears.
pub fn wipe() -> MutexGuard<'static, impl Sized> {
    let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bar) = shown.take() {
        bar.finish_and_clear();
    }
    shown
}

/// A bar for one experiment.
pub struct Bar {
    bar: ProgressBar,
    begin: Instant,
    /// False if standard error is no terminal, or `quiet` is set.
    wanted: bool,
}

impl Bar {
    /// A bar with a name; never shown if standard error is no terminal or `quiet` is set.
    pub fn new(name: &str, quiet: bool) -> Self {
        let bar = ProgressBar::with_draw_target(Some(STEPS), ProgressDrawTarget::hidden());
        let template = "{msg} [{bar:40}] {percent:>3}%  {elapsed} elapsed, {eta} to go";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(name.to_string());
        let wanted = !quiet && std::io::stderr().is_terminal();
        Self { bar, begin: Instant::now(), wanted }
    }

    /// Removes the bar from the screen.
    pub fn clear(&self) {
        drop(wipe());
    }
}

impl Observer for Bar {
    fn progress(&self, done: f64) {
        if !self.wanted || self.begin.elapsed() < PATIENCE {
            return;
        }
        let mut shown = SHOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let bar = shown.get_or_insert_with(|| {
            self.bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            self.bar.clone()
        });
        bar.set_position((done * STEPS as f64) as u64);
    }
}

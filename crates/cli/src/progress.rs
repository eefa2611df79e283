//! The progress bar: on standard error, only for people, only if there is time to read it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scenario::Observer;
use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Runs that end sooner show no bar.
const PATIENCE: Duration = Duration::from_millis(400);

const STEPS: u64 = 1000;

/// A bar for one experiment.
pub struct Bar {
    bar: ProgressBar,
    begin: Instant,
    /// False if nobody wants to see it.
    wanted: bool,
    shown: AtomicBool,
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
        Self {
            bar,
            begin: Instant::now(),
            wanted,
            shown: AtomicBool::new(false),
        }
    }

    /// Removes the bar from the screen.
    pub fn clear(&self) {
        if self.shown.load(Ordering::Relaxed) {
            self.bar.finish_and_clear();
        }
    }
}

impl Observer for Bar {
    fn progress(&self, done: f64) {
        if !self.wanted || self.begin.elapsed() < PATIENCE {
            return;
        }
        if !self.shown.swap(true, Ordering::Relaxed) {
            self.bar
                .set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        }
        self.bar.set_position((done * STEPS as f64) as u64);
    }
}

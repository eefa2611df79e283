//! The progress bar: on standard error, only for people, only if there is time to read it.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scenario::Observer;
use std::io::IsTerminal;
use std::time::{Duration, Instant};

/// Runs that end sooner show no bar.
const PATIENCE: Duration = Duration::from_millis(400);

const STEPS: u64 = 1000;

/// A bar for one experiment.
pub struct Bar {
    bar: ProgressBar,
    begin: Instant,
}

impl Bar {
    /// A bar with a name; hidden if standard error is no terminal or `quiet` is set.
    pub fn new(name: &str, quiet: bool) -> Self {
        let visible = !quiet && std::io::stderr().is_terminal();
        let target = match visible {
            true => ProgressDrawTarget::stderr_with_hz(10),
            false => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(STEPS), target);
        let template = "{msg} [{bar:40}] {percent:>3}%  {elapsed} elapsed, {eta} to go";
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.set_message(name.to_string());
        Self {
            bar,
            begin: Instant::now(),
        }
    }

    /// Removes the bar from the screen.
    pub fn clear(&self) {
        self.bar.finish_and_clear();
    }
}

impl Observer for Bar {
    fn progress(&self, done: f64) {
        if self.begin.elapsed() > PATIENCE {
            self.bar.set_position((done * STEPS as f64) as u64);
        }
    }
}

//! `schedlab completions` and `schedlab man`: texts made from the command line's definition.

use crate::args::Cli;
use crate::output::{Stop, print};
use clap::CommandFactory;

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<(), Stop> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "schedlab", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints the manual page.
pub fn man() -> Result<(), Stop> {
    let mut page = Vec::new();
    clap_mangen::Man::new(Cli::command())
        .render(&mut page)
        .map_err(|e| Stop::RunFailed(format!("cannot make the manual page: {e}")))?;
    print(&String::from_utf8_lossy(&page))
}

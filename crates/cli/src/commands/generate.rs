//! `schedlab completions`, `man` and `schema`: texts made from the definitions of the command line
//! and of the input files.

use crate::args::{Cli, Schema};
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

/// Prints the JSON Schema of a kind of files.
pub fn schema(of: Schema) -> Result<(), Stop> {
    print(&match of {
        Schema::Scenario => scenario::schema::scenario(),
        Schema::Machine => scenario::schema::machine(),
    })
}

//! `schedlab completions`, `man` and `schema`: texts made from the definitions of the command line
//! and of the input files.

use crate::args::{Cli, Schema};
use crate::output::{Stop, print};
use clap::CommandFactory;
use scenario::nearest;

/// Prints a completion script.
pub fn completions(shell: clap_complete::Shell) -> Result<(), Stop> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "schedlab", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Prints the manual page of a command, or of the program.
pub fn man(words: &[String]) -> Result<(), Stop> {
    let mut command = Cli::command();
    // Commands get their full names: schedlab-topology-import.
    command.build();
    for word in words {
        let found = command.find_subcommand(word).cloned();
        command = found.ok_or_else(|| no_such_command(&command, word))?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .render(&mut page)
        .map_err(|e| Stop::RunFailed(format!("cannot make the manual page: {e}")))?;
    print(&String::from_utf8_lossy(&page))
}

fn no_such_command(command: &clap::Command, word: &str) -> Stop {
    let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
    let hint = match (nearest(word, known.iter().copied()), known.is_empty()) {
        (Some(near), _) => format!("did you mean `{near}`?"),
        (None, true) => "it has none of its own".to_string(),
        (None, false) => format!("it has: {}", known.join(", ")),
    };
    let name = command.get_bin_name().unwrap_or("schedlab");
    Stop::BadInput(format!("`{name}` has no command `{word}`; {hint}"))
}

/// Prints the JSON Schema of a kind of files.
pub fn schema(of: Schema) -> Result<(), Stop> {
    print(&match of {
        Schema::Scenario => scenario::schema::scenario(),
        Schema::Machine => scenario::schema::machine(),
    })
}

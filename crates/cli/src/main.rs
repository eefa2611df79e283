//! The `schedlab` command line: what would this scheduling policy do to this workload on that
//! machine?
//!
//! Commands, flags and exit codes live here and nothing else: `scenario` reads and runs, `report`
//! prints. Results go to standard output, progress and diagnostics to standard error. Exit codes:
//! 0 done, 1 the run or a condition failed, 2 bad usage or bad input.

mod args;
mod commands;
mod interrupt;
mod output;
mod progress;
mod terminal;

use args::{Cli, Command};
use clap::Parser;
use output::Stop;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(help) if !help.use_stderr() => return finish(output::print_help(&help), false),
        Err(error) => error.exit(),
    };
    let would_run = !cli.command.as_ref().is_some_and(Command::only_reads);
    interrupt::leave_nothing_behind();
    let done = match cli.command {
        None => commands::run::run(&cli.run),
        Some(Command::Bpf { command }) => commands::bpf::bpf(&command),
        Some(Command::Check { files }) => commands::check::check(&files),
        Some(Command::Compare(args)) => commands::compare::compare(&args),
        Some(Command::Fidelity(args)) => commands::fidelity::fidelity(&args),
        Some(Command::Report(args)) => commands::report::report(&args),
        Some(Command::Replay(args)) => commands::replay::replay(&args),
        Some(Command::Fit(args)) => commands::replay::fit(&args),
        Some(Command::Trace(args)) => commands::trace::trace(&args),
        Some(Command::Init { name }) => commands::init::init(&name),
        Some(Command::List { what, format }) => commands::list::list(what, format),
        Some(Command::Wq(args)) => commands::wq::wq(&args),
        Some(Command::Topology { command }) => commands::topology::topology(&command),
        Some(Command::Sweep { command }) => commands::sweep::sweep(&command),
        Some(Command::Explain(args)) => commands::explain::explain(&args),
        Some(Command::Profile(args)) => commands::profile::profile(&args),
        Some(Command::Schedstat(args)) => commands::schedstat::schedstat(&args),
        Some(Command::Schema { of }) => commands::generate::schema(of),
        Some(Command::Completions { shell }) => commands::generate::completions(shell),
        Some(Command::Man { command }) => commands::generate::man(&command),
    };
    finish(done, would_run)
}

/// Says why the program stops, if not at its end, and turns it into an exit code.
fn finish(done: Result<(), Stop>, would_run: bool) -> ExitCode {
    match done {
        // The reader has closed our output, as `head` does: that is no failure.
        Ok(()) | Err(Stop::ReaderGone) => ExitCode::SUCCESS,
        Err(Stop::RunFailed(message)) => {
            output::complain(&message);
            ExitCode::from(1)
        }
        Err(Stop::BadInput(message)) => {
            output::complain(&message);
            ExitCode::from(2)
        }
        Err(Stop::Faults(faults)) => {
            output::show_faults(&faults, would_run);
            ExitCode::from(2)
        }
    }
}

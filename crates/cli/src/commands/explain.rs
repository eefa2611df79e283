//! `schedlab explain`: why CPUs of one run idled while tasks waited.

use super::Chosen;
use crate::args::{ExplainArgs, ExplainFormat};
use crate::output::{Stop, print};
use report::explain::{View, json, text};

/// Runs one variant under one seed and prints its ledger.
pub fn explain(args: &ExplainArgs) -> Result<(), Stop> {
    let chosen = Chosen::load(&args.run)?;
    let found = chosen.run(|spec, progress| spec.explain(progress));
    let explanation = &found.map_err(|e| chosen.failed(&e))?;
    let view = View { run: chosen.described(), explanation };
    print(&match args.format {
        ExplainFormat::Text => text(&view),
        ExplainFormat::Json => json(&view),
    })
}

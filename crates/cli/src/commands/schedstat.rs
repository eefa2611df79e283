//! `schedlab schedstat`: one run's /proc/schedstat.

use super::Chosen;
use crate::args::OneRun;
use crate::output::{Stop, print};
use report::schedstat::text;

/// Runs one variant under one seed and prints what /proc/schedstat would say at its end.
pub fn schedstat(args: &OneRun) -> Result<(), Stop> {
    let chosen = Chosen::load(args)?;
    let found = chosen.run(|spec, progress| spec.schedstat(progress));
    let stat = &found.map_err(|e| chosen.failed(&e))?;
    print(&text(stat))
}

//! `schedlab profile`: where the cycles of one run go.

use super::choose;
use crate::args::{ProfileArgs, ProfileFormat};
use crate::output::{Stop, print};
use crate::progress::Bar;
use report::profile::{View, folded, json, text};
use scenario::Observer;

/// Runs one variant under one seed and prints its profile.
pub fn profile(args: &ProfileArgs) -> Result<(), Stop> {
    let experiment = scenario::load(&args.scenario).map_err(Stop::Faults)?;
    let variant = choose(&experiment, args.variant.as_deref())?;
    let seed = args.seed.unwrap_or(experiment.seeds[0]);
    let bar = Bar::new(&experiment.name, args.quiet);
    let found = experiment.spec(variant, seed).profile(&|share| bar.progress(share));
    bar.clear();
    let (name, of) = (&experiment.name, &variant.name);
    let profile =
        found.map_err(|e| Stop::RunFailed(format!("{name}: variant `{of}`, seed {seed}: {e}")))?;
    let view = View { experiment: &experiment, variant: of, seed, profile: &profile };
    print(&match args.format {
        ProfileFormat::Text => text(&view),
        ProfileFormat::Json => json(&view),
        ProfileFormat::Folded => folded(&profile),
    })
}

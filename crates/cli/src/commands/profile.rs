//! `schedlab profile`: where the cycles of one run go.

use super::Chosen;
use crate::args::{ProfileArgs, ProfileFormat};
use crate::output::{Stop, print};
use report::profile::{View, folded, json, svg, text};

/// Runs one variant under one seed and prints its profile.
pub fn profile(args: &ProfileArgs) -> Result<(), Stop> {
    let chosen = Chosen::load(&args.run)?;
    let found = chosen.run(|spec, progress| spec.profile(progress));
    let profile = &found.map_err(|e| chosen.failed(&e))?;
    let view = View { run: chosen.described(), profile };
    print(&match args.format {
        ProfileFormat::Text => text(&view),
        ProfileFormat::Json => json(&view),
        ProfileFormat::Folded => folded(profile),
        ProfileFormat::Svg => svg(&view),
    })
}

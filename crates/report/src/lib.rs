//! What people see: statistics, tables, plots, JSON, CSV and Markdown.
//!
//! [`Analysis`] turns the raw numbers of an experiment into statements: means with intervals,
//! paired differences from the baseline with a verdict, and the published values beside them. All
//! the formats print an `Analysis` and compute nothing; [`out`] writes them to files.
//!
//! The functions that print give a `String`: text is always colored, the other formats never are.
//! The caller that writes it to a stream strips the colors where they are not wanted.

pub mod compare;
pub mod explain;
pub mod fidelity;
pub mod out;
pub mod pad;
pub mod page;
pub mod profile;
mod replayed;
pub mod schedstat;
pub mod seeds_needed;
pub mod stalls;
pub mod store;
pub mod sweep;
pub mod tune;
pub mod units;
pub mod wq;

mod agree;
mod analysis;
mod csv_table;
mod expected;
mod heat_map;
mod json;
mod kept;
mod markdown;
mod number;
mod one_run;
mod outcome;
mod plot;
mod stats;
mod text;
mod view;

pub use agree::PublishedChange;
pub use analysis::{Analysis, Delta, Metric, PublishedRow, VariantAnalysis, Verdict};
pub use csv_table::csv;
pub use expected::Expected;
pub use heat_map::utilization_svg;
pub use json::{json, json_line};
pub use kept::Kept;
pub use markdown::markdown;
pub use one_run::OneRun;
pub use outcome::Outcome;
pub use plot::deltas_svg;
pub use text::{COLUMNS_MAX, COLUMNS_MIN, text};

/// Name and version of the program, as every result states them.
pub const TOOL: &str = concat!("schedlab ", env!("CARGO_PKG_VERSION"));

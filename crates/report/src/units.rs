//! A sweep in units of work, which several processes and computers may do.
//!
//! A unit is one run: a program, a machine and a workload, a variant, a point and a seed. Its name
//! is the digest of all of these ([`crate::store::Names`]). A plan lists the units of some
//! scenarios, in a folder that holds all that they need:
//!
//! ```text
//! sweep.json    what was asked for, by which program; written last
//! units.csv     the units, one per line
//! inputs/       copies of the scenarios and of the files that they name
//! runs/ ...     the store of finished runs
//! ```

mod draft;
mod inputs;
mod merged;
mod opened;
mod plan;
pub mod ray;
mod run;
pub mod slurm;
mod status;

pub use draft::Draft;
pub use merged::Merged;
pub use opened::{Status, Sweep};
pub use plan::{Asked, Unit};
pub use run::{HowToRun, Ran};
pub use status::StatusReport;

use crate::out::OutError;
use crate::store::StoreError;
use scenario::Faults;
use std::path::PathBuf;

/// Why a sweep in units cannot be planned or gone on with.
#[derive(Debug, thiserror::Error)]
pub enum UnitsError {
    /// The scenarios are wrong.
    #[error("the scenarios are wrong")]
    Faults(Faults),
    /// The folder cannot be used.
    #[error(transparent)]
    Folder(#[from] OutError),
    /// The store of runs.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// There is no plan in the folder.
    #[error(
        "{} is no sweep: it has no sweep.json; `schedlab sweep plan SCENARIO --out DIR` makes one",
        .0.display()
    )]
    NoPlan(PathBuf),
    /// The folder has the plan of another sweep.
    #[error(
        "{} is another sweep already, of {scenarios}; name another folder, or remove this one",
        dir.display()
    )]
    OtherPlan {
        /// The folder.
        dir: PathBuf,
        /// The scenarios of the sweep that is there.
        scenarios: String,
    },
    /// The plan was made by another build of the program.
    #[error(
        "{} was planned by another build of schedlab ({planned}, and this is {own}): results of \
         two builds are not mixed; go on with that build, or plan anew in another folder",
        dir.display()
    )]
    OtherProgram {
        /// The folder.
        dir: PathBuf,
        /// Digest of the program that planned.
        planned: String,
        /// Digest of this program.
        own: String,
    },
    /// A file of the plan does not hold what was written to it.
    #[error("{} is damaged: {what}; plan the sweep anew in another folder", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// A file cannot be read or written.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// `read` or `write`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A path that JSON has no text for.
    #[error("{} is no UTF-8: rename it, a plan needs names that are text", .0.display())]
    NotText(PathBuf),
    /// Two scenarios of one name.
    #[error("two scenarios are named `{0}`: a sweep cannot keep them apart")]
    SameName(String),
    /// A unit that the plan does not have.
    #[error("no unit is named `{name}`; {hint}")]
    NoSuchUnit {
        /// What was asked for.
        name: String,
        /// What to do.
        hint: String,
    },
    /// An index beyond the last unit.
    #[error("there is no unit {index}: this sweep has units 0 to {last}, as units.csv lists them")]
    NoSuchIndex {
        /// What was asked for.
        index: usize,
        /// The last one.
        last: usize,
    },
    /// Not all units are done.
    #[error(
        "{missing} of {units} units are missing: `schedlab sweep run {}` computes them",
        dir.display()
    )]
    Missing {
        /// The folder of the sweep.
        dir: PathBuf,
        /// How many are not done.
        missing: usize,
        /// How many there are.
        units: usize,
    },
    /// Slurm or Ray does not do what it should.
    #[error("{0}")]
    Engine(String),
    /// Threads cannot be started, or results cannot be kept.
    #[error("{0}")]
    Stopped(String),
}

impl UnitsError {
    fn read(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::File { doing: "read", path: path.into(), source }
    }

    fn write(path: impl Into<PathBuf>, source: std::io::Error) -> Self {
        Self::File { doing: "write", path: path.into(), source }
    }

    fn damaged(path: impl Into<PathBuf>, what: impl Into<String>) -> Self {
        Self::Damaged { path: path.into(), what: what.into() }
    }
}

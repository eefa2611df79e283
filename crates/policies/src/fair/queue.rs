//! Which task runs next on a CPU: the queueing disciplines, CFS and EEVDF, behind one trait.

mod cfs;
mod discipline;
mod eevdf;
mod load;

pub use cfs::{Cfs, GroupSpec};
pub use discipline::Discipline;
pub use eevdf::Eevdf;

//! Which task runs next on a CPU: the queueing disciplines, CFS and EEVDF, behind one trait.

mod cfs;
mod discipline;
mod eevdf;
mod groups;
mod load;

pub use cfs::Cfs;
pub use discipline::Discipline;
pub use eevdf::Eevdf;

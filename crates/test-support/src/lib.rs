//! What tests of several crates need: small machines, random programs, runs that are checked.
//!
//! Only tests depend on this crate. The integration tests of `sim-core` and `policies` use the
//! floors above them in this way, since a dependency of tests may point upwards.

mod fair;
mod machine;
mod programs;
mod random;
mod run;

pub use fair::{FairChecks, check_class, eevdf, eevdfs, fingerprint_of, grouped_eevdf};
pub use machine::{Shape, free_machine, shapes, shapes_of_many_llcs};
pub use programs::{
    EachItsOwn, Meddlers, Scripts, Storm, meddlers, meddlers_of, small_build, small_dm_crypt,
};
pub use random::Random;
pub use run::{TraceHash, longest_waste, run_checked, simulate, wastes};

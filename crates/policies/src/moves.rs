//! The migrations that policies make: why a task moved (see [`MigrationCause::Policy`]).

use sim_core::{MigrationCause, PolicyMove};

/// Pulled by periodic, nohz-idle or newidle balance, or from a dispatch queue.
pub const BALANCE: MigrationCause = MigrationCause::Policy(PolicyMove::new(0, "load_balance"));
/// Pushed by active balance.
pub const ACTIVE: MigrationCause = MigrationCause::Policy(PolicyMove::new(1, "active_balance"));
/// Pulled from a shared queue.
pub const SHARED: MigrationCause = MigrationCause::Policy(PolicyMove::new(2, "swqueue_pull"));

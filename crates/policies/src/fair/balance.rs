//! Load balancing (spec 8).

/// Balance paths in progress and nohz state.
#[derive(Clone, Debug, Default)]
pub struct BalanceState {}

//! The names a scenario may use: policies, features, tunables, workloads, metrics.
//!
//! Plain data tables, one row per name, with the one line of help that `schedlab list` prints.
//! The parser checks against them and finds the nearest name for a misspelled one. A row also says
//! what its name does: a policy how it runs, a workload how it is built, a metric how it is read.

pub use input::{Fallback, KeyDef, Kind, Value, nearest};

mod document;
pub(crate) mod features;
pub(crate) mod key;
pub(crate) mod metrics;
pub(crate) mod policies;
mod shapes;
pub(crate) mod workloads;
pub(crate) mod workqueue;

pub use crate::run_spec::PolicyDef;
pub use crate::workload::{COMMON, TASKS_MAX, WorkloadDef};
pub use document::{
    BPF_POLICY, FIND, MECHANISM, PRECISION, PUBLISHED, RUN, RUNS, SCENARIO, SEEDS_MAX, SWEEP, TUNE,
    TUNED_RANGE, VARIANT, names,
};
pub use features::{FEATURES, FeatureDef, KERNELS, TUNABLES, TunableDef, feature, tunable};
pub use key::{Better, Class};
pub use metrics::{METRICS, MetricDef, Show, metric};
pub use policies::{GROUP_POLICIES, OF_OBJECTS, POLICIES, policy};
pub use workloads::{ROLE, WAKES, WORKLOADS, workload};
pub use workqueue::{CHANGE, CHANGE_AT, SCOPES, WORKQUEUE};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_within_each_table() {
        let unique = |names: Vec<&str>| {
            let set: std::collections::BTreeSet<_> = names.iter().collect();
            assert_eq!(set.len(), names.len(), "{names:?}");
        };
        unique(POLICIES.iter().map(|x| x.name).collect());
        unique(FEATURES.iter().map(|x| x.name).collect());
        unique(TUNABLES.iter().map(|x| x.key.name).collect());
        unique(WORKQUEUE.iter().map(|x| x.name).collect());
        unique(METRICS.iter().map(|x| x.name).collect());
        unique(WORKLOADS.iter().map(|x| x.kind).collect());
        for w in WORKLOADS {
            unique(w.all_keys().map(|x| x.name).collect());
        }
    }
}

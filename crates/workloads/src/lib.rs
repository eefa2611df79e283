//! What tasks do: the programs that the simulated tasks run.
//!
//! Random numbers belong to the workload, by (seed, entity, purpose), and never to the run. So
//! every variant of an experiment meets the same arrivals and service times.

pub mod affinity_changes;
pub mod background;
pub mod cyclictest;
pub mod dm_crypt;
pub mod fuse;
pub mod hackbench;
pub mod kernel_build;
mod latency;
pub mod micro;
pub mod netperf;
pub mod perf_bench;
pub mod queue_work;
pub mod random;
pub mod replay;
pub mod rt_app;
pub mod schbench;
pub mod schbench_old;
pub mod service;
pub mod speed;
mod spread;
mod ssd;
pub mod stress_ng;
pub mod tbench;
pub mod truncate;
pub mod web;

use sim_core::Site;

/// Every place where a CPU takes a lock or waits for a task: the mechanism's, the policies' and the
/// workloads' own, by slot.
pub fn lock_sites() -> Vec<&'static Site> {
    use policies::{ext, fair, workqueue};
    let own = [workqueue::POOL_LOCK_SITE, dm_crypt::WRITE_LOCK_SITE, truncate::TREE_LOCK_SITE];
    let all = Site::MECHANISM.into_iter().chain(fair::sites::ALL).chain(ext::LOCK_SITES);
    let mut sites: Vec<_> = all.chain(own).collect();
    sites.sort_by_key(|site| site.slot);
    sites
}

/// The policy that docs/POLICY.md shows must compile and run.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/POLICY.md")]
pub struct PolicyPage;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_lock_sites_share_a_slot_or_a_name() {
        let sites = lock_sites();
        let slots: Vec<usize> = sites.iter().map(|site| usize::from(site.slot)).collect();
        assert_eq!(slots, (0..sites.len()).collect::<Vec<_>>());
        assert!(sites.len() <= Site::SLOTS);
        let names: std::collections::BTreeSet<_> = sites.iter().map(|site| site.name).collect();
        assert_eq!(names.len(), sites.len());
    }
}

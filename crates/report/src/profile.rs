//! The profile of one run: tables for people, JSON, a flame graph, and collapsed stacks.
//!
//! All shares are of busy time, which is what perf counts: an idle CPU has no cycles. So the parts
//! of each table add up to 100 %, and to the busy time in the JSON to the nanosecond.

mod flame;
mod folded;
mod json;
mod text;
mod tree;

pub use flame::svg;
pub use folded::folded;
pub use json::json;
pub use text::text;

use crate::OneRun;
use scenario::Profile;

/// The function that perf shows for a CPU that waits for a lock.
const SLOWPATH: &str = "native_queued_spin_lock_slowpath";

/// A profile and what it is of.
pub struct View<'a> {
    /// Which run it is.
    pub run: OneRun<'a>,
    /// Where its busy time went.
    pub profile: &'a Profile,
}

impl View<'_> {
    fn share(&self, ns: u64) -> f64 {
        ns as f64 / self.profile.busy_ns.max(1) as f64 * 100.0
    }

    /// Time of each group, and the part of it that is spent spinning, without empty groups.
    fn groups(&self) -> Vec<(&'static str, u64, u64)> {
        let p = self.profile;
        let row = |group: &&'static str| {
            let ns = p.time(|s| s.group == *group);
            (*group, ns, p.time(|s| s.group == *group && s.site.is_some()))
        };
        p.groups.iter().map(row).filter(|(_, ns, _)| *ns > 0).collect()
    }

    /// Command names that spin, the one with the most spinning first.
    fn spinning_comms(&self) -> Vec<(&str, u64)> {
        let p = self.profile;
        let mut comms: Vec<&str> = p.stacks.iter().map(|s| s.comm.as_str()).collect();
        comms.dedup();
        let spin = |comm: &str| p.time(|s| s.comm == comm && s.site.is_some());
        let mut comms: Vec<_> = comms.into_iter().map(|c| (c, spin(c))).collect();
        comms.retain(|(_, ns)| *ns > 0);
        comms.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        comms
    }

    /// Time spent spinning at a site by one command, or by all.
    fn spin_at(&self, site: &str, comm: Option<&str>) -> u64 {
        self.profile.time(|s| s.site == Some(site) && comm.is_none_or(|c| s.comm == c))
    }

    /// Time spinning in each group of call sites.
    fn site_groups(&self) -> Vec<(&'static str, u64)> {
        let mut groups: Vec<(&str, u64)> = Vec::new();
        for site in &self.profile.sites {
            let ns = self.spin_at(site.name, None);
            match groups.iter_mut().find(|(name, _)| *name == site.group) {
                Some((_, sum)) => *sum += ns,
                None => groups.push((site.group, ns)),
            }
        }
        groups
    }

    /// Time of all CPUs that was spent spinning for locks, ns.
    fn slowpath(&self) -> u64 {
        self.profile.time(|s| s.functions.last() == Some(&SLOWPATH))
    }
}

//! What must hold of workqueues at every instant.

use super::{Item, PoolId, WorkId, Workqueues, WqId};
use sim_core::World;
use topology::IdVec;

impl Workqueues {
    /// Checks the counts of pwqs, pools and workers. O(all of them).
    ///
    /// # Errors
    /// The first violation found, in words.
    pub fn check(&self, w: &World) -> Result<(), String> {
        for (id, p) in self.pwqs.iter().enumerate() {
            let max = self.wqs[p.wq].spec.max_active;
            ensure(p.nr_active <= max, || format!("pwq {id}: {} active of {max}", p.nr_active))?;
            ensure(p.stats.completed <= p.stats.started, || format!("pwq {id}: {:?}", p.stats))?;
            ensure(p.nr_in_flight as usize == p.nr_active as usize + p.inactive.len(), || {
                format!("pwq {id}: {} in flight, {} active", p.nr_in_flight, p.nr_active)
            })?;
        }
        for wq in self.wqs.ids() {
            self.check_nodes(wq)?;
        }
        for pool in self.pools.ids() {
            self.check_pool(w, pool)?;
        }
        self.check_works()
    }

    /// A node's count is that of its pwqs, and those with items that wait stand in its line once.
    fn check_nodes(&self, wq: WqId) -> Result<(), String> {
        for (at, node) in self.wqs[wq].nodes.iter().enumerate() {
            let its =
                || self.pwqs.entries().filter(|(_, p)| p.wq == wq && self.pools[p.pool].node == at);
            let active: u32 = its().map(|(_, p)| p.nr_active).sum();
            ensure(active == node.nr && active <= node.max, || {
                format!("{wq:?}, node {at}: {active} active, {node:?}")
            })?;
            let mut wait: Vec<_> =
                its().filter(|(_, p)| !p.inactive.is_empty()).map(|(id, _)| id).collect();
            let mut pending: Vec<_> = node.pending.iter().copied().collect();
            wait.sort_unstable();
            pending.sort_unstable();
            ensure(wait == pending, || format!("{wq:?}, node {at}: {wait:?} wait, {node:?}"))?;
        }
        Ok(())
    }

    fn check_pool(&self, w: &World, pool: PoolId) -> Result<(), String> {
        let p = &self.pools[pool];
        let ids = || self.workers.ids();
        let its = || {
            ids().filter(|w| {
                let w = &self.workers[*w];
                w.pool == pool && w.attached && w.stage != super::worker::Stage::Exit
            })
        };
        let n_workers = its().count();
        ensure(n_workers == p.n_workers as usize, || {
            format!("pool {pool:?}: {n_workers} workers")
        })?;
        let idle = its().filter(|w| self.workers[*w].idle).count();
        ensure(idle == p.idle.len(), || format!("pool {pool:?}: {idle} idle of {n_workers}"))?;
        let counted = its().filter(|w| self.counts(*w)).count();
        ensure(counted == p.nr_running as usize, || {
            format!("pool {pool:?}: {counted} run of {}", p.nr_running)
        })?;
        // Idle workers sleep, or are on their way to the lock.
        for worker in its().filter(|_| p.key.strict) {
            let t = &w.tasks[self.workers[worker].task];
            ensure(!t.on_cpu || p.key.pod.contains(t.cpu), || {
                format!("pool {pool:?} is strict: its worker runs on {}", t.cpu)
            })?;
        }
        Ok(())
    }

    /// An item is on one list at most, and is executed by one worker at most.
    fn check_works(&self) -> Result<(), String> {
        let mut listed = IdVec::<WorkId, u32>::filled(0, self.works.len());
        let pools = self.pools.iter().flat_map(|p| &p.worklist);
        let inactive = self.pwqs.iter().flat_map(|p| &p.inactive);
        pools.chain(inactive).for_each(|work| listed[*work] += 1);
        let mut running = IdVec::<WorkId, u32>::filled(0, self.works.len());
        for w in &self.workers {
            for item in &w.scheduled {
                if let Item::Work(work) = item {
                    listed[*work] += 1;
                }
            }
            if let Some(work) = w.current {
                running[work] += 1;
            }
        }
        for (id, work) in self.works.entries() {
            ensure(listed[id] == u32::from(work.listed), || {
                format!("item {id:?} is on {} lists", listed[id])
            })?;
            ensure(running[id] == u32::from(work.running.is_some()), || {
                format!("item {id:?} is executed by {} workers", running[id])
            })?;
        }
        Ok(())
    }
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(format!("workqueue: {}", message())) }
}

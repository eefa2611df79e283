//! How much of its cache contents a task finds when it runs again, and what the refill costs: the
//! lines that are gone, times the latency of the place where they are now, over the number of
//! misses in flight.

use crate::{Ns, TaskId, World};
use topology::{CpuId, Distance};

/// Steps of [`EVICTED`] per size of the private caches.
const STEPS: u64 = 128;
/// Of 1024 lines that lay in a cache, those that are gone after others have touched i / [`STEPS`]
/// of its size: 1 - exp(-i / 128).
const EVICTED: [u16; 1024] = evicted();

const fn evicted() -> [u16; 1024] {
    /// exp(-1 / 128).
    const STEP: u64 = 4_261_543_595;
    let mut table = [0; 1024];
    let mut left = 1 << 32;
    let mut i = 0;
    while i < table.len() {
        // `left` has 32 bits after the point, the table ten: rounded to the nearest.
        table[i] = (1024 - ((left + (1 << 21)) >> 22)) as u16;
        left = (left * STEP) >> 32;
        i += 1;
    }
    table
}

impl World {
    /// Extra execution time of `next` to refill the caches of `cpu`, ns.
    pub(super) fn cache_debt(&self, cpu: CpuId, next: TaskId) -> Ns {
        let t = &self.tasks[next];
        let ws = u64::from(t.attr.working_set_kib);
        if ws == 0 {
            return 0;
        }
        let caches = &self.machine.caches;
        let l2 = u64::from(caches.l2_kib);
        let l3 = u64::from(caches.l3_kib);
        let distance = self.machine.distance(t.cache_cpu, cpu);
        let (kib, latency) = match distance {
            Distance::Same | Distance::Smt => {
                // The sibling shares the caches, but its footprint is not read: the sibling may
                // have run ahead of this instant. So after a move from there only the task that
                // ran here last counts.
                let f = &self.cpus[cpu].footprint;
                let mark = if distance == Distance::Same { t.cache_mark } else { f.mark() };
                let others = f.since(next, mark);
                let step = (others * STEPS / l2.max(1)).min(EVICTED.len() as u64 - 1);
                let evicted = u64::from(EVICTED[step as usize]);
                (ws.min(l2 + u64::from(caches.l1d_kib)) * evicted / 1024, caches.l3_hit_ns)
            }
            // The L3 is the same one, so only the lines of the private caches have to come over.
            Distance::Llc => (ws.min(l2), self.machine.line.ns[distance as usize]),
            _ => (ws.min(l3), self.machine.line.ns[distance as usize]),
        };
        // A KiB is 16 lines of 64 bytes.
        kib * 16 * u64::from(latency) / u64::from(caches.mlp.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_an_exponential() {
        for (i, share) in EVICTED.iter().enumerate() {
            let exact = 1024.0 * (1.0 - (-(i as f64) / 128.0).exp());
            assert!((f64::from(*share) - exact).abs() <= 0.51, "{i}: {share} against {exact}");
        }
    }
}

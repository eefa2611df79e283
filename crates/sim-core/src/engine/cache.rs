//! What a task finds of its cache contents when it runs again (spec 9.7).

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
    let (mut left, mut i) = (1 << 32, 0);
    while i < table.len() {
        table[i] = (1024 - ((left + (1 << 21)) >> 22)) as u16;
        left = (left * STEP) >> 32;
        i += 1;
    }
    table
}

/// Who has used the private caches of a CPU, and how much of them.
#[derive(Clone, Debug)]
pub(crate) struct Footprint {
    /// The last task that ran, and the one before it.
    last: TaskId,
    before: TaskId,
    last_kib: u32,
    /// Working sets that came in, all together. Two tasks that take turns come in once: with each
    /// turn they touch the same lines. Three and more count with each turn.
    kib: u64,
}

impl Footprint {
    pub(crate) const NEW: Self =
        Self { last: TaskId::NONE, before: TaskId::NONE, last_kib: 0, kib: 0 };

    /// `p`, with a working set of so many KiB, has run. Returns the mark by which [`Self::since`]
    /// knows the instant.
    #[inline]
    pub(crate) fn leave(&mut self, p: TaskId, kib: u32) -> u64 {
        if p != self.last {
            if p != self.before {
                self.kib += u64::from(kib);
            }
            (self.before, self.last, self.last_kib) = (self.last, p, kib);
        }
        self.kib
    }

    /// KiB that others have touched since `p` left.
    #[inline]
    fn since(&self, p: TaskId, mark: u64) -> u64 {
        if p == self.last { 0 } else { (self.kib - mark).max(u64::from(self.last_kib)) }
    }

    /// The mark of now.
    #[inline]
    pub(crate) fn mark(&self) -> u64 {
        self.kib
    }
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
        let (l2, l3) = (u64::from(caches.l2_kib), u64::from(caches.l3_kib));
        let distance = self.machine.distance(t.cache_cpu, cpu);
        let (kib, latency) = match distance {
            Distance::Same | Distance::Smt => {
                // The sibling shares the caches. What has run there is its own affair (it may be
                // ahead), so after a move from there only who ran here last counts.
                let f = &self.cpus[cpu].footprint;
                let mark = if distance == Distance::Same { t.cache_mark } else { f.mark() };
                let others = f.since(next, mark);
                let step = (others * STEPS / l2.max(1)).min(EVICTED.len() as u64 - 1);
                let evicted = u64::from(EVICTED[step as usize]);
                (ws.min(l2 + u64::from(caches.l1d_kib)) * evicted / 1024, caches.l3_hit_ns)
            }
            Distance::Llc => (ws.min(l2), self.machine.line.ns[distance as usize]),
            _ => (ws.min(l3), self.machine.line.ns[distance as usize]),
        };
        kib * 16 * u64::from(latency) / u64::from(caches.mlp.max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: TaskId = TaskId(1);
    const B: TaskId = TaskId(2);
    const C: TaskId = TaskId(3);

    #[test]
    fn the_table_is_an_exponential() {
        for (i, share) in EVICTED.iter().enumerate() {
            let exact = 1024.0 * (1.0 - (-(i as f64) / 128.0).exp());
            assert!((f64::from(*share) - exact).abs() <= 0.51, "{i}: {share} against {exact}");
        }
    }

    #[test]
    fn who_comes_back_at_once_finds_everything() {
        let mut f = Footprint::NEW;
        let mark = f.leave(A, 64);
        assert_eq!(f.since(A, mark), 0);
    }

    #[test]
    fn all_that_ran_in_between_counts() {
        let mut f = Footprint::NEW;
        let mark = f.leave(A, 64);
        f.leave(B, 100);
        f.leave(C, 30);
        assert_eq!(f.since(A, mark), 130);
    }

    #[test]
    fn two_that_take_turns_count_once() {
        let mut f = Footprint::NEW;
        let mark = f.leave(A, 64);
        let mut b = 0;
        for _ in 0..10 {
            b = f.leave(B, 100);
            f.leave(C, 30);
        }
        assert_eq!(f.since(A, mark), 130);
        assert_eq!(f.since(B, b), 30);
    }
}

//! A cpumask: a bitset over the CPUs of one machine, with the kernel's list format (`0-7,16-23`).

use crate::CpuId;
use std::fmt;

/// A set of CPUs. All sets of one machine have the same capacity.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct CpuSet {
    words: Box<[u64]>,
}

impl CpuSet {
    /// The empty set over `n_cpus` CPUs.
    pub fn empty(n_cpus: usize) -> Self {
        Self { words: vec![0; n_cpus.div_ceil(64)].into_boxed_slice() }
    }

    /// All CPUs `0..n_cpus`.
    pub fn full(n_cpus: usize) -> Self {
        (0..n_cpus as u32).map(CpuId).fold(Self::empty(n_cpus), |mut set, cpu| {
            set.insert(cpu);
            set
        })
    }

    /// The set of the given CPUs, over `n_cpus` CPUs.
    pub fn of(n_cpus: usize, cpus: impl IntoIterator<Item = CpuId>) -> Self {
        cpus.into_iter().fold(Self::empty(n_cpus), |mut set, cpu| {
            set.insert(cpu);
            set
        })
    }

    /// Adds a CPU.
    ///
    /// # Panics
    /// If the CPU lies outside the set's capacity.
    #[inline]
    pub fn insert(&mut self, cpu: CpuId) {
        self.words[cpu.idx() / 64] |= 1 << (cpu.idx() % 64);
    }

    /// Replaces the 64 CPUs from `word * 64` on; those beyond the set's capacity are dropped.
    pub fn set_word(&mut self, word: usize, bits: u64) {
        if let Some(own) = self.words.get_mut(word) {
            *own = bits;
        }
    }

    /// Removes a CPU.
    #[inline]
    pub fn remove(&mut self, cpu: CpuId) {
        self.words[cpu.idx() / 64] &= !(1 << (cpu.idx() % 64));
    }

    /// True if the CPU is in the set.
    #[inline]
    pub fn contains(&self, cpu: CpuId) -> bool {
        self.words.get(cpu.idx() / 64).is_some_and(|w| w >> (cpu.idx() % 64) & 1 == 1)
    }

    /// Number of CPUs in the set.
    pub fn len(&self) -> usize {
        self.words.iter().map(|w| w.count_ones() as usize).sum()
    }

    /// True if the set has no CPU.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|w| *w == 0)
    }

    /// The lowest CPU of the set.
    pub fn first(&self) -> Option<CpuId> {
        self.iter().next()
    }

    /// The lowest CPU of `self & other`.
    pub fn first_common(&self, other: &Self) -> Option<CpuId> {
        let word = |i: usize| self.words[i] & other.words[i];
        (0..self.words.len()).find(|i| word(*i) != 0).map(|i| bit(i, word(i).trailing_zeros()))
    }

    /// The lowest CPU of `self & other` from CPU number `from` on.
    #[inline]
    pub fn next_common(&self, other: &Self, from: usize) -> Option<CpuId> {
        let start = from / 64;
        let mut wanted = !0 << (from % 64);
        for (i, (a, b)) in self.words.iter().zip(&other.words).enumerate().skip(start) {
            let both = a & b & wanted;
            if both != 0 {
                return Some(bit(i, both.trailing_zeros()));
            }
            wanted = !0;
        }
        None
    }

    /// True if both sets share a CPU.
    pub fn intersects(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).any(|(a, b)| a & b != 0)
    }

    /// True if every CPU of `self` is in `other`.
    pub fn is_subset(&self, other: &Self) -> bool {
        self.words.iter().zip(&other.words).all(|(a, b)| a & !b == 0)
    }

    /// Adds all CPUs of `other`.
    pub fn union_with(&mut self, other: &Self) {
        for (a, b) in self.words.iter_mut().zip(&other.words) {
            *a |= b;
        }
    }

    /// The CPUs in increasing order.
    pub fn iter(&self) -> impl Iterator<Item = CpuId> + '_ {
        self.words.iter().enumerate().flat_map(|(i, &w)| BitIter { word: w, base: i })
    }

    /// The raw 64-bit words, lowest CPUs first.
    #[inline]
    pub fn words(&self) -> &[u64] {
        &self.words
    }
}

fn bit(word_idx: usize, bit: u32) -> CpuId {
    CpuId(word_idx as u32 * 64 + bit)
}

struct BitIter {
    word: u64,
    base: usize,
}

impl Iterator for BitIter {
    type Item = CpuId;

    fn next(&mut self) -> Option<CpuId> {
        if self.word == 0 {
            return None;
        }
        let low = self.word.trailing_zeros();
        self.word &= self.word - 1;
        Some(bit(self.base, low))
    }
}

impl fmt::Display for CpuSet {
    /// The kernel's list format: `0-7,16-23`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut runs: Vec<(u32, u32)> = Vec::new();
        for CpuId(cpu) in self.iter() {
            match runs.last_mut() {
                Some((_, end)) if *end + 1 == cpu => *end = cpu,
                _ => runs.push((cpu, cpu)),
            }
        }
        for (i, (start, end)) in runs.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            if start == end {
                write!(f, "{comma}{start}")?;
            } else {
                write!(f, "{comma}{start}-{end}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{{{self}}}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_prints_as_the_kernels_list() {
        let set = CpuSet::of(176, [0, 1, 2, 7, 88, 89, 175].map(CpuId));
        assert_eq!(set.to_string(), "0-2,7,88-89,175");
        assert_eq!(set.len(), 7);
        assert_eq!(set.first(), Some(CpuId(0)));
    }

    #[test]
    fn first_common_is_the_lowest_shared_cpu() {
        let a = CpuSet::of(128, [3, 70, 90].map(CpuId));
        let b = CpuSet::of(128, [70, 90].map(CpuId));
        assert_eq!(a.first_common(&b), Some(CpuId(70)));
        assert!(b.is_subset(&a));
        assert!(!a.is_subset(&b));
    }

    #[test]
    fn the_next_shared_cpu_is_the_first_that_both_have_from_there_on() {
        let a = CpuSet::of(200, [0, 3, 63, 64, 70, 190, 199].map(CpuId));
        let b = CpuSet::of(200, [3, 5, 64, 71, 190, 199].map(CpuId));
        for from in 0..=200 {
            let obvious = (from..200).map(|c| CpuId(c as u32));
            let obvious = obvious.into_iter().find(|c| a.contains(*c) && b.contains(*c));
            assert_eq!(a.next_common(&b, from), obvious, "from {from}");
        }
    }
}

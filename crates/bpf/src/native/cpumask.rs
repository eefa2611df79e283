//! Kfuncs of CPU masks. They are sets of numbers: what a CPU is does not matter here.
//!
//! A mask is 64-bit words, of a program's own mask or an object of the host.

use super::{Call, Native, Outcome};
use crate::host::Host;
use crate::owned::CPUMASK;

impl<H: Host> Call<'_, H> {
    fn n_words(&self) -> u64 {
        u64::from(self.memory.n_cpus.div_ceil(64))
    }

    /// A word of the mask that an argument means; beyond the last CPU it is 0.
    fn word(&mut self, arg: usize, word: u64) -> u64 {
        let mask = self.args[arg];
        let bits = self.memory.load(self.host, mask.wrapping_add(word * 8), 8).unwrap_or(0);
        bits & self.present(word)
    }

    /// The bits of a word that stand for CPUs.
    fn present(&self, word: u64) -> u64 {
        let n = u64::from(self.memory.n_cpus).saturating_sub(word * 64).min(64);
        if n == 64 { u64::MAX } else { (1 << n) - 1 }
    }

    /// Computes each word of the first argument's mask. True if any bit is set then.
    fn fill(&mut self, word_of: impl Fn(&mut Self, u64) -> u64) -> Result<bool, Outcome> {
        let mut any = false;
        for word in 0..self.n_words() {
            let bits = word_of(self, word) & self.present(word);
            any |= bits != 0;
            let at = self.args[0].wrapping_add(word * 8);
            if !self.memory.store(self.host, at, 8, bits) {
                return Err(self.fault("this mask cannot be changed"));
            }
        }
        Ok(any)
    }

    /// The number of the first set bit, or the number of CPUs (or more) if there is none.
    fn first(&mut self, word_of: impl Fn(&mut Self, u64) -> u64) -> u64 {
        for word in 0..self.n_words() {
            let bits = word_of(self, word) & self.present(word);
            if bits != 0 {
                return word * 64 + u64::from(bits.trailing_zeros());
            }
        }
        u64::from(self.memory.n_cpus)
    }

    fn all(&mut self, holds: impl Fn(&mut Self, u64) -> bool) -> bool {
        (0..self.n_words()).all(|word| holds(self, word))
    }

    /// Changes the bit of a CPU (first argument) in a mask (second one); what it was.
    fn change_bit(&mut self, value: bool) -> Result<bool, Outcome> {
        let cpu = u64::from(self.args[0] as u32);
        if cpu >= u64::from(self.memory.n_cpus) {
            return Ok(false);
        }
        let old = self.word(1, cpu / 64);
        let bit = 1 << (cpu % 64);
        let new = if value { old | bit } else { old & !bit };
        let at = self.args[1].wrapping_add(cpu / 64 * 8);
        if !self.memory.store(self.host, at, 8, new) {
            return Err(self.fault("this mask cannot be changed"));
        }
        Ok(old & bit != 0)
    }
}

fn flag(is_so: bool) -> Outcome {
    Outcome::Value(u64::from(is_so))
}

fn or_fault(result: Result<bool, Outcome>) -> Outcome {
    match result {
        Ok(is_so) => flag(is_so),
        Err(fault) => fault,
    }
}

pub(super) fn call<H: Host>(c: &mut Call<'_, H>, native: Native) -> Outcome {
    use Native::*;
    match native {
        CpumaskCreate => match c.memory.allocate(CPUMASK) {
            Ok(mask) => Outcome::Value(mask),
            Err(_) => Outcome::Value(0),
        },
        CpumaskRelease => {
            c.memory.release(c.args[0]);
            Outcome::Value(0)
        }
        CpumaskAcquire => {
            c.memory.acquire(c.args[0]);
            Outcome::Value(c.args[0])
        }
        CpumaskFirst | CpumaskAny => Outcome::Value(c.first(|c, w| c.word(0, w))),
        CpumaskFirstZero => Outcome::Value(c.first(|c, w| !c.word(0, w))),
        // `distribute` begins where the last one ended, in the kernel; here at the first CPU.
        CpumaskFirstAnd | CpumaskAnyAnd => {
            Outcome::Value(c.first(|c, w| c.word(0, w) & c.word(1, w)))
        }
        CpumaskSet | CpumaskTestAndSet => or_fault(c.change_bit(true)),
        CpumaskClear | CpumaskTestAndClear => or_fault(c.change_bit(false)),
        CpumaskTest => {
            let cpu = u64::from(c.args[0] as u32);
            flag(c.word(1, cpu / 64) >> (cpu % 64) & 1 != 0)
        }
        CpumaskSetAll => or_fault(c.fill(|_, _| u64::MAX)),
        CpumaskClearAll => or_fault(c.fill(|_, _| 0)),
        CpumaskAnd => or_fault(c.fill(|c, w| c.word(1, w) & c.word(2, w))),
        CpumaskOr => or_fault(c.fill(|c, w| c.word(1, w) | c.word(2, w))),
        CpumaskXor => or_fault(c.fill(|c, w| c.word(1, w) ^ c.word(2, w))),
        CpumaskCopy => or_fault(c.fill(|c, w| c.word(1, w))),
        CpumaskEqual => flag(c.all(|c, w| c.word(0, w) == c.word(1, w))),
        CpumaskIntersects => flag(!c.all(|c, w| c.word(0, w) & c.word(1, w) == 0)),
        CpumaskSubset => flag(c.all(|c, w| c.word(0, w) & !c.word(1, w) == 0)),
        CpumaskEmpty => flag(c.all(|c, w| c.word(0, w) == 0)),
        CpumaskFull => flag(c.all(|c, w| c.word(0, w) == c.present(w))),
        _ => {
            let n = (0..c.n_words()).map(|w| c.word(0, w).count_ones()).sum::<u32>();
            Outcome::Value(u64::from(n))
        }
    }
}

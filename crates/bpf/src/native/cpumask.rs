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

    /// The same, but from the CPU on that is behind the one that the last such search has found,
    /// and then from the start (`cpumask_any_distribute`).
    fn next(&mut self, word_of: impl Fn(&mut Self, u64) -> u64) -> u64 {
        let from = u64::from(self.host.last_distributed()) + 1;
        let behind = |word: u64| match from.saturating_sub(word * 64) {
            skipped @ 0..64 => u64::MAX << skipped,
            _ => 0,
        };
        let n_cpus = u64::from(self.memory.n_cpus);
        let found = self.first(|c, word| word_of(c, word) & behind(word));
        let found = if found < n_cpus { found } else { self.first(word_of) };
        if found < n_cpus {
            self.host.note_distributed(found as u32);
        }
        found
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
        CpumaskFirst => Outcome::Value(c.first(|c, w| c.word(0, w))),
        CpumaskAny => Outcome::Value(c.next(|c, w| c.word(0, w))),
        CpumaskFirstZero => Outcome::Value(c.first(|c, w| !c.word(0, w))),
        CpumaskFirstAnd => Outcome::Value(c.first(|c, w| c.word(0, w) & c.word(1, w))),
        CpumaskAnyAnd => Outcome::Value(c.next(|c, w| c.word(0, w) & c.word(1, w))),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::Answer;
    use crate::memory::{HOST, Memory};
    use crate::run::Run;

    /// A mask at address [`HOST`] in which these CPUs are, and the counter of searches in turn.
    struct Masks {
        cpus: u64,
        last: u32,
    }

    impl Host for Masks {
        fn load(&mut self, address: u64, _size: u32) -> Option<u64> {
            Some(if address == HOST { self.cpus } else { 0 })
        }

        fn call(&mut self, _: u32, _: [u64; 5], _: &mut Memory) -> Answer {
            Answer::Value(0)
        }

        fn last_distributed(&mut self) -> u32 {
            self.last
        }

        fn note_distributed(&mut self, cpu: u32) {
            self.last = cpu;
        }
    }

    /// `cpumask_any_distribute`, and the counter stays where nothing is found.
    #[test]
    fn any_cpu_is_the_one_behind_the_last() {
        let (mut memory, mut run) = (Memory::new(130, 1 << 20), Run::new(1000));
        let mut host = Masks { cpus: 0b1010_0001, last: 5 };
        let mut ask = |host: &mut Masks, native| {
            let call =
                Call { name: "any", args: [HOST; 5], run: &mut run, memory: &mut memory, host };
            match super::call(&mut { call }, native) {
                Outcome::Value(cpu) => cpu,
                _ => panic!("a mask can be asked"),
            }
        };
        let found = [(); 4].map(|()| ask(&mut host, Native::CpumaskAny));
        assert_eq!(found, [7, 0, 5, 7]);
        assert_eq!(ask(&mut host, Native::CpumaskAnyAnd), 0);
        let mut none = Masks { cpus: 0, last: 3 };
        assert_eq!((ask(&mut none, Native::CpumaskAny), none.last), (130, 3));
    }
}

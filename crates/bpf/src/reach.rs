//! Which instructions can be executed at all: constants are followed through registers, and a
//! branch on two constants goes one way only.
//!
//! The kernel's verifier removes dead code in this manner, and programs rely on it: what a kernel
//! lacks stands behind a test of its existence, which is a constant once the program is loaded.
//! Known constants are immediates (so all results of relocations) and variables of `.rodata`.
//! Values that go through the stack are not followed.

use crate::alu::{alu, is_alu, is_condition, is_taken};
use crate::insn::{Code, FRAME_POINTER, IMMEDIATE, Insn, writes_dst};
use crate::memory::{FUNCTIONS, Memory, offset_of, region_of};

/// What is known of the registers before an instruction.
type Known = [Option<u64>; 16];

struct Reach<'a> {
    code: &'a [Insn],
    memory: &'a Memory,
    before: Vec<Option<Known>>,
    to_visit: Vec<usize>,
}

/// For each instruction: can it be reached from these functions?
pub(crate) fn reachable(code: &[Insn], memory: &Memory, entries: &[usize]) -> Vec<bool> {
    let before = vec![None; code.len()];
    let mut reach = Reach { code, memory, before, to_visit: Vec::new() };
    for entry in entries {
        reach.arrive(*entry, [None; 16]);
    }
    while let Some(at) = reach.to_visit.pop() {
        reach.step(at);
    }
    reach.before.iter().map(Option::is_some).collect()
}

impl Reach<'_> {
    /// Control may come to `at` with this knowledge; what differs between ways is not known.
    fn arrive(&mut self, at: usize, known: Known) {
        let Some(before) = self.before.get_mut(at) else {
            return;
        };
        let joined = match before {
            None => known,
            Some(old) => {
                let mut joined = *old;
                for (old, new) in joined.iter_mut().zip(known) {
                    *old = old.filter(|value| Some(*value) == new);
                }
                joined
            }
        };
        if *before != Some(joined) {
            *before = Some(joined);
            self.to_visit.push(at);
        }
    }

    fn step(&mut self, at: usize) {
        let (Some(known), insn) = (self.before[at], self.code[at]) else {
            return;
        };
        let mut after = known;
        let a = known[insn.dst as usize & 15];
        let b = if insn.src == IMMEDIATE {
            Some(insn.imm as u64)
        } else {
            known[insn.src as usize & 15]
        };
        let target = insn.off as usize;
        match insn.code {
            Code::Exit | Code::Poison | Code::Hole => {}
            Code::Ja => self.arrive(target, known),
            Code::MayGoto => {
                self.arrive(target, known);
                self.arrive(at + 1, known);
            }
            Code::MovWide => {
                let value = insn.imm as u64;
                if region_of(value) == FUNCTIONS {
                    self.arrive(offset_of(value) as usize, [None; 16]);
                }
                after[insn.dst as usize] = Some(value);
                self.arrive(at + 2, after);
            }
            Code::Call | Code::CallNative | Code::CallHost => {
                if insn.code == Code::Call {
                    let mut args = [None; 16];
                    args[1..6].copy_from_slice(&known[1..6]);
                    self.arrive(target, args);
                }
                after[..6].fill(None);
                self.arrive(at + 1, after);
            }
            code if is_condition(code) => self.branch(at, insn, (a, b), known),
            code => {
                if writes_dst(code) {
                    after[insn.dst as usize] = self.result(insn, a, b);
                } else if matches!(code, Code::Atomic32 | Code::Atomic64) {
                    after[0] = None;
                    after[insn.src as usize & 15] = None;
                }
                after[FRAME_POINTER as usize] = None;
                self.arrive(at + 1, after);
            }
        }
    }

    fn branch(&mut self, at: usize, insn: Insn, (a, b): (Option<u64>, Option<u64>), known: Known) {
        let (mut taken, mut not_taken) = (known, known);
        // Equality tells the value.
        match insn.code {
            Code::Jeq64 => taken[insn.dst as usize] = a.or(b),
            Code::Jne64 => not_taken[insn.dst as usize] = a.or(b),
            _ => {}
        }
        let decided = a.zip(b).map(|(a, b)| is_taken(insn.code, a, b));
        if decided != Some(false) {
            self.arrive(insn.off as usize, taken);
        }
        if decided != Some(true) {
            self.arrive(at + 1, not_taken);
        }
    }

    /// What an instruction leaves in its destination, if that is a constant.
    fn result(&self, insn: Insn, a: Option<u64>, b: Option<u64>) -> Option<u64> {
        let ignores_a = matches!(
            insn.code,
            Code::Mov64
                | Code::Mov32
                | Code::MovSx8To64
                | Code::MovSx16To64
                | Code::MovSx32To64
                | Code::MovSx8To32
                | Code::MovSx16To32
        );
        match insn.code {
            code if is_alu(code) && ignores_a => b.map(|b| alu(code, 0, b)),
            Code::And64 | Code::And32 | Code::Mul64 | Code::Mul32
                if a == Some(0) || b == Some(0) =>
            {
                Some(0)
            }
            Code::Neg64 | Code::Neg32 => a.map(|a| alu(insn.code, a, 0)),
            code if is_alu(code) => a.zip(b).map(|(a, b)| alu(code, a, b)),
            Code::Load8 | Code::Load16 | Code::Load32 | Code::Load64 => {
                let size = match insn.code {
                    Code::Load8 => 1,
                    Code::Load16 => 2,
                    Code::Load32 => 4,
                    _ => 8,
                };
                self.constant(b?.wrapping_add(insn.off as u64), size)
            }
            _ => None,
        }
    }

    /// A number in memory that programs may only read.
    fn constant(&self, address: u64, size: usize) -> Option<u64> {
        let region = self.memory.regions.get(region_of(address) as usize)?;
        let bytes = self.memory.bytes(address, size).filter(|_| !region.is_writable)?;
        Some(bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
    }
}

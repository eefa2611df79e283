//! The interpreter: one loop, one `match`.

use crate::alu::{alu, atomic, is_alu, is_taken};
use crate::fault::FaultKind;
use crate::host::{Answer, Host};
use crate::insn::{Code, IMMEDIATE, Insn, atomic as op};
use crate::memory::{CONTEXT, HOST, Memory, STACK, address, offset_of};
use crate::native::{self, Outcome};
use crate::run::{After, Phase, Run};
use std::mem::swap;

/// How a stretch of a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stop {
    Done(u64),
    Suspended,
    Fault(FaultKind),
}

/// Runs until the program is done, a call of the host suspends it, or it fails.
///
/// After a fault `run.pc` is the instruction behind the one that has failed.
pub(crate) fn interpret<H: Host>(
    code: &[Insn],
    poison: &[String],
    run: &mut Run,
    memory: &mut Memory,
    host: &mut H,
) -> Stop {
    exchange(run, memory);
    let stop = go(code, poison, run, memory, host);
    exchange(run, memory);
    run.phase = match stop {
        Stop::Suspended => Phase::Suspended,
        Stop::Done(_) | Stop::Fault(_) => Phase::Over,
    };
    stop
}

/// Puts the run's own memory where programs see it, or back.
fn exchange(run: &mut Run, memory: &mut Memory) {
    swap(&mut run.stack, &mut memory.regions[STACK as usize].bytes);
    swap(&mut run.context, &mut memory.regions[CONTEXT as usize].bytes);
}

/// A register; the mask spares the check of the index.
macro_rules! reg {
    ($run:ident, $index:expr) => {
        $run.registers[($index & 15) as usize]
    };
}

fn go<H: Host>(
    code: &[Insn],
    poison: &[String],
    run: &mut Run,
    memory: &mut Memory,
    host: &mut H,
) -> Stop {
    loop {
        let Some(insn) = code.get(run.pc) else {
            run.pc += 1;
            return Stop::Fault(FaultKind::NoInstruction);
        };
        run.pc += 1;
        if run.left == 0 {
            return Stop::Fault(FaultKind::Budget(run.budget));
        }
        run.left -= 1;
        let a = reg!(run, insn.dst);
        let from_register = reg!(run, insn.src);
        let b = if insn.src == IMMEDIATE { insn.imm as u64 } else { from_register };
        match insn.code {
            code if is_alu(code) => reg!(run, insn.dst) = alu(code, a, b),
            Code::MovWide => {
                reg!(run, insn.dst) = b;
                run.pc += 1;
            }
            Code::CastKernel | Code::CastUser => {
                reg!(run, insn.dst) = memory.arena_address(b);
            }
            Code::Load8 | Code::LoadAcquire8 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(run, insn.dst) = match memory.fast_load::<1>(at) {
                    Some([byte]) => u64::from(byte),
                    None => far_load(run, memory, host, at, 1),
                };
            }
            Code::Load16 | Code::LoadAcquire16 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(run, insn.dst) = match memory.fast_load(at) {
                    Some(bytes) => u64::from(u16::from_le_bytes(bytes)),
                    None => far_load(run, memory, host, at, 2),
                };
            }
            Code::Load32 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(run, insn.dst) = match memory.fast_load(at) {
                    Some(bytes) => u64::from(u32::from_le_bytes(bytes)),
                    None => far_load(run, memory, host, at, 4),
                };
            }
            Code::Load64 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(run, insn.dst) = match memory.fast_load(at) {
                    Some(bytes) => u64::from_le_bytes(bytes),
                    None => far_load(run, memory, host, at, 8),
                };
            }
            Code::LoadSx8 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(run, insn.dst) = any_load(run, memory, host, at, 1) as i8 as u64;
            }
            Code::LoadSx16 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(run, insn.dst) = any_load(run, memory, host, at, 2) as i16 as u64;
            }
            Code::LoadSx32 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(run, insn.dst) = any_load(run, memory, host, at, 4) as i32 as u64;
            }
            Code::Store8 | Code::StoreRelease8 => {
                let at = a.wrapping_add(insn.off as u64);
                if !memory.fast_store(at, [b as u8]) && !far_store(host, at, 1, b) {
                    return bad_store(at, 1);
                }
            }
            Code::Store16 | Code::StoreRelease16 => {
                let at = a.wrapping_add(insn.off as u64);
                if !memory.fast_store(at, (b as u16).to_le_bytes()) && !far_store(host, at, 2, b) {
                    return bad_store(at, 2);
                }
            }
            Code::Store32 => {
                let at = a.wrapping_add(insn.off as u64);
                if !memory.fast_store(at, (b as u32).to_le_bytes()) && !far_store(host, at, 4, b) {
                    return bad_store(at, 4);
                }
            }
            Code::Store64 => {
                let at = a.wrapping_add(insn.off as u64);
                if !memory.fast_store(at, b.to_le_bytes()) && !far_store(host, at, 8, b) {
                    return bad_store(at, 8);
                }
            }
            Code::Atomic32 => {
                if let Err(stop) = change(*insn, 4, run, memory, host) {
                    return stop;
                }
            }
            Code::Atomic64 => {
                if let Err(stop) = change(*insn, 8, run, memory, host) {
                    return stop;
                }
            }
            Code::Ja => run.pc = insn.off as usize,
            Code::MayGoto => {
                if run.may_goto_left == 0 {
                    run.pc = insn.off as usize;
                } else {
                    run.may_goto_left -= 1;
                }
            }
            Code::Call => {
                if !run.enter(insn.off as usize, After::Return) {
                    return Stop::Fault(FaultKind::Depth);
                }
            }
            Code::CallNative => match native::call(insn.imm, run, memory, host) {
                Outcome::Value(value) => run.registers[0] = value,
                Outcome::Entered => {}
                Outcome::Fault(kind) => return Stop::Fault(kind),
            },
            Code::CallHost => {
                let [_, a, b, c, d, e, ..] = run.registers;
                match host.call(insn.imm as u32, [a, b, c, d, e], memory) {
                    Answer::Value(value) => run.registers[0] = value,
                    Answer::Suspend => return Stop::Suspended,
                    Answer::Stop(why) => return Stop::Fault(FaultKind::Host(why)),
                }
            }
            Code::Exit => match exit(run, memory, host) {
                None => {}
                Some(stop) => return stop,
            },
            Code::Poison => {
                let what = poison.get(insn.imm as usize).cloned().unwrap_or_default();
                return Stop::Fault(FaultKind::Unresolved(what));
            }
            Code::Hole => return Stop::Fault(FaultKind::NoInstruction),
            code => {
                if is_taken(code, a, b) {
                    run.pc = insn.off as usize;
                }
            }
        }
    }
}

/// Leaves a function; the end of the outermost is the end of the run.
fn exit<H: Host>(run: &mut Run, memory: &mut Memory, host: &mut H) -> Option<Stop> {
    let Some(frame) = run.frames.last().copied() else {
        return Some(Stop::Done(run.registers[0]));
    };
    match frame.after {
        After::Return => {
            run.frames.pop();
            run.leave(frame);
            None
        }
        After::Helper(pending) => match native::go_on(pending, run, memory, host) {
            Outcome::Value(value) => {
                run.frames.pop();
                run.leave(frame);
                run.registers[0] = value;
                None
            }
            Outcome::Entered => None,
            Outcome::Fault(kind) => Some(Stop::Fault(kind)),
        },
    }
}

#[cold]
fn bad_store(address: u64, size: u32) -> Stop {
    Stop::Fault(FaultKind::BadStore { address, size })
}

/// A load from an object of the host, or a bad one.
#[inline(never)]
fn far_load<H: Host>(run: &Run, memory: &mut Memory, host: &mut H, at: u64, size: u32) -> u64 {
    let value = if at >= HOST { host.load(at, size) } else { None };
    value.unwrap_or_else(|| bad_load(run, memory))
}

fn any_load<H: Host>(run: &Run, memory: &mut Memory, host: &mut H, at: u64, size: u32) -> u64 {
    memory.load(host, at, size).unwrap_or_else(|| bad_load(run, memory))
}

#[cold]
fn bad_load(run: &Run, memory: &mut Memory) -> u64 {
    memory.note_bad_load(run.pc - 1);
    0
}

#[inline(never)]
fn far_store<H: Host>(host: &mut H, at: u64, size: u32, value: u64) -> bool {
    at >= HOST && host.store(at, size, value)
}

/// An atomic operation.
#[inline(never)]
fn change<H: Host>(
    insn: Insn,
    size: u32,
    run: &mut Run,
    memory: &mut Memory,
    host: &mut H,
) -> Result<(), Stop> {
    let at = reg!(run, insn.dst).wrapping_add(insn.off as u64);
    let mask = if size == 4 { u64::from(u32::MAX) } else { u64::MAX };
    let (operand, expected) = (reg!(run, insn.src) & mask, run.registers[0] & mask);
    let old = memory.load(host, at, size).ok_or_else(|| bad_store(at, size))?;
    let new = atomic(insn.imm, old, operand, expected) & mask;
    if !memory.store(host, at, size, new) {
        return Err(bad_store(at, size));
    }
    if insn.imm == op::CMPXCHG {
        run.registers[0] = old;
    } else if insn.imm & op::FETCH != 0 {
        reg!(run, insn.src) = old;
    }
    Ok(())
}

impl Memory {
    /// The address in the arena that both sides use: its low half decides, and 0 stays 0.
    fn arena_address(&self, at: u64) -> u64 {
        match (offset_of(at), self.arena) {
            (0, _) | (_, None) => 0,
            (offset, Some(region)) => address(region, offset),
        }
    }
}

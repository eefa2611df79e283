//! The interpreter: one loop, one `match`.

use crate::alu::{alu, atomic, is_taken};
use crate::fault::FaultKind;
use crate::host::{Answer, Host};
use crate::image::Image;
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
    image: &Image,
    run: &mut Run,
    memory: &mut Memory,
    host: &mut H,
) -> Stop {
    exchange(run, memory);
    let stop = go(image, run, memory, host);
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

/// Runs, and does what the loop of [`compute`] leaves to others: calls and returns.
fn go<H: Host>(image: &Image, run: &mut Run, memory: &mut Memory, host: &mut H) -> Stop {
    loop {
        match compute(&image.code, run, memory, host) {
            Pause::Call(pc) => {
                if !run.enter(pc, After::Return) {
                    return Stop::Fault(FaultKind::Depth);
                }
            }
            Pause::Native(number) => match native::call(number, run, memory, host) {
                Outcome::Value(value) => run.registers[0] = value,
                Outcome::Entered => {}
                Outcome::Fault(kind) => return Stop::Fault(kind),
            },
            Pause::Host(number) => {
                let [_, a, b, c, d, e, ..] = run.registers;
                match host.call(number, [a, b, c, d, e], memory) {
                    Answer::Value(value) => run.registers[0] = value,
                    Answer::Suspend => return Stop::Suspended,
                    Answer::Stop(why) => return Stop::Fault(FaultKind::Host(why)),
                }
            }
            Pause::Exit => {
                if let Some(stop) = exit(run, memory, host) {
                    return stop;
                }
            }
            Pause::Poison(number) => {
                let what = image.poison.get(number).cloned().unwrap_or_default();
                return Stop::Fault(FaultKind::Unresolved(what));
            }
            Pause::Budget => return Stop::Fault(FaultKind::Budget(run.budget)),
            Pause::NoInstruction => return Stop::Fault(FaultKind::NoInstruction),
            Pause::BadStore { address, size } => {
                return Stop::Fault(FaultKind::BadStore { address, size });
            }
        }
    }
}

/// Why [`compute`] does not go on.
enum Pause {
    Call(usize),
    Native(i64),
    Host(u32),
    Exit,
    Poison(usize),
    Budget,
    NoInstruction,
    BadStore { address: u64, size: u32 },
}

/// A register; the mask spares the check of the index.
macro_rules! reg {
    ($registers:expr, $index:expr) => {
        $registers[($index & 15) as usize]
    };
}

/// Executes instructions up to one that leads elsewhere.
fn compute<H: Host>(code: &[Insn], run: &mut Run, memory: &mut Memory, host: &mut H) -> Pause {
    // What changes with each instruction is kept where the compiler sees all of its changes.
    let (mut pc, mut left) = (run.pc, run.left);
    let r = &mut run.registers;
    let pause = loop {
        let Some(insn) = code.get(pc) else {
            pc += 1;
            break Pause::NoInstruction;
        };
        pc += 1;
        if left == 0 {
            break Pause::Budget;
        }
        left -= 1;
        let a = reg!(r, insn.dst);
        let from_register = reg!(r, insn.src);
        let b = if insn.src == IMMEDIATE { insn.imm as u64 } else { from_register };
        match insn.code {
            Code::MovWide => {
                reg!(r, insn.dst) = b;
                pc += 1;
            }
            Code::CastKernel | Code::CastUser => {
                reg!(r, insn.dst) = memory.arena_address(b);
            }
            Code::Load8 | Code::LoadAcquire8 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(r, insn.dst) = match memory.fast_load::<1>(at) {
                    Some([byte]) => u64::from(byte),
                    None => far_load(pc, memory, host, at, 1),
                };
            }
            Code::Load16 | Code::LoadAcquire16 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(r, insn.dst) = match memory.fast_load(at) {
                    Some(bytes) => u64::from(u16::from_le_bytes(bytes)),
                    None => far_load(pc, memory, host, at, 2),
                };
            }
            Code::Load32 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(r, insn.dst) = match memory.fast_load(at) {
                    Some(bytes) => u64::from(u32::from_le_bytes(bytes)),
                    None => far_load(pc, memory, host, at, 4),
                };
            }
            Code::Load64 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(r, insn.dst) = match memory.fast_load(at) {
                    Some(bytes) => u64::from_le_bytes(bytes),
                    None => far_load(pc, memory, host, at, 8),
                };
            }
            Code::LoadSx8 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(r, insn.dst) = any_load(pc, memory, host, at, 1) as i8 as u64;
            }
            Code::LoadSx16 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(r, insn.dst) = any_load(pc, memory, host, at, 2) as i16 as u64;
            }
            Code::LoadSx32 => {
                let at = b.wrapping_add(insn.off as u64);
                reg!(r, insn.dst) = any_load(pc, memory, host, at, 4) as i32 as u64;
            }
            Code::Store8 | Code::StoreRelease8 => {
                let at = a.wrapping_add(insn.off as u64);
                if !memory.fast_store(at, [b as u8]) && !far_store(host, at, 1, b) {
                    break Pause::BadStore { address: at, size: 1 };
                }
            }
            Code::Store16 | Code::StoreRelease16 => {
                let at = a.wrapping_add(insn.off as u64);
                if !memory.fast_store(at, (b as u16).to_le_bytes()) && !far_store(host, at, 2, b) {
                    break Pause::BadStore { address: at, size: 2 };
                }
            }
            Code::Store32 => {
                let at = a.wrapping_add(insn.off as u64);
                if !memory.fast_store(at, (b as u32).to_le_bytes()) && !far_store(host, at, 4, b) {
                    break Pause::BadStore { address: at, size: 4 };
                }
            }
            Code::Store64 => {
                let at = a.wrapping_add(insn.off as u64);
                if !memory.fast_store(at, b.to_le_bytes()) && !far_store(host, at, 8, b) {
                    break Pause::BadStore { address: at, size: 8 };
                }
            }
            Code::Atomic32 => {
                if let Err(pause) = change(*insn, 4, r, memory, host) {
                    break pause;
                }
            }
            Code::Atomic64 => {
                if let Err(pause) = change(*insn, 8, r, memory, host) {
                    break pause;
                }
            }
            Code::Ja => pc = insn.off as usize,
            Code::MayGoto => {
                if run.may_goto_left == 0 {
                    pc = insn.off as usize;
                } else {
                    run.may_goto_left -= 1;
                }
            }
            Code::Call => break Pause::Call(insn.off as usize),
            Code::CallNative => break Pause::Native(insn.imm),
            Code::CallHost => break Pause::Host(insn.imm as u32),
            Code::Exit => break Pause::Exit,
            Code::Poison => break Pause::Poison(insn.imm as usize),
            Code::Hole => break Pause::NoInstruction,
            code @ (Code::Jeq64
            | Code::Jne64
            | Code::Jgt64
            | Code::Jge64
            | Code::Jlt64
            | Code::Jle64
            | Code::Jset64
            | Code::Jsgt64
            | Code::Jsge64
            | Code::Jslt64
            | Code::Jsle64
            | Code::Jeq32
            | Code::Jne32
            | Code::Jgt32
            | Code::Jge32
            | Code::Jlt32
            | Code::Jle32
            | Code::Jset32
            | Code::Jsgt32
            | Code::Jsge32
            | Code::Jslt32
            | Code::Jsle32) => {
                if is_taken(code, a, b) {
                    pc = insn.off as usize;
                }
            }
            code => reg!(r, insn.dst) = alu(code, a, b),
        }
    };
    (run.pc, run.left) = (pc, left);
    pause
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

/// A load from an object of the host, or a bad one.
#[inline(never)]
fn far_load<H: Host>(pc: usize, memory: &mut Memory, host: &mut H, at: u64, size: u32) -> u64 {
    let value = if at >= HOST { host.load(at, size) } else { None };
    value.unwrap_or_else(|| bad_load(pc, memory))
}

fn any_load<H: Host>(pc: usize, memory: &mut Memory, host: &mut H, at: u64, size: u32) -> u64 {
    memory.load(host, at, size).unwrap_or_else(|| bad_load(pc, memory))
}

#[cold]
fn bad_load(pc: usize, memory: &mut Memory) -> u64 {
    memory.note_bad_load(pc - 1);
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
    r: &mut [u64; 16],
    memory: &mut Memory,
    host: &mut H,
) -> Result<(), Pause> {
    let at = reg!(r, insn.dst).wrapping_add(insn.off as u64);
    let mask = if size == 4 { u64::from(u32::MAX) } else { u64::MAX };
    let (operand, expected) = (reg!(r, insn.src) & mask, r[0] & mask);
    let old = memory.load(host, at, size).ok_or(Pause::BadStore { address: at, size })?;
    let new = atomic(insn.imm, old, operand, expected) & mask;
    if !memory.store(host, at, size, new) {
        return Err(Pause::BadStore { address: at, size });
    }
    if insn.imm == op::CMPXCHG {
        r[0] = old;
    } else if insn.imm & op::FETCH != 0 {
        reg!(r, insn.src) = old;
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

//! Arithmetic and conditions: pure functions of the instruction and two operands.
//!
//! Division by zero gives 0, the remainder of it the dividend; shifts are taken modulo the width;
//! 32-bit forms clear the upper half. The most negative number divided by -1 is itself.

use crate::insn::Code;

/// The result of an arithmetic instruction on `a` (the destination) and `b` (the operand).
///
/// For a code that is none, it is `a`. One flat `match`, with nothing before it: so the compiler
/// makes one jump of it and of the interpreter's `match` around it.
#[inline(always)]
pub fn alu(code: Code, a: u64, b: u64) -> u64 {
    match code {
        Code::Add64 => a.wrapping_add(b),
        Code::Sub64 => a.wrapping_sub(b),
        Code::Mul64 => a.wrapping_mul(b),
        Code::Div64 => a.checked_div(b).unwrap_or(0),
        Code::SDiv64 => sdiv64(a as i64, b as i64) as u64,
        Code::Mod64 => a.checked_rem(b).unwrap_or(a),
        Code::SMod64 => smod64(a as i64, b as i64) as u64,
        Code::Or64 => a | b,
        Code::And64 => a & b,
        Code::Xor64 => a ^ b,
        Code::Lsh64 => a.wrapping_shl(b as u32),
        Code::Rsh64 => a.wrapping_shr(b as u32),
        Code::Arsh64 => (a as i64).wrapping_shr(b as u32) as u64,
        Code::Neg64 => a.wrapping_neg(),
        Code::Mov64 => b,
        Code::MovSx8To64 => b as i8 as u64,
        Code::MovSx16To64 => b as i16 as u64,
        Code::MovSx32To64 => b as i32 as u64,
        Code::Add32 => u64::from((a as u32).wrapping_add(b as u32)),
        Code::Sub32 => u64::from((a as u32).wrapping_sub(b as u32)),
        Code::Mul32 => u64::from((a as u32).wrapping_mul(b as u32)),
        Code::Div32 => u64::from((a as u32).checked_div(b as u32).unwrap_or(0)),
        Code::SDiv32 => u64::from(sdiv32(a as i32, b as i32) as u32),
        Code::Mod32 => u64::from((a as u32).checked_rem(b as u32).unwrap_or(a as u32)),
        Code::SMod32 => u64::from(smod32(a as i32, b as i32) as u32),
        Code::Or32 => u64::from(a as u32 | b as u32),
        Code::And32 => u64::from(a as u32 & b as u32),
        Code::Xor32 => u64::from(a as u32 ^ b as u32),
        Code::Lsh32 => u64::from((a as u32).wrapping_shl(b as u32)),
        Code::Rsh32 => u64::from((a as u32).wrapping_shr(b as u32)),
        Code::Arsh32 => u64::from((a as i32).wrapping_shr(b as u32) as u32),
        Code::Neg32 => u64::from((a as u32).wrapping_neg()),
        Code::Mov32 => u64::from(b as u32),
        Code::MovSx8To32 => u64::from(b as i8 as u32),
        Code::MovSx16To32 => u64::from(b as i16 as u32),
        Code::Zext16 => u64::from(b as u16),
        Code::Swap16 => u64::from((b as u16).swap_bytes()),
        Code::Swap32 => u64::from((b as u32).swap_bytes()),
        Code::Swap64 => b.swap_bytes(),
        _ => a,
    }
}

fn sdiv64(a: i64, b: i64) -> i64 {
    if b == 0 { 0 } else { a.wrapping_div(b) }
}

fn smod64(a: i64, b: i64) -> i64 {
    if b == 0 { a } else { a.wrapping_rem(b) }
}

fn sdiv32(a: i32, b: i32) -> i32 {
    if b == 0 { 0 } else { a.wrapping_div(b) }
}

fn smod32(a: i32, b: i32) -> i32 {
    if b == 0 { a } else { a.wrapping_rem(b) }
}

/// True if a conditional jump on `a` and `b` is taken; false for a code that is none.
#[inline(always)]
pub fn is_taken(code: Code, a: u64, b: u64) -> bool {
    match code {
        Code::Jeq64 => a == b,
        Code::Jne64 => a != b,
        Code::Jgt64 => a > b,
        Code::Jge64 => a >= b,
        Code::Jlt64 => a < b,
        Code::Jle64 => a <= b,
        Code::Jset64 => a & b != 0,
        Code::Jsgt64 => a as i64 > b as i64,
        Code::Jsge64 => a as i64 >= b as i64,
        Code::Jslt64 => (a as i64) < b as i64,
        Code::Jsle64 => a as i64 <= b as i64,
        Code::Jeq32 => a as u32 == b as u32,
        Code::Jne32 => a as u32 != b as u32,
        Code::Jgt32 => a as u32 > b as u32,
        Code::Jge32 => a as u32 >= b as u32,
        Code::Jlt32 => (a as u32) < b as u32,
        Code::Jle32 => a as u32 <= b as u32,
        Code::Jset32 => a as u32 & b as u32 != 0,
        Code::Jsgt32 => a as i32 > b as i32,
        Code::Jsge32 => a as i32 >= b as i32,
        Code::Jslt32 => (a as i32) < b as i32,
        Code::Jsle32 => a as i32 <= b as i32,
        _ => false,
    }
}

/// True for conditional jumps.
pub fn is_condition(code: Code) -> bool {
    (Code::Jeq64..=Code::Jsle32).contains(&code)
}

/// True for arithmetic that [`alu`] computes.
pub fn is_alu(code: Code) -> bool {
    code <= Code::Swap64
}

/// The value that an atomic operation leaves in memory; `expected` is `r0`, for `cmpxchg`.
pub fn atomic(operation: i64, old: u64, operand: u64, expected: u64) -> u64 {
    use crate::insn::atomic::*;
    match operation {
        XCHG => operand,
        CMPXCHG if old == expected => operand,
        CMPXCHG => old,
        _ => match operation & !FETCH {
            ADD => old.wrapping_add(operand),
            OR => old | operand,
            AND => old & operand,
            _ => old ^ operand,
        },
    }
}

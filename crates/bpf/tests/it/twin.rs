//! The interpreter against a slow and obvious one, which works on the eight bytes of each
//! instruction and knows nothing of decoding: random programs leave the same registers and memory.

use crate::asm::{Nobody, exit, raw, wide};
use bpf::insn::Raw;
use bpf::{End, Image, Memory, Run, Vm};
use proptest::prelude::*;
use std::sync::Arc;

const STACK_TOP: i128 = (1 << 32) + 512;
const STEPS_MAX: usize = 2_000;

/// Registers and the outermost function's stack.
struct Model {
    r: [u64; 11],
    stack: [u8; 512],
}

/// A number of `bits` bits as a signed one.
fn signed(value: u64, bits: u32) -> i128 {
    let value = i128::from(value) & ((1 << bits) - 1);
    if value >> (bits - 1) == 1 { value - (1 << bits) } else { value }
}

/// The low bits of any number.
fn low(value: i128, bits: u32) -> u64 {
    (value & ((1 << bits) - 1)) as u64
}

impl Model {
    fn alu(&self, b: [u8; 8], a: u64, operand: u64) -> u64 {
        let bits = if b[0] & 7 == 7 { 64 } else { 32 };
        let off = i16::from_le_bytes([b[2], b[3]]);
        let (ua, ub) = (i128::from(low(a.into(), bits)), i128::from(low(operand.into(), bits)));
        let (sa, sb) = (signed(a, bits), signed(operand, bits));
        let shift = ub % i128::from(bits);
        let wide = match b[0] >> 4 {
            0x0 => ua + ub,
            0x1 => ua - ub,
            // The product of two 64-bit numbers may be longer than the type.
            0x2 => ua.wrapping_mul(ub),
            0x3 if ub == 0 => 0,
            0x3 if off == 1 => sa / sb,
            0x3 => ua / ub,
            0x4 => ua | ub,
            0x5 => ua & ub,
            0x6 => ((ua as u128) << shift) as i128,
            0x7 => ua >> shift,
            0x8 => -ua,
            0x9 if ub == 0 => ua,
            0x9 if off == 1 => sa % sb,
            0x9 => ua % ub,
            0xa => ua ^ ub,
            0xb if off != 0 => signed(operand, off as u32),
            0xb => ub,
            0xc => sa >> shift,
            _ => return self.swap(b, a),
        };
        low(wide, bits)
    }

    fn swap(&self, b: [u8; 8], a: u64) -> u64 {
        let n = i32::from_le_bytes([b[4], b[5], b[6], b[7]]) as usize / 8;
        let mut bytes = a.to_le_bytes()[..n].to_vec();
        if b[0] != 0xd4 {
            bytes.reverse();
        }
        bytes.resize(8, 0);
        u64::from_le_bytes(bytes.try_into().unwrap())
    }

    fn jumps(&self, b: [u8; 8], a: u64, operand: u64) -> bool {
        let bits = if b[0] & 7 == 5 { 64 } else { 32 };
        let (ua, ub) = (low(a.into(), bits), low(operand.into(), bits));
        let (sa, sb) = (signed(a, bits), signed(operand, bits));
        match b[0] >> 4 {
            0x0 => true,
            0x1 => ua == ub,
            0x2 => ua > ub,
            0x3 => ua >= ub,
            0x4 => ua & ub != 0,
            0x5 => ua != ub,
            0x6 => sa > sb,
            0x7 => sa >= sb,
            0xa => ua < ub,
            0xb => ua <= ub,
            0xc => sa < sb,
            _ => sa <= sb,
        }
    }

    /// Where in the stack an access is, and how long.
    fn place(&self, b: [u8; 8], base: u64) -> Option<(usize, usize)> {
        let n = [4, 2, 1, 8][(b[0] >> 3 & 3) as usize];
        let at =
            i128::from(base) + i128::from(i16::from_le_bytes([b[2], b[3]])) - (STACK_TOP - 512);
        let at = usize::try_from(at).ok().filter(|at| at + n <= 512)?;
        Some((at, n))
    }

    fn load(&self, (at, n): (usize, usize)) -> u64 {
        self.stack[at..at + n].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    fn store(&mut self, (at, n): (usize, usize), value: u64) {
        for (i, byte) in self.stack[at..at + n].iter_mut().enumerate() {
            *byte = (value >> (8 * i)) as u8;
        }
    }

    fn atomic(&mut self, b: [u8; 8], dst: usize, src: usize) -> Option<()> {
        let op = u32::from_le_bytes([b[4], b[5], b[6], b[7]]);
        let place = self.place(b, self.r[dst])?;
        let bits = 8 * place.1 as u32;
        let old = self.load(place);
        let operand = low(self.r[src].into(), bits);
        let new = match op {
            0xe1 => operand,
            0xf1 => {
                if old == low(self.r[0].into(), bits) {
                    operand
                } else {
                    old
                }
            }
            0x00 | 0x01 => old.wrapping_add(operand),
            0x40 | 0x41 => old | operand,
            0x50 | 0x51 => old & operand,
            _ => old ^ operand,
        };
        self.store(place, new);
        match op {
            0xf1 => self.r[0] = old,
            _ if op & 1 == 1 => self.r[src] = old,
            _ => {}
        }
        Some(())
    }

    /// `Some(r0)` at the exit; `None` for a bad store or too many steps.
    fn run(&mut self, code: &[[u8; 8]]) -> Option<u64> {
        let mut pc = 0;
        for _ in 0..STEPS_MAX {
            let b = *code.get(pc)?;
            pc += 1;
            let (dst, src) = ((b[1] & 15) as usize, (b[1] >> 4) as usize);
            let imm = i32::from_le_bytes([b[4], b[5], b[6], b[7]]);
            let operand = if b[0] & 8 == 0 { i64::from(imm) as u64 } else { self.r[src] };
            match b[0] & 7 {
                _ if b[0] == 0x95 => return Some(self.r[0]),
                0 => {
                    let high = i32::from_le_bytes(code[pc][4..].try_into().unwrap());
                    self.r[dst] = u64::from(high as u32) * (1 << 32) + u64::from(imm as u32);
                    pc += 1;
                }
                1 => {
                    let place = self.place(b, self.r[src]);
                    let value = place.map_or(0, |place| self.load(place));
                    let bits = place.map_or(8, |place| 8 * place.1 as u32);
                    let is_signed = b[0] & 0xe0 == 0x80;
                    self.r[dst] = if is_signed { signed(value, bits) as u64 } else { value };
                }
                3 if b[0] & 0xe0 == 0xc0 => self.atomic(b, dst, src)?,
                kind @ (2 | 3) => {
                    let place = self.place(b, self.r[dst])?;
                    self.store(place, if kind == 2 { i64::from(imm) as u64 } else { self.r[src] });
                }
                4 | 7 => self.r[dst] = self.alu(b, self.r[dst], operand),
                _ if self.jumps(b, self.r[dst], operand) => {
                    let off = i16::from_le_bytes([b[2], b[3]]);
                    let by = if b[0] == 0x06 { imm } else { i32::from(off) };
                    pc = usize::try_from(pc as i64 + i64::from(by)).ok()?;
                }
                _ => {}
            }
        }
        None
    }
}

/// Numbers at whose edges things happen.
fn number() -> impl Strategy<Value = u64> {
    let edges =
        [0_u64, 1, 2, 31, 32, 63, 64, 0x7f, 0x80, 0xffff, 0x8000, 1 << 31, 1 << 32, 1 << 63];
    let near = (proptest::sample::select(edges.to_vec()), -2_i64..3);
    prop_oneof![near.prop_map(|(edge, by)| edge.wrapping_add(by as u64)), any::<u64>()]
}

fn immediate() -> impl Strategy<Value = i32> {
    number().prop_map(|n| n as i32)
}

/// A register that programs compute with; `r9` keeps the address of the stack's middle.
fn register() -> std::ops::Range<u8> {
    0..6
}

fn arithmetic() -> impl Strategy<Value = Raw> {
    let op = (0_u8..0xd, any::<bool>(), any::<bool>(), any::<bool>());
    (op, register(), register(), immediate(), 0_usize..4).prop_map(
        |((op, is_64, from_register, is_signed), dst, src, imm, width)| {
            let class = if is_64 { 7 } else { 4 };
            let off = match op {
                3 | 9 => i16::from(is_signed),
                0xb if from_register && is_64 => [0, 8, 16, 32][width],
                0xb if from_register => [0, 8, 16, 0][width],
                _ => 0,
            };
            raw(op << 4 | class | u8::from(from_register) << 3, dst, src, off, imm)
        },
    )
}

fn swap() -> impl Strategy<Value = Raw> {
    let opcode = proptest::sample::select(vec![0xd4, 0xdc, 0xd7]);
    let width = proptest::sample::select(vec![16, 32, 64]);
    (opcode, register(), width).prop_map(|(opcode, dst, width)| raw(opcode, dst, 0, 0, width))
}

fn memory() -> impl Strategy<Value = Raw> {
    let loads = vec![0x71, 0x69, 0x61, 0x79, 0x91, 0x89, 0x81];
    let stores = vec![0x73, 0x6b, 0x63, 0x7b, 0x72, 0x6a, 0x62, 0x7a];
    let load = (proptest::sample::select(loads), register(), -256_i16..250)
        .prop_map(|(opcode, dst, off)| raw(opcode, dst, 9, off, 0));
    let store = (proptest::sample::select(stores), register(), -256_i16..249, immediate())
        .prop_map(|(opcode, src, off, imm)| raw(opcode, 9, src, off, imm));
    let ops = vec![0x00, 0x01, 0x40, 0x41, 0x50, 0x51, 0xa0, 0xa1, 0xe1, 0xf1];
    let atomic = (any::<bool>(), register(), -256_i16..249, proptest::sample::select(ops))
        .prop_map(|(is_64, src, off, op)| raw(if is_64 { 0xdb } else { 0xc3 }, 9, src, off, op));
    // A wild address: a load of nothing, mostly.
    let wild = (register(), register()).prop_map(|(dst, src)| raw(0x79, dst, src, 0, 0));
    prop_oneof![3 => load, 3 => store, 2 => atomic, 1 => wild]
}

fn jump() -> impl Strategy<Value = Raw> {
    let ops = vec![1, 2, 3, 4, 5, 6, 7, 0xa, 0xb, 0xc, 0xd];
    let op = (proptest::sample::select(ops), any::<bool>(), any::<bool>());
    let conditional = (op, register(), register(), -6_i16..8, immediate()).prop_map(
        |((op, is_64, from_register), dst, src, off, imm)| {
            let class = if is_64 { 5 } else { 6 };
            raw(op << 4 | class | u8::from(from_register) << 3, dst, src, off, imm)
        },
    );
    let plain = (any::<bool>(), 0_i16..4).prop_map(|(is_long, by)| {
        if is_long { raw(0x06, 0, 0, 0, by.into()) } else { raw(0x05, 0, 0, by, 0) }
    });
    prop_oneof![6 => conditional, 1 => plain]
}

/// First numbers in registers, then anything; jumps that lead out of it become moves.
fn program() -> impl Strategy<Value = Vec<Raw>> {
    let insn = prop_oneof![5 => arithmetic(), 1 => swap(), 3 => memory(), 3 => jump()];
    (proptest::collection::vec(number(), 6), proptest::collection::vec(insn, 1..60)).prop_map(
        |(numbers, body)| {
            let mut code: Vec<Raw> =
                numbers.iter().zip(0..).flat_map(|(n, register)| wide(register, *n)).collect();
            code.push(raw(0xbf, 9, 10, 0, 0));
            code.push(raw(0x07, 9, 0, 0, -256));
            // The stack is known from the start.
            code.extend((0..64).map(|i| raw(0x7a, 10, 0, -8 * (i + 1), 0)));
            let (start, end) = (code.len() as i64, (code.len() + body.len()) as i64);
            for (insn, at) in body.into_iter().zip(start..) {
                let is_jump = matches!(insn.opcode & 7, 5 | 6);
                let by = if insn.opcode == 0x06 { insn.imm.into() } else { i64::from(insn.off) };
                let is_inside = (start..=end).contains(&(at + 1 + by));
                code.push(if is_jump && !is_inside { raw(0xbf, 0, 1, 0, 0) } else { insn });
            }
            code.push(exit());
            code
        },
    )
}

/// What a program leaves: all registers mixed into `r0` at its end would hide errors, so a tail
/// stores them.
fn with_tail(mut code: Vec<Raw>) -> Vec<Raw> {
    code.pop();
    code.extend((0..6).map(|r| raw(0x7b, 10, r, -8 * (i16::from(r) + 1), 0)));
    code.push(exit());
    code
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 10_000, ..ProptestConfig::default() })]

    #[test]
    fn a_slow_interpreter_agrees(code in program()) {
        let code = with_tail(code);
        let bytes: Vec<[u8; 8]> = code.iter().map(|insn| insn.to_bytes()).collect();
        let mut model = Model { r: [0; 11], stack: [0; 512] };
        model.r[10] = STACK_TOP as u64;
        model.r[1] = 2 << 32;
        let expected = model.run(&bytes);

        let image = Image::of_code("twin", &code).expect("the program is valid");
        let program = image.program("twin").expect("it is there");
        let mut vm = Vm::new(Arc::new(image), Memory::new(1, 4096));
        let mut run = Run::new(STEPS_MAX as u64);
        vm.begin(&mut run, program, &[]);
        match vm.run(&mut run, &mut Nobody) {
            End::Done(value) => {
                prop_assert_eq!(Some(value), expected);
                prop_assert_eq!(run.stack_bytes(), &model.stack[..]);
            }
            End::Suspended => prop_assert!(false, "nobody suspends"),
            End::Fault(fault) => prop_assert_eq!(expected, None, "{}", fault),
        }
    }
}

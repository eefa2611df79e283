//! A table of vectors for every instruction and its edges.

use crate::asm::{exit, raw, run, run_on, wide};
use bpf::FaultKind;
use bpf::insn::{BadInsn, Raw, decode};

const MIN64: u64 = 1 << 63;
const MIN32: u64 = 1 << 31;
const M1: u64 = u64::MAX;
const L32: u64 = 0xffff_ffff;
/// A number with different bytes and the sign bit set in every width.
const BYTES: u64 = 0x8182_8384_8586_8788;

/// Opcode of the 64-bit form with an immediate, offset, a, b, results: 64-bit, 32-bit.
const ALU: &[(u8, i16, u64, u64, u64, u64)] = &[
    // add
    (0x07, 0, 1, 2, 3, 3),
    (0x07, 0, M1, 1, 0, 0),
    (0x07, 0, L32, 1, 1 << 32, 0),
    (0x07, 0, 5, M1, 4, 4),
    // sub
    (0x17, 0, 1, 2, M1, L32),
    (0x17, 0, 1 << 32, 1, L32, L32),
    // mul
    (0x27, 0, 1 << 32, 3, 3 << 32, 0),
    (0x27, 0, M1, M1, 1, 1),
    (0x27, 0, MIN32, 2, 1 << 32, 0),
    // div
    (0x37, 0, 7, 2, 3, 3),
    (0x37, 0, 7, 0, 0, 0),
    (0x37, 0, M1, 2, M1 / 2, L32 / 2),
    (0x37, 0, BYTES, 0, 0, 0),
    (0x37, 0, M1, M1, 1, 1),
    (0x37, 0, 5, M1, 0, 0),
    // sdiv
    (0x37, 1, 7, 2, 3, 3),
    (0x37, 1, -7_i64 as u64, 2, -3_i64 as u64, -3_i32 as u32 as u64),
    (0x37, 1, 7, -2_i64 as u64, -3_i64 as u64, -3_i32 as u32 as u64),
    (0x37, 1, MIN64, M1, MIN64, 0),
    (0x37, 1, MIN32, M1, -(1_i64 << 31) as u64, MIN32),
    (0x37, 1, 7, 0, 0, 0),
    // mod
    (0x97, 0, 7, 4, 3, 3),
    (0x97, 0, 7, 0, 7, 7),
    (0x97, 0, BYTES, 0, BYTES, BYTES & L32),
    (0x97, 0, M1, 10, M1 % 10, L32 % 10),
    // smod: the sign is that of the dividend
    (0x97, 1, 7, -4_i64 as u64, 3, 3),
    (0x97, 1, -7_i64 as u64, 4, -3_i64 as u64, -3_i32 as u32 as u64),
    (0x97, 1, MIN64, M1, 0, 0),
    (0x97, 1, MIN32, M1, 0, 0),
    (0x97, 1, BYTES, 0, BYTES, BYTES & L32),
    // or, and, xor: immediates are sign-extended
    (0x47, 0, 0xf0, 0x0f, 0xff, 0xff),
    (0x47, 0, 0, M1, M1, L32),
    (0x57, 0, BYTES, 0xff, 0x88, 0x88),
    (0x57, 0, BYTES, M1, BYTES, BYTES & L32),
    (0xa7, 0, BYTES, M1, !BYTES, !BYTES & L32),
    (0xa7, 0, BYTES, BYTES, 0, 0),
    // shifts: the amount is taken modulo the width
    (0x67, 0, 1, 63, MIN64, MIN32),
    (0x67, 0, 1, 64, 1, 1),
    (0x67, 0, 1, 33, 1 << 33, 2),
    (0x67, 0, BYTES, 32, BYTES << 32, BYTES & L32),
    (0x77, 0, MIN64, 63, 1, 0),
    (0x77, 0, BYTES, 65, BYTES >> 1, (BYTES & L32) >> 1),
    (0x77, 0, BYTES, 4, BYTES >> 4, (BYTES & L32) >> 4),
    (0xc7, 0, MIN64, 63, M1, 0),
    (0xc7, 0, MIN32, 31, 1, L32),
    (0xc7, 0, BYTES, 4, 0xf818_2838_4858_6878, 0xf858_6878),
    (0xc7, 0, BYTES, 32, 0xffff_ffff_8182_8384, 0x8586_8788),
    // neg ignores its operand
    (0x87, 0, 1, 0, M1, L32),
    (0x87, 0, MIN64, 0, MIN64, 0),
    (0x87, 0, MIN32, 0, -(1_i64 << 31) as u64, MIN32),
    // mov
    (0xb7, 0, BYTES, 5, 5, 5),
    (0xb7, 0, 0, M1, M1, L32),
];

fn fits_immediate(b: u64) -> bool {
    i64::from(b as i32) as u64 == b
}

#[test]
fn arithmetic() {
    for (opcode, off, a, b, at_64, at_32) in ALU {
        for (opcode, expected) in [(*opcode, at_64), (opcode - 3, at_32)] {
            let mov = raw(0xbf, 0, 1, 0, 0);
            let from_register = raw(opcode | 8, 0, 2, *off, 0);
            let what = format!("{opcode:#x} off {off} of {a:#x} and {b:#x}");
            assert_eq!(run_on(*a, *b, &[mov, from_register]), Ok(*expected), "{what}");
            if fits_immediate(*b) {
                let immediate = raw(opcode, 0, 0, *off, *b as i32);
                assert_eq!(run_on(*a, 0, &[mov, immediate]), Ok(*expected), "{what}, immediate");
            }
        }
    }
}

#[test]
fn every_operation_is_in_the_table() {
    let in_table = |op: u8| ALU.iter().any(|row| row.0 >> 4 == op);
    assert!((0..=0xc).all(in_table));
    // 0xd is the order of bytes, in a table of its own.
    for op in [0xe_u8, 0xf] {
        let bad = [raw(op << 4 | 7, 0, 0, 0, 0), exit()];
        assert_eq!(decode(&bad, 0, 0), Err(BadInsn::Unknown(op << 4 | 7)));
    }
}

#[test]
fn moves_with_sign() {
    // Opcode, offset, result.
    let table: &[(u8, i16, u64)] = &[
        (0xbf, 8, 0xffff_ffff_ffff_ff88),
        (0xbf, 16, 0xffff_ffff_ffff_8788),
        (0xbf, 32, 0xffff_ffff_8586_8788),
        (0xbc, 8, 0xffff_ff88),
        (0xbc, 16, 0xffff_8788),
        (0xbc, 0, 0x8586_8788),
        (0xbf, 0, BYTES),
    ];
    for (opcode, off, expected) in table {
        let code = [raw(*opcode, 0, 1, *off, 0)];
        assert_eq!(run_on(BYTES, 0, &code), Ok(*expected), "{opcode:#x} {off}");
        let positive = 0x0102_0304_0506_0708;
        let width = if *off == 0 { if *opcode == 0xbf { 64 } else { 32 } } else { *off };
        let kept = if width == 64 { positive } else { positive & ((1 << width) - 1) };
        assert_eq!(run_on(positive, 0, &code), Ok(kept), "{opcode:#x} {off}");
    }
}

#[test]
fn order_of_bytes() {
    let table: &[(u8, i32, u64)] = &[
        (0xd4, 16, 0x8788),
        (0xd4, 32, 0x8586_8788),
        (0xd4, 64, BYTES),
        (0xdc, 16, 0x8887),
        (0xdc, 32, 0x8887_8685),
        (0xdc, 64, 0x8887_8685_8483_8281),
        (0xd7, 16, 0x8887),
        (0xd7, 32, 0x8887_8685),
        (0xd7, 64, 0x8887_8685_8483_8281),
    ];
    for (opcode, width, expected) in table {
        let code = [raw(0xbf, 0, 1, 0, 0), raw(*opcode, 0, 0, 0, *width)];
        assert_eq!(run_on(BYTES, 0, &code), Ok(*expected), "{opcode:#x} {width}");
    }
    assert!(decode(&[raw(0xd7, 0, 0, 0, 8)], 0, 0).is_err());
}

/// Opcode of the 64-bit form with an immediate, a, b, taken: 64-bit, 32-bit.
const JUMPS: &[(u8, u64, u64, bool, bool)] = &[
    (0x15, 5, 5, true, true),
    (0x15, 5 | 1 << 32, 5, false, true),
    (0x15, M1, M1, true, true),
    (0x55, 5 | 1 << 32, 5, true, false),
    (0x55, 5, 6, true, true),
    (0x25, 6, 5, true, true),
    (0x25, 5, 5, false, false),
    (0x25, M1, 1, true, true),
    (0x25, 1 << 32, 1, true, false),
    (0x35, 5, 5, true, true),
    (0x35, 4, 5, false, false),
    (0xa5, 4, 5, true, true),
    (0xa5, 5, M1, true, true),
    (0xa5, 5, 5, false, false),
    (0xb5, 5, 5, true, true),
    (0xb5, 6, 5, false, false),
    (0x45, 6, 2, true, true),
    (0x45, 6, 9, false, false),
    (0x45, 1 << 40, M1, true, false),
    (0x65, 1, M1, true, true),
    (0x65, MIN32, 0, true, false),
    (0x65, M1, M1, false, false),
    (0x75, M1, M1, true, true),
    (0x75, MIN64, 0, false, true),
    (0xc5, M1, 0, true, true),
    (0xc5, MIN32, 0, false, true),
    (0xc5, 0, 0, false, false),
    (0xd5, 0, 0, true, true),
    (0xd5, 1, M1, false, false),
];

#[test]
fn conditional_jumps() {
    for (opcode, a, b, at_64, at_32) in JUMPS {
        for (opcode, expected) in [(*opcode, *at_64), (opcode + 1, *at_32)] {
            let (no, yes) = (raw(0xb7, 0, 0, 0, 0), raw(0xb7, 0, 0, 0, 1));
            let what = format!("{opcode:#x} on {a:#x} and {b:#x}");
            let code = [yes, raw(opcode | 8, 1, 2, 1, 0), no];
            assert_eq!(run_on(*a, *b, &code), Ok(u64::from(expected)), "{what}");
            if fits_immediate(*b) {
                let code = [yes, raw(opcode, 1, 0, 1, *b as i32), no];
                assert_eq!(run_on(*a, 0, &code), Ok(u64::from(expected)), "{what}, immediate");
            }
        }
    }
}

#[test]
fn jumps_of_both_lengths_go_forth_and_back() {
    for (opcode, off, imm) in [(0x05, 1, 0), (0x06, 0, 1)] {
        let jump = raw(opcode, 0, 0, off, imm);
        let code = [raw(0xb7, 0, 0, 0, 7), jump, raw(0xb7, 0, 0, 0, 8)];
        assert_eq!(run_on(0, 0, &code), Ok(7));
    }
    // r0 counts r1 down to 0.
    let back = [raw(0x07, 0, 0, 0, 1), raw(0x17, 1, 0, 0, 1), raw(0x55, 1, 0, -3, 0)];
    let mut code = vec![raw(0xb7, 0, 0, 0, 0)];
    code.extend(back);
    assert_eq!(run_on(10, 0, &code), Ok(10));
}

#[test]
fn memory_in_all_sizes() {
    // Opcodes of store and load, result.
    let table: &[(u8, u8, u64)] = &[
        (0x73, 0x71, 0x88),
        (0x6b, 0x69, 0x8788),
        (0x63, 0x61, 0x8586_8788),
        (0x7b, 0x79, BYTES),
        (0x7b, 0x91, 0xffff_ffff_ffff_ff88),
        (0x7b, 0x89, 0xffff_ffff_ffff_8788),
        (0x7b, 0x81, 0xffff_ffff_8586_8788),
        (0x7b, 0x71, 0x88),
    ];
    for (store, load, expected) in table {
        let clear = raw(0x7a, 10, 0, -8, 0);
        let code = [clear, raw(*store, 10, 1, -8, 0), raw(*load, 0, 10, -8, 0)];
        assert_eq!(run_on(BYTES, 0, &code), Ok(*expected), "{store:#x} {load:#x}");
    }
    // An immediate is sign-extended to the width of the store.
    for (store, expected) in [(0x72, 0xfe), (0x6a, 0xfffe), (0x62, 0xffff_fffe), (0x7a, M1 - 1)] {
        let clear = raw(0x7a, 10, 0, -16, 0);
        let code = [clear, raw(store, 10, 0, -16, -2), raw(0x79, 0, 10, -16, 0)];
        assert_eq!(run_on(0, 0, &code), Ok(expected), "{store:#x}");
    }
}

#[test]
fn atomic_operations() {
    // Operation, memory before, operand, r0, then: memory, r0, source register; 64-bit.
    let table: &[(i32, u64, u64, u64, u64, u64, u64)] = &[
        (0x00, 5, 7, 1, 12, 1, 7),
        (0x01, 5, 7, 1, 12, 1, 5),
        (0x40, 5, 2, 1, 7, 1, 2),
        (0x41, 5, 2, 1, 7, 1, 5),
        (0x50, 7, 2, 1, 2, 1, 2),
        (0x51, 7, 2, 1, 2, 1, 7),
        (0xa0, 5, 7, 1, 2, 1, 7),
        (0xa1, 5, 7, 1, 2, 1, 5),
        (0xe1, 5, 7, 1, 7, 1, 5),
        (0xf1, 5, 7, 5, 7, 5, 7),
        (0xf1, 5, 7, 6, 5, 5, 7),
    ];
    for (op, before, operand, r0, after, r0_after, operand_after) in table {
        // The results of a 32-bit operation on numbers with a full upper half: memory keeps its
        // upper half, registers that are written lose theirs.
        for (opcode, high) in [(0xdb, 0), (0xc3, 0xaaaa_aaaa_0000_0000_u64)] {
            let is_cmpxchg = *op == 0xf1;
            let fetches = op & 1 != 0 && !is_cmpxchg;
            let written =
                |is_written: bool, value: u64| if is_written { value } else { value | high };
            let expected =
                [*after | high, written(is_cmpxchg, *r0_after), written(fetches, *operand_after)];
            for (i, expected) in expected.into_iter().enumerate() {
                let mut code = wide(3, before | high).to_vec();
                code.extend([raw(0x7b, 10, 3, -8, 0), raw(0xbf, 0, 1, 0, 0)]);
                code.push(raw(opcode, 10, 2, -8, *op));
                let result =
                    [raw(0x79, 0, 10, -8, 0), raw(0xbf, 0, 0, 0, 0), raw(0xbf, 0, 2, 0, 0)];
                code.push(result[i]);
                let got = run_on(r0 | high, operand | high, &code);
                assert_eq!(got, Ok(expected), "{opcode:#x} {op:#x} part {i}");
            }
        }
    }
}

#[test]
fn acquire_and_release() {
    for (size, expected) in [(0x10, 0x88), (0x08, 0x8788), (0x00, 0x8586_8788), (0x18, BYTES)] {
        let opcode = 0xc3 | size;
        let clear = raw(0x7a, 10, 0, -8, 0);
        let store = raw(opcode, 10, 1, -8, 0x110);
        let load = raw(opcode, 0, 10, -8, 0x100);
        assert_eq!(run_on(BYTES, 0, &[clear, store, load]), Ok(expected), "{size:#x}");
    }
}

#[test]
fn functions_have_stacks_and_keep_four_registers() {
    // r6 = 6; stack = 1; call; r0 += r6 + stack
    let code = [
        raw(0xb7, 6, 0, 0, 6),
        raw(0x7a, 10, 0, -8, 1),
        raw(0x85, 0, 1, 0, 4),
        raw(0x79, 1, 10, -8, 0),
        raw(0x0f, 0, 6, 0, 0),
        raw(0x0f, 0, 1, 0, 0),
        exit(),
        // The function: r6 = 60; stack = 2; return 100
        raw(0xb7, 6, 0, 0, 60),
        raw(0x7a, 10, 0, -8, 2),
        raw(0xb7, 0, 0, 0, 100),
        exit(),
    ];
    assert_eq!(run(&code), Ok(107));
}

#[test]
fn what_goes_wrong_is_named() {
    let forever = [raw(0x05, 0, 0, -1, 0)];
    assert_eq!(run(&forever), Err(FaultKind::Budget(crate::asm::BUDGET)));
    let deep = [raw(0x85, 0, 1, 0, -1), exit()];
    assert_eq!(run(&deep), Err(FaultKind::Depth));
    let null = [raw(0xb7, 1, 0, 0, 8), raw(0x7a, 1, 0, 0, 1), exit()];
    assert_eq!(run(&null), Err(FaultKind::BadStore { address: 8, size: 8 }));
    let unknown = [raw(0x85, 0, 0, 0, 99_999), exit()];
    assert!(run(&unknown).is_err());
    let no_exit = [raw(0xb7, 0, 0, 0, 0)];
    assert_eq!(run(&no_exit), Err(FaultKind::NoInstruction));
    // A bad load is 0, and the program goes on.
    let bad_load = [raw(0xb7, 0, 0, 0, 9), raw(0x79, 0, 0, 0, 0), exit()];
    assert_eq!(run(&bad_load), Ok(0));
}

#[test]
fn may_goto_leaves_a_loop_at_last() {
    // r0 += 1 until may_goto has had enough.
    let code = [
        raw(0xb7, 0, 0, 0, 0),
        raw(0xe5, 0, 0, 2, 0),
        raw(0x07, 0, 0, 0, 1),
        raw(0x05, 0, 0, -3, 0),
        exit(),
    ];
    assert_eq!(run(&code), Err(FaultKind::Budget(crate::asm::BUDGET)));
}

#[test]
fn what_is_no_instruction_is_refused() {
    let bad: &[(&[Raw], BadInsn)] = &[
        (&[raw(0x20, 0, 0, 0, 0)], BadInsn::Unknown(0x20)),
        (&[raw(0x8d, 0, 0, 0, 0)], BadInsn::Unknown(0x8d)),
        (&[raw(0x9b, 0, 0, 0, 0)], BadInsn::Unknown(0x9b)),
        (&[raw(0xd3, 0, 0, 0, 0)], BadInsn::Unknown(0xd3)),
        (&[raw(0xdb, 0, 0, 0, 0x02)], BadInsn::Unknown(0xdb)),
        (&[raw(0x07, 10, 0, 0, 0)], BadInsn::Field(0x07)),
        (&[raw(0x07, 11, 0, 0, 0)], BadInsn::Field(0x07)),
        (&[raw(0x0f, 0, 12, 0, 0)], BadInsn::Field(0x0f)),
        (&[raw(0x07, 0, 0, 1, 0)], BadInsn::Field(0x07)),
        (&[raw(0x37, 0, 0, 2, 1)], BadInsn::Field(0x37)),
        (&[raw(0xbf, 0, 1, 7, 0)], BadInsn::Field(0xbf)),
        (&[raw(0x05, 0, 0, 1, 0)], BadInsn::Jump),
        (&[raw(0x05, 0, 0, -2, 0)], BadInsn::Jump),
        (&[raw(0x18, 0, 0, 0, 0)], BadInsn::Half),
        (&[raw(0x05, 0, 0, 1, 0), raw(0x18, 0, 0, 0, 0), raw(0, 0, 0, 0, 0)], BadInsn::Jump),
    ];
    for (code, why) in bad {
        assert_eq!(decode(code, 0, 0), Err(*why), "{code:x?}");
    }
}

#[test]
fn eight_bytes_are_an_instruction_and_back() {
    let one = raw(0xdb, 3, 9, -2, -3);
    assert_eq!(one.to_bytes(), [0xdb, 0x93, 0xfe, 0xff, 0xfd, 0xff, 0xff, 0xff]);
    assert_eq!(Raw::from_bytes(one.to_bytes()), one);
}

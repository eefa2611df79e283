//! Instructions: eight bytes of an object become one decoded, checked [`Insn`].
//!
//! The instruction set is that of `Documentation/bpf/standardization/instruction-set.rst` of the
//! kernel, versions 1 to 4, with `may_goto` and arena casts. One decoded instruction stands at the
//! place of each raw one, so numbers of instructions are the same as in the object; the second half
//! of a 16-byte instruction is a [`Code::Hole`].

/// The last register: the frame pointer.
pub const FRAME_POINTER: u8 = 10;
/// As source register: the immediate is the operand.
pub const IMMEDIATE: u8 = 15;

const CLASS_LD: u8 = 0;
const CLASS_LDX: u8 = 1;
const CLASS_ST: u8 = 2;
const CLASS_STX: u8 = 3;
const CLASS_ALU: u8 = 4;
const CLASS_JMP: u8 = 5;
const CLASS_JMP32: u8 = 6;

const MODE_MEM: u8 = 0x60;
const MODE_MEMSX: u8 = 0x80;
const MODE_ATOMIC: u8 = 0xc0;

/// `ld_imm64`: opcode of the 16-byte instruction.
pub const LD_IMM64: u8 = 0x18;
/// `call`
pub const CALL: u8 = 0x85;
/// `src` of a call of a function of the same program.
pub const PSEUDO_CALL: u8 = 1;
/// `src` of a call of a kernel function.
pub const PSEUDO_KFUNC: u8 = 2;
/// `src` of an `ld_imm64` of a function's address.
pub const PSEUDO_FUNC: u8 = 4;

/// An instruction as it is in the object.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Raw {
    /// Opcode: class, source or mode, operation or size.
    pub opcode: u8,
    /// Destination register.
    pub dst: u8,
    /// Source register, or the kind of a call or a 64-bit immediate.
    pub src: u8,
    /// Offset: of memory in bytes, of jumps in instructions.
    pub off: i16,
    /// Immediate.
    pub imm: i32,
}

impl Raw {
    /// Reads eight bytes (little-endian).
    pub fn from_bytes(b: [u8; 8]) -> Self {
        Self {
            opcode: b[0],
            dst: b[1] & 15,
            src: b[1] >> 4,
            off: i16::from_le_bytes([b[2], b[3]]),
            imm: i32::from_le_bytes([b[4], b[5], b[6], b[7]]),
        }
    }

    /// The eight bytes.
    pub fn to_bytes(self) -> [u8; 8] {
        let ([o0, o1], [i0, i1, i2, i3]) = (self.off.to_le_bytes(), self.imm.to_le_bytes());
        [self.opcode, self.dst & 15 | self.src << 4, o0, o1, i0, i1, i2, i3]
    }

    /// True for the first half of a 16-byte instruction.
    pub fn is_wide(self) -> bool {
        self.opcode == LD_IMM64
    }
}

/// What an instruction does. Arithmetic takes `dst` and an operand: a register or the immediate.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names of the instruction set")]
pub enum Code {
    Add64,
    Sub64,
    Mul64,
    Div64,
    SDiv64,
    Mod64,
    SMod64,
    Or64,
    And64,
    Xor64,
    Lsh64,
    Rsh64,
    Arsh64,
    Neg64,
    Mov64,
    MovSx8To64,
    MovSx16To64,
    MovSx32To64,
    Add32,
    Sub32,
    Mul32,
    Div32,
    SDiv32,
    Mod32,
    SMod32,
    Or32,
    And32,
    Xor32,
    Lsh32,
    Rsh32,
    Arsh32,
    Neg32,
    Mov32,
    MovSx8To32,
    MovSx16To32,
    /// `dst` keeps its low 16 bits.
    Zext16,
    Swap16,
    Swap32,
    Swap64,
    /// `dst` becomes the immediate of a 16-byte instruction.
    MovWide,
    /// Arena: from the user's address to the kernel's.
    CastKernel,
    /// Arena: from the kernel's address to the user's.
    CastUser,
    Load8,
    Load16,
    Load32,
    Load64,
    LoadSx8,
    LoadSx16,
    LoadSx32,
    Store8,
    Store16,
    Store32,
    Store64,
    /// `imm` is the operation.
    Atomic32,
    Atomic64,
    LoadAcquire8,
    LoadAcquire16,
    StoreRelease8,
    StoreRelease16,
    Ja,
    MayGoto,
    Jeq64,
    Jne64,
    Jgt64,
    Jge64,
    Jlt64,
    Jle64,
    Jset64,
    Jsgt64,
    Jsge64,
    Jslt64,
    Jsle64,
    Jeq32,
    Jne32,
    Jgt32,
    Jge32,
    Jlt32,
    Jle32,
    Jset32,
    Jsgt32,
    Jsge32,
    Jslt32,
    Jsle32,
    /// A function of the same program: `off` is its first instruction.
    Call,
    /// A helper or kfunc of this crate: `imm` is its number.
    CallNative,
    /// A helper or kfunc of the host: `imm` is what the host has called it.
    CallHost,
    Exit,
    /// What could not be resolved: `imm` is its number in the list of these.
    Poison,
    /// The second half of a 16-byte instruction.
    Hole,
}

/// A decoded instruction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Insn {
    /// What it does.
    pub code: Code,
    /// Destination register.
    pub dst: u8,
    /// Source register, or [`IMMEDIATE`].
    pub src: u8,
    /// Memory: offset in bytes. Jumps and calls: the number of the target instruction.
    pub off: i32,
    /// Immediate, sign-extended.
    pub imm: i64,
}

impl Insn {
    /// An instruction without registers and offset.
    pub fn plain(code: Code, imm: i64) -> Self {
        Self { code, dst: 0, src: IMMEDIATE, off: 0, imm }
    }
}

/// Why an instruction is not one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub enum BadInsn {
    /// No such operation, or one that the kernel refuses as well (packet loads, indirect calls).
    #[error("unknown instruction {0:#04x}")]
    Unknown(u8),
    /// A field that has to be zero is not, or a register does not exist.
    #[error("instruction {0:#04x} with a register or field that it must not have")]
    Field(u8),
    /// A jump leads out of its function's section, or into a 16-byte instruction.
    #[error("a jump leads nowhere")]
    Jump,
    /// A 16-byte instruction is cut.
    #[error("half of a 16-byte instruction")]
    Half,
}

/// Decodes the instruction at `at` of `raw`; `base` is the number of the first one of `raw` in the
/// whole program, which jump targets count from.
///
/// `ld_imm64` takes whatever both halves hold: whoever relocates writes there first.
pub fn decode(raw: &[Raw], at: usize, base: usize) -> Result<Insn, BadInsn> {
    let r = raw[at];
    let known = match r.opcode & 7 {
        CLASS_LD => return wide(raw, at),
        CLASS_LDX | CLASS_ST | CLASS_STX => memory(r)?,
        CLASS_JMP | CLASS_JMP32 => jump(raw, at, base)?,
        _ => arithmetic(r)?,
    };
    let registers_exist = known.dst <= FRAME_POINTER
        && (known.src <= FRAME_POINTER || known.src == IMMEDIATE)
        && !(writes_dst(known.code) && known.dst == FRAME_POINTER);
    if registers_exist { Ok(known) } else { Err(BadInsn::Field(r.opcode)) }
}

/// True if an instruction's result goes to `dst`.
pub fn writes_dst(code: Code) -> bool {
    code <= Code::LoadSx32 || matches!(code, Code::LoadAcquire8 | Code::LoadAcquire16)
}

fn wide(raw: &[Raw], at: usize) -> Result<Insn, BadInsn> {
    let r = raw[at];
    if r.opcode != LD_IMM64 {
        return Err(BadInsn::Unknown(r.opcode));
    }
    let high = raw.get(at + 1).filter(|h| h.opcode == 0).ok_or(BadInsn::Half)?;
    if r.dst >= FRAME_POINTER || r.src != 0 || r.off != 0 {
        return Err(BadInsn::Field(r.opcode));
    }
    let imm = i64::from(high.imm) << 32 | i64::from(r.imm as u32);
    Ok(Insn { code: Code::MovWide, dst: r.dst, src: IMMEDIATE, off: 0, imm })
}

fn memory(r: Raw) -> Result<Insn, BadInsn> {
    let unknown = Err(BadInsn::Unknown(r.opcode));
    let size = (r.opcode >> 3 & 3) as usize;
    let mode = r.opcode & 0xe0;
    let (code, src) = match (r.opcode & 7, mode) {
        (CLASS_LDX, MODE_MEM) => {
            ([Code::Load32, Code::Load16, Code::Load8, Code::Load64][size], r.src)
        }
        (CLASS_LDX, MODE_MEMSX) if size != 3 => {
            ([Code::LoadSx32, Code::LoadSx16, Code::LoadSx8][size], r.src)
        }
        (CLASS_ST | CLASS_STX, MODE_MEM) => {
            let src = if r.opcode & 7 == CLASS_ST { IMMEDIATE } else { r.src };
            ([Code::Store32, Code::Store16, Code::Store8, Code::Store64][size], src)
        }
        (CLASS_STX, MODE_ATOMIC) => return atomic(r, size),
        _ => return unknown,
    };
    Ok(Insn { code, dst: r.dst, src, off: i32::from(r.off), imm: i64::from(r.imm) })
}

/// Atomic operations by their immediate.
pub mod atomic {
    /// The old value goes to the source register.
    pub const FETCH: i64 = 0x01;
    /// Addition.
    pub const ADD: i64 = 0x00;
    /// Or.
    pub const OR: i64 = 0x40;
    /// And.
    pub const AND: i64 = 0x50;
    /// Exclusive or.
    pub const XOR: i64 = 0xa0;
    /// Exchange.
    pub const XCHG: i64 = 0xe1;
    /// Compare with `r0` and exchange; the old value goes to `r0`.
    pub const CMPXCHG: i64 = 0xf1;
    /// A load that later ones do not overtake.
    pub const LOAD_ACQUIRE: i64 = 0x100;
    /// A store that does not overtake earlier ones.
    pub const STORE_RELEASE: i64 = 0x110;
}

fn atomic(r: Raw, size: usize) -> Result<Insn, BadInsn> {
    use atomic::*;
    let imm = i64::from(r.imm);
    let insn = |code| Ok(Insn { code, dst: r.dst, src: r.src, off: i32::from(r.off), imm });
    match imm {
        // One simulated CPU acts at a time: the order of memory is the order of instructions.
        LOAD_ACQUIRE => {
            let all = [Code::Load32, Code::LoadAcquire16, Code::LoadAcquire8, Code::Load64];
            insn(all[size])
        }
        STORE_RELEASE => {
            let all = [Code::Store32, Code::StoreRelease16, Code::StoreRelease8, Code::Store64];
            insn(all[size])
        }
        XCHG | CMPXCHG => whole_words(r, size).and_then(insn),
        _ if matches!(imm & !FETCH, ADD | OR | AND | XOR) => whole_words(r, size).and_then(insn),
        _ => Err(BadInsn::Unknown(r.opcode)),
    }
}

fn whole_words(r: Raw, size: usize) -> Result<Code, BadInsn> {
    match size {
        0 => Ok(Code::Atomic32),
        3 => Ok(Code::Atomic64),
        _ => Err(BadInsn::Unknown(r.opcode)),
    }
}

fn arithmetic(r: Raw) -> Result<Insn, BadInsn> {
    use Code::*;
    let is_64 = r.opcode & 7 != CLASS_ALU;
    let from_register = r.opcode & 8 != 0;
    let pick = |at_64, at_32| if is_64 { at_64 } else { at_32 };
    let signed = |plain, signed| match r.off {
        0 => Ok(plain),
        1 => Ok(signed),
        _ => Err(BadInsn::Field(r.opcode)),
    };
    let code = match r.opcode >> 4 {
        0x0 => pick(Add64, Add32),
        0x1 => pick(Sub64, Sub32),
        0x2 => pick(Mul64, Mul32),
        0x3 => signed(pick(Div64, Div32), pick(SDiv64, SDiv32))?,
        0x4 => pick(Or64, Or32),
        0x5 => pick(And64, And32),
        0x6 => pick(Lsh64, Lsh32),
        0x7 => pick(Rsh64, Rsh32),
        0x8 => pick(Neg64, Neg32),
        0x9 => signed(pick(Mod64, Mod32), pick(SMod64, SMod32))?,
        0xa => pick(Xor64, Xor32),
        0xb => mov(r, is_64)?,
        0xc => pick(Arsh64, Arsh32),
        0xd => return swap(r, is_64),
        _ => return Err(BadInsn::Unknown(r.opcode)),
    };
    let takes_offset = matches!(r.opcode >> 4, 0x3 | 0x9 | 0xb);
    if !takes_offset && r.off != 0 {
        return Err(BadInsn::Field(r.opcode));
    }
    let src = if from_register { r.src } else { IMMEDIATE };
    Ok(Insn { code, dst: r.dst, src, off: 0, imm: i64::from(r.imm) })
}

fn mov(r: Raw, is_64: bool) -> Result<Code, BadInsn> {
    let from_register = r.opcode & 8 != 0;
    match (r.off, is_64) {
        (0, true) => Ok(Code::Mov64),
        (0, false) => Ok(Code::Mov32),
        (8, true) if from_register => Ok(Code::MovSx8To64),
        (16, true) if from_register => Ok(Code::MovSx16To64),
        (32, true) if from_register => Ok(Code::MovSx32To64),
        (8, false) if from_register => Ok(Code::MovSx8To32),
        (16, false) if from_register => Ok(Code::MovSx16To32),
        // `imm` is the address spaces: to << 16 | from.
        (1, true) if from_register && r.imm == 1 => Ok(Code::CastKernel),
        (1, true) if from_register && r.imm == 1 << 16 => Ok(Code::CastUser),
        _ => Err(BadInsn::Field(r.opcode)),
    }
}

fn swap(r: Raw, is_64: bool) -> Result<Insn, BadInsn> {
    let to_big = r.opcode & 8 != 0;
    let code = match (is_64, to_big, r.imm) {
        (true, false, 16) | (false, true, 16) => Code::Swap16,
        (true, false, 32) | (false, true, 32) => Code::Swap32,
        (true, false, 64) | (false, true, 64) => Code::Swap64,
        (false, false, 16) => Code::Zext16,
        (false, false, 32) => Code::Mov32,
        (false, false, 64) => Code::Mov64,
        _ => return Err(BadInsn::Field(r.opcode)),
    };
    Ok(Insn { code, dst: r.dst, src: r.dst, off: 0, imm: 0 })
}

fn jump(raw: &[Raw], at: usize, base: usize) -> Result<Insn, BadInsn> {
    use Code::*;
    let r = raw[at];
    let is_32 = r.opcode & 7 == CLASS_JMP32;
    let src = if r.opcode & 8 != 0 { r.src } else { IMMEDIATE };
    let imm = i64::from(r.imm);
    let code = match (r.opcode, r.opcode >> 4) {
        (0x05 | 0x06, _) => Ja,
        (0xe5, _) if r.src == 0 => MayGoto,
        (CALL, _) => return call(raw, at, base),
        (0x95, _) => return Ok(Insn::plain(Exit, 0)),
        (_, op) => {
            let all = [
                None,
                Some((Jeq64, Jeq32)),
                Some((Jgt64, Jgt32)),
                Some((Jge64, Jge32)),
                Some((Jset64, Jset32)),
                Some((Jne64, Jne32)),
                Some((Jsgt64, Jsgt32)),
                Some((Jsge64, Jsge32)),
                None,
                None,
                Some((Jlt64, Jlt32)),
                Some((Jle64, Jle32)),
                Some((Jslt64, Jslt32)),
                Some((Jsle64, Jsle32)),
            ];
            let pair = all.get(op as usize).copied().flatten();
            let (at_64, at_32) = pair.ok_or(BadInsn::Unknown(r.opcode))?;
            if is_32 { at_32 } else { at_64 }
        }
    };
    let by = if r.opcode == 0x06 { imm } else { i64::from(r.off) };
    let off = target(raw, at as i64 + 1 + by, base)?;
    Ok(Insn { code, dst: r.dst, src, off, imm })
}

/// A jump's target, which has to be the start of an instruction.
fn target(raw: &[Raw], to: i64, base: usize) -> Result<i32, BadInsn> {
    let to = usize::try_from(to).ok().filter(|to| *to < raw.len()).ok_or(BadInsn::Jump)?;
    if to > 0 && raw[to].opcode == 0 && raw[to - 1].is_wide() {
        return Err(BadInsn::Jump);
    }
    i32::try_from(base + to).map_err(|_| BadInsn::Jump)
}

/// Calls inside a section are decoded here; all others have been given a code by relocations.
fn call(raw: &[Raw], at: usize, base: usize) -> Result<Insn, BadInsn> {
    let r = raw[at];
    match r.src {
        0 => Ok(Insn::plain(Code::CallNative, i64::from(r.imm))),
        PSEUDO_CALL => {
            let off = target(raw, at as i64 + 1 + i64::from(r.imm), base)?;
            Ok(Insn { off, ..Insn::plain(Code::Call, 0) })
        }
        _ => Err(BadInsn::Field(r.opcode)),
    }
}

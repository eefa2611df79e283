//! One run of a program: registers, stack, calls under way. It can stop and go on.

use crate::memory::{CONTEXT, STACK, address, offset_of, region_of};
use crate::native::Pending;

/// Functions and callbacks that may be under way inside each other (`MAX_CALL_FRAMES`).
pub(crate) const DEPTH_MAX: usize = 8;
/// Bytes of stack per function (`MAX_BPF_STACK`).
pub(crate) const FRAME_BYTES: usize = 512;
/// Bytes behind the stack for what helpers show to their callbacks, per frame.
pub(crate) const NOTE_BYTES: usize = 16;
/// Arguments of an operation (`MAX_BPF_FUNC_ARGS`).
pub(crate) const ARGS_MAX: usize = 12;
/// `may_goto` stays this often (`BPF_MAX_LOOPS`).
const MAY_GOTO_MAX: u32 = 8 * 1024 * 1024;

/// What is to be done when a function returns.
#[derive(Clone, Copy, Debug)]
pub(crate) enum After {
    /// Go on behind its call.
    Return,
    /// A helper has called it and decides.
    Helper(Pending),
}

/// A function that has called another one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {
    pub return_to: usize,
    /// `r6` to `r9`.
    pub saved: [u64; 4],
    pub after: After,
}

/// Where a run is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Phase {
    Over,
    Ready,
    /// A call of the host is to be answered.
    Suspended,
}

/// The state of a program that runs, to be used again for one call after the other.
#[derive(Clone, Debug)]
pub struct Run {
    pub(crate) registers: [u64; 16],
    pub(crate) pc: usize,
    pub(crate) frames: Vec<Frame>,
    pub(crate) stack: Vec<u8>,
    pub(crate) context: Vec<u8>,
    pub(crate) phase: Phase,
    /// Instructions that may still be executed.
    pub(crate) left: u64,
    pub(crate) budget: u64,
    /// What of the budget was not spent on instructions, but on what helpers copied.
    charged: u64,
    pub(crate) may_goto_left: u32,
    /// The program's number, for its account.
    pub(crate) program: Option<usize>,
}

impl Run {
    /// A run that may execute at most `budget` instructions per call.
    pub fn new(budget: u64) -> Self {
        Self {
            registers: [0; 16],
            pc: 0,
            frames: Vec::with_capacity(DEPTH_MAX),
            stack: vec![0; DEPTH_MAX * (FRAME_BYTES + NOTE_BYTES)],
            context: Vec::with_capacity(ARGS_MAX * 8),
            phase: Phase::Over,
            left: 0,
            budget,
            charged: 0,
            may_goto_left: 0,
            program: None,
        }
    }

    /// Sets out for the function at `pc` with these registers from `r1` on.
    pub(crate) fn begin(&mut self, pc: usize, args: &[u64]) {
        self.registers = [0; 16];
        self.registers[1..=args.len()].copy_from_slice(args);
        self.pc = pc;
        self.frames.clear();
        self.set_frame_pointer();
        self.phase = Phase::Ready;
        self.left = self.budget;
        self.charged = 0;
        self.may_goto_left = MAY_GOTO_MAX;
    }

    /// The frame pointer of the innermost function.
    pub(crate) fn set_frame_pointer(&mut self) {
        let top = (self.frames.len() + 1) * FRAME_BYTES;
        self.registers[10] = address(STACK, top as u32);
    }

    /// Answers the call of the host that has suspended the run.
    ///
    /// # Panics
    /// If no call is to be answered.
    pub fn resume(&mut self, value: u64) {
        assert!(self.phase == Phase::Suspended, "the run waits for nothing");
        self.registers[0] = value;
        self.phase = Phase::Ready;
    }

    /// Bytes of the program's own stack or arguments while it is suspended: a call that has an
    /// argument for a result writes there before it answers. Other memory is [`crate::Memory`]'s.
    pub fn bytes_mut(&mut self, address: u64, len: usize) -> Option<&mut [u8]> {
        let bytes = match region_of(address) {
            STACK => &mut self.stack,
            CONTEXT => &mut self.context,
            _ => return None,
        };
        let start = offset_of(address) as usize;
        bytes.get_mut(start..start.checked_add(len)?)
    }

    /// True if a call of the host is to be answered.
    pub fn is_suspended(&self) -> bool {
        self.phase == Phase::Suspended
    }

    /// Instructions that the present or last call has executed.
    pub fn executed(&self) -> u64 {
        self.budget - self.left - self.charged
    }

    /// Takes something from the budget for `bytes` that a helper copies or looks through: so the
    /// budget bounds the time that a call takes, whatever it calls.
    pub(crate) fn charge(&mut self, bytes: u64) {
        let cost = (bytes / 64).min(self.left);
        self.left -= cost;
        self.charged += cost;
    }

    /// The arguments, or the bytes of a `syscall` program's context, as the program has left them.
    pub fn context(&self) -> &[u8] {
        &self.context
    }

    /// The stack of the outermost function.
    pub fn stack_bytes(&self) -> &[u8] {
        &self.stack[..FRAME_BYTES]
    }

    /// Enters a function; false if too many are under way.
    pub(crate) fn enter(&mut self, pc: usize, after: After) -> bool {
        if self.frames.len() + 1 >= DEPTH_MAX {
            return false;
        }
        let [.., r6, r7, r8, r9] = self.registers[..10] else {
            return false;
        };
        self.frames.push(Frame { return_to: self.pc, saved: [r6, r7, r8, r9], after });
        self.set_frame_pointer();
        self.pc = pc;
        true
    }

    /// Where the helper that the innermost function calls may note something for its callback.
    pub(crate) fn note_address(&self) -> u64 {
        let offset = DEPTH_MAX * FRAME_BYTES + self.frames.len() * NOTE_BYTES;
        address(STACK, offset as u32)
    }

    /// Leaves a function that is not the outermost.
    pub(crate) fn leave(&mut self, frame: Frame) {
        self.registers[6..10].copy_from_slice(&frame.saved);
        self.pc = frame.return_to;
        self.set_frame_pointer();
    }
}

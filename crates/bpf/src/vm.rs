//! An image with its memory: what the host calls.

use crate::fault::Fault;
use crate::host::Host;
use crate::image::{Image, ProgramId};
use crate::interpret::{Stop, interpret};
use crate::memory::{CONTEXT, Memory, address};
use crate::run::{ARGS_MAX, Phase, Run};
use std::sync::Arc;

/// What a program has cost so far.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Count {
    /// Calls that are over.
    pub calls: u64,
    /// Instructions of these.
    pub instructions: u64,
}

/// How a stretch of a run ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum End {
    /// The program has returned this.
    Done(u64),
    /// A call of the host takes time: [`Run::resume`] first, then [`Vm::run`].
    Suspended,
    /// The program was ended.
    Fault(Box<Fault>),
}

/// A loaded object: its code, its memory, and what its programs have cost.
#[derive(Clone, Debug)]
pub struct Vm {
    image: Arc<Image>,
    /// Maps, global variables and everything else that programs can reach.
    pub memory: Memory,
    counts: Vec<Count>,
}

impl Vm {
    /// An image with memory that belongs to it.
    pub fn new(image: Arc<Image>, memory: Memory) -> Self {
        let counts = vec![Count::default(); image.programs.len()];
        Self { image, memory, counts }
    }

    /// The code.
    pub fn image(&self) -> &Image {
        &self.image
    }

    /// What a program has cost.
    pub fn count(&self, program: ProgramId) -> Count {
        self.counts[program.0]
    }

    /// What programs have cost counts from here.
    pub fn restart_counts(&mut self) {
        self.counts.fill(Count::default());
    }

    /// Sets out for an operation with these arguments: the program gets the address of them all.
    ///
    /// # Panics
    /// If there are more than 12.
    pub fn begin(&self, run: &mut Run, program: ProgramId, args: &[u64]) {
        assert!(args.len() <= ARGS_MAX, "an operation has at most 12 arguments");
        run.context.clear();
        for arg in args {
            run.context.extend_from_slice(&arg.to_le_bytes());
        }
        self.set_out(run, program);
    }

    /// Sets out for a program whose context is bytes, as those of section `syscall` have.
    pub fn begin_with_bytes(&self, run: &mut Run, program: ProgramId, context: &[u8]) {
        run.context.clear();
        run.context.extend_from_slice(context);
        self.set_out(run, program);
    }

    fn set_out(&self, run: &mut Run, program: ProgramId) {
        run.begin(self.image.programs[program.0].entry, &[address(CONTEXT, 0)]);
        run.program = Some(program.0);
    }

    /// Sets out for the callback of a timer; false if it was canceled meanwhile.
    pub fn begin_timer(&mut self, run: &mut Run, timer: u64) -> bool {
        let Some(callback) = self.memory.timers.fire(timer) else {
            return false;
        };
        let Some(map) = self.memory.map_of_value(timer) else {
            return false;
        };
        let Some(slot) = self.memory.slot_at(map, timer) else {
            return false;
        };
        let key = match self.memory.next_slot(map, slot) {
            Some((key, found)) if found == slot => key,
            _ => 0,
        };
        run.context.clear();
        run.context.extend_from_slice(&u64::from(slot).to_le_bytes());
        let key = if key == 0 { address(CONTEXT, 0) } else { key };
        let value = self.memory.value_address(map, slot, 0);
        run.begin(callback, &[map.address(), key, value]);
        run.program = None;
        true
    }

    /// Runs until the program is done, a call of the host suspends it, or it fails.
    ///
    /// # Panics
    /// If the run was not begun, or waits for [`Run::resume`].
    pub fn run<H: Host>(&mut self, run: &mut Run, host: &mut H) -> End {
        assert!(run.phase == Phase::Ready, "the run was not begun, or waits for an answer");
        let image = &self.image;
        let stop = interpret(image, run, &mut self.memory, host);
        if stop != Stop::Suspended
            && let Some(count) = run.program.and_then(|program| self.counts.get_mut(program))
        {
            count.calls += 1;
            count.instructions += run.executed();
        }
        match stop {
            Stop::Done(value) => End::Done(value),
            Stop::Suspended => End::Suspended,
            Stop::Fault(kind) => {
                let place = image.place(run.pc.saturating_sub(1));
                End::Fault(Box::new(Fault { kind, place }))
            }
        }
    }
}

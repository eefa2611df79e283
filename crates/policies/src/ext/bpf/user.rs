//! The half of a scheduler that runs in user space: what its loader does after loading, and what
//! its process does now and then.
//!
//! It reads and writes the object's variables, maps and rings, and runs its `syscall` programs,
//! between events of the simulation: in a timer of CPU 0. It is no thread of the machine: nobody
//! preempts it, and it takes only the time that it says ([`Hands::spend`]), as that interrupt's.

mod arena;
mod rusty;

use super::fill::mask_bytes;
use super::host::{Books, Doing, Here};
use crate::ext::cx::Cx;
use ::bpf::{End, Memory, Object, Run, SetError, Vm};
use sim_core::{Category, Ns};
use topology::{CpuId, CpuSet, Machine};

/// How soon it is called again; `None`: never.
pub type Again = Result<Option<Ns>, String>;

/// The half of a scheduler that runs in user space.
pub trait UserHalf {
    /// After loading and the calls of `start`, before `init`.
    ///
    /// # Errors
    /// What it cannot do, which ends the run.
    fn start(&mut self, hands: &mut Hands<'_, '_>) -> Again;

    /// After that time.
    ///
    /// # Errors
    /// What it cannot do, which ends the run.
    fn step(&mut self, _hands: &mut Hands<'_, '_>) -> Again {
        Ok(None)
    }
}

/// A [`UserHalf`] by name.
pub struct UserHalfDef {
    /// What scenarios call it.
    pub name: &'static str,
    /// What it does, for people.
    pub help: &'static str,
    /// The `syscall` programs that it runs.
    pub programs: &'static [&'static str],
    /// Makes one for a run.
    pub make: fn() -> Box<dyn UserHalf>,
}

/// All that scenarios can name.
pub const USER_HALVES: [&UserHalfDef; 2] = [&arena::ARENA, &rusty::RUSTY];

/// What a [`UserHalf`] works with.
pub struct Hands<'a, 'w> {
    pub(super) vm: &'a mut Vm,
    pub(super) run: &'a mut Run,
    pub(super) object: &'a Object,
    pub(super) cx: &'a mut Cx<'w>,
    pub(super) books: &'a mut Books,
}

impl Hands<'_, '_> {
    /// The machine.
    pub fn machine(&self) -> &Machine {
        self.cx.machine()
    }

    /// The present instant, ns.
    pub fn now(&self) -> Ns {
        self.cx.now()
    }

    /// How long a CPU has been idle since the start, as `/proc/stat` tells it, ns.
    pub fn idle_ns(&self, cpu: CpuId) -> Ns {
        let own = &self.cx.world().cpus[cpu];
        own.time_in(Category::Idle, self.cx.now())
    }

    /// Maps and rings.
    pub fn memory(&mut self) -> &mut Memory {
        &mut self.vm.memory
    }

    /// Takes so much simulated time.
    pub fn spend(&mut self, ns: Ns) {
        self.cx.charge(ns);
    }

    /// The address of a variable or a part of it, and its bytes.
    fn place(&self, path: &str) -> Result<(u64, usize), String> {
        let unknown = || SetError::Unknown(path.to_string());
        let part = self.object.part(path).map_err(|why| why.to_string())?;
        let at = self.vm.image().variable(&part.variable).ok_or_else(|| unknown().to_string())?.0;
        Ok((at + part.offset as u64, part.size))
    }

    /// The value of a variable, or a part of it.
    ///
    /// # Errors
    /// There is none.
    pub fn get(&mut self, path: &str) -> Result<u64, String> {
        let (at, size) = self.place(path)?;
        Ok(number(self.vm.memory.bytes(at, size).unwrap_or(&[])))
    }

    /// Sets a variable, or a part of it.
    ///
    /// # Errors
    /// There is none.
    pub fn set(&mut self, path: &str, value: u64) -> Result<(), String> {
        let (at, size) = self.place(path)?;
        self.put(at, &value.to_le_bytes()[..size.min(8)])
    }

    /// Sets an array of words to a mask.
    ///
    /// # Errors
    /// There is none, or it is too short.
    pub fn set_mask(&mut self, path: &str, cpus: &CpuSet) -> Result<(), String> {
        let (at, size) = self.place(path)?;
        let bytes = mask_bytes(cpus);
        match bytes.len() <= size {
            true => self.put(at, &bytes),
            false => Err(format!("`{path}` has room for {} CPUs", 8 * size)),
        }
    }

    /// Writes where the object's programs may write.
    ///
    /// # Errors
    /// Nothing is there.
    pub fn put(&mut self, at: u64, bytes: &[u8]) -> Result<(), String> {
        let place = self.vm.memory.bytes_mut(at, bytes.len());
        place.ok_or_else(|| format!("{at:#x} cannot be written"))?.copy_from_slice(bytes);
        Ok(())
    }

    /// Runs a `syscall` program with these fields of its argument; what it leaves in a field.
    ///
    /// # Errors
    /// There is no such program or field, it was ended, or returned anything but 0.
    pub fn call(
        &mut self,
        program: &str,
        args: &[(&str, u64)],
        out: Option<&str>,
    ) -> Result<u64, String> {
        let id = self.vm.image().program(program);
        let id = id.ok_or_else(|| format!("the object has no program `{program}`"))?;
        let mut argument = vec![0; self.object.argument_bytes(program).unwrap_or(0)];
        let place = |field| self.object.argument(program, field).map_err(|why| why.to_string());
        for (field, value) in args {
            let part = place(field)?;
            let size = part.size.min(8);
            argument[part.offset..part.offset + size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
        let out = out.map(place).transpose()?;
        self.vm.begin_with_bytes(self.run, id, &argument);
        self.books.doing = Doing::Other;
        let mut here = Here { cx: self.cx, books: self.books };
        match self.vm.run(self.run, &mut here) {
            End::Done(0) => {}
            End::Done(error) => {
                return Err(format!("{program} failed with error {}", error as i32));
            }
            End::Suspended => return Err(format!("{program} may not wait")),
            End::Fault(fault) => return Err(fault.to_string()),
        }
        let left =
            out.and_then(|part| self.run.context().get(part.offset..part.offset + part.size));
        Ok(number(left.unwrap_or(&[])))
    }
}

/// The number in the first eight bytes, or fewer.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

/// Timers of user halves: their numbers from here on, where no map value is.
const TIMERS: u64 = u64::MAX - 0xff;

/// The user half that a timer stands for.
pub(super) fn of_timer(timer: u64) -> Option<usize> {
    timer.checked_sub(TIMERS).map(|number| number as usize)
}

/// Those of a run.
pub(super) struct UserHalves {
    object: std::sync::Arc<Object>,
    all: Vec<(&'static str, Box<dyn UserHalf>)>,
}

impl UserHalves {
    pub fn new(object: std::sync::Arc<Object>, defs: &[&'static UserHalfDef]) -> Self {
        let all = defs.iter().map(|def| (def.name, (def.make)()));
        Self { object, all: all.collect() }
    }

    pub fn len(&self) -> usize {
        self.all.len()
    }

    /// Has one of them act; what it cannot do ends the run.
    pub fn act(
        &mut self,
        number: usize,
        is_start: bool,
        (vm, run): (&mut Vm, &mut Run),
        (cx, books): (&mut Cx<'_>, &mut Books),
    ) -> Result<(), String> {
        let Some((name, half)) = self.all.get_mut(number) else {
            return Ok(());
        };
        let object = &*self.object;
        let mut hands = Hands { vm, run, object, cx: &mut *cx, books: &mut *books };
        let again = if is_start { half.start(&mut hands) } else { half.step(&mut hands) };
        let again = again.map_err(|why| format!("the user half `{name}`: {why}"))?;
        let timer = TIMERS + number as u64;
        books.timers.remove(&timer);
        if let Some(after) = again {
            books.timers.insert(timer, (cx.now() + after.max(1), CpuId(0)));
        }
        Here { cx, books }.arm();
        Ok(())
    }
}

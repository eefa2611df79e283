//! Programs that a loader runs before the scheduler starts (section `syscall`).
//!
//! What a loader in user space tells its scheduler of the machine, it often tells by such calls: a
//! scheduler of the scx family hears of SMT siblings in no other way.

use super::refused::Refused;
use ::bpf::{Image, Object, ProgramId};
use topology::{CpuId, Machine};

/// A call, or one for each CPU if an argument differs between CPUs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Start {
    /// The program.
    pub call: String,
    /// Fields of its argument, as `cpu_id` or `pair.second`; all others are 0.
    pub args: Vec<(String, Arg)>,
}

/// What a field is set to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// This, in every call.
    Number(i64),
    /// The CPU that the call is for.
    Cpu,
    /// The next SMT sibling of that CPU; -1 if there is none.
    Sibling,
    /// The number of its LLC.
    Llc,
    /// The number of its NUMA node.
    Node,
}

impl Arg {
    /// What is not the same in every call, by name.
    pub const WORDS: [(&'static str, Self); 4] =
        [("cpu", Self::Cpu), ("sibling", Self::Sibling), ("llc", Self::Llc), ("node", Self::Node)];

    fn of(self, machine: &Machine, cpu: CpuId) -> i64 {
        let own = &machine.cpus[cpu];
        match self {
            Self::Number(number) => number,
            Self::Cpu => cpu.0.into(),
            Self::Sibling => sibling(machine, cpu).map_or(-1, |cpu| cpu.0.into()),
            Self::Llc => own.llc.into(),
            Self::Node => own.node.into(),
        }
    }
}

/// The next thread of the CPU's core, the first one behind the last.
pub(super) fn sibling(machine: &Machine, cpu: CpuId) -> Option<CpuId> {
    let core = &machine.cores[machine.cpus[cpu].core as usize];
    let next = core.iter().find(|other| *other > cpu);
    next.or_else(|| core.first()).filter(|other| *other != cpu)
}

/// A [`Start`] with places instead of names.
#[derive(Clone, Debug)]
pub(super) struct StartCall {
    pub name: String,
    pub program: ProgramId,
    size: usize,
    fields: Vec<(usize, usize, Arg)>,
}

impl StartCall {
    pub fn new(start: &Start, object: &Object, image: &Image) -> Result<Self, Refused> {
        let name = start.call.clone();
        let program = image.program(&name).ok_or_else(|| Refused::Start(name.clone()))?;
        let place = |(field, arg): &(String, Arg)| {
            let part = object.argument(&name, field)?;
            Ok((part.offset, part.size, *arg))
        };
        let fields = start.args.iter().map(place).collect::<Result<_, Refused>>()?;
        Ok(Self { size: object.argument_bytes(&name).unwrap_or(0), program, fields, name })
    }

    /// The argument of each call in turn.
    pub fn arguments(&self, machine: &Machine) -> Vec<Vec<u8>> {
        let differ = self.fields.iter().any(|(_, _, arg)| !matches!(arg, Arg::Number(_)));
        let n = if differ { machine.n_cpus() as u32 } else { 1 };
        (0..n).map(|cpu| self.argument(machine, CpuId(cpu))).collect()
    }

    fn argument(&self, machine: &Machine, cpu: CpuId) -> Vec<u8> {
        let mut bytes = vec![0; self.size];
        for (offset, size, arg) in &self.fields {
            let value = arg.of(machine, cpu).to_le_bytes();
            let place = &mut bytes[*offset..offset + size];
            let n = place.len().min(value.len());
            place[..n].copy_from_slice(&value[..n]);
        }
        bytes
    }
}

/// True if the program may be called so: it is in section `syscall`.
pub(super) fn is_callable(object: &Object, name: &str) -> bool {
    object.programs().any(|(own, section)| {
        own == name && section.trim_start_matches('?').trim_end_matches(".s") == "syscall"
    })
}

//! Variables that a loader fills with what it knows of the machine.
//!
//! A loader in user space writes into its scheduler's variables which CPUs there are, and what they
//! share. A scenario says the same in words: `"dom_of[cpu]" = "llc"` sets one element per CPU.

use ::bpf::{Object, SetError};
use topology::{CpuId, CpuSet, Machine};

/// A variable or a part of it, and what it is set to. `[cpu]`, `[llc]`, `[node]` and `[core]` in
/// its path stand for all of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fill {
    /// As `table[3].first`, or `table[cpu].first`.
    pub path: String,
    /// What it is set to.
    pub value: Value,
}

/// What a variable is set to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Value {
    /// This.
    Number(i64),
    /// The first elements of an array.
    List(Vec<i64>),
    /// What the machine says.
    Word(Word),
}

/// Something of a machine, or of its part that the path names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Word {
    /// The number of the CPU.
    Cpu,
    /// The next SMT sibling of the CPU; -1 if there is none.
    Sibling,
    /// The number of the core.
    Core,
    /// The number of the LLC.
    Llc,
    /// The number of the NUMA node.
    Node,
    /// The mask of the CPUs.
    Cpus,
    /// How many CPUs it has.
    NCpus,
    /// How many LLCs it has.
    NLlcs,
    /// How many nodes it has.
    NNodes,
    /// The other LLCs of the LLC's node, nearest numbers first as in a ring.
    NearLlcs,
    /// How many of these there are.
    NNearLlcs,
}

/// Why a variable cannot be filled.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum FillError {
    /// There is no such variable.
    #[error(transparent)]
    Set(#[from] SetError),
    /// The number is too large.
    #[error("`{0}` cannot hold {1}")]
    Holds(String, i64),
    /// The mask has more CPUs.
    #[error("`{0}` is no mask of {1} CPUs")]
    Mask(String, usize),
    /// The word says nothing of this part of a machine.
    #[error("`{0}` cannot be `{1}`")]
    Word(String, &'static str),
}

/// What a path names.
#[derive(Clone, Copy)]
enum Place {
    Machine,
    Cpu(CpuId),
    Core(usize),
    Llc(usize),
    Node(usize),
}

const INDEXES: [&str; 4] = ["[cpu]", "[core]", "[llc]", "[node]"];

/// The words of paths and how many of each there are, in the order of [`INDEXES`].
fn counts(machine: &Machine) -> [usize; INDEXES.len()] {
    [machine.n_cpus(), machine.cores.len(), machine.llcs.len(), machine.nodes.len()]
}

impl Fill {
    /// True if the machine has a say in it.
    pub fn needs_machine(&self) -> bool {
        matches!(self.value, Value::Word(_)) || INDEXES.iter().any(|i| self.path.contains(i))
    }

    /// Sets the variable for this machine.
    ///
    /// # Errors
    /// The part that there is not, or that cannot be this.
    pub fn apply(&self, object: &mut Object, machine: &Machine) -> Result<(), FillError> {
        let Some(kind) = INDEXES.iter().position(|index| self.path.contains(index)) else {
            return self.set(object, machine, &self.path, Place::Machine);
        };
        for at in 0..counts(machine)[kind] {
            let path = self.path.replace(INDEXES[kind], &format!("[{at}]"));
            let place = match kind {
                0 => Place::Cpu(CpuId(at as u32)),
                1 => Place::Core(at),
                2 => Place::Llc(at),
                _ => Place::Node(at),
            };
            self.set(object, machine, &path, place)?;
        }
        Ok(())
    }

    fn set(
        &self,
        object: &mut Object,
        machine: &Machine,
        path: &str,
        place: Place,
    ) -> Result<(), FillError> {
        match &self.value {
            Value::Number(number) => set_number(object, path, *number),
            Value::List(list) => set_list(object, path, list),
            Value::Word(Word::Cpus) => set_mask(object, path, &place.cpus(machine)),
            Value::Word(Word::NearLlcs) => match place {
                Place::Llc(llc) => set_list(object, path, &near_llcs(machine, llc)),
                _ => Err(FillError::Word(path.to_string(), Word::NearLlcs.name())),
            },
            Value::Word(word) => match word.number(machine, place) {
                Some(number) => set_number(object, path, number),
                None => Err(FillError::Word(path.to_string(), word.name())),
            },
        }
    }
}

fn set_number(object: &mut Object, path: &str, value: i64) -> Result<(), FillError> {
    let bits = 8 * object.part(path)?.size as u32;
    if bits < 64 && !(-(1 << (bits - 1))..1 << bits).contains(&i128::from(value)) {
        return Err(FillError::Holds(path.to_string(), value));
    }
    Ok(object.set_int(path, value as u64)?)
}

fn set_list(object: &mut Object, path: &str, list: &[i64]) -> Result<(), FillError> {
    let mut each = list.iter().enumerate();
    each.try_for_each(|(at, value)| set_number(object, &format!("{path}[{at}]"), *value))
}

/// An array of words of any size, the lowest CPU first.
fn set_mask(object: &mut Object, path: &str, cpus: &CpuSet) -> Result<(), FillError> {
    let size = object.part(path)?.size;
    let mut bytes = mask_bytes(cpus);
    if bytes.iter().skip(size).any(|byte| *byte != 0) {
        return Err(FillError::Mask(path.to_string(), 8 * size + 1));
    }
    bytes.resize(size, 0);
    Ok(object.set(path, &bytes)?)
}

/// The words of a mask, the lowest CPU first.
pub(super) fn mask_bytes(cpus: &CpuSet) -> Vec<u8> {
    cpus.words().iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// The other LLCs of a node: the next one, the one before, the next but one, and so on in a ring.
fn near_llcs(machine: &Machine, llc: usize) -> Vec<i64> {
    let node = node_of_llc(machine, llc);
    let all = (0..machine.llcs.len()).filter(|other| node_of_llc(machine, *other) == node);
    let all: Vec<usize> = all.collect();
    let (n, own) = (all.len(), all.iter().position(|other| *other == llc).unwrap_or(0));
    let ring = (1..n).map(|i| if i % 2 == 1 { own + i.div_ceil(2) } else { own + n - i / 2 });
    ring.map(|at| all[at % n] as i64).collect()
}

fn node_of_llc(machine: &Machine, llc: usize) -> u32 {
    machine.llcs[llc].first().map_or(0, |cpu| machine.cpus[cpu].node)
}

impl Place {
    /// A CPU of it, which is in no more than it is.
    fn first(self, machine: &Machine) -> Option<CpuId> {
        match self {
            Self::Machine => None,
            Self::Cpu(cpu) => Some(cpu),
            Self::Core(core) => machine.cores[core].first(),
            Self::Llc(llc) => machine.llcs[llc].first(),
            Self::Node(node) => machine.nodes[node].first(),
        }
    }

    fn cpus(self, machine: &Machine) -> CpuSet {
        match self {
            Self::Machine => CpuSet::full(machine.n_cpus()),
            Self::Cpu(cpu) => CpuSet::of(machine.n_cpus(), [cpu]),
            Self::Core(core) => machine.cores[core].clone(),
            Self::Llc(llc) => machine.llcs[llc].clone(),
            Self::Node(node) => machine.nodes[node].clone(),
        }
    }
}

impl Word {
    /// All words, and what scenarios call them.
    pub const ALL: [(&'static str, Self); 11] = [
        ("cpu", Self::Cpu),
        ("sibling", Self::Sibling),
        ("core", Self::Core),
        ("llc", Self::Llc),
        ("node", Self::Node),
        ("cpus", Self::Cpus),
        ("n_cpus", Self::NCpus),
        ("n_llcs", Self::NLlcs),
        ("n_nodes", Self::NNodes),
        ("near_llcs", Self::NearLlcs),
        ("n_near_llcs", Self::NNearLlcs),
    ];

    fn name(self) -> &'static str {
        Self::ALL.iter().find(|(_, word)| *word == self).map_or("", |(name, _)| *name)
    }

    /// `None`: the place has no such number, as an LLC has no single core.
    fn number(self, machine: &Machine, place: Place) -> Option<i64> {
        let own = || place.first(machine).map(|cpu| &machine.cpus[cpu]);
        let cpus = place.cpus(machine);
        let within = |all: &[CpuSet]| all.iter().filter(|set| set.intersects(&cpus)).count() as i64;
        match (self, place) {
            (Self::Cpu, Place::Cpu(cpu)) => Some(cpu.0.into()),
            (Self::Sibling, Place::Cpu(cpu)) => {
                Some(super::start::sibling(machine, cpu).map_or(-1, |cpu| cpu.0.into()))
            }
            (Self::Core, Place::Cpu(_) | Place::Core(_)) => Some(own()?.core.into()),
            (Self::Llc, Place::Cpu(_) | Place::Core(_) | Place::Llc(_)) => Some(own()?.llc.into()),
            (Self::Node, _) => Some(own()?.node.into()),
            (Self::NCpus, _) => Some(cpus.len() as i64),
            (Self::NLlcs, Place::Machine | Place::Node(_)) => Some(within(&machine.llcs)),
            (Self::NNodes, Place::Machine) => Some(within(&machine.nodes)),
            (Self::NNearLlcs, Place::Llc(llc)) => Some(near_llcs(machine, llc).len() as i64),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::RegularSpec;

    #[test]
    fn near_llcs_go_round_both_ways() {
        let machine =
            Machine::regular(RegularSpec { llcs_per_socket: 8, ..RegularSpec::default() });
        assert_eq!(near_llcs(&machine, 0), [1, 7, 2, 6, 3, 5, 4]);
        assert_eq!(near_llcs(&machine, 7), [0, 6, 1, 5, 2, 4, 3]);
    }
}

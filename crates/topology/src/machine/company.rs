//! What shares a machine with the workload: its own background threads, and a host that gives a
//! guest more or less of its speed. A machine file that says nothing has neither.

use crate::{CpuId, CpuSet, Machine};

/// What a system has one such thread for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Per {
    /// One, such as `rcu_preempt`.
    #[default]
    Machine,
    /// One for each NUMA node, on its CPUs, such as `kcompactd0`.
    Node,
    /// One for each CPU, bound to it, such as `ksoftirqd/0`.
    Cpu,
}

impl Per {
    /// Each by its name in machine files.
    pub const NAMES: [(&'static str, Self); 3] =
        [("machine", Self::Machine), ("node", Self::Node), ("cpu", Self::Cpu)];

    /// Its name in machine files.
    pub fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, per)| *per == self).expect("each has a name").0
    }
}

/// A thread of the system's own. It works a little, sleeps, and so on for ever.
#[derive(Clone, Debug, PartialEq)]
pub struct BackgroundThread {
    /// Its command name, as a trace shows it. `{}` stands for the number of its CPU or node.
    pub name: String,
    /// How many of them there are.
    pub per: Per,
    /// The only CPU that the thread may use; `None`: any that `per` leaves.
    pub cpu: Option<CpuId>,
    /// Nice level.
    pub nice: i8,
    /// A kernel thread (PF_KTHREAD).
    pub kthread: bool,
    /// Work of one round, ns at full speed.
    pub run_ns: u64,
    /// How long it sleeps after a round, ns. A kernel thread's sleep ends at a tick, as a jiffies
    /// timer does.
    pub sleep_ns: u64,
    /// Of so many rounds one is a long one; 0: none.
    pub long_every: u32,
    /// Work of a long round, ns.
    pub long_ns: u64,
}

impl BackgroundThread {
    /// Each thread's name and CPUs (`None`: all) on this machine.
    pub fn each(&self, machine: &Machine) -> Vec<(String, Option<CpuSet>)> {
        let n_cpus = machine.n_cpus();
        let named = |i: usize| self.name.replace("{}", &i.to_string());
        match self.per {
            Per::Machine => {
                vec![(self.name.clone(), self.cpu.map(|cpu| CpuSet::of(n_cpus, [cpu])))]
            }
            Per::Node => {
                let nodes = machine.nodes.iter().enumerate();
                nodes.map(|(i, cpus)| (named(i), Some(cpus.clone()))).collect()
            }
            Per::Cpu => (0..n_cpus)
                .map(|i| (named(i), Some(CpuSet::of(n_cpus, [CpuId(i as u32)]))))
                .collect(),
        }
    }
}

/// How the speed varies. Each piece of work is slowed down by a factor whose logarithm has an
/// exponential distribution. A part of the pieces takes the factor that holds on their CPU for a
/// time, the others draw one of their own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Variation {
    /// Mean of the factor's logarithm; 0: the speed does not vary.
    pub slowdown: f64,
    /// Share of the pieces that take the factor that holds, 0 to 1: how alike neighbors in time
    /// are.
    pub held: f64,
    /// For how long a factor holds on a CPU, ns.
    pub hold_ns: u64,
}

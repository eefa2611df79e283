//! Why CPUs of one run idled while tasks waited: each CPU-second by the rule that let it happen.

pub(crate) mod knobs;

use crate::profile::Spread;

/// How far an idle CPU is from the queue on which a task waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Near {
    /// A sibling thread.
    Core,
    /// Another core behind the same last-level cache.
    Llc,
    /// Behind another cache of the same node.
    Node,
    /// Another node.
    Far,
}

/// Number of [`Near`]'s values.
pub const N_NEAR: usize = 4;

impl Near {
    /// The nearest first.
    pub const ALL: [Self; N_NEAR] = [Self::Core, Self::Llc, Self::Node, Self::Far];

    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Llc => "llc",
            Self::Node => "node",
            Self::Far => "far",
        }
    }
}

/// Which of two decisions came last: where the task was put, or what the CPU looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The task came to a busy CPU while the other one idled.
    Placed,
    /// The CPU, or whoever balanced for it, found nothing while the task waited.
    Sought,
}

impl Kind {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::Sought => "sought",
        }
    }
}

/// Time that one rule let pass.
#[derive(Clone, Debug, PartialEq)]
pub struct RuleTime {
    /// Which decision it is about.
    pub kind: Kind,
    /// Short name: the kernel's function and what it did.
    pub name: &'static str,
    /// What that means.
    pub text: &'static str,
    /// Features and tunables that change it and that the variant has not set so already; may be
    /// empty.
    pub knob: String,
    /// CPU time by [`Near`], ns.
    pub ns: [u64; N_NEAR],
    /// The parts of waits that the rule is to blame for, without the time when no CPU was idle.
    pub waits: Spread,
}

impl RuleTime {
    /// CPU time, ns.
    pub fn total_ns(&self) -> u64 {
        self.ns.iter().sum()
    }
}

/// Time that one command waited behind another although a CPU was idle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// Command that waited.
    pub waiter: String,
    /// Command that ran there meanwhile; empty if none did.
    pub runner: String,
    /// CPU time, ns.
    pub ns: u64,
}

/// One task that waited in one place while a CPU was idle that it may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When an idle CPU was first there, ns by the clock of traces, which begins at 1 s.
    pub at_ns: u64,
    /// For how long there was one until the task ran or moved, ns.
    pub ns: u64,
    /// The task's command and pid.
    pub task: (String, u32),
    /// The CPU on whose queue it waited.
    pub cpu: u32,
    /// The command that ran there at last; empty if none did.
    pub runner: String,
    /// The rule to blame at last.
    pub rule: &'static str,
}

/// The ledger of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Explanation {
    /// Simulated time, ns.
    pub elapsed_ns: u64,
    /// Number of CPUs.
    pub cpus: usize,
    /// The metric `idle_while_runnable`, ns: the sum of [`Explanation::rules`].
    pub wasted_ns: u64,
    /// CPU time for which CPUs idled while all tasks on their queues were throttled: their group
    /// had used up its `cpu.max`. No part of `wasted_ns`, ns.
    pub throttled_ns: u64,
    /// By rule, the one with most time first.
    pub rules: Vec<RuleTime>,
    /// Who waited for whom, the pair with most time first.
    pub blame: Vec<Blame>,
    /// The longest waits, the longest first.
    pub longest: Vec<Wait>,
}

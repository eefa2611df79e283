//! Devices that end sleeps by interrupting a CPU that need not be the sleeper's.

use sim_core::{NEVER, Ns, ProgramCx, Step, TaskId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use topology::{CpuId, PerCpu};

/// A sleep that a device ends.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Ending {
    /// When, ns.
    pub due: Ns,
    /// Which CPU it interrupts.
    pub cpu: CpuId,
    /// Whom it wakes.
    pub task: TaskId,
    /// How long the interrupt goes on then, ns.
    pub rest_ns: Ns,
}

/// What the interrupts of a CPU have to do.
#[derive(Default)]
struct Interrupts {
    /// Whom the next one wakes.
    raised: Vec<Ending>,
    /// What is left for the one under way; `None` between two.
    handled: Option<VecDeque<Step>>,
}

/// What the devices of a replay have yet to end.
#[derive(Default)]
pub(super) struct Devices {
    pending: BinaryHeap<Reverse<Ending>>,
    interrupts: PerCpu<Interrupts>,
}

impl Devices {
    /// Ends a sleep when its time has come.
    pub(super) fn ends(&mut self, cx: &mut ProgramCx<'_>, ending: Ending) {
        self.pending.push(Reverse(ending));
        self.program(cx);
    }

    /// Raises the interrupts that are due.
    pub(super) fn expire(&mut self, cx: &mut ProgramCx<'_>) {
        while let Some(&Reverse(ending)) = self.pending.peek()
            && ending.due <= cx.now()
        {
            self.pending.pop();
            self.interrupts.cover(ending.cpu, Interrupts::default);
            self.interrupts[ending.cpu].raised.push(ending);
            cx.raise(ending.cpu);
        }
        self.program(cx);
    }

    /// Next step of the interrupt on this CPU: it wakes all for whom it was raised, then goes on
    /// for as long as each of them says.
    pub(super) fn interrupt(&mut self, cpu: CpuId) -> Step {
        let Interrupts { raised, handled } = &mut self.interrupts[cpu];
        let steps = handled.get_or_insert_with(|| {
            let rest_ns = raised.iter().map(|ending| ending.rest_ns).sum();
            let wakes =
                raised.drain(..).map(|Ending { task, .. }| Step::Wake { task, sync: false });
            wakes.chain((rest_ns > 0).then_some(Step::Spend(rest_ns))).collect()
        });
        let step = steps.pop_front();
        step.unwrap_or_else(|| {
            *handled = None;
            Step::Done
        })
    }

    fn program(&self, cx: &mut ProgramCx<'_>) {
        let next = self.pending.peek();
        cx.set_device(next.map_or(NEVER, |Reverse(ending)| ending.due));
    }
}

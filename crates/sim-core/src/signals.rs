//! The averages by which a policy sees how busy CPUs and tasks are, for observers that show them.

use crate::{Policy, TaskId};
use topology::CpuId;

/// PELT averages, by the kernel's names: 1024 is a CPU that is always busy, or the weight of one
/// runnable task of nice 0.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Signals {
    /// How much it ran.
    pub util_avg: u64,
    /// By weight, how much it was runnable.
    pub load_avg: u64,
    /// How much it was runnable.
    pub runnable_avg: u64,
}

/// Who knows the signals of a run: its policy.
pub trait SignalSource {
    /// Those of the runqueue of `cpu`, as of their last update; none if the policy keeps none.
    fn of_cpu(&self, cpu: CpuId) -> Option<Signals>;

    /// Those of a task.
    fn of_task(&self, p: TaskId) -> Option<Signals>;
}

impl<P: Policy> SignalSource for P {
    fn of_cpu(&self, cpu: CpuId) -> Option<Signals> {
        self.cpu_signals(cpu)
    }

    fn of_task(&self, p: TaskId) -> Option<Signals> {
        self.task_signals(p)
    }
}

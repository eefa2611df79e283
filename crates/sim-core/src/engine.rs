//! The engine (in the making).
use crate::{Ns, Observer, Policy, Program, TaskId, World};
use topology::CpuId;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Frame {}
impl Frame {
    pub(crate) const EMPTY: Frame = Frame {};
}
/// A task that waits for ever, and what for.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Task.
    pub task: TaskId,
    /// Why.
    pub why: String,
}
/// Why a run ended.
#[derive(Clone, Debug)]
pub enum StopReason {
    /// All done.
    Done,
}
/// The simulation.
pub struct Simulation<P: Policy, W: Program, O: Observer> {
    /// World.
    pub w: World,
    /// Policy.
    pub policy: P,
    /// Program.
    pub program: W,
    /// Observer.
    pub observer: O,
}
impl World {
    pub(crate) fn rearm(&mut self, _cpu: CpuId) {}
    pub(crate) fn advance(&mut self, _cpu: CpuId, _to: Ns) {}
}

//! What an event leaves to be done when it is over.

use crate::{Decision, MigrationCause, TaskId};
use topology::CpuId;

/// A migration to be told to the observer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moved {
    pub task: TaskId,
    pub from: CpuId,
    pub to: CpuId,
    pub why: MigrationCause,
}

/// What an event leaves to be done when it is over: the engine looks at it once per event.
#[derive(Default)]
pub(crate) struct AfterEvent {
    /// CPUs whose speed has changed.
    pub speed_changed: Vec<CpuId>,
    /// Migrations by the policy that the observer has not been told of.
    pub moved: Vec<Moved>,
    /// Stoppers given work that the observer has not been told of.
    pub stoppers_woken: Vec<CpuId>,
    /// CPUs whose runqueue was changed in this event.
    pub touched: Vec<CpuId>,
    /// The observer asks for the policy's decisions.
    pub tells_decisions: bool,
    /// Decisions that the observer has not been told of.
    pub decisions: Vec<Decision>,
    /// The policy cannot go on, for this reason.
    pub given_up: Option<String>,
    /// One of the lists has an entry. Most events leave none, and then cost this one test.
    pub disturbed: bool,
}

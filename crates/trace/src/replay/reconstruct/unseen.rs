//! Tasks that come to a CPU out of idle, and no switch to them was recorded.

use super::{Curr, Reconstruction, is_own_charge, is_stopper};
use crate::replay::event::{Event, Named, What};
use crate::replay::thread::Doing;
use sim_core::Ns;
use topology::CpuId;

/// A task that may have come to a CPU unseen.
#[derive(Clone, Copy)]
pub(in crate::replay) struct Unseen {
    pub cpu: CpuId,
    pub tid: u32,
    /// If it has come unseen, then by this time of the recording, ns.
    pub until: Ns,
}

/// Times may have been cut to microseconds: by so much a task may seem to come before the wake-up
/// that brings it, ns.
const CUT_NS: Ns = 1_000;

impl Reconstruction {
    /// Who may have come to an idle CPU before this event without being seen, if the event does not
    /// tell when: its current task, or whom it wakes.
    pub(in crate::replay) fn unseen(&self, event: &Event<'_>) -> Option<Unseen> {
        // Such an event is a fault, and to be told at its place.
        if !self.has_cpu(event.cpu) || event.at < self.first.unwrap_or(0) + self.now {
            return None;
        }
        self.current_unseen(event).or_else(|| self.wakee_unseen(event))
    }

    fn current_unseen(&self, event: &Event<'_>) -> Option<Unseen> {
        let (tid, cpu) = (event.tid?, event.cpu);
        let tells = matches!(event.what, What::Switch { .. } | What::Lost(_));
        let is_task = tid != 0 && !is_stopper(Named { comm: event.comm, tid });
        let may_hide = self.curr(cpu) == Curr::Idle && is_task;
        let until = event.at;
        (may_hide && !tells && !is_own_charge(event)).then_some(Unseen { cpu, tid, until })
    }

    /// Only a task that is asleep, or about to be, is woken. Where switches from idle are not
    /// recorded, one that seems to be away may have come back, and be about to sleep again.
    fn wakee_unseen(&self, event: &Event<'_>) -> Option<Unseen> {
        let What::Wake { task: Named { tid, .. }, target: cpu, .. } = event.what else {
            return None;
        };
        let may_hide = self.has_cpu(cpu) && self.cpus[cpu].hides_switches;
        if !may_hide || self.curr(cpu) != Curr::Idle || cpu == event.cpu {
            return None;
        }
        let live = &self.lives[*self.by_tid.get(&tid)? as usize];
        let is_away = matches!(live.doing, Doing::Asleep { .. } | Doing::Runnable { .. });
        let until = event.at.checked_sub(CUT_NS + 1)?;
        (is_away && live.left == Some(cpu)).then_some(Unseen { cpu, tid, until })
    }

    /// A task of this event has been on an idle CPU since `came`, as is known now.
    pub(super) fn came(&mut self, event: &Event<'_>, task: Unseen, came: Ns) -> Result<(), String> {
        if event.tid == Some(task.tid) {
            self.meet(Named { comm: event.comm, tid: task.tid }, 120, task.cpu)?;
        }
        let Some(thread) = self.by_tid.get(&task.tid).copied() else {
            return Ok(());
        };
        let since = came.saturating_sub(self.first.unwrap_or(0));
        let since = since.clamp(self.cpus[task.cpu].seen, self.now);
        let name = self.live(thread).name();
        self.waited(thread, name, since);
        self.runs_unseen(thread, task.cpu, since);
        Ok(())
    }

    /// As [`Self::runs`], where no switch to the thread was recorded.
    pub(super) fn runs_unseen(&mut self, thread: u32, cpu: CpuId, since: Ns) {
        self.cpus[cpu].hides_switches |= self.curr(cpu) == Curr::Idle;
        self.runs(thread, cpu, since);
    }
}

//! An administrator's shell that writes to a workqueue's files in sysfs while the workload runs.

use policies::workqueue::{Affinity, Change, Kind, Scope, Workqueues, WqId};
use sim_core::{Ns, Op, ProgramCx, TaskAttr, TaskId};

/// A change of a workqueue's affinity. A field that is `None` stays as it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct AffinityChange {
    /// Since the start of the run, ns.
    pub at: Ns,
    /// `affinity_scope`: which CPUs share a worker pool.
    pub scope: Option<Scope>,
    /// `affinity_strict`: workers must stay in their scope.
    pub strict: Option<bool>,
    /// `localize`: idle workers are sent to the issuing CPU (docs/WORKQUEUE.md; never merged).
    pub localize: Option<bool>,
}

/// A shell that sleeps until the next change and makes it. Without changes it does not exist.
#[derive(Debug, Default)]
pub struct AffinityShell {
    /// The changes, the earliest first.
    changes: Vec<AffinityChange>,
    next: usize,
    task: Option<TaskId>,
    writing: Option<Change>,
}

impl AffinityShell {
    /// A shell that will make these changes, in any order.
    pub fn new(mut changes: Vec<AffinityChange>) -> Self {
        changes.sort_by_key(|c| c.at);
        Self { changes, ..Self::default() }
    }

    /// Starts the shell.
    pub fn start(&mut self, cx: &mut ProgramCx<'_>) {
        if !self.changes.is_empty() {
            let comm = cx.comm("sh");
            self.task = Some(cx.start_task(TaskAttr { comm, ..TaskAttr::default() }));
        }
    }

    /// True if this is the shell.
    pub fn is(&self, task: TaskId) -> bool {
        self.task == Some(task)
    }

    /// What the shell does next to `wq`.
    pub fn next(&mut self, cx: &mut ProgramCx<'_>, all: &mut Workqueues, wq: WqId) -> Op {
        loop {
            if let Some(mut change) = self.writing.take()
                && let Some(op) = change.next(all, cx)
            {
                self.writing = Some(change);
                return op;
            }
            let Some(change) = self.changes.get(self.next) else {
                self.task = None;
                return Op::Exit;
            };
            if cx.now() < change.at {
                return Op::Sleep(change.at - cx.now());
            }
            self.next += 1;
            if let Kind::Unbound(before) = all.spec(wq).kind {
                self.writing = Some(all.change(cx, wq, change.apply(before)));
            }
        }
    }
}

impl AffinityChange {
    /// An affinity after the change.
    pub fn apply(&self, before: Affinity) -> Affinity {
        Affinity {
            scope: self.scope.unwrap_or(before.scope),
            strict: self.strict.unwrap_or(before.strict),
            localize: self.localize.unwrap_or(before.localize),
        }
    }
}

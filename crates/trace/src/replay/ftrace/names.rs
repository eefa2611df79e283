//! The names of threads, as far as events have told them.

use crate::replay::event::{Named, What};
use std::collections::HashMap;

/// The longest name that is kept; the kernel's have 15 bytes.
const NAME_BYTES: usize = 64;

/// The names of threads, by tid.
#[derive(Default)]
pub(in crate::replay) struct Names(HashMap<u32, Vec<u8>>);

impl Names {
    /// Notes the name of a thread.
    pub(in crate::replay) fn set(&mut self, task: Named<'_>) {
        let known = self.0.entry(task.tid).or_default();
        if known != task.comm {
            known.clear();
            known.extend_from_slice(&task.comm[..task.comm.len().min(NAME_BYTES)]);
        }
    }

    /// Notes the names of a switch: those of both tasks as they are now.
    pub(in crate::replay) fn see(&mut self, what: &What<'_>) {
        if let What::Switch { prev, next, .. } = *what {
            self.set(prev);
            self.set(next);
        }
    }

    /// A new thread has its parent's name.
    pub(in crate::replay) fn forked(&mut self, parent: u32, child: u32) {
        let name = self.0.get(&parent).cloned();
        self.0.insert(child, name.unwrap_or_default());
    }

    /// Notes the name of a thread that has none yet.
    pub(in crate::replay) fn set_first(&mut self, task: Named<'_>) {
        if !self.0.contains_key(&task.tid) {
            self.set(task);
        }
    }

    /// Notes the names of threads that have none yet. An event does not tell that of its current
    /// task: if a thread ran when the recording began, only a later event does.
    pub(in crate::replay) fn see_first(&mut self, what: &What<'_>) {
        match *what {
            What::Switch { prev, next, .. } => {
                self.set_first(prev);
                self.set_first(next);
            }
            What::Wake { task, .. } | What::WakeNew { task, .. } | What::Runtime { task, .. } => {
                self.set_first(task);
            }
            What::Fork { parent, child } => {
                self.set_first(parent);
                self.set_first(child);
            }
            What::Renamed | What::Lost(_) | What::Other => {}
        }
    }

    /// Adds the names of threads that have none yet.
    pub(in crate::replay) fn add_first(&mut self, others: Self) {
        for (tid, comm) in others.0 {
            self.set_first(Named { comm: &comm, tid });
        }
    }

    /// The name of a thread, empty if nothing told it.
    pub(in crate::replay) fn of(&self, tid: Option<u32>) -> &[u8] {
        tid.and_then(|tid| self.0.get(&tid)).map_or(b"", Vec::as_slice)
    }
}

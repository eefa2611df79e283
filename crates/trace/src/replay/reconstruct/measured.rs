//! Whose end counts: the recorded command and its descendants.
//!
//! `perf record COMMAND` prepares a process before the first event, named `perf-exec`, which
//! becomes the command. `trace-cmd record COMMAND` does so, too, but the process has the name of
//! trace-cmd's own ones, which keep it. What the command starts, and what these start, belongs to
//! it. All other threads are the machine's own: daemons, kernel threads, perf itself.

use super::Reconstruction;
use crate::replay::thread::{Doing, Live};
use sim_core::Ns;
use workloads::replay::{Act, Command};

/// The name of the process that becomes the command: of perf's, and of trace-cmd's.
const BEFORE_EXEC: &str = "perf-exec";
const TRACE_CMD: &str = "trace-cmd";
/// A command that only says how long the recording was to be.
const PASTIME: &str = "sleep";
/// Sessions that are told apart; all further ones are one.
const SESSIONS_MAX: usize = 64;
/// Commands that are told apart; the others' sums are small.
const COMMANDS_MAX: usize = 12;

impl Reconstruction {
    /// Marks the threads whose end counts: those of these names, else of the recorded command, and
    /// their descendants. All of them, if there is no such thread, or if it only slept.
    pub(super) fn mark_measured(&mut self) {
        let mut measured: Vec<bool> =
            self.lives.iter().map(|live| self.is_asked_for(live)).collect();
        // A child is met after its parent.
        for (i, live) in self.lives.iter().enumerate() {
            measured[i] |= live.parent.is_some_and(|parent| measured[parent as usize]);
        }
        let is_pastime = |live: &Live| self.names[live.name() as usize] == PASTIME;
        let mut those = (0..self.lives.len()).filter(|i| measured[*i]);
        if self.measure.is_empty() && those.all(|i| is_pastime(&self.lives[i])) {
            measured.fill(true);
        }
        for (live, measured) in self.lives.iter_mut().zip(measured) {
            live.thread.measured = measured;
        }
    }

    /// Gives each session of user threads a number, 0 to that of what was measured, and returns how
    /// many others there are. A thread is in its parent's session; nobody is seen to begin a new
    /// one. Without a list of sessions there is one.
    pub(super) fn mark_sessions(&mut self) -> u16 {
        if self.sessions.is_empty() {
            return 0;
        }
        let mut ids: Vec<Option<u32>> = Vec::with_capacity(self.lives.len());
        for live in &self.lives {
            // A thread that came after the list was made is in its process's session.
            let session = |tid: u32| self.sessions.get(&tid);
            let listed = session(live.thread.tid).or_else(|| session(live.tgid?));
            let listed = listed.filter(|_| live.parent.is_none());
            let parents = live.parent.and_then(|parent| ids[parent as usize]);
            ids.push(listed.copied().or(parents));
        }
        let mut measured = self.lives.iter().zip(&ids).filter(|(live, _)| live.thread.measured);
        let own = measured.next().and_then(|(_, id)| *id);
        // What is not in the list came with what was measured: perf, and the shell around it.
        let mut others: Vec<u32> = Vec::new();
        for (live, id) in self.lives.iter_mut().zip(&ids) {
            let Some(id) = id.filter(|id| Some(*id) != own && !live.thread.kthread) else {
                continue;
            };
            let known = others.iter().position(|other| *other == id);
            let place = known.unwrap_or_else(|| {
                others.push(id);
                others.len() - 1
            });
            live.thread.session = 1 + place.min(SESSIONS_MAX - 1) as u16;
        }
        others.len().min(SESSIONS_MAX) as u16
    }

    fn is_asked_for(&self, live: &Live) -> bool {
        let asked = |name: u16| {
            let name = &self.names[name as usize];
            self.measure.iter().any(|asked| asked == name)
        };
        let mut acts = live.thread.acts.iter();
        if self.measure.is_empty() {
            return match self.names[live.thread.name as usize].as_str() {
                BEFORE_EXEC => true,
                TRACE_CMD => acts.any(|act| matches!(act, Act::Named(_) | Act::Exec(_))),
                _ => false,
            };
        }
        let renamed = |act| match act {
            Act::Named(name) | Act::Exec(name) => asked(name),
            _ => false,
        };
        asked(live.thread.name) || acts.any(renamed)
    }

    /// When the last measured thread ended, ns since the first event: at the last event if one of
    /// them is still there.
    pub(super) fn elapsed_ns(&self) -> Ns {
        let end = |live: &Live| if live.doing == Doing::Gone { live.ended } else { self.now };
        let measured = self.lives.iter().filter(|live| live.thread.measured);
        measured.map(end).max().unwrap_or(self.now)
    }

    /// What was recorded of the names that measured threads had, the longest run first.
    pub(super) fn measured_commands(&mut self) -> Vec<(u16, Command)> {
        let mut is_measured = vec![false; self.names.len()];
        for live in self.lives.iter().filter(|live| live.thread.measured) {
            is_measured[live.thread.name as usize] = true;
            live.thread.acts.iter().for_each(|act| {
                if let Act::Named(name) | Act::Exec(name) = act {
                    is_measured[name as usize] = true;
                }
            });
        }
        let is_asked = |name: &str| self.measure.iter().any(|asked| asked == name);
        let commands = std::mem::take(&mut self.commands);
        let mut told: Vec<(u16, Command)> = (0..).zip(commands).collect();
        told.retain(|(name, command)| {
            is_measured[*name as usize]
                && command.switches > 0
                && self.names[*name as usize] != BEFORE_EXEC
                && (self.names[*name as usize] != TRACE_CMD || is_asked(TRACE_CMD))
        });
        told.sort_by_key(|(name, command)| (std::cmp::Reverse(command.run_ns), *name));
        told.truncate(COMMANDS_MAX);
        told
    }
}

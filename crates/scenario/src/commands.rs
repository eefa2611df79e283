//! What the threads of each name did, beside what was recorded of them: for replays and services.

use sim_core::{Ns, TaskId, World};
use topology::{CpuId, PerCpu};
use workloads::replay::Command;

/// Watches switches and wake-ups, by the names of threads.
pub(crate) struct ByCommand {
    /// Names that are told.
    names: Vec<String>,
    /// Since when the current task is on its CPU.
    came: PerCpu<Ns>,
    /// By number of the name in the run.
    commands: Vec<Command>,
}

impl ByCommand {
    /// For the commands of these names.
    pub fn new(names: Vec<String>, n_cpus: usize) -> Self {
        Self { names, came: vec![0; n_cpus].into(), commands: Vec::new() }
    }

    fn of(&mut self, w: &World, task: TaskId) -> &mut Command {
        let comm = usize::from(w.tasks[task].attr.comm);
        if comm >= self.commands.len() {
            self.commands.resize_with(comm + 1, Command::default);
        }
        &mut self.commands[comm]
    }

    /// A CPU goes over from a task to another.
    pub fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId) {
        let came = std::mem::replace(&mut self.came[cpu], w.now);
        if prev.is_task() {
            self.of(w, prev).left(w.now - came);
        }
    }

    /// A task that was woken runs after so long. Where nobody saw the end of a sleep, the recording
    /// tells of no wait, so that none of a replay is to stand beside those that it tells.
    pub fn waited(&mut self, w: &World, task: TaskId, ns: Ns) {
        if !w.tasks[task].wait_untold {
            self.of(w, task).waited(ns);
        }
    }

    /// The told commands with their names; those that did not run are left out.
    pub fn told<'a>(&'a self, w: &'a World) -> impl Iterator<Item = (&'a str, &'a Command)> {
        self.names.iter().filter_map(|name| {
            let comm = w.comms.iter().position(|comm| comm == name)?;
            Some((name.as_str(), self.commands.get(comm)?))
        })
    }
}

//! Records as events: with names, processes, and what the columns leave out, the current task.

use super::order::Order;
use super::record::{Record, Task, Told};
use super::survey::Survey;
use crate::replay::ReplayError;
use crate::replay::event::{CPUS_MAX, Event, Left, Named, What};
use crate::replay::events_of_file::EventsOfFile;
use crate::replay::ftrace::{Names, context};
use sim_core::Context;
use std::collections::HashMap;
use std::io::{Read, Seek};
use topology::{CpuId, PerCpu};

/// The priority of a task of which none was told.
const PRIO: i32 = 120;
/// The idle task, in whose place nobody is known.
const IDLE: Named<'static> = Named { comm: b"swapper", tid: 0 };

/// The events that are left.
pub(super) struct Events<'a, R> {
    order: Order<'a, R>,
    survey: &'a Survey,
    names: Names,
    /// The process of each thread.
    processes: HashMap<u32, u32>,
    /// The priorities of threads.
    prios: HashMap<u32, i32>,
    /// The current task of each CPU, if it is known.
    current: PerCpu<Option<u32>>,
}

impl<'a, R: Read + Seek> Events<'a, R> {
    /// `names` are those that threads have at first.
    pub(super) fn new(survey: &'a Survey, input: R, names: Names) -> Result<Self, ReplayError> {
        Ok(Self {
            order: Order::new(survey, input)?,
            survey,
            names,
            processes: survey.processes.clone(),
            prios: HashMap::new(),
            current: vec![None; CPUS_MAX as usize].into(),
        })
    }

    /// Notes what a record tells of tasks.
    fn note(&mut self, record: &Record, tid: Option<u32>) {
        let words = self.order.words();
        let named = |task: Task| Named { comm: words.text(task.name), tid: task.tid };
        let current = &mut self.current[CpuId(record.cpu)];
        match record.told {
            Told::Switch { prev, next, next_prio, .. } => {
                self.names.set(named(prev));
                self.names.set(named(next));
                self.prios.insert(next.tid, next_prio);
                *current = Some(next.tid);
            }
            Told::SwitchTo { next, next_prio, .. } => {
                self.names.set(named(next));
                self.prios.insert(next.tid, next_prio);
                *current = Some(next.tid);
            }
            Told::NewTask { child, is_thread } => {
                self.names.set(named(child));
                let of_parent = tid.and_then(|tid| self.processes.get(&tid)).copied();
                let process = if is_thread { of_parent } else { Some(child.tid) };
                match process {
                    Some(process) => self.processes.insert(child.tid, process),
                    None => self.processes.remove(&child.tid),
                };
            }
            Told::Fork { child: task, .. } | Told::Rename(task) => self.names.set(named(task)),
            Told::Lost(_) => *current = None,
            Told::Waking { .. }
            | Told::Wakeup { .. }
            | Told::WakeupNew { .. }
            | Told::Runtime { .. } => {}
        }
    }

    /// What happened while this was the current task, and on whose behalf the CPU worked if that
    /// tells who woke.
    fn what(&self, record: &Record, tid: Option<u32>) -> (What<'_>, Option<Context>) {
        let words = self.order.words();
        let named = |task: Task| Named { comm: words.text(task.name), tid: task.tid };
        let wake = |task: Task, prio: i32, target: u32| What::Wake {
            task: named(task),
            prio,
            target: CpuId(target),
        };
        let known = |tid: Option<u32>| tid.map(|tid| Named { comm: self.names.of(Some(tid)), tid });
        let what = match record.told {
            Told::Switch { prev, prev_prio, state, next, next_prio } => {
                let (prev, next) = (named(prev), named(next));
                What::Switch { prev, prev_prio, state, next, next_prio }
            }
            Told::SwitchTo { state, next, next_prio } => {
                let prev_prio = tid.and_then(|tid| self.prios.get(&tid)).copied().unwrap_or(PRIO);
                let (prev, state) = match known(tid) {
                    Some(prev) => (prev, state),
                    None => (IDLE, Left { state: b'R', preempted: false }),
                };
                What::Switch { prev, prev_prio, state, next: named(next), next_prio }
            }
            Told::Waking { task, prio, target, flags } => {
                return (wake(task, prio, target), flags.map(context));
            }
            Told::Wakeup { task, prio, target } => wake(task, prio, target),
            Told::WakeupNew { task, prio, target } => {
                What::WakeNew { task: named(task), prio, target: CpuId(target) }
            }
            Told::Runtime { task, ns } => What::Runtime { task: named(task), ns },
            Told::Fork { parent, child } => {
                What::Fork { parent: named(parent), child: named(child) }
            }
            Told::NewTask { child, .. } => match known(tid).filter(|_| !self.survey.has_forks) {
                Some(parent) => What::Fork { parent, child: named(child) },
                None => What::Other,
            },
            Told::Rename(_) => What::Other,
            Told::Lost(n) => What::Lost(n),
        };
        (what, None)
    }
}

impl<R: Read + Seek> EventsOfFile for Events<'_, R> {
    fn next(&mut self) -> Result<Option<Event<'_>>, ReplayError> {
        let Some(record) = self.order.next()? else {
            return Ok(None);
        };
        let cpu = CpuId(record.cpu);
        let tid = record.tid.or(self.current[cpu]);
        self.current[cpu] = tid;
        self.note(&record, tid);
        let (what, context) = self.what(&record, tid);
        let process = tid.and_then(|tid| self.processes.get(&tid)).copied();
        let comm = self.names.of(tid);
        Ok(Some(Event { comm, tid, process, cpu, at: record.at, context, what }))
    }
}

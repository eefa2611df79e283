//! Perfetto's protobuf, for ui.perfetto.dev and `trace_processor`.
//!
//! A trace is a sequence of packets. The scheduler's events are in bundles, one CPU each, as
//! Perfetto's own recorder has them; what has no tracepoint there (runqueue lengths, CPUs that idle
//! while tasks wait) is in counters. Perfetto knows no `sched_stat_runtime`.

pub mod proto;

use super::event::{Comm, Event, Signal, What, Who};
use super::out_file::{OutFile, TraceError};
use super::sink::{Origin, Sink};
use proto::{
    CounterDescriptor, Data, FtraceEvent, FtraceEventBundle, Process, ProcessTree,
    SchedMigrateTask, SchedProcessFree, SchedSwitch, SystemInfo, TaskNewtask, TracePacket,
    TrackDescriptor, TrackEvent, Utsname, Wake,
};
use std::collections::BTreeSet;

/// Events after which a bundle is written.
const BUNDLE: usize = 256;
/// The tag of packets: a file is one message with this field, repeated.
const PACKET: u32 = 1;
/// CLOCK_BOOTTIME, the clock of ftrace events.
const BOOT_CLOCK: u32 = 6;
const TYPE_COUNTER: i32 = 4;
/// SIGCHLD: a fork that makes a process, not a thread.
const CLONE_PROCESS: u64 = 17;

/// Tracks: a group, one counter beside it, and the group's members.
const LENGTHS: u64 = 1;
const IDLE_WHILE_RUNNABLE: u64 = 2;
const FIRST_LENGTH: u64 = 16;
/// Groups of signals, of CPUs and of tasks: these and the signal's place. Their members: the group
/// times so much, and the CPU or the pid.
const CPU_SIGNALS: u64 = 4;
const TASK_SIGNALS: u64 = 8;
const MEMBERS: u64 = 1 << 40;

/// Writes Perfetto traces.
pub struct Perfetto {
    out: OutFile,
    bundles: Vec<Vec<FtraceEvent>>,
    buffer: Vec<u8>,
    /// Tracks of signals that there are: they are made when they are first needed.
    signal_tracks: BTreeSet<u64>,
}

impl Perfetto {
    /// Writes to this file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(out: OutFile, origin: &Origin) -> Result<Self, TraceError> {
        let bundles = (0..origin.n_cpus).map(|_| Vec::with_capacity(BUNDLE)).collect();
        let mut new = Self { out, bundles, buffer: Vec::new(), signal_tracks: BTreeSet::new() };
        let utsname = Utsname {
            sysname: "Linux".into(),
            version: origin.command.join(" "),
            release: origin.release.clone(),
            machine: "x86_64".into(),
        };
        let info = SystemInfo { utsname: Some(utsname), num_cpus: origin.n_cpus };
        new.packet(None, Data::SystemInfo(info))?;
        new.track(LENGTHS, "Runqueue length".into(), None, None)?;
        new.track(IDLE_WHILE_RUNNABLE, "Idle while runnable".into(), None, Some("CPUs"))?;
        for cpu in 0..origin.n_cpus {
            let uuid = FIRST_LENGTH + u64::from(cpu);
            new.track(uuid, format!("nr_running {cpu}"), Some(LENGTHS), Some("tasks"))?;
        }
        Ok(new)
    }

    fn packet(&mut self, timestamp: Option<u64>, data: Data) -> Result<(), TraceError> {
        let packet = TracePacket {
            timestamp,
            trusted_packet_sequence_id: 1,
            timestamp_clock_id: timestamp.map(|_| BOOT_CLOCK),
            data: Some(data),
        };
        self.buffer.clear();
        prost::encoding::message::encode(PACKET, &packet, &mut self.buffer);
        self.out.put(&self.buffer)
    }

    fn track(
        &mut self,
        uuid: u64,
        name: String,
        parent_uuid: Option<u64>,
        unit: Option<&str>,
    ) -> Result<(), TraceError> {
        let counter = unit.map(|unit| CounterDescriptor { unit_name: unit.into() });
        let track = TrackDescriptor { uuid, name, parent_uuid, counter };
        self.packet(None, Data::TrackDescriptor(track))
    }

    fn counter(&mut self, at: u64, track_uuid: u64, value: u64) -> Result<(), TraceError> {
        let counter_value = i64::try_from(value).unwrap_or(i64::MAX);
        let event = TrackEvent { r#type: TYPE_COUNTER, track_uuid, counter_value };
        self.packet(Some(at), Data::TrackEvent(event))
    }

    /// A signal of a member of a group of tracks.
    fn signal(
        &mut self,
        at: u64,
        (groups, of): (u64, &str),
        (member, name): (u64, String),
        (signal, value): (Signal, u64),
    ) -> Result<(), TraceError> {
        let group = groups + signal as u64;
        let uuid = group * MEMBERS + member;
        if self.signal_tracks.insert(group) {
            self.track(group, format!("{}{of}", signal.name()), None, None)?;
        }
        if self.signal_tracks.insert(uuid) {
            let name = format!("{} {name}", signal.name());
            self.track(uuid, name, Some(group), Some("of 1024"))?;
        }
        self.counter(at, uuid, value)
    }

    fn process(
        &mut self,
        at: u64,
        pid: i32,
        ppid: Option<i32>,
        comm: &Comm,
    ) -> Result<(), TraceError> {
        let process = Process { pid, ppid, cmdline: vec![text(comm)] };
        self.packet(Some(at), Data::ProcessTree(ProcessTree { processes: vec![process] }))
    }

    fn write_bundle(&mut self, cpu: usize) -> Result<(), TraceError> {
        let event = std::mem::take(&mut self.bundles[cpu]);
        if event.is_empty() {
            return Ok(());
        }
        self.packet(None, Data::FtraceEvents(FtraceEventBundle { cpu: cpu as u32, event }))
    }
}

impl Sink for Perfetto {
    fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        match &event.what {
            What::NrRunning { cpu, n } => {
                self.counter(event.at, FIRST_LENGTH + u64::from(cpu.0), u64::from(*n))?;
            }
            What::IdleWhileRunnable { n } => {
                self.counter(event.at, IDLE_WHILE_RUNNABLE, u64::from(*n))?;
            }
            What::CpuSignal { cpu, signal, value } => {
                let member = (u64::from(cpu.0), cpu.to_string());
                self.signal(event.at, (CPU_SIGNALS, ""), member, (*signal, *value))?;
            }
            What::TaskSignal { task, signal, value } => {
                let name = format!("{}:{}", task.comm.as_str(), task.pid);
                let member = (u64::from(task.pid.0), name);
                self.signal(event.at, (TASK_SIGNALS, " of tasks"), member, (*signal, *value))?;
            }
            What::Renamed { task } => self.process(event.at, pid(task), None, &task.comm)?,
            What::Fork { parent, child } => {
                self.process(event.at, pid(child), Some(pid(parent)), &child.comm)?;
            }
            _ => {}
        }
        let Some(what) = ftrace(&event.what) else {
            return Ok(());
        };
        let cpu = event.cpu.idx();
        self.bundles[cpu].push(FtraceEvent {
            timestamp: event.at,
            pid: event.current.pid.0,
            event: Some(what),
        });
        if self.bundles[cpu].len() == BUNDLE { self.write_bundle(cpu) } else { Ok(()) }
    }

    fn finish(mut self: Box<Self>) -> Result<OutFile, TraceError> {
        for cpu in 0..self.bundles.len() {
            self.write_bundle(cpu)?;
        }
        Ok(self.out)
    }
}

fn text(comm: &Comm) -> String {
    comm.as_str().to_string()
}

fn pid(task: &Who) -> i32 {
    task.pid.0 as i32
}

/// The event as ftrace has it, if it does.
fn ftrace(what: &What) -> Option<proto::Event> {
    use proto::Event as E;
    Some(match what {
        What::Switch { prev, state, next } => E::SchedSwitch(SchedSwitch {
            prev_comm: text(&prev.comm),
            prev_pid: pid(prev),
            prev_prio: prev.prio,
            prev_state: i64::from(state.bits()),
            next_comm: text(&next.comm),
            next_pid: pid(next),
            next_prio: next.prio,
        }),
        What::Waking { task, target, .. } => E::SchedWaking(wake(task, target.0)),
        What::Wakeup { task, target } => E::SchedWakeup(wake(task, target.0)),
        What::WakeupNew { task, target } => E::SchedWakeupNew(wake(task, target.0)),
        What::Migrate { task, from, to } => E::SchedMigrateTask(SchedMigrateTask {
            comm: text(&task.comm),
            pid: pid(task),
            prio: task.prio,
            orig_cpu: from.0 as i32,
            dest_cpu: to.0 as i32,
        }),
        What::Fork { child, .. } => E::TaskNewtask(TaskNewtask {
            pid: pid(child),
            comm: text(&child.comm),
            clone_flags: CLONE_PROCESS,
        }),
        What::Exit { task } => E::SchedProcessFree(SchedProcessFree {
            comm: text(&task.comm),
            pid: pid(task),
            prio: task.prio,
        }),
        _ => return None,
    })
}

fn wake(task: &Who, target: u32) -> Wake {
    Wake {
        comm: text(&task.comm),
        pid: pid(task),
        prio: task.prio,
        success: 1,
        target_cpu: target as i32,
    }
}

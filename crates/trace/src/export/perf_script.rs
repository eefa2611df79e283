//! The text that `perf script --ns` prints: a line per tracepoint, read by people, scripts and
//! flame-graph tools alike.

use super::event::{Event, What, Who};
use super::out_file::{OutFile, TraceError};
use super::sink::Sink;
use std::io::Write;

/// Writes perf script text.
pub struct PerfScript {
    out: OutFile,
    line: Vec<u8>,
}

impl PerfScript {
    /// Writes to this file.
    pub fn new(out: OutFile) -> Self {
        Self { out, line: Vec::with_capacity(256) }
    }
}

impl Sink for PerfScript {
    fn event(&mut self, event: &Event) -> Result<(), TraceError> {
        let Some(name) = name(&event.what) else {
            return Ok(());
        };
        self.line.clear();
        let written = head(&mut self.line, event, name)
            .and_then(|()| fields(&mut self.line, &event.what))
            .and_then(|()| self.line.write_all(b"\n"));
        written.map_err(|e| self.out.fault(e))?;
        self.out.put(&self.line)
    }

    fn finish(self: Box<Self>) -> Result<OutFile, TraceError> {
        Ok(self.out)
    }
}

/// The event's name, right-aligned to the longest.
fn name(what: &What) -> Option<&'static str> {
    Some(match what {
        What::Switch { .. } => "      sched:sched_switch",
        What::Waking { .. } => "      sched:sched_waking",
        What::Wakeup { .. } => "      sched:sched_wakeup",
        What::WakeupNew { .. } => "  sched:sched_wakeup_new",
        What::Migrate { .. } => "sched:sched_migrate_task",
        What::StatRuntime { .. } => "sched:sched_stat_runtime",
        What::Fork { .. } => "sched:sched_process_fork",
        _ => return None,
    })
}

/// The current task, the CPU and the time. perf knows the idle tasks of all CPUs by one name.
fn head(line: &mut Vec<u8>, event: &Event, name: &str) -> std::io::Result<()> {
    let Who { pid, comm, .. } = &event.current;
    let comm = if pid.0 == 0 { "swapper" } else { comm.as_str() };
    let (s, ns) = (event.at / 1_000_000_000, event.at % 1_000_000_000);
    write!(line, "{comm:>16} {:>5} [{:03}] {s:>5}.{ns:09}: {name}: ", pid.0, event.cpu.0)
}

fn fields(line: &mut Vec<u8>, what: &What) -> std::io::Result<()> {
    match what {
        What::Switch { prev, state, next } => write!(
            line,
            "prev_comm={} prev_pid={} prev_prio={} prev_state={} ==> \
             next_comm={} next_pid={} next_prio={}",
            prev.comm.as_str(),
            prev.pid,
            prev.prio,
            state.letters(),
            next.comm.as_str(),
            next.pid,
            next.prio
        ),
        What::Waking { task, target, .. }
        | What::Wakeup { task, target }
        | What::WakeupNew { task, target } => {
            whom(line, task)?;
            write!(line, " prio={} target_cpu={:03}", task.prio, target.0)
        }
        What::Migrate { task, from, to } => {
            whom(line, task)?;
            write!(line, " prio={} orig_cpu={} dest_cpu={}", task.prio, from.0, to.0)
        }
        What::StatRuntime { task, ns } => {
            whom(line, task)?;
            write!(line, " runtime={ns} [ns]")
        }
        What::Fork { parent, child } => {
            whom(line, parent)?;
            write!(line, " child_comm={} child_pid={}", child.comm.as_str(), child.pid)
        }
        _ => Ok(()),
    }
}

fn whom(line: &mut Vec<u8>, task: &Who) -> std::io::Result<()> {
    write!(line, "comm={} pid={}", task.comm.as_str(), task.pid)
}

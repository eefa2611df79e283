//! The kernel's records of the scheduler's tracepoints, as perf and trace-cmd keep them: what each
//! says, by the formats that come with a recording. Perfetto writes the same fields in its own way.

mod format;
mod names;

use super::event::{Left, Named, PID_MAX, What};
use super::file_fields::FileFields;
pub(super) use format::field;
use format::{Kind, Layout};
pub(super) use names::Names;
use sim_core::Context;
use std::collections::HashMap;
use std::io::{Read, Seek};
use topology::CpuId;

/// Bits of `common_flags` (`include/linux/trace_events.h`).
const FLAG_HARDIRQ: u8 = 0x08;
const FLAG_SOFTIRQ: u8 = 0x10;
const FLAG_NMI: u8 = 0x40;
/// The letters of a sleeper's state, from its lowest bit (`prev_state`, since Linux 4.14), and the
/// bit of a task that was preempted.
const STATES: &[u8; 8] = b"SDTtXZPI";
const PREEMPTED: i64 = 0x100;

/// How the events that are needed lie in memory, by their number (`common_type`).
pub(super) struct Formats(HashMap<u16, Layout>);

impl Formats {
    /// Those of all systems of events, from the count of these on; `None` if they are cut off.
    pub(super) fn of_systems<R: Read + Seek>(fields: &mut FileFields<R>) -> Option<Self> {
        format::layouts(fields).map(Self)
    }

    /// True if there are any switches to be seen.
    pub(super) fn have_switches(&self) -> bool {
        self.0.values().any(|layout| layout.kind == Kind::Switch)
    }

    /// What a record says, and on whose behalf the CPU worked if that tells who woke. `None` if it
    /// is shorter than its fields, or has impossible ones.
    pub(super) fn event<'e>(&self, raw: &'e [u8]) -> Option<(What<'e>, Option<Context>)> {
        let [id0, id1, flags, ..] = *raw else {
            return None;
        };
        let Some(layout) = self.0.get(&u16::from_le_bytes([id0, id1])) else {
            return Some((What::Other, None));
        };
        // The interrupt that brings a wake-up to its CPU is not the one that made it: who woke is
        // seen at `sched_waking` only.
        let context = (layout.kind == Kind::Waking).then(|| context(flags));
        Some((what(layout, raw)?, context))
    }
}

/// On whose behalf a CPU worked at an event, by its `common_flags`.
pub(super) fn context(flags: u8) -> Context {
    match flags {
        _ if flags & (FLAG_HARDIRQ | FLAG_NMI) != 0 => Context::Hardirq,
        _ if flags & FLAG_SOFTIRQ != 0 => Context::Softirq,
        _ => Context::Task,
    }
}

/// True if Linux may have such a pid.
pub(super) fn is_pid(pid: u32) -> bool {
    u64::from(pid) <= PID_MAX
}

/// What happened, by the fields of an event; `None` if it is shorter than they are.
fn what<'e>(layout: &Layout, raw: &'e [u8]) -> Option<What<'e>> {
    let field = |i: usize| layout.fields[i];
    let task = |i: usize| {
        let tid = u32::try_from(field(i + 1).number(raw)?).ok().filter(|tid| is_pid(*tid))?;
        Some(Named { comm: field(i).text(raw)?, tid })
    };
    // As in the text: 0 to 139, and -1 for a deadline task.
    let prio = |i: usize| Some(field(i).number(raw)?.clamp(-1, 139) as i32);
    let target = || Some(CpuId(u32::try_from(field(3).number(raw)?).ok()?));
    Some(match layout.kind {
        Kind::Switch => {
            let (prev, next) = (task(0)?, task(4)?);
            let (prev_prio, next_prio) = (prio(2)?, prio(6)?);
            What::Switch { prev, prev_prio, state: left(field(3).number(raw)?), next, next_prio }
        }
        Kind::Waking | Kind::Wakeup => {
            What::Wake { task: task(0)?, prio: prio(2)?, target: target()? }
        }
        Kind::WakeupNew => What::WakeNew { task: task(0)?, prio: prio(2)?, target: target()? },
        Kind::Runtime => {
            let ns = u64::try_from(field(2).number(raw)?).ok()?;
            What::Runtime { task: task(0)?, ns }
        }
        Kind::Fork => What::Fork { parent: task(0)?, child: task(2)? },
    })
}

/// How a task leaves its CPU, by `prev_state`.
pub(super) fn left(state: i64) -> Left {
    let letter = STATES.iter().enumerate().find(|(bit, _)| state >> bit & 1 == 1);
    Left { state: letter.map_or(b'R', |(_, letter)| *letter), preempted: state & PREEMPTED != 0 }
}

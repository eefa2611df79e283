//! A kernel event as a message of its own. Numbers of messages and fields are those of Perfetto's
//! `ftrace_event.proto`, `sched.proto`, `task.proto` and `generic.proto`.

use super::record::{Task, Told, cpu, prio, tid};
use super::wire::{Broken, Fields, Value};
use super::words::Words;
use crate::replay::ftrace;

/// The events that replay is made from.
const SWITCH: u32 = 4;
const WAKEUP: u32 = 17;
const WAKING: u32 = 20;
const WAKEUP_NEW: u32 = 114;
const NEWTASK: u32 = 235;
const RENAME: u32 = 236;
const FORK: u32 = 239;
/// An event that Perfetto has no message for: its name, and the names and values of its fields.
const GENERIC: u32 = 327;
/// The one that is needed of these.
const RUNTIME: &[u8] = b"sched_stat_runtime";
/// A bit of `clone_flags`: the new task is a thread of its maker's process.
const CLONE_THREAD: i64 = 0x10000;

/// What every event has, and the message in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct FtraceEvent<'a> {
    pub at: u64,
    pub tid: u32,
    flags: Option<u8>,
    kind: u32,
    body: &'a [u8],
}

impl<'a> FtraceEvent<'a> {
    pub(super) fn of(message: &'a [u8]) -> Result<Self, &'static str> {
        let mut event = Self { at: 0, tid: 0, flags: None, kind: 0, body: &[] };
        for field in Fields::of(message) {
            match field.map_err(broken)? {
                (1, Value::Number(at)) => event.at = at,
                (2, Value::Number(number)) => event.tid = tid(i64::from(number as u32))?,
                (5, Value::Number(flags)) => event.flags = Some(flags as u8),
                (kind, Value::Bytes(body)) => (event.kind, event.body) = (kind, body),
                _ => {}
            }
        }
        Ok(event)
    }

    /// What it tells, if that is needed.
    pub(super) fn told(&self, words: &mut Words) -> Result<Option<Told>, &'static str> {
        let of = |body| Body::of(body).map_err(broken);
        Ok(Some(match self.kind {
            SWITCH => {
                let body = of(self.body)?;
                let [prev_prio, next_prio] = [3, 7].map(|i| prio(body.numbers[i]));
                let state = ftrace::left(body.numbers[4]);
                let (prev, next) = (body.task(1, 2, words)?, body.task(5, 6, words)?);
                Told::Switch { prev, prev_prio, state, next, next_prio }
            }
            WAKING | WAKEUP | WAKEUP_NEW => {
                let body = of(self.body)?;
                let (task, prio) = (body.task(1, 2, words)?, prio(body.numbers[3]));
                let (target, flags) = (cpu(body.numbers[5])?, self.flags);
                match self.kind {
                    WAKING => Told::Waking { task, prio, target, flags },
                    WAKEUP => Told::Wakeup { task, prio, target },
                    _ => Told::WakeupNew { task, prio, target },
                }
            }
            NEWTASK => {
                let body = of(self.body)?;
                let is_thread = body.numbers[3] & CLONE_THREAD != 0;
                Told::NewTask { child: body.task(2, 1, words)?, is_thread }
            }
            RENAME => Told::Rename(of(self.body)?.task(3, 1, words)?),
            FORK => {
                let body = of(self.body)?;
                Told::Fork { parent: body.task(1, 2, words)?, child: body.task(3, 4, words)? }
            }
            GENERIC => return runtime(self.body, words),
            _ => return Ok(None),
        }))
    }
}

fn broken(_: Broken) -> &'static str {
    "an event is no sound protobuf"
}

/// The fields of an event, by their numbers; 0 and empty are what is not written down.
#[derive(Default)]
struct Body<'a> {
    numbers: [i64; 8],
    texts: [&'a [u8]; 8],
}

impl<'a> Body<'a> {
    fn of(message: &'a [u8]) -> Result<Self, Broken> {
        let mut body = Self::default();
        for field in Fields::of(message) {
            match field? {
                (i @ 0..8, Value::Number(number)) => body.numbers[i as usize] = number as i64,
                (i @ 0..8, Value::Bytes(text)) => body.texts[i as usize] = text,
                _ => {}
            }
        }
        Ok(body)
    }

    /// The task whose name and thread id are in these fields.
    fn task(&self, name: usize, id: usize, words: &mut Words) -> Result<Task, &'static str> {
        Ok(Task { name: words.of(self.texts[name])?, tid: tid(self.numbers[id])? })
    }
}

/// A charge, if a generic event is one.
fn runtime(message: &[u8], words: &mut Words) -> Result<Option<Told>, &'static str> {
    let (mut is_runtime, mut comm, mut id, mut ns) = (false, &b""[..], 0, 0);
    for field in Fields::of(message) {
        match field.map_err(broken)? {
            (1, Value::Bytes(name)) => is_runtime = name == RUNTIME,
            // A name, and a text, a number with a sign, or one without.
            (2, Value::Bytes(field)) if is_runtime => {
                let field = Body::of(field).map_err(broken)?;
                match field.texts[1] {
                    b"comm" => comm = field.texts[3],
                    b"pid" => id = field.numbers[4] | field.numbers[5],
                    b"runtime" => ns = field.numbers[4] | field.numbers[5],
                    _ => {}
                }
            }
            _ => {}
        }
    }
    if !is_runtime {
        return Ok(None);
    }
    let ns = u64::try_from(ns).map_err(|_| "a charge is negative")?;
    Ok(Some(Told::Runtime { task: Task { name: words.of(comm)?, tid: tid(id)? }, ns }))
}

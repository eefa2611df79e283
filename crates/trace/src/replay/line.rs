//! One line of `perf script`.
//!
//! A process may choose any name, also one with spaces, brackets and `pid=`. So the head is found
//! by its shape, and fields are taken from the right, where the numbers are.

use super::event::{CPUS_MAX, Event, Left, Named, PID_MAX, Part, Trouble, What};
use input::{Fault, nearest};
use sim_core::Ns;
use std::ops::Range;
use topology::CpuId;

/// The latest time stamp, s: about a century.
const SECONDS_MAX: u64 = 1 << 32;

/// What tells a user how to make a recording that can be read.
const HOW: &str = "record with `perf sched record`, print with `perf script --ns`";

/// Events that replay is made from. All others of the scheduler are passed over.
const NEEDED: &[&str] = &[
    "sched_switch",
    "sched_waking",
    "sched_wakeup",
    "sched_wakeup_new",
    "sched_stat_runtime",
    "sched_process_fork",
];
/// One that `perf sched record` has many of, and no replay needs.
const MIGRATE: &str = "sched_migrate_task";

/// A line with an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Line<'a> {
    pub event: Event<'a>,
    /// Where the line says which CPU.
    pub cpu_span: (usize, usize),
    /// Where the line says when.
    pub at_span: (usize, usize),
    /// True if the time stamp has all nine digits, as `perf script --ns` prints them.
    pub in_ns: bool,
}

impl<'a> Line<'a> {
    /// A trouble with the line's event, at its place in the line.
    pub(super) fn fault(&self, trouble: Trouble) -> Fault {
        let span = match trouble.part {
            Part::Cpu => self.cpu_span,
            Part::Time => self.at_span,
            Part::Whole => (0, 1),
        };
        Fault::at(span.0..span.1, trouble.message).help_if(trouble.help)
    }

    /// Reads a line; `None` if there is no event on it.
    pub(super) fn parse(line: &'a [u8]) -> Result<Option<Self>, Fault> {
        // Comments, blank lines between events with call chains, and the chains.
        if matches!(line.first(), None | Some(b'#' | b'\t')) || line.iter().all(|b| *b == b' ') {
            return Ok(None);
        }
        let head = Head::find(line)?;
        if let Some(what) = record(&line[head.end..]) {
            return Ok(Some(head.with(what)));
        }
        let (name, start) = event(line, head.end)?;
        let what = Fields { line, start: start.min(line.len()), end: line.len() }.what(name)?;
        Ok(Some(head.with(what)))
    }
}

/// What all lines begin with: `comm pid/tid [cpu] seconds.fraction:`.
struct Head<'a> {
    comm: &'a [u8],
    tid: Option<u32>,
    process: Option<u32>,
    cpu: CpuId,
    cpu_span: (usize, usize),
    at: Ns,
    at_span: (usize, usize),
    in_ns: bool,
    end: usize,
}

impl<'a> Head<'a> {
    fn with(self, what: What<'a>) -> Line<'a> {
        let Head { comm, tid, process, cpu, cpu_span, at, at_span, in_ns, .. } = self;
        let event = Event { comm, tid, process, cpu, at, context: None, what };
        Line { event, cpu_span, at_span, in_ns }
    }

    fn find(line: &'a [u8]) -> Result<Self, Fault> {
        let brackets = (1..line.len()).filter(|i| line[*i] == b'[' && line[*i - 1] == b' ');
        let no_head = || {
            let end = line.len().min(40);
            let message = "this is no line of `perf script`: task, [CPU] and time are missing";
            Fault::at(0..end, message).help(HOW)
        };
        brackets.filter_map(|at| Self::around(line, at)).next().ok_or_else(no_head)?
    }

    /// What has the shape of a head whose CPU is in the brackets that open here.
    fn around(line: &'a [u8], open: usize) -> Option<Result<Self, Fault>> {
        let (cpu, close) = digits(line, open + 1)?;
        (line.get(close) == Some(&b']')).then_some(())?;
        let begin = skip_spaces(line, close + 1);
        let (seconds, dot) = digits(line, begin)?;
        (line.get(dot) == Some(&b'.')).then_some(())?;
        let (fraction, end) = digits(line, dot + 1)?;
        let n_digits = end - dot - 1;
        (line.get(end) == Some(&b':') && n_digits <= 9).then_some(())?;
        let ns = fraction * 10u64.pow(9 - n_digits as u32);
        let (comm, process, tid) = Self::pids(&line[..open])?;
        if cpu >= CPUS_MAX {
            let cpu = String::from_utf8_lossy(&line[open + 1..close]);
            let message = format!("there is no CPU {cpu}; it must be below {CPUS_MAX}");
            return Some(Err(Fault::at(open + 1..close, message)));
        }
        if seconds >= SECONDS_MAX {
            let message = format!("a time must be below {SECONDS_MAX} s");
            return Some(Err(Fault::at(begin..end, message)));
        }
        let checked = |pid: Option<Digits>| pid.map(Digits::checked_pid).transpose();
        let pids = checked(process).and_then(|process| Ok((process, checked(tid)?)));
        Some(pids.map(|(process, tid)| Self {
            comm,
            tid,
            process,
            cpu: CpuId(cpu as u32),
            cpu_span: (open + 1, close),
            at: seconds * 1_000_000_000 + ns,
            at_span: (begin, end),
            in_ns: n_digits == 9,
            end: end + 1,
        }))
    }

    /// The name, and `pid/tid` or `tid`, the last word before the CPU. A task in its exit has -1.
    fn pids(before: &'a [u8]) -> Option<(&'a [u8], Option<Digits>, Option<Digits>)> {
        let before = before.trim_ascii_end();
        let start = before.iter().rposition(|b| *b == b' ').map_or(0, |i| i + 1);
        let comm = before[..start].trim_ascii();
        match before[start..].iter().position(|b| *b == b'/') {
            Some(n) => {
                let process = pid(before, start..start + n)?;
                Some((comm, process, pid(before, start + n + 1..before.len())?))
            }
            None => Some((comm, None, pid(before, start..before.len())?)),
        }
    }
}

/// A number, and where it stands.
#[derive(Debug)]
struct Digits {
    number: u64,
    span: Range<usize>,
}

impl Digits {
    fn checked_pid(self) -> Result<u32, Fault> {
        let message = || format!("a pid is at most {PID_MAX}");
        let fits = self.number <= PID_MAX;
        fits.then_some(self.number as u32).ok_or_else(|| Fault::at(self.span, message()))
    }
}

/// A pid in the head; `Some(None)` for -1.
fn pid(line: &[u8], span: Range<usize>) -> Option<Option<Digits>> {
    if &line[span.clone()] == b"-1" {
        return Some(None);
    }
    let (number, end) = digits(line, span.start)?;
    (end == span.end).then_some(Some(Digits { number, span }))
}

/// The number that begins here, or the largest if it is larger, and where it ends.
fn digits(text: &[u8], from: usize) -> Option<(u64, usize)> {
    let mut number: u64 = 0;
    let mut at = from;
    while let Some(digit @ b'0'..=b'9') = text.get(at) {
        number = number.saturating_mul(10).saturating_add(u64::from(digit - b'0'));
        at += 1;
    }
    (at > from).then_some((number, at))
}

fn skip_spaces(text: &[u8], from: usize) -> usize {
    let spaces = text[from.min(text.len())..].iter().take_while(|b| **b == b' ');
    from + spaces.count()
}

/// The event's name, without `sched:`, and where its fields begin.
fn event(line: &[u8], at: usize) -> Result<(&[u8], usize), Fault> {
    let start = skip_spaces(line, at);
    let text = line.get(start..).unwrap_or_default();
    let is_name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b':' | b'-' | b'.');
    let n = text.iter().position(|b| !is_name(b)).unwrap_or(text.len());
    let Some(name) = text[..n].strip_suffix(b":").filter(|name| !name.is_empty()) else {
        return Err(cut_off(line, "the event"));
    };
    let fields = skip_spaces(line, start + n);
    let (system, event) = match name.iter().position(|b| *b == b':') {
        Some(colon) => (&name[..colon], &name[colon + 1..]),
        None => (&name[..0], name),
    };
    let name = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let span = start..start + n - 1;
    if !matches!(system, b"" | b"sched") {
        let full = name(&line[span.clone()]);
        let message = format!("`{full}` is no event of the scheduler");
        return Err(Fault::at(span, message).help("keep the lines with `sched:` only"));
    }
    let known = NEEDED.iter().chain([&MIGRATE]).any(|known| known.as_bytes() == event);
    // A name that is nearly that of a needed event is a damaged one.
    if !known && let Some(near) = nearest(&name(event), NEEDED.iter().copied()) {
        let message = format!("unknown event `{}`", name(event));
        return Err(Fault::at(span, message).help(format!("did you mean `{near}`?")));
    }
    Ok((event, fields))
}

/// A line of perf's own, such as `PERF_RECORD_LOST lost 17`.
fn record(text: &[u8]) -> Option<What<'static>> {
    let kind = text.trim_ascii().strip_prefix(b"PERF_RECORD_")?;
    let Some(n) = kind
        .strip_prefix(b"LOST")
        .and_then(|rest| digits(rest.trim_ascii_start().strip_prefix(b"lost ")?, 0))
    else {
        return Some(What::Other);
    };
    Some(What::Lost(n.0))
}

fn cut_off(line: &[u8], what: &str) -> Fault {
    Fault::at(line.len()..line.len(), format!("the line is cut off: {what} is missing"))
}

/// The fields of an event, taken from the right.
struct Fields<'a> {
    line: &'a [u8],
    start: usize,
    end: usize,
}

/// What stands behind the time of a sched_stat_runtime.
const UNIT: &[u8] = b" [ns]";

impl<'a> Fields<'a> {
    fn what(mut self, event: &[u8]) -> Result<What<'a>, Fault> {
        Ok(match event {
            b"sched_switch" => self.switch()?,
            b"sched_waking" | b"sched_wakeup" => {
                let (task, prio, target) = self.wake()?;
                What::Wake { task, prio, target }
            }
            b"sched_wakeup_new" => {
                let (task, prio, target) = self.wake()?;
                What::WakeNew { task, prio, target }
            }
            b"sched_stat_runtime" => {
                let end = self.end;
                let ns = self.number(" runtime=", SECONDS_MAX * 1_000_000_000)?;
                if !self.line[self.end..end].windows(UNIT.len()).any(|part| part == UNIT) {
                    // Without the unit the number may be cut off: 40 of 40000.
                    return Err(cut_off(self.line, "its unit, `[ns]`"));
                }
                What::Runtime { task: self.task(" pid=", "comm=")?, ns }
            }
            b"sched_process_fork" => {
                let child = self.task(" child_pid=", " child_comm=")?;
                What::Fork { parent: self.task(" pid=", "comm=")?, child }
            }
            _ => What::Other,
        })
    }

    fn switch(&mut self) -> Result<What<'a>, Fault> {
        let next_prio = self.prio(" next_prio=")?;
        let next = self.task(" next_pid=", " ==> next_comm=")?;
        let state = self.word(" prev_state=")?;
        let prev_prio = self.prio(" prev_prio=")?;
        let prev = self.task(" prev_pid=", "prev_comm=")?;
        let at = state.start;
        let preempted = self.line[state.clone()].ends_with(b"+");
        let state = self.line[state].first().copied().unwrap_or(b' ');
        if !b"RSDTtXZPIKWxN".contains(&state) {
            let message = "there is no such state of a task";
            return Err(Fault::at(at..at + 1, message).help("R, S, D, T, t, X, Z, P, I"));
        }
        let state = Left { state, preempted };
        Ok(What::Switch { prev, prev_prio, state, next, next_prio })
    }

    fn wake(&mut self) -> Result<(Named<'a>, i32, CpuId), Fault> {
        let target = self.number(" target_cpu=", CPUS_MAX - 1)?;
        let prio = self.prio(" prio=")?;
        Ok((self.task(" pid=", "comm=")?, prio, CpuId(target as u32)))
    }

    /// Goes back to the last `key`. Returns what stands between it and the field found before.
    fn value(&mut self, key: &str) -> Result<Range<usize>, Fault> {
        let key = key.as_bytes();
        let text = &self.line[self.start..self.end];
        let found = (0..(text.len() + 1).saturating_sub(key.len())).rev();
        let Some(at) = found.into_iter().find(|at| text[*at..].starts_with(key)) else {
            let name = String::from_utf8_lossy(key);
            let name = name.trim_end_matches('=').rsplit(' ').next().unwrap_or_default();
            return Err(cut_off(self.line, &format!("`{name}`")));
        };
        let value = self.start + at + key.len()..self.end;
        self.end = self.start + at;
        Ok(value)
    }

    /// The first word after the last `key`.
    fn word(&mut self, key: &str) -> Result<Range<usize>, Fault> {
        let value = self.value(key)?;
        let length = self.line[value.clone()].iter().position(|b| *b == b' ');
        Ok(value.start..length.map_or(value.end, |n| value.start + n))
    }

    fn number(&mut self, key: &str, max: u64) -> Result<u64, Fault> {
        let word = self.word(key)?;
        match digits(self.line, word.start) {
            Some((number, end)) if end == word.end && number <= max => Ok(number),
            _ if word.is_empty() => Err(self.empty(key)),
            _ => {
                let key = key.trim_matches([' ', '=']);
                Err(Fault::at(word, format!("`{key}` must be a number, at most {max}")))
            }
        }
    }

    fn empty(&self, key: &str) -> Fault {
        cut_off(self.line, &format!("`{}`", key.trim_matches([' ', '='])))
    }

    /// A deadline task has -1.
    fn prio(&mut self, key: &str) -> Result<i32, Fault> {
        let word = self.word(key)?;
        if &self.line[word.clone()] == b"-1" {
            return Ok(-1);
        }
        match digits(self.line, word.start) {
            Some((number, end)) if end == word.end && number < 140 => Ok(number as i32),
            _ if word.is_empty() => Err(self.empty(key)),
            _ => Err(Fault::at(word, "a priority is -1 to 139")),
        }
    }

    fn task(&mut self, tid: &str, comm: &str) -> Result<Named<'a>, Fault> {
        let tid = self.number(tid, PID_MAX)? as u32;
        let comm = self.value(comm)?;
        Ok(Named { comm: &self.line[comm], tid })
    }
}

//! One wait for a CPU while it lasts: where its time goes.

use crate::explain::Near;
use crate::latency::{Behind, Cause, LeftCpu, Name, Stay, Story};
use sim_core::{Ns, Reason};
use topology::CpuId;
use trace::export::START_NS;

/// Runners, idle CPUs and stays of one wait that are told apart; further ones of the same command
/// or rule are added up.
const TOLD_MAX: usize = 32;

/// A task, as long as its name may change: command by number, and pid.
pub(super) type Who = (u16, u32);

/// Time behind one task on one CPU.
#[derive(Clone, Copy)]
pub(super) struct Ahead {
    pub cpu: CpuId,
    pub who: Who,
    at: Ns,
    pub ns: Ns,
}

/// A CPU that idled meanwhile, and the row that is to blame.
#[derive(Clone, Copy)]
struct Left {
    cpu: CpuId,
    near: Near,
    row: usize,
    ns: Ns,
}

/// Where a waiting task is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Not on a runqueue yet.
    Way,
    On(CpuId),
    Between,
}

/// A task's wait. Its lists are used again by the next one.
#[derive(Clone)]
pub(super) struct Wait {
    /// None: it does not wait.
    pub cause: Option<Cause>,
    pub since: Ns,
    /// Up to here its time is told.
    charged: Ns,
    pub by: Option<Who>,
    pub by_interrupt: bool,
    pub by_cpu: u32,
    pub place: Place,
    pub throttled: bool,
    /// The rule that put it where it is, and the row of that rule.
    placed: (&'static Reason, usize),
    /// Time on this runqueue, throttled time left out, and the part with an idle CPU.
    here_ns: Ns,
    here_idled_ns: Ns,
    pub way_ns: Ns,
    pub moving_ns: Ns,
    pub throttled_ns: Ns,
    pub ahead: Vec<Ahead>,
    /// Time by row.
    pub rows: Vec<(usize, Ns)>,
    left: Vec<Left>,
    stays: Vec<(Ns, CpuId, &'static Reason)>,
}

impl Wait {
    pub fn none() -> Self {
        Self {
            cause: None,
            since: 0,
            charged: 0,
            by: None,
            by_interrupt: false,
            by_cpu: 0,
            place: Place::Way,
            throttled: false,
            placed: (&Reason::UNTOLD, 0),
            here_ns: 0,
            here_idled_ns: 0,
            way_ns: 0,
            moving_ns: 0,
            throttled_ns: 0,
            ahead: Vec::new(),
            rows: Vec::new(),
            left: Vec::new(),
            stays: Vec::new(),
        }
    }

    /// Begins now, on no runqueue.
    pub fn begin(&mut self, now: Ns, cause: Cause) {
        let lists = (
            std::mem::take(&mut self.ahead),
            std::mem::take(&mut self.rows),
            std::mem::take(&mut self.left),
            std::mem::take(&mut self.stays),
        );
        *self = Self::none();
        (self.ahead, self.rows, self.left, self.stays) = lists;
        self.ahead.clear();
        self.rows.clear();
        self.left.clear();
        self.stays.clear();
        (self.cause, self.since, self.charged) = (Some(cause), now, now);
    }

    /// It has gone on until now; `runner` had the CPU whose runqueue it is on.
    pub fn go_on(&mut self, now: Ns, runner: Who) {
        let since = std::mem::replace(&mut self.charged, now);
        let ns = now - since;
        if ns == 0 {
            return;
        }
        match self.place {
            Place::Way => self.way_ns += ns,
            Place::Between => self.moving_ns += ns,
            Place::On(_) if self.throttled => self.throttled_ns += ns,
            Place::On(cpu) => {
                self.here_ns += ns;
                self.add_ahead(cpu, runner, since, ns);
            }
        }
    }

    fn add_ahead(&mut self, cpu: CpuId, who: Who, at: Ns, ns: Ns) {
        let is = |a: &&mut Ahead, who: Who| a.cpu == cpu && a.who == who;
        if let Some(known) = self.ahead.iter_mut().rev().find(|a| is(a, who)) {
            known.ns += ns;
        } else if self.ahead.len() < TOLD_MAX {
            self.ahead.push(Ahead { cpu, who, at, ns });
        } else {
            let several = (who.0, 0);
            match self.ahead.iter_mut().find(|a| is(a, several)) {
                Some(known) => known.ns += ns,
                None => self.ahead.push(Ahead { cpu, who: several, at, ns }),
            }
        }
    }

    /// It comes to a runqueue now, by a rule.
    pub fn arrive(&mut self, now: Ns, cpu: CpuId, placed: &'static Reason, row: usize) {
        self.place = Place::On(cpu);
        self.placed = (placed, row);
        if self.stays.len() < TOLD_MAX {
            self.stays.push((now, cpu, placed));
        }
    }

    /// It leaves its runqueue, having gone on until now.
    pub fn leave(&mut self) {
        let (all, idled) =
            (std::mem::take(&mut self.here_ns), std::mem::take(&mut self.here_idled_ns));
        debug_assert!(idled <= all, "{idled} of {all} ns with an idle CPU");
        let busy = all.saturating_sub(idled);
        if busy > 0 {
            self.add_row(self.placed.1, busy);
        }
        self.place = Place::Between;
    }

    /// A CPU idled that might have run it, for so long; the row is to blame.
    pub fn idled(&mut self, cpu: CpuId, near: Near, row: usize, ns: Ns) {
        self.here_idled_ns += ns;
        self.add_row(row, ns);
        let several = self.left.len() >= TOLD_MAX;
        let is = |l: &&mut Left| l.row == row && (l.cpu == cpu || several);
        match self.left.iter_mut().find(is) {
            Some(known) => known.ns += ns,
            None if !several => self.left.push(Left { cpu, near, row, ns }),
            None => {}
        }
    }

    fn add_row(&mut self, row: usize, ns: Ns) {
        match self.rows.iter_mut().find(|(known, _)| *known == row) {
            Some((_, sum)) => *sum += ns,
            None => self.rows.push((row, ns)),
        }
    }

    /// The wait as it is told. `rule` knows the rows' rules, `name` the names of tasks.
    pub fn story(
        &self,
        now: Ns,
        task: Who,
        rule: impl Fn(usize) -> &'static str,
        name: impl Fn(Who) -> Name,
    ) -> Story {
        let last = self.stays.last().map_or(self.by_cpu, |(_, cpu, _)| cpu.0);
        let mut left: Vec<LeftCpu> = (self.left.iter())
            .map(|l| LeftCpu { cpu: l.cpu.0, near: l.near, rule: rule(l.row), ns: l.ns })
            .collect();
        left.sort_by_key(|l| (std::cmp::Reverse(l.ns), l.cpu));
        let stay = |&(at, cpu, placed): &(Ns, CpuId, &'static Reason)| Stay {
            at_ns: START_NS + at,
            cpu: cpu.0,
            rule: placed.name,
        };
        let behind = |a: &Ahead| Behind {
            cpu: a.cpu.0,
            runner: name(a.who),
            at_ns: START_NS + a.at,
            ns: a.ns,
        };
        Story {
            cause: self.cause.unwrap_or(Cause::Forked),
            task: name(task),
            at_ns: START_NS + self.since,
            ns: now - self.since,
            goes_on: false,
            by: self.by.map(&name),
            by_interrupt: self.by_interrupt,
            by_cpu: self.by_cpu,
            cpu: last,
            way_ns: self.way_ns,
            moving_ns: self.moving_ns,
            throttled_ns: self.throttled_ns,
            stays: self.stays.iter().map(stay).collect(),
            behind: self.ahead.iter().map(behind).collect(),
            left,
        }
    }
}

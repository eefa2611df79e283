//! What one thread did, turn by turn.

use crate::replay::{Act, Thread, Timed};
use sim_core::{Ns, SleepState};
use std::collections::BTreeMap;

/// One sleep in so many is odd.
const ODD_SHARE: usize = 20;

/// Wake-ups and starts of one thread by another.
#[derive(Clone, Copy, Default, Debug)]
pub struct Sent {
    pub wakes: u64,
    pub starts: u64,
    /// Those of the wake-ups that were SYNC.
    pub sync: u64,
    /// The places in their turns, 0..=1 each, added up.
    pub places: f64,
}

impl Sent {
    pub fn n(&self) -> u64 {
        self.wakes + self.starts
    }

    pub fn add(&mut self, other: &Self) {
        self.wakes += other.wakes;
        self.starts += other.starts;
        self.sync += other.sync;
        self.places += other.places;
    }
}

/// What a thread did.
#[derive(Clone, Default, Debug)]
pub struct Seen {
    /// The name under which it worked longest.
    pub name: u16,
    /// Work of each turn, ns.
    pub turns: Vec<Ns>,
    /// Lengths of sleeps for a timer of its own, ns.
    pub timers: Vec<Ns>,
    /// When something from outside woke it, and after how long a sleep, ns.
    pub outside: Vec<(Ns, Ns)>,
    /// Sleeps that other threads ended.
    pub messages: u64,
    /// Lengths of waits for disks, ns.
    pub disks: Vec<Ns>,
    pub yields: u64,
    /// Its first turn was begun by no wake-up.
    pub begins: bool,
    /// By the other thread.
    pub sent: BTreeMap<u32, Sent>,
}

/// What began a turn.
#[derive(Clone, Copy)]
enum Begin {
    /// It was under way when the thread was first seen.
    First,
    Message,
    /// A timer of its own, after so long, ns.
    Timer(Ns),
    /// Something from outside: at which instant, and after how long a sleep, ns.
    Outside(Ns, Ns),
}

/// A turn, as far as it has been read.
struct Turn {
    begin: Begin,
    work: Ns,
    /// Whom it told, and after how much of the work.
    sent: Vec<(u32, Sent, Ns)>,
    is_empty: bool,
}

impl Turn {
    fn new(begin: Begin) -> Self {
        Self { begin, work: 0, sent: Vec::new(), is_empty: true }
    }

    fn works(&mut self, ns: Ns) {
        self.work += ns;
        self.is_empty = false;
    }

    fn sends(&mut self, other: u32, sent: Sent) {
        self.sent.push((other, sent, self.work));
        self.is_empty = false;
    }
}

impl Seen {
    /// What a thread of a recording did.
    pub fn of(thread: &Thread) -> Self {
        let mut seen = Self { name: thread.name, ..Self::default() };
        let mut work_by_name: BTreeMap<u16, Ns> = BTreeMap::new();
        let (mut name, mut how) = (thread.name, SleepState::Interruptible);
        let mut turn = Turn::new(Begin::First);
        for act in thread.acts.iter() {
            let begin = match act {
                Act::Run(ns) | Act::InPath(ns) | Act::InCall(ns) => {
                    turn.works(ns);
                    *work_by_name.entry(name).or_default() += ns;
                    continue;
                }
                Act::Wake { thread, sync, .. } => {
                    turn.sends(thread, Sent { wakes: 1, sync: sync.into(), ..Sent::default() });
                    continue;
                }
                Act::Start(thread) => {
                    turn.sends(thread, Sent { starts: 1, ..Sent::default() });
                    continue;
                }
                Act::Yield => {
                    seen.yields += 1;
                    turn.is_empty = false;
                    continue;
                }
                Act::Sleeps(state) => {
                    how = state;
                    continue;
                }
                Act::Named(new) | Act::Exec(new) => {
                    name = new;
                    continue;
                }
                Act::Nice(_)
                | Act::Unseen
                | Act::AtTick(_)
                | Act::Early(_)
                | Act::OnItsWay
                | Act::Interrupts(_)
                | Act::InIrq(_) => {
                    continue;
                }
                Act::For(ns) => {
                    seen.disks.push(ns);
                    continue;
                }
                Act::Timer { length, .. } if how == SleepState::Uninterruptible => {
                    seen.disks.push(length);
                    continue;
                }
                Act::Wait | Act::Answer => Begin::Message,
                Act::Timer { length, timed: Timed::Usual, .. } => Begin::Timer(length),
                Act::Timer { at, length, .. } => Begin::Outside(at, length),
            };
            // Before its first sleep a thread may have done nothing yet.
            let is_one = !(turn.is_empty && matches!(turn.begin, Begin::First));
            let ended = std::mem::replace(&mut turn, Turn::new(begin));
            if is_one {
                seen.ends(ended);
            }
        }
        // It may sleep when the recording ends.
        if !turn.is_empty {
            seen.ends(turn);
        }
        seen.odd_timers();
        let longest = work_by_name.into_iter().max_by_key(|(_, work)| *work);
        seen.name = longest.map_or(thread.name, |(name, _)| name);
        seen
    }

    /// A few sleeps of another length beside many for timers are for timers, too.
    fn odd_timers(&mut self) {
        if self.outside.len() * ODD_SHARE < self.timers.len() {
            self.timers.extend(self.outside.drain(..).map(|(_, length)| length));
        }
    }

    fn ends(&mut self, turn: Turn) {
        match turn.begin {
            Begin::First => self.begins = true,
            Begin::Message => self.messages += 1,
            Begin::Timer(length) => self.timers.push(length),
            Begin::Outside(at, length) => self.outside.push((at, length)),
        }
        self.turns.push(turn.work);
        for (other, mut sent, after) in turn.sent {
            sent.places = if turn.work == 0 { 1.0 } else { after as f64 / turn.work as f64 };
            self.sent.entry(other).or_default().add(&sent);
        }
    }

    /// True if it did anything.
    pub fn is_active(&self) -> bool {
        !self.turns.is_empty()
    }

    /// All its work, ns.
    pub fn work_ns(&self) -> Ns {
        self.turns.iter().sum()
    }
}

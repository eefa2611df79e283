//! What one thread did, turn by turn.

use crate::replay::{Act, Thread};
use sim_core::{Ns, SleepState};
use std::collections::BTreeMap;

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
    /// When something from outside woke it, ns.
    pub outside: Vec<Ns>,
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

/// A turn, as far as it has been read.
#[derive(Default)]
struct Turn {
    work: Ns,
    /// Whom it told, and after how much of the work.
    sent: Vec<(u32, Sent, Ns)>,
    is_empty: bool,
}

impl Seen {
    /// What a thread of a recording did.
    pub fn of(thread: &Thread) -> Self {
        let mut seen = Self { name: thread.name, ..Self::default() };
        let mut work_by_name: BTreeMap<u16, Ns> = BTreeMap::new();
        let mut name = thread.name;
        let mut turn = Turn { is_empty: true, ..Turn::default() };
        let mut how = SleepState::Interruptible;
        let mut is_first = true;
        for act in thread.acts.iter() {
            let sent = |other, sync: bool, starts: bool| {
                let [wakes, starts] = [!starts, starts].map(u64::from);
                (other, Sent { wakes, starts, sync: sync.into(), places: 0.0 })
            };
            match act {
                Act::Run(ns) => {
                    turn.work += ns;
                    turn.is_empty = false;
                    *work_by_name.entry(name).or_default() += ns;
                }
                Act::Wake { thread, sync } => turn.sends(sent(thread, sync, false)),
                Act::Start(thread) => turn.sends(sent(thread, false, true)),
                Act::Yield => {
                    seen.yields += 1;
                    turn.is_empty = false;
                }
                Act::Sleeps(state) => how = state,
                Act::Named(new) | Act::Exec(new) => name = new,
                Act::Nice(_) => {}
                Act::For(ns) => seen.disks.push(ns),
                Act::Timer { length, .. } if how == SleepState::Uninterruptible => {
                    seen.disks.push(length);
                }
                Act::Wait | Act::Timer { .. } => {
                    seen.ends(&mut turn, &mut is_first);
                    match act {
                        Act::Timer { length, repeats: true, .. } => seen.timers.push(length),
                        Act::Timer { at, .. } => seen.outside.push(at),
                        _ => seen.messages += 1,
                    }
                }
            }
        }
        seen.ends(&mut turn, &mut is_first);
        let longest = work_by_name.into_iter().max_by_key(|(_, work)| *work);
        seen.name = longest.map_or(thread.name, |(name, _)| name);
        seen
    }

    /// A turn ends. What was before the first sleep is one only if something was done.
    fn ends(&mut self, turn: &mut Turn, is_first: &mut bool) {
        let turn = std::mem::replace(turn, Turn { is_empty: true, ..Turn::default() });
        let is_first = std::mem::take(is_first);
        if is_first && turn.is_empty {
            return;
        }
        self.begins |= is_first;
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

impl Turn {
    fn sends(&mut self, (other, sent): (u32, Sent)) {
        self.sent.push((other, sent, self.work));
        self.is_empty = false;
    }
}

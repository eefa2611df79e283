//! What a thread does, one act after another, in few bytes.
//!
//! Recordings are long: an act takes a byte for its kind and a few for its number, seven bits in
//! each. Instants are kept as the time since the last one.

use sim_core::{Ns, SleepState};
use topology::CpuId;

/// What a thread does next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Act {
    /// Computes, ns of work at full speed.
    Run(Ns),
    /// Wakes another thread.
    Wake {
        /// The thread that is woken, by index.
        thread: u32,
        /// WF_SYNC: it is about to sleep.
        sync: bool,
        /// The thread's CPU idled, and enqueued it itself.
        to_idle: bool,
    },
    /// Goes on in the kernel path of the wake-up before, ns: who is to preempt it comes then.
    InPath(Ns),
    /// Goes on in the system call of the wake-up before, ns, and sleeps or exits in it.
    InCall(Ns),
    /// Starts another thread, by index.
    Start(u32),
    /// Sleeps until another thread wakes it once more than it has waited so far; for no time if
    /// that has come already.
    Wait,
    /// The same, of two threads that talk in turns: it does not sleep if the answer is there.
    Answer,
    /// Sleeps until a timer, or something else from outside, ends it.
    Timer {
        /// When the sleep ended, ns since the beginning of the recording.
        at: Ns,
        /// How long it slept, ns.
        length: Ns,
        /// Whether it was for this long, or until that instant.
        timed: Timed,
    },
    /// Sleeps for this long, ns, whatever the timers' rule is.
    For(Ns),
    /// Nobody saw the end of the sleep that comes next.
    Unseen,
    /// A timer of the wheel ends the sleep that comes next, with a tick, so many ticks after the
    /// last one before it.
    AtTick(u32),
    /// A high-resolution timer with slack ends the sleep that comes next. It fired so long before
    /// it had to, ns: 0, or since another timer's interrupt came within its slack.
    Early(Ns),
    /// The wake-up that ends the wait that comes next came before the thread had left its CPU.
    OnItsWay,
    /// A device ends the sleep that comes next: it interrupts this CPU.
    Interrupts(CpuId),
    /// The interrupt that ended the sleep before went on for so long, ns, after the wake-up.
    InIrq(Ns),
    /// Sleeps in this state from now on.
    Sleeps(SleepState),
    /// Has another name from now on, by its number.
    Named(u16),
    /// Is another program from now on (`execve`), with the name of this number.
    Exec(u16),
    /// Has another nice level from now on.
    Nice(i8),
    /// Lets others run (`sched_yield`).
    Yield,
}

/// What a sleep that no thread ended was for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Timed {
    /// Until an instant, or something from outside that came then.
    Until,
    /// For a time, by a high-resolution timer that keeps no rhythm.
    For,
    /// For a time that others of the thread's sleeps took, too.
    Usual,
}

/// A place among acts.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Cursor {
    byte: usize,
    /// The last instant before it.
    instant: Ns,
}

impl Cursor {
    /// Its number of bytes from the beginning.
    pub(super) fn byte(self) -> usize {
        self.byte
    }
}

/// Acts in order, packed into bytes.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Acts {
    bytes: Vec<u8>,
    n: u32,
    instant: Ns,
}

impl Act {
    /// True if it only tells of the sleep that comes next.
    pub fn says_how_it_sleeps(self) -> bool {
        matches!(
            self,
            Self::Sleeps(_)
                | Self::Unseen
                | Self::AtTick(_)
                | Self::Early(_)
                | Self::OnItsWay
                | Self::Interrupts(_)
        )
    }
}

const RUN: u8 = 0;
const WAKE: u8 = 1;
const WAKE_SYNC: u8 = 2;
const START: u8 = 3;
const WAIT: u8 = 4;
const TIMER: u8 = 5;
const FOR: u8 = 6;
const SLEEPS: u8 = 7;
const NAMED: u8 = 8;
const NICE: u8 = 9;
const EXEC: u8 = 10;
const TIMER_USUAL: u8 = 11;
const YIELD: u8 = 12;
const ANSWER: u8 = 13;
const IN_PATH: u8 = 14;
const WAKE_IDLE: u8 = 15;
const WAKE_SYNC_IDLE: u8 = 16;
const TIMER_FOR: u8 = 17;
const UNSEEN: u8 = 18;
const IN_IRQ: u8 = 19;
const INTERRUPTS: u8 = 20;
const IN_CALL: u8 = 21;
const AT_TICK: u8 = 22;
const ON_ITS_WAY: u8 = 23;
const EARLY: u8 = 24;

impl Acts {
    /// Number of acts.
    pub fn len(&self) -> usize {
        self.n as usize
    }

    /// True if there are no acts.
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Bytes that the acts take.
    pub fn bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Bytes of memory that are set aside for acts.
    pub fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Frees memory that is set aside: no more acts are added.
    pub fn shrink(&mut self) {
        self.bytes.shrink_to_fit();
    }

    /// Adds an act. An instant before the last one is set to the last one.
    pub fn push(&mut self, act: Act) {
        match act {
            Act::Run(ns) => self.put(RUN, ns),
            Act::Wake { thread, sync, to_idle } => {
                let kind = match (sync, to_idle) {
                    (false, false) => WAKE,
                    (true, false) => WAKE_SYNC,
                    (false, true) => WAKE_IDLE,
                    (true, true) => WAKE_SYNC_IDLE,
                };
                self.put(kind, u64::from(thread));
            }
            Act::InPath(ns) => self.put(IN_PATH, ns),
            Act::InCall(ns) => self.put(IN_CALL, ns),
            Act::InIrq(ns) => self.put(IN_IRQ, ns),
            Act::Interrupts(cpu) => self.put(INTERRUPTS, u64::from(cpu.0)),
            Act::Start(thread) => self.put(START, u64::from(thread)),
            Act::Wait => self.kind(WAIT),
            Act::Answer => self.kind(ANSWER),
            Act::Yield => self.kind(YIELD),
            Act::Unseen => self.kind(UNSEEN),
            Act::AtTick(ticks) => self.put(AT_TICK, u64::from(ticks)),
            Act::OnItsWay => self.kind(ON_ITS_WAY),
            Act::Early(ns) => self.put(EARLY, ns),
            Act::Timer { at, length, timed } => {
                let kind = match timed {
                    Timed::Until => TIMER,
                    Timed::For => TIMER_FOR,
                    Timed::Usual => TIMER_USUAL,
                };
                self.put(kind, at.saturating_sub(self.instant));
                self.varint(length);
                self.instant = self.instant.max(at);
            }
            Act::For(ns) => self.put(FOR, ns),
            Act::Sleeps(how) => self.put(SLEEPS, how as u64),
            Act::Named(name) => self.put(NAMED, u64::from(name)),
            Act::Exec(name) => self.put(EXEC, u64::from(name)),
            Act::Nice(nice) => self.put(NICE, u64::from(nice as u8)),
        }
    }

    /// The place of the act that is added next, for [`Acts::make_sync`] and [`Acts::with`].
    pub fn end(&self) -> usize {
        self.bytes.len()
    }

    /// Makes the wake-up at this place a SYNC one; anything else there stays.
    pub fn make_sync(&mut self, place: usize) {
        if let Some(kind) = self.bytes.get_mut(place) {
            *kind = match *kind {
                WAKE => WAKE_SYNC,
                WAKE_IDLE => WAKE_SYNC_IDLE,
                other => other,
            };
        }
    }

    /// Makes the wake-up at this place one for an idle CPU; anything else there stays.
    pub fn make_to_idle(&mut self, place: usize) {
        if let Some(kind) = self.bytes.get_mut(place) {
            *kind = match *kind {
                WAKE => WAKE_IDLE,
                WAKE_SYNC => WAKE_SYNC_IDLE,
                other => other,
            };
        }
    }

    /// What follows on the wake-up that ends at this place, work or nothing, is in the wake-up's
    /// system call, and so is the sleep that comes next. Anything else there stays.
    pub fn make_in_call(&mut self, place: usize) {
        let at = Cursor { byte: place, instant: 0 };
        match self.at(at) {
            None => self.push(Act::InCall(0)),
            Some((Act::Run(_), after)) if after.byte == self.bytes.len() => {
                self.bytes[place] = IN_CALL;
            }
            Some(_) => {}
        }
    }

    /// The same acts, but at these places others, or none. `others` is sorted by place.
    pub fn with(&self, others: &[(usize, Option<Act>)]) -> Self {
        let (mut acts, mut at) = (Self::default(), Cursor::default());
        let mut others = others.iter().peekable();
        while let Some((act, after)) = self.at(at) {
            match others.next_if(|(place, _)| *place == at.byte) {
                Some((_, other)) => other.iter().for_each(|act| acts.push(*act)),
                None => acts.push(act),
            }
            at = after;
        }
        debug_assert!(others.next().is_none(), "a place where no act begins");
        acts
    }

    /// The acts in order.
    pub fn iter(&self) -> impl Iterator<Item = Act> + '_ {
        let mut at = Cursor::default();
        std::iter::from_fn(move || {
            let (act, after) = self.at(at)?;
            at = after;
            Some(act)
        })
    }

    /// The act at a place, and the place after it.
    pub(super) fn at(&self, at: Cursor) -> Option<(Act, Cursor)> {
        let kind = *self.bytes.get(at.byte)?;
        let mut after = Cursor { byte: at.byte + 1, ..at };
        let has_number = !matches!(kind, WAIT | ANSWER | YIELD | UNSEEN | ON_ITS_WAY);
        let number = if has_number { self.number(&mut after.byte) } else { 0 };
        let act = match kind {
            RUN => Act::Run(number),
            IN_PATH => Act::InPath(number),
            IN_CALL => Act::InCall(number),
            IN_IRQ => Act::InIrq(number),
            INTERRUPTS => Act::Interrupts(CpuId(number as u32)),
            WAKE | WAKE_SYNC | WAKE_IDLE | WAKE_SYNC_IDLE => Act::Wake {
                thread: number as u32,
                sync: matches!(kind, WAKE_SYNC | WAKE_SYNC_IDLE),
                to_idle: matches!(kind, WAKE_IDLE | WAKE_SYNC_IDLE),
            },
            START => Act::Start(number as u32),
            WAIT => Act::Wait,
            ANSWER => Act::Answer,
            YIELD => Act::Yield,
            UNSEEN => Act::Unseen,
            AT_TICK => Act::AtTick(number as u32),
            ON_ITS_WAY => Act::OnItsWay,
            EARLY => Act::Early(number),
            TIMER | TIMER_FOR | TIMER_USUAL => {
                after.instant += number;
                let (at, length) = (after.instant, self.number(&mut after.byte));
                let timed = match kind {
                    TIMER => Timed::Until,
                    TIMER_FOR => Timed::For,
                    _ => Timed::Usual,
                };
                Act::Timer { at, length, timed }
            }
            FOR => Act::For(number),
            SLEEPS => Act::Sleeps(match number {
                0 => SleepState::Interruptible,
                1 => SleepState::Uninterruptible,
                _ => SleepState::Idle,
            }),
            NAMED => Act::Named(number as u16),
            EXEC => Act::Exec(number as u16),
            _ => Act::Nice(number as u8 as i8),
        };
        Some((act, after))
    }

    fn kind(&mut self, kind: u8) {
        self.bytes.push(kind);
        self.n += 1;
    }

    fn put(&mut self, kind: u8, number: u64) {
        self.kind(kind);
        self.varint(number);
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    fn number(&self, at: &mut usize) -> u64 {
        let (mut number, mut shift) = (0, 0);
        while let Some(byte) = self.bytes.get(*at) {
            *at += 1;
            number |= u64::from(byte & 0x7f) << shift;
            if *byte < 0x80 {
                break;
            }
            shift += 7;
        }
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn acts_come_out_as_they_went_in() {
        let all = [
            Act::Run(0),
            Act::Run(u64::MAX),
            Act::InPath(300),
            Act::InCall(0),
            Act::Timer { at: 5, length: 3, timed: Timed::Usual },
            Act::Timer { at: 1 << 40, length: 0, timed: Timed::Until },
            Act::Timer { at: 1 << 40, length: 1 << 50, timed: Timed::For },
            Act::For(127),
            Act::For(128),
            Act::AtTick(300),
            Act::OnItsWay,
            Act::Early(25_000),
            Act::Wait,
            Act::Answer,
            Act::Wake { thread: u32::MAX, sync: false, to_idle: false },
            Act::Wake { thread: 0, sync: true, to_idle: false },
            Act::Wake { thread: 1, sync: false, to_idle: true },
            Act::Wake { thread: 2, sync: true, to_idle: true },
            Act::Start(300),
            Act::Sleeps(SleepState::Idle),
            Act::Sleeps(SleepState::Interruptible),
            Act::Sleeps(SleepState::Uninterruptible),
            Act::Named(u16::MAX),
            Act::Exec(1),
            Act::Nice(-20),
            Act::Nice(19),
            Act::Yield,
            Act::Unseen,
            Act::InIrq(1),
            Act::Interrupts(CpuId(200)),
        ];
        let mut acts = Acts::default();
        all.into_iter().for_each(|act| acts.push(act));
        assert_eq!(acts.iter().collect::<Vec<_>>(), all);
        assert_eq!((acts.len(), acts.bytes()), (30, 93));
    }

    #[test]
    fn some_acts_are_put_in_place_of_others() {
        let timer = |at| Act::Timer { at, length: 7, timed: Timed::Until };
        let (mut acts, mut places) = (Acts::default(), Vec::new());
        for act in [Act::Wait, timer(500), Act::Wait, Act::Run(300), timer(900)] {
            places.push(acts.end());
            acts.push(act);
        }
        let others =
            [(places[0], Some(timer(100))), (places[2], None), (places[3], Some(Act::Wait))];
        let changed: Vec<_> = acts.with(&others).iter().collect();
        assert_eq!(changed, [timer(100), timer(500), Act::Wait, timer(900)]);
        assert_eq!(acts.with(&[]), acts);
    }

    #[test]
    fn only_work_at_the_end_or_nothing_is_in_a_call() {
        let wake = Act::Wake { thread: 1, sync: true, to_idle: false };
        let in_call = |after: &[Act]| {
            let mut acts = Acts::default();
            acts.push(wake);
            let place = acts.end();
            after.iter().for_each(|act| acts.push(*act));
            acts.make_in_call(place);
            acts.iter().skip(1).collect::<Vec<_>>()
        };
        assert_eq!(in_call(&[]), [Act::InCall(0)]);
        assert_eq!(in_call(&[Act::Run(300)]), [Act::InCall(300)]);
        let others = [Act::Run(300), Act::Wait];
        assert_eq!(in_call(&others), others);
        assert_eq!(in_call(&others[1..]), others[1..]);
    }

    #[test]
    fn only_a_wake_up_becomes_sync_or_one_for_an_idle_cpu() {
        let mut acts = Acts::default();
        acts.push(Act::Wait);
        let place = acts.end();
        acts.push(Act::Wake { thread: 1, sync: false, to_idle: false });
        let wake = |sync, to_idle| [Act::Wait, Act::Wake { thread: 1, sync, to_idle }];
        [0, place, 99].into_iter().for_each(|at| acts.make_sync(at));
        assert_eq!(acts.iter().collect::<Vec<_>>(), wake(true, false));
        [0, place, 99].into_iter().for_each(|at| acts.make_to_idle(at));
        assert_eq!(acts.iter().collect::<Vec<_>>(), wake(true, true));
    }
}

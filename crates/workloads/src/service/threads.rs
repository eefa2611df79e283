//! A thread of a service: its messages, and what of its turn is left.

use super::Role;
use super::shared::{OWED_DISK, OWED_YIELD, Shared};
use sim_core::{Ns, TaskId};
use std::collections::VecDeque;

/// Something to be done.
#[derive(Clone, Copy, Debug)]
pub(super) struct Message {
    /// When it was sent, ns.
    pub began: Ns,
    /// The request that it belongs to; `None`: it circles in a loop.
    pub request: Option<u32>,
}

impl Message {
    /// One that circles.
    pub fn closed(now: Ns) -> Self {
        Self { began: now, request: None }
    }

    /// What is sent because of it.
    pub fn following(self, now: Ns) -> Self {
        Self { began: now, ..self }
    }
}

/// What a thread does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum State {
    /// It looks or waits for a message.
    Idle,
    /// It sleeps up to an instant, ns, or until there is a message.
    Timer {
        /// The instant.
        due: Ns,
    },
    /// It has a turn.
    Turn,
}

/// A step of a turn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Act {
    /// Works for so long, ns, and calls `sched_yield` so often in between.
    Run {
        ns: Ns,
        yields: u32,
    },
    /// Sends a message, by number of the role's [`super::Wakes`].
    Wake(usize),
    Yield,
    Disk(Ns),
    DiskDone,
}

/// A thread.
pub(super) struct Thread {
    pub task: TaskId,
    pub role: u32,
    pub state: State,
    /// Messages that are its own.
    pub mailbox: VecDeque<Message>,
    /// The one that it works on.
    pub message: Message,
    /// What is left of the turn, the next step at the end.
    pub todo: Vec<Act>,
    /// The number of its present or last wait.
    wait: u32,
    /// It waits, and nobody has woken it yet.
    can_be_woken: bool,
    /// Messages sent to threads of its own, by number of the role's [`super::Wakes`].
    pub turns_to: Vec<u32>,
    /// Steps of the turn and their places in it, while it is drawn.
    places: Vec<(f64, Act)>,
    /// Whom it tells in the turn, while it is drawn.
    sends: Vec<usize>,
}

impl Thread {
    /// One that has not begun.
    pub fn new(number: u32, role: &Role) -> Self {
        Self {
            task: TaskId::NONE,
            role: number,
            state: State::Idle,
            mailbox: VecDeque::new(),
            message: Message::closed(0),
            todo: Vec::new(),
            wait: 0,
            can_be_woken: false,
            turns_to: vec![0; role.wakes.len()],
            places: Vec::new(),
            sends: Vec::new(),
        }
    }

    /// It waits for messages from now on. Returns the number of this wait.
    pub fn begin_wait(&mut self) -> u32 {
        self.wait += 1;
        self.can_be_woken = true;
        self.wait
    }

    /// True if it still waits, and this is that wait.
    pub fn waits(&self, wait: u32) -> bool {
        self.can_be_woken && self.wait == wait
    }

    /// A message is there. True if it has to be woken for it: it waits, and this is the first.
    pub fn is_woken(&mut self) -> bool {
        std::mem::take(&mut self.can_be_woken)
    }

    /// It has a message to work on.
    pub fn begin_turn(&mut self, message: Message) {
        self.message = message;
        self.can_be_woken = false;
        self.state = State::Turn;
    }

    /// Lays out a turn with so much work: what happens in it, and where.
    pub fn plan(&mut self, work: Ns, role: &Role, shared: &mut Shared) {
        if let Some(disk) = &role.disk {
            for place in spread(shared.is_due(OWED_DISK, disk.per_turn), 0.5) {
                let length = disk.length.draw(&mut shared.lengths).max(1);
                self.places.push((place, Act::Disk(length)));
            }
        }
        self.sends.clear();
        shared.recipients(role, &mut self.sends);
        self.sends.sort_unstable();
        for alike in self.sends.chunk_by(|a, b| a == b) {
            let at = role.wakes[alike[0]].at;
            let places = spread(alike.len() as u32, at).zip(alike);
            self.places.extend(places.map(|(place, number)| (place, Act::Wake(*number))));
        }
        // A stable sort: steps at the same place stay in the order of the role's keys.
        self.places.sort_by(|a, b| a.0.total_cmp(&b.0));
        self.todo.clear();
        let yields = shared.is_due(OWED_YIELD, role.yields_per_ms * work as f64 * 1e-6);
        let mut left = (work, yields);
        for (place, act) in self.places.drain(..).rev() {
            let before = ((work as f64 * place) as Ns, (f64::from(yields) * place) as u32);
            let before = (before.0.min(left.0), before.1.min(left.1));
            run(&mut self.todo, left.0 - before.0, left.1 - before.1);
            left = before;
            if let Act::Disk(_) = act {
                self.todo.push(Act::DiskDone);
            }
            self.todo.push(act);
        }
        run(&mut self.todo, left.0, left.1);
    }
}

fn run(todo: &mut Vec<Act>, ns: Ns, yields: u32) {
    if ns > 0 || yields > 0 {
        todo.push(Act::Run { ns, yields });
    }
}

/// Places of so many steps in a turn whose mean is `mean`, evenly, as far apart as there is room.
fn spread(n: u32, mean: f64) -> impl Iterator<Item = f64> {
    let half = mean.min(1.0 - mean);
    (0..n).map(move |i| {
        let part = (f64::from(i) + 0.5) / f64::from(n);
        mean - half + 2.0 * half * part
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_lie_around_their_mean() {
        let places = |n, mean| spread(n, mean).collect::<Vec<_>>();
        assert_eq!(places(1, 0.9), [0.9]);
        assert_eq!(places(2, 0.5), [0.25, 0.75]);
        assert_eq!(places(3, 1.0), [1.0; 3]);
        assert!(places(0, 0.5).is_empty());
    }
}

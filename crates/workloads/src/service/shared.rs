//! What the threads of one role share: who waits, what waits, and what is owed.

use super::Role;
use super::threads::{Message, Thread};
use crate::random::Stream;
use sim_core::{NEVER, Ns};
use std::collections::VecDeque;

/// A queue of waiting threads that is as short as this is not looked through.
const WAITING_MIN: usize = 64;

/// What a role owes, by number.
const N_OWED: usize = 4;
pub(super) const OWED_TIMER: usize = 0;
pub(super) const OWED_DISK: usize = 1;
pub(super) const OWED_YIELD: usize = 2;
const OWED_IN_LOOP: usize = 3;
const ALMOST_ONE: f64 = 1.0 - f64::EPSILON;

/// What the threads of one role share.
pub(super) struct Shared {
    /// The first of its threads; the others follow.
    pub first: u32,
    /// Threads that wait, the one that has waited for the longest first: who, and the number of its
    /// wait. An entry of a wait that is over is skipped.
    waiting: VecDeque<(u32, u32)>,
    /// Messages that no thread was free for.
    pub backlog: VecDeque<Message>,
    /// What of a timer, a disk access, a yield, a message within its loop is owed.
    owed: [f64; N_OWED],
    /// What of a message to each of those whom it wakes is owed; less than 0: too many were sent.
    owed_to: Vec<f64>,
    /// Which of those are in a loop with it.
    in_loop: Vec<bool>,
    /// Its own random numbers.
    pub lengths: Stream,
    pub gaps: Stream,
    pub next_arrival: Ns,
}

impl Shared {
    /// Those of a role whose threads begin with number `first`.
    pub fn new(first: u32, in_loop: Vec<bool>, [lengths, gaps]: [Stream; 2]) -> Self {
        Self {
            first,
            waiting: VecDeque::new(),
            backlog: VecDeque::new(),
            // What is owed in the beginning keeps a clock from missing its first beat, and the few
            // messages of a small loop from ending as parts of many.
            owed: [ALMOST_ONE, 0.0, 0.0, ALMOST_ONE],
            owed_to: vec![0.0; in_loop.len()],
            in_loop,
            lengths,
            gaps,
            next_arrival: NEVER,
        }
    }

    /// How many of what happens `per_turn` times happen in this turn.
    pub fn is_due(&mut self, what: usize, per_turn: f64) -> u32 {
        self.owed[what] += per_turn;
        let n = self.owed[what].floor();
        self.owed[what] -= n;
        n as u32
    }

    /// Whom the messages of this turn go to, by number of `wakes`. What goes round in a loop is
    /// counted together, and those get it to whom most is owed: no other message takes its place.
    pub fn recipients(&mut self, role: &Role, to: &mut Vec<usize>) {
        let per_turn = |number: usize| role.wakes[number].per_turn;
        let (owed_to, in_loop) = (&mut self.owed_to, &self.in_loop);
        owed_to.iter_mut().enumerate().for_each(|(number, owed)| *owed += per_turn(number));
        for number in (0..owed_to.len()).filter(|number| !in_loop[*number]) {
            let n = owed_to[number].floor();
            owed_to[number] -= n;
            to.extend(std::iter::repeat_n(number, n as usize));
        }
        let within = || (0..in_loop.len()).filter(|number| in_loop[*number]);
        self.owed[OWED_IN_LOOP] += within().map(per_turn).sum::<f64>();
        let n = self.owed[OWED_IN_LOOP].floor();
        self.owed[OWED_IN_LOOP] -= n;
        for _ in 0..n as u32 {
            let most = within().max_by(|a, b| self.owed_to[*a].total_cmp(&self.owed_to[*b]));
            let Some(most) = most else { return };
            self.owed_to[most] -= 1.0;
            to.push(most);
        }
    }

    /// One of the threads begins a wait, its so-many-th. `threads` are those of all roles.
    pub fn waits(&mut self, me: u32, wait: u32, threads: &[Thread], role: &Role) {
        self.waiting.push_back((me, wait));
        // Waits that messages of their own or timers have ended are still in it.
        if self.waiting.len() > 2 * role.threads as usize + WAITING_MIN {
            self.waiting.retain(|(me, wait)| threads[*me as usize].waits(*wait));
        }
    }

    /// The thread that has waited for the longest.
    pub fn next_waiting(&mut self, threads: &[Thread]) -> Option<u32> {
        loop {
            let (me, wait) = self.waiting.pop_front()?;
            if threads[me as usize].waits(wait) {
                return Some(me);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::{Purpose, stream};
    use crate::service::Lengths;

    /// Its timer ends each of a million waits; nobody ever asks who waits.
    #[test]
    fn waits_that_are_over_do_not_pile_up() {
        let role = Role { threads: 2, ..Role::new("clock", Lengths::constant(1.0)) };
        let mut threads = [0, 1].map(|_| Thread::new(0, &role));
        let streams = [Purpose::Service, Purpose::Arrival].map(|purpose| stream(1, 0, purpose));
        let mut shared = Shared::new(0, Vec::new(), streams);
        for _ in 0..1_000_000 {
            let wait = threads[1].begin_wait();
            shared.waits(1, wait, &threads, &role);
            assert!(threads[1].is_woken());
        }
        assert!(shared.waiting.len() <= 2 * 2 + WAITING_MIN + 1, "{}", shared.waiting.len());
        let wait = threads[0].begin_wait();
        shared.waits(0, wait, &threads, &role);
        assert_eq!(shared.next_waiting(&threads), Some(0));
    }
}

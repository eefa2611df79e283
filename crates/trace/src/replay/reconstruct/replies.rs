//! Answers that nobody had to wait for.
//!
//! Two threads that talk in turns sleep in turns: one wakes the other, and sleeps until the other
//! wakes it. But if the other preempts it at the wake-up, the answer is there before anyone could
//! sleep for it, and nothing of it is recorded. In the simulation the other may not preempt. Then
//! the first thread would run on to its next message without an answer, and the two would switch
//! less often than they did. So such an answer is added, with the wait for it, if both always wait
//! for the other one's answers otherwise.

use super::Reconstruction;
use crate::replay::thread::Doing;
use workloads::replay::Act;

/// The score of a thread that waits for answers.
const WAITS: u8 = 6;
const SCORE_MAX: u8 = 12;

/// The thread that another one talks to most.
#[derive(Clone, Copy, Default)]
pub(in crate::replay) struct Partner {
    /// Which one; meaningful if `score > 0`.
    thread: u32,
    /// Goes up by one with each message that it waited for an answer to, and down by two with each
    /// that it did not wait for. One at which it was preempted tells nothing.
    score: u8,
    /// Since the last message: it slept, and the partner woke it.
    answered: bool,
    /// Since the last message: the partner preempted it.
    preempted: bool,
}

impl Partner {
    fn is(&self, thread: u32) -> bool {
        self.score > 0 && self.thread == thread
    }

    /// It waits for the answers of this thread.
    fn waits_for(&self, thread: u32) -> bool {
        self.score >= WAITS && self.thread == thread
    }

    /// The thread wakes this other one.
    fn message(&mut self, to: u32) {
        if !self.is(to) {
            self.score = self.score.saturating_sub(1);
            if self.score == 0 {
                *self = Self { thread: to, score: 1, ..Self::default() };
            }
            return;
        }
        if self.answered {
            self.score = SCORE_MAX.min(self.score + 1);
        } else if !self.preempted {
            self.score = self.score.saturating_sub(2).max(1);
        }
        (self.answered, self.preempted) = (false, false);
    }
}

impl Reconstruction {
    /// A thread wakes another one.
    pub(super) fn message(&mut self, from: u32, to: u32) {
        self.live(from).partner.message(to);
        let partner = &mut self.live(to).partner;
        partner.answered |= partner.is(from);
    }

    /// Each of the two waits for the other one's answers. So there are no messages between them
    /// that no sleep shows.
    pub(super) fn talk_in_turns(&self, one: u32, other: u32) -> bool {
        let waits_for = |one: u32, other| self.lives[one as usize].partner.waits_for(other);
        waits_for(one, other) && waits_for(other, one)
    }

    /// The woken thread takes its waker's CPU.
    pub(super) fn preempts_waker(&mut self, woken: u32, waker: u32) {
        let partner = &mut self.live(waker).partner;
        if partner.is(woken) {
            partner.preempted = true;
            let came = self.live(waker).came;
            self.live(woken).preempted = Some((waker, came));
        }
    }

    /// A thread is about to sleep. If it took its CPU from its partner, it has answered.
    pub(super) fn answers(&mut self, thread: u32) {
        let Some((waker, came)) = self.live(thread).preempted.take() else {
            return;
        };
        // The waker may have run since, and wait for its CPU for another reason.
        if self.live(waker).came != came {
            return;
        }
        if self.talk_in_turns(thread, waker)
            && matches!(self.live(waker).doing, Doing::Runnable { .. })
        {
            self.flush(waker);
            self.answers_added += 1;
            let live = self.live(waker);
            (live.partner.answered, live.partner.preempted) = (true, false);
            live.thread.acts.push(Act::Answer);
            self.live(thread).thread.acts.push(Act::Wake {
                thread: waker,
                sync: false,
                to_idle: false,
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_goes_on_without_an_answer_does_not_wait_for_it() {
        let mut partner = Partner::default();
        let mut talk = |n: u32, answered: bool| {
            for _ in 0..n {
                partner.message(1);
                partner.answered = answered;
            }
            partner.waits_for(1)
        };
        assert_eq!([talk(5, true), talk(2, true), talk(3, false)], [false, true, false]);
    }

    #[test]
    fn who_talks_to_many_waits_for_nobody() {
        let mut partner = Partner::default();
        for i in 0..100 {
            partner.message(i % 2);
            partner.answered = true;
        }
        assert!(!partner.waits_for(0) && !partner.waits_for(1));
    }
}

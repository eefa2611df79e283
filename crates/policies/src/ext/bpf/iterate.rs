//! Iterators over dispatch queues, and moves between queues of what they find.
//!
//! In Linux: `bpf_iter_scx_dsq_*` and `scx_dispatch_from_dsq`, `ext.c` v6.12. An iterator sees only
//! tasks that were on the queue when it began.

use super::calls::{Outcome, insert_flags, stop};
use super::host::{Doing, Given, Here};
use super::objects::What;
use crate::ext::types::{Dsq, DsqId, Move, Next};
use ::bpf::Memory;
use sim_core::TaskId;

/// `SCX_DSQ_ITER_REV`
const REVERSE: u64 = 1 << 16;
const EINVAL: i64 = -22;
const ENOENT: i64 = -2;

/// What an iterator's own bytes hold, in words. Numbers are one higher, so that 0 is none.
mod word {
    pub const QUEUE: u64 = 0;
    /// The task that it has told last, and, 32 bits higher, the one behind that, which is still
    /// there if the last one is moved.
    pub const AT: u64 = 8;
    /// Tasks that were inserted later are not seen.
    pub const SEQ: u64 = 16;
    pub const FLAGS: u64 = 24;
    pub const SLICE: u64 = 32;
    pub const VTIME: u64 = 40;
}

impl Here<'_, '_> {
    pub(super) fn iter_new(&mut self, a: [u64; 5], memory: &mut Memory) -> Outcome {
        let [it, id, flags, ..] = a;
        self.set_word(it, word::QUEUE, 0, memory);
        if flags & !REVERSE != 0 {
            return Ok(EINVAL as u64);
        }
        let Ok(queue) = self.queue(id) else {
            return Ok(ENOENT as u64);
        };
        let seq = self.cx.last_seq();
        let words = [
            (word::QUEUE, u64::from(queue.0) + 1),
            (word::AT, 0),
            (word::SEQ, seq),
            (word::FLAGS, flags),
        ];
        for (at, value) in words {
            self.set_word(it, at, value, memory);
        }
        Ok(0)
    }

    pub(super) fn iter_next(&mut self, it: u64, memory: &mut Memory) -> Outcome {
        let Some(queue) = self.iterated(it, memory) else {
            return Ok(0);
        };
        let at = self.word(it, word::AT, memory);
        let (last, behind) = (task(at as u32), task((at >> 32) as u32));
        let seq = self.word(it, word::SEQ, memory);
        let is_reverse = self.word(it, word::FLAGS, memory) & REVERSE != 0;
        let mut next = match (last, behind) {
            (None, _) if is_reverse => self.cx.dsq_last(queue),
            (None, _) => self.cx.dsq_first(queue),
            (Some(last), _) if self.cx.is_on_dsq(queue, last) => {
                self.neighbor(queue, last, is_reverse)
            }
            (Some(_), behind) => behind.filter(|p| self.cx.is_on_dsq(queue, *p)),
        };
        while let Some(p) = next.filter(|p| self.cx.seq(*p) > seq) {
            next = self.neighbor(queue, p, is_reverse);
        }
        let Some(p) = next else {
            return Ok(0);
        };
        let behind = self.neighbor(queue, p, is_reverse).map_or(0, |p| u64::from(p.0) + 1);
        self.set_word(it, word::AT, behind << 32 | (u64::from(p.0) + 1), memory);
        Ok(What::Task(p).address())
    }

    /// `scx_bpf_dsq_move_set_slice`, `scx_bpf_dsq_move_set_vtime`: for the next move.
    pub(super) fn set_for_move(
        &mut self,
        it: u64,
        given: Given,
        value: u64,
        memory: &mut Memory,
    ) -> u64 {
        let at = if given == Given::Slice { word::SLICE } else { word::VTIME };
        self.set_word(it, at, value, memory);
        let flags = self.word(it, word::FLAGS, memory) | given as u64;
        self.set_word(it, word::FLAGS, flags, memory);
        0
    }

    /// In `dispatch` it lasts; in a timer it takes no time, but a task that goes to a CPU arrives
    /// later. No other operation may (`scx_kf_allowed`).
    pub(super) fn move_task(
        &mut self,
        a: [u64; 5],
        by_vtime: bool,
        memory: &mut Memory,
    ) -> Outcome {
        let [it, p, to, flags, _] = a;
        let Some(from) = self.iterated(it, memory) else {
            return Ok(0);
        };
        let p = self.task(p)?;
        let to = self.target(to)?;
        let (slice, vtime) = self.given(it, memory);
        let seq = self.word(it, word::SEQ, memory);
        if !self.cx.is_on_dsq(from, p) || self.cx.seq(p) > seq {
            return Ok(0);
        }
        vtime.into_iter().for_each(|vtime| self.cx.set_vtime(p, vtime));
        let vtime = match to {
            Dsq::User(_) if by_vtime => Some(self.cx.vtime(p)),
            _ if by_vtime => {
                return stop("cannot use vtime ordering for built-in DSQs".to_string());
            }
            _ => None,
        };
        let flags = insert_flags(flags);
        let m = Move { task: p, from, to, slice, vtime, flags };
        match self.books.doing {
            Doing::Dispatching => {
                self.books.asks = Some(Next::Move(m));
                Err(::bpf::Answer::Suspend)
            }
            Doing::Timer => Ok(self.cx.move_now(m).into()),
            _ => stop("a task is moved in an operation that may not".to_string()),
        }
    }

    /// The slice and vtime that the next move was given, once.
    fn given(&mut self, it: u64, memory: &mut Memory) -> (Option<u64>, Option<u64>) {
        let flags = self.word(it, word::FLAGS, memory);
        self.set_word(it, word::FLAGS, flags & REVERSE, memory);
        let slice = self.word(it, word::SLICE, memory);
        let vtime = self.word(it, word::VTIME, memory);
        let has = |given: Given| flags & given as u64 != 0;
        (has(Given::Slice).then_some(slice), has(Given::Vtime).then_some(vtime))
    }

    /// The queue of an iterator whose beginning has not failed.
    fn iterated(&mut self, it: u64, memory: &mut Memory) -> Option<DsqId> {
        let queue = self.word(it, word::QUEUE, memory);
        // A program may have written there.
        let own = u32::try_from(queue.checked_sub(1)?).ok().map(DsqId)?;
        self.books.queues.iter().any(|(_, known)| *known == own).then_some(own)
    }

    fn neighbor(&self, queue: DsqId, p: TaskId, is_reverse: bool) -> Option<TaskId> {
        if is_reverse { self.cx.dsq_prev(queue, p) } else { self.cx.dsq_next(queue, p) }
    }

    /// A program may call with any address: where nothing is, nothing is stored.
    pub(super) fn set_word(&mut self, it: u64, at: u64, value: u64, memory: &mut Memory) {
        memory.store(self, it.wrapping_add(at), 8, value);
    }

    pub(super) fn word(&mut self, it: u64, at: u64, memory: &mut Memory) -> u64 {
        memory.load(self, it.wrapping_add(at), 8).unwrap_or(0)
    }
}

fn task(number: u32) -> Option<TaskId> {
    number.checked_sub(1).map(TaskId)
}

//! What can happen to the tasks of the model: ticks, wake-ups, sleeps, moves, other properties.

use super::{Entity, Kernel, Kind, Model, weight};
use Kernel::{V6_6, V6_12, V6_18};

impl Model {
    pub fn advance_to(&mut self, now: u64) {
        self.now = now.into();
    }

    pub fn tick(&mut self) {
        self.update_curr();
    }

    pub fn fork(&mut self, p: usize, kind: Kind, nice: i8, slice: u64) {
        if self.s.kernel == V6_6 {
            self.update_curr();
        }
        self.e[p] = Entity {
            kind,
            weight: weight(kind, nice),
            on_rq: false,
            delayed: false,
            vlag: 0,
            rel_deadline: false,
            ..self.e[p].clone()
        };
        self.set_slice(p, slice);
        self.enqueue(p, true);
        self.check_preempt(p, true);
    }

    fn set_slice(&mut self, p: usize, slice: u64) {
        let custom = slice != 0 && self.s.kernel >= V6_12;
        self.e[p].custom_slice = custom;
        self.e[p].slice =
            if custom { i128::from(slice).clamp(100_000, 100_000_000) } else { self.s.base_slice };
    }

    pub fn wake(&mut self, p: usize) {
        if self.e[p].delayed {
            if self.s.delay_zero {
                self.update_lag(p);
                if self.e[p].vlag > 0 {
                    self.e[p].on_rq = false;
                    self.e[p].vlag = 0;
                    self.place(p, false);
                    self.e[p].on_rq = true;
                    self.arrives(p);
                }
            }
            self.e[p].delayed = false;
        } else {
            self.enqueue(p, false);
        }
        self.check_preempt(p, false);
    }

    /// The current task sleeps or exits.
    pub fn block(&mut self, exits: bool) {
        if let Some(c) = self.curr {
            self.dequeue_to_sleep(c, exits);
        }
    }

    pub fn yields(&mut self) {
        let Some(c) = self.curr else {
            return;
        };
        if self.queue().len() == 1 {
            return;
        }
        self.update_curr();
        if self.s.kernel < V6_12 {
            self.e[c].d += self.vslice(c);
        } else if self.is_eligible(c) {
            self.e[c].v = self.e[c].d;
            self.e[c].d += self.vslice(c);
        }
    }

    /// A waiting task, or one that sleeps on the queue, leaves for another CPU (and comes back some
    /// time).
    pub fn take(&mut self, p: usize) {
        self.update_curr();
        self.update_lag(p);
        if self.s.place_rel_deadline {
            self.e[p].d -= self.e[p].v;
            self.e[p].rel_deadline = true;
        }
        self.e[p].on_rq = false;
        self.e[p].delayed = false;
    }

    /// A task comes from another CPU in its sleep.
    pub fn give_asleep(&mut self, p: usize) {
        self.enqueue(p, false);
        self.e[p].delayed = true;
        self.check_preempt(p, false);
    }

    pub fn give(&mut self, p: usize) {
        self.enqueue(p, false);
        self.check_preempt(p, false);
    }

    pub fn set_scheduler(&mut self, p: usize, kind: Kind, nice: (i8, i8), slice: u64) {
        let on_rq = self.e[p].on_rq;
        if on_rq {
            self.update_curr();
        }
        if on_rq {
            self.update_lag(p);
            self.e[p].on_rq = false;
            if self.s.place_rel_deadline {
                self.e[p].d -= self.e[p].v;
                self.e[p].rel_deadline = true;
            }
        }
        let (old, new) = (self.e[p].weight, weight(kind, nice.1));
        (self.e[p].kind, self.e[p].weight) = (kind, new);
        self.e[p].vlag = self.e[p].vlag * old / new;
        if self.e[p].rel_deadline && self.s.kernel >= V6_18 {
            self.e[p].d = self.e[p].d * old / new;
        }
        self.set_slice(p, slice);
        if on_rq {
            self.place(p, false);
            self.e[p].on_rq = true;
            self.arrives(p);
        }
        if on_rq && self.curr == Some(p) {
            self.set_next(p);
        }
        self.prio_changed(p, nice);
    }

    fn prio_changed(&mut self, p: usize, (before, after): (i8, i8)) {
        if !self.e[p].on_rq || self.queue().len() == 1 || before == after {
            return;
        }
        if self.curr != Some(p) {
            self.check_preempt(p, false);
        } else if after > before {
            self.need_resched = true;
        }
    }
}

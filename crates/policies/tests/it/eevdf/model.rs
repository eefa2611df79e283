//! EEVDF of one CPU, as plainly as it can be said: a list of tasks, looked through from end to end.
//!
//! Written from the description of the algorithm alone, with nothing of the implementation. V is
//! a fraction of two 128-bit integers, computed anew for every question; who is eligible is decided
//! by cross-multiplying. What the kernel rounds (virtual time of a stretch of wall time, lag at
//! dequeue, placement) is rounded here at the same places.

mod events;

/// Kernel versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kernel {
    V6_6,
    V6_12,
    V6_18,
}

use Kernel::{V6_6, V6_12, V6_18};

#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub kernel: Kernel,
    pub base_slice: i128,
    pub normalized_base: i128,
    pub tick: i128,
    pub place_lag: bool,
    pub place_deadline_initial: bool,
    pub place_rel_deadline: bool,
    pub run_to_parity: bool,
    pub preempt_short: bool,
    pub delay_dequeue: bool,
    pub delay_zero: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    Normal,
    Batch,
    Idle,
}

#[derive(Clone, Debug)]
pub struct Entity {
    kind: Kind,
    weight: i128,
    /// On the runqueue: waiting, running, or asleep with a debt.
    on_rq: bool,
    delayed: bool,
    v: i128,
    d: i128,
    slice: i128,
    custom_slice: bool,
    vlag: i128,
    rel_deadline: bool,
    /// Up to v6.12 the deadline at the pick, later vprot.
    protect: i128,
    /// Since when it waits, for ties.
    arrival: u64,
}

pub struct Model {
    s: Settings,
    pub e: Vec<Entity>,
    pub curr: Option<usize>,
    pub need_resched: bool,
    now: i128,
    exec_start: i128,
    arrivals: u64,
}

const WEIGHTS: [i128; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

fn weight(kind: Kind, nice: i8) -> i128 {
    if kind == Kind::Idle { 3 } else { WEIGHTS[(nice + 20) as usize] }
}

/// How far a task of this weight moves in virtual time in `delta` ns (`calc_delta_fair`).
fn virtual_time(delta: i128, weight: i128) -> i128 {
    if weight == 1024 {
        return delta;
    }
    // round(2^32 / weight), but for nice 13, 14, 16 and 17, which the kernel's table rounds down.
    let inverse = match weight {
        56 | 45 | 29 | 23 => (1 << 32) / weight,
        _ => ((1 << 33) / weight + 1) / 2,
    };
    let mut factor = 1024 * inverse;
    let mut shift = 32;
    while factor >= 1 << 32 {
        factor /= 2;
        shift -= 1;
    }
    (delta * factor) >> shift
}

impl Model {
    pub fn new(s: Settings, n: usize) -> Self {
        let nobody = Entity {
            kind: Kind::Normal,
            weight: 1024,
            on_rq: false,
            delayed: false,
            v: 0,
            d: 0,
            slice: s.base_slice,
            custom_slice: false,
            vlag: 0,
            rel_deadline: false,
            protect: 0,
            arrival: 0,
        };
        let e = vec![nobody; n];
        Self { s, e, curr: None, need_resched: false, now: 0, exec_start: 0, arrivals: 0 }
    }

    pub fn is_on_rq(&self, p: usize) -> bool {
        self.e[p].on_rq
    }

    pub fn is_delayed(&self, p: usize) -> bool {
        self.e[p].delayed
    }

    fn queue(&self) -> Vec<usize> {
        (0..self.e.len()).filter(|p| self.e[*p].on_rq).collect()
    }

    fn load(&self) -> i128 {
        self.queue().iter().map(|p| self.e[*p].weight).sum()
    }

    /// V times the load.
    fn weighted_sum(&self) -> i128 {
        self.queue().iter().map(|p| self.e[*p].weight * self.e[*p].v).sum()
    }

    /// V, rounded down; an empty queue may have it anywhere.
    fn v(&self) -> i128 {
        if self.load() == 0 { 0 } else { self.weighted_sum().div_euclid(self.load()) }
    }

    fn is_eligible(&self, p: usize) -> bool {
        self.e[p].v * self.load() <= self.weighted_sum()
    }

    /// Everybody who is on the queue has a lag, and the lags add up to nothing.
    pub fn check(&self) {
        let (sum, load) = (self.weighted_sum(), self.load());
        let lags = self.queue().into_iter().map(|p| self.e[p].weight * (sum - self.e[p].v * load));
        assert_eq!(lags.sum::<i128>(), 0);
        let queue = self.queue();
        assert!(queue.is_empty() || queue.iter().any(|p| self.is_eligible(*p)));
    }

    fn vslice(&self, p: usize) -> i128 {
        virtual_time(self.e[p].slice, self.e[p].weight)
    }

    fn update_curr(&mut self) {
        let Some(c) = self.curr else {
            return;
        };
        let delta = self.now - self.exec_start;
        if delta <= 0 {
            return;
        }
        self.exec_start = self.now;
        self.e[c].v += virtual_time(delta, self.e[c].weight);
        let passed = self.e[c].v >= self.e[c].d;
        if passed {
            if !self.e[c].custom_slice {
                self.e[c].slice = self.s.base_slice;
            }
            self.e[c].d = self.e[c].v + self.vslice(c);
        }
        if self.queue().len() <= 1 {
            return;
        }
        let too_long = match self.s.kernel {
            V6_6 => false,
            V6_12 => {
                self.s.preempt_short && self.e[c].protect != self.e[c].d && !self.is_eligible(c)
            }
            V6_18 => self.e[c].v >= self.e[c].protect,
        };
        self.need_resched |= passed || too_long;
    }

    fn update_lag(&mut self, p: usize) {
        let longest = if self.s.kernel >= V6_18 {
            let slices = self.queue().into_iter().map(|p| self.e[p].slice);
            slices.max().unwrap_or(0) + self.s.tick
        } else {
            (2 * self.e[p].slice).max(self.s.tick)
        };
        let limit = virtual_time(longest, self.e[p].weight);
        self.e[p].vlag = (self.v() - self.e[p].v).max(-limit).min(limit);
    }

    fn place(&mut self, p: usize, initial: bool) {
        assert!(!self.e[p].on_rq);
        if !self.e[p].custom_slice {
            self.e[p].slice = self.s.base_slice;
        }
        let mut vslice = self.vslice(p);
        let mut lag = 0;
        if self.s.place_lag && !self.queue().is_empty() {
            let load = self.load();
            // Toward zero, as in C.
            lag = self.e[p].vlag * (load + self.e[p].weight) / load;
        }
        self.e[p].v = self.v() - lag;
        if self.s.place_rel_deadline && self.e[p].rel_deadline {
            self.e[p].d += self.e[p].v;
            self.e[p].rel_deadline = false;
            return;
        }
        if initial && self.s.place_deadline_initial {
            vslice /= 2;
        }
        self.e[p].d = self.e[p].v + vslice;
    }

    /// From now on it waits behind those that are here.
    fn arrives(&mut self, p: usize) {
        self.arrivals += 1;
        self.e[p].arrival = self.arrivals;
    }

    fn enqueue(&mut self, p: usize, initial: bool) {
        self.update_curr();
        self.place(p, initial && self.s.kernel >= V6_12);
        self.e[p].on_rq = true;
        self.arrives(p);
    }

    /// A task that wants to sleep, but may have to pay first.
    fn dequeue_to_sleep(&mut self, p: usize, exits: bool) {
        self.update_curr();
        if self.s.delay_dequeue && !exits && !self.is_eligible(p) {
            self.e[p].delayed = true;
            return;
        }
        self.update_lag(p);
        self.e[p].on_rq = false;
    }

    fn finish_delayed(&mut self, p: usize) {
        self.update_curr();
        self.update_lag(p);
        self.e[p].on_rq = false;
        self.e[p].delayed = false;
        if self.s.delay_zero {
            self.e[p].vlag = self.e[p].vlag.min(0);
        }
    }

    /// The pick, which may be somebody asleep. Among equals the one that came first.
    fn pick_eevdf(&self, protect: bool) -> Option<usize> {
        let queue = self.queue();
        if queue.len() <= 1 {
            return queue.first().copied();
        }
        let curr = self.curr.filter(|c| self.e[*c].on_rq && self.is_eligible(*c));
        if let Some(c) = curr {
            let e = &self.e[c];
            let protected = match self.s.kernel {
                V6_6 | V6_12 => self.s.run_to_parity && e.protect == e.d,
                V6_18 => protect && e.v < e.protect,
            };
            if protected {
                return curr;
            }
        }
        let waiting = queue.iter().copied().filter(|p| Some(*p) != self.curr);
        let best = waiting
            .filter(|p| self.is_eligible(*p))
            .min_by_key(|p| (self.e[*p].d, self.e[*p].arrival));
        match (curr, best) {
            (Some(c), Some(b)) if self.s.kernel == V6_6 => {
                Some(if self.e[b].d < self.e[c].d { b } else { c })
            }
            (Some(c), Some(b)) => Some(if self.e[c].d < self.e[b].d { c } else { b }),
            (c, b) => c.or(b),
        }
    }

    fn pick_next(&mut self, protect: bool) -> Option<usize> {
        loop {
            self.update_curr();
            let p = self.pick_eevdf(protect)?;
            if !self.e[p].delayed {
                return Some(p);
            }
            self.finish_delayed(p);
        }
    }

    fn put_prev(&mut self) {
        if let Some(prev) = self.curr.take()
            && self.e[prev].on_rq
        {
            self.arrives(prev);
        }
    }

    fn set_next(&mut self, p: usize) {
        self.exec_start = self.now;
        self.curr = Some(p);
        let e = &self.e[p];
        let mut protect = e.d;
        if self.s.kernel >= V6_18 {
            let slices = self.queue().into_iter().map(|q| self.e[q].slice);
            let shortest =
                if self.s.run_to_parity { slices.min() } else { Some(self.s.normalized_base) };
            let shortest = shortest.unwrap_or(e.slice).min(e.slice);
            if shortest != e.slice {
                protect = protect.min(e.v + virtual_time(shortest, e.weight));
            }
        }
        self.e[p].protect = protect;
    }

    pub fn schedule(&mut self) -> Option<usize> {
        let prev = self.curr;
        let next = self.pick_next(true);
        if next != prev || next.is_none() {
            self.put_prev();
            if let Some(next) = next {
                self.set_next(next);
            }
        }
        self.need_resched = false;
        next
    }

    fn check_preempt(&mut self, p: usize, fork: bool) {
        let Some(c) = self.curr else {
            self.need_resched = true;
            return;
        };
        if c == p || self.need_resched {
            return;
        }
        let kernel = self.s.kernel;
        if self.e[c].kind == Kind::Idle && self.e[p].kind != Kind::Idle {
            match kernel {
                V6_6 => {}
                V6_12 => self.e[c].protect = self.e[c].d + 1,
                V6_18 => self.e[c].protect = self.e[c].protect.min(self.e[c].v),
            }
            self.need_resched = true;
            return;
        }
        if self.e[p].kind != Kind::Normal {
            return;
        }
        self.update_curr();
        let shorter = self.s.preempt_short && self.e[p].slice < self.e[c].slice;
        let preempts = match kernel {
            V6_6 => self.pick_eevdf(true) == Some(p),
            V6_12 => {
                let sooner = self.e[p].d < self.e[c].d || !self.is_eligible(c);
                if shorter && self.is_eligible(p) && sooner {
                    self.e[c].protect = self.e[c].d + 1;
                }
                self.pick_eevdf(true) == Some(p)
            }
            V6_18 if !shorter && (fork || self.e[p].delayed) => return,
            V6_18 => self.pick_next(!shorter) == Some(p),
        };
        if preempts {
            if kernel >= V6_18 && shorter {
                self.e[c].protect = self.e[c].protect.min(self.e[c].v);
            }
            self.need_resched = true;
        } else if self.s.run_to_parity && kernel == V6_18 {
            let shortest = self.queue().into_iter().map(|q| self.e[q].slice).min().unwrap_or(0);
            let end = self.e[c].v + virtual_time(shortest, self.e[c].weight);
            self.e[c].protect = self.e[c].protect.min(end);
        }
    }
}

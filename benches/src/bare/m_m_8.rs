//! A bare M/M/8 queue at load 0.8: a heap, a FIFO, a histogram of the waits.

use super::{exponential, heap::Heap, histogram};
use hdrhistogram::Histogram;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use sim_core::Ns;
use std::collections::VecDeque;

const ARRIVAL: u32 = 0;
const END_OF_SERVICE: u32 = 1;

/// The bare loop of `runs::m_m_8`.
pub struct MM8 {
    /// Customers that have begun their service so far.
    pub customers: u64,
    /// How long they have waited, ns.
    pub waits: Histogram<u64>,
    free: u32,
    /// Arrivals of those that wait, ns.
    waiting: VecDeque<Ns>,
    arrivals: Xoshiro256PlusPlus,
    services: Xoshiro256PlusPlus,
    events: Heap,
}

impl Default for MM8 {
    fn default() -> Self {
        Self::new()
    }
}

impl MM8 {
    /// An empty queue at the first arrival.
    pub fn new() -> Self {
        let mut events = Heap::default();
        events.push(1, ARRIVAL);
        Self {
            customers: 0,
            waits: histogram(),
            free: 8,
            waiting: VecDeque::new(),
            arrivals: Xoshiro256PlusPlus::seed_from_u64(1),
            services: Xoshiro256PlusPlus::seed_from_u64(2),
            events,
        }
    }

    /// Goes on until so many customers more have begun their service.
    pub fn advance(&mut self, customers: u64) {
        let end = self.customers + customers;
        while self.customers < end {
            let (now, what) = self.events.pop().expect("there is always a next arrival");
            if what == ARRIVAL {
                self.waiting.push_back(now);
                self.events.push(now + exponential(&mut self.arrivals, 15_625), ARRIVAL);
            } else {
                self.free += 1;
            }
            self.serve(now);
        }
    }

    fn serve(&mut self, now: Ns) {
        if self.free == 0 {
            return;
        }
        let Some(since) = self.waiting.pop_front() else {
            return;
        };
        self.free -= 1;
        self.customers += 1;
        self.waits.saturating_record(now - since);
        self.events.push(now + exponential(&mut self.services, 100_000), END_OF_SERVICE);
    }
}

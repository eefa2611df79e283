//! A 4-ary heap of events, first by instant, then by number.

use sim_core::Ns;

const ARITY: usize = 4;

/// Events that are neither moved nor taken back.
#[derive(Default)]
pub struct Heap {
    events: Vec<(Ns, u32)>,
}

impl Heap {
    /// Adds the event `id` at an instant, ns.
    #[inline]
    pub fn push(&mut self, at: Ns, id: u32) {
        let event = (at, id);
        let mut hole = self.events.len();
        self.events.push(event);
        while hole > 0 {
            let parent = (hole - 1) / ARITY;
            if self.events[parent] <= event {
                break;
            }
            self.events[hole] = self.events[parent];
            hole = parent;
        }
        self.events[hole] = event;
    }

    /// Takes the first event.
    #[inline]
    pub fn pop(&mut self) -> Option<(Ns, u32)> {
        let last = self.events.pop()?;
        let Some(&first) = self.events.first() else {
            return Some(last);
        };
        let n = self.events.len();
        let mut hole = 0;
        loop {
            let children = ARITY * hole + 1..(ARITY * hole + 1 + ARITY).min(n);
            let Some(least) = children.min_by_key(|child| self.events[*child]) else {
                break;
            };
            if last <= self.events[least] {
                break;
            }
            self.events[hole] = self.events[least];
            hole = least;
        }
        self.events[hole] = last;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_out_in_order() {
        let mut heap = Heap::default();
        let times = (0..1000u64).map(|i| (i * 7919 % 501, i as u32));
        times.clone().for_each(|(at, id)| heap.push(at, id));
        let mut sorted: Vec<_> = times.collect();
        sorted.sort();
        let popped: Vec<_> = std::iter::from_fn(|| heap.pop()).collect();
        assert_eq!(popped, sorted);
    }
}

//! Requests from outside: where each of them still has a turn before it.

use sim_core::Ns;

/// A request that is under way.
#[derive(Clone, Copy)]
struct Request {
    /// When it came, ns.
    began: Ns,
    /// Turns that it has led to and that have not ended.
    turns: u32,
}

/// The requests that are under way, by number.
#[derive(Default)]
pub(super) struct Requests {
    all: Vec<Request>,
    free: Vec<u32>,
}

impl Requests {
    /// A request comes, and leads to a first turn. Returns its number.
    pub fn begin(&mut self, now: Ns) -> u32 {
        let request = Request { began: now, turns: 1 };
        match self.free.pop() {
            Some(number) => {
                self.all[number as usize] = request;
                number
            }
            None => {
                self.all.push(request);
                self.all.len() as u32 - 1
            }
        }
    }

    /// It leads to one more turn.
    pub fn goes_on(&mut self, number: u32) {
        self.all[number as usize].turns += 1;
    }

    /// One of its turns ends. Returns when the request came, if this was the last.
    pub fn ends(&mut self, number: u32) -> Option<Ns> {
        let request = &mut self.all[number as usize];
        request.turns -= 1;
        (request.turns == 0).then(|| {
            self.free.push(number);
            request.began
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_with_its_last_turn_and_its_number_is_free_again() {
        let mut requests = Requests::default();
        let [one, other] = [5, 7].map(|now| requests.begin(now));
        requests.goes_on(one);
        assert_eq!([one, other, one].map(|number| requests.ends(number)), [None, Some(7), Some(5)]);
        assert_eq!(requests.begin(9), one);
        assert_eq!(requests.ends(one), Some(9));
    }
}

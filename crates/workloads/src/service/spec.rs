//! What a service is made of.

use super::Lengths;

/// A service: its roles, which name each other by number.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Spec {
    /// The roles.
    pub roles: Vec<Role>,
}

impl Spec {
    /// By role, then by role: whether messages of the one come to the other, over others too.
    pub(super) fn reaches(&self) -> Vec<Vec<bool>> {
        let n = self.roles.len();
        let mut reaches = vec![vec![false; n]; n];
        for (from, role) in self.roles.iter().enumerate() {
            role.wakes.iter().for_each(|wakes| reaches[from][wakes.role as usize] = true);
        }
        for by in 0..n {
            let further = reaches[by].clone();
            for to in reaches.iter_mut().filter(|to| to[by]) {
                to.iter_mut().zip(&further).for_each(|(to, also)| *to |= also);
            }
        }
        reaches
    }

    /// The roles by loops: those whose messages come to each other are one, any other is alone.
    pub(super) fn loops(&self) -> Vec<Vec<usize>> {
        let reaches = self.reaches();
        let mut loops: Vec<Vec<usize>> = Vec::new();
        for (role, reached) in reaches.iter().enumerate() {
            let with = |members: &&mut Vec<usize>| {
                let first = members[0];
                reaches[first][role] && reached[first]
            };
            match loops.iter_mut().find(with) {
                Some(members) => members.push(role),
                None => loops.push(vec![role]),
            }
        }
        loops
    }
}

/// Threads that do the same.
#[derive(Clone, PartialEq, Debug)]
pub struct Role {
    /// What the others call it.
    pub name: String,
    /// Its threads' command name.
    pub comm: String,
    /// How many they are; at least one.
    pub threads: u32,
    /// In how many processes they are, each with as many of them; at least one.
    pub processes: u32,
    /// Their nice level.
    pub nice: i8,
    /// Their session, a task group: 0 is the service's own, others count from 1.
    pub session: u16,
    /// They are the machine's own, whatever the service's load is.
    pub background: bool,
    /// CPU work of a turn.
    pub work: Lengths,
    /// Messages that are there at the beginning.
    pub busy: f64,
    /// When messages come from outside; `None`: never.
    pub gaps: Option<Gaps>,
    /// Sleeps for a timer of one's own, and how many of them a turn has.
    pub timer: Option<Pause>,
    /// Waits for disks in the course of a turn.
    pub disk: Option<Pause>,
    /// Calls of `sched_yield` in a millisecond of work.
    pub yields_per_ms: f64,
    /// Whom it wakes.
    pub wakes: Vec<Wakes>,
}

impl Role {
    /// One thread, which only works: it is to be told when.
    pub fn new(name: &str, work: Lengths) -> Self {
        Self {
            name: name.to_string(),
            comm: name.to_string(),
            threads: 1,
            processes: 1,
            nice: 0,
            session: 0,
            background: false,
            work,
            busy: 0.0,
            gaps: None,
            timer: None,
            disk: None,
            yields_per_ms: 0.0,
            wakes: Vec::new(),
        }
    }
}

/// Times between arrivals from outside.
#[derive(Clone, PartialEq, Debug)]
pub enum Gaps {
    /// A Poisson process.
    Poisson {
        /// Arrivals per second.
        per_s: f64,
    },
    /// Drawn from what was seen.
    Seen(Lengths),
}

/// Sleeps of one kind.
#[derive(Clone, PartialEq, Debug)]
pub struct Pause {
    /// How many a turn has; of timers at most one, which follows it.
    pub per_turn: f64,
    /// How long they take.
    pub length: Lengths,
}

/// Messages to a role.
#[derive(Clone, PartialEq, Debug)]
pub struct Wakes {
    /// The role that takes them, by number.
    pub role: u32,
    /// How many a turn sends.
    pub per_turn: f64,
    /// When in its turn it sends them, 0..=1 of its work; the mean if there are several.
    pub at: f64,
    /// WF_SYNC: it is about to sleep.
    pub sync: bool,
    /// To a thread of one's own (of the same role: to its neighbor, in pairs); else to the one that
    /// has waited for the longest.
    pub own: bool,
}

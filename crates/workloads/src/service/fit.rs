//! From a recording to a service: roles, and how often each does what.
//!
//! Threads of one name and nice level have one role, unless some of them work much more than
//! others. Other threads than those that were measured are background, if they worked at all;
//! kernel threads are the machine's. Wake-ups by devices are arrivals, and so are those by threads
//! that are left out. A timer is a thread's own if others of its sleeps took as long.

mod closed;
mod seen;

use super::{Gaps, Lengths, Pause, Role, Spec, Wakes};
use crate::replay::{Recording, Thread};
use closed::Begun;
use seen::{Seen, Sent};
use sim_core::Ns;
use std::collections::{BTreeMap, BTreeSet};

/// Threads of one name have two roles if one of them works so many times as long as the next.
const APART: u64 = 8;
/// Work below this says nothing about a thread's role, ns.
const LITTLE_NS: u64 = 100_000;
/// No more arrivals than these are a beginning, and no rate.
const FEW_ARRIVALS: u64 = 2;
/// So many times between arrivals tell how they vary.
const GAPS_MIN: usize = 10;
/// Wake-ups go to a thread of one's own if so many of them go to the same one.
const OWN: f64 = 0.9;
/// Nothing happens more often in a turn than a model can have it.
pub const PER_TURN_MAX: f64 = 1e4;
/// Threads that were active for more than this part of the recording were so all the time.
const ALL_THE_TIME: f64 = 0.8;
/// Other threads matter that worked for more than one part in so many of the recording.
const BACKGROUND_SHARE: Ns = 200;

/// The service that a recording shows; `None` if no thread that was measured has worked.
pub fn fit(recording: &Recording) -> Option<Spec> {
    let wanted = |thread: &&Thread, seen: &Seen| {
        let matters = thread.measured || seen.work_ns() * BACKGROUND_SHARE > recording.length_ns;
        seen.is_active() && !thread.kthread && matters
    };
    let seen: Vec<Option<Seen>> = recording
        .threads
        .iter()
        .map(|thread| Some(Seen::of(thread)).filter(|seen| wanted(&thread, seen)))
        .collect();
    let members = roles(recording, &seen);
    if members.is_empty() {
        return None;
    }
    let mut role_of = vec![None; seen.len()];
    for (role, members) in members.iter().enumerate() {
        members.iter().for_each(|&thread| role_of[thread] = Some(role));
    }
    let names = names(recording, &seen, &members);
    let fitting = Fitting { recording, seen: &seen, members: &members, role_of: &role_of };
    let roles = names.into_iter().enumerate();
    let roles = roles.map(|(role, name)| fitting.role(role, name)).collect();
    let mut spec = Spec { roles };
    let begun: Vec<Begun> = (0..members.len()).map(|role| fitting.begun(role)).collect();
    closed::keep_going(&mut spec, &begun);
    Some(spec)
}

/// The threads of each role, those first that worked longest.
fn roles(recording: &Recording, seen: &[Option<Seen>]) -> Vec<Vec<usize>> {
    let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
    for (thread, seen) in seen.iter().enumerate() {
        if let Some(seen) = seen {
            let Thread { nice, measured, session, .. } = recording.threads[thread];
            alike.entry((!measured, seen.name, nice, session)).or_default().push(thread);
        }
    }
    let work = |thread: &usize| seen[*thread].as_ref().map_or(0, Seen::work_ns).max(LITTLE_NS);
    let mut roles: Vec<Vec<usize>> = Vec::new();
    for mut threads in alike.into_values() {
        threads.sort_by_key(|thread| (std::cmp::Reverse(work(thread)), *thread));
        let groups = threads.chunk_by(|more, less| work(more) <= APART * work(less));
        roles.extend(groups.map(|group| {
            let mut group = group.to_vec();
            group.sort_unstable();
            group
        }));
    }
    let is_background = |threads: &Vec<usize>| !recording.threads[threads[0]].measured;
    roles.sort_by_cached_key(|threads| {
        let work = threads.iter().map(work).sum::<Ns>();
        (is_background(threads), std::cmp::Reverse(work))
    });
    roles
}

/// A name for each role: the command's, with a number if there are several of it.
fn names(recording: &Recording, seen: &[Option<Seen>], members: &[Vec<usize>]) -> Vec<String> {
    let mut taken = BTreeSet::new();
    let free = |comm: String| {
        let numbered = (2..).map(|n| format!("{comm} {n}"));
        let all = std::iter::once(comm.clone()).chain(numbered);
        all.into_iter().find(|name| taken.insert(name.clone())).unwrap_or(comm)
    };
    members.iter().map(|threads| comm(recording, seen, threads)).map(free).collect()
}

/// The command name of threads. Any bytes may be in one; what no file could say is left out.
fn comm(recording: &Recording, seen: &[Option<Seen>], threads: &[usize]) -> String {
    let first = threads.first().and_then(|first| seen[*first].as_ref());
    let name = &recording.names[usize::from(first.map_or(0, |seen| seen.name))];
    let shown = |c: char| if c.is_control() { '?' } else { c };
    match name.trim().is_empty() {
        true => "?".to_string(),
        false => name.chars().map(shown).collect(),
    }
}

/// What the numbers of a role are taken from.
struct Fitting<'a> {
    recording: &'a Recording,
    /// By thread; `None`: it is not of the service.
    seen: &'a [Option<Seen>],
    /// By role: threads.
    members: &'a [Vec<usize>],
    /// By thread: role.
    role_of: &'a [Option<usize>],
}

impl Fitting<'_> {
    fn seen_of(&self, role: usize) -> impl Iterator<Item = &Seen> + Clone {
        self.members[role].iter().filter_map(|thread| self.seen[*thread].as_ref())
    }

    fn role(&self, role: usize, name: String) -> Role {
        let threads = &self.members[role];
        let first = &self.recording.threads[threads[0]];
        let processes: BTreeSet<u32> =
            threads.iter().map(|thread| self.recording.threads[*thread].process).collect();
        let mut work: Vec<Ns> = self.seen_of(role).flat_map(|s| s.turns.iter().copied()).collect();
        let turns = work.len().max(1) as f64;
        let all_work: Ns = work.iter().sum();
        let yields: u64 = self.seen_of(role).map(|seen| seen.yields).sum();
        // A sleep is between two turns: there are as many as turns that were seen to begin.
        let sleeps = turns - self.seen_of(role).filter(|seen| seen.begins).count() as f64;
        let pause = |mut lengths: Vec<Ns>, among: f64| {
            let per_turn = (lengths.len() as f64 / among).min(PER_TURN_MAX);
            Lengths::of(&mut lengths).map(|length| Pause { per_turn, length })
        };
        let timers = self.seen_of(role).flat_map(|s| s.timers.iter().copied()).collect();
        let disks = self.seen_of(role).flat_map(|s| s.disks.iter().copied()).collect();
        Role {
            comm: comm(self.recording, self.seen, threads),
            name,
            threads: threads.len() as u32,
            processes: processes.len() as u32,
            nice: first.nice,
            session: first.session,
            background: !first.measured,
            work: Lengths::of(&mut work).unwrap_or(Lengths::constant(0.0)),
            busy: self.busy(role),
            gaps: self.gaps(role),
            timer: pause(timers, sleeps),
            disk: pause(disks, turns),
            yields_per_ms: yields as f64 * 1e6 / all_work.max(1) as f64,
            wakes: self.wakes(role, turns),
        }
    }

    /// Threads that had something to do at the beginning, or were started by somebody else, and the
    /// few arrivals of a role that has no more. Those of the background come and go.
    fn busy(&self, role: usize) -> f64 {
        if self.comes_and_goes(role) {
            return 0.0;
        }
        let arrivals = Some(self.arrivals(role)).filter(|n| *n <= FEW_ARRIVALS).unwrap_or(0);
        (self.beginnings(role) + arrivals) as f64
    }

    /// First turns that no message began.
    fn beginnings(&self, role: usize) -> u64 {
        let begun = self.seen_of(role).filter(|seen| seen.begins).count() as u64;
        begun.saturating_sub(self.sent_to(role, |sent| sent.starts))
    }

    /// True for the background, unless it is hogs that were there all the time.
    fn comes_and_goes(&self, role: usize) -> bool {
        let threads = self.members[role].iter().map(|thread| &self.recording.threads[*thread]);
        let stays = |thread: &Thread| thread.active_ns as f64 > ALL_THE_TIME * self.length_ns(role);
        threads.clone().all(|thread| !thread.measured) && !threads.clone().all(stays)
    }

    /// How the turns of a role began, and how much of it was active at a time.
    fn begun(&self, role: usize) -> Begun {
        let timers: usize = self.seen_of(role).map(|seen| seen.timers.len()).sum();
        let threads = &self.members[role];
        let active = |thread: &usize| self.recording.threads[*thread].active_ns;
        Begun {
            turns: self.seen_of(role).map(|seen| seen.turns.len() as f64).sum(),
            outside: (self.arrivals(role) + timers as u64) as f64,
            active: threads.iter().map(active).sum::<Ns>() as f64 / self.length_ns(role),
        }
    }

    /// For how long a role was recorded, ns.
    fn length_ns(&self, role: usize) -> f64 {
        let measured = self.recording.threads[self.members[role][0]].measured;
        let ns = if measured { self.recording.elapsed_ns } else { self.recording.length_ns };
        ns.max(1) as f64
    }

    /// Wake-ups by devices, and by threads that are not of the service.
    fn arrivals(&self, role: usize) -> u64 {
        let outside = self.seen_of(role).map(|seen| seen.outside.len() as u64).sum::<u64>();
        outside + self.by_others(role)
    }

    fn by_others(&self, role: usize) -> u64 {
        let messages: u64 = self.seen_of(role).map(|seen| seen.messages).sum();
        messages.saturating_sub(self.sent_to(role, |sent| sent.wakes))
    }

    /// How often the service's threads did something to threads of a role.
    fn sent_to(&self, role: usize, what: impl Fn(&Sent) -> u64) -> u64 {
        let all = self.seen.iter().flatten().flat_map(|seen| &seen.sent);
        all.filter(|(to, _)| self.role_of[**to as usize] == Some(role)).map(|(_, s)| what(s)).sum()
    }

    /// Times between wake-ups by what is not of the service.
    fn gaps(&self, role: usize) -> Option<Gaps> {
        let mut at: Vec<Ns> =
            self.seen_of(role).flat_map(|s| s.outside.iter().map(|(at, _)| *at)).collect();
        let mut others = self.by_others(role) as usize;
        match self.comes_and_goes(role) {
            true => others += self.beginnings(role) as usize,
            false if self.arrivals(role) <= FEW_ARRIVALS => return None,
            false => {}
        }
        at.sort_unstable();
        // The instants of wake-ups by other threads are not kept.
        if at.len() > GAPS_MIN && others * 20 < at.len() {
            let mut gaps: Vec<Ns> = at.windows(2).map(|two| two[1] - two[0]).collect();
            return Lengths::of(&mut gaps).map(Gaps::Seen);
        }
        let per_s = (at.len() + others) as f64 / (self.length_ns(role) * 1e-9);
        (per_s > 0.0).then_some(Gaps::Poisson { per_s })
    }

    fn wakes(&self, from: usize, turns: f64) -> Vec<Wakes> {
        let mut to: BTreeMap<usize, Vec<&BTreeMap<u32, Sent>>> = BTreeMap::new();
        for seen in self.seen_of(from) {
            let roles: BTreeSet<usize> =
                seen.sent.keys().filter_map(|to| self.role_of[*to as usize]).collect();
            roles.into_iter().for_each(|role| to.entry(role).or_default().push(&seen.sent));
        }
        let wakes = to.into_iter().map(|(role, by_thread)| {
            let mut all = Sent::default();
            let mut to_the_same = 0;
            for sent in by_thread {
                let there = sent.iter().filter(|(to, _)| self.role_of[**to as usize] == Some(role));
                let mut most = 0;
                for (_, sent) in there {
                    all.add(sent);
                    most = most.max(sent.n());
                }
                to_the_same += most;
            }
            let n = all.n() as f64;
            Wakes {
                role: role as u32,
                per_turn: (n / turns).min(PER_TURN_MAX),
                at: (all.places / n).clamp(0.0, 1.0),
                sync: 2 * all.sync > all.n(),
                own: self.members[role].len() > 1 && to_the_same as f64 >= OWN * n,
            }
        });
        wakes.collect()
    }
}

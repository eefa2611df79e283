//! Closed loops: roles that wake each other, and that nothing from outside keeps going.
//!
//! In a recording each of their messages but the first ones came from one of them. So a turn sends
//! a little less than one message: the loop would come to its end when the recording does. The
//! numbers are raised until what circles neither grows nor shrinks (the largest eigenvalue of the
//! matrix of messages is 1).

use crate::service::{Spec, Wakes};

/// Iterations until the eigenvalue is known well enough.
const ITERATIONS: usize = 200;
/// So few turns that begin from outside feed no loop, and one in so many of its turns does not
/// either.
const FEW: f64 = super::FEW_ARRIVALS as f64;
const FED_SHARE: f64 = 500.0;
/// Messages that begin less than one in so many turns of a role do not close a loop: threads start
/// once, and end once.
const LOOP_SHARE: f64 = 100.0;

/// How the turns of a role began in a recording.
pub(super) struct Begun {
    /// All of them.
    pub turns: f64,
    /// Those that nothing of the service began: arrivals, and timers of its own.
    pub outside: f64,
    /// How many of its threads were active at a time, the mean.
    pub active: f64,
}

/// Makes loops that nothing feeds go on for ever, and threads that never slept.
pub(super) fn keep_going(spec: &mut Spec, begun: &[Begun]) {
    forget_rare_messages(spec, begun);
    let n = spec.roles.len();
    let reaches = spec.reaches();
    let mut is_fed: Vec<Option<bool>> = vec![None; n];
    // Upstream first: a role is fed by those before it, if they are.
    while let Some(next) = (0..n).find(|role| {
        let is_before = |other: usize| reaches[other][*role] && !reaches[*role][other];
        is_fed[*role].is_none() && (0..n).all(|other| !is_before(other) || is_fed[other].is_some())
    }) {
        let is_loop = reaches[next][next];
        let members: Vec<usize> =
            (0..n).filter(|r| *r == next || reaches[next][*r] && reaches[*r][next]).collect();
        let of = |what: fn(&Begun) -> f64| members.iter().map(|r| what(&begun[*r])).sum::<f64>();
        let upstream = (0..n).filter(|role| is_fed[*role] == Some(true));
        let from_upstream: f64 = upstream.map(|role| messages(spec, begun, role, &members)).sum();
        let outside = of(|b| b.outside) + from_upstream;
        let fed = outside > FEW.max(if is_loop { of(|b| b.turns) / FED_SHARE } else { 0.0 });
        if is_loop && !fed {
            close(spec, &members, begun);
        }
        members.iter().for_each(|role| is_fed[*role] = Some(fed || is_loop));
    }
    sleepless(spec);
}

/// How many messages of a role came to these in the recording.
fn messages(spec: &Spec, begun: &[Begun], from: usize, to: &[usize]) -> f64 {
    let wakes = spec.roles[from].wakes.iter();
    let there = wakes.filter(|wakes| to.contains(&(wakes.role as usize)));
    there.map(|wakes| wakes.per_turn * begun[from].turns).sum()
}

/// Leaves out messages that would close a loop, but began hardly any turn of those who got them.
fn forget_rare_messages(spec: &mut Spec, begun: &[Begun]) {
    let reaches = spec.reaches();
    for (from, role) in spec.roles.iter_mut().enumerate() {
        role.wakes.retain(|wakes| {
            let to = wakes.role as usize;
            let is_rare = wakes.per_turn * begun[from].turns * LOOP_SHARE < begun[to].turns;
            !(is_rare && reaches[to][from])
        });
    }
}

/// Scales the messages among these roles until as many come as go. As many circle as threads were
/// active.
fn close(spec: &mut Spec, members: &[usize], begun: &[Begun]) {
    let within = |to: u32| members.iter().position(|member| *member == to as usize);
    let mut turns = vec![1.0; members.len()];
    let mut gain = 0.0;
    for _ in 0..ITERATIONS {
        // Half of what is there stays, so that loops of two do not swing.
        let mut next: Vec<f64> = turns.iter().map(|n| 0.5 * n).collect();
        for (from, member) in members.iter().enumerate() {
            for wakes in &spec.roles[*member].wakes {
                if let Some(to) = within(wakes.role) {
                    next[to] += 0.5 * turns[from] * wakes.per_turn;
                }
            }
        }
        let sum: f64 = next.iter().sum();
        gain = 2.0 * sum / turns.iter().sum::<f64>() - 1.0;
        turns = next.into_iter().map(|n| n * members.len() as f64 / sum).collect();
    }
    if gain <= 0.0 {
        return;
    }
    let active: f64 = members.iter().map(|member| begun[*member].active).sum();
    // Each role owes half a message in the mean.
    let circle = (active - 0.5 * members.len() as f64).round().max(1.0);
    for member in members {
        let role = &mut spec.roles[*member];
        (role.gaps, role.timer) = (None, None);
        role.busy = circle * begun[*member].active / active.max(f64::MIN_POSITIVE);
        for wakes in &mut role.wakes {
            if within(wakes.role).is_some() {
                wakes.per_turn /= gain;
            }
        }
    }
}

/// Threads that had something to do at the beginning, that nobody and nothing has woken since, and
/// that woke nobody, never slept: after the turn they go on.
fn sleepless(spec: &mut Spec) {
    let mut is_woken = vec![false; spec.roles.len()];
    let wakes = spec.roles.iter().flat_map(|role| &role.wakes);
    wakes.for_each(|wakes| is_woken[wakes.role as usize] = true);
    for (number, role) in spec.roles.iter_mut().enumerate() {
        let alone = role.gaps.is_none() && role.timer.is_none() && role.wakes.is_empty();
        if alone && !is_woken[number] && role.busy >= f64::from(role.threads) {
            let role_number = number as u32;
            let (per_turn, at) = (1.0, 1.0);
            role.wakes.push(Wakes { role: role_number, per_turn, at, sync: false, own: false });
        }
    }
}

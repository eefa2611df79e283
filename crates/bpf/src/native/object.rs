//! Kfuncs and helpers of allocated objects, trees, lists, timers, iterators and locks.

use super::{Call, Outcome, bad_address};
use crate::errno;
use crate::host::Host;
use crate::owned::End;

/// `BPF_MAX_LOOPS`
const LOOPS_MAX: i64 = 1 << 23;

pub(super) fn new<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    match c.memory.allocate(c.args[0] as u32) {
        Ok(object) => Outcome::Value(object),
        // As the kernel does when it has no memory left.
        Err(_) => Outcome::Value(0),
    }
}

pub(super) fn drop<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    c.memory.release(c.args[0]);
    Outcome::Value(0)
}

/// Returns the object with one reference more, or 0.
pub(super) fn acquire<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let object = c.args[0];
    Outcome::Value(if c.memory.acquire(object) { object } else { 0 })
}

pub(super) fn xchg<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let [place, new, ..] = c.args;
    match c.memory.load(c.host, place, 8) {
        Some(old) if c.memory.store(c.host, place, 8, new) => Outcome::Value(old),
        _ => c.fault("no pointer can be kept there"),
    }
}

/// `bpf_rbtree_remove(root, node)`: the node, if it was in there.
pub(super) fn rbtree_remove<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let [root, node, ..] = c.args;
    c.run.charge(c.memory.row_len(root) as u64);
    Outcome::Value(if c.memory.row_remove(root, node) { node } else { 0 })
}

/// The node at a place that depends on how many there are, or 0.
pub(super) fn row_at<H: Host>(c: &mut Call<'_, H>, place: fn(usize) -> usize) -> Outcome {
    let root = c.args[0];
    let at = place(c.memory.row_len(root));
    Outcome::Value(c.memory.row_at(root, at).unwrap_or(0))
}

/// `bpf_rbtree_left(root, node)` and `bpf_rbtree_right`
pub(super) fn child<H: Host>(c: &mut Call<'_, H>, side: usize) -> Outcome {
    c.run.charge(c.memory.row_len(c.args[0]) as u64);
    Outcome::Value(c.memory.row_children(c.args[1])[side].unwrap_or(0))
}

pub(super) fn list_push<H: Host>(c: &mut Call<'_, H>, end: End) -> Outcome {
    let [list, node, ..] = c.args;
    if c.memory.is_linked(node) {
        c.memory.release(node);
        return Outcome::errno(errno::EINVAL);
    }
    let at = if end == End::Front { 0 } else { usize::MAX };
    match c.memory.row_insert(list, at, node) {
        Ok(()) => Outcome::Value(0),
        Err(full) => full.into(),
    }
}

pub(super) fn list_pop<H: Host>(c: &mut Call<'_, H>, end: End) -> Outcome {
    Outcome::Value(c.memory.row_pop(c.args[0], end).unwrap_or(0))
}

/// A lock has no waiters here: programs are not interrupted while they hold one.
pub(super) fn lock<H: Host>(c: &mut Call<'_, H>, value: u64) -> Outcome {
    if c.memory.store(c.host, c.args[0], 4, value) {
        Outcome::Value(0)
    } else {
        c.fault("this is no lock")
    }
}

/// `bpf_timer_init(timer, map, flags)`
pub(super) fn timer_init<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let timer = c.args[0];
    if c.memory.map_of_value(timer).is_none() {
        return c.fault("this timer is in no map's value");
    }
    match c.memory.timers.init(timer) {
        true => Outcome::Value(0),
        false => Outcome::errno(errno::EBUSY),
    }
}

pub(super) fn timer_set_callback<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let callback = c.function(1)?;
    match c.memory.timers.get(c.args[0]) {
        Some(timer) => {
            timer.callback = Some(callback);
            Ok(Outcome::Value(0))
        }
        None => Ok(Outcome::errno(errno::EINVAL)),
    }
}

/// `bpf_timer_start(timer, ns, flags)`
pub(super) fn timer_start<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let [at, delay_ns, flags, ..] = c.args;
    match c.memory.timers.get(at) {
        Some(timer) if timer.callback.is_some() => {
            timer.is_armed = true;
            c.host.start_timer(at, delay_ns, flags);
            Outcome::Value(0)
        }
        _ => Outcome::errno(errno::EINVAL),
    }
}

/// `bpf_timer_cancel(timer)`: 1 if it was armed.
pub(super) fn timer_cancel<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let at = c.args[0];
    let Some(timer) = c.memory.timers.get(at) else {
        return Outcome::errno(errno::EINVAL);
    };
    let was_armed = std::mem::take(&mut timer.is_armed);
    timer.callback = None;
    if was_armed {
        c.host.cancel_timer(at);
    }
    Outcome::Value(u64::from(was_armed))
}

/// `bpf_iter_num_new(iterator, start, end)`. The iterator is two numbers: current and end.
pub(super) fn iter_new<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let (iterator, start, end) = (c.args[0], c.args[1] as i32, c.args[2] as i32);
    let n = i64::from(end) - i64::from(start);
    let (errno, current, end) = match n {
        ..0 => (errno::EINVAL, 0, 0),
        0..=LOOPS_MAX => (0, start.wrapping_sub(1), end),
        _ => (errno::E2BIG, 0, 0),
    };
    match set_iterator(c, iterator, current, end) {
        true => Outcome::errno(errno),
        false => bad_address(),
    }
}

/// `bpf_iter_num_next(iterator)`: the address of the next number, or 0.
pub(super) fn iter_next<H: Host>(c: &mut Call<'_, H>) -> Outcome {
    let iterator = c.args[0];
    let Some(both) = c.memory.load(c.host, iterator, 8) else {
        return Outcome::Value(0);
    };
    let (next, end) = ((both as i32).wrapping_add(1), (both >> 32) as i32);
    let (at, next, end) = if next < end { (iterator, next, end) } else { (0, 0, 0) };
    match set_iterator(c, iterator, next, end) {
        true => Outcome::Value(at),
        false => Outcome::Value(0),
    }
}

fn set_iterator<H: Host>(c: &mut Call<'_, H>, iterator: u64, current: i32, end: i32) -> bool {
    let both = u64::from(current as u32) | u64::from(end as u32) << 32;
    c.memory.store(c.host, iterator, 8, both)
}

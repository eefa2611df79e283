//! Helpers that call functions of the program: loops, iterations, insertions into trees.
//!
//! A callback is a function like any other, whose end comes back here ([`go_on`]). So a run can be
//! suspended inside of one.

use super::{Call, Outcome};
use crate::errno;
use crate::host::Host;
use crate::map::MapId;
use crate::memory::Memory;
use crate::run::{After, Run};

/// `BPF_MAX_LOOPS`
const LOOPS_MAX: u64 = 1 << 23;
/// `BPF_MAX_USER_RINGBUF_SAMPLES`
const SAMPLES_MAX: u64 = 128 * 1024;

/// A helper that waits for its callback to end.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pending {
    Loop {
        callback: usize,
        next: u64,
        n: u64,
        context: u64,
    },
    ForEach {
        callback: usize,
        map: MapId,
        from: u32,
        visited: u64,
        context: u64,
    },
    /// A node is compared with the one in the middle between `low` and `high`.
    Insert {
        callback: usize,
        root: u64,
        node: u64,
        low: usize,
        high: usize,
    },
    Drain {
        callback: usize,
        map: MapId,
        visited: u64,
        context: u64,
    },
}

/// What to do next: call once more with these arguments, or be done.
enum Next {
    Again(usize, [u64; 4], Pending),
    Done(Outcome),
}

/// The callback has returned (`r0`): what the helper does with that.
pub(crate) fn go_on<H: Host>(
    pending: Pending,
    run: &mut Run,
    memory: &mut Memory,
    host: &mut H,
) -> Outcome {
    let result = run.registers[0];
    // The note for the callback belongs to the frame of the helper's caller.
    let caller = run.frames.pop();
    let next = advance(pending, Some(result), run, memory, host);
    run.frames.extend(caller);
    match next {
        Next::Again(callback, args, pending) => {
            if let Some(frame) = run.frames.last_mut() {
                frame.after = After::Helper(pending);
            }
            run.registers[1..=args.len()].copy_from_slice(&args);
            run.pc = callback;
            Outcome::Entered
        }
        Next::Done(outcome) => outcome,
    }
}

fn start<H: Host>(c: &mut Call<'_, H>, pending: Pending) -> Outcome {
    match advance(pending, None, c.run, c.memory, c.host) {
        Next::Again(callback, args, pending) => {
            if !c.run.enter(callback, After::Helper(pending)) {
                return Outcome::Fault(crate::fault::FaultKind::Depth);
            }
            c.run.registers[1..=args.len()].copy_from_slice(&args);
            Outcome::Entered
        }
        Next::Done(outcome) => outcome,
    }
}

fn advance<H: Host>(
    pending: Pending,
    result: Option<u64>,
    run: &mut Run,
    memory: &mut Memory,
    host: &mut H,
) -> Next {
    let is_stopped = result.is_some_and(|result| result != 0);
    match pending {
        Pending::Loop { callback, next, n, context } => {
            if next >= n || is_stopped {
                return Next::Done(Outcome::Value(next));
            }
            let pending = Pending::Loop { callback, next: next + 1, n, context };
            Next::Again(callback, [next, context, 0, 0], pending)
        }
        Pending::ForEach { callback, map, from, visited, context } => {
            let found = memory.next_slot(map, from).filter(|_| !is_stopped);
            let Some((key, slot)) = found else {
                return Next::Done(Outcome::Value(visited));
            };
            run.charge(u64::from(slot - from));
            let key = if key == 0 { note(run, memory, host, u64::from(slot), 0) } else { key };
            let cpu = host.cpu().min(memory.n_cpus - 1);
            let value = memory.value_address(map, slot, cpu);
            let visited = visited + 1;
            let pending = Pending::ForEach { callback, map, from: slot + 1, visited, context };
            Next::Again(callback, [map.address(), key, value, context], pending)
        }
        Pending::Insert { callback, root, node, low, high } => {
            let middle = low.midpoint(high);
            // The result tells on which side of the old middle the node belongs.
            let (low, high) = match result {
                None => (low, high),
                Some(0) => (middle + 1, high),
                Some(_) => (low, middle),
            };
            let Some(other) = memory.row_at(root, low.midpoint(high)).filter(|_| low < high) else {
                return Next::Done(match memory.row_insert(root, low, node) {
                    Ok(()) => Outcome::Value(0),
                    Err(full) => full.into(),
                });
            };
            let pending = Pending::Insert { callback, root, node, low, high };
            Next::Again(callback, [node, other, 0, 0], pending)
        }
        Pending::Drain { callback, map, visited, context } => {
            let next = (!is_stopped && visited < SAMPLES_MAX).then(|| memory.ring_next(map));
            let Some((at, len)) = next.flatten() else {
                return Next::Done(Outcome::Value(visited));
            };
            let dynptr = note(run, memory, host, at, u64::from(len));
            let pending = Pending::Drain { callback, map, visited: visited + 1, context };
            Next::Again(callback, [dynptr, context, 0, 0], pending)
        }
    }
}

/// Two numbers that a callback is shown.
fn note<H: Host>(run: &Run, memory: &mut Memory, host: &mut H, first: u64, second: u64) -> u64 {
    let at = run.note_address();
    memory.store(host, at, 8, first);
    memory.store(host, at + 8, 8, second);
    at
}

/// `bpf_loop(n, callback, context, flags)`
pub(super) fn bpf_loop<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let n = u64::from(c.args[0] as u32);
    let (callback, context) = (c.function(1)?, c.args[2]);
    if c.args[3] != 0 {
        return Ok(Outcome::errno(errno::EINVAL));
    }
    if n > LOOPS_MAX {
        return Ok(Outcome::errno(errno::E2BIG));
    }
    Ok(start(c, Pending::Loop { callback, next: 0, n, context }))
}

/// `bpf_for_each_map_elem(map, callback, context, flags)`
pub(super) fn for_each<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let (map, callback, context) = (c.map(0)?, c.function(1)?, c.args[2]);
    if c.args[3] != 0 {
        return Ok(Outcome::errno(errno::EINVAL));
    }
    Ok(start(c, Pending::ForEach { callback, map, from: 0, visited: 0, context }))
}

/// `bpf_rbtree_add(root, node, less)`
pub(super) fn rbtree_add<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let (root, node, callback) = (c.args[0], c.args[1], c.function(2)?);
    if c.memory.is_linked(node) {
        c.memory.release(node);
        return Ok(Outcome::errno(errno::EINVAL));
    }
    let high = c.memory.row_len(root);
    // Those behind it move.
    c.run.charge(8 * high as u64);
    Ok(start(c, Pending::Insert { callback, root, node, low: 0, high }))
}

/// `bpf_user_ringbuf_drain(map, callback, context, flags)`
pub(super) fn drain<H: Host>(c: &mut Call<'_, H>) -> Result<Outcome, Outcome> {
    let (map, callback, context) = (c.map(0)?, c.function(1)?, c.args[2]);
    Ok(start(c, Pending::Drain { callback, map, visited: 0, context }))
}

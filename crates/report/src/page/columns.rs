//! Recorded turns as columns of small numbers, compressed: what the page carries, and
//! `assets/columns.js` reads.
//!
//! Each column holds one field of all turns, CPU after CPU, as variable-length integers: seven bits
//! to a byte, the lowest first. What may be negative is folded (0, -1, 1, -2, …). Times are
//! distances from the end of the turn before, and tasks are distances from the task before, so most
//! of the numbers take one byte or two. After the turns come the tasks, the use of the CPUs
//! over time, and the policy's averages, if they are recorded.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use miniz_oxide::deflate::compress_to_vec;
use scenario::recorded::{Came, Named, Recorded, Slice, Timeline};

/// How hard the compressor tries, of 10: more takes far longer and gains a per cent.
const LEVEL: u8 = 7;
/// The use of a CPU in a bucket is told in so many parts.
pub const USE_PARTS: u64 = 1000;

/// A growing column.
#[derive(Default)]
struct Numbers(Vec<u8>);

impl Numbers {
    fn put(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
    }

    fn put_signed(&mut self, n: i64) {
        self.put((n.cast_unsigned() << 1) ^ (n >> 63).cast_unsigned());
    }
}

/// All columns of a recording, compressed (raw deflate), in base 64.
pub fn packed(recorded: &Recorded) -> String {
    let mut out = Numbers::default();
    turns(&mut out, &recorded.timeline);
    tasks(&mut out, &recorded.timeline.tasks);
    load(&mut out, recorded);
    signals(&mut out, recorded);
    STANDARD.encode(compress_to_vec(&out.0, LEVEL))
}

fn turns(out: &mut Numbers, timeline: &Timeline) {
    each(timeline, |slice, before| {
        let end = before.map_or(0, |before| before.at_ns + before.ns);
        out.put(slice.at_ns - end);
    });
    each(timeline, |slice, _| out.put(slice.ns));
    each(timeline, |slice, before| {
        out.put_signed(i64::from(slice.task) - before.map_or(0, |before| i64::from(before.task)));
    });
    each(timeline, |slice, _| out.put(slice.waited_ns));
    // Who runs where a task is woken, when it is, has mostly been told already: 0 stands for that.
    each(timeline, |slice, _| match slice.waker {
        None if matches!(slice.came, Came::Preempted | Came::Started) => out.put(0),
        waker if waker == running(timeline, slice) => out.put(0),
        None => out.put(1),
        Some(waker) => out.put(u64::from(waker) + 2),
    });
    for (cpu, slices) in timeline.cpus.iter().enumerate() {
        slices.iter().for_each(|s| out.put_signed(i64::from(s.waker_cpu) - cpu as i64));
    }
    for (cpu, slices) in timeline.cpus.iter().enumerate() {
        slices.iter().for_each(|s| out.put_signed(i64::from(s.last_cpu) - cpu as i64));
    }
    each(timeline, |slice, _| out.put(u64::from(slice.rule)));
    each(timeline, |slice, _| out.put(slice.came as u64 * 8 + slice.end as u64));
}

/// The task whose turn it is where and when another one becomes runnable, before a turn of that.
fn running(timeline: &Timeline, slice: &Slice) -> Option<u32> {
    let at = slice.at_ns - slice.waited_ns;
    let slices = &timeline.cpus[slice.waker_cpu as usize];
    let there = slices.get(slices.partition_point(|s| s.at_ns + s.ns <= at))?;
    (there.at_ns <= at).then_some(there.task)
}

/// Hands out every turn with the one before it on its CPU.
fn each(timeline: &Timeline, mut put: impl FnMut(&Slice, Option<&Slice>)) {
    for slices in &timeline.cpus {
        let mut before = None;
        for slice in slices {
            put(slice, before);
            before = Some(slice);
        }
    }
}

fn tasks(out: &mut Numbers, tasks: &[Named]) {
    let comms = comms(tasks);
    let mut pid = 0;
    for task in tasks {
        out.put_signed(i64::from(task.pid) - pid);
        pid = i64::from(task.pid);
    }
    for task in tasks {
        let at = comms.binary_search(&task.comm.as_str()).unwrap_or(0);
        out.put(at as u64);
    }
}

/// The command names, each once, in alphabetical order.
pub fn comms(tasks: &[Named]) -> Vec<&str> {
    let mut comms: Vec<&str> = tasks.iter().map(|t| t.comm.as_str()).collect();
    comms.sort_unstable();
    comms.dedup();
    comms
}

fn load(out: &mut Numbers, recorded: &Recorded) {
    let over_time = &recorded.over_time;
    for row in &over_time.busy_ns {
        for (bucket, ns) in row.iter().enumerate() {
            let from = bucket as u64 * over_time.bucket_ns;
            let length = over_time.bucket_ns.min(recorded.end_ns - from).max(1);
            // Rounded, but what is not all stays less than all, and something more than nothing.
            let parts = (ns * USE_PARTS + length / 2) / length;
            let least = u64::from(*ns > 0);
            let most = if *ns < length { USE_PARTS - 1 } else { USE_PARTS };
            out.put(parts.clamp(least, most));
        }
    }
}

/// Averages, as differences from one bucket to the next.
fn signals(out: &mut Numbers, recorded: &Recorded) {
    let rows = recorded.signals.iter().flat_map(|s| &s.signals).flatten();
    for row in rows {
        let mut before = 0;
        for value in row {
            let value = i64::try_from(*value).unwrap_or(i64::MAX);
            out.put_signed(value - before);
            before = value;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_if_they_are_small() {
        let mut out = Numbers::default();
        [0, 127, 128, u64::MAX].into_iter().for_each(|n| out.put(n));
        assert_eq!(out.0[..4], [0, 0x7f, 0x80, 1]);
        assert_eq!(out.0.len(), 4 + 10);
        let mut signed = Numbers::default();
        [0, -1, 1, -64, 64].into_iter().for_each(|n| signed.put_signed(n));
        assert_eq!(signed.0, [0, 1, 2, 127, 0x80, 1]);
    }
}

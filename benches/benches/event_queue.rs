//! The indexed event queue beside the standard library's heap, in the hold model: the first event
//! is replaced by one at its time plus a random length, so the number pending stays the same.

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use sim_core::EventQueue;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Random lengths, drawn before the clock runs.
fn lengths() -> Vec<u64> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
    (0..65_536).map(|_| rng.random_range(1..100_000)).collect()
}

fn hold(c: &mut Criterion) {
    let lengths = lengths();
    let n_lengths = lengths.len();
    let mut group = c.benchmark_group("event_queue");
    group.throughput(Throughput::Elements(1));
    for n in [64usize, 512, 16384] {
        group.bench_function(BenchmarkId::new("winner_tree", n), |b| {
            let mut q = EventQueue::new(n);
            (0..n).for_each(|id| q.set(id as u32, lengths[id], 1));
            let mut i = 0;
            b.iter(|| {
                let (at, id) = q.peek().expect("as many are pending as at the start");
                q.set(id, at + lengths[i % n_lengths], 1);
                i += 1;
            });
        });
        group.bench_function(BenchmarkId::new("binary_heap", n), |b| {
            let entries = (0..n).map(|id| Reverse((lengths[id], id as u32)));
            let mut q: BinaryHeap<_> = entries.collect();
            let mut i = 0;
            b.iter(|| {
                let mut first = q.peek_mut().expect("as many are pending as at the start");
                first.0.0 += lengths[i % n_lengths];
                i += 1;
            });
        });
    }
    group.finish();
}

criterion_group!(benches, hold);
criterion_main!(benches);

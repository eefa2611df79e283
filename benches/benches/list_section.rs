//! What a queue's critical section takes on hot lines beyond its lock, for `locks.queue_hold_ns`
//! (docs/CALIBRATION.md): an append and an unlink on a doubly linked list, each under a spinlock,
//! beside two sections with nothing in them (which follow each other too closely, and take longer).

use criterion::{Criterion, criterion_group, criterion_main};
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

const RELAXED: Ordering = Ordering::Relaxed;
/// Tasks that take turns; node 0 is the list's head.
const NODES: u32 = 4;

/// Lock word and list head in a line of their own, as in the patch.
#[repr(align(64))]
struct Node {
    lock: AtomicBool,
    next: AtomicU32,
    prev: AtomicU32,
}

struct Queue(Vec<Node>);

impl Queue {
    /// Every node is linked to itself: the list is empty.
    fn new() -> Self {
        let node = |i| Node {
            lock: AtomicBool::new(false),
            next: AtomicU32::new(i),
            prev: AtomicU32::new(i),
        };
        Self((0..=NODES).map(node).collect())
    }

    fn section(&self, body: impl FnOnce()) {
        let lock = &self.0[0].lock;
        while lock.compare_exchange(false, true, Ordering::Acquire, RELAXED).is_err() {}
        body();
        lock.store(false, Ordering::Release);
    }

    fn link(&self, a: u32, b: u32) {
        self.0[a as usize].next.store(b, RELAXED);
        self.0[b as usize].prev.store(a, RELAXED);
    }

    #[inline(never)]
    fn append(&self, node: u32) {
        self.section(|| {
            self.link(self.0[0].prev.load(RELAXED), node);
            self.link(node, 0);
        });
    }

    #[inline(never)]
    fn unlink(&self, node: u32) {
        self.section(|| {
            let n = &self.0[node as usize];
            self.link(n.prev.load(RELAXED), n.next.load(RELAXED));
            self.link(node, node);
        });
    }

    #[inline(never)]
    fn nothing(&self, node: u32) {
        self.section(|| ());
        black_box(node);
    }
}

fn list_section(c: &mut Criterion) {
    let mut group = c.benchmark_group("list_section");
    let queue = Queue::new();
    let mut turn = 0;
    let mut next = || {
        turn = turn % NODES + 1;
        turn
    };
    group.bench_function("append_unlink", |b| {
        b.iter(|| {
            let node = next();
            queue.append(node);
            queue.unlink(node);
        });
    });
    group.bench_function("two_empty", |b| {
        b.iter(|| {
            let node = next();
            queue.nothing(node);
            queue.nothing(node);
        });
    });
    group.finish();
}

criterion_group!(benches, list_section);
criterion_main!(benches);

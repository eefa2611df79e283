//! What the pull path costs the host.
//!
//! The first four benchmarks drive the fair class by hand on two CPUs, without the engine: each
//! step of the path is carried out at once. An element is one pull by CPU 1, together with the
//! enqueue that gives it a task and the dequeue that takes it away again where there is one.
//! `contended` is a whole simulation, divided by the pulls that its CPUs attempt.

use benches::{machines, runs};
use criterion::{
    BenchmarkId, Criterion, SamplingMode, Throughput, criterion_group, criterion_main,
};
use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::moves;
use sim_core::{Config, DequeueFlags, EnqueueFlags, Policy, Step, TaskAttr, TaskId, World};
use topology::CpuId;

const BUSY: CpuId = CpuId(0);
const PULLER: CpuId = CpuId(1);

/// CPU 0 runs one task, another one waits there or sleeps; CPU 1 goes idle again and again.
struct Rig {
    w: World,
    f: Fair,
    task: TaskId,
}

impl Rig {
    fn new(swqueue: bool) -> Self {
        let mut w = World::new(machines::one_llc(2), Config::default());
        let features = Features { swqueue, ..Features::default() };
        let mut f = Fair::new(features, Tunables::for_cpus(2));
        f.init(&mut w);
        let hog = w.new_task(TaskAttr::default());
        let task = w.new_task(TaskAttr::default());
        let mut rig = Self { w, f, task };
        for p in [hog, task] {
            rig.f.task_fork(&mut rig.w, p, None);
        }
        rig.enqueue(hog, EnqueueFlags { initial: true, ..EnqueueFlags::default() });
        rig.f.switch_task(&mut rig.w, BUSY, TaskId::IDLE, hog);
        rig.w.cpus[BUSY].curr = hog;
        rig
    }

    /// Puts `p` on CPU 0; a nested critical section happens at once.
    fn enqueue(&mut self, p: TaskId, flags: EnqueueFlags) {
        self.w.now += 2_000;
        self.w.this = BUSY;
        self.w.tasks[p].cpu = BUSY;
        self.w.activate(BUSY, p);
        if let Some(n) = self.f.enqueue_task(&mut self.w, BUSY, p, flags) {
            self.f.nested_done(&mut self.w, BUSY, n);
        }
    }

    fn wake(&mut self) {
        self.enqueue(self.task, EnqueueFlags { wakeup: true, ..EnqueueFlags::default() });
    }

    /// Takes the task off the queue on which it waits, and back to CPU 0.
    fn sleep(&mut self) {
        let at = self.w.tasks[self.task].cpu;
        self.w.this = at;
        let sleep = at == BUSY;
        if let Some(n) = self.f.dequeue_task(&mut self.w, at, self.task, DequeueFlags { sleep }) {
            self.f.nested_done(&mut self.w, at, n);
        }
        self.w.deactivate(at, self.task);
        self.w.set_task_cpu(self.task, BUSY, moves::BALANCE);
    }

    /// CPU 1 has nothing left to run: the whole of `before_idle`.
    fn pull(&mut self) {
        self.w.this = PULLER;
        let mut step = self.f.before_idle(&mut self.w, PULLER, TaskId::IDLE, true);
        while step != Step::Done {
            if let Step::Spend(ns) = step {
                self.w.now += ns;
            }
            step = self.f.before_idle(&mut self.w, PULLER, TaskId::IDLE, false);
        }
    }

    fn wake_pull_sleep(&mut self) {
        self.wake();
        self.pull();
        self.sleep();
    }
}

fn by_hand(c: &mut Criterion) {
    let mut group = c.benchmark_group("pull_path");
    group.throughput(Throughput::Elements(1));
    group.bench_function("empty", |b| {
        let mut rig = Rig::new(true);
        b.iter(|| rig.pull());
        assert_eq!(rig.f.counters.pull_empty, rig.f.counters.pull_attempts);
    });
    group.bench_function("hit", |b| {
        let mut rig = Rig::new(true);
        b.iter(|| rig.wake_pull_sleep());
        assert_eq!(rig.f.counters.pull_hits, rig.f.counters.pull_attempts);
    });
    group.bench_function("lost", |b| {
        let mut rig = Rig::new(true);
        b.iter(|| {
            rig.wake();
            // Its own CPU has begun to switch to it.
            rig.w.tasks[rig.task].on_cpu = true;
            rig.pull();
            rig.w.tasks[rig.task].on_cpu = false;
            rig.sleep();
        });
        assert_eq!(rig.f.counters.pull_lost, rig.f.counters.pull_attempts);
    });
    group.bench_function("newidle_balance", |b| {
        let mut rig = Rig::new(false);
        b.iter(|| rig.wake_pull_sleep());
        assert!(rig.f.counters.newidle_pulls > 0);
    });
    group.finish();
}

fn contended(c: &mut Criterion) {
    const WINDOW: u64 = 10_000;
    let mut group = c.benchmark_group("pull_path/contended");
    group.sampling_mode(SamplingMode::Flat).sample_size(20);
    group.throughput(Throughput::Elements(WINDOW));
    for cpus in [2, 8, 32, 64] {
        let mut sim = runs::contended_pulls(cpus);
        group.bench_function(BenchmarkId::from_parameter(cpus), |b| {
            b.iter(|| runs::advance(&mut sim, WINDOW, |sim| sim.policy.counters.pull_attempts));
        });
    }
    group.finish();
}

criterion_group!(benches, by_hand, contended);
criterion_main!(benches);

//! Many CPUs balance at once, their steps interleaved at random, with real lock ownership: nothing
//! deadlocks, no task is lost, none leaves its affinity, no CPU holds two runqueue locks; and
//! the sums that are kept stay those of the runqueues.

use super::*;
use test_support::Random;

#[derive(Clone, Copy, PartialEq)]
enum Path {
    None,
    Newidle,
    Softirq,
}

struct Storm {
    rig: Rig,
    owner: IdVec<LockId, Option<u32>>,
    paths: Vec<(Path, bool, Step)>,
    random: Random,
}

impl Storm {
    fn start(&mut self, cpu: usize) {
        let idle = self.rig.w.cpus[CpuId(cpu as u32)].nr_running == 0;
        let path = match self.random.below(2) {
            0 if idle && self.owner[LockId(cpu as u32)].is_none() => {
                self.owner[LockId(cpu as u32)] = Some(cpu as u32);
                Path::Newidle
            }
            _ => Path::Softirq,
        };
        self.rig.fair.balance.paths[CpuId(cpu as u32)].idle_at_tick = idle;
        self.rig.fair.balance.paths[CpuId(cpu as u32)].ilb.granted =
            if self.random.below(4) == 0 { 3 } else { 0 };
        self.rig.w.cpus[CpuId(cpu as u32)].need_resched = false;
        self.paths[cpu] = (path, true, Step::Spend(0));
    }

    /// One step of `cpu`; false if it has to wait.
    fn step(&mut self, cpu: usize) -> bool {
        let (path, first, pending) = self.paths[cpu];
        let me = Some(cpu as u32);
        match pending {
            Step::Lock(l, _) if self.owner[l].is_some() => return false,
            Step::WaitTask(p, _) if self.rig.w.tasks[p].migrating => return false,
            Step::Lock(l, _) => self.owner[l] = me,
            _ => {}
        }
        let n_rqs = self.owner.iter().take(32).filter(|o| **o == me).count();
        assert!(n_rqs <= 1, "CPU {cpu} holds {n_rqs} runqueue locks");
        let (w, id) = (&mut self.rig.w, CpuId(cpu as u32));
        w.this = id;
        let step = match path {
            Path::Newidle => self.rig.fair.before_idle(w, id, TaskId::IDLE, first),
            _ => self.rig.fair.softirq(w, id, first),
        };
        self.paths[cpu] = (path, false, step);
        match step {
            Step::Spend(ns) => self.rig.w.now += ns,
            Step::Unlock(l) => {
                assert_eq!(self.owner[l].take(), me);
            }
            Step::Done => {
                if path == Path::Newidle {
                    assert_eq!(self.owner[LockId(cpu as u32)].take(), me);
                }
                assert!(!self.owner.contains(&me), "CPU {cpu} keeps a lock");
                self.paths[cpu].0 = Path::None;
            }
            _ => {}
        }
        true
    }
}

fn storm(seed: u64, swqueue: bool, swqueue_steal: bool) {
    let features = Features { swqueue, swqueue_steal, ..Features::default() };
    let mut rig = Rig::new(machine(2, 8), features);
    let half = rig.w.mask(CpuSet::of(32, (0..8).map(CpuId)));
    for i in 0..60 {
        let allowed = if i % 3 == 0 { half } else { MaskId::ALL };
        let (cpu, p) = (i % 5, rig.queued(i % 5, 1, allowed));
        let flags = EnqueueFlags { wakeup: true, ..EnqueueFlags::default() };
        if let Some(hook) = rig.fair.swq_enqueue(&rig.w, CpuId(cpu), p, flags) {
            rig.fair.nested_done(&mut rig.w, CpuId(cpu), hook);
        }
    }
    let mut s = Storm {
        rig,
        owner: IdVec::filled(None, 64),
        paths: vec![(Path::None, false, Step::Done); 32],
        random: Random::new(seed),
    };
    for round in 0..20_000 {
        let cpu = s.random.below(32) as usize;
        if s.paths[cpu].0 == Path::None {
            s.start(cpu);
        }
        if !s.step(cpu) {
            let waits = (0..32).filter(|c| s.paths[*c].0 != Path::None);
            let stuck = waits.clone().all(|c| match s.paths[c].2 {
                Step::Lock(l, _) => s.owner[l].is_some(),
                Step::WaitTask(p, _) => s.rig.w.tasks[p].migrating,
                _ => false,
            });
            assert!(!stuck, "deadlock in round {round}");
        }
        s.rig.w.now += s.random.below(50_000);
        if round % 64 == 0 {
            sums::check(&s.rig, TaskId(round / 64 % 60));
        }
    }
    for cpu in 0..32 {
        while s.paths[cpu].0 != Path::None && s.step(cpu) {}
    }
    for _ in 0..32 {
        for cpu in 0..32 {
            while s.paths[cpu].0 != Path::None && s.step(cpu) {}
        }
    }
    let total: u32 = s.rig.w.cpus.iter().map(|c| c.nr_running).sum();
    assert_eq!(total, 60);
    for (i, t) in s.rig.w.tasks.iter().enumerate() {
        assert!(t.on_rq && !t.migrating);
        assert!(s.rig.w.allowed(TaskId(i as u32), t.cpu));
    }
    for (c, rq) in s.rig.w.cpus.iter().zip(&s.rig.fair.rqs) {
        assert_eq!(c.nr_running, rq.h_nr_running);
    }
    let c = s.rig.fair.counters;
    assert!(c.balance_pulls + c.newidle_pulls > 10, "{c:?}");
    let pulled = c.pull_hits + c.pull_lost + c.pull_empty;
    assert_eq!(c.pull_attempts, pulled);
    assert_eq!(c.pull_hits > 0, swqueue);
    let stolen = c.steal_hits + c.steal_lost + c.steal_empty;
    assert_eq!(c.steal_attempts, stolen);
    assert_eq!(c.steal_attempts, if swqueue_steal { c.pull_empty } else { 0 });
}

#[test]
fn interleaved_passes_lose_no_task_and_never_deadlock() {
    for seed in 1..9 {
        storm(seed, false, false);
        storm(seed, true, false);
        storm(seed, true, true);
    }
}

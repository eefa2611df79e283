//! EEVDF against its slow twin: the same pick at every decision, whatever the tasks do.

mod model;

use model::{Kernel, Kind, Model, Settings};
use policies::fair::features::{Features, Tunables};
use policies::fair::{Eevdf, Fair, Rules};
use sim_core::{
    Config, DequeueFlags, EnqueueFlags, Policy, SchedAttr, SchedPolicy, TaskAttr, TaskId,
    TaskState, World,
};
use test_support::Random;
use topology::{CpuId, Machine, RegularSpec};

const CPU: CpuId = CpuId(0);
const TASKS: usize = 6;
const STEPS: u64 = 120;

/// The implementation, and the few verbs that the engine would do.
struct Real {
    f: Fair<Eevdf>,
    w: World,
}

impl Real {
    fn new(rules: Rules, features: Features, tunables: Tunables, hz: u32) -> Self {
        let one = RegularSpec { cores_per_llc: 1, threads_per_core: 1, hz, ..Default::default() };
        let mut w = World::new(Machine::regular(one).into(), Config::default());
        let mut f = Fair::eevdf(rules, features, tunables);
        f.init(&mut w);
        for _ in 0..TASKS {
            w.new_task(TaskAttr::default());
        }
        Self { f, w }
    }

    fn enqueue(&mut self, p: TaskId, flags: EnqueueFlags) {
        self.attach(p, flags);
        self.w.tasks[p].state = TaskState::Runnable;
    }

    /// It may go on sleeping.
    fn attach(&mut self, p: TaskId, flags: EnqueueFlags) {
        self.w.activate(CPU, p);
        self.f.enqueue_task(&mut self.w, CPU, p, flags);
        self.f.wakeup_preempt(&mut self.w, CPU, p, flags);
    }

    fn fork(&mut self, p: TaskId, attr: SchedAttr) {
        let t = &mut self.w.tasks[p].attr;
        (t.policy, t.nice, t.slice_ns) = (attr.policy, attr.nice, attr.slice_ns);
        self.f.task_fork(&mut self.w, p, None);
        self.enqueue(p, EnqueueFlags { initial: true, ..EnqueueFlags::default() });
    }

    fn wake(&mut self, p: TaskId) {
        let flags = EnqueueFlags { wakeup: true, ..EnqueueFlags::default() };
        if !self.w.tasks[p].sched_delayed {
            return self.enqueue(p, flags);
        }
        self.w.update_rq_clock(CPU);
        self.f.wake_delayed(&mut self.w, CPU, p);
        self.f.wakeup_preempt(&mut self.w, CPU, p, flags);
        self.w.tasks[p].state = TaskState::Runnable;
    }

    fn block(&mut self, exits: bool) {
        let curr = self.w.cpus[CpuId(0)].curr;
        if !curr.is_task() {
            return;
        }
        let state = if exits { TaskState::Dead } else { TaskState::Sleeping };
        self.w.tasks[curr].state = state;
        self.f.dequeue_task(&mut self.w, CPU, curr, DequeueFlags { sleep: true });
        if !self.w.tasks[curr].sched_delayed {
            self.w.deactivate(CPU, curr);
        }
    }

    fn take(&mut self, p: TaskId) {
        self.f.dequeue_task(&mut self.w, CPU, p, DequeueFlags { sleep: false });
        self.w.deactivate(CPU, p);
    }

    fn set_scheduler(&mut self, p: TaskId, attr: SchedAttr) {
        self.f.set_scheduler(&mut self.w, p, attr);
        let t = &mut self.w.tasks[p].attr;
        (t.policy, t.nice, t.slice_ns) = (attr.policy, attr.nice, attr.slice_ns);
    }

    fn schedule(&mut self) -> Option<usize> {
        let prev = self.w.cpus[CpuId(0)].curr;
        let next = self.f.pick_next_task(&mut self.w, CPU).unwrap_or(TaskId::IDLE);
        if next != prev {
            self.f.switch_task(&mut self.w, CPU, prev, next);
        }
        self.w.set_curr(CPU, next);
        self.w.cpus[CpuId(0)].need_resched = false;
        next.is_task().then(|| next.idx())
    }
}

/// The same settings for both, the clock too.
fn settings(r: &mut Random, rules: Rules, kernel: Kernel) -> (Features, Tunables, u32, Settings) {
    let mut features = Features::for_rules(rules);
    // As the kernel has it by default, half of the time.
    if r.below(2) == 0 {
        for feature in [
            &mut features.place_lag,
            &mut features.place_deadline_initial,
            &mut features.place_rel_deadline,
            &mut features.run_to_parity,
            &mut features.preempt_short,
            &mut features.delay_dequeue,
            &mut features.delay_zero,
        ] {
            *feature &= r.below(3) > 0;
        }
    }
    let tunables = Tunables::for_rules(rules, 1 << r.below(4));
    let hz = [100, 250, 1000][r.below(3) as usize];
    let model = Settings {
        kernel,
        base_slice: tunables.base_slice_ns.into(),
        normalized_base: tunables.normalized_base_slice_ns.into(),
        tick: (1_000_000_000 / hz).into(),
        place_lag: features.place_lag,
        place_deadline_initial: features.place_deadline_initial,
        place_rel_deadline: features.place_rel_deadline,
        run_to_parity: features.run_to_parity,
        preempt_short: features.preempt_short,
        delay_dequeue: features.delay_dequeue,
        delay_zero: features.delay_zero,
    };
    (features, tunables, hz, model)
}

/// Where a task is, as far as the random workload is concerned.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Place {
    Gone,
    Here,
    Asleep,
    Elsewhere,
    /// On another CPU's queue in its sleep.
    AsleepElsewhere,
}

struct Both {
    real: Real,
    model: Model,
    place: [Place; TASKS],
    nice: [i8; TASKS],
    r: Random,
    decisions: u64,
    /// Moves of tasks that sleep on the queue.
    moves_asleep: u64,
    log: String,
}

impl Both {
    fn attr(&mut self) -> (SchedAttr, Kind) {
        let nice = match self.r.below(3) {
            0 => 0,
            1 => self.r.below(11) as i8 - 5,
            _ => self.r.below(40) as i8 - 20,
        };
        let (policy, kind) = match self.r.below(12) {
            0 => (SchedPolicy::Batch, Kind::Batch),
            1 => (SchedPolicy::Idle, Kind::Idle),
            _ => (SchedPolicy::Normal, Kind::Normal),
        };
        let slices = [0, 0, 0, 300_000, 1_000_000, 12_000_000, 1];
        let slice_ns = slices[self.r.below(slices.len() as u64) as usize];
        (SchedAttr { policy, nice, slice_ns }, kind)
    }

    /// One thing that happens; nothing if it makes no sense now.
    fn happen(&mut self) {
        let p = self.r.below(TASKS as u64) as usize;
        let id = TaskId(p as u32);
        let what = self.r.below(20);
        let running = self.model.curr;
        match (what, self.place[p]) {
            (0..4, _) => {
                self.real.f.task_tick(&mut self.real.w, CPU);
                self.model.tick();
            }
            (4..9, Place::Asleep) => {
                self.real.wake(id);
                self.model.wake(p);
                self.place[p] = Place::Here;
            }
            (4..9, Place::Gone) => {
                let (attr, kind) = self.attr();
                self.nice[p] = attr.nice;
                self.real.fork(id, attr);
                self.model.fork(p, kind, attr.nice, attr.slice_ns.into());
                self.place[p] = Place::Here;
            }
            (4..9, Place::Elsewhere) => {
                let flags = EnqueueFlags { migrated: true, ..EnqueueFlags::default() };
                self.real.enqueue(id, flags);
                self.model.give(p);
                self.place[p] = Place::Here;
            }
            (4..9, Place::AsleepElsewhere) => {
                let flags = EnqueueFlags { migrated: true, ..EnqueueFlags::default() };
                self.real.attach(id, flags);
                self.model.give_asleep(p);
                self.place[p] = Place::Asleep;
            }
            (9..14, _) => {
                if let Some(curr) = running {
                    let exits = what == 9;
                    self.real.block(exits);
                    self.model.block(exits);
                    self.place[curr] = if exits { Place::Gone } else { Place::Asleep };
                    self.decide();
                }
            }
            (14, _) if running.is_some() => {
                self.real.f.yield_task(&mut self.real.w, CPU);
                self.model.yields();
                self.decide();
            }
            (15 | 16, Place::Here) if running != Some(p) => {
                self.real.take(id);
                self.model.take(p);
                self.place[p] = Place::Elsewhere;
            }
            (15 | 16, Place::Asleep) if self.model.is_delayed(p) => {
                self.real.take(id);
                self.model.take(p);
                self.place[p] = Place::AsleepElsewhere;
                self.moves_asleep += 1;
            }
            (17, Place::Here | Place::Asleep) => {
                let (attr, kind) = self.attr();
                self.real.set_scheduler(id, attr);
                let nice = (self.nice[p], attr.nice);
                self.model.set_scheduler(p, kind, nice, attr.slice_ns.into());
                self.nice[p] = attr.nice;
            }
            _ => {}
        }
        self.log += &format!("{what} {p} {:?}; ", self.place[p]);
    }

    fn decide(&mut self) {
        self.decisions += 1;
        let (picked, expected) = (self.real.schedule(), self.model.schedule());
        self.log += &format!("-> {expected:?}\n");
        assert_eq!(picked, expected, "{}", self.log);
    }

    fn compare(&self) {
        self.model.check();
        let asked = self.real.w.cpus[CpuId(0)].need_resched;
        assert_eq!(asked, self.model.need_resched, "need_resched: {}", self.log);
        for (p, t) in self.real.w.tasks.iter().enumerate() {
            assert_eq!(t.on_rq, self.model.is_on_rq(p), "task {p}: {}", self.log);
            assert_eq!(t.sched_delayed, self.model.is_delayed(p), "task {p}: {}", self.log);
        }
    }
}

/// A random task set; returns how often somebody had to be picked, and was moved in its sleep.
fn run_set(seed: u64, rules: Rules, kernel: Kernel) -> (u64, u64) {
    let mut r = Random::new(seed);
    r.below(1);
    let (features, tunables, hz, settings) = settings(&mut r, rules, kernel);
    let mut both = Both {
        real: Real::new(rules, features, tunables, hz),
        model: Model::new(settings, TASKS),
        place: [Place::Gone; TASKS],
        nice: [0; TASKS],
        r,
        decisions: 0,
        moves_asleep: 0,
        log: format!("set {seed}: {kernel:?}\n"),
    };
    let mut now = 0;
    for _ in 0..STEPS {
        now += match both.r.below(4) {
            0 => 0,
            1 => both.r.below(100_000),
            2 => both.r.below(2_000_000),
            _ => 1_000_000 * both.r.below(6),
        };
        both.real.w.now = now;
        both.real.w.update_rq_clock(CPU);
        both.model.advance_to(now);
        both.happen();
        both.compare();
        if both.model.need_resched {
            both.decide();
            both.compare();
        }
    }
    (both.decisions, both.moves_asleep)
}

/// The pick, the request for one, and who is on the queue agree in 10 000 random task sets.
fn check(rules: Rules, kernel: Kernel) {
    let sets = (1..=10_000).map(|seed| run_set(seed, rules, kernel));
    let (decisions, moves) = sets.fold((0, 0), |(d, m), set| (d + set.0, m + set.1));
    println!("{kernel:?}: {decisions} decisions, {moves} moves of sleepers in 10 000 task sets");
    assert!(decisions > 300_000, "{decisions}");
    assert!(kernel == Kernel::V6_6 || moves > 1_000, "{moves}");
}

#[test]
fn every_pick_of_v6_6_is_that_of_the_reference_model() {
    check(Rules::V6_6, Kernel::V6_6);
}

#[test]
fn every_pick_of_v6_12_is_that_of_the_reference_model() {
    check(Rules::V6_12, Kernel::V6_12);
}

#[test]
fn every_pick_of_v6_18_is_that_of_the_reference_model() {
    check(Rules::V6_18, Kernel::V6_18);
}

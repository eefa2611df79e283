//! Tasks that do everything that a program can, at random.

use policies::workqueue::POOL_LOCK_SITE;
use sim_core::{
    GroupId, LockId, MaskId, Ns, Op, Program, ProgramCx, SchedAttr, SchedPolicy, SleepState, Step,
    TaskAttr, TaskId,
};
use test_support::Random;
use topology::{CpuId, CpuSet};

/// What a mix is made of.
#[derive(Clone, Copy)]
pub struct Mix {
    /// Tasks at the start.
    pub tasks: u32,
    /// So many of 64 acts compute, for up to so many us.
    pub run: (u64, u64),
    /// Task groups to spread over.
    pub groups: u16,
    /// Policies to choose among.
    pub policies: &'static [SchedPolicy],
    /// Affinities, slices and nice levels change.
    pub meddles: bool,
    /// Seed of its acts.
    pub seed: u64,
}

const MS: Ns = 1_000_000;
/// Steps of a path: what a critical section does.
const PATH: u8 = 7;

pub struct Mixed {
    mix: Mix,
    random: Random,
    masks: Vec<MaskId>,
    lock: Option<LockId>,
    /// Where each CPU's path and handler are.
    paths: Vec<u8>,
    handlers: Vec<u8>,
    n_children: u32,
}

impl Mixed {
    pub fn new(mix: Mix) -> Self {
        let random = Random::new(mix.seed);
        let (masks, paths, handlers) = (Vec::new(), Vec::new(), Vec::new());
        Self { mix, random, masks, lock: None, paths, handlers, n_children: 0 }
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.random.below(of.len() as u64) as usize]
    }

    fn any(&mut self) -> TaskId {
        TaskId(self.random.below(self.mix.tasks.into()) as u32)
    }

    fn sched(&mut self) -> SchedAttr {
        let policy = self.pick(self.mix.policies);
        let nice = self.pick(&[0, 0, -5, 3, 10, 19]);
        SchedAttr { policy, nice, slice_ns: self.pick(&[0, 0, 300_000, 20_000_000]) }
    }

    fn attr(&mut self, i: u32) -> TaskAttr {
        let SchedAttr { policy, nice, slice_ns } = self.sched();
        let group = GroupId((i % (u32::from(self.mix.groups) + 1)) as u16);
        TaskAttr {
            policy,
            nice,
            slice_ns,
            group,
            mm: i / 3,
            working_set_kib: [0, 64, 2048][i as usize % 3],
            kthread: i % 9 == 8,
            rested: i % 5 == 4,
            timer_slack_ns: (i % 4 == 3).then_some(1),
            ..TaskAttr::default()
        }
    }

    fn meddle(&mut self, cx: &mut ProgramCx<'_>, me: TaskId) -> Op {
        let task = if self.random.below(2) == 0 { me } else { self.any() };
        // No class hands its tasks over to another.
        let keeps_class = self.mix.policies.contains(&SchedPolicy::Ext);
        match self.random.below(6) {
            0..2 if !keeps_class => Op::SetScheduler { task, attr: self.sched() },
            0..4 => {
                let masks = self.masks.clone();
                Op::SetAffinity { task, allowed: self.pick(&masks) }
            }
            4 => {
                cx.set_memory(task, self.random.below(5) as u32, 512);
                cx.set_timer_slack(task, Some(self.random.below(90_000) as u32));
                Op::Yield
            }
            _ => {
                cx.watch_ticks(me, self.random.below(2) == 0);
                Op::Path
            }
        }
    }

    fn act(&mut self, cx: &mut ProgramCx<'_>, me: TaskId) -> Op {
        let us = 1 + self.random.below(self.mix.run.1);
        match self.random.below(40) {
            0..9 => Op::Sleep(us * 700),
            9 => Op::SleepUntil(cx.now() + us * 300),
            10..19 => Op::Wake { task: self.any(), sync: self.random.below(2) == 0 },
            19..22 => Op::Wait,
            22 => {
                cx.set_sleep_state(me, SleepState::Uninterruptible);
                cx.set_io_wait(me, true);
                Op::Sleep(us * 100)
            }
            23..26 => Op::Path,
            26..28 => Op::Kernel(us * 200),
            28 => Op::Exec,
            29 => Op::Yield,
            30 if self.n_children < 40 => {
                self.n_children += 1;
                let attr = self.attr(self.n_children);
                Op::Fork(cx.new_task(attr))
            }
            31..33 if me.0 >= self.mix.tasks => Op::Exit,
            33..38 if self.mix.meddles => self.meddle(cx, me),
            38 => {
                cx.set_device(cx.now() + us * 50);
                Op::Run(us)
            }
            _ => Op::Run(us * 10),
        }
    }
}

impl Program for Mixed {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        let n = cx.n_cpus();
        self.paths = vec![0; n];
        self.handlers = vec![0; n];
        self.lock = Some(cx.new_lock("mix"));
        let half = cx.mask(CpuSet::of(n, (0..n as u32).step_by(2).map(CpuId)));
        let few = cx.mask(CpuSet::of(n, (0..n as u32).skip(n / 3).take(2).map(CpuId)));
        let last = cx.mask(CpuSet::of(n, [CpuId(n as u32 - 1)]));
        self.masks = vec![MaskId::ALL, MaskId::ALL, half, few, last];
        let comms = ["mix", "front"].map(|name| cx.comm(name));
        for i in 0..self.mix.tasks {
            let allowed = if i % 7 == 6 { few } else { MaskId::ALL };
            let start_cpu = (i % 6 == 5).then_some(CpuId(0));
            let comm = comms[i as usize % 2];
            let attr = TaskAttr { allowed, start_cpu, comm, ..self.attr(i) };
            cx.start_task(attr);
        }
        let daemon = TaskAttr { daemon: true, kthread: true, ..TaskAttr::default() };
        cx.start_task(daemon);
        cx.set_device(MS);
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, me: TaskId) -> Op {
        if me.0 == self.mix.tasks {
            return if self.random.below(2) == 0 { Op::Sleep(MS) } else { Op::Kernel(20_000) };
        }
        cx.set_io_wait(me, false);
        if self.random.below(64) < self.mix.run.0 {
            return Op::Run((1 + self.random.below(self.mix.run.1)) * 1000);
        }
        self.act(cx, me)
    }

    fn path(&mut self, cx: &mut ProgramCx<'_>, _task: TaskId) -> Step {
        let lock = self.lock.expect("it was made at the start");
        let at = &mut self.paths[cx.cpu().idx()];
        *at = (*at + 1) % PATH;
        match *at {
            1 => Step::Spend(400),
            2 => Step::Lock(lock, POOL_LOCK_SITE),
            3 => Step::Spend(900 + cx.pull_ns(lock, 2)),
            4 => Step::Wake { task: self.any(), sync: false },
            5 => Step::Unlock(lock),
            6 => Step::Spend(100),
            _ => Step::Done,
        }
    }

    fn device(&mut self, cx: &mut ProgramCx<'_>) {
        let n = cx.n_cpus() as u64;
        cx.raise(CpuId(self.random.below(n) as u32));
        cx.set_device(cx.now() + 50_000 + self.random.below(MS));
    }

    fn interrupt(&mut self, cx: &mut ProgramCx<'_>) -> Step {
        let at = &mut self.handlers[cx.cpu().idx()];
        *at = (*at + 1) % 4;
        match *at {
            1 => Step::Spend(1500),
            2 => Step::Wake { task: self.any(), sync: false },
            3 => Step::Spend(300),
            _ => Step::Done,
        }
    }

    fn tick(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) {
        cx.record(cx.ran_ns(task));
    }
}

//! Programs for tests: scripts, random tasks, a small build.

use crate::Random;
use policies::workqueue::{ActivePer, Affinity};
use proptest::prelude::*;
use sim_core::{Ns, Op, Program, ProgramCx, SchedAttr, SchedPolicy, TaskAttr, TaskId};
use topology::{CpuId, CpuSet};
use workloads::dm_crypt;
use workloads::kernel_build::{self, KernelBuild};

/// Tasks with a list of operations each; when it is over they compute for ever.
pub struct Scripts(pub Vec<(TaskAttr, Vec<Op>)>);

impl Program for Scripts {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for (attr, ops) in &mut self.0 {
            ops.reverse();
            cx.start_task(*attr);
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        self.0[task.idx()].1.pop().unwrap_or(Op::Run(Ns::MAX))
    }
}

/// Tasks that run, sleep, wake each other and change each other's properties at random.
#[derive(Clone, Debug)]
pub struct Meddlers {
    attrs: Vec<TaskAttr>,
    ops: Vec<(u8, u32, u8)>,
    at: usize,
    n_cpus: usize,
}

impl Meddlers {
    fn mask(&self, cx: &mut ProgramCx<'_>, bits: u32) -> sim_core::MaskId {
        let cpus = (0..self.n_cpus).filter(|c| bits >> (c % 16) & 1 == 1);
        let mut set = CpuSet::of(self.n_cpus, cpus.map(|c| CpuId(c as u32)));
        if set.is_empty() {
            set.insert(CpuId((bits >> 16) % self.n_cpus as u32));
        }
        cx.mask(set)
    }
}

impl Program for Meddlers {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.n_cpus = cx.n_cpus();
        for attr in &self.attrs {
            cx.start_task(*attr);
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, me: TaskId) -> Op {
        let (kind, x, who) = self.ops[self.at % self.ops.len()];
        self.at += 1;
        let task = TaskId(u32::from(who) % self.attrs.len() as u32);
        let ns = Ns::from(x % 1_000_000);
        match kind {
            0..4 => Op::Run(ns * 5),
            4..8 => Op::Sleep(ns),
            8..12 => Op::Wake { task, sync: x & 1 == 1 },
            12..16 => {
                let allowed = self.mask(cx, x);
                Op::SetAffinity { task: if kind < 14 { me } else { task }, allowed }
            }
            16..19 => {
                let policy = match x % 5 {
                    0 => SchedPolicy::Batch,
                    1 => SchedPolicy::Idle,
                    _ => SchedPolicy::Normal,
                };
                let slice_ns = if x & 64 == 0 { 0 } else { x % 50_000_000 };
                let nice = (x >> 8) as i8 % 20;
                Op::SetScheduler { task, attr: SchedAttr { policy, nice, slice_ns } }
            }
            _ => Op::Run(1000),
        }
    }
}

/// Random [`Meddlers`] of the fair class.
pub fn meddlers() -> impl Strategy<Value = Meddlers> {
    meddlers_of(&[SchedPolicy::Normal, SchedPolicy::Batch, SchedPolicy::Idle])
}

/// Random [`Meddlers`] of these policies.
pub fn meddlers_of(policies: &'static [SchedPolicy]) -> impl Strategy<Value = Meddlers> {
    let n = policies.len();
    let attr = (-20i8..20, 0..n, 0u32..4).prop_map(|(nice, policy, start)| TaskAttr {
        nice,
        policy: policies[policy],
        start_cpu: start.checked_sub(1).map(CpuId),
        ..TaskAttr::default()
    });
    let ops = prop::collection::vec((0u8..20, any::<u32>(), any::<u8>()), 50..400);
    (prop::collection::vec(attr, 1..12), ops).prop_map(|(attrs, ops)| Meddlers {
        attrs,
        ops,
        at: 0,
        n_cpus: 0,
    })
}

/// [`Meddlers`] whose tasks each go through the list for themselves: the acts of one do not depend
/// on which task asks first at one instant.
#[derive(Clone, Debug)]
pub struct EachItsOwn {
    program: Meddlers,
    at: Vec<usize>,
}

impl EachItsOwn {
    /// Each task begins at another place of the list.
    pub fn new(program: Meddlers) -> Self {
        Self { program, at: Vec::new() }
    }
}

impl Program for EachItsOwn {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        self.program.start(cx);
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        self.at.resize(self.at.len().max(task.idx() + 1), 0);
        self.program.at = self.at[task.idx()] + 13 * task.idx();
        self.at[task.idx()] += 1;
        self.program.next(cx, task)
    }
}

/// Tasks that run, sleep, wake each other, yield, fork and exit at random.
pub struct Storm {
    n_tasks: u32,
    random: Random,
}

impl Storm {
    /// So many tasks at the start.
    pub fn new(n_tasks: u32, seed: u64) -> Self {
        Self { n_tasks, random: Random::new(seed) }
    }
}

impl Program for Storm {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for i in 0..self.n_tasks {
            let nice = (i % 7) as i8 - 3;
            cx.start_task(TaskAttr { nice, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        let r = self.random.draw();
        let ns = (r >> 8) % 1000;
        match r % 64 {
            0..24 => Op::Run(1 + ns * ns * 5),
            24..32 => Op::Kernel(1 + ns * 10),
            32..44 => Op::Sleep(1 + ns * ns),
            44..56 => {
                let task = TaskId(ns as u32 % self.n_tasks);
                Op::Wake { task, sync: r & 64 != 0 }
            }
            56 => Op::Wait,
            57 => Op::Exec,
            58..60 => Op::Yield,
            60 if task.0 >= self.n_tasks => Op::Exit,
            61 => Op::Fork(cx.new_task(TaskAttr::default())),
            _ => Op::Run(1000),
        }
    }
}

/// A kernel build of a dozen objects, with so many seconds of work in all.
pub fn small_build(work_s: f64) -> KernelBuild {
    KernelBuild::new(kernel_build::Config {
        jobs: 6,
        objects: 12,
        directories: 3,
        work_s,
        prepare_s: 0.01,
        link_s: 0.02,
        ..kernel_build::Config::default()
    })
}

/// dm-crypt under a small fio; hashing and encrypting take 66 and 164 us.
pub fn small_dm_crypt() -> dm_crypt::Config {
    dm_crypt::Config {
        numjobs: 2,
        iodepth: 8,
        bs_kib: 32,
        read_pct: 50.0,
        nice: 0,
        hash_writes: true,
        hash_reads: false,
        hash_mb_s: 500.0,
        crypt_mb_s: 200.0,
        generate_mb_s: 3000.0,
        ssd_read_ns: 90_000,
        ssd_write_ns: 30_000,
        ssd_parallel: 4,
        affinity: Affinity::default(),
        max_active: 8,
        active_per: ActivePer::Cpu,
        changes: Vec::new(),
        seed: 1,
    }
}

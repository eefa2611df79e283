//! What runs in the rows.

use crate::mix::{Mix, Mixed};
use policies::workqueue::{ActivePer, Affinity, Scope};
use sim_core::{Program, SchedPolicy};
use test_support::{small_build, small_dm_crypt};
use workloads::affinity_changes::AffinityChange;
use workloads::dm_crypt::{self, DmCrypt};
use workloads::hackbench::{self, Hackbench, Medium};
use workloads::micro::{PingPong, Short, Spinners};
use workloads::netperf::{self, Netperf};
use workloads::queue_work::{self, QueueWork};
use workloads::schbench::{self, Schbench};

pub type Make = Box<dyn Fn() -> Box<dyn Program>>;

fn make<W: Program + 'static>(program: impl Fn() -> W + 'static) -> Make {
    Box::new(move || Box::new(program()))
}

pub const ALL: &[SchedPolicy] =
    &[SchedPolicy::Normal, SchedPolicy::Normal, SchedPolicy::Batch, SchedPolicy::Idle];
pub const NORMAL: &[SchedPolicy] = &[SchedPolicy::Normal];
pub const MANY: &[SchedPolicy] =
    &[SchedPolicy::Normal, SchedPolicy::Ext, SchedPolicy::Ext, SchedPolicy::Idle];

/// Of all acts the same part.
pub const MIX: Mix =
    Mix { tasks: 12, run: (16, 900), groups: 0, policies: ALL, meddles: true, seed: 1 };

pub fn mix(mix: Mix) -> Make {
    make(move || Mixed::new(mix))
}

/// Tasks that compute for long between few other acts.
pub fn hogs(tasks: u32) -> Make {
    mix(Mix { tasks, run: (58, 9_000), seed: 3, ..MIX })
}

pub fn spinners(n: u32) -> Make {
    make(move || Spinners::new((0..n).map(|i| (i % 3) as i8).collect(), 30_000_000))
}

pub fn short(n: u32, run_us: u64, sleep_us: u64) -> Make {
    make(move || Short::new(n, run_us * 1000, sleep_us * 1000, 30, 5))
}

pub fn pairs(n: u32) -> Make {
    make(move || PingPong::new(n, 7_000, 2000))
}

pub fn build() -> Make {
    make(|| small_build(0.08))
}

pub fn crypt(affinity: Affinity, changes: &'static [AffinityChange]) -> Make {
    let changes = changes.to_vec();
    make(move || {
        DmCrypt::new(dm_crypt::Config { affinity, changes: changes.clone(), ..small_dm_crypt() })
    })
}

/// The administrator changes the scope, and back.
pub const CHANGES: &[AffinityChange] = &[
    AffinityChange { at: 2_000_000, scope: Some(Scope::Cpu), strict: None, localize: None },
    AffinityChange { at: 3_500_000, scope: None, strict: Some(true), localize: None },
    AffinityChange {
        at: 5_000_000,
        scope: Some(Scope::System),
        strict: Some(false),
        localize: None,
    },
    AffinityChange { at: 6_000_000, scope: Some(Scope::Cache), strict: None, localize: Some(true) },
];

pub fn work(scope: Scope, strict: bool, localize: bool, max_active: u32) -> Make {
    make(move || {
        QueueWork::new(queue_work::Config {
            issuers: 5,
            outstanding: 6,
            work_ns: 30_000,
            affinity: Affinity { scope, strict, localize },
            max_active,
            active_per: ActivePer::Cpu,
            changes: Vec::new(),
        })
    })
}

pub fn hackbench(groups: u32, medium: Medium) -> Make {
    make(move || {
        Hackbench::new(hackbench::Config {
            groups,
            fds: 3,
            loops: 1000,
            datasize: 100,
            medium,
            threads: medium == Medium::Pipe,
            message_ns: Some(1500),
            spread: 0.2,
            seed: 1,
        })
    })
}

pub fn netperf(clients: u32) -> Make {
    let test = netperf::Test::UdpRr;
    make(move || {
        Netperf::new(netperf::Config { test, clients, service_ns: 3000, spread: 0.1, seed: 1 })
    })
}

pub fn schbench(threads: u32) -> Make {
    make(move || {
        Schbench::new(schbench::Config {
            message_threads: 2,
            threads,
            work_ns: 120_000,
            sleep_ns: 60_000,
            rps: None,
            footprint_kib: 256,
            spread: 0.1,
            seed: 1,
        })
    })
}

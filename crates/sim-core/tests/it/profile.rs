//! Time as an observer is told of it: complete, exact, and without a trace in the run itself.

use policies::fair::Fair;
use policies::fair::features::{Features, Tunables};
use policies::fcfs::Fcfs;
use proptest::prelude::*;
use sim_core::{
    Category, Config, LockId, N_CATEGORIES, Ns, Observer, PathGroup, Policy, Program, Stack,
    TaskId, World,
};
use std::collections::BTreeMap;
use test_support::{TraceHash, shapes, simulate, small_build};
use topology::{CpuId, Machine};
use workloads::kernel_build::{self, KernelBuild};
use workloads::micro::{PingPong, Short};
use workloads::netperf::{self, Netperf};

const BUSY: [Category; 5] =
    [Category::User, Category::Kernel, Category::Softirq, Category::Irq, Category::Spin];

#[derive(Default)]
struct Ledger {
    /// By CPU and category.
    time: BTreeMap<u32, [Ns; N_CATEGORIES]>,
    /// By site.
    spin: BTreeMap<&'static str, Ns>,
    stacks: BTreeMap<(String, Vec<&'static str>), (PathGroup, Ns)>,
    /// By lock: the CPU that holds it.
    owners: BTreeMap<u32, CpuId>,
    acquired: u64,
}

impl Observer for Ledger {
    fn watches_time(&self) -> bool {
        true
    }

    fn time_passed(&mut self, w: &World, cpu: CpuId, what: Category, at: &Stack, ns: Ns) {
        assert!(ns > 0);
        self.time.entry(cpu.0).or_default()[what as usize] += ns;
        assert_eq!(at.site.is_some(), what == Category::Spin, "{at:?}");
        assert_eq!(at.group == PathGroup::User, what == Category::User, "{at:?}");
        let of_stopper = at.functions().contains(&"cpu_stopper_thread");
        assert!(!of_stopper || at.task == TaskId::STOP, "{at:?}");
        if let Some(site) = at.site {
            *self.spin.entry(site.name).or_default() += ns;
        }
        let comm = match at.task {
            task if task.is_task() => w.comms[w.tasks[task].attr.comm as usize].clone(),
            _ => "swapper".to_string(),
        };
        let sum = self.stacks.entry((comm, at.functions().to_vec())).or_insert((at.group, 0));
        assert_eq!(sum.0, at.group, "{at:?}");
        sum.1 += ns;
    }

    fn acquired(&mut self, w: &World, cpu: CpuId, lock: LockId, last: CpuId, wait: Option<Ns>) {
        assert_eq!(w.locks.owner(lock), Some(cpu));
        assert!(wait.is_none() || last != cpu);
        assert_eq!(self.owners.insert(lock.0, cpu), None, "{lock:?} has two owners");
        self.acquired += 1;
    }

    fn released(&mut self, _w: &World, cpu: CpuId, lock: LockId) {
        assert_eq!(self.owners.remove(&lock.0), Some(cpu), "{lock:?}");
    }
}

/// Runs with a ledger and without: the same run, and every account equals the ledger's.
fn check<P: Policy, W: Program>(
    machine: &Machine,
    policy: impl Fn() -> P,
    program: impl Fn() -> W,
    until: Ns,
) -> Result<Ledger, TestCaseError> {
    let config = Config::default();
    let mut plain = simulate(machine.clone(), config, policy(), program(), TraceHash::default());
    let observers = (TraceHash::default(), Ledger::default());
    let mut watched = simulate(machine.clone(), config, policy(), program(), observers);
    let ends = (plain.run_until(until), watched.run_until(until));
    prop_assert_eq!(&ends.0, &ends.1);
    prop_assert_eq!(plain.observer.hash, watched.observer.0.hash);
    prop_assert_eq!(format!("{:?}", plain.w.counters), format!("{:?}", watched.w.counters));
    let ledger = watched.observer.1;
    let w = &watched.w;
    for (cpu, (c, same)) in w.cpus.iter().zip(&plain.w.cpus).enumerate() {
        prop_assert_eq!(c.time, same.time);
        let told = ledger.time.get(&(cpu as u32)).copied().unwrap_or_default();
        for what in BUSY {
            let (told, account) = (told[what as usize], c.time[what as usize]);
            prop_assert_eq!(told, account, "cpu {}, {:?}", cpu, what);
        }
    }
    // Spin times by site add up to those by CPU.
    for site in workloads::lock_sites() {
        let told = ledger.spin.get(site.name).copied().unwrap_or(0);
        prop_assert_eq!(told, w.spin_ns(site), "{}", site.name);
    }
    let spun: Ns = w.cpus.iter().map(|c| c.time[Category::Spin as usize]).sum();
    prop_assert_eq!(spun, workloads::lock_sites().iter().map(|site| w.spin_ns(site)).sum::<Ns>());
    Ok(ledger)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_nanosecond_of_busy_time_is_told_once(
        shape in shapes(),
        swqueue: bool,
        newidle_avg_idle: bool,
        kind in 0..5,
        until_us in 50u64..60_000,
        seed in 0u64..1000,
    ) {
        let machine = shape.machine();
        let n = machine.n_cpus() as u32;
        let features = Features { swqueue, newidle_avg_idle, ..Features::default() };
        let fair = || Fair::new(features, Tunables::for_cpus(n as usize));
        let until = until_us * 1000;
        match kind {
            0 => check(&machine, fair, || small_build(1.0), until * 20)?,
            1 => check(&machine, fair, || PingPong::new(n, 3000, 0), until)?,
            2 => check(&machine, fair, || Short::new(3 * n, 90_000, 70_000, 0, seed), until)?,
            3 => check(&machine, Fcfs::default, || Short::new(2 * n, 9000, 7000, 0, seed), until)?,
            _ => {
                let test = netperf::Test::UdpRr;
                let config = netperf::Config { test, clients: n, service_ns: 2000, spread: 0.1, seed: 1 };
                check(&machine, fair, || Netperf::new(config), until)?
            }
        };
    }
}

/// A profile speaks with the kernel's function names, and comes from every way into the kernel.
#[test]
fn a_contended_queue_shows_up_under_its_callers() {
    let spec = topology::RegularSpec { cores_per_llc: 16, ..topology::RegularSpec::default() };
    let machine = Machine::regular(spec);
    let features = Features { swqueue: true, ..Features::default() };
    let fair = || Fair::new(features, Tunables::for_cpus(32));
    let config = netperf::Config {
        test: netperf::Test::UdpRr,
        clients: 32,
        service_ns: 1000,
        spread: 0.1,
        seed: 1,
    };
    // The last pair starts after 32 ms.
    let ledger = check(&machine, fair, || Netperf::new(config), 50_000_000).unwrap();
    let time = |comm: &str, parts: &[&str]| -> Ns {
        let within = |functions: &[&str]| functions.join(";").contains(&parts.join(";"));
        let stacks = ledger.stacks.iter().filter(|((c, f), _)| c == comm && within(f));
        stacks.map(|(_, (_, ns))| ns).sum()
    };
    let slowpath = "native_queued_spin_lock_slowpath";
    for comm in ["netperf", "netserver"] {
        let woken = ["enqueue_task_fair", "swqueue_enqueue", slowpath];
        assert!(time(comm, &woken) > 0, "{comm}");
        let wakes = ["sock_def_readable", "__wake_up_sync_key", "try_to_wake_up"];
        assert!(time(comm, &wakes) > time(comm, &woken), "{comm}");
        let sleeps = ["schedule_timeout", "schedule", "__schedule"];
        assert!(time(comm, &sleeps) > 0, "{comm}");
        let picks = ["__schedule", "pick_next_task_fair", "swqueue_remove_task", slowpath];
        assert!(time(comm, &picks) > 0, "{comm}");
        for pulls in ["swqueue_pull_task", "task_rq_lock", "migrate_task_to"] {
            assert!(time(comm, &["swqueue_pick_next_task", pulls]) > 0, "{comm}: {pulls}");
        }
    }
    assert!(time("swapper", &["do_idle", "schedule_idle", "__schedule"]) > 0);
    assert!(time("swapper", &["sched_ttwu_pending", "ttwu_do_activate"]) > 0);
    // What an idle CPU that polls was sent comes without an interrupt.
    assert!(time("swapper", &["do_idle", "flush_smp_call_function_queue"]) > 0);
    let idle = ledger.stacks.keys().find(|(_, f)| f.contains(&"[user]"));
    assert_eq!(idle, None, "netperf has no work in user mode");
}

/// What moves a task that runs is the stopper, a thread of its own (`migration_cpu_stop`).
#[test]
fn the_work_of_stoppers_is_told_as_theirs() {
    let spec = topology::RegularSpec { llcs_per_socket: 2, ..topology::RegularSpec::default() };
    let machine = Machine::regular(spec);
    let n_cpus = machine.n_cpus();
    let features = Features { swqueue: true, ..Features::default() };
    let fair = || Fair::new(features, Tunables::for_cpus(n_cpus));
    // Compilers that begin (`exec`) leave a busy CPU.
    let config =
        kernel_build::Config { objects: 120, directories: 12, work_s: 6.0, ..Default::default() };
    let build = || KernelBuild::new(config.clone());
    let ledger = check(&machine, fair, build, Ns::MAX).unwrap();
    let of_stoppers = |stack: &&(String, Vec<&str>)| stack.1.contains(&"cpu_stopper_thread");
    let theirs: Vec<_> = ledger.stacks.keys().filter(of_stoppers).collect();
    assert!(!theirs.is_empty(), "tasks that run were moved");
    assert!(theirs.iter().all(|(comm, _)| comm == "swapper"), "{theirs:?}");
}

//! The counts of /proc/schedstat equal those of an observer that hears of nothing but the events.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, Rules};
use policies::moves;
use sim_core::{
    BalanceEnd, Config, Decision, IdleType, MigrationCause, Ns, Observer, Policy, Program, SisStat,
    TaskId, World,
};
use std::collections::BTreeMap;
use test_support::simulate;
use topology::{CpuId, Machine, RegularSpec};
use workloads::kernel_build::{self, KernelBuild};
use workloads::micro::Short;

/// One balance pass, or all of a domain with one idle type: by CPU, level and idle type.
type Key = (u32, u32, usize);

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Rq {
    calls: u64,
    goidle: u64,
    ttwu: u64,
    local: u64,
    cpu_time_ns: Ns,
    run_delay_ns: Ns,
    pcount: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
struct Passes {
    count: u64,
    balanced: u64,
    failed: u64,
    gained: u64,
}

/// Sums of a window.
#[derive(Default)]
struct Sums {
    rqs: BTreeMap<u32, Rq>,
    passes: BTreeMap<Key, Passes>,
    /// Wake-ups from one CPU to another, and active pushes, by CPU and level of the lowest domain
    /// of both.
    remote: BTreeMap<(u32, u32), u64>,
    pushed: BTreeMap<(u32, u32), u64>,
    sis: SisStat,
    scanned: u64,
    /// Wake-ups by target: prev, waker, same LLC, other LLC.
    targets: [u64; 4],
}

/// Listens and counts.
#[derive(Default)]
struct Book {
    sums: Sums,
    queued: BTreeMap<TaskId, (CpuId, Ns)>,
    current_since: BTreeMap<CpuId, Ns>,
    stopper_since: BTreeMap<CpuId, Ns>,
    /// Wake-ups under way: the waker's CPU and the task's.
    pending: BTreeMap<TaskId, (CpuId, CpuId)>,
    /// Passes under way, by the CPU that executes them.
    pass: BTreeMap<CpuId, Key>,
}

/// The level of the lowest domain of `cpu` that spans `other`.
fn level(w: &World, cpu: CpuId, other: CpuId) -> u32 {
    let mut chain = w.machine.domains.chain(cpu);
    chain.position(|d| d.cpus.contains(&other)).unwrap() as u32
}

impl Book {
    fn rq(&mut self, cpu: CpuId) -> &mut Rq {
        self.sums.rqs.entry(cpu.0).or_default()
    }

    fn ends_waiting(&mut self, w: &World, task: TaskId, at: CpuId) {
        if let Some((cpu, since)) = self.queued.remove(&task) {
            assert_eq!(cpu, at);
            self.rq(cpu).run_delay_ns += w.now - since;
        }
    }

    fn woken(&mut self, w: &World, by: CpuId, to: CpuId) {
        self.rq(by).ttwu += 1;
        if by == to {
            self.rq(by).local += 1;
        } else {
            *self.sums.remote.entry((by.0, level(w, by, to))).or_default() += 1;
        }
    }

    fn is_quiet(&self) -> bool {
        self.pending.is_empty() && self.pass.is_empty()
    }
}

impl Observer for Book {
    fn watches_decisions(&self) -> bool {
        true
    }

    fn measurement_begins(&mut self, _w: &World) {
        self.sums = Sums::default();
    }

    fn stays(&mut self, _w: &World, cpu: CpuId) {
        self.rq(cpu).calls += 1;
    }

    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        let since = self.current_since.insert(cpu, w.now).unwrap_or(0);
        if prev != TaskId::IDLE {
            self.rq(cpu).cpu_time_ns += w.now - since;
        }
        if prev.is_task() && w.tasks[prev].on_rq && !w.tasks[prev].sched_delayed {
            self.queued.insert(prev, (cpu, w.now));
        }
        self.rq(cpu).calls += 1;
        match next {
            TaskId::IDLE => self.rq(cpu).goidle += 1,
            TaskId::STOP => {
                let since = self.stopper_since[&cpu];
                self.rq(cpu).run_delay_ns += w.now - since;
                self.rq(cpu).pcount += 1;
            }
            _ => {
                self.ends_waiting(w, next, cpu);
                self.rq(cpu).pcount += 1;
            }
        }
    }

    fn waking(&mut self, w: &World, task: TaskId) {
        self.pending.insert(task, (w.this, w.tasks[task].cpu));
    }

    fn enqueued(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        self.queued.insert(task, (cpu, w.now));
    }

    fn wakeup(&mut self, w: &World, cpu: CpuId, task: TaskId, new: bool) {
        if new {
            return;
        }
        let (by, from) = self.pending.remove(&task).unwrap();
        self.woken(w, by, cpu);
        let llc = |cpu: CpuId| w.machine.cpus[cpu].llc;
        let target = match cpu {
            _ if cpu == from => 0,
            _ if cpu == by => 1,
            _ if llc(cpu) == llc(from) => 2,
            _ => 3,
        };
        self.sums.targets[target] += 1;
        // One that slept on its queue was not put on it now.
        if w.cpus[cpu].curr != task {
            self.queued.entry(task).or_insert((cpu, w.now));
        }
    }

    fn wakeup_on_rq(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        let (by, _) = self.pending.remove(&task).unwrap();
        self.woken(w, by, cpu);
    }

    fn stopper_woken(&mut self, w: &World, cpu: CpuId) {
        self.woken(w, w.this, cpu);
        self.stopper_since.insert(cpu, w.now);
    }

    fn migrate(&mut self, w: &World, task: TaskId, from: CpuId, to: CpuId, why: MigrationCause) {
        self.ends_waiting(w, task, from);
        match why {
            moves::BALANCE => {
                let key = self.pass[&w.this];
                self.sums.passes.entry(key).or_default().gained += 1;
            }
            moves::ACTIVE => {
                let level = level(w, to, from);
                *self.sums.pushed.entry((to.0, level)).or_default() += 1;
                let key = (to.0, level, IdleType::Idle as usize);
                self.sums.passes.entry(key).or_default().gained += 1;
            }
            _ => {}
        }
    }

    fn decided(&mut self, w: &World, what: &Decision) {
        match *what {
            Decision::BalanceBegins { cpu, level, idle } => {
                let key = (cpu.0, level, idle as usize);
                assert_eq!(self.pass.insert(w.this, key), None);
                self.sums.passes.entry(key).or_default().count += 1;
            }
            Decision::BalanceEnds(end) => {
                let passes = self.sums.passes.entry(self.pass.remove(&w.this).unwrap());
                let passes = passes.or_default();
                passes.balanced += u64::from(end == BalanceEnd::Balanced);
                passes.failed += u64::from(end == BalanceEnd::Failed);
            }
            Decision::Attached { task, cpu } => {
                if !w.tasks[task].sched_delayed {
                    self.queued.insert(task, (cpu, w.now));
                }
            }
            Decision::Searched { found, scanned, .. } => {
                self.sums.sis.searches += 1;
                self.sums.sis.domain_searches += u64::from(scanned.is_some());
                self.sums.sis.failed += u64::from(found.is_none());
                self.sums.scanned += scanned.unwrap_or(0);
            }
        }
    }
}

/// What the counters say and what the book has, CPU by CPU and domain by domain.
fn compare(w: &World, book: &Book, case: &str) {
    let sums = &book.sums;
    let (mut gained, mut failed, mut pushed) = (0, 0, 0);
    for (i, c) in w.cpus.iter().enumerate() {
        let cpu = CpuId(i as u32);
        let counted = Rq {
            calls: c.sched_count(),
            goidle: c.stat.goidle,
            ttwu: w.ttwu_count(cpu),
            local: c.ttwu_local(),
            cpu_time_ns: c.stat.cpu_time_ns,
            run_delay_ns: c.stat.run_delay_ns,
            pcount: c.pcount(),
        };
        let heard = sums.rqs.get(&cpu.0).copied().unwrap_or_default();
        assert_eq!(counted, heard, "{case}: {cpu}");
        for level in 0..w.machine.domains.chains[CpuId(i as u32)].len() {
            let sd = w.stat.sd(cpu, level);
            let at = (cpu.0, level as u32);
            let of = |map: &BTreeMap<(u32, u32), u64>| map.get(&at).copied().unwrap_or(0);
            assert_eq!(sd.ttwu_wake_remote(), of(&sums.remote), "{case}: {at:?}");
            assert_eq!(sd.alb_pushed, of(&sums.pushed), "{case}: {at:?}");
            assert_eq!(sd.alb_count(), sd.alb_failed + sd.alb_pushed);
            pushed += sd.alb_pushed;
            for (idle, lb) in sd.lb.iter().enumerate() {
                let heard = sums.passes.get(&(at.0, at.1, idle)).copied().unwrap_or_default();
                let (count, balanced, failed_here) = (lb.count, lb.balanced, lb.failed);
                let counted = Passes { count, balanced, failed: failed_here, gained: lb.gained };
                assert_eq!(counted, heard, "{case}: {at:?} {idle}");
                assert!(lb.nobusyg + lb.nobusyq <= balanced && lb.hot_gained <= lb.gained);
                gained += lb.gained;
                failed += lb.failed;
            }
        }
    }
    let recent_hits = w.stat.sis.recent_hits;
    let sis = SisStat { recent_hits, domain_scanned: sums.scanned, ..sums.sis };
    assert_eq!(w.stat.sis, sis, "{case}");
    let to = w.wake_targets();
    assert_eq!([to.prev, to.waker, to.same_llc, to.other_llc], sums.targets, "{case}");
    assert_eq!(sums.targets.iter().sum::<u64>(), w.counters.wakeups, "{case}");
    let moved = |why: MigrationCause| w.counters.migrations_by_cause[why.index()];
    assert_eq!(pushed, moved(moves::ACTIVE), "{case}");
    assert_eq!(gained, pushed + moved(moves::BALANCE), "{case}");
    assert!(gained > 0 && failed > 0 && sis.failed > 0, "{case}: {gained} {failed} {sis:?}");
}

/// Counts the whole run, and a window in the middle of it that begins and ends when no wake-up and
/// no pass is under way.
fn check<P: Policy, W: Program>(machine: &Machine, policy: fn() -> P, load: fn() -> W, case: &str) {
    for warm_up_ns in [0, 20_000_000] {
        let book = Book::default();
        let mut sim = simulate(machine.clone(), Config::default(), policy(), load(), book);
        let until = |sim: &sim_core::Simulation<P, W, Book>, ns| sim.w.now >= ns;
        if warm_up_ns > 0 {
            while !until(&sim, warm_up_ns) || !sim.observer.is_quiet() {
                assert_eq!(sim.step(Ns::MAX - 1), None, "{case}: too short");
            }
            sim.begin_measurement();
        }
        while !until(&sim, 200_000_000) || !sim.observer.is_quiet() {
            if sim.step(Ns::MAX - 1).is_some() {
                break;
            }
        }
        assert!(sim.observer.is_quiet(), "{case}");
        compare(&sim.w, &sim.observer, &format!("{case} from {warm_up_ns}"));
    }
}

/// Two packages with two LLCs of two cores.
fn machine(threads: u32) -> Machine {
    Machine::regular(RegularSpec {
        sockets: 2,
        llcs_per_socket: 2,
        cores_per_llc: 2,
        threads_per_core: threads,
        ..RegularSpec::default()
    })
}

fn short() -> Short {
    Short::new(21, 60_000, 40_000, 0, 1)
}

fn build() -> KernelBuild {
    KernelBuild::new(kernel_build::Config {
        jobs: 20,
        objects: 120,
        directories: 6,
        work_s: 4.0,
        prepare_s: 0.02,
        link_s: 0.05,
        ..Default::default()
    })
}

fn cfs() -> Fair {
    Fair::new(Features { sis_node: true, ..Features::default() }, Tunables::for_cpus(16))
}

fn swqueue() -> Fair {
    Fair::new(Features { swqueue: true, ..Features::default() }, Tunables::for_cpus(16))
}

fn eevdf() -> Fair<policies::fair::Eevdf> {
    let rules = Rules::V6_18;
    Fair::eevdf(rules, Features::for_rules(rules), Tunables::for_rules(rules, 16))
}

#[test]
fn what_is_counted_is_what_happens() {
    for threads in [1, 2] {
        let machine = machine(threads);
        check(&machine, cfs, short, &format!("cfs, short, {threads} threads"));
        check(&machine, cfs, build, &format!("cfs, build, {threads} threads"));
        check(&machine, swqueue, build, &format!("swqueue, build, {threads} threads"));
        check(&machine, eevdf, short, &format!("eevdf, short, {threads} threads"));
        check(&machine, eevdf, build, &format!("eevdf, build, {threads} threads"));
    }
}

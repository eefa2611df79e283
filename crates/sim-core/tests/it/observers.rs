//! What observers are told: every step of a task's life, in the order of the kernel's tracepoints.

use policies::fair::features::{Features, Tunables};
use policies::fair::{Fair, Rules};
use policies::fcfs::Fcfs;
use sim_core::{
    Config, MigrationCause, Ns, Observer, Pid, Policy, StopReason, TaskId, TaskState, World,
};
use std::collections::BTreeMap;
use test_support::{TraceHash, simulate};
use topology::{CpuId, Machine, RegularSpec};
use workloads::kernel_build::{self, KernelBuild};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Whereabouts {
    Forked,
    Waking,
    Runnable,
    Running,
    /// Off its queue, but still current.
    Leaving,
    Asleep,
    Gone,
}

/// Where each process is in its life, by its pid.
#[derive(Default)]
struct Lives {
    at: BTreeMap<Pid, Whereabouts>,
    wakeups: u64,
    stoppers_woken: u64,
    stoppers_ran: u64,
}

impl Lives {
    fn goes(&mut self, w: &World, task: TaskId, from: &[Whereabouts], to: Whereabouts) {
        let pid = w.tasks[task].pid;
        let was = self.at.insert(pid, to);
        assert!(was.is_none_or(|was| from.contains(&was)), "pid {pid}: {was:?} becomes {to:?}");
        assert!(
            was.is_some() || to == Whereabouts::Forked || to == Whereabouts::Runnable,
            "unknown {pid} is {to:?}"
        );
    }
}

impl Observer for Lives {
    fn switch(&mut self, w: &World, _cpu: CpuId, prev: TaskId, next: TaskId) {
        if prev.is_task() {
            let left = match w.tasks[prev].state {
                TaskState::Dead => Whereabouts::Gone,
                _ if self.at[&w.tasks[prev].pid] == Whereabouts::Running => Whereabouts::Runnable,
                TaskState::Waking => Whereabouts::Waking,
                _ => Whereabouts::Asleep,
            };
            self.goes(
                w,
                prev,
                &[Whereabouts::Running, Whereabouts::Leaving, Whereabouts::Waking],
                left,
            );
        }
        if next.is_task() {
            self.goes(w, next, &[Whereabouts::Runnable], Whereabouts::Running);
        }
        self.stoppers_ran += u64::from(next == TaskId::STOP);
    }

    fn waking(&mut self, w: &World, task: TaskId) {
        if !w.tasks[task].on_rq {
            self.goes(w, task, &[Whereabouts::Asleep, Whereabouts::Leaving], Whereabouts::Waking);
        }
    }

    fn wakeup(&mut self, w: &World, _cpu: CpuId, task: TaskId, new: bool) {
        self.goes(
            w,
            task,
            &[if new { Whereabouts::Forked } else { Whereabouts::Waking }],
            Whereabouts::Runnable,
        );
        self.wakeups += u64::from(!new);
    }

    fn wakeup_on_rq(&mut self, w: &World, _cpu: CpuId, task: TaskId) {
        self.goes(w, task, &[Whereabouts::Running], Whereabouts::Running);
    }

    fn dequeue(&mut self, w: &World, _cpu: CpuId, task: TaskId) {
        self.goes(w, task, &[Whereabouts::Running], Whereabouts::Leaving);
    }

    fn fork(&mut self, w: &World, cpu: CpuId, parent: TaskId, child: TaskId) {
        assert_eq!(w.cpus[cpu].curr, parent);
        let pid = w.tasks[child].pid;
        assert!(!self.at.contains_key(&pid), "pid {pid} is used twice");
        self.goes(w, child, &[], Whereabouts::Forked);
    }

    fn stopper_woken(&mut self, _w: &World, _cpu: CpuId) {
        self.stoppers_woken += 1;
    }

    fn migrate(&mut self, w: &World, task: TaskId, _: CpuId, _: CpuId, why: MigrationCause) {
        let at = self.at[&w.tasks[task].pid];
        let right = match why {
            MigrationCause::Wake => at == Whereabouts::Waking,
            MigrationCause::Fork => at == Whereabouts::Forked,
            _ => at == Whereabouts::Runnable,
        };
        assert!(right, "{why:?} of a task that is {at:?}");
    }
}

fn live<P: Policy>(policy: P, machine: &Machine) {
    let config = kernel_build::Config {
        objects: 120,
        directories: 12,
        work_s: 6.0,
        link_s: 0.1,
        prepare_s: 0.1,
        ..Default::default()
    };
    let program = KernelBuild::new(config);
    let watch = (Lives::default(), TraceHash::default());
    let mut sim = simulate(machine.clone(), Config::default(), policy, program, watch);
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    let lives = &sim.observer.0;
    assert_eq!(lives.wakeups, sim.w.counters.wakeups);
    assert!(lives.at.values().filter(|at| **at == Whereabouts::Gone).count() > 350);
    assert_eq!(lives.stoppers_woken, lives.stoppers_ran);
    assert!(lives.stoppers_ran > 10, "{}", lives.stoppers_ran);
}

#[test]
fn a_process_is_told_of_from_its_fork_to_its_end() {
    let machine = Machine::regular(RegularSpec { llcs_per_socket: 2, ..RegularSpec::default() });
    let features = Features { swqueue: true, ..Features::default() };
    live(Fair::new(features, Tunables::for_cpus(machine.n_cpus())), &machine);
    live(Fcfs::default(), &machine);
}

#[test]
fn a_pair_of_observers_hears_what_each_alone_hears() {
    let hash = |paired: bool| {
        let machine = Machine::regular(RegularSpec::default());
        let program = workloads::micro::PingPong::new(4, 1000, 200);
        if paired {
            let mut second = TraceHash::default();
            let watch = (TraceHash::default(), &mut second as &mut dyn Observer);
            let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, watch);
            sim.run_until(u64::MAX);
            let first = sim.observer.0.hash;
            assert_eq!(first, second.hash);
            return first;
        }
        let watch = TraceHash::default();
        let mut sim = simulate(machine, Config::default(), Fcfs::default(), program, watch);
        sim.run_until(u64::MAX);
        sim.observer.hash
    };
    assert_eq!(hash(true), hash(false));
}

/// Since when each task waits for a CPU, by what else is told.
#[derive(Default)]
struct Waits {
    since: BTreeMap<Pid, Ns>,
    told: u64,
    preempted: u64,
}

impl Observer for Waits {
    fn switch(&mut self, w: &World, _cpu: CpuId, prev: TaskId, _next: TaskId) {
        if prev.is_task() && w.tasks[prev].on_rq && !w.tasks[prev].sched_delayed {
            self.since.insert(w.tasks[prev].pid, w.now);
            self.preempted += 1;
        }
    }

    fn waking(&mut self, w: &World, task: TaskId) {
        if !w.tasks[task].on_rq || w.tasks[task].sched_delayed {
            self.since.insert(w.tasks[task].pid, w.now);
        }
    }

    fn enqueued(&mut self, w: &World, _cpu: CpuId, task: TaskId) {
        self.since.entry(w.tasks[task].pid).or_insert(w.now);
    }

    fn waited_for_cpu(&mut self, w: &World, cpu: CpuId, task: TaskId, prev: TaskId, ns: Ns) {
        let since = self.since.remove(&w.tasks[task].pid);
        assert_eq!(since, Some(w.now - ns), "{task:?} on {cpu} after {prev:?}");
        assert!(w.cpus[cpu].curr == task && task != prev);
        self.told += 1;
    }
}

#[test]
fn a_wait_for_a_cpu_lasts_from_being_runnable_to_running_wherever_it_is_moved() {
    fn check<P: Policy>(policy: P, machine: &Machine) {
        let config = kernel_build::Config {
            objects: 60,
            directories: 12,
            work_s: 3.0,
            link_s: 0.1,
            prepare_s: 0.1,
            ..Default::default()
        };
        let (program, watch) = (KernelBuild::new(config), Waits::default());
        let mut sim = simulate(machine.clone(), Config::default(), policy, program, watch);
        assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
        assert!(sim.observer.told > 300 && sim.observer.preempted > 10, "{}", sim.observer.told);
    }
    let spec = RegularSpec { cores_per_llc: 2, llcs_per_socket: 2, ..RegularSpec::default() };
    let machine = Machine::regular(spec);
    let features = Features { swqueue: true, ..Features::default() };
    check(Fair::new(features, Tunables::for_cpus(machine.n_cpus())), &machine);
    check(test_support::eevdf(Rules::V6_12, 0, machine.n_cpus()), &machine);
    check(Fcfs::default(), &machine);
}

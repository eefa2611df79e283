//! The kernel build: its work, and which process wakes which.

use policies::fcfs::Fcfs;
use sim_core::{Config, NoObserver, Ns, Observer, SleepState, StopReason, TaskId, World};
use std::collections::{HashMap, HashSet};
use test_support::{free_machine, simulate};
use topology::CpuId;
use workloads::kernel_build::{self, KernelBuild};

/// The plan's sum of what all processes take is what they take.
#[test]
fn a_build_works_as_long_as_it_was_asked_to() {
    let config = kernel_build::Config {
        jobs: 1,
        objects: 300,
        directories: 200,
        work_s: 100.0,
        ..kernel_build::Config::default()
    };
    let (mut machine, policy) = (free_machine(1), Fcfs::default());
    machine.caches.l3_hit_ns = 0;
    let build = KernelBuild::new(config);
    let mut sim = simulate(machine, Config::default(), policy, build, NoObserver);
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    let elapsed_s = sim.w.now as f64 * 1e-9;
    // The top directory is no target of another make.
    assert!((elapsed_s / 100.0 - 1.0).abs() < 1e-5, "{elapsed_s} s");
}

/// Watches the processes of a build.
#[derive(Default)]
struct Watch {
    /// The last child of each process.
    child: HashMap<TaskId, TaskId>,
    /// The parent that sleeps until that child has memory of its own.
    in_vfork: HashSet<TaskId>,
    /// When a make went to sleep, as a number.
    slept: HashMap<TaskId, usize>,
    n_slept: usize,
    /// Tasks that a make has woken since it forked or slept, in order.
    herds: HashMap<TaskId, Vec<TaskId>>,
    largest_herd: usize,
    n_vforks: u32,
    /// Since when a make runs that was woken for a token and has not found work.
    looks: HashMap<TaskId, Ns>,
    n_in_vain: u32,
    /// Children of makes, and the most of their recipes that were under way at once.
    children: Vec<TaskId>,
    most_at_once: usize,
}

impl Watch {
    /// A token that comes back wakes the makes that wait for one.
    fn token(&mut self, waker: TaskId, task: TaskId) {
        let herd = self.herds.entry(waker).or_default();
        if let Some(last) = herd.last() {
            assert!(self.slept[&task] < self.slept[last], "who slept last is woken first");
        }
        herd.push(task);
        self.largest_herd = self.largest_herd.max(herd.len());
    }
}

fn is(w: &World, task: TaskId, comms: &[&str]) -> bool {
    comms.contains(&w.comms[usize::from(w.tasks[task].attr.comm)].as_str())
}

impl Observer for Watch {
    fn fork(&mut self, w: &World, _cpu: CpuId, parent: TaskId, child: TaskId) {
        self.herds.remove(&parent);
        self.looks.remove(&parent);
        self.child.insert(parent, child);
        // An id may be used again.
        self.children.retain(|c| *c != child && !w.tasks[*c].exiting);
        if is(w, parent, &["make"]) {
            self.children.push(child);
            let at_once = self.children.iter().filter(|c| is(w, **c, &["sh"])).count();
            self.most_at_once = self.most_at_once.max(at_once);
        }
    }

    fn switch(&mut self, w: &World, _cpu: CpuId, _prev: TaskId, next: TaskId) {
        self.looks.entry(next).and_modify(|since| *since = w.now);
    }

    fn dequeue(&mut self, w: &World, _cpu: CpuId, task: TaskId) {
        self.herds.remove(&task);
        if w.tasks[task].sleeps == SleepState::Uninterruptible {
            self.in_vfork.insert(task);
        }
        if let Some(since) = self.looks.remove(&task) {
            assert!(w.now - since > 1000, "a look takes time");
            self.n_in_vain += 1;
        }
        self.slept.insert(task, self.n_slept);
        self.n_slept += 1;
    }

    fn waking(&mut self, w: &World, task: TaskId) {
        let waker = w.cpus[w.this].curr;
        let exiting = w.tasks[waker].exiting;
        if self.in_vfork.remove(&task) {
            assert!(waker == self.child[&task] && !exiting, "vfork ends by the exec");
            self.n_vforks += 1;
        } else if is(w, task, &["make"]) && !exiting {
            assert!(is(w, waker, &["make"]));
            self.token(waker, task);
            self.looks.insert(task, w.now);
        }
    }
}

#[test]
fn parents_sleep_in_vfork_and_a_token_wakes_every_make_that_waits() {
    let config = kernel_build::Config {
        jobs: 8,
        objects: 200,
        directories: 20,
        work_s: 80.0,
        prepare_s: 0.1,
        ..kernel_build::Config::default()
    };
    let build = KernelBuild::new(config);
    // One CPU: a make that looks for a token is asleep before the next one looks.
    let (machine, policy) = (free_machine(1), Fcfs::default());
    let mut sim = simulate(machine, Config::default(), policy, build, Watch::default());
    assert_eq!(sim.run_until(u64::MAX), StopReason::Done);
    let watch = &sim.observer;
    // Per object all but the two pipelines' four; per directory make, shell and ar.
    assert_eq!(watch.n_vforks, 200 * (19 - 4) + 20 * 3 - 1);
    assert_eq!(watch.most_at_once, 8 - 1, "beside the one that is forked");
    assert!((3..8).contains(&watch.largest_herd), "{}", watch.largest_herd);
    assert!(watch.n_in_vain > 30, "{}", watch.n_in_vain);
}

//! The parts of waits add up to what is measured otherwise.

use super::super::tests::spec;
use super::super::{RunSpec, run_watched};
use crate::latency::{Beyond, Cause, Hold, Latencies, LatencyQuestion};
use sim_core::{Ns, Observer, PerTask, TaskId, World};

/// More make jobs than CPUs.
const BUILD: &str = "kind = \"kernel-build\"\nwork_seconds = 3\nobjects = 300\njobs = 12";
/// More tasks that sleep and wake than CPUs.
const SHORT: &str = "kind = \"short\"\ntasks = 24\nrun_ns = 20000\nsleep_ns = 50000";
/// Idle times that are not worth a balance.
const NET: &str = "kind = \"netperf\"\ntest = \"UDP_RR\"\nclients = 7\nservice_ns = 2000";
/// Workers that may not leave their LLC, and those that wait for them.
const CRYPT: &str = "kind = \"dm-crypt\"\nnumjobs = 2\nhash_mb_s = 590\ncrypt_mb_s = 234";

const STALL_NS: Ns = 1_000_000_000;

fn explain(spec: &RunSpec, beyond: Beyond) -> Latencies {
    spec.explain_latency(&LatencyQuestion { beyond, stall_ns: STALL_NS }, &|_| ()).unwrap()
}

fn held(x: &Latencies, hold: Hold) -> Ns {
    x.held.iter().filter(|row| row.hold == hold).map(|row| row.ns).sum()
}

/// The twin: asks at each event who waits, and who is on their CPUs.
#[derive(Default)]
struct Naive {
    last: Ns,
    /// Whoever waited after the last event, and whether somebody ran on the CPU of its runqueue.
    waiting: Vec<(TaskId, bool)>,
    /// Of each task: time on runqueues in this wait, behind somebody and behind nobody, ns.
    on_rq: PerTask<[Ns; 2]>,
    /// The same of all wake-ups that have ended.
    woken: [Ns; 2],
    delay_ns: Ns,
    n: u64,
}

impl Naive {
    fn add(&mut self, now: Ns) {
        let ns = now - std::mem::replace(&mut self.last, now);
        for (p, behind_somebody) in &self.waiting {
            self.on_rq.cover(*p, || [0; 2]);
            self.on_rq[*p][usize::from(!behind_somebody)] += ns;
        }
        self.waiting.clear();
    }
}

impl Observer for Naive {
    fn waking(&mut self, w: &World, p: TaskId) {
        self.add(w.now);
        if !w.tasks[p].on_rq || w.tasks[p].sched_delayed {
            self.on_rq.cover(p, || [0; 2]);
            self.on_rq[p] = [0; 2];
        }
    }

    fn sched_delay(&mut self, w: &World, p: TaskId, ns: Ns) {
        self.add(w.now);
        self.on_rq.cover(p, || [0; 2]);
        let parts = std::mem::take(&mut self.on_rq[p]);
        self.woken = [self.woken[0] + parts[0], self.woken[1] + parts[1]];
        (self.delay_ns, self.n) = (self.delay_ns + ns, self.n + 1);
    }

    fn measurement_begins(&mut self, _w: &World) {
        (self.woken, self.delay_ns, self.n) = ([0; 2], 0, 0);
    }

    fn after_event(&mut self, w: &World) {
        self.add(w.now);
        for p in w.tasks.ids() {
            let t = &w.tasks[p];
            let curr = w.cpus[t.cpu].curr;
            if t.on_rq && !t.sched_delayed && !t.throttled && curr != p {
                self.waiting.push((p, curr != TaskId::IDLE));
            }
        }
    }
}

/// All wake-ups of a run: their parts are those of the twin, and their sum is the metric's.
fn checked(spec: &RunSpec) -> Latencies {
    let x = explain(spec, Beyond::Time(0));
    let mut naive = Naive::default();
    let output = run_watched(spec, &mut naive, &|_| ()).unwrap();
    let woken = x.causes[Cause::Woken as usize];
    assert_eq!((woken.n, woken.total_ns), (naive.n, naive.delay_ns));
    let mean = output.metrics.iter().find(|m| m.name == "wakeup_latency_mean").unwrap().value;
    assert_eq!(mean, woken.total_ns as f64 / woken.n.max(1) as f64 * 1e-3);
    assert!(x.n_slow <= woken.n && x.slow_ns == woken.total_ns, "{x:?}");
    assert_eq!(x.held.iter().map(|row| row.ns).sum::<Ns>(), x.slow_ns);
    let on_rq = held(&x, Hold::Busy) + held(&x, Hold::Idled);
    assert_eq!(x.pairs.iter().map(|pair| pair.ns).sum::<Ns>(), on_rq);
    let behind_nobody = x.pairs.iter().filter(|p| p.runner.is_empty()).map(|p| p.ns).sum::<Ns>();
    assert_eq!([on_rq - behind_nobody, behind_nobody], naive.woken);
    for cause in Cause::ALL {
        let times = x.causes[cause as usize];
        assert!(times.percentiles_ns.is_sorted() && times.percentiles_ns[3] <= times.max_ns);
    }
    let waits: u64 = x.causes.iter().map(|times| times.n).sum();
    let all: u64 = x.causes.iter().map(|times| times.total_ns).sum();
    let of = |name: &str| output.metrics.iter().find(|m| m.name == name).unwrap().value;
    assert_eq!(of("runqueue_wait_mean"), all as f64 / waits.max(1) as f64 * 1e-3);
    stories_add_up(&x);
    x
}

fn stories_add_up(x: &Latencies) {
    assert_eq!(x.slowest.len() as u64, x.n_slow.min(10));
    assert!(x.slowest.is_sorted_by(|a, b| a.ns >= b.ns));
    for s in &x.slowest {
        let behind: Ns = s.behind.iter().map(|b| b.ns).sum();
        assert_eq!(s.ns, s.way_ns + s.moving_ns + s.throttled_ns + behind, "{s:?}");
        let left: Ns = s.left.iter().map(|l| l.ns).sum();
        assert!(left <= behind && !s.stays.is_empty(), "{s:?}");
        assert_eq!(s.stays.last().unwrap().cpu, s.cpu);
        assert!(s.behind.iter().all(|b| s.stays.iter().any(|stay| stay.cpu == b.cpu)), "{s:?}");
    }
}

#[test]
fn all_time_of_all_wake_ups_is_charged_once() {
    for policy in ["cfs", "eevdf", "fifo", "llc-fifo", "fcfs"] {
        for load in [BUILD, SHORT, NET, CRYPT] {
            let x = checked(&spec(policy, "", load));
            assert!(x.n_slow > 50, "{policy} {load}: {x:?}");
        }
    }
}

#[test]
fn with_a_shared_wakequeue_and_with_groups_too() {
    for load in [BUILD, SHORT] {
        checked(&spec("cfs", "features = [\"SWQUEUE\"]", load));
    }
    let grouped = format!("{SHORT}\ncpu_weight = 50\ncpu_max = 10_000\ncpu_max_period = 20_000");
    let x = checked(&spec("eevdf", "", &grouped));
    assert!(held(&x, Hold::Throttled) > x.slow_ns / 10, "{x:?}");
}

#[test]
fn slow_are_those_beyond_the_percentile_of_the_same_run() {
    let spec = spec("cfs", "", SHORT);
    let (all, slow) = (explain(&spec, Beyond::Time(0)), explain(&spec, Beyond::DEFAULT));
    assert_eq!(all.causes, slow.causes);
    let woken = all.causes[Cause::Woken as usize];
    assert_eq!(slow.beyond_ns, woken.percentiles_ns[2]);
    let share = slow.n_slow as f64 / woken.n as f64;
    assert!((0.005..=0.01).contains(&share), "{share}");
    assert_eq!(slow.slowest, all.slowest);
    assert!(slow.slowest.iter().all(|s| s.ns > slow.beyond_ns));
    assert!(slow.n_slow * slow.beyond_ns < slow.slow_ns);
}

/// Five tasks to a CPU, each of which keeps it for 20 ms in the mean.
#[test]
fn a_stall_that_has_ended_counts_too() {
    let load = "kind = \"short\"\ntasks = 40\nrun_ns = 20_000_000\nsleep_ns = 1_000_000";
    let mut spec = spec("fcfs", "", load);
    spec.until = crate::Until::Time(STALL_NS);
    let question = LatencyQuestion { beyond: Beyond::DEFAULT, stall_ns: 60_000_000 };
    let x = spec.explain_latency(&question, &|_| ()).unwrap();
    assert!(x.n_stalls > 16 && x.stalls.len() == 16, "{x:?}");
    assert!(x.stalls.iter().filter(|told| !told.goes_on).count() > 8, "{x:?}");
    for told in &x.stalls {
        let behind: Ns = told.behind.iter().map(|b| b.ns).sum();
        assert!(told.ns > question.stall_ns && behind > told.ns * 9 / 10, "{told:?}");
    }
    // What a plain run keeps is the same.
    let output = super::super::run_unwatched(&spec, &|_| ()).unwrap();
    let kept = output.longest_waits.iter().map(|wait| (wait.ns, wait.goes_on));
    assert!(kept.eq(x.stalls.iter().map(|told| (told.ns, told.goes_on))), "{output:?}");
}

/// On a first-come-first-served CPU a task that computes on and on keeps all others waiting.
#[test]
fn a_task_that_never_runs_has_stalled() {
    let mut spec = spec("fcfs", "", "kind = \"spinners\"\ntasks = 20");
    spec.until = crate::Until::Time(2 * STALL_NS);
    let x = explain(&spec, Beyond::DEFAULT);
    let waits = x.stalls.iter().filter(|s| s.goes_on && s.ns > STALL_NS).count();
    assert!(x.n_stalls > 0 && waits == x.stalls.len(), "{x:?}");
    let told = &x.stalls[0];
    assert!(told.behind.iter().any(|b| b.runner.0 == told.task.0 && b.ns > STALL_NS), "{told:?}");
    // What a plain run keeps is the same.
    let output = super::super::run_unwatched(&spec, &|_| ()).unwrap();
    let stalled: Vec<_> = output.longest_waits.iter().filter(|wait| wait.ns > STALL_NS).collect();
    assert_eq!(stalled.len() as u64, x.n_stalls);
    assert_eq!((stalled[0].ns, stalled[0].at_ns), (told.ns, told.at_ns));
    assert!(stalled[0].goes_on && stalled[0].behind.is_some());
}

//! How long the kernel's own paths took when the recording was made, beside the machine's costs.
//!
//! A machine file may be of another kernel, clock or hypervisor than the recording, and recording
//! itself takes time. If its costs are higher than what was recorded, threads that switch often
//! have less work left than none, and take longer in the simulation than they did.
//!
//! Three paths can be seen. The end of a sleep's or a yield's `schedule()`: the task is charged in
//! `update_curr()` (`sched_stat_runtime`), then the next one is chosen, then comes `sched_switch`.
//! A wake-up that preempts its waker at once: from `sched_waking` to the switch. And a wake-up that
//! runs on another CPU at once, which preempts its current task or was idle: what that takes longer
//! is the way of an interrupt from CPU to CPU and out of a C-state, which a hypervisor makes long.

use super::event::{Event, Named, What};
use sim_core::Ns;
use std::collections::BTreeMap;
use topology::{CpuId, KernelCosts, Machine};
use workloads::replay::Paths;

/// Spans of all kinds together that end the look, and the fewest of a kind that tell something. To
/// wait for so many of each kind would be to read most recordings twice, as one kind may be rare.
const SPANS_MAX: usize = 20_000;
const SPANS_MIN: usize = 50;
/// A factor's limits: beyond them it is rather the machine file that is wrong.
const FACTOR: (f64, f64) = (0.1, 4.0);
/// A preemption from another CPU that takes longer was another one: the slice had ended, ns.
const REMOTE_MAX_NS: Ns = 100_000;

/// The median beside what was expected.
fn factor(spans: &mut [Ns], expected: Ns) -> Option<f64> {
    if expected == 0 {
        return None;
    }
    let median = median(spans)?;
    Some((median as f64 / expected as f64).clamp(FACTOR.0, FACTOR.1))
}

/// `None` of too few.
fn median(spans: &mut [Ns]) -> Option<Ns> {
    if spans.len() < SPANS_MIN {
        return None;
    }
    let middle = spans.len() / 2;
    Some(*spans.select_nth_unstable(middle).1)
}

/// Lengths of these paths, as the first events show them.
#[derive(Default)]
pub(super) struct Pace {
    /// From a sleeper's or a yielding task's charge to the switch away from it, where another task
    /// comes: before the idle task the CPU looks for work elsewhere.
    schedule: Vec<Ns>,
    /// From a wake-up to the switch from the waker to the wakee.
    wake: Vec<Ns>,
    /// From a wake-up on one CPU to the switch from a preempted task to the wakee on another.
    remote: Vec<Ns>,
    /// The same to the switch from the idle task.
    idle: Vec<Ns>,
    /// By CPU: the last one that another CPU woke to run there, and when.
    coming: BTreeMap<u32, (u32, Ns)>,
    /// The last charge and the last wake-up: where, whom and when.
    charged: Option<Place>,
    woken: Option<Place>,
}

type Place = (CpuId, u32, Ns);

impl Pace {
    /// Looks at the next event. False if enough were seen.
    pub(super) fn see(&mut self, event: &Event<'_>) -> bool {
        let same = |place: Option<Place>, task: Named<'_>| {
            let (cpu, tid, at) = place?;
            (cpu == event.cpu && tid == task.tid).then(|| event.at.saturating_sub(at))
        };
        match event.what {
            What::Runtime { task, .. } => self.charged = Some((event.cpu, task.tid, event.at)),
            What::Wake { task, target, .. } if target == event.cpu => {
                self.woken = Some((event.cpu, task.tid, event.at));
            }
            What::Wake { task, target, .. } => {
                // The second event of a wake-up is not its beginning.
                let known = self.coming.get(&target.0).is_some_and(|(tid, _)| *tid == task.tid);
                if !known {
                    self.coming.insert(target.0, (task.tid, event.at));
                }
            }
            What::Switch { prev, state, next, .. } => {
                let came_back = next.tid != 0 && prev.tid != 0;
                let preempts = came_back && state.state == b'R';
                let (charged, woken) = (self.charged.take(), self.woken.take());
                self.schedule.extend(same(charged, prev).filter(|_| came_back));
                self.wake.extend(same(woken, next).filter(|_| preempts));
                let coming = self.coming.remove(&event.cpu.0);
                let came = coming.filter(|(tid, _)| *tid == next.tid);
                let took = came.map(|(_, at)| event.at.saturating_sub(at));
                let took = took.filter(|ns| *ns < REMOTE_MAX_NS);
                self.remote.extend(took.filter(|_| preempts));
                self.idle.extend(took.filter(|_| prev.tid == 0));
            }
            _ => {}
        }
        let spans = [&self.schedule, &self.wake, &self.remote, &self.idle];
        spans.into_iter().map(Vec::len).sum::<usize>() < SPANS_MAX
    }

    /// What the events show of the machine's costs; where too little is to be seen, what the
    /// machine says.
    pub(super) fn paths(mut self, machine: &Machine) -> Paths {
        let (costs, lock) = (&machine.costs, machine.locks.fast_ns);
        let schedule = factor(&mut self.schedule, costs.pick_ns + costs.dequeue_ns + lock);
        let paced = costs.times(schedule.unwrap_or(1.0));
        // What is left of a preempting wake-up without its `schedule()`.
        let pick_ns = paced.pick_ns + lock;
        self.wake.iter_mut().for_each(|ns| *ns = ns.saturating_sub(pick_ns));
        let wake = factor(&mut self.wake, costs.enqueue_ns + lock).or(schedule).unwrap_or(1.0);
        let enqueue_ns = (costs.enqueue_ns as f64 * wake).round() as u64;
        // What the way to another CPU takes beside the paths that both CPUs walk.
        let walked = enqueue_ns + lock + pick_ns;
        let by_ipi = walked + costs.ipi_send_ns + paced.irq_ns;
        let seen = median(&mut self.remote).map_or(0, |ns| ns.saturating_sub(by_ipi));
        let ipi_delivery_ns = costs.ipi_delivery_ns.max(seen);
        let from_idle = walked + paced.idle_loop_ns;
        Paths {
            costs: KernelCosts { enqueue_ns, ipi_delivery_ns, ..paced },
            factor: schedule.unwrap_or(1.0),
            idle_wake_ns: median(&mut self.idle).map_or(0, |ns| ns.saturating_sub(from_idle)),
            ipi_is_slow: seen > costs.ipi_delivery_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::event::Left;
    use super::*;

    /// One kind of span alone ends it, so a long recording is not kept.
    #[test]
    fn the_beginning_is_enough() {
        let task = |tid| Named { comm: b"a", tid };
        let on = |cpu, at, what| Event {
            comm: b"a",
            tid: None,
            process: None,
            cpu: CpuId(cpu),
            at,
            context: None,
            what,
        };
        let left = Left { state: b'R', preempted: true };
        let mut pace = Pace::default();
        let mut enough_after = None;
        for nth in 1..=2 * SPANS_MAX {
            let at = nth as Ns * 1000;
            let woken = What::Wake { task: task(2), prio: 120, target: CpuId(1) };
            pace.see(&on(0, at, woken));
            let (prev, next) = (task(1), task(2));
            let what = What::Switch { prev, prev_prio: 120, state: left, next, next_prio: 120 };
            if !pace.see(&on(1, at + 500, what)) {
                enough_after = Some(nth);
                break;
            }
        }
        assert_eq!(enough_after, Some(SPANS_MAX));
        assert_eq!(median(&mut pace.remote), Some(500));
    }
}

//! How long the kernel's own paths took when the recording was made, beside the machine's costs.
//!
//! A machine file may be of another kernel, clock or hypervisor than the recording, and recording
//! itself takes time. If its costs are higher than what was recorded, threads that switch often
//! have less work left than none, and take longer in the simulation than they did.
//!
//! Two paths can be seen. The end of a sleep's or a yield's `schedule()`: the task is charged in
//! `update_curr()` (`sched_stat_runtime`), then the next one is chosen, then comes `sched_switch`.
//! And a wake-up that preempts its waker at once: from `sched_waking` to the switch.

use super::event::{Event, Named, What};
use sim_core::Ns;
use topology::{CpuId, KernelCosts, Machine};

/// Spans of a path that are looked at, and the fewest that tell something.
const SPANS_MAX: usize = 20_000;
const SPANS_MIN: usize = 50;
/// A factor's limits: beyond them it is rather the machine file that is wrong.
const FACTOR: (f64, f64) = (0.1, 4.0);

/// The median beside what was expected.
fn factor(spans: &mut [Ns], expected: Ns) -> Option<f64> {
    if spans.len() < SPANS_MIN || expected == 0 {
        return None;
    }
    let middle = spans.len() / 2;
    let (_, median, _) = spans.select_nth_unstable(middle);
    Some((*median as f64 / expected as f64).clamp(FACTOR.0, FACTOR.1))
}

/// Lengths of both paths, as the first events show them.
#[derive(Default)]
pub(super) struct Pace {
    /// From a sleeper's or a yielding task's charge to the switch away from it, where another task
    /// comes: before the idle task the CPU looks for work elsewhere.
    schedule: Vec<Ns>,
    /// From a wake-up to the switch from the waker to the wakee.
    wake: Vec<Ns>,
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
            What::Switch { prev, state, next, .. } => {
                let came_back = next.tid != 0 && prev.tid != 0;
                let preempts = came_back && state.state == b'R';
                let (charged, woken) = (self.charged.take(), self.woken.take());
                self.schedule.extend(same(charged, prev).filter(|_| came_back));
                self.wake.extend(same(woken, next).filter(|_| preempts));
            }
            _ => {}
        }
        self.schedule.len() + self.wake.len() < SPANS_MAX
    }

    /// The machine's costs as the events show them, and by how much `schedule()` differs: 0.5 if
    /// it took half as long; 1 if too little is to be seen.
    pub(super) fn costs(mut self, machine: &Machine) -> (KernelCosts, f64) {
        let (costs, lock) = (&machine.costs, machine.locks.fast_ns);
        let schedule = factor(&mut self.schedule, costs.pick_ns + costs.dequeue_ns + lock);
        let paced = costs.times(schedule.unwrap_or(1.0));
        // What is left of a preempting wake-up without its `schedule()`.
        let pick_ns = paced.pick_ns + lock;
        self.wake.iter_mut().for_each(|ns| *ns = ns.saturating_sub(pick_ns));
        let wake = factor(&mut self.wake, costs.enqueue_ns + lock).or(schedule).unwrap_or(1.0);
        let enqueue_ns = (costs.enqueue_ns as f64 * wake).round() as u64;
        (KernelCosts { enqueue_ns, ..paced }, schedule.unwrap_or(1.0))
    }
}

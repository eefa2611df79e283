//! How long the kernel's own paths took when the recording was made, beside the machine's costs.
//!
//! A machine file may be of another kernel, clock or hypervisor than the recording, and recording
//! itself takes time. If its costs are higher than what was recorded, threads that switch often
//! have less work left than none, and take longer in the simulation than they did.
//!
//! Four paths can be seen. The end of a sleep's or a yield's `schedule()`: the task is charged in
//! `update_curr()` (`sched_stat_runtime`), then the next one is chosen, then comes `sched_switch`.
//! A wake-up that preempts its waker at once: from `sched_waking` to the switch. And a wake-up that
//! runs on another CPU at once, which preempts its current task or was idle: what that takes longer
//! is the way of an interrupt from CPU to CPU and out of a C-state, which a hypervisor makes long.
//! And a wake-up by an interrupt on an idle CPU, which runs what it woke: there is nothing but the
//! enqueue and the choice, where a waker that is preempted has the way out of its system call, too.
//!
//! What cannot be seen is taken to be as slow as the end of `schedule()`, but not slower than the
//! quickest spans in which it lies leave room for: recording takes its time where the events are,
//! and more than what was recorded would make a replay longer than the recording.

use super::event::{Event, Named, What};
use super::reconstruct::DEQUEUE_NS;
use super::ticks::{TickTimes, Ticks};
use sim_core::{Context, Ns};
use std::collections::BTreeMap;
use topology::{CpuId, IDLE_WAKE_TIMES, KernelCosts, Machine};
use workloads::replay::{IDLE_LENGTHS_NS, Paths};

/// Spans of all kinds together that end the look, and the fewest of a kind that tell something. To
/// wait for so many of each kind would be to read most recordings twice, as one kind may be rare.
const SPANS_MAX: usize = 100_000;
const SPANS_MIN: usize = 16;
/// A factor's limits. Recording itself takes the most, more than a microsecond per event on some
/// guests, so ten times and more is no mistake.
const FACTOR: (f64, f64) = (0.1, 100.0);
/// One part in so many of spans is quick: threads have next to no work of their own there.
const QUICK_PART: usize = 10;
/// A tick takes no more than a machine's file may say: tasks need time, too.
const TICK_NS_MAX: Ns = 50_000;
/// A preemption from another CPU that takes longer was another one: the slice had ended, ns.
const REMOTE_MAX_NS: Ns = 100_000;
/// One that ends a CPU's idling and takes longer was not at once: others came before, ns.
const IDLE_MAX_NS: Ns = 1_000_000;

/// The span with one part in `part` of the others below it, beside what was expected.
fn factor(spans: &mut [Ns], part: usize, expected: Ns) -> Option<f64> {
    if expected == 0 {
        return None;
    }
    Some(clamped(quantile(spans, part)?, expected))
}

/// A span beside what was expected.
fn clamped(span: Ns, expected: Ns) -> f64 {
    (span as f64 / expected.max(1) as f64).clamp(FACTOR.0, FACTOR.1)
}

/// The way to an idle CPU, ns, and the interrupt there. Who may have polled needs neither.
fn way_to_idle(machine: &Machine) -> (Ns, Ns) {
    let costs = &machine.costs;
    match machine.cstates[0].polling {
        true => (0, 0),
        false => (costs.ipi_send_ns + costs.ipi_delivery_ns, costs.irq_ns),
    }
}

/// `None` of too few.
fn median(spans: &mut [Ns]) -> Option<Ns> {
    quantile(spans, 2)
}

/// The span with one part in `part` of the others below it; `None` of too few, and if the clock of
/// the recording is too coarse for it.
fn quantile(spans: &mut [Ns], part: usize) -> Option<Ns> {
    if spans.len() < SPANS_MIN {
        return None;
    }
    let place = spans.len() / part;
    Some(*spans.select_nth_unstable(place).1).filter(|ns| *ns > 0)
}

/// Mean lengths of equal parts of spans, from the shortest on; `None` of too few.
fn parts(spans: &mut [Ns]) -> Option<[Ns; IDLE_WAKE_TIMES]> {
    median(spans)?;
    spans.sort_unstable();
    let end = |part: usize| part * spans.len() / IDLE_WAKE_TIMES;
    let mean = |part: usize| {
        // Of few spans a part has none of its own.
        let part = &spans[end(part)..end(part + 1).max(end(part) + 1)];
        part.iter().sum::<Ns>() / part.len() as Ns
    };
    Some(std::array::from_fn(mean))
}

/// Lengths of these paths, as the first events show them.
#[derive(Default)]
pub(super) struct Pace {
    /// From a sleeper's or a yielding task's charge to the switch away from it, where another task
    /// comes: before the idle task the CPU looks for work elsewhere.
    schedule: Vec<Ns>,
    /// From a wake-up to the switch from the waker to the wakee.
    wake: Vec<Ns>,
    /// From a switch to a task to the next event there: that it wakes another one, or is charged.
    until_wake: Vec<Ns>,
    until_charge: Vec<Ns>,
    /// From a wake-up on one CPU to the switch from a preempted task to the wakee on another.
    remote: Vec<Ns>,
    /// From a wake-up by an interrupt on an idle CPU to the switch there.
    local: Vec<Ns>,
    /// From a wake-up by another CPU to the switch from the idle task, or to where the first charge
    /// begins, by how long the CPU had idled ([`IDLE_LENGTHS_NS`]).
    idle: [Vec<Ns>; IDLE_LENGTHS_NS.len()],
    /// By CPU: the last one that another CPU woke to run there, and when.
    coming: BTreeMap<u32, (u32, Ns)>,
    /// By CPU: when a task came to it, if nothing has happened there since.
    came: BTreeMap<u32, Ns>,
    /// From a switch to idle to the next one, back to the task that has just left: another CPU has
    /// woken it on its way to sleep.
    turns_back: Vec<Ns>,
    /// CPUs that idle, and since when: their last switch was to the idle task.
    idles: BTreeMap<u32, Ns>,
    /// By CPU: the task that has left to idle, and when, if nothing has happened there since.
    left: BTreeMap<u32, (u32, Ns)>,
    /// The last charge: where, whom and when.
    charged: Option<Place>,
    /// By CPU: whom it woke last to run there, and when.
    woken: BTreeMap<u32, (u32, Ns)>,
    tick_times: TickTimes,
}

type Place = (CpuId, u32, Ns);

impl Pace {
    /// Looks at the next event. False if enough were seen.
    pub(super) fn see(&mut self, event: &Event<'_>) -> bool {
        self.tick_times.see(event);
        let same = |(cpu, tid, at): Place, task: Named<'_>| {
            (cpu == event.cpu && tid == task.tid).then(|| event.at.saturating_sub(at))
        };
        if let Some(came) = self.came.remove(&event.cpu.0) {
            let span = event.at.saturating_sub(came);
            let by_interrupt = event.context.is_some_and(|context| context != Context::Task);
            match event.what {
                What::Wake { .. } if !by_interrupt => self.until_wake.push(span),
                What::Runtime { .. } => self.until_charge.push(span),
                _ => {}
            }
        }
        // An interrupt: the CPU has been out of idle. The second event of a wake-up is none.
        let tells_nothing = match event.what {
            What::Switch { .. } => true,
            What::Wake { task, .. } => self.is_coming(event.cpu, task.tid),
            _ => false,
        };
        if event.tid == Some(0)
            && !tells_nothing
            && let Some(since) = self.idles.get_mut(&event.cpu.0)
        {
            *since = event.at;
            self.left.remove(&event.cpu.0);
        }
        match event.what {
            What::Runtime { task, ns } => {
                self.charged = Some((event.cpu, task.tid, event.at));
                let coming = self.coming.get(&event.cpu.0).map(|(tid, _)| *tid);
                if coming == Some(task.tid)
                    && let Some(since) = self.idles.remove(&event.cpu.0)
                {
                    // A guest's switch from idle was not recorded: the first charge tells its time.
                    self.leaves_idle(event.cpu, task.tid, since, event.at.saturating_sub(ns));
                }
            }
            What::Wake { task, target, .. } => {
                // The second event of a wake-up is not its beginning.
                let is_same = |woken: Option<&(u32, Ns)>| woken.is_some_and(|it| it.0 == task.tid);
                let (here, coming) = (self.woken.get(&target.0), self.coming.get(&target.0));
                if !is_same(here) && !is_same(coming) {
                    let of_cpu =
                        if target == event.cpu { &mut self.woken } else { &mut self.coming };
                    of_cpu.insert(target.0, (task.tid, event.at));
                }
            }
            What::Switch { prev, state, next, .. } => {
                let from_idle = prev.tid == 0 && next.tid != 0;
                let came_back = next.tid != 0 && prev.tid != 0;
                let preempts = came_back && state.state == b'R';
                let since_charge = self.charged.take().and_then(|place| same(place, prev));
                self.schedule.extend(since_charge.filter(|_| came_back));
                let woken = self.woken.remove(&event.cpu.0).filter(|(tid, _)| *tid == next.tid);
                let took = woken.map(|(_, at)| event.at.saturating_sub(at));
                self.wake.extend(took.filter(|_| preempts));
                self.local.extend(took.filter(|ns| from_idle && *ns < REMOTE_MAX_NS));
                let idled_since = self.idles.remove(&event.cpu.0);
                if next.tid == 0 {
                    self.idles.insert(event.cpu.0, event.at);
                    self.left.insert(event.cpu.0, (prev.tid, event.at));
                    self.forget_unless_on_its_way(event, prev, since_charge);
                } else {
                    self.came.insert(event.cpu.0, event.at);
                }
                if let Some(since) = idled_since.filter(|_| prev.tid == 0) {
                    self.leaves_idle(event.cpu, next.tid, since, event.at);
                } else if next.tid != 0 {
                    let took = self.took(event.cpu, next.tid, event.at);
                    self.remote.extend(took.filter(|ns| preempts && *ns < REMOTE_MAX_NS));
                }
            }
            _ => {}
        }
        let spans = [&self.schedule, &self.wake, &self.remote, &self.local];
        spans.into_iter().chain(&self.idle).map(Vec::len).sum::<usize>() < SPANS_MAX
    }

    /// True if another CPU has woken this task to run there, and it has not come yet.
    fn is_coming(&self, cpu: CpuId, tid: u32) -> bool {
        self.coming.get(&cpu.0).is_some_and(|(coming, _)| *coming == tid)
    }

    /// A task leaves its CPU to idle, so long after its last charge. Whoever was to come there has
    /// not. Only the task itself may come: if it was woken as it went to sleep; one that was woken
    /// before that had no need to sleep.
    fn forget_unless_on_its_way(&mut self, event: &Event<'_>, prev: Named<'_>, since: Option<Ns>) {
        let from = event.at.saturating_sub(since.unwrap_or(0) + DEQUEUE_NS);
        let cpu = event.cpu.0;
        if !self.coming.get(&cpu).is_some_and(|(tid, at)| *tid == prev.tid && *at >= from) {
            self.coming.remove(&cpu);
        }
    }

    /// A CPU that has idled since then runs a task at this instant.
    fn leaves_idle(&mut self, cpu: CpuId, tid: u32, since: Ns, at: Ns) {
        let took = self.took(cpu, tid, at).filter(|ns| (1..IDLE_MAX_NS).contains(ns));
        let left = self.left.remove(&cpu.0).filter(|(left, _)| *left == tid);
        let Some(took) = took else {
            return;
        };
        // Who was woken before the CPU idled has waited for its last task as well.
        if at - took < since {
            let turned = left.map(|(_, left_at)| at.saturating_sub(left_at));
            return self.turns_back.extend(turned.filter(|ns| *ns < REMOTE_MAX_NS));
        }
        let idled = at - took - since;
        let kind = IDLE_LENGTHS_NS.iter().rposition(|length| *length <= idled);
        self.idle[kind.unwrap_or(0)].push(took);
    }

    /// From a wake-up to the first step out of idle, by how long the CPU had idled.
    fn idle_wakes(&mut self, from_idle: Ns) -> [[Ns; IDLE_WAKE_TIMES]; IDLE_LENGTHS_NS.len()] {
        let mut of_any: Vec<Ns> = self.idle.iter().flatten().copied().collect();
        let [shortest, ..] = &mut self.idle;
        let mut least =
            parts(shortest).or_else(|| parts(&mut of_any)).unwrap_or([0; IDLE_WAKE_TIMES]);
        self.idle.each_mut().map(|spans| {
            if let Some(times) = parts(spans) {
                least = std::array::from_fn(|part| least[part].max(times[part]));
            }
            least.map(|ns| ns.saturating_sub(from_idle))
        })
    }

    /// From the switch to idle to the first step back, of a task that was woken on its way.
    fn turns_back_ns(&mut self, walked: Ns) -> Option<[Ns; IDLE_WAKE_TIMES]> {
        Some(parts(&mut self.turns_back)?.map(|ns| ns.saturating_sub(walked)))
    }

    /// What a quick wake-up of a CPU takes that has just begun to idle.
    fn quick_idle_wake(&mut self) -> Option<Ns> {
        quantile(self.idle.first_mut()?, QUICK_PART)
    }

    /// From the wake-up by another CPU to this instant, at which this task runs.
    fn took(&mut self, cpu: CpuId, tid: u32, until: Ns) -> Option<Ns> {
        let (_, at) = self.coming.remove(&cpu.0).filter(|(coming, _)| *coming == tid)?;
        Some(until.saturating_sub(at))
    }

    /// The recording's ticks, if its beginning shows them.
    pub(super) fn ticks(&self) -> Option<Ticks> {
        self.tick_times.ticks()
    }

    /// The largest factor of what a switch and the beginning of a wake-up cost that the quickest
    /// spans have room for.
    fn most_of_others(&mut self, costs: &KernelCosts, schedule: f64) -> f64 {
        let switch_ns = costs.switch_ns + costs.mm_switch_ns;
        let charge = factor(&mut self.until_charge, QUICK_PART, switch_ns);
        let wake = factor(&mut self.until_wake, QUICK_PART, switch_ns + costs.ttwu_fixed_ns);
        // Who turns back from idle is switched out, enqueued and chosen again.
        let pick_ns = costs.times(schedule).pick_ns;
        let quick = quantile(&mut self.turns_back, QUICK_PART);
        let room = quick.and_then(|ns| ns.checked_sub(pick_ns)).filter(|ns| *ns > 0);
        let turn = room.map(|ns| clamped(ns, costs.switch_ns + costs.enqueue_ns));
        [charge, wake, turn].into_iter().flatten().fold(f64::MAX, f64::min)
    }

    /// What the events show of the machine's costs; where too little is to be seen, what the
    /// machine says. With the rate of their ticks.
    pub(super) fn paths(mut self, machine: &Machine, hz: Option<u32>) -> Paths {
        let (costs, lock) = (&machine.costs, machine.locks.fast_ns);
        let schedule = factor(&mut self.schedule, 2, costs.pick_ns + costs.dequeue_ns + lock);
        // The paths that cannot be seen took no longer than the spans in which they lie.
        let others =
            schedule.map_or(1.0, |schedule| schedule.min(self.most_of_others(costs, schedule)));
        let schedule = schedule.unwrap_or(1.0);
        let (seen, unseen) = (costs.times(schedule), costs.times(others));
        let pick_ns = seen.pick_ns + lock;
        let (wake, local) = self.wake_factors(machine, pick_ns);
        let enqueue_ns = costs.times(wake.unwrap_or(schedule)).enqueue_ns;
        let enqueue_ns = enqueue_ns.min(self.most_of_enqueue_ns(machine, pick_ns));
        let walked = pick_ns + enqueue_ns + lock;
        let (irq, idle) = self.interrupt_factors(machine, walked, local.unwrap_or(others));
        let paced = KernelCosts {
            pick_ns: seen.pick_ns,
            dequeue_ns: seen.dequeue_ns,
            enqueue_ns,
            idle_loop_ns: costs.times(idle).idle_loop_ns,
            // What else an interrupt does may follow a wake-up, too.
            irq_ns: costs.times(irq.min(others)).irq_ns,
            tick_ns: unseen.tick_ns.min(TICK_NS_MAX),
            ..unseen
        };
        let (ipi_delivery_ns, busy_ipi_ns) = self.ipi_ns(machine, &paced, walked);
        Paths {
            idle_wakes_ns: self.idle_wakes(walked + paced.idle_loop_ns),
            turns_back_ns: self.turns_back_ns(walked + paced.switch_ns),
            costs: KernelCosts { ipi_delivery_ns, ..paced },
            factor: schedule,
            others,
            busy_ipi_ns,
            ipi_is_slow: ipi_delivery_ns + busy_ipi_ns > costs.ipi_delivery_ns,
            hz,
        }
    }

    /// How many times as long as the machine says a wake-up takes without its `schedule()`, of
    /// which `pick_ns` are seen, and what the interrupt of a wake-up on an idle CPU takes.
    fn wake_factors(&mut self, machine: &Machine, pick_ns: Ns) -> (Option<f64>, Option<f64>) {
        let costs = &machine.costs;
        let without_pick = |spans: &mut [Ns], expected: Ns| {
            spans.iter_mut().for_each(|ns| *ns = ns.saturating_sub(pick_ns));
            factor(spans, QUICK_PART, expected)
        };
        let enqueue_ns = costs.enqueue_ns + machine.locks.fast_ns;
        let local_ns = enqueue_ns + costs.idle_loop_ns + costs.irq_ns / 2;
        let preempting = without_pick(&mut self.wake, enqueue_ns);
        let local = without_pick(&mut self.local, local_ns);
        ([preempting, local].into_iter().flatten().reduce(f64::min), local)
    }

    /// The longest enqueue for which a quick wake-up of an idle CPU has room, ns: who preempts its
    /// waker, or was woken by an interrupt, waits for the way out of that as well. Out of idle it
    /// takes an interrupt and its CPU's loop, too, to which their shares are left.
    fn most_of_enqueue_ns(&mut self, machine: &Machine, pick_ns: Ns) -> Ns {
        let (costs, lock) = (&machine.costs, machine.locks.fast_ns);
        let Some(quick_ns) = self.quick_idle_wake() else {
            return Ns::MAX;
        };
        let (way_ns, irq_ns) = way_to_idle(machine);
        // What leaves no room is no measure of it.
        let Some(room) = quick_ns.checked_sub(pick_ns + way_ns + lock).filter(|ns| *ns > 0) else {
            return Ns::MAX;
        };
        let all = costs.enqueue_ns + irq_ns + costs.idle_loop_ns;
        (room * costs.enqueue_ns)
            .checked_div(all)
            .unwrap_or(room)
            .max(costs.times(FACTOR.0).enqueue_ns)
    }

    /// How many times as long an interrupt takes, and the way out of idle: no longer than a quick
    /// wake-up of an idle CPU has room for beside `walked` ns of paths. Where that CPU may have
    /// polled, nothing tells of the interrupt, and `local` stands.
    fn interrupt_factors(&mut self, machine: &Machine, walked: Ns, local: f64) -> (f64, f64) {
        let (costs, polls) = (&machine.costs, machine.cstates[0].polling);
        let (way_ns, irq_ns) = way_to_idle(machine);
        let room =
            |ns: Ns| clamped(ns.saturating_sub(walked + way_ns), irq_ns + costs.idle_loop_ns);
        let idle = local.min(self.quick_idle_wake().map_or(f64::MAX, room));
        (if polls { local } else { idle }, idle)
    }

    /// What an interrupt takes to another CPU beside the paths that both CPUs walk, and what more
    /// to a busy one, ns. What is to preempt a task may find interrupts off, or a system call that
    /// has to end.
    fn ipi_ns(&mut self, machine: &Machine, paced: &KernelCosts, walked: Ns) -> (Ns, Ns) {
        let first = &machine.cstates[0];
        let by_ipi = walked + machine.costs.ipi_send_ns + paced.irq_ns;
        let exit_ns = if first.polling { 0 } else { first.exit_ns };
        let from_idle = by_ipi + paced.idle_loop_ns + exit_ns;
        let to_busy = median(&mut self.remote).map(|ns| ns.saturating_sub(by_ipi));
        let to_idle = self.quick_idle_wake().map(|ns| ns.saturating_sub(from_idle));
        let seen = to_busy.into_iter().chain(to_idle).min();
        let delivery_ns = machine.costs.ipi_delivery_ns.max(seen.unwrap_or(0));
        (delivery_ns, to_busy.unwrap_or(0).saturating_sub(delivery_ns))
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

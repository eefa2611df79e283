//! The machine's own costs. The simulation adds them again, so a replay must not count them twice.

use sim_core::Ns;
use topology::Machine;

/// What the simulation adds to the work of threads, ns each.
pub(super) struct Costs {
    pub switch: Ns,
    pub mm_switch: Ns,
    pub pick: Ns,
    pub sleep: Ns,
    pub wake_before: Ns,
    pub wake_after: Ns,
    /// What a waker saves of that if the woken task's CPU idles: that one enqueues it.
    pub wake_list: Ns,
    pub fork: Ns,
    /// From an interrupt to the wake-up that it brings.
    pub irq_before: Ns,
    /// From that wake-up to the switch, if it comes at once: on a busy CPU, and on an idle one.
    pub irq_preempts: Ns,
    pub from_idle: Ns,
    /// The way into an interrupt and out of it.
    pub irq: Ns,
    /// Idle lengths, ascending, and what a CPU takes out of idle from each of them on.
    idle_exits: Vec<(Ns, Ns)>,
    /// Between two ticks.
    pub tick_period: Ns,
    /// Share of a busy CPU's time that ticks take, in 1/65536.
    ticks: u64,
}

impl Costs {
    pub(super) fn new(machine: &Machine) -> Self {
        let (c, lock) = (&machine.costs, machine.locks.fast_ns);
        let state = &machine.cstates[0];
        let way = if state.polling { 0 } else { c.ipi_ns() };
        let wakes = machine.idle_wakes.iter();
        let exit = |wake_ns: Ns| wake_ns.saturating_sub(way).max(state.exit_ns);
        let by_length = wakes.map(|wake| (wake.idle_ns, exit(wake.typical_ns())));
        let irq_preempts = c.enqueue_ns + c.irq_ns / 2 + c.pick_ns + 2 * lock;
        Self {
            idle_exits: [(0, state.exit_ns)].into_iter().chain(by_length).collect(),
            switch: c.switch_ns,
            mm_switch: c.mm_switch_ns,
            pick: c.pick_ns + lock,
            sleep: c.pick_ns + c.dequeue_ns + lock,
            wake_before: c.ttwu_fixed_ns,
            wake_after: c.enqueue_ns + lock,
            wake_list: (c.enqueue_ns + lock).saturating_sub(c.ipi_send_ns),
            fork: c.fork_ns,
            irq_before: c.irq_ns - c.irq_ns / 2 + c.ttwu_fixed_ns,
            irq_preempts,
            from_idle: irq_preempts + c.idle_loop_ns,
            irq: c.irq_ns,
            tick_period: machine.tick_ns(),
            ticks: (c.tick_ns << 16) / machine.tick_ns(),
        }
    }

    /// What a CPU has taken out of idle at the end of so long a stay, its way out included, ns.
    pub(super) fn idle_exit(&self, stay: Ns) -> Ns {
        let fits = |(length, exit): &&(Ns, Ns)| length + exit <= stay;
        let exit = self.idle_exits.iter().rev().find(fits);
        exit.map_or(stay, |(_, exit_ns)| *exit_ns)
    }

    pub(super) fn without_ticks(&self, ns: Ns) -> Ns {
        ns.saturating_sub(((u128::from(ns) * u128::from(self.ticks)) >> 16) as Ns)
    }
}

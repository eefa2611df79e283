//! How long a CPU takes out of idle: what its core and its package let each other do.

use crate::cpu::{Base, Irq};
use crate::{Ns, World, stir};
use topology::{CpuId, CpuPlace, IDLE_WAKE_TIMES};

/// One of the times of an idle CPU's wake-up.
fn drawn(cpu: CpuId, idle_since: Ns) -> usize {
    (stir(idle_since ^ u64::from(cpu.0) << 48) % IDLE_WAKE_TIMES as u64) as usize
}

/// Who makes a CPU leave idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum IdleEnd {
    /// Another CPU, by a store that the idle loop polls.
    Store,
    /// Another CPU, by its interrupt.
    Interrupt,
    /// A timer, a device, or the tick.
    Own,
}

impl World {
    /// How long `cpu` takes out of idle, which it leaves now, ns.
    ///
    /// Before the C-state is reached there is nothing to leave: the idle loop still polls. (What a
    /// recording shows of wake-ups by other CPUs is of these, too.)
    pub(super) fn idle_left_in_ns(&self, cpu: CpuId) -> Ns {
        if self.now >= self.cpus[cpu].cstate_from {
            return self.idle_exit_ns(cpu);
        }
        match self.idle_ends_by(cpu) {
            IdleEnd::Own => 0,
            IdleEnd::Store | IdleEnd::Interrupt => self.idle_wake_ns(cpu),
        }
    }

    /// How long `cpu`, which was told before it idled, takes to turn back, ns. It has not been
    /// through the idle loop, and what it takes was recorded as a whole.
    #[cold]
    pub(super) fn turned_back_in_ns(&self, cpu: CpuId) -> Option<Ns> {
        let c = &self.cpus[cpu];
        let times = self.machine.turns_back_ns.as_deref()?;
        (c.told_at == c.idle_since).then(|| times[drawn(cpu, c.idle_since)])
    }

    /// How long `cpu` takes out of the C-state it sits in, ns.
    ///
    /// The governor asks for a state of one CPU; the hardware sleeps by cores and packages (Intel,
    /// datasheets of Xeon E3-1200 v3, 4.2.4 and 4.2.5; `intel_idle: Adjust the SKX C6 parameters if
    /// PC6 is disabled`, Linux 64233338499126). A core is as awake as its most awake thread. While
    /// another core of the package is awake, the package does not sleep: what is left is the exit
    /// of the core alone. A package that is on its way counts as awake.
    fn idle_exit_ns(&self, cpu: CpuId) -> Ns {
        let own = self.reached(cpu).unwrap_or(0);
        let of_core = self.siblings[cpu].iter().map(|&s| self.reached(s).unwrap_or(0));
        let state = of_core.fold(own, u8::min);
        let cstate = &self.machine.cstates[state as usize];
        let depends = cstate.core_exit_ns < cstate.exit_ns;
        let exit_ns = if depends && self.package_is_awake(cpu, state) {
            cstate.core_exit_ns
        } else {
            cstate.exit_ns
        };
        exit_ns.max(self.core_leaves_in(cpu)).max(self.idle_wake_ns(cpu))
    }

    /// What the length of its stay in idle makes `cpu` take at least until it is out, ns.
    ///
    /// Whom another CPU wakes waits for this one, now longer, now shorter. The CPU and the instant
    /// at which it began to idle choose the time, so that no generator has to be kept. What a timer
    /// or a device ends varies as well, but there a recorded sleep was as much longer, and is so in
    /// its replay.
    fn idle_wake_ns(&self, cpu: CpuId) -> Ns {
        let c = &self.cpus[cpu];
        let length = self.now.saturating_sub(c.idle_since);
        let wakes = &self.machine.idle_wakes;
        let Some(wake) = wakes.iter().rev().find(|wake| wake.idle_ns <= length) else {
            return 0;
        };
        let end = self.idle_ends_by(cpu);
        let wake_ns = match end {
            IdleEnd::Own => wake.typical_ns(),
            IdleEnd::Store | IdleEnd::Interrupt => wake.wakes_ns[drawn(cpu, c.idle_since)],
        };
        // The way of an interrupt is a part of the recorded time, and costs its own time.
        let polls = self.machine.cstates[c.cstate as usize].polling;
        let has_way = end != IdleEnd::Store && !polls;
        wake_ns.saturating_sub(if has_way { self.machine.costs.ipi_ns() } else { 0 })
    }

    /// Who makes `cpu` leave idle at this instant.
    fn idle_ends_by(&self, cpu: CpuId) -> IdleEnd {
        let came = |irq: Irq| self.cpus[cpu].irq_at[irq as usize] <= self.now;
        if came(Irq::Resched) || came(Irq::Call) {
            IdleEnd::Interrupt
        } else if came(Irq::Poll) {
            IdleEnd::Store
        } else {
            IdleEnd::Own
        }
    }

    /// The C-state `cpu` has reached; `None` if it is awake.
    fn reached(&self, cpu: CpuId) -> Option<u8> {
        let c = &self.cpus[cpu];
        (c.base == Base::Idle && self.now >= c.cstate_from).then_some(c.cstate)
    }

    /// Is a CPU of another core in the package of `cpu` in no state as deep as `state`?
    fn package_is_awake(&self, cpu: CpuId, state: u8) -> bool {
        let places = &self.machine.cpus;
        let (core, socket) = (places[cpu].core, places[cpu].socket);
        let is_other = |p: &CpuPlace| p.socket == socket && p.core != core;
        let mut others = places.entries().filter(|(_, place)| is_other(place));
        others.any(|(other, _)| self.reached(other).is_none_or(|reached| reached < state))
    }

    /// How long it takes until the core of `cpu` is awake, if a sibling is on its way, ns.
    fn core_leaves_in(&self, cpu: CpuId) -> Ns {
        let leaves = |s: &&CpuId| self.cpus[**s].base == Base::Leaving;
        let at = self.siblings[cpu].iter().filter(leaves).map(|&s| self.cpus[s].base_end).max();
        at.map_or(0, |at| at.saturating_sub(self.now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use std::sync::Arc;
    use topology::{CState, IdleWake, Machine, RegularSpec};

    /// Two sockets of two cores with two threads each, all in C6.
    fn asleep() -> World {
        let state = |name: &str, exit_ns, core_exit_ns| CState {
            name: name.into(),
            exit_ns,
            core_exit_ns,
            residency_ns: 0,
            polling: true,
        };
        let cstates = vec![
            state("C1", 2_000, 2_000),
            state("C1E", 10_000, 10_000),
            state("C6", 133_000, 92_000),
        ];
        let spec = RegularSpec { sockets: 2, cores_per_llc: 2, cstates, ..RegularSpec::default() };
        let mut w = World::new(Arc::new(Machine::regular(spec)), Config::default());
        assert_eq!(w.machine.n_cpus(), 8);
        w.now = 1_000_000;
        w
    }

    /// What a recording shows comes beside the way of an interrupt, unless the CPU polls.
    #[test]
    fn a_recorded_wake_up_has_the_way_of_an_interrupt_in_it() {
        let mut machine = Machine::regular(RegularSpec::default());
        machine.cstates[0].polling = false;
        let wakes_ns = std::array::from_fn(|i| 9_000 + i as u64 % 2);
        machine.idle_wakes = vec![IdleWake { idle_ns: 0, wakes_ns }];
        let way = machine.costs.ipi_ns();
        let mut w = World::new(Arc::new(machine), Config::default());
        let (cpu, typical) = (CpuId(1), 9_000);
        assert_eq!((w.idle_ends_by(cpu), w.idle_wake_ns(cpu)), (IdleEnd::Own, typical - way));
        for (irq, end) in [
            (Irq::Poll, IdleEnd::Store),
            (Irq::Call, IdleEnd::Interrupt),
            (Irq::Resched, IdleEnd::Interrupt),
        ] {
            w.cpus[cpu].irq_at[irq as usize] = w.now;
            assert_eq!(w.idle_ends_by(cpu), end);
            let least = typical - if end == IdleEnd::Store { 0 } else { way };
            assert!((0..2).contains(&(w.idle_wake_ns(cpu) - least)));
        }
    }

    /// Who is on its way into idle polls still: a recorded wake-up takes as long, a timer does not.
    #[test]
    fn a_cpu_that_enters_idle_has_no_state_to_leave() {
        let mut w = asleep();
        Arc::make_mut(&mut w.machine).idle_wakes =
            vec![IdleWake { idle_ns: 0, wakes_ns: [9_000; _] }];
        let cpu = CpuId(1);
        w.cpus[cpu].cstate_from = w.now + 1;
        assert_eq!(w.idle_left_in_ns(cpu), 0);
        w.cpus[cpu].irq_at[Irq::Poll as usize] = w.now;
        assert_eq!(w.idle_left_in_ns(cpu), 9_000);
        w.cpus[cpu].cstate_from = w.now;
        assert_eq!(w.idle_left_in_ns(cpu), 133_000);
    }

    fn set(w: &mut World, cpu: CpuId, base: Base, cstate: u8) {
        (w.cpus[cpu].base, w.cpus[cpu].cstate) = (base, cstate);
    }

    /// A CPU, its sibling, one of the other core of its socket, and one of the other socket.
    fn some(w: &World) -> [CpuId; 4] {
        let cpu = CpuId(0);
        let places = &w.machine.cpus;
        let find = |is: &dyn Fn(&CpuPlace, &CpuPlace) -> bool| {
            places.entries().find(|(id, p)| *id != cpu && is(p, &places[cpu])).unwrap().0
        };
        let sibling = find(&|a, b| a.core == b.core);
        let near = find(&|a, b| a.socket == b.socket && a.core != b.core);
        [cpu, sibling, near, find(&|a, b| a.socket != b.socket)]
    }

    #[test]
    fn a_core_is_left_sooner_while_its_package_is_awake() {
        let mut w = asleep();
        let [cpu, _, near, far] = some(&w);
        assert_eq!(w.idle_exit_ns(cpu), 133_000);
        set(&mut w, far, Base::Work, 2);
        assert_eq!(w.idle_exit_ns(cpu), 133_000, "the other package is another one");
        for (base, cstate) in [(Base::Work, 2), (Base::Idle, 1), (Base::Leaving, 2)] {
            set(&mut w, near, base, cstate);
            assert_eq!(w.idle_exit_ns(cpu), 92_000);
        }
        // On its way into C6 it is awake still.
        set(&mut w, near, Base::Idle, 2);
        w.cpus[near].cstate_from = w.now + 1;
        assert_eq!(w.idle_exit_ns(cpu), 92_000);
    }

    #[test]
    fn a_core_is_as_awake_as_its_most_awake_thread() {
        let mut w = asleep();
        let [cpu, sibling, ..] = some(&w);
        set(&mut w, sibling, Base::Work, 2);
        assert_eq!(w.idle_exit_ns(cpu), 2_000);
        set(&mut w, sibling, Base::Idle, 1);
        assert_eq!(w.idle_exit_ns(cpu), 10_000);
        // What the sibling waits for it waits for, too.
        set(&mut w, sibling, Base::Leaving, 2);
        w.cpus[sibling].base_end = w.now + 50_000;
        assert_eq!(w.idle_exit_ns(cpu), 50_000);
    }

    #[test]
    fn the_governor_goes_by_the_exit_of_a_package_that_sleeps() {
        let mut w = asleep();
        let [cpu, _, near, _] = some(&w);
        set(&mut w, near, Base::Work, 2);
        assert_eq!(w.idle_exit_latency(cpu), Some(133_000));
    }
}

//! The base of a CPU: the current task between its operations, and idle.

use super::work::stretch;
use crate::cpu::{Base, Irq, Occupancy};
use crate::frame::Change;
use crate::frame::{Flow, Frame, Path, Pc};
use crate::menu::{ALWAYS_STEADY_US, typical_us};
use crate::world::MAX_SEGMENT_NS;
use crate::{
    Appends, Category, NEVER, Ns, Observer, Op, Policy, Program, ProgramCx, Simulation, StopReason,
    TASKS_MAX, TaskId, TaskState, World,
};
use topology::{CpuId, Governor};

/// How many times longer than its exit an idle period must be, for each task that waits for a disk
/// (`performance_multiplier()` of the menu governor up to v6.11).
const EXITS_PER_IO_WAIT: Ns = 10;

impl World {
    /// The C-state for an idle period of `predicted` ns, and whether the tick stops.
    fn judge_idle(&self, predicted: Ns) -> (u8, bool) {
        self.judge_exit(predicted, 0)
    }

    /// The same, if `n_io_waits` tasks that went to sleep on this CPU wait for a disk: when the
    /// disk answers, the CPU should not be in a deep state.
    fn judge_exit(&self, predicted: Ns, n_io_waits: u32) -> (u8, bool) {
        let exit_max = predicted / (1 + EXITS_PER_IO_WAIT * Ns::from(n_io_waits));
        let may = |exit_ns: Ns| n_io_waits == 0 || exit_ns <= exit_max;
        let fits = |s: &topology::CState| s.residency_ns <= predicted && may(s.exit_ns);
        let deepest = self.machine.cstates.iter().rposition(fits).unwrap_or(0);
        (deepest as u8, predicted > self.times.tick_ns)
    }
}

impl<P: Policy, W: Program, O: Observer> Simulation<P, W, O> {
    /// The CPU is at its base and may be interrupted: what is due comes first.
    #[inline]
    pub(crate) fn base_step(&mut self, cpu: CpuId) -> Flow {
        let now = self.w.now;
        let c = &self.w.cpus[cpu];
        if c.base == Base::Work {
            self.w.advance(cpu, now);
            // In the middle of a tick interrupts are off.
            if self.w.cpus[cpu].stall > 0 {
                return Flow::Wait;
            }
        } else if matches!(c.base, Base::Idle | Base::Leaving) {
            return Flow::Wait;
        }
        let c = &self.w.cpus[cpu];
        if c.irq_first <= now {
            return self.interrupt(cpu);
        }
        // The tick that has ended an idle period, or one that fell into the schedule() before it.
        if c.base == Base::IdleLoop && !c.tick_stopped && c.tick_next <= now {
            self.enter_tick(cpu);
            return Flow::Again;
        }
        if c.softirq {
            return self.enter_softirq(cpu);
        }
        match c.base {
            Base::IdleLoop => return self.idle_loop(cpu),
            Base::Work => {
                let t = &self.w.tasks[c.curr];
                // At the end of a segment the flag is seen in any kernel: a system call returns.
                if c.need_resched && (t.work_left == 0 || self.w.is_preemptible(t)) {
                    return self.enter_preempt(cpu);
                }
                if t.work_left > 0 {
                    return Flow::Wait;
                }
                let c = &mut self.w.cpus[cpu];
                c.base = Base::Next;
                c.category = Category::Kernel;
            }
            _ if c.need_resched && !c.stays_in_call => {
                return self.enter_schedule(cpu, Path::Preempt);
            }
            _ => {}
        }
        self.next_operation(cpu)
    }

    /// An interrupt preempts the task, or its segment is at its end.
    fn enter_preempt(&mut self, cpu: CpuId) -> Flow {
        if self.w.tasks[self.w.cpus[cpu].curr].work_left == 0 {
            return self.enter_schedule(cpu, Path::Preempt);
        }
        self.enter_schedule_after(cpu, self.w.machine.costs.pick_before_lock_ns())
    }

    /// `schedule()` by preemption, of whose pick so many ns pass before the lock is taken.
    fn enter_schedule_after(&mut self, cpu: CpuId, before_ns: Ns) -> Flow {
        let frame = Frame::at(Pc::SchedLock, Path::Preempt, Category::Kernel);
        self.w.push_frame(cpu, Frame { kept_ns: before_ns as u32, ..frame });
        self.w.spend(cpu, before_ns, Pc::SchedLock)
    }

    pub(crate) fn enter_schedule(&mut self, cpu: CpuId, path: Path) -> Flow {
        self.w.push_frame(cpu, Frame::at(Pc::SchedLock, path, Category::Kernel));
        Flow::Again
    }

    fn next_operation(&mut self, cpu: CpuId) -> Flow {
        let p = self.w.cpus[cpu].curr;
        self.guard_livelock(p);
        self.w.cpus[cpu].stays_in_call = false;
        let op = self.program.next(&mut ProgramCx::of(&mut self.w), p);
        self.watch_operation(p, &op);
        match op {
            Op::Run(ns) => self.start_work(cpu, p, ns, false),
            Op::Kernel(ns) => self.start_work(cpu, p, ns, true),
            Op::Sleep(ns) => self.sleep_until(cpu, p, self.w.now.saturating_add(ns)),
            // An absolute timer that has passed does not block.
            Op::SleepUntil(at) if at <= self.w.now => Flow::Again,
            Op::SleepUntil(at) => self.sleep_until(cpu, p, at),
            Op::SleepWoken { on_its_way } => self.sleep_woken(cpu, p, on_its_way),
            Op::Wait => self.wait(cpu, p),
            Op::Exit => self.block(cpu, p, TaskState::Dead),
            Op::Wake { task, sync } => self.enter_wake(cpu, task, sync, Category::Kernel),
            Op::Fork(_) if self.w.tasks.len() > TASKS_MAX => {
                self.stop = Some(StopReason::TooManyTasks(p));
                Flow::Wait
            }
            Op::Fork(child) => {
                // The body of a system call: interrupts cut in until the child is woken.
                let begin = Frame::at(Pc::ForkBegin, Path::Fork, Category::Kernel);
                let frame = Frame { task: child, irq_off: false, ..begin };
                self.w.push_frame(cpu, frame);
                self.w.spend(cpu, self.w.machine.costs.fork_ns, Pc::ForkBegin)
            }
            Op::Exec => {
                self.w.push_frame(cpu, Frame::at(Pc::ExecSelect, Path::Exec, Category::Kernel));
                Flow::Again
            }
            Op::Yield => {
                self.w.count_yield(cpu);
                self.policy.yield_task(&mut self.w, cpu);
                self.enter_schedule(cpu, Path::Block)
            }
            Op::Path => self.enter_path(cpu, p),
            Op::SetScheduler { task, attr } => {
                self.enter_set_attr(cpu, task, Change::Scheduler(attr))
            }
            Op::SetAffinity { task, allowed } => {
                self.enter_set_attr(cpu, task, Change::Affinity(allowed))
            }
        }
    }

    #[inline]
    fn start_work(&mut self, cpu: CpuId, p: TaskId, ns: Ns, in_kernel: bool) -> Flow {
        let t = &mut self.w.tasks[p];
        t.work_left = ns.min(MAX_SEGMENT_NS) << 17;
        t.in_kernel = in_kernel;
        self.w.settle(cpu);
        self.w.cpus[cpu].base = Base::Work;
        self.catch_up(cpu);
        let c = &self.w.cpus[cpu];
        // What is pending already comes before the segment: the base is asked again.
        let disturbed = c.irq_first <= self.w.now || c.softirq || c.need_resched;
        if ns > 0 && !disturbed { Flow::Wait } else { Flow::Again }
    }

    fn sleep_until(&mut self, cpu: CpuId, p: TaskId, at: Ns) -> Flow {
        let slack = self.w.tasks[p].attr.timer_slack_ns;
        let slack = slack.map_or(self.w.config.timer_slack_ns, Ns::from);
        self.w.arm_timer(cpu, p, at, at.saturating_add(slack));
        self.block(cpu, p, TaskState::Sleeping)
    }

    /// The wake-up is a timer's that is due at once, and free.
    #[inline(never)]
    fn sleep_woken(&mut self, cpu: CpuId, p: TaskId, on_its_way: bool) -> Flow {
        let now = self.w.now;
        self.w.tasks[p].wake_paid = Some(on_its_way);
        self.w.arm_timer(cpu, p, now, now);
        self.block(cpu, p, TaskState::Sleeping)
    }

    pub(crate) fn block(&mut self, cpu: CpuId, p: TaskId, state: TaskState) -> Flow {
        self.w.tasks[p].state = state;
        self.enter_schedule(cpu, Path::Block)
    }

    // --- idle ---

    /// The idle loop: something to run, or a C-state.
    fn idle_loop(&mut self, cpu: CpuId) -> Flow {
        let got_tick = std::mem::take(&mut self.w.cpus[cpu].got_idle_tick);
        let c = &self.w.cpus[cpu];
        if c.need_resched || c.nr_running > 0 && !self.policy.idles_with_queued() {
            if self.w.cpus[cpu].loop_exit_due {
                return self.exit_idle_loop(cpu);
            }
            // `tick_nohz_idle_exit()`
            self.w.start_tick(cpu);
            return self.schedule_idle(cpu);
        }
        // After an interrupt that brought no task the loop comes here with its tick stopped.
        let was_stopped = c.tick_stopped;
        let (deepest, stops_tick) = self.choose_idle(cpu, got_tick);
        self.w.settle(cpu);
        let now = self.w.now;
        let entry_ns = self.w.machine.costs.idle_entry_ns;
        let c = &mut self.w.cpus[cpu];
        c.base = Base::Idle;
        c.category = Category::Idle;
        c.idle_since = now;
        c.cstate = deepest;
        c.cstate_from = if c.told_at == now { now } else { now + entry_ns };
        c.loop_exit_due = false;
        c.tick_stopped |= stops_tick;
        if !c.tick_stopped && c.tick_next <= now {
            self.w.cpus[cpu].tick_next = self.w.tick_after(cpu, now);
        }
        self.policy.idle_enter(&mut self.w, cpu, stops_tick && !was_stopped);
        // What the policy has charged is dropped: on an idle CPU it delays no task.
        let c = &mut self.w.cpus[cpu];
        c.carry = 0;
        if c.softirq {
            // The policy has something to do before the CPU sleeps; then the loop comes here again.
            c.base = Base::IdleLoop;
            c.category = Category::Kernel;
            return Flow::Again;
        }
        self.w.set_occupancy(cpu, Occupancy::Idle);
        Flow::Wait
    }

    /// The C-state that comes next, and whether the tick stops (`cpuidle_idle_call()`, v6.12.117).
    /// `got_tick` says that the CPU's last sleep ended with its tick.
    fn choose_idle(&mut self, cpu: CpuId, got_tick: bool) -> (u8, bool) {
        let keeps_tick = self.w.config.lone_state_keeps_tick && !got_tick;
        match self.w.machine.governor {
            Governor::Menu => self.predict_idle(cpu),
            // With one state no governor is asked. (Menu's drivers have one to poll in besides.)
            Governor::Haltpoll if self.w.machine.cstates.len() == 1 => (0, !keeps_tick),
            Governor::Haltpoll => self.w.judge_idle(NEVER),
        }
    }

    /// `schedule_idle()`. If no interrupt's way out was walked before it (as a rule the CPU polled,
    /// and has come from its wake list) a part of the pick passes before the lock. What is on a
    /// shared queue by then can be taken until it is locked; without one that hardly matters, and
    /// one step will do.
    fn schedule_idle(&mut self, cpu: CpuId) -> Flow {
        let costs = &self.w.machine.costs;
        let polled_ns = costs.pick_before_lock_polled_ns();
        let begun = std::mem::take(&mut self.w.cpus[cpu].pick_begun);
        if !begun && self.w.config.appends != Appends::Never {
            return self.enter_schedule_after(cpu, polled_ns);
        }
        let passed_ns = if begun { costs.pick_before_lock_ns() } else { 0 };
        let frame = Frame::at(Pc::SchedLock, Path::Preempt, Category::Kernel);
        self.w.push_frame(cpu, Frame { kept_ns: passed_ns as u32, ..frame });
        Flow::Again
    }

    /// What follows from the predicted idle length (`menu_select()`, v6.4). If there is a typical
    /// length it lies between the shortest and the longest; mostly both lead to the same state, and
    /// it need not be computed.
    fn predict_idle(&mut self, cpu: CpuId) -> (u8, bool) {
        let now = self.w.now;
        let c = &mut self.w.cpus[cpu];
        let to_timer = match c.next_timer() {
            NEVER => NEVER,
            at => at.saturating_sub(now),
        };
        let by_timer = c.menu.by_timer(to_timer, c.n_io_waits > 0);
        // With the tick stopped already, any exit latency will do.
        let n_io_waits = if c.tick_stopped { 0 } else { c.n_io_waits };
        let c = &self.w.cpus[cpu];
        let judge = |typical: Ns| {
            let predicted = typical.min(by_timer);
            // With the tick stopped nothing would end a stay in a shallow state by mistake.
            let stuck = c.tick_stopped && predicted < self.w.times.tick_ns;
            self.w.judge_exit(if stuck { to_timer } else { predicted }, n_io_waits)
        };
        let lengths = c.menu.lengths();
        let (Some(&least), Some(&most)) = (lengths.iter().min(), lengths.iter().max()) else {
            return judge(NEVER);
        };
        let judge_us = |us: u32| judge(Ns::from(us) * 1000);
        let shallow = judge_us(least);
        if most - least <= ALWAYS_STEADY_US && shallow == judge_us(most) {
            return shallow;
        }
        let deep = judge(NEVER);
        if shallow == deep {
            return deep;
        }
        typical_us(lengths).map_or(deep, |us| judge(us * 1000))
    }

    /// The interrupt that woke the CPU is over, and the idle loop ends.
    fn exit_idle_loop(&mut self, cpu: CpuId) -> Flow {
        let costs = &self.w.machine.costs;
        let loop_ns = costs.idle_loop_ns + costs.pick_before_lock_ns();
        self.w.settle(cpu);
        let now = self.w.now;
        let c = &mut self.w.cpus[cpu];
        c.loop_exit_due = false;
        c.pick_begun = true;
        c.base = Base::Leaving;
        c.category = Category::Exit;
        c.base_end = now + stretch(loop_ns, c.speed);
        Flow::Wait
    }

    /// An idle CPU's event: a wake-up of some kind, or its tick. An interrupt is served before the
    /// idle loop goes on (`do_idle()`, v6.4): its wake-ups enqueue their tasks before the CPU is
    /// out of the loop. A CPU that polls leaves the loop first, and then looks at its wake list.
    pub(crate) fn leave_idle(&mut self, cpu: CpuId) {
        self.w.settle(cpu);
        let now = self.w.now;
        let costs = &self.w.machine.costs;
        let c = &self.w.cpus[cpu];
        let turned = if c.turns_back { self.w.turned_back_in_ns(cpu) } else { None };
        let exit = turned.unwrap_or_else(|| self.w.idle_left_in_ns(cpu));
        let loop_ns = if turned.is_some() { 0 } else { stretch(costs.idle_loop_ns, c.speed) };
        let ticks = !c.tick_stopped && c.tick_next <= now;
        let by_tick = ticks && c.irq_first > now;
        let is_due = |(kind, at): (usize, &Ns)| kind != Irq::Poll as usize && *at <= now;
        let by_interrupt = by_tick || c.irq_at.iter().enumerate().any(is_due);
        let c = &mut self.w.cpus[cpu];
        // `cpuidle_idle_call()` has not asked the governor on such a way.
        if turned.is_none() {
            c.menu.period_ends(now - c.idle_since, by_tick, self.w.times.tick_ns);
        }
        c.got_idle_tick = ticks;
        c.base = Base::Leaving;
        c.category = Category::Exit;
        (c.loop_exit_due, c.pick_begun) = (by_interrupt, false);
        c.base_end = now + exit + if by_interrupt { 0 } else { loop_ns };
        if let Some(clocks) = &mut self.w.clocks {
            clocks.was_idle(cpu, now - c.idle_since + exit, c.n_io_waits > 0);
        }
    }

    /// The exit latency is over.
    pub(crate) fn idle_left(&mut self, cpu: CpuId) {
        self.w.settle(cpu);
        let c = &mut self.w.cpus[cpu];
        c.base = Base::IdleLoop;
        c.category = Category::Kernel;
        self.w.set_occupancy(cpu, Occupancy::Busy);
        self.w.sample_clock(cpu, self.w.now);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Config, Ns, ProgramCx, TaskAttr, World};
    use std::sync::Arc;
    use topology::{CState, CpuId, Machine, RegularSpec};

    fn world() -> World {
        let state = |name: &str, exit_ns, residency_ns| {
            let name = name.to_string();
            CState { name, exit_ns, core_exit_ns: exit_ns, residency_ns, polling: true }
        };
        let cstates = vec![state("C1", 2_000, 2_000), state("C3", 33_000, 100_000)];
        let machine = Machine::regular(RegularSpec { cstates, ..RegularSpec::default() });
        World::new(Arc::new(machine), Config::default())
    }

    #[test]
    fn each_task_that_waits_for_a_disk_asks_for_ten_exits_more() {
        let w = world();
        let state = |us: Ns, n_io_waits| w.judge_exit(us * 1000, n_io_waits).0;
        // No task waits: only the target residency counts.
        assert_eq!([state(99, 0), state(100, 0)], [0, 1]);
        // 33 us must not be more than a part in 11, in 21 of what is expected.
        assert_eq!([state(362, 1), state(363, 1)], [0, 1]);
        assert_eq!([state(692, 2), state(693, 2)], [0, 1]);
        // Not even C1 is allowed: it is the first one, and taken.
        assert_eq!(state(3, 1), 0);
        // Whether the tick stops is another question.
        assert_eq!(w.judge_exit(w.times.tick_ns, 1).1, w.judge_exit(w.times.tick_ns, 0).1);
        assert!(w.judge_exit(w.times.tick_ns + 1, 1).1);
    }

    #[test]
    fn a_task_that_waits_for_a_disk_counts_where_it_went_to_sleep() {
        let mut w = world();
        let [one, two] = [0, 1].map(|_| w.new_task(TaskAttr::default()));
        let mut set = |cpu, task, waits| {
            w.this = CpuId(cpu);
            ProgramCx::of(&mut w).set_io_wait(task, waits);
            [w.cpus[CpuId(0)].n_io_waits, w.cpus[CpuId(1)].n_io_waits]
        };
        assert_eq!(set(0, one, true), [1, 0]);
        assert_eq!(set(0, two, true), [2, 0]);
        // It looks again, elsewhere, and still waits.
        assert_eq!(set(1, two, true), [1, 1]);
        // Woken on another CPU than the one that it slept on.
        assert_eq!(set(1, one, false), [0, 1]);
        assert_eq!(set(0, one, false), [0, 1], "it has not waited");
        assert_eq!(set(0, two, false), [0, 0]);
    }
}

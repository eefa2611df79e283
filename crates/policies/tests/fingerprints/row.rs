//! One run and its line.

use sim_core::{
    Category, Config, Decision, LockId, MigrationCause, Ns, Observer, Policy, Program,
    SignalSource, Simulation, Site, Stack, TaskId, World,
};
use std::fmt::{Arguments, Write};
use test_support::simulate;
use topology::{CpuId, Machine};

/// A hash of text (FNV-1a), so that it is the same whatever the width of numbers.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Write for Hash {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

impl Hash {
    fn add(&mut self, what: Arguments<'_>) {
        self.write_fmt(what).expect("a hash takes any text");
        self.write_char('\n').expect("a hash takes any text");
    }

    /// Half of it: enough to tell two runs apart.
    fn short(&self) -> u32 {
        (self.0 ^ (self.0 >> 32)) as u32
    }
}

/// Hashes what an observer is told, by kind; or is not there.
#[derive(Default)]
struct Watch {
    on: bool,
    events: Hash,
    decisions: Hash,
    locks: Hash,
    times: Hash,
    signals: Hash,
}

impl Observer for Watch {
    fn switch(&mut self, w: &World, cpu: CpuId, prev: TaskId, next: TaskId) {
        self.events.add(format_args!("{} switch {} {} {}", w.now, cpu.0, prev.0, next.0));
    }

    fn stays(&mut self, w: &World, cpu: CpuId) {
        self.events.add(format_args!("{} stays {}", w.now, cpu.0));
    }

    fn waking(&mut self, w: &World, task: TaskId) {
        let whose = (w.this.idx() < w.cpus.len()).then(|| w.context(w.this));
        self.events.add(format_args!("{} waking {} by {} {whose:?}", w.now, task.0, w.this.0));
    }

    fn enqueued(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        self.events.add(format_args!("{} enqueued {} {}", w.now, cpu.0, task.0));
    }

    fn wakeup(&mut self, w: &World, cpu: CpuId, task: TaskId, new: bool) {
        self.events.add(format_args!("{} wakeup {} {} {new}", w.now, cpu.0, task.0));
    }

    fn wakeup_on_rq(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        self.events.add(format_args!("{} on_rq {} {}", w.now, cpu.0, task.0));
    }

    fn dequeue(&mut self, w: &World, cpu: CpuId, task: TaskId) {
        let state = w.tasks[task].state;
        self.events.add(format_args!("{} dequeue {} {} {state:?}", w.now, cpu.0, task.0));
    }

    fn fork(&mut self, w: &World, cpu: CpuId, parent: TaskId, child: TaskId) {
        self.events.add(format_args!("{} fork {} {} {}", w.now, cpu.0, parent.0, child.0));
    }

    fn stopper_woken(&mut self, w: &World, cpu: CpuId) {
        self.events.add(format_args!("{} stopper {}", w.now, cpu.0));
    }

    fn sched_delay(&mut self, w: &World, task: TaskId, ns: Ns) {
        self.events.add(format_args!("{} delay {} {ns}", w.now, task.0));
    }

    fn waited_for_cpu(&mut self, w: &World, cpu: CpuId, task: TaskId, prev: TaskId, ns: Ns) {
        self.events.add(format_args!("{} waited {} {} {} {ns}", w.now, cpu.0, task.0, prev.0));
        // Why it is there belongs to what was decided.
        self.decisions.add(format_args!("{:?}", w.tasks[task].placed));
    }

    fn migrate(&mut self, w: &World, task: TaskId, from: CpuId, to: CpuId, why: MigrationCause) {
        self.events.add(format_args!("{} move {} {} {} {why:?}", w.now, task.0, from.0, to.0));
    }

    fn waited(&mut self, w: &World, cpu: CpuId, site: &'static Site, ns: Ns) {
        self.locks.add(format_args!("{} waited {} {} {ns}", w.now, cpu.0, site.name));
    }

    fn watches_time(&self) -> bool {
        self.on
    }

    fn time_passed(&mut self, w: &World, cpu: CpuId, what: Category, at: &Stack, ns: Ns) {
        let site = at.site.map(|site| site.name);
        self.times.add(format_args!(
            "{} {} {what:?} {} {:?} {site:?} {:?} {ns}",
            w.now,
            cpu.0,
            at.task.0,
            at.group,
            at.functions()
        ));
    }

    fn watches_decisions(&self) -> bool {
        self.on
    }

    fn decided(&mut self, w: &World, what: &Decision) {
        self.decisions.add(format_args!("{} {} {what:?}", w.now, w.this.0));
    }

    fn watches_signals(&self) -> bool {
        self.on
    }

    fn signals(&mut self, w: &World, cpu: CpuId, source: &dyn SignalSource) {
        let curr = w.cpus[cpu].curr;
        let task = curr.is_task().then(|| source.of_task(curr));
        self.signals.add(format_args!("{} {} {:?} {task:?}", w.now, cpu.0, source.of_cpu(cpu)));
    }

    fn acquired(&mut self, w: &World, cpu: CpuId, lock: LockId, last: CpuId, wait: Option<Ns>) {
        let class = w.locks.class(lock);
        self.locks.add(format_args!("{} {} has {} of {} {wait:?}", w.now, cpu.0, class, last.0));
    }

    fn released(&mut self, w: &World, cpu: CpuId, lock: LockId) {
        self.locks.add(format_args!("{} {} leaves {}", w.now, cpu.0, lock.0));
    }

    fn heeds_order(&self) -> bool {
        self.on
    }
}

/// Runs to the end; what was before the measurement is only in the trace.
fn run<P: Policy>(
    (machine, config): (&Machine, Config),
    policy: P,
    program: Box<dyn Program>,
    (until, on): (Ns, bool),
) -> (String, Simulation<P, Box<dyn Program>, Watch>) {
    let watch = Watch { on, ..Watch::default() };
    let mut sim = simulate(machine.clone(), config, policy, program, watch);
    sim.run_until(until / 64);
    sim.begin_measurement();
    let end = sim.run_until(until);
    (format!("{end:?}"), sim)
}

/// What a run leaves behind but for the number of its events.
fn left<P: Policy>(
    end: &str,
    sim: &Simulation<P, Box<dyn Program>, Watch>,
    more: impl Fn(&P) -> String,
) -> String {
    let w = &sim.w;
    let mut text = format!("{end} {}\n", w.now);
    let counters = sim_core::Counters { events: 0, ..w.counters };
    writeln!(text, "{counters:?}\n{:?} {}", w.stat, w.idle_while_runnable_ns).expect("text");
    for (i, c) in w.cpus.iter().enumerate() {
        let cpu = CpuId(i as u32);
        let signals = sim.policy.cpu_signals(cpu);
        writeln!(text, "{i} {:?} {} {} {signals:?}", c.time, c.ticks, c.nr_switches).expect("text");
        writeln!(text, "{:?} {:?} {}", c.stat, w.sought[cpu], c.nr_running).expect("text");
    }
    for (i, t) in w.tasks.iter().enumerate() {
        let p = TaskId(i as u32);
        let signals = sim.policy.task_signals(p);
        let pid = w.pid(t.cpu, p);
        writeln!(text, "{i} {pid:?} {:?} {} {} {signals:?}", t.state, t.cpu.0, w.ran_ns(p))
            .expect("text");
    }
    writeln!(text, "{:?}\n{:?}", w.locks.sites, w.samples).expect("text");
    writeln!(text, "{:?} {:?}", sim.policy.results(), sim.policy.operations()).expect("text");
    let elapsed = w.now - w.measured_from;
    writeln!(text, "{:?} {}", sim.program.results(elapsed), sim.program.progress()).expect("text");
    text += &more(&sim.policy);
    text
}

/// The line of a run. It is made twice, the second time without an observer, when CPUs may run
/// ahead: it must be the same. `more` tells what the policy knows besides.
pub fn row<P: Policy>(
    name: &str,
    (machine, config): (&Machine, Config),
    policy: impl Fn() -> P,
    program: &dyn Fn() -> Box<dyn Program>,
    until: Ns,
    more: impl Fn(&P) -> String,
) -> String {
    let (end, sim) = run((machine, config), policy(), program(), (until, true));
    let (end_alone, alone) = run((machine, config), policy(), program(), (until, false));
    let left_behind = left(&end, &sim, &more);
    let unseen = left(&end_alone, &alone, &more);
    let differs = left_behind.lines().zip(unseen.lines()).find(|(a, b)| a != b);
    assert_eq!(differs, None, "{name}: seen and unseen");
    let (o, c) = (&sim.observer, &sim.w.counters);
    let mut all = Hash::default();
    all.add(format_args!("{left_behind}"));
    let moved: u64 = c.migrations.iter().sum();
    let end = if end.len() > 16 { "GivenUp" } else { &end };
    format!(
        "{name:<34} {end:<9} {:>9} us {:>6} switches {:>6} wake-ups {:>5} moves {:>6} ipis  \
         events {:08x} decisions {:08x} locks {:08x} times {:08x} signals {:08x} end {:08x}\n",
        sim.w.now / 1000,
        c.switches,
        c.wakeups,
        moved,
        c.ipis,
        o.events.short(),
        o.decisions.short(),
        o.locks.short(),
        o.times.short(),
        o.signals.short(),
        all.short(),
    )
}

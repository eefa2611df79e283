//! Threads: their first event, their stays on CPUs, and the ends of stays that no event tells.

use super::interrupts::Outside;
use super::{Curr, NAME_BYTES_MAX, NAMES_MAX, Reconstruction, is_stopper};
use crate::replay::event::{Event, Named};
use crate::replay::thread::{Doing, Live};
use sim_core::{Ns, SleepState};
use topology::CpuId;
use workloads::replay::Command;

impl Reconstruction {
    pub(super) fn live(&mut self, thread: u32) -> &mut Live {
        &mut self.lives[thread as usize]
    }

    pub(super) fn curr(&self, cpu: CpuId) -> Curr {
        self.cpus[cpu].curr
    }

    /// The thread that runs on a CPU; `None` if it idles, runs a stopper, or is unknown.
    pub(super) fn running(&self, cpu: CpuId) -> Option<u32> {
        match self.curr(cpu) {
            Curr::Thread(thread) => Some(thread),
            _ => None,
        }
    }

    pub(super) fn name(&mut self, comm: &[u8]) -> Result<u16, String> {
        if let Some(name) = self.by_name.get(comm) {
            return Ok(*name);
        }
        if comm.len() > NAME_BYTES_MAX {
            return Err(format!("a thread's name is longer than {NAME_BYTES_MAX} bytes"));
        }
        if self.names.len() == NAMES_MAX {
            return Err(format!("the recording has more than {NAMES_MAX} names of threads"));
        }
        let name = self.names.len() as u16;
        self.names.push(String::from_utf8_lossy(comm).into_owned());
        self.commands.push(Command::default());
        self.by_name.insert(comm.to_vec(), name);
        Ok(name)
    }

    pub(super) fn create(
        &mut self,
        task: Named<'_>,
        nice: i8,
        first_cpu: Option<CpuId>,
    ) -> Result<u32, String> {
        let thread = self.lives.len() as u32;
        let name = self.name(task.comm)?;
        let mut live = Live::new(task.tid, name, thread, first_cpu);
        live.begins_with(nice);
        live.thread.bound_to = cpu_of_kthread(task.comm);
        live.thread.kthread = is_kthread(task.comm);
        self.lives.push(live);
        self.by_tid.insert(task.tid, thread);
        Ok(thread)
    }

    /// The thread of this tid. A new tid is that of a thread that has been asleep on this CPU since
    /// before the recording.
    pub(super) fn meet(&mut self, task: Named<'_>, prio: i32, cpu: CpuId) -> Result<u32, String> {
        if let Some(thread) = self.by_tid.get(&task.tid) {
            return Ok(*thread);
        }
        let thread = self.create(task, nice(prio), Some(cpu))?;
        self.live(thread).doing = Doing::Asleep { since: 0, how: SleepState::Interruptible };
        Ok(thread)
    }

    /// Adds the time since its last mark to a running thread's work. `costs` are those of the
    /// machine that are a part of this time.
    pub(super) fn account(&mut self, thread: u32, cpu: CpuId, costs: Ns) {
        let mark = self.live(thread).mark;
        let work = self.clocks.work_since(cpu, mark, self.now);
        let mark = self.clocks.mark(cpu, self.now);
        let live = self.live(thread);
        live.add(work, costs);
        live.mark = mark;
    }

    /// The time since the last event was the scheduler's: it chose a CPU and enqueued a task. It is
    /// no work of the current thread, and takes the place of the `estimate` that was owed for it.
    pub(super) fn scheduler_worked(&mut self, cpu: CpuId, estimate: Ns) {
        if let Some(thread) = self.running(cpu) {
            let mark = self.clocks.mark(cpu, self.now);
            let live = self.live(thread);
            live.mark = mark;
            live.owes_less(estimate);
        }
    }

    /// Adds the last piece of work before a sleep. It ends with the charge in the dequeue: after
    /// that the CPU may have looked for other work (newidle balance) before it switched. What came
    /// after the charge is no more in the work.
    pub(super) fn account_sleeper(&mut self, thread: u32, cpu: CpuId) {
        let Live { charged, mark, came, .. } = *self.live(thread);
        let now = self.now;
        let end = if charged > came && charged >= mark.at { charged } else { now };
        self.sleeps_after(thread, cpu, end, self.costs.sleep.saturating_sub(now - end));
    }

    /// The last piece of work before a sleep ends at this instant, with these costs in it.
    fn sleeps_after(&mut self, thread: u32, cpu: CpuId, end: Ns, costs: Ns) {
        let now = std::mem::replace(&mut self.now, end);
        self.account(thread, cpu, costs);
        self.now = now;
        self.flush(thread);
        self.live(thread).set_at = end.saturating_sub(costs);
    }

    pub(super) fn flush(&mut self, thread: u32) {
        let costs = &self.costs;
        self.lives[thread as usize].flush(|ns| costs.without_ticks(ns));
    }

    /// A thread has been on a CPU since this instant, which is now or a little earlier.
    pub(super) fn runs(&mut self, thread: u32, cpu: CpuId, since: Ns) {
        if let Some(other) = self.running(cpu).filter(|other| *other != thread) {
            self.lost(other, cpu);
        }
        match self.live(thread).doing {
            // Its leaving that CPU was not recorded, nor its move.
            Doing::Running(elsewhere) => {
                self.lost(thread, elsewhere);
                self.live(thread).doing = Doing::Runnable { since };
            }
            Doing::Asleep { .. } => {
                // What ended it was not recorded: the same as the last time, as a rule. Since then
                // it was enqueued and chosen, which a replay does again.
                let timed = self.live(thread).last_timed;
                let idled = self.curr(cpu) == Curr::Idle;
                let (way, seen) = (self.costs.from_idle, self.cpus[cpu].seen);
                let ends = if idled { since.saturating_sub(way).max(seen) } else { since };
                let unseen = Outside { timed, device: None, early: None };
                self.outside_ends(thread, cpu, ends, unseen);
            }
            _ => {}
        }
        let since = match self.live(thread).doing {
            Doing::Runnable { since: ready } => since.max(ready),
            _ => since,
        };
        self.may_come_from_wake_list(thread, cpu);
        let mark = self.clocks.mark(cpu, since);
        self.clocks.set_busy(cpu, since, true);
        self.cpus[cpu].curr = Curr::Thread(thread);
        let live = self.live(thread);
        (live.doing, live.mark, live.came) = (Doing::Running(cpu), mark, since);
        (live.woken, live.woken_by, live.woken_early) = (false, None, None);
        (live.woken_from, live.enqueued_by_waker) = (None, false);
        live.may_have_yielded = false;
        let process = live.thread.process;
        let same_mm = std::mem::replace(&mut self.cpus[cpu].mm, process) == process;
        let mm_switch = if same_mm { 0 } else { self.costs.mm_switch };
        let costs = self.costs.switch + mm_switch;
        self.live(thread).owe(costs);
    }

    /// A thread has left its CPU and no event tells when: it is taken to sleep since the CPU's last
    /// event.
    pub(super) fn lost(&mut self, thread: u32, cpu: CpuId) {
        let seen = self.cpus[cpu].seen;
        self.sleeps_after(thread, cpu, seen, self.costs.sleep);
        let live = self.live(thread);
        let (name, ran) = (live.name(), seen.saturating_sub(live.came));
        self.commands[name as usize].left(ran);
        let live = self.live(thread);
        live.doing = Doing::Asleep { since: seen, how: SleepState::Interruptible };
        live.left = Some(cpu);
        self.cpus[cpu].curr = Curr::Unknown;
    }

    /// True if this CPU is in the machine.
    pub(in crate::replay) fn has_cpu(&self, cpu: CpuId) -> bool {
        cpu.idx() < self.cpus.len()
    }

    /// The current task of an event runs, even if no switch to it was recorded: since the CPU's
    /// last event. A task late in its exit has no pid any more: such an event tells nothing.
    pub(super) fn must_run(&mut self, event: &Event<'_>) -> Result<(), String> {
        let Some(tid) = event.tid else {
            return Ok(());
        };
        let cpu = event.cpu;
        let task = Named { comm: event.comm, tid };
        if tid == 0 || is_stopper(task) {
            if let Some(thread) = self.running(cpu) {
                self.lost(thread, cpu);
            }
            return Ok(());
        }
        let thread = self.meet(task, 120, cpu)?;
        if self.live(thread).doing != Doing::Running(cpu) {
            self.runs_unseen(thread, cpu, self.cpus[cpu].seen);
        }
        self.belongs(thread, event);
        Ok(())
    }
}

/// Beginnings of the names of kernel threads that nearly every machine has. Others show themselves
/// by sleeping in `TASK_IDLE`.
const KTHREADS: [&str; 16] = [
    "kworker/",
    "ksoftirqd/",
    "cpuhp/",
    "rcu_",
    "rcuc/",
    "rcuog/",
    "rcuop/",
    "rcuos/",
    "kswapd",
    "kcompactd",
    "khugepaged",
    "kdamond",
    "ksmd",
    "jbd2/",
    "irq/",
    "kauditd",
];

fn is_kthread(comm: &[u8]) -> bool {
    KTHREADS.iter().any(|name| comm.starts_with(name.as_bytes()))
}

/// The CPU in the name of a per-CPU kernel thread, to which it is bound; `kworker/u…` has none.
fn cpu_of_kthread(comm: &[u8]) -> Option<CpuId> {
    let text = std::str::from_utf8(comm).ok()?;
    let (kind, rest) = text.split_once('/')?;
    let number = match kind {
        "kworker" => rest.split_once(':')?.0,
        "ksoftirqd" | "cpuhp" | "rcuc" | "irq_work" | "idle_inject" => rest,
        _ => return None,
    };
    number.parse().ok().map(CpuId)
}

/// The nice level of a priority. The simulator has no real-time threads: they get the highest
/// priority of the fair class, nice -20.
pub(super) fn nice(prio: i32) -> i8 {
    (prio - 120).clamp(-20, 19) as i8
}

//! One global FIFO: the smallest complete policy.
//!
//! Every runnable task waits in one queue; a CPU that needs something to do takes the head; a
//! running task is never preempted. There is no time slice and no locality, and no CPU idles while
//! a task waits, beyond the time that waking it takes. The closed-form tests and the engine's own
//! benchmark run on it, and it shows how little a policy has to do.
//!
//! The queue is taken to be as cheap as its uncontended lock: the runqueue lock that the mechanism
//! holds stands for it.

use crate::moves;
use sim_core::{
    Choice, DequeueFlags, EnqueueFlags, Hook, NEVER, Ns, Policy, SelectKind, TaskId, World,
};
use std::collections::VecDeque;
use topology::CpuId;

/// See the module's documentation.
#[derive(Default)]
pub struct Fcfs {
    queue: VecDeque<TaskId>,
    /// CPUs by idleness are looked for from here on, so that work spreads.
    next_idle: usize,
}

impl Fcfs {
    fn find_idle(&mut self, w: &World, p: TaskId) -> Option<CpuId> {
        let n = w.cpus.len();
        // One that was told to look already will take another task.
        let idle = |c: CpuId| {
            let cpu = &w.cpus[c];
            cpu.idle && !cpu.need_resched && w.allowed(p, c)
        };
        if w.n_idle == 0 {
            return None;
        }
        let prev = w.tasks[p].wake_cpu;
        if idle(prev) {
            return Some(prev);
        }
        let found = (0..n).map(|i| CpuId(((self.next_idle + i) % n) as u32)).find(|c| idle(*c))?;
        self.next_idle = (found.idx() + 1) % n;
        Some(found)
    }
}

impl Policy for Fcfs {
    fn init(&mut self, _w: &mut World) {}

    fn task_fork(&mut self, _w: &mut World, _p: TaskId, _parent: Option<TaskId>) {}

    fn select_task_rq(&mut self, w: &mut World, p: TaskId, _kind: SelectKind) -> Choice {
        let prev = w.tasks[p].wake_cpu;
        let cpu = self.find_idle(w, p).unwrap_or(prev);
        Choice { cpu, scan_ns: 0 }
    }

    fn enqueue_task(&mut self, _w: &mut World, _cpu: CpuId, p: TaskId, _f: EnqueueFlags) -> Hook {
        self.queue.push_back(p);
        None
    }

    fn dequeue_task(&mut self, _w: &mut World, _cpu: CpuId, p: TaskId, _f: DequeueFlags) -> Hook {
        if let Some(at) = self.queue.iter().position(|q| *q == p) {
            self.queue.remove(at);
        }
        None
    }

    fn wakeup_preempt(&mut self, w: &mut World, cpu: CpuId, p: TaskId, _flags: EnqueueFlags) {
        let c = &w.cpus[cpu];
        if c.curr == TaskId::IDLE && !c.need_resched {
            w.resched_curr(cpu);
        } else if let Some(idle) = self.find_idle(w, p) {
            // A CPU that idles takes the head, wherever it was enqueued.
            w.resched_curr(idle);
        }
    }

    fn pick_next_task(&mut self, w: &mut World, cpu: CpuId) -> Option<TaskId> {
        let curr = w.cpus[cpu].curr;
        if curr.is_task() && w.tasks[curr].on_rq {
            return Some(curr);
        }
        let at = self.queue.iter().position(|p| w.allowed(*p, cpu) && !w.tasks[*p].on_cpu)?;
        let p = self.queue[at];
        let from = w.tasks[p].cpu;
        if from != cpu {
            w.deactivate(from, p);
            w.set_task_cpu(p, cpu, moves::BALANCE);
            w.activate(cpu, p);
        }
        Some(p)
    }

    fn switch_task(&mut self, _w: &mut World, _cpu: CpuId, prev: TaskId, next: TaskId) -> Hook {
        if next.is_task()
            && let Some(at) = self.queue.iter().position(|q| *q == next)
        {
            self.queue.remove(at);
        }
        // Only the stopper takes the CPU from a running task: it goes on where it was.
        if prev.is_task() && next == TaskId::STOP {
            self.queue.push_front(prev);
        }
        None
    }

    fn task_tick(&mut self, _w: &mut World, _cpu: CpuId) {}

    fn next_deciding_tick(&self, _w: &World, _cpu: CpuId) -> Ns {
        NEVER
    }
}

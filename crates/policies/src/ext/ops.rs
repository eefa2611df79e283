//! What a scheduler of the sched_ext shape answers, under the names of `struct sched_ext_ops`.
//!
//! Every operation but `select_cpu`, `enqueue` and `dispatch` may be left out; those three have
//! the kernel's defaults, so that an empty implementation already is a scheduler. In Linux:
//! `kernel/sched/ext.c`, v6.12.

use super::cgroups::CgroupInit;
use super::cx::Cx;
use super::path::BATCH_DFL;
use super::types::{Dsq, Next, Wake, Why};
use super::watchdog::TIMEOUT_NS;
use sim_core::{EnqueueFlags, GroupId, MaskId, Ns, OperationCount, TaskId};
use topology::CpuId;

/// A scheduler.
pub trait Ops {
    /// True if [`Ops::tick`] is to be called: then no tick is computed away.
    fn ticks(&self) -> bool {
        false
    }

    /// True if a task whose slice is over is enqueued even if its CPU has nothing else to run
    /// (`SCX_OPS_ENQ_LAST`); else the CPU keeps it.
    fn enqueues_last(&self) -> bool {
        false
    }

    /// True if a task that exits is enqueued like others (`SCX_OPS_ENQ_EXITING`); else it goes to
    /// the local queue of its CPU with a default slice, as a scheduler may not find it any more.
    fn enqueues_exiting(&self) -> bool {
        false
    }

    /// How many tasks one call of `dispatch` may insert (`dispatch_max_batch`).
    fn dispatch_max_batch(&self) -> usize {
        BATCH_DFL
    }

    /// True if the class keeps its masks of idle CPUs: of a scheduler that implements
    /// `update_idle`, only with `SCX_OPS_KEEP_BUILTIN_IDLE`. Without them the built-in choice of a
    /// CPU must not be asked for.
    fn builtin_idle(&self) -> bool {
        true
    }

    /// True if each NUMA node shall have masks of idle CPUs of its own, and not the machine one
    /// (`SCX_OPS_BUILTIN_IDLE_PER_NODE`, since 6.15). A search then begins in a node.
    fn idle_per_node(&self) -> bool {
        false
    }

    /// How long a task may be runnable and not run before the run ends (`timeout_ms`), ns.
    fn timeout_ns(&self) -> Ns {
        TIMEOUT_NS
    }

    /// The measurement begins here: what the scheduler counts starts again.
    fn measurement_begins(&mut self) {}

    /// What its operations have cost since then, if that is counted.
    fn operations(&self) -> Vec<OperationCount> {
        Vec::new()
    }

    /// The scheduler is loaded; no task exists yet.
    fn init(&mut self, _cx: &mut Cx<'_>) {}

    /// A cgroup is there, the root first, each before those in it; no task exists yet. Of one that
    /// has no `cpu.weight` of its own it is 100. No cgroup changes or goes during a run.
    fn cgroup_init(&mut self, _cx: &mut Cx<'_>, _cgroup: GroupId, _args: CgroupInit) {}

    /// A task was made by `parent` (or exists from the start), in the cgroup [`Cx::task_cgroup`].
    fn init_task(&mut self, _cx: &mut Cx<'_>, _p: TaskId, _parent: Option<TaskId>) {}

    /// The task enters the scheduler; `set_weight` follows.
    fn enable(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// The task leaves the scheduler for ever.
    fn disable(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// The task is gone; its id may be used again.
    fn exit_task(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `p` wakes up, or is new: where shall it be enqueued? A CPU that idles is kicked when `p` is
    /// there. Inserting `p` here skips `enqueue`. Not called for tasks that may use one CPU only.
    fn select_cpu(&mut self, cx: &mut Cx<'_>, p: TaskId, prev: CpuId, wake: Wake) -> CpuId {
        let (cpu, why) = cx.select_cpu_dfl(p, prev, wake);
        if why != Why::Prev {
            let slice = cx.refill_slice(p);
            cx.insert(p, Dsq::Local, slice);
        }
        cpu
    }

    /// `p` is runnable on `cx.task_cpu(p)` and not inserted anywhere: insert it, or keep it.
    fn enqueue(&mut self, cx: &mut Cx<'_>, p: TaskId, _flags: EnqueueFlags) {
        let slice = cx.refill_slice(p);
        cx.insert(p, Dsq::Global, slice);
    }

    /// `p`, which the scheduler keeps, is taken away: its weight or affinity changes, or it has to
    /// move.
    fn dequeue(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `cpu` has nothing to run but perhaps `prev`, whose slice is over. `attempt` counts the
    /// queues that were named and had nothing, from 0.
    fn dispatch(
        &mut self,
        _cx: &mut Cx<'_>,
        _cpu: CpuId,
        _prev: Option<TaskId>,
        _attempt: u32,
    ) -> Next {
        Next::Done
    }

    /// The queue that `dispatch` has named had a task for `cpu`, which is on its local queue now:
    /// what else? As `dispatch` answers.
    fn consumed(&mut self, _cx: &mut Cx<'_>, _cpu: CpuId) -> Next {
        Next::Done
    }

    /// The instant of [`Cx::set_timer`] has come. No CPU executes this.
    fn timer(&mut self, _cx: &mut Cx<'_>) {}

    /// A tick found `p` running. Only if [`Ops::ticks`].
    fn tick(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `p` becomes runnable, or is so again after a change of its weight or affinity.
    fn runnable(&mut self, _cx: &mut Cx<'_>, _p: TaskId, _flags: EnqueueFlags) {}

    /// `p` starts to run.
    fn running(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `p` stops running; `runnable`: it would go on. Its slice is what it has left.
    fn stopping(&mut self, _cx: &mut Cx<'_>, _p: TaskId, _runnable: bool) {}

    /// `p` is no longer runnable, or is about to change.
    fn quiescent(&mut self, _cx: &mut Cx<'_>, _p: TaskId) {}

    /// `p` yields. False: nobody has heard of it, and it gives up its slice.
    fn yield_task(&mut self, _cx: &mut Cx<'_>, _p: TaskId) -> bool {
        false
    }

    /// `cpu` goes idle, or ceases to be.
    fn update_idle(&mut self, _cx: &mut Cx<'_>, _cpu: CpuId, _idle: bool) {}

    /// The weight of `p` was set or has changed (100: nice 0).
    fn set_weight(&mut self, _cx: &mut Cx<'_>, _p: TaskId, _weight: u32) {}

    /// The allowed CPUs of `p` are about to become these.
    fn set_cpumask(&mut self, _cx: &mut Cx<'_>, _p: TaskId, _allowed: MaskId) {}

    /// A higher class takes `cpu`: `by` is the stopper ([`TaskId::STOP`]), or a task of the fair
    /// class.
    fn cpu_release(&mut self, _cx: &mut Cx<'_>, _cpu: CpuId, _by: TaskId) {}

    /// The first balance of this class on `cpu` since then. It may come some time after its tasks
    /// run there again, as those of the local queue need none.
    fn cpu_acquire(&mut self, _cx: &mut Cx<'_>, _cpu: CpuId) {}
}

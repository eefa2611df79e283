//! Functions of the kernel that programs call.

use super::host::{Doing, Given, Here};
use super::objects::{Mask, PerCpuVariable, What, event_words};
use crate::ext::Rules;
use crate::ext::queue::Order;
use crate::ext::types::{Dsq, DsqId, Insert, Kick, Next};
use ::bpf::{Answer, Memory};
use sim_core::TaskId;
use topology::CpuId;

/// A function, and which kernels have it.
pub(super) struct Row {
    pub name: &'static str,
    pub since: Rules,
    pub until: Option<Rules>,
    /// The number of a helper; `None`: a kfunc.
    pub helper: Option<u32>,
    /// Its prototype, if that is another one in other kernels.
    pub shape: Option<&'static str>,
    call: Call,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Call {
    CreateDsq,
    DestroyDsq,
    Insert,
    InsertVtime,
    Consume,
    NrQueued,
    Slots,
    SelectDfl,
    SelectAnd,
    TestAndClear,
    PickIdle,
    PickAny,
    PickIdleNode,
    PickAnyNode,
    Kick,
    AllCpus,
    IdleCpus,
    IdleCores,
    IdleCpusNode,
    IdleCoresNode,
    Nothing,
    NrCpuIds,
    NrNodes,
    CpuNode,
    TaskCpu,
    TaskRunning,
    FromPid,
    CurrentTask,
    CpuRq,
    CpuCurr,
    PerfCap,
    Now,
    Error,
    Exit,
    IterNew,
    IterNext,
    Move,
    MoveVtime,
    SetSlice,
    SetVtime,
    Reenqueue,
    Events,
    TaskCgroup,
    CgroupOfId,
    CgroupAncestor,
    CssNew,
    CssNext,
    Same,
    PerCpuPtr,
    ThisCpuPtr,
    CurrentPid,
}

impl Call {
    /// True for those that a scheduler with idle tracking of its own may not call
    /// (`scx_builtin_idle_enabled`).
    fn needs_idle_masks(self) -> bool {
        use Call::{IdleCores, IdleCpus, PickIdle, SelectAnd, SelectDfl, TestAndClear};
        matches!(self, IdleCores | IdleCpus | PickIdle | SelectAnd | SelectDfl | TestAndClear)
    }

    /// What the kernel says of those that do not fit to masks of the machine, or per node.
    fn misfit(self, per_node: bool) -> Option<&'static str> {
        match (self, per_node) {
            (Self::IdleCpus | Self::IdleCores, true) => {
                Some("SCX_OPS_BUILTIN_IDLE_PER_NODE enabled")
            }
            (Self::PickIdle | Self::PickAny, true) => Some("per-node idle tracking is enabled"),
            (
                Self::IdleCpusNode | Self::IdleCoresNode | Self::PickIdleNode | Self::PickAnyNode,
                false,
            ) => Some("per-node idle tracking is disabled"),
            _ => None,
        }
    }
}

const fn row(name: &'static str, call: Call) -> Row {
    Row { name, call, since: Rules::V6_12, until: None, helper: None, shape: None }
}

/// Renamed since 6.12.
const fn old(name: &'static str, call: Call) -> Row {
    Row { until: Some(Rules::V6_12), ..row(name, call) }
}

/// New since 6.12.
const fn new(name: &'static str, call: Call) -> Row {
    Row { since: Rules::V6_18, ..row(name, call) }
}

/// All of them; the number of a function is its place.
pub(super) const CALLS: &[Row] = &[
    row("scx_bpf_create_dsq", Call::CreateDsq),
    row("scx_bpf_destroy_dsq", Call::DestroyDsq),
    old("scx_bpf_dispatch", Call::Insert),
    old("scx_bpf_dispatch_vtime", Call::InsertVtime),
    old("scx_bpf_consume", Call::Consume),
    // Later ones return bool, and take flags.
    Row { shape: Some("void(p:struct,int,int,int)"), ..new("scx_bpf_dsq_insert", Call::Insert) },
    new("scx_bpf_dsq_insert_vtime", Call::InsertVtime),
    Row { shape: Some("int(int)"), ..new("scx_bpf_dsq_move_to_local", Call::Consume) },
    row("scx_bpf_dsq_nr_queued", Call::NrQueued),
    row("scx_bpf_dispatch_nr_slots", Call::Slots),
    row("scx_bpf_select_cpu_dfl", Call::SelectDfl),
    Row {
        shape: Some("int(p:struct,int,int,p:struct,int)"),
        ..new("scx_bpf_select_cpu_and", Call::SelectAnd)
    },
    row("scx_bpf_test_and_clear_cpu_idle", Call::TestAndClear),
    row("scx_bpf_pick_idle_cpu", Call::PickIdle),
    row("scx_bpf_pick_any_cpu", Call::PickAny),
    new("scx_bpf_pick_idle_cpu_node", Call::PickIdleNode),
    new("scx_bpf_pick_any_cpu_node", Call::PickAnyNode),
    row("scx_bpf_kick_cpu", Call::Kick),
    row("scx_bpf_get_possible_cpumask", Call::AllCpus),
    row("scx_bpf_get_online_cpumask", Call::AllCpus),
    row("scx_bpf_put_cpumask", Call::Nothing),
    row("scx_bpf_get_idle_cpumask", Call::IdleCpus),
    row("scx_bpf_get_idle_smtmask", Call::IdleCores),
    new("scx_bpf_get_idle_cpumask_node", Call::IdleCpusNode),
    new("scx_bpf_get_idle_smtmask_node", Call::IdleCoresNode),
    row("scx_bpf_put_idle_cpumask", Call::Nothing),
    row("scx_bpf_nr_cpu_ids", Call::NrCpuIds),
    new("scx_bpf_nr_node_ids", Call::NrNodes),
    new("scx_bpf_cpu_node", Call::CpuNode),
    row("scx_bpf_task_cpu", Call::TaskCpu),
    row("scx_bpf_task_running", Call::TaskRunning),
    row("bpf_task_from_pid", Call::FromPid),
    row("bpf_task_acquire", Call::Same),
    row("bpf_task_release", Call::Nothing),
    row("scx_bpf_cpu_rq", Call::CpuRq),
    new("scx_bpf_cpu_curr", Call::CpuCurr),
    row("scx_bpf_cpuperf_cap", Call::PerfCap),
    row("scx_bpf_cpuperf_cur", Call::PerfCap),
    row("scx_bpf_cpuperf_set", Call::Nothing),
    new("scx_bpf_now", Call::Now),
    row("scx_bpf_error_bstr", Call::Error),
    row("scx_bpf_exit_bstr", Call::Exit),
    row("bpf_iter_scx_dsq_new", Call::IterNew),
    row("bpf_iter_scx_dsq_next", Call::IterNext),
    row("bpf_iter_scx_dsq_destroy", Call::Nothing),
    old("scx_bpf_dispatch_from_dsq", Call::Move),
    old("scx_bpf_dispatch_vtime_from_dsq", Call::MoveVtime),
    old("scx_bpf_dispatch_from_dsq_set_slice", Call::SetSlice),
    old("scx_bpf_dispatch_from_dsq_set_vtime", Call::SetVtime),
    new("scx_bpf_dsq_move", Call::Move),
    new("scx_bpf_dsq_move_vtime", Call::MoveVtime),
    new("scx_bpf_dsq_move_set_slice", Call::SetSlice),
    new("scx_bpf_dsq_move_set_vtime", Call::SetVtime),
    row("scx_bpf_reenqueue_local", Call::Reenqueue),
    new("scx_bpf_events", Call::Events),
    row("scx_bpf_task_cgroup", Call::TaskCgroup),
    row("bpf_cgroup_from_id", Call::CgroupOfId),
    row("bpf_cgroup_ancestor", Call::CgroupAncestor),
    row("bpf_cgroup_acquire", Call::Same),
    row("bpf_cgroup_release", Call::Nothing),
    row("bpf_iter_css_new", Call::CssNew),
    row("bpf_iter_css_next", Call::CssNext),
    row("bpf_iter_css_destroy", Call::Nothing),
    Row { helper: Some(14), ..row("bpf_get_current_pid_tgid", Call::CurrentPid) },
    Row { helper: Some(153), ..row("bpf_per_cpu_ptr", Call::PerCpuPtr) },
    Row { helper: Some(154), ..row("bpf_this_cpu_ptr", Call::ThisCpuPtr) },
    Row { helper: Some(158), ..row("bpf_get_current_task_btf", Call::CurrentTask) },
];

const DSQ_BUILTIN: u64 = 1 << 63;
const DSQ_GLOBAL: u64 = DSQ_BUILTIN | 1;
const DSQ_LOCAL: u64 = DSQ_BUILTIN | 2;
const DSQ_LOCAL_ON: u64 = 3 << 62;
const ENQ_HEAD: u64 = 0x10;
const ENQ_PREEMPT: u64 = 1 << 32;
const ENOENT: i64 = -2;
const EINVAL: i64 = -22;
const EEXIST: i64 = -17;

pub(super) type Outcome = Result<u64, Answer>;

pub(super) fn stop<T>(why: String) -> Result<T, Answer> {
    Err(Answer::Stop(why))
}

impl Here<'_, '_> {
    /// Carries out the call with this number.
    pub fn carry_out(&mut self, function: u32, a: [u64; 5], memory: &mut Memory) -> Answer {
        match self.outcome(function, a, memory) {
            Ok(value) => Answer::Value(value),
            Err(answer) => answer,
        }
    }

    fn outcome(&mut self, function: u32, a: [u64; 5], memory: &mut Memory) -> Outcome {
        let Some(row) = CALLS.get(function as usize) else {
            return stop(format!("there is no function {function}"));
        };
        if let Some(why) = row.call.misfit(self.books.idle_per_node) {
            return stop(why.to_string());
        }
        if row.call.needs_idle_masks() && !self.books.builtin_idle {
            return stop("built-in idle tracking is disabled".to_string());
        }
        match row.call {
            Call::CreateDsq => Ok(self.create_dsq(a[0])),
            Call::DestroyDsq => self.destroy_dsq(a[0]),
            Call::Insert => self.insert(a[0], a[1], a[2], None, a[3]),
            Call::InsertVtime => self.insert(a[0], a[1], a[2], Some(a[3]), a[4]),
            Call::Consume => self.consume(a[0]),
            Call::NrQueued => self.nr_queued(a[0]),
            Call::Slots => Ok(self.cx.dispatch_nr_slots() as u64),
            Call::SelectDfl => self.select_dfl(a, memory),
            Call::SelectAnd => self.select_and(a, memory),
            Call::TestAndClear => {
                let cpu = self.cpu(a[0])?;
                Ok(self.cx.test_and_clear_cpu_idle(cpu).into())
            }
            Call::PickIdle => Ok(self.pick_idle(a[0], a[1], memory)),
            Call::PickAny => Ok(self.pick_any(a[0], a[1], memory)),
            Call::PickIdleNode => self.pick_node(a, false, memory),
            Call::PickAnyNode => self.pick_node(a, true, memory),
            Call::Kick => self.kick(a[0], a[1]),
            Call::AllCpus => Ok(What::Mask(Mask::All).address()),
            Call::IdleCpus => Ok(What::Mask(Mask::IdleCpus).address()),
            Call::IdleCores => Ok(What::Mask(Mask::IdleCores).address()),
            Call::IdleCpusNode => self.mask_of_node(a[0], Mask::IdleCpusOf),
            Call::IdleCoresNode => self.mask_of_node(a[0], Mask::IdleCoresOf),
            Call::Nothing => Ok(0),
            Call::NrCpuIds => Ok(self.cx.machine().n_cpus() as u64),
            Call::NrNodes => Ok(self.cx.machine().nodes.len() as u64),
            Call::CpuNode => {
                let cpu = self.cpu(a[0])?;
                Ok(u64::from(self.cx.machine().cpus[cpu].node))
            }
            Call::TaskCpu => self.task_cpu(a[0]),
            Call::TaskRunning => Ok(self.task_running(a[0])?.into()),
            Call::FromPid => Ok(self.task_of_pid(a[0])),
            Call::CurrentTask => {
                let cpu = self.cx.this_cpu();
                Ok(self.curr(cpu))
            }
            Call::CpuRq => Ok(What::Rq(self.cpu(a[0])?).address()),
            Call::CpuCurr => {
                let cpu = self.cpu(a[0])?;
                Ok(self.curr(cpu))
            }
            Call::PerfCap => Ok(1024),
            Call::Now => Ok(self.cx.now()),
            Call::Error => {
                let text = memory.format_at(self, a[0], a[1], a[2] as u32);
                stop(format!("scx_bpf_error: {}", text.trim_end()))
            }
            Call::Exit => {
                let text = memory.format_at(self, a[1], a[2], a[3] as u32);
                stop(format!("scx_bpf_exit({}): {}", a[0] as i64, text.trim_end()))
            }
            Call::IterNew => self.iter_new(a, memory),
            Call::IterNext => self.iter_next(a[0], memory),
            Call::Move => self.move_task(a, false, memory),
            Call::MoveVtime => self.move_task(a, true, memory),
            Call::SetSlice => Ok(self.set_for_move(a[0], Given::Slice, a[1], memory)),
            Call::SetVtime => Ok(self.set_for_move(a[0], Given::Vtime, a[1], memory)),
            Call::Reenqueue if self.books.doing == Doing::Releasing => {
                Ok(self.cx.reenqueue_local().into())
            }
            Call::Reenqueue => Ok(0),
            Call::Events => Ok(self.events(a[0], a[1], memory)),
            Call::TaskCgroup => self.task_cgroup(a[0]),
            Call::CgroupOfId => Ok(self.cgroup_of_id(a[0])),
            Call::CgroupAncestor => self.cgroup_ancestor(a[0], a[1]),
            Call::CssNew => self.css_new(a, memory),
            Call::CssNext => Ok(self.css_next(a[0], memory)),
            Call::Same => Ok(a[0]),
            Call::CurrentPid => {
                let w = self.cx.world();
                let curr = w.cpus[self.cx.this_cpu()].curr;
                // A task is its own thread group; pid 0 idles.
                let pid = if curr.is_task() { u64::from(w.tasks[curr].pid.0) } else { 0 };
                Ok(pid << 32 | pid)
            }
            Call::PerCpuPtr => self.per_cpu(a[0], a[1]),
            Call::ThisCpuPtr => self.per_cpu(a[0], self.cx.this_cpu().0.into()),
        }
    }

    // --- queues ---

    fn create_dsq(&mut self, id: u64) -> u64 {
        if id & DSQ_BUILTIN != 0 {
            return EINVAL as u64;
        }
        match self.books.queues.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(_) => EEXIST as u64,
            Err(at) => {
                // The first insertion decides the order.
                let queue = self.cx.create_dsq(Order::Fifo);
                self.books.queues.insert(at, (id, queue));
                0
            }
        }
    }

    /// One that does not exist is passed over.
    fn destroy_dsq(&mut self, id: u64) -> Outcome {
        let queues = &mut self.books.queues;
        let Ok(at) = queues.binary_search_by_key(&id, |(id, _)| *id) else {
            return Ok(0);
        };
        let n = self.cx.dsq_nr_queued(queues[at].1);
        if n > 0 {
            return stop(format!("attempting to destroy in-use dsq {id:#x} (nr={n})"));
        }
        let (_, queue) = queues.remove(at);
        self.cx.destroy_dsq(queue);
        Ok(0)
    }

    pub(super) fn queue(&self, id: u64) -> Result<DsqId, Answer> {
        let queues = &self.books.queues;
        match queues.binary_search_by_key(&id, |(id, _)| *id) {
            Ok(at) => Ok(queues[at].1),
            Err(_) => stop(format!("non-existent DSQ {id:#x}")),
        }
    }

    pub(super) fn target(&self, id: u64) -> Result<Dsq, Answer> {
        match id {
            DSQ_LOCAL => Ok(Dsq::Local),
            DSQ_GLOBAL => Ok(Dsq::Global),
            _ if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON => Ok(Dsq::LocalOn(self.cpu(id & 0xffff_ffff)?)),
            _ => self.queue(id).map(Dsq::User),
        }
    }

    /// `scx_bpf_dispatch`, `scx_bpf_dispatch_vtime`; of `mark_direct_dispatch` and
    /// `finish_dispatch` what concerns the scheduler's faults.
    fn insert(&mut self, p: u64, to: u64, slice: u64, vtime: Option<u64>, flags: u64) -> Outcome {
        let p = self.task(p)?;
        let to = self.target(to)?;
        match self.books.doing {
            Doing::Placing(own) if own != p => {
                return stop(format!(
                    "scheduling for task {} but trying to direct-dispatch task {}",
                    own.0, p.0
                ));
            }
            Doing::Placing(_) if self.cx.is_inserted(p) => {
                return stop(format!("task {} already direct-dispatched", p.0));
            }
            Doing::Placing(_) => {}
            Doing::Dispatching if self.cx.dispatch_nr_slots() == 0 => {
                return stop("dispatch buffer overflow".to_string());
            }
            // Someone else already got to it.
            Doing::Dispatching if !self.cx.is_kept(p) => return Ok(1),
            Doing::Dispatching => {}
            Doing::Other | Doing::Releasing | Doing::Timer => {
                return stop("an insertion in an operation without".to_string());
            }
        }
        let flags = insert_flags(flags);
        match (vtime, to) {
            (None, to) => self.cx.insert_with(p, to, slice, flags),
            (Some(vtime), Dsq::User(to)) => self.cx.insert_vtime(p, to, slice, vtime, flags),
            (Some(_), _) => {
                return stop("cannot use vtime ordering for built-in DSQs".to_string());
            }
        }
        Ok(1)
    }

    /// It lasts: the caller of `dispatch` carries it out.
    fn consume(&mut self, id: u64) -> Outcome {
        if self.books.doing != Doing::Dispatching {
            return stop("a queue is consumed outside of dispatch".to_string());
        }
        self.books.asks = Some(Next::Consume(self.queue(id)?));
        Err(Answer::Suspend)
    }

    fn nr_queued(&mut self, id: u64) -> Outcome {
        let n = match id {
            DSQ_LOCAL => self.cx.local_nr_queued(self.cx.this_cpu()),
            _ if id & DSQ_LOCAL_ON == DSQ_LOCAL_ON => {
                let cpu = self.cpu(id & 0xffff_ffff)?;
                self.cx.local_nr_queued(cpu)
            }
            _ => match self.queue(id) {
                Ok(queue) => self.cx.dsq_nr_queued(queue),
                // So is the global queue answered: only the scheduler's own are found by number.
                Err(_) => return Ok(ENOENT as u64),
            },
        };
        Ok(n.into())
    }

    /// Of a structure that is shorter than the kernel's its part is filled.
    fn events(&mut self, to: u64, bytes: u64, memory: &mut Memory) -> u64 {
        let words = event_words(self.cx.events());
        for (at, word) in (0..bytes / 8).zip(words) {
            memory.store(self, to.wrapping_add(8 * at), 8, word);
        }
        0
    }

    // --- CPUs ---

    fn kick(&mut self, cpu: u64, flags: u64) -> Outcome {
        let cpu = self.cpu(cpu)?;
        let kick = match flags {
            0 => Kick::Resched,
            1 => Kick::Idle,
            2 => Kick::Preempt,
            _ => return stop(format!("kick flags {flags:#x} (SCX_KICK_WAIT?) are not modeled")),
        };
        self.cx.kick_cpu(cpu, kick);
        Ok(0)
    }

    pub(super) fn cpu(&self, cpu: u64) -> Result<CpuId, Answer> {
        let cpu = cpu as u32;
        match (cpu as usize) < self.cx.machine().n_cpus() {
            true => Ok(CpuId(cpu)),
            false => stop(format!("invalid CPU {}", cpu as i32)),
        }
    }

    /// A variable of a CPU; 0 if there is no such CPU.
    fn per_cpu(&self, variable: u64, cpu: u64) -> Outcome {
        let cpu = CpuId(cpu as u32);
        match self.at(variable) {
            Some((What::PerCpu(_), _)) if cpu.idx() >= self.cx.machine().n_cpus() => Ok(0),
            Some((What::PerCpu(PerCpuVariable::Runqueues), 0)) => Ok(What::Rq(cpu).address()),
            Some((What::PerCpu(_), _)) => Ok(variable),
            _ => stop(format!("{variable:#x} is no variable of CPUs")),
        }
    }

    // --- tasks ---

    pub(super) fn task(&self, address: u64) -> Result<TaskId, Answer> {
        match self.at(address) {
            Some((What::Task(p), 0)) => Ok(p),
            _ => stop(format!("no task is at {address:#x}")),
        }
    }

    fn task_cpu(&self, address: u64) -> Outcome {
        match self.at(address) {
            Some((What::Idle(cpu), 0)) => Ok(cpu.0.into()),
            _ => Ok(self.cx.task_cpu(self.task(address)?).0.into()),
        }
    }

    fn task_running(&self, address: u64) -> Result<bool, Answer> {
        let w = self.cx.world();
        match self.at(address) {
            Some((What::Idle(cpu), 0)) => Ok(w.cpus[cpu].curr == TaskId::IDLE),
            _ => {
                let p = self.task(address)?;
                Ok(w.cpus[w.tasks[p].cpu].curr == p)
            }
        }
    }

    fn task_of_pid(&self, pid: u64) -> u64 {
        let found = self.books.by_pid.get(pid as u32 as usize).copied();
        found.filter(|p| p.is_task()).map_or(0, |p| What::Task(p).address())
    }

    /// The current task of a CPU; the stopper counts as its idle task.
    pub fn curr(&self, cpu: CpuId) -> u64 {
        let curr = self.cx.world().cpus[cpu].curr;
        if curr.is_task() { What::Task(curr).address() } else { What::Idle(cpu).address() }
    }
}

/// The flags of an insertion.
pub(super) fn insert_flags(flags: u64) -> Insert {
    let head = flags & ENQ_HEAD != 0;
    Insert { head, preempt: flags & ENQ_PREEMPT != 0, kick_idle: false }
}

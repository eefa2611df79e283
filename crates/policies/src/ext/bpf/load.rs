//! Loading: what a loader in user space does, and what is refused.

use super::kernel::{constants, kernel};
use super::refused::Refused;
use super::start::{Start, StartCall, is_callable};
use super::user::UserHalfDef;
use crate::ext::Rules;
use crate::ext::path::BATCH_DFL;
use crate::ext::watchdog::TIMEOUT_NS;
use ::bpf::{Count, Object, Options, ProgramId, SetError, StructOps, Vm};
use sim_core::Ns;
use std::sync::Arc;

/// Bytes that the maps of a scheduler may take.
const BYTES_MAX: usize = 1 << 30;

/// Operations that are called.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Op {
    Init,
    InitTask,
    ExitTask,
    Enable,
    Disable,
    SelectCpu,
    Enqueue,
    Dequeue,
    Dispatch,
    Tick,
    Runnable,
    Running,
    Stopping,
    Quiescent,
    Yield,
    UpdateIdle,
    SetWeight,
    SetCpumask,
    CpuAcquire,
    CpuRelease,
    CgroupInit,
}

const OPS: [(&str, Op); 21] = [
    ("init", Op::Init),
    ("init_task", Op::InitTask),
    ("exit_task", Op::ExitTask),
    ("enable", Op::Enable),
    ("disable", Op::Disable),
    ("select_cpu", Op::SelectCpu),
    ("enqueue", Op::Enqueue),
    ("dequeue", Op::Dequeue),
    ("dispatch", Op::Dispatch),
    ("tick", Op::Tick),
    ("runnable", Op::Runnable),
    ("running", Op::Running),
    ("stopping", Op::Stopping),
    ("quiescent", Op::Quiescent),
    ("yield", Op::Yield),
    ("update_idle", Op::UpdateIdle),
    ("set_weight", Op::SetWeight),
    ("set_cpumask", Op::SetCpumask),
    ("cpu_acquire", Op::CpuAcquire),
    ("cpu_release", Op::CpuRelease),
    ("cgroup_init", Op::CgroupInit),
];

/// What the callbacks of timers are called where operations are counted.
pub(super) const TIMERS: &str = "timer";

/// Names under which instructions are counted: operations, and callbacks of timers.
pub fn counted() -> impl Iterator<Item = &'static str> {
    OPS.iter().map(|(name, _)| *name).chain([TIMERS])
}

/// `SCX_OPS_KEEP_BUILTIN_IDLE`
const KEEP_BUILTIN_IDLE: u64 = 1;
/// `SCX_OPS_ENQ_LAST`
const ENQ_LAST: u64 = 2;
/// `SCX_OPS_ENQ_EXITING`
const ENQ_EXITING: u64 = 4;
/// `SCX_OPS_BUILTIN_IDLE_PER_NODE`
const IDLE_PER_NODE: u64 = 1 << 6;
/// Flags that 6.12 does not have, and the first version that has them.
const LATER_FLAGS: [(u64, &str, &str); 3] = [
    (1 << 4, "SCX_OPS_ENQ_MIGRATION_DISABLED", "6.14"),
    (1 << 5, "SCX_OPS_ALLOW_QUEUED_WAKEUP", "6.15"),
    (IDLE_PER_NODE, "SCX_OPS_BUILTIN_IDLE_PER_NODE", "6.15"),
];
/// `SCX_OPS_ALL_FLAGS` (6.18): the low seven, and `SCX_OPS_HAS_CGROUP_WEIGHT`.
const ALL_FLAGS: u64 = 0x7f | 1 << 16;
/// `SCX_OPS_SWITCH_PARTIAL`
const SWITCH_PARTIAL: u64 = 1 << 3;

/// What a run says of a scheduler besides its object.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Settings {
    /// The kernel.
    pub rules: Rules,
    /// CPUs of the machine.
    pub n_cpus: u32,
    /// Simulated time that an instruction takes, 10^-12 s.
    pub ps_per_insn: u64,
    /// Flags that its loader sets, besides those of the object.
    pub flags: u64,
}

/// A loaded scheduler. Runs of different seeds share its code.
#[derive(Clone)]
pub struct Scheduler {
    pub(super) vm: Vm,
    /// What the user halves find variables by.
    pub(super) object: Arc<Object>,
    pub(super) user: Vec<&'static UserHalfDef>,
    pub(super) programs: [Option<ProgramId>; OPS.len()],
    pub(super) start: Vec<StartCall>,
    pub(super) enqueues_last: bool,
    pub(super) enqueues_exiting: bool,
    pub(super) dispatch_max_batch: usize,
    /// The class keeps masks of idle CPUs for it.
    pub(super) builtin_idle: bool,
    /// A pair of masks for each node.
    pub(super) idle_per_node: bool,
    pub(super) timeout_ns: Ns,
    pub(super) settings: Settings,
}

impl Scheduler {
    /// Loads an object whose own variables have been set, and makes the calls ready that its loader
    /// makes before the start.
    ///
    /// # Errors
    /// Everything that the object has or wants and that is not known here, by name.
    pub fn load(object: &Object, settings: Settings, start: &[Start]) -> Result<Self, Refused> {
        Self::load_with_user(object, settings, start, &[])
    }

    /// The same for a scheduler that has halves in user space.
    ///
    /// # Errors
    /// As for [`Scheduler::load`].
    pub fn load_with_user(
        object: &Object,
        settings: Settings,
        start: &[Start],
        user: &[&'static UserHalfDef],
    ) -> Result<Self, Refused> {
        let ops = operations(object).ok_or(Refused::NoScheduler)?.clone();
        let flags = settings.flags | flags_of(&ops);
        let program = |name| ops.member(name)?.program.as_deref();
        let builtin_idle = program("update_idle").is_none() || flags & KEEP_BUILTIN_IDLE != 0;
        let idle_per_node = flags & IDLE_PER_NODE != 0;
        let later = LATER_FLAGS.iter().find(|(flag, ..)| flags & flag != 0);
        if let Some((_, name, version)) = later
            && settings.rules < Rules::V6_18
        {
            return Err(Refused::LaterFlag(name, version));
        }
        if flags & !ALL_FLAGS != 0 {
            return Err(Refused::UnknownFlags(flags & !ALL_FLAGS));
        }
        if idle_per_node && !builtin_idle {
            return Err(Refused::NodesWithoutMasks);
        }
        let (timeout_ns, dispatch_max_batch) = (timeout_ns(&ops)?, dispatch_max_batch(&ops)?);
        let mut object = object.clone();
        fill(&mut object, settings.n_cpus)?;
        let called = start.iter().map(|start| start.call.as_str());
        let called: Vec<&str> =
            called.chain(user.iter().flat_map(|def| def.programs).copied()).collect();
        if let Some(name) = called.iter().find(|name| !is_callable(&object, name)) {
            return Err(Refused::Start(name.to_string()));
        }
        leave_out(&mut object, &ops, &called);
        let options =
            Options { n_cpus: settings.n_cpus, bytes_max: BYTES_MAX, ..Options::default() };
        let vm = Vm::load(&object, &kernel(settings.rules), options)?;
        let programs = OPS.map(|(name, _)| vm.image().program(program(name)?));
        let start = start.iter().map(|start| StartCall::new(start, &object, vm.image()));
        let start = start.collect::<Result<_, _>>()?;
        let enqueues_last = flags & ENQ_LAST != 0;
        if enqueues_last && program("enqueue").is_none() {
            return Err(Refused::LastWithoutEnqueue);
        }
        Ok(Self {
            vm,
            object: Arc::new(object),
            user: user.to_vec(),
            programs,
            start,
            enqueues_last,
            enqueues_exiting: flags & ENQ_EXITING != 0,
            dispatch_max_batch,
            builtin_idle,
            idle_per_node,
            timeout_ns,
            settings,
        })
    }

    /// What each of its operations has cost so far.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, Count)> {
        let own = OPS.iter().filter_map(|(name, op)| Some((*name, self.program(*op)?)));
        own.map(|(name, program)| (name, self.vm.count(program)))
    }

    pub(super) fn program(&self, op: Op) -> Option<ProgramId> {
        self.programs[op as usize]
    }
}

/// How long a task may wait, ns (`bpf_scx_init_member`).
fn timeout_ns(ops: &StructOps) -> Result<Ns, Refused> {
    match ops.member("timeout_ms").map_or(0, |member| member.number()) {
        0 => Ok(TIMEOUT_NS),
        ms if ms <= TIMEOUT_NS / 1_000_000 => Ok(ms * 1_000_000),
        ms => Err(Refused::Timeout(ms)),
    }
}

/// How many tasks a call of `dispatch` may insert (`bpf_scx_init_member`).
fn dispatch_max_batch(ops: &StructOps) -> Result<usize, Refused> {
    match ops.member("dispatch_max_batch").map_or(0, |member| member.number()) {
        0 => Ok(BATCH_DFL),
        n if n <= i32::MAX as u64 => Ok(n as usize),
        n => Err(Refused::Batch(n)),
    }
}

/// True if the object, or its loader with these flags, leaves tasks to the fair class that do not
/// ask for it (`SCX_OPS_SWITCH_PARTIAL`): see [`crate::ext::Partial`].
pub fn is_partial(object: &Object, flags: u64) -> bool {
    let own = operations(object).map_or(0, flags_of);
    (flags | own) & SWITCH_PARTIAL != 0
}

fn flags_of(ops: &StructOps) -> u64 {
    ops.member("flags").map_or(0, |member| member.number())
}

/// The scheduler of an object.
fn operations(object: &Object) -> Option<&StructOps> {
    object.struct_ops.iter().find(|ops| ops.type_name == "sched_ext_ops")
}

/// Sets what loaders set without being asked: constants of the kernel, and the number of CPUs.
fn fill(object: &mut Object, n_cpus: u32) -> Result<(), SetError> {
    let all = constants().map(|(name, value)| (format!("__{name}"), value));
    for (name, value) in all.chain([("nr_cpu_ids".to_string(), u64::from(n_cpus))]) {
        if object.variables().contains_key(&name) {
            object.set_int(&name, value)?;
        }
    }
    Ok(())
}

/// Programs that nobody calls here: what they need need not exist.
fn leave_out(object: &mut Object, ops: &StructOps, called: &[&str]) {
    called.iter().for_each(|name| object.want(name));
    let is_called = |name: &str| {
        called.contains(&name)
            || OPS
                .iter()
                .any(|(op, _)| ops.member(op).is_some_and(|m| m.program.as_deref() == Some(name)))
    };
    let all: Vec<String> = object.programs().map(|(name, _)| name.to_string()).collect();
    all.iter().filter(|name| !is_called(name)).for_each(|name| object.leave_out(name));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_at_its_own_number() {
        for (i, (_, op)) in OPS.iter().enumerate() {
            assert_eq!(*op as usize, i);
        }
    }
}

//! Objects of the kernel as programs see them: an address names the object, an offset the field.
//!
//! Offsets are ours: objects are relocated against this table, so only names and types matter.

use crate::ext::{Events, Rules};
use ::bpf::memory::HOST;
use ::bpf::{FieldType, Kernel, Struct};
use sim_core::{GroupId, MaskId, TaskId};
use topology::CpuId;

/// Where the fields of `task_struct.scx` begin, bytes.
const SCX: u32 = 256;
/// Where those of `task_struct.se` begin.
const SE: u32 = 160;
/// Where in a cgroup its `kernfs_node` begins.
pub(super) const KERNFS: u32 = 128;

/// A field that programs can read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Field {
    Pid,
    Flags,
    State,
    RealParent,
    /// Its bytes: eight from this one on.
    Comm(u32),
    CpusPtr,
    NrCpusAllowed,
    StaticPrio,
    OnCpu,
    WakeCpu,
    MigrationDisabled,
    Itself,
    Mm,
    Slice,
    Vtime,
    Weight,
    ScxFlags,
    Disallow,
    RunTime,
    /// Of a runqueue.
    Curr,
    Cpu,
    NrRunning,
    Clock,
    ClockPelt,
    /// Of arguments.
    Fork,
    Reason,
    Taker,
    Cgroup,
    Period,
    Quota,
    Burst,
    /// Of a cgroup.
    Css,
    CssParent,
    Level,
    Kernfs,
    Id,
    Zero,
}

impl Field {
    fn is_pointer(self) -> bool {
        use Field::{Cgroup, CpusPtr, Css, CssParent, Curr, Itself, Kernfs, Mm, RealParent};
        matches!(
            self,
            Cgroup | CpusPtr | Css | CssParent | Curr | Itself | Kernfs | Mm | RealParent
        )
    }
}

/// Structure, name, offset, bytes, is it signed?, what it is.
type Row = (&'static str, &'static str, u32, u32, bool, Field);

const TASK: &str = "task_struct";
const ENTITY: &str = "sched_ext_entity";
const RUN: &str = "sched_entity";
const RQ: &str = "rq";
const CGROUP: &str = "cgroup";
const CSS: &str = "cgroup_subsys_state";
const NODE: &str = "kernfs_node";
const INIT_TASK: &str = "scx_init_task_args";
const INIT_CGROUP: &str = "scx_cgroup_init_args";

#[rustfmt::skip]
const FIELDS: &[Row] = &[
    (TASK, "pid", 0, 4, true, Field::Pid),
    (TASK, "tgid", 8, 4, true, Field::Pid),
    (TASK, "flags", 16, 4, false, Field::Flags),
    (TASK, "nr_cpus_allowed", 24, 4, true, Field::NrCpusAllowed),
    (TASK, "static_prio", 32, 4, true, Field::StaticPrio),
    (TASK, "prio", 40, 4, true, Field::StaticPrio),
    (TASK, "on_cpu", 48, 4, true, Field::OnCpu),
    (TASK, "wake_cpu", 56, 4, true, Field::WakeCpu),
    (TASK, "migration_disabled", 64, 2, false, Field::MigrationDisabled),
    (TASK, "__state", 120, 4, false, Field::State),
    (ENTITY, "weight", 0, 4, false, Field::Weight),
    (ENTITY, "flags", 8, 4, false, Field::ScxFlags),
    (ENTITY, "slice", 16, 8, false, Field::Slice),
    (ENTITY, "dsq_vtime", 24, 8, false, Field::Vtime),
    (ENTITY, "disallow", 32, 1, false, Field::Disallow),
    (RUN, "sum_exec_runtime", 0, 8, false, Field::RunTime),
    (RQ, "cpu", 0, 4, true, Field::Cpu),
    (RQ, "nr_running", 8, 4, false, Field::NrRunning),
    (RQ, "clock", 24, 8, false, Field::Clock),
    (RQ, "clock_task", 32, 8, false, Field::Clock),
    (RQ, "clock_pelt", 40, 8, false, Field::ClockPelt),
    (RQ, "lost_idle_time", 48, 8, false, Field::Zero),
    (INIT_TASK, "fork", 0, 1, false, Field::Fork),
    ("scx_exit_task_args", "cancelled", 8, 1, false, Field::Zero),
    ("scx_cpu_release_args", "reason", 16, 4, false, Field::Reason),
    (INIT_CGROUP, "weight", 40, 4, false, Field::Weight),
    (INIT_CGROUP, "bw_period_us", 48, 8, false, Field::Period),
    (INIT_CGROUP, "bw_quota_us", 56, 8, false, Field::Quota),
    (INIT_CGROUP, "bw_burst_us", 64, 8, false, Field::Burst),
    (CSS, "id", 16, 4, true, Field::Id),
    (CGROUP, "level", 32, 4, true, Field::Level),
    (NODE, "id", 0, 8, false, Field::Id),
];

/// Fields that are pointers.
const POINTERS: &[(&str, &str, u32, Field)] = &[
    (TASK, "cpus_ptr", 72, Field::CpusPtr),
    (TASK, "group_leader", 80, Field::Itself),
    (TASK, "mm", 88, Field::Mm),
    (TASK, "real_parent", 96, Field::RealParent),
    (RQ, "curr", 16, Field::Curr),
    ("scx_cpu_release_args", "task", 24, Field::Taker),
    (INIT_TASK, "cgroup", 32, Field::Cgroup),
    (CSS, "cgroup", 0, Field::Css),
    (CSS, "parent", 8, Field::CssParent),
    (CGROUP, "kn", 40, Field::Kernfs),
    // No task has a memory policy.
    (TASK, "mempolicy", 112, Field::Zero),
];

/// Fields that 6.12 does not have.
const NEW: &[(&str, &str)] =
    &[(INIT_CGROUP, "bw_period_us"), (INIT_CGROUP, "bw_quota_us"), (INIT_CGROUP, "bw_burst_us")];

/// Words of `struct scx_event_stats`, in order (6.18).
const EVENTS: [&str; 9] = [
    "SCX_EV_SELECT_CPU_FALLBACK",
    "SCX_EV_DISPATCH_LOCAL_DSQ_OFFLINE",
    "SCX_EV_DISPATCH_KEEP_LAST",
    "SCX_EV_ENQ_SKIP_EXITING",
    "SCX_EV_ENQ_SKIP_MIGRATION_DISABLED",
    "SCX_EV_REFILL_SLICE_DFL",
    "SCX_EV_BYPASS_DURATION",
    "SCX_EV_BYPASS_DISPATCH",
    "SCX_EV_BYPASS_ACTIVATE",
];

/// What a program finds there.
pub(super) fn event_words(events: Events) -> [u64; EVENTS.len()] {
    let Events { select_cpu_fallback, dispatch_keep_last, enq_skip_exiting, refill_slice_dfl } =
        events;
    [select_cpu_fallback, 0, dispatch_keep_last, enq_skip_exiting, 0, refill_slice_dfl, 0, 0, 0]
}

const COMM: u32 = 128;
const COMM_BYTES: u32 = 16;
/// Bytes of the largest object.
const OBJECT_BYTES: u32 = 320;

/// The types of this table.
pub(super) fn add_types(kernel: &mut Kernel, rules: Rules) {
    let mut add = |owner: &str, name: &str, offset, kind| {
        let own = kernel.structs.remove(owner).unwrap_or_else(|| Struct::new(OBJECT_BYTES));
        kernel.structs.insert(owner.to_string(), own.with(name, offset, kind));
    };
    for (owner, name, offset, size, is_signed, _) in FIELDS {
        add(owner, name, *offset, FieldType::Int { size: *size, is_signed: *is_signed });
    }
    for (owner, name, offset, _) in POINTERS {
        add(owner, name, *offset, FieldType::Pointer);
    }
    let byte = FieldType::Int { size: 1, is_signed: true };
    add(TASK, "comm", COMM, FieldType::Array(Box::new(byte), COMM_BYTES));
    add(TASK, "scx", SCX, FieldType::Struct(ENTITY.to_string()));
    add(TASK, "se", SE, FieldType::Struct(RUN.to_string()));
    add(CGROUP, "self", 0, FieldType::Struct(CSS.to_string()));
    // What no pointer leads to need not be anywhere.
    for name in ["cpuinfo", "max"] {
        let own = FieldType::Int { size: 4, is_signed: false };
        let kind = if name == "max" { own } else { FieldType::Struct("cpufreq_cpuinfo".into()) };
        add("cpufreq_policy", name, if name == "max" { 8 } else { 0 }, kind);
    }
    add("cpufreq_cpuinfo", "max_freq", 0, FieldType::Int { size: 4, is_signed: false });
    add("mempolicy", "mode", 0, FieldType::Int { size: 2, is_signed: false });
    add("mempolicy", "home_node", 8, FieldType::Int { size: 4, is_signed: true });
    add("mempolicy", "nodes", 16, FieldType::Struct("nodemask_t".to_string()));
    let word = FieldType::Int { size: 8, is_signed: false };
    add("nodemask_t", "bits", 0, FieldType::Array(Box::new(word.clone()), 16));
    add("cpumask", "bits", 0, FieldType::Array(Box::new(word), 128));
    for (name, at) in EVENTS.iter().zip(0..) {
        add("scx_event_stats", name, 8 * at, FieldType::Int { size: 8, is_signed: true });
    }
    for (inner, size) in [(ENTITY, OBJECT_BYTES - SCX), (RUN, 8), (CSS, 24)] {
        kernel.structs.entry(inner.to_string()).and_modify(|own| own.size = size);
    }
    for (owner, name) in NEW.iter().filter(|_| rules < Rules::V6_18) {
        kernel.structs.entry(owner.to_string()).and_modify(|own| drop(own.fields.remove(*name)));
    }
}

/// Which field is where, by kind of object and offset.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    task: Places,
    rq: Places,
    args: Places,
    cgroup: Places,
}

/// Bytes of the field that begins at an offset, and what it is.
type Places = Vec<Option<(u32, Field)>>;

impl Fields {
    pub fn new() -> Self {
        let empty = || vec![None; OBJECT_BYTES as usize];
        let mut fields = Self { task: empty(), rq: empty(), args: empty(), cgroup: empty() };
        let numbers = FIELDS.iter().map(|row| (row.0, row.2, row.3, row.5));
        let pointers = POINTERS.iter().map(|row| (row.0, row.2, 8, row.3));
        for (owner, at, size, field) in numbers.chain(pointers) {
            let (places, at) = match owner {
                TASK => (&mut fields.task, at),
                ENTITY => (&mut fields.task, SCX + at),
                RUN => (&mut fields.task, SE + at),
                RQ => (&mut fields.rq, at),
                CGROUP | CSS => (&mut fields.cgroup, at),
                NODE => (&mut fields.cgroup, KERNFS + at),
                _ => (&mut fields.args, at),
            };
            places[at as usize] = Some((size, field));
        }
        fields
    }

    /// The field that `size` bytes from an offset on are in; of names the number of the byte.
    pub fn at(&self, object: What, offset: u32, size: u32) -> Option<Field> {
        let places = match object {
            What::Task(_) | What::Idle(_) if (COMM..COMM + COMM_BYTES).contains(&offset) => {
                let at = offset - COMM;
                return (at + size <= COMM_BYTES).then_some(Field::Comm(at));
            }
            What::Task(_) | What::Idle(_) => &self.task,
            What::Rq(_) => &self.rq,
            What::Args { .. } => &self.args,
            What::Cgroup(_) => &self.cgroup,
            What::Mask(_) | What::PerCpu(_) => return None,
        };
        let (bytes, field) = (*places.get(offset as usize)?)?;
        // A pointer is read as a whole.
        let fits = if field.is_pointer() { size == 8 } else { size <= bytes };
        fits.then_some(field)
    }
}

fn group(index: u32) -> Option<GroupId> {
    u16::try_from(index).ok().map(GroupId)
}

/// A mask of CPUs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Mask {
    /// All CPUs of the machine.
    All,
    IdleCpus,
    IdleCores,
    /// Those of a node.
    IdleCpusOf(u32),
    IdleCoresOf(u32),
    /// `cpu_none_mask`
    Empty,
    Allowed(MaskId),
}

/// A variable of the kernel that each CPU has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum PerCpuVariable {
    Runqueues,
    /// Pointers that are all null: no driver sets frequencies.
    CpufreqData,
}

/// Their names.
pub(super) const PER_CPU: [(&str, PerCpuVariable); 2] =
    [("runqueues", PerCpuVariable::Runqueues), ("cpufreq_cpu_data", PerCpuVariable::CpufreqData)];

/// An object of the kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum What {
    Task(TaskId),
    /// The idle task of a CPU.
    Idle(CpuId),
    Mask(Mask),
    Rq(CpuId),
    /// Arguments of an operation; `fork`: the task was made by another one.
    Args {
        fork: bool,
        cgroup: GroupId,
    },
    Cgroup(GroupId),
    PerCpu(PerCpuVariable),
}

const OFFSET_BITS: u32 = 20;
const KIND_AT: u32 = 56;

impl What {
    /// The pointer that programs have for it.
    pub fn address(self) -> u64 {
        let (kind, index) = match self {
            Self::Task(p) => (1, p.0),
            Self::Idle(cpu) => (2, cpu.0),
            Self::Mask(Mask::All) => (3, 0),
            Self::Mask(Mask::IdleCpus) => (3, 1),
            Self::Mask(Mask::IdleCores) => (3, 2),
            Self::Mask(Mask::Empty) => (3, 3),
            Self::Mask(Mask::IdleCpusOf(node)) => (3, 4 + 2 * node),
            Self::Mask(Mask::IdleCoresOf(node)) => (3, 5 + 2 * node),
            Self::Mask(Mask::Allowed(mask)) => (4, mask.0),
            Self::Rq(cpu) => (5, cpu.0),
            Self::Args { fork, cgroup } => (6, u32::from(cgroup.0) << 1 | u32::from(fork)),
            Self::Cgroup(cgroup) => (7, cgroup.0.into()),
            Self::PerCpu(variable) => (8, variable as u32),
        };
        HOST | kind << KIND_AT | u64::from(index) << OFFSET_BITS
    }

    /// The object at an address, and the offset in it.
    pub fn at(address: u64) -> Option<(Self, u32)> {
        let offset = address as u32 & ((1 << OFFSET_BITS) - 1);
        let index = u32::try_from((address & ((1 << KIND_AT) - 1)) >> OFFSET_BITS).ok()?;
        let what = match (address & !HOST) >> KIND_AT {
            1 => Self::Task(TaskId(index)),
            2 => Self::Idle(CpuId(index)),
            3 => Self::Mask(match index {
                0 => Mask::All,
                1 => Mask::IdleCpus,
                2 => Mask::IdleCores,
                3 => Mask::Empty,
                even if even % 2 == 0 => Mask::IdleCpusOf(even / 2 - 2),
                odd => Mask::IdleCoresOf(odd / 2 - 2),
            }),
            4 => Self::Mask(Mask::Allowed(MaskId(index))),
            5 => Self::Rq(CpuId(index)),
            6 => Self::Args { fork: index & 1 == 1, cgroup: group(index >> 1)? },
            7 => Self::Cgroup(group(index)?),
            8 => Self::PerCpu(PER_CPU.get(index as usize)?.1),
            _ => return None,
        };
        Some((what, offset))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_its_object() {
        let all = [
            What::Task(TaskId(70_000)),
            What::Idle(CpuId(511)),
            What::Mask(Mask::All),
            What::Mask(Mask::IdleCpus),
            What::Mask(Mask::IdleCores),
            What::Mask(Mask::Empty),
            What::Mask(Mask::IdleCpusOf(0)),
            What::Mask(Mask::IdleCoresOf(0)),
            What::Mask(Mask::IdleCpusOf(31)),
            What::Mask(Mask::Allowed(MaskId(3))),
            What::Rq(CpuId(0)),
            What::Args { fork: true, cgroup: GroupId(300) },
            What::Cgroup(GroupId(u16::MAX)),
            What::PerCpu(PerCpuVariable::Runqueues),
            What::PerCpu(PerCpuVariable::CpufreqData),
        ];
        for what in all {
            assert_eq!(What::at(what.address() + 24), Some((what, 24)));
        }
        assert_eq!(What::at(HOST), None);
    }

    #[test]
    fn fields_do_not_overlap_and_are_found() {
        let task = What::Task(TaskId(1));
        let fields = Fields::new();
        assert_eq!(fields.at(task, 0, 4), Some(Field::Pid));
        assert_eq!(fields.at(task, 0, 8), None);
        assert_eq!(fields.at(task, SCX + 24, 8), Some(Field::Vtime));
        assert_eq!(fields.at(task, 72, 8), Some(Field::CpusPtr));
        assert_eq!(fields.at(task, 72, 4), None);
        assert_eq!(fields.at(task, OBJECT_BYTES, 1), None);
        assert_eq!(fields.at(task, COMM + 8, 8), Some(Field::Comm(8)));
        assert_eq!(fields.at(task, COMM + 9, 8), None);
        let args = What::Args { fork: true, cgroup: GroupId::ROOT };
        assert_eq!(fields.at(args, 16, 4), Some(Field::Reason));
        for (owner, name, at, size, _, field) in FIELDS {
            let (object, at) = match *owner {
                TASK => (task, *at),
                ENTITY => (task, SCX + at),
                RUN => (task, SE + *at),
                RQ => (What::Rq(CpuId(0)), *at),
                CGROUP | CSS => (What::Cgroup(GroupId(1)), *at),
                NODE => (What::Cgroup(GroupId(1)), KERNFS + *at),
                _ => (args, *at),
            };
            assert_eq!(fields.at(object, at, *size), Some(*field), "{owner}.{name}");
        }
        let mut at: Vec<(&str, u32, u32)> = FIELDS.iter().map(|r| (r.0, r.2, r.3)).collect();
        at.extend(POINTERS.iter().map(|r| (r.0, r.2, 8)));
        at.push((TASK, COMM, COMM_BYTES));
        at.sort_unstable();
        for pair in at.windows(2) {
            assert!(pair[0].0 != pair[1].0 || pair[0].1 + pair[0].2 <= pair[1].1, "{pair:?}");
        }
    }
}

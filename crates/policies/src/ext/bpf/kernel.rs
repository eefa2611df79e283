//! What a kernel has by name: functions, constants, options. The types are in `objects`.

use super::calls::CALLS;
use super::objects::{self, What};
use crate::ext::Rules;
use ::bpf::{Kernel, KernelFunction};
use std::collections::BTreeMap;

/// Enumerations of sched_ext, as a kernel's interface has them.
#[rustfmt::skip]
const ENUMS: &[(&str, &[(&str, u64)])] = &[
    ("scx_public_consts", &[
        ("SCX_OPS_NAME_LEN", 128),
        ("SCX_SLICE_DFL", 20_000_000),
        ("SCX_SLICE_INF", u64::MAX),
    ]),
    ("scx_dsq_id_flags", &[
        ("SCX_DSQ_FLAG_BUILTIN", 1 << 63),
        ("SCX_DSQ_FLAG_LOCAL_ON", 1 << 62),
        ("SCX_DSQ_INVALID", 1 << 63),
        ("SCX_DSQ_GLOBAL", 1 << 63 | 1),
        ("SCX_DSQ_LOCAL", 1 << 63 | 2),
        ("SCX_DSQ_LOCAL_ON", 3 << 62),
        ("SCX_DSQ_LOCAL_CPU_MASK", 0xffff_ffff),
    ]),
    ("scx_ops_flags", &[
        ("SCX_OPS_KEEP_BUILTIN_IDLE", 1),
        ("SCX_OPS_ENQ_LAST", 1 << 1),
        ("SCX_OPS_ENQ_EXITING", 1 << 2),
        ("SCX_OPS_SWITCH_PARTIAL", 1 << 3),
        ("SCX_OPS_ENQ_MIGRATION_DISABLED", 1 << 4),
        ("SCX_OPS_ALLOW_QUEUED_WAKEUP", 1 << 5),
        ("SCX_OPS_BUILTIN_IDLE_PER_NODE", 1 << 6),
        ("SCX_OPS_HAS_CGROUP_WEIGHT", 1 << 16),
    ]),
    ("scx_enq_flags", &[
        ("SCX_ENQ_WAKEUP", 1),
        ("SCX_ENQ_HEAD", 0x10),
        ("SCX_ENQ_CPU_SELECTED", 0x400),
        ("SCX_ENQ_PREEMPT", 1 << 32),
        ("SCX_ENQ_REENQ", 1 << 40),
        ("SCX_ENQ_LAST", 1 << 41),
    ]),
    ("scx_deq_flags", &[("SCX_DEQ_SLEEP", 1), ("SCX_DEQ_CORE_SCHED_EXEC", 1 << 32)]),
    ("scx_wake_flags", &[("SCX_WAKE_FORK", 4), ("SCX_WAKE_TTWU", 8), ("SCX_WAKE_SYNC", 0x10)]),
    ("scx_pick_idle_cpu_flags", &[("SCX_PICK_IDLE_CORE", 1), ("SCX_PICK_IDLE_IN_NODE", 2)]),
    ("scx_kick_flags", &[("SCX_KICK_IDLE", 1), ("SCX_KICK_PREEMPT", 2), ("SCX_KICK_WAIT", 4)]),
    ("scx_dsq_iter_flags", &[("SCX_DSQ_ITER_REV", 1 << 16)]),
    ("scx_ent_flags", &[("SCX_TASK_QUEUED", 1)]),
    ("scx_cpu_preempt_reason", &[
        ("SCX_CPU_PREEMPT_RT", 0),
        ("SCX_CPU_PREEMPT_DL", 1),
        ("SCX_CPU_PREEMPT_STOP", 2),
        ("SCX_CPU_PREEMPT_UNKNOWN", 3),
    ]),
];

/// All constants with their values.
pub fn constants() -> impl Iterator<Item = (&'static str, u64)> {
    ENUMS.iter().flat_map(|(_, values)| values.iter().copied())
}

/// Flags of a scheduler by name, `SCX_OPS_*`.
pub fn flags() -> impl Iterator<Item = (&'static str, u64)> {
    constants().filter(|(name, _)| name.starts_with("SCX_OPS_") && *name != "SCX_OPS_NAME_LEN")
}

/// The kernel whose rules hold.
pub fn kernel(rules: Rules) -> Kernel {
    let mut kernel = Kernel::default();
    objects::add_types(&mut kernel, rules);
    for (name, values) in ENUMS {
        let values = values.iter().map(|(name, value)| (name.to_string(), *value));
        kernel.enums.insert(name.to_string(), BTreeMap::from_iter(values));
    }
    for (row, number) in CALLS.iter().zip(0..) {
        if row.since > rules || row.until.is_some_and(|last| last < rules) {
            continue;
        }
        match row.helper {
            Some(helper) => drop(kernel.helpers.insert(helper, number)),
            None => {
                let shape = row.shape.map(str::to_string);
                kernel.functions.insert(row.name.to_string(), KernelFunction { number, shape });
            }
        }
    }
    let (major, minor) = match rules {
        Rules::V6_12 => (6, 12),
        Rules::V6_18 => (6, 18),
    };
    kernel.config.insert("LINUX_KERNEL_VERSION".to_string(), major << 16 | minor << 8);
    // As many as machines may have here.
    kernel.config.insert("CONFIG_NR_CPUS".to_string(), topology::MAX_CPUS);
    for (name, variable) in objects::PER_CPU {
        kernel.variables.insert(name.to_string(), What::PerCpu(variable).address());
    }
    kernel.config.insert("CONFIG_PREEMPT_RCU".to_string(), 1);
    kernel
}

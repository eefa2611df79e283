//! The rules of the sched_ext shape that can leave a CPU idle while a task waits.

use sim_core::{Reason, Takers};

pub(super) const LOCAL: &Reason = &Reason {
    takers: Takers::Own,
    ..Reason::new(
        "scx_bpf_dsq_insert: local queue",
        "the scheduler put the task on the local queue of one CPU, where nobody else can take it",
        "",
    )
};
pub(super) const DISPATCH_QUEUE: &Reason = &Reason {
    takers: Takers::Any,
    ..Reason::new(
        "scx_bpf_dsq_insert: dispatch queue",
        "the task waits for any CPU, and nobody has woken one up for it",
        "",
    )
};
pub(super) const KEPT: &Reason = &Reason {
    takers: Takers::Any,
    ..Reason::new("enqueue: kept", "the scheduler keeps the task until it dispatches it", "")
};
pub(super) const NOTHING_DISPATCHED: &Reason = &Reason::new(
    "balance_scx: nothing dispatched",
    "the CPU looked at the global queue and at what dispatch named, and there was nothing",
    "",
);

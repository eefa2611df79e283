//! The rules of the sched_ext shape that can leave a CPU idle while a task waits.

use sim_core::Reason;

pub(super) const LOCAL: &Reason = &Reason {
    name: "scx_bpf_dsq_insert: local queue",
    text: "the scheduler put the task on the local queue of one CPU",
    knob: "",
};
pub(super) const DISPATCH_QUEUE: &Reason = &Reason {
    name: "scx_bpf_dsq_insert: dispatch queue",
    text: "the task waits for any CPU, and nobody has woken one up for it",
    knob: "",
};
pub(super) const NOTHING_DISPATCHED: &Reason = &Reason {
    name: "balance_scx: nothing dispatched",
    text: "the CPU looked at the global queue and at what dispatch named, and there was nothing",
    knob: "",
};

//! What the layer counts of its own doings (`struct scx_event_stats`, since 6.15).
//!
//! Left out, because they do not happen here: CPUs that go offline, tasks that must not migrate,
//! the bypass mode.
//! Sites: `ext.c` v6.18.

/// Counts since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Events {
    /// `SCX_EV_SELECT_CPU_FALLBACK`: wake-ups whose chosen CPU the task may not use.
    pub select_cpu_fallback: u64,
    /// `SCX_EV_DISPATCH_KEEP_LAST`: a task ran on after its slice, as its CPU had no other.
    pub dispatch_keep_last: u64,
    /// `SCX_EV_ENQ_SKIP_EXITING`: the scheduler was not asked about a task that exits.
    pub enq_skip_exiting: u64,
    /// `SCX_EV_REFILL_SLICE_DFL`: the layer, not the scheduler, has given a task a slice.
    pub refill_slice_dfl: u64,
}

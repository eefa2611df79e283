//! Where a CPU's time goes.

/// Where a CPU's time goes. Every nanosecond of every CPU is in exactly one category.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Category {
    /// User mode.
    User,
    /// Kernel mode on behalf of a task, scheduler included.
    Kernel,
    /// Softirq (periodic and nohz balance).
    Softirq,
    /// Hard interrupts and ticks.
    Irq,
    /// Waiting for a lock or for a task's state.
    Spin,
    /// Idle.
    Idle,
    /// Leaving a C-state.
    Exit,
}

/// Number of [`Category`] values.
pub const N_CATEGORIES: usize = 7;

/// On whose behalf a CPU works in the kernel, as `common_flags` of ftrace's events tell it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Context {
    /// The current task's.
    Task,
    /// A softirq's. The current task may have raised it itself.
    Softirq,
    /// A hardware interrupt's: a timer's, a device's, another CPU's.
    Hardirq,
}

//! The common event model: the scheduler's tracepoints with the kernel's fields, ready to be
//! written in any format. An event is small and holds all its names itself.

use sim_core::{Context, Ns, Pid, SleepState, TaskId, TaskState, World};
use topology::CpuId;

/// A command name as the kernel keeps it: at most 15 bytes, padded with zeros.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Comm([u8; 16]);

impl Comm {
    /// A name, cut to what fits. Control characters would break lines of text: they become `?`.
    pub fn new(name: &str) -> Self {
        let mut bytes = [0; 16];
        let mut at = 0;
        for c in name.chars().map(|c| if c.is_control() { '?' } else { c }) {
            if at + c.len_utf8() > 15 {
                break;
            }
            at += c.encode_utf8(&mut bytes[at..]).len();
        }
        Self(bytes)
    }

    /// The name without its padding.
    pub fn as_str(&self) -> &str {
        let end = self.0.iter().position(|b| *b == 0).unwrap_or(self.0.len());
        std::str::from_utf8(&self.0[..end]).expect("it was cut between characters")
    }

    /// The name with its padding: `char comm[16]`.
    pub fn bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl std::fmt::Debug for Comm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.as_str().fmt(f)
    }
}

/// A task as an event names it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Who {
    /// Its pid; 0 is the idle task of any CPU.
    pub pid: Pid,
    /// Its name at this instant.
    pub comm: Comm,
    /// The kernel's priority: 120 + nice, or 0 for a stopper thread.
    pub prio: i32,
}

/// The state in which a task leaves its CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrevState {
    /// It could go on: it was preempted in user mode, or has yielded.
    Runnable,
    /// It could go on, and was preempted in the kernel.
    Preempted,
    /// It sleeps until something happens, or a signal comes.
    Interruptible,
    /// It sleeps until something happens.
    Uninterruptible,
    /// It sleeps as a kernel thread without work does (`TASK_IDLE`), which adds nothing to the load
    /// average.
    Idle,
    /// It has exited and will not run again.
    Dead,
}

impl PrevState {
    /// The state in which `prev` leaves its CPU, asked at the switch.
    pub fn of(w: &World, prev: TaskId) -> Self {
        if !prev.is_task() {
            return match prev {
                TaskId::STOP => Self::Interruptible,
                _ => Self::Runnable,
            };
        }
        let t = &w.tasks[prev];
        match (t.state, t.sleeps) {
            (TaskState::Runnable, _) if t.in_kernel && t.work_left > 0 => Self::Preempted,
            (TaskState::Runnable, _) => Self::Runnable,
            (TaskState::Dead, _) => Self::Dead,
            (_, SleepState::Interruptible) => Self::Interruptible,
            (_, SleepState::Uninterruptible) => Self::Uninterruptible,
            (_, SleepState::Idle) => Self::Idle,
        }
    }

    /// What `perf script` prints.
    pub fn letters(self) -> &'static str {
        match self {
            Self::Runnable => "R",
            Self::Preempted => "R+",
            Self::Interruptible => "S",
            Self::Uninterruptible => "D",
            Self::Idle => "I",
            Self::Dead => "X",
        }
    }

    /// The `prev_state` field of Linux 6.18.
    pub fn bits(self) -> u16 {
        match self {
            Self::Runnable => 0,
            Self::Interruptible => 1,
            Self::Uninterruptible => 2,
            Self::Dead => 0x10,
            Self::Idle => 0x80,
            Self::Preempted => 0x100,
        }
    }
}

/// What happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    /// `sched_switch`
    Switch {
        /// The task that leaves the CPU.
        prev: Who,
        /// The state in which it leaves.
        state: PrevState,
        /// The task that comes to the CPU.
        next: Who,
    },
    /// `sched_waking`, on the waker's CPU.
    Waking {
        /// The task that is woken.
        task: Who,
        /// The CPU on which it last was.
        target: CpuId,
        /// Who wakes it: the current task, or an interrupt.
        by: Context,
    },
    /// `sched_wakeup`: the task is on a runqueue now.
    Wakeup {
        /// The task that was woken.
        task: Who,
        /// The CPU of its runqueue.
        target: CpuId,
    },
    /// `sched_wakeup_new`: the same, for the first time after its fork.
    WakeupNew {
        /// The new task.
        task: Who,
        /// The CPU of its runqueue.
        target: CpuId,
    },
    /// `sched_migrate_task`
    Migrate {
        /// The task that moves.
        task: Who,
        /// The CPU it belonged to.
        from: CpuId,
        /// The CPU it belongs to now.
        to: CpuId,
    },
    /// `sched_stat_runtime`: CPU time charged to a task.
    StatRuntime {
        /// The task that is charged.
        task: Who,
        /// CPU time since its last charge, ns.
        ns: Ns,
    },
    /// `sched_process_fork`
    Fork {
        /// The parent.
        parent: Who,
        /// The child, which still has its parent's name.
        child: Who,
    },
    /// No tracepoint: a task has another name now (`execve`). It comes before the first event that
    /// shows the name.
    Renamed {
        /// The task, with its new name.
        task: Who,
    },
    /// No tracepoint: a task has left its CPU for the last time.
    Exit {
        /// The task that has exited.
        task: Who,
    },
    /// No tracepoint: a runqueue has another length.
    NrRunning {
        /// The CPU of the runqueue.
        cpu: CpuId,
        /// Tasks on it, the running one included.
        n: u32,
    },
    /// No tracepoint: another number of CPUs idles although tasks wait.
    IdleWhileRunnable {
        /// The smaller of idle CPUs and waiting tasks.
        n: u32,
    },
    /// No tracepoint: an average of a runqueue, or the scale of its CPU's frequency, is another.
    CpuSignal {
        /// The CPU of the runqueue.
        cpu: CpuId,
        /// Which of them.
        signal: Signal,
        /// Its value.
        value: u64,
    },
    /// No tracepoint: an average of a task is another.
    TaskSignal {
        /// The task.
        task: Who,
        /// Which of them.
        signal: Signal,
        /// Its value.
        value: u64,
    },
}

/// What a policy knows of how busy a CPU or a task is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Signal {
    /// `util_avg`: how much it ran, of 1024.
    Util,
    /// `load_avg`: how much it was runnable, by weight.
    Load,
    /// `runnable_avg`: how much it was runnable, of 1024 per task.
    Runnable,
    /// `arch_scale_freq_capacity()`: the clock, of 1024.
    FreqScale,
}

impl Signal {
    /// The kernel's name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Util => "util_avg",
            Self::Load => "load_avg",
            Self::Runnable => "runnable_avg",
            Self::FreqScale => "freq_scale",
        }
    }
}

impl What {
    /// False for what the kernel has no tracepoint for; some formats have other means to say it.
    pub fn is_tracepoint(&self) -> bool {
        use What::{CpuSignal, Exit, IdleWhileRunnable, NrRunning, Renamed, TaskSignal};
        let is_counter = matches!(
            self,
            NrRunning { .. } | IdleWhileRunnable { .. } | CpuSignal { .. } | TaskSignal { .. }
        );
        !is_counter && !matches!(self, Renamed { .. } | Exit { .. })
    }
}

/// Something that happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// When it happened, ns on the tools' clock, which starts at [`START_NS`](super::START_NS).
    pub at: Ns,
    /// The CPU that executed it.
    pub cpu: CpuId,
    /// The current task of that CPU.
    pub current: Who,
    /// What happened.
    pub what: What,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_cut_as_the_kernel_cuts_it() {
        assert_eq!(Comm::new("systemd-journald").as_str(), "systemd-journal");
        assert_eq!(Comm::new("cc1").bytes()[..5], *b"cc1\0\0");
        assert_eq!(Comm::new("fünfzehn_bytes_ü").as_str(), "fünfzehn_bytes");
        assert_eq!(Comm::new("a\nb").as_str(), "a?b");
        assert_eq!(Comm::new("").as_str(), "");
    }
}

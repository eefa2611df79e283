//! What the outside supplies: a clock, CPUs, objects of the kernel and functions that act on them.

use crate::memory::Memory;

/// How a call of the host ends.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Answer {
    /// The call returns this.
    Value(u64),
    /// The call takes simulated time: the run stops, and [`crate::Run::resume`] brings the value.
    /// Meanwhile the program's stack is reached by [`crate::Run::bytes_mut`].
    Suspend,
    /// The program may not go on, because of this.
    Stop(String),
}

/// The kernel around a program.
///
/// Addresses from [`crate::memory::HOST`] on are the host's: it decides what they mean.
pub trait Host {
    /// A load of `size` bytes (1, 2, 4 or 8) from an object of the host; `None` for a bad address.
    ///
    /// A helper that copies from there asks for the whole if that is a number's size, as a field
    /// is, and for parts of it only if that is refused.
    fn load(&mut self, _address: u64, _size: u32) -> Option<u64> {
        None
    }

    /// A store to an object of the host; false if it must not be written there.
    fn store(&mut self, _address: u64, _size: u32, _value: u64) -> bool {
        false
    }

    /// Calls the function that the [`crate::Kernel`] has given the number `function`.
    fn call(&mut self, function: u32, args: [u64; 5], memory: &mut Memory) -> Answer;

    /// The present instant, ns.
    fn now_ns(&mut self) -> u64 {
        0
    }

    /// The CPU that executes.
    fn cpu(&mut self) -> u32 {
        0
    }

    /// The CPU behind which a search in turn on the executing CPU begins
    /// (`bpf_cpumask_any_distribute`).
    fn last_distributed(&mut self) -> u32 {
        0
    }

    /// Such a search has found this CPU.
    fn note_distributed(&mut self, _cpu: u32) {}

    /// `bpf_get_prandom_u32`
    fn random(&mut self) -> u32 {
        0
    }

    /// A line of `bpf_printk`.
    fn print(&mut self, _line: &str) {}

    /// `bpf_timer_start`: after `delay_ns` (or at that instant, with `BPF_F_TIMER_ABS`, 1) the host
    /// shall have [`crate::Vm::begin_timer`] called with this timer.
    fn start_timer(&mut self, _timer: u64, _delay_ns: u64, _flags: u64) {}

    /// `bpf_timer_cancel`, or the timer's map value is gone.
    fn cancel_timer(&mut self, _timer: u64) {}
}

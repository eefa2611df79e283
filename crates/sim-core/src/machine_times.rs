//! Times and speeds of a machine, in the form in which every event needs them.

use crate::Ns;
use crate::cpu::FULL_SPEED;
use topology::Machine;

/// What follows from a machine's description once and for all.
pub(crate) struct MachineTimes {
    /// Length of a tick period, ns.
    pub tick_ns: Ns,
    /// 2^64 / tick_ns, rounded down.
    pub tick_inverse: u64,
    /// [`crate::World::line_ns`] by distance.
    pub line_ns: [Ns; 5],
    /// Speed beside an idle, a spinning and a busy sibling.
    pub speeds: [u32; 3],
}

impl MachineTimes {
    pub fn new(machine: &Machine) -> Self {
        // Speeds are even, so that half of one, while a cache debt is paid, is an integer.
        #[allow(clippy::float_arithmetic, reason = "once, before the run; integers from here on")]
        let to_speed = |f: f64| ((f * f64::from(FULL_SPEED / 2)).round() as u32).max(1) * 2;
        Self {
            tick_ns: machine.tick_ns(),
            tick_inverse: u64::MAX / machine.tick_ns(),
            line_ns: machine.line.ns.map(Ns::from),
            speeds: [FULL_SPEED, to_speed(machine.smt.spinning), to_speed(machine.smt.busy)],
        }
    }
}

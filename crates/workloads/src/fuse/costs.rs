//! CPU time of file operations and FUSE requests.
//!
//! Measured by `scripts/measure-fuse` (docs/CALIBRATION.md) on a guest of an EPYC (Zen 5) at 3.9
//! GHz with Linux 6.18, fio 3.33 and libfuse's passthrough_ll, program and daemon on one CPU, ext4
//! below, all of it in the page cache; the scheduler's share, which the simulator adds by itself,
//! is taken off. Times scale with the clock. A fixed part and one per KiB come from two sizes of
//! blocks. The work of a call before its sleep and after it was not told apart: half and half.

use super::Kind;
use crate::ssd;
use sim_core::Ns;

/// CPU time on some machine: fixed, ns, and per KiB, ps.
#[derive(Clone, Copy, Debug)]
struct Cost {
    fixed: Ns,
    per_kib_ps: u64,
}

const fn cost(fixed: Ns, per_kib_ps: u64) -> Cost {
    Cost { fixed, per_kib_ps }
}

impl Cost {
    fn of(self, kib: u64) -> Ns {
        self.fixed + self.per_kib_ps * kib / 1000
    }
}

/// CPU time of both sides of a request.
#[derive(Clone, Copy, Debug)]
struct Sides {
    program: Cost,
    daemon: Cost,
}

/// All costs, at the clock of a machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Costs {
    clock_mhz: u32,
    splice: bool,
    /// What passthrough adds to a read
    pub redirect_read: Ns,
    /// … and to a write.
    pub redirect_write: Ns,
    /// A command for the SSD, ns.
    pub command: Ns,
    /// The handler of its completion, ns.
    pub complete: Ns,
    /// Writing out dirty pages, ns per KiB.
    pub write_out_per_kib: Ns,
}

/// fio reads a block in the page cache, in order
const READ: Cost = cost(510, 33_000);
/// … or anywhere,
const READ_ANYWHERE: Cost = cost(1160, 33_000);
/// … or writes one into it. (Anywhere it took ten times as long: large folios, which 5.8 has not.)
const WRITE: Cost = cost(1360, 60_000);
/// What passthrough adds to a read, and to a write, ns.
const REDIRECT_READ: Ns = 140;
const REDIRECT_WRITE: Ns = 500;
const READ_REQUEST: Sides = Sides { program: cost(1230, 223_000), daemon: cost(150, 710_000) };
/// … of a daemon that splices.
const SPLICED: Cost = cost(2200, 166_000);
const WRITE_REQUEST: Sides = Sides { program: cost(1090, 308_000), daemon: cost(3590, 200_000) };
/// A request without data: GETXATTR, and those about names and open files.
const BARE_REQUEST: Sides = Sides { program: cost(1340, 0), daemon: cost(3400, 0) };
/// Pages are made for readahead, and mapped to blocks. The fixed part is unverified.
const MAKE_PAGES: Cost = cost(1000, 17_500);
/// Dirty pages are written out, ns per KiB: unverified.
const WRITE_OUT_NS: Ns = 50;

impl Costs {
    /// Clock of the machine on which all this was measured, MHz.
    const CLOCK_MHZ: u32 = 3900;

    /// On a machine with this clock, with a daemon that splices or not.
    pub fn at_clock(clock_mhz: u32, splice: bool) -> Self {
        let costs = Self {
            clock_mhz,
            splice,
            redirect_read: 0,
            redirect_write: 0,
            command: ssd::at_clock(ssd::COMMAND_NS, clock_mhz),
            complete: ssd::at_clock(ssd::COMPLETE_NS, clock_mhz),
            write_out_per_kib: 0,
        };
        Self {
            redirect_read: costs.scaled(REDIRECT_READ),
            redirect_write: costs.scaled(REDIRECT_WRITE),
            write_out_per_kib: costs.scaled(WRITE_OUT_NS),
            ..costs
        }
    }

    fn scaled(&self, ns: Ns) -> Ns {
        ns * u64::from(Self::CLOCK_MHZ) / u64::from(self.clock_mhz.max(1))
    }

    fn sides(kind: Kind) -> Sides {
        match kind {
            Kind::Read { .. } => READ_REQUEST,
            Kind::Write => WRITE_REQUEST,
            Kind::GetXattr => BARE_REQUEST,
        }
    }

    fn daemon(&self, kind: Kind) -> Cost {
        match kind {
            Kind::Read { .. } if self.splice => SPLICED,
            _ => Self::sides(kind).daemon,
        }
    }

    /// A program reads a block that is in the page cache.
    pub fn read(&self, kib: u64, anywhere: bool) -> Ns {
        let cost = if anywhere { READ_ANYWHERE } else { READ };
        self.scaled(cost.of(kib))
    }

    /// … or writes one into it.
    pub fn write(&self, kib: u64) -> Ns {
        self.scaled(WRITE.of(kib))
    }

    /// Readahead that goes to the SSD.
    pub fn submit(&self, kib: u64) -> Ns {
        self.scaled(MAKE_PAGES.of(kib)) + self.command
    }

    /// A program makes a request.
    pub fn send(&self, kind: Kind, kib: u64) -> Ns {
        self.scaled(Self::sides(kind).program.of(kib)) / 2
    }

    /// … and takes its answer in.
    pub fn take_answer(&self, kind: Kind, kib: u64) -> Ns {
        self.scaled(Self::sides(kind).program.of(kib)) / 2
    }

    /// The daemon reads a request from the device.
    pub fn take(&self, kind: Kind, kib: u64) -> Ns {
        self.scaled(self.daemon(kind).of(kib)) / 2
    }

    /// … and serves it, all but waiting for the SSD, and writes the reply.
    pub fn reply(&self, kind: Kind, kib: u64) -> Ns {
        self.scaled(self.daemon(kind).of(kib)) / 2
    }
}

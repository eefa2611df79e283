//! How the clock of each CPU follows its load: `[cpufreq]` of a machine.
//!
//! A machine with it has two more speeds per CPU: the one that the CPU's governor asks for, and
//! that of its core, which runs at the highest one that a thread asks for who is not idle.

use crate::cpu::{FULL_SPEED, Occupancy};
use crate::{Ns, World};
use topology::{CpuFreq, CpuId, FreqGovernor, Machine, PerCpu};

/// A higher load, in percent, asks for the highest frequency (`MICRO_FREQUENCY_UP_THRESHOLD`).
const UP_THRESHOLD: u64 = 95;
/// The steps of the frequency, MHz: the bus clock by which x86 CPUs multiply.
const STEP_MHZ: u32 = 100;

/// What the governor knows of a CPU (`struct cpu_dbs_info`).
#[derive(Clone, Debug)]
struct Clock {
    /// What it asks for, MHz.
    wanted_mhz: u32,
    /// When it was last looked at, ns.
    sampled: Ns,
    /// Idle since then, ns.
    idle_ns: Ns,
    /// The load at that look, percent; 0 once it has been copied (`prev_load`).
    prev_load: u64,
}

/// The clocks of all CPUs.
#[derive(Clone, Debug)]
pub(crate) struct Clocks {
    freq: CpuFreq,
    /// The clock to which the machine's costs belong, MHz.
    full_mhz: u32,
    cpus: PerCpu<Clock>,
}

impl Clocks {
    /// `None` if the machine's clock does not follow the load.
    pub fn new(machine: &Machine) -> Option<Self> {
        let freq = machine.cpufreq?;
        let wanted_mhz = match freq.governor {
            FreqGovernor::Performance => freq.max_mhz,
            FreqGovernor::Powersave | FreqGovernor::Ondemand => freq.min_mhz,
        };
        let clock = Clock { wanted_mhz, sampled: 0, idle_ns: 0, prev_load: 0 };
        let cpus = vec![clock; machine.n_cpus()].into();
        Some(Self { freq, full_mhz: machine.clock_mhz, cpus })
    }

    /// A period of idleness of `cpu` is over; tasks may have waited for a disk in it. The kernel
    /// looks at their number where the period ends (`tick_nohz_stop_idle()`, v5.8).
    pub fn was_idle(&mut self, cpu: CpuId, ns: Ns, io_waits: bool) {
        if !(io_waits && self.freq.io_is_busy) {
            self.cpus[cpu].idle_ns += ns;
        }
    }

    /// Looks at `cpu` if it is time; true if it asks for another frequency now.
    fn sample(&mut self, cpu: CpuId, now: Ns) -> bool {
        let (freq, c) = (self.freq, &mut self.cpus[cpu]);
        let interval = Ns::from(freq.sampling_us) * 1000;
        let elapsed = now - c.sampled;
        if freq.governor != FreqGovernor::Ondemand || elapsed < interval {
            return false;
        }
        let load = c.load(elapsed, interval);
        (c.sampled, c.idle_ns) = (now, 0);
        let wanted = target_mhz(&freq, load);
        std::mem::replace(&mut c.wanted_mhz, wanted) != wanted
    }

    /// The speed that goes with this frequency, if it would be `speed` at the machine's clock.
    fn at(&self, mhz: u32, speed: u32) -> u32 {
        let speed = u64::from(speed) * u64::from(mhz) / u64::from(self.full_mhz);
        // Speeds are even, so that half of one, while a cache debt is paid, is an integer.
        (speed as u32 & !1).max(2)
    }
}

impl Clock {
    /// `dbs_update()`, v5.8: the share of the time that was not idle, percent. The first look after
    /// a long sleep takes the load from before it, once: a burst shall not begin slowly.
    fn load(&mut self, elapsed: Ns, interval: Ns) -> u64 {
        if self.idle_ns > 2 * interval && self.prev_load > 0 {
            return std::mem::take(&mut self.prev_load);
        }
        self.prev_load = 100 * elapsed.saturating_sub(self.idle_ns) / elapsed;
        self.prev_load
    }
}

/// `od_update()`, v5.8: in proportion to the load, and above a threshold the highest.
fn target_mhz(freq: &CpuFreq, load: u64) -> u32 {
    if load > UP_THRESHOLD {
        return freq.max_mhz;
    }
    let wanted = freq.min_mhz + (load * u64::from(freq.max_mhz - freq.min_mhz) / 100) as u32;
    // CPUFREQ_RELATION_C: the step that is closest.
    let step = (wanted + STEP_MHZ / 2) / STEP_MHZ * STEP_MHZ;
    step.clamp(freq.min_mhz, freq.max_mhz)
}

impl World {
    /// The governor of `cpu` looks at it, if it is time, from a tick or where idleness ends.
    #[inline]
    pub(crate) fn sample_clock(&mut self, cpu: CpuId, at: Ns) {
        if let Some(clocks) = &mut self.clocks
            && clocks.sample(cpu, at)
        {
            self.after.speed_changed.push(cpu);
            self.after.disturbed = true;
        }
    }

    /// `speed` is that of `cpu` at the machine's clock; this is the one at its core's.
    pub(crate) fn at_core_clock(&self, cpu: CpuId, speed: u32) -> u32 {
        let Some(clocks) = &self.clocks else {
            return speed;
        };
        let awake = |s: &&CpuId| self.cpus[**s].occupancy != Occupancy::Idle;
        let siblings = self.siblings[cpu].iter().filter(awake);
        let mhz = siblings.chain([&cpu]).map(|c| clocks.cpus[*c].wanted_mhz).max();
        clocks.at(mhz.unwrap_or(clocks.full_mhz), speed)
    }

    /// All CPUs begin at the frequency of an idle machine.
    pub(crate) fn set_first_clocks(&mut self) {
        for cpu in (0..self.cpus.len() as u32).map(CpuId) {
            self.cpus[cpu].speed = self.at_core_clock(cpu, FULL_SPEED);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use topology::RegularSpec;

    const MS: Ns = 1_000_000;

    fn ondemand(io_is_busy: bool) -> Clocks {
        let freq = CpuFreq {
            governor: FreqGovernor::Ondemand,
            min_mhz: 1200,
            max_mhz: 3100,
            sampling_us: 10_000,
            io_is_busy,
        };
        let mut machine =
            Machine::regular(RegularSpec { clock_mhz: 2500, ..RegularSpec::default() });
        machine.cpufreq = Some(freq);
        Clocks::new(&machine).expect("there is a governor")
    }

    /// What a CPU asks for after looks `(at, idle since the last)`.
    fn wanted(looks: &[(Ns, Ns)]) -> Vec<u32> {
        let mut clocks = ondemand(false);
        let mut look = |(at, idle): &(Ns, Ns)| {
            clocks.was_idle(CpuId(0), *idle, false);
            clocks.sample(CpuId(0), *at);
            clocks.cpus[CpuId(0)].wanted_mhz
        };
        looks.iter().map(&mut look).collect()
    }

    #[test]
    fn ondemand_follows_the_load_and_jumps_above_95_percent() {
        // 1200 + 0.4 * 1900 = 1960; 96 % is above the threshold, 95 % is not: 3005.
        assert_eq!(wanted(&[(10 * MS, 6 * MS)]), [2000]);
        assert_eq!(wanted(&[(100 * MS, 4 * MS), (200 * MS, 5 * MS)]), [3100, 3000]);
        assert_eq!(wanted(&[(10 * MS, 10 * MS)]), [1200]);
        // Not yet time.
        assert_eq!(wanted(&[(9 * MS, 0), (10 * MS, 0)]), [1200, 3100]);
    }

    #[test]
    fn after_a_long_sleep_the_load_from_before_counts_once() {
        let looks = [(10 * MS, 0), (110 * MS, 99 * MS), (210 * MS, 99 * MS)];
        assert_eq!(wanted(&looks), [3100, 3100, 1200]);
    }

    #[test]
    fn waiting_for_a_disk_is_busy_if_the_governor_says_so() {
        for (io_is_busy, mhz) in [(false, 1200), (true, 3100)] {
            let mut clocks = ondemand(io_is_busy);
            clocks.was_idle(CpuId(0), 10 * MS, true);
            clocks.sample(CpuId(0), 10 * MS);
            assert_eq!(clocks.cpus[CpuId(0)].wanted_mhz, mhz);
        }
    }

    #[test]
    fn a_speed_is_even_and_in_proportion() {
        let clocks = ondemand(false);
        assert_eq!(clocks.at(2500, FULL_SPEED), FULL_SPEED);
        assert_eq!(clocks.at(1250, FULL_SPEED), FULL_SPEED / 2);
        assert_eq!(clocks.at(3100, FULL_SPEED), 162_528);
    }
}

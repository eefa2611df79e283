//! How a CPU's clock follows its load: cpufreq's governors.

/// `[cpufreq]`: without it the clock is `clock_mhz` all the time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CpuFreq {
    /// Who chooses the frequency.
    pub governor: FreqGovernor,
    /// The lowest frequency, MHz (`cpuinfo_min_freq`).
    pub min_mhz: u32,
    /// The highest frequency, MHz (`cpuinfo_max_freq`): that of turbo where it is on.
    pub max_mhz: u32,
    /// How often the governor looks at a CPU that is not idle, us (`sampling_rate`).
    pub sampling_us: u32,
    /// Idle time in which tasks wait for a disk counts as busy (`io_is_busy`).
    pub io_is_busy: bool,
}

/// The cpufreq governor: the rule by which a CPU's frequency follows what it did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FreqGovernor {
    /// Always the highest.
    Performance,
    /// Always the lowest.
    Powersave,
    /// By the share of time in which the CPU was not idle since the last look.
    Ondemand,
}

impl FreqGovernor {
    /// All of them with the kernel's names.
    pub const NAMES: [(&'static str, Self); 3] = [
        ("performance", Self::Performance),
        ("powersave", Self::Powersave),
        ("ondemand", Self::Ondemand),
    ];

    /// The kernel's name.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize].0
    }
}

impl CpuFreq {
    /// `sampling_rate` of ondemand with a driver that takes 10 us or more for a change.
    pub const DEFAULT_SAMPLING_US: u32 = 10_000;
}

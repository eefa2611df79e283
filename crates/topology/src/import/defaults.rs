//! What a dump cannot tell: plausible constants of a part, by its maker.
//!
//! They are of the order of what was measured on other parts and say nothing about the one at hand.

use crate::{CState, Caches, LineLatency};
use std::ops::RangeInclusive;

/// Clocks that a machine file accepts, in MHz.
pub(super) const CLOCK_MHZ: RangeInclusive<u32> = 100..=10_000;

/// The vendor of the CPU.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Maker {
    /// AMD with this family number; Zen begins at 23.
    Amd { family: u32 },
    /// Intel.
    Intel,
    /// Another vendor, or an unknown one.
    #[default]
    Other,
}

impl Maker {
    /// From the vendor string of CPUID and the family number.
    pub fn new(vendor: &str, family: u32) -> Self {
        match vendor {
            "AuthenticAMD" | "HygonGenuine" => Self::Amd { family },
            "GenuineIntel" => Self::Intel,
            _ => Self::Other,
        }
    }

    /// `node_reclaim_distance`: kernels on Zen raise it.
    pub fn reclaim_distance(self) -> u32 {
        match self {
            Self::Amd { family } if family >= 23 => 32,
            _ => 30,
        }
    }

    /// Cache-line transfers, and of which parts they are.
    pub fn latency(self) -> (LineLatency, &'static str) {
        match self {
            Self::Intel => (
                LineLatency { ns: [0, 7, 48, 60, 136] },
                "a default of the order of Cascade and Ice Lake servers; LLCs of one socket are a \
                 guess",
            ),
            Self::Amd { .. } => {
                (LineLatency::default(), "a default of the order of Zen 2 to Zen 4 servers")
            }
            Self::Other => (LineLatency::default(), "a default of the order of a Zen 3 server"),
        }
    }

    /// Latencies of the L3 and of memory; sizes are the general defaults.
    pub fn caches(self) -> Caches {
        match self {
            Self::Intel => Caches { l3_hit_ns: 22, mem_ns: 90, ..Caches::default() },
            _ => Caches::default(),
        }
    }
}

/// `2300` of `... CPU @ 2.30GHz`.
pub(super) fn clock_of_model(model: &str) -> Option<i64> {
    let ghz = model.rsplit_once('@')?.1.trim().strip_suffix("GHz")?;
    let (whole, fraction) = ghz.trim().split_once('.').unwrap_or((ghz.trim(), ""));
    let fraction: String = format!("{fraction:0<3}").chars().take(3).collect();
    let digits =
        |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok())?;
    let mhz = i64::checked_mul(digits(whole)?, 1000)?;
    mhz.checked_add(digits(&fraction)?)
}

/// The idle states of a machine that shows none, and why.
pub(super) fn cstates(is_guest: bool) -> (Vec<CState>, &'static str) {
    if !is_guest {
        return (CState::defaults(), "no idle states in the dump: one MWAIT state, a default");
    }
    let halt = CState {
        name: "HLT".into(),
        exit_ns: 10_000,
        core_exit_ns: 10_000,
        residency_ns: 10_000,
        polling: false,
    };
    (vec![halt], "a guest halts: its waker sends an IPI through the hypervisor; a guess")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_stands_in_the_name_of_intels_models() {
        let clock = clock_of_model;
        assert_eq!(clock("Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz"), Some(2300));
        assert_eq!(clock("Old One @ 3GHz"), Some(3000));
        assert_eq!(clock("AMD EPYC 7763 64-Core Processor"), None);
        assert_eq!(clock("x @ -1.5GHz"), None);
        assert_eq!(clock("x @ 99999999999999999999.5GHz"), None);
        assert_eq!(clock("x @ 1.+50GHz"), None);
        assert_eq!(clock("x @ 1.\u{e9}GHz"), None);
    }
}

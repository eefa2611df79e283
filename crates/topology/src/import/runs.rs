//! Sets of CPUs as the kernel and hwloc write them: lists (`0-3,8`) and masks (`ff,00000000`).

use input::Fault;
use std::fmt;
use std::ops::Range;

/// No CPU of a dump has a higher number; Linux has at most 8192 CPUs.
pub(super) const OS_CPU_MAX: u32 = 65_535;

/// CPU numbers of a dump: sorted runs, first and last, with gaps between them.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct CpuRuns(Vec<(u32, u32)>);

impl CpuRuns {
    /// A set of single CPUs in any order.
    pub fn of(cpus: impl IntoIterator<Item = u32>) -> Self {
        Self::from_runs(cpus.into_iter().map(|cpu| (cpu, cpu)).collect())
    }

    /// The kernel's list format. A blank text is the empty set.
    ///
    /// # Errors
    /// What is wrong, with its place in the text.
    pub fn parse_list(text: &str) -> Result<Self, Fault> {
        let mut runs = Vec::new();
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        for (at, item) in items(text, ',') {
            let place = at..at + item.len();
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let (first, last) = (number(first, &place)?, number(last, &place)?);
            if last < first {
                let message = format!("a range that runs backwards: `{item}`");
                return Err(Fault::at(place, message));
            }
            runs.push((first, last));
        }
        Ok(Self::from_runs(runs))
    }

    /// Hexadecimal words of 32 bits, highest first, with or without `0x`. An empty word is 0.
    ///
    /// # Errors
    /// What is wrong, with its place in the text.
    pub fn parse_mask(text: &str) -> Result<Self, Fault> {
        let words = items(text, ',');
        let mut cpus = Vec::new();
        for (i, (at, word)) in words.iter().rev().enumerate() {
            let digits = word.strip_prefix("0x").unwrap_or(word);
            let bits = match digits {
                "" => Some(0),
                _ if digits.starts_with('+') => None,
                _ => u32::from_str_radix(digits, 16).ok(),
            };
            let place = *at..at + word.len();
            let Some(bits) = bits else {
                return Err(Fault::at(place, format!("`{word}` is no mask of 32 CPUs")));
            };
            let base = i as u32 * 32;
            if bits != 0 && base > OS_CPU_MAX {
                return Err(Fault::at(place, format!("a mask of CPUs beyond {OS_CPU_MAX}")));
            }
            cpus.extend((0..32).filter(|bit| bits >> bit & 1 == 1).map(|bit| base + bit));
        }
        Ok(Self::of(cpus))
    }

    /// True if the CPU is in the set.
    pub fn contains(&self, cpu: u32) -> bool {
        let after = self.0.partition_point(|(first, _)| *first <= cpu);
        after > 0 && cpu <= self.0[after - 1].1
    }

    /// The CPUs, lowest first.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().flat_map(|(first, last)| *first..=*last)
    }

    /// True if there is no CPU.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn from_runs(mut runs: Vec<(u32, u32)>) -> Self {
        runs.sort_unstable();
        let mut joined: Vec<(u32, u32)> = Vec::new();
        for (first, last) in runs {
            match joined.last_mut() {
                Some((_, end)) if first <= end.saturating_add(1) => *end = last.max(*end),
                _ => joined.push((first, last)),
            }
        }
        Self(joined)
    }
}

impl fmt::Display for CpuRuns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (first, last)) in self.0.iter().enumerate() {
            let comma = if i == 0 { "" } else { "," };
            match first == last {
                true => write!(f, "{comma}{first}")?,
                false => write!(f, "{comma}{first}-{last}")?,
            }
        }
        Ok(())
    }
}

/// A number of a dump, which lies at a place of its text.
pub(super) fn number(digits: &str, place: &Range<usize>) -> Result<u32, Fault> {
    let is_number = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let value = digits.parse().ok().filter(|n| *n <= OS_CPU_MAX && is_number);
    value.ok_or_else(|| match is_number {
        true => Fault::at(place.clone(), format!("{digits} is more than {OS_CPU_MAX}")),
        false => Fault::at(place.clone(), format!("`{digits}` is no number")),
    })
}

/// The trimmed pieces of a text with their places.
pub(super) fn items(text: &str, separator: char) -> Vec<(usize, &str)> {
    let mut at = 0;
    let pieces = text.split(separator).map(|piece| {
        let start = at + piece.len() - piece.trim_start().len();
        at += piece.len() + separator.len_utf8();
        (start, piece.trim())
    });
    pieces.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn list(text: &str) -> String {
        match CpuRuns::parse_list(text) {
            Ok(runs) => runs.to_string(),
            Err(fault) => format!("{:?}: {}", fault.span.unwrap_or(0..0), fault.message),
        }
    }

    fn mask(text: &str) -> String {
        match CpuRuns::parse_mask(text) {
            Ok(runs) => runs.to_string(),
            Err(fault) => format!("{:?}: {}", fault.span.unwrap_or(0..0), fault.message),
        }
    }

    #[test]
    fn lists_are_the_kernels() {
        assert_eq!(list("0-2,48-50\n"), "0-2,48-50");
        assert_eq!(list("3,1, 2\n"), "1-3");
        assert_eq!(list("\n"), "");
        assert_eq!(list("0-2,x"), "4..5: `x` is no number");
        assert_eq!(list("0-2,"), "4..4: `` is no number");
        assert_eq!(list("5-2"), "0..3: a range that runs backwards: `5-2`");
        assert_eq!(list("0-4294967295"), "0..12: 4294967295 is more than 65535");
        assert_eq!(list("+1"), "0..2: `+1` is no number");
    }

    #[test]
    fn masks_are_the_kernels_and_hwlocs() {
        assert_eq!(mask("00000000,003f0000,0000003f\n"), "0-5,48-53");
        assert_eq!(mask("0xffff0000,,0xffff0000,0x0"), "48-63,112-127");
        assert_eq!(mask("0xf...f"), "0..7: `0xf...f` is no mask of 32 CPUs");
        assert_eq!(mask("fffffffff"), "0..9: `fffffffff` is no mask of 32 CPUs");
        assert_eq!(mask("+1"), "0..2: `+1` is no mask of 32 CPUs");
        let far = format!("1{}", ",0".repeat(2048));
        assert_eq!(mask(&far), "0..1: a mask of CPUs beyond 65535");
    }

    proptest! {
        #[test]
        fn a_set_is_read_as_it_is_written(
            cpus in prop::collection::btree_set(0u32..200, 0..40),
        ) {
            let runs = CpuRuns::of(cpus.iter().copied());
            prop_assert_eq!(CpuRuns::parse_list(&runs.to_string()), Ok(runs.clone()));
            prop_assert!((0..200).all(|cpu| runs.contains(cpu) == cpus.contains(&cpu)));
            prop_assert!(runs.iter().eq(cpus.iter().copied()));
        }
    }
}

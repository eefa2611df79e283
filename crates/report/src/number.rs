//! Numbers as people read them: about four digits that matter, never wider than eight columns.

/// Values below this that are not zero are too small to matter, and to print.
const TINY: f64 = 0.001;

/// A value of a metric. Counts (no unit) have no decimals. Latencies (us) have three digits: their
/// histogram keeps no more.
pub fn number(value: f64, unit: &str) -> String {
    let size = value.abs();
    match size {
        0.0 => "0".to_string(),
        _ if is_tiny(value) => if value < 0.0 { ">-0.001" } else { "<0.001" }.to_string(),
        _ if unit == "us" => three_digits(value),
        _ if size >= 1e13 => format!("{value:.2e}"),
        _ if size >= 1e10 => format!("{:.2}G", value / 1e9),
        _ if size >= 1e7 => format!("{:.2}M", value / 1e6),
        _ if size >= 1e4 || (unit.is_empty() && size >= 100.0) => format!("{value:.0}"),
        _ if size >= 1.0 => format!("{value:.2}"),
        _ if size >= 0.01 => format!("{value:.3}"),
        _ => format!("{value:.4}"),
    }
}

/// Units of time in powers of 1000, of one clock and of CPUs together.
const TIMES: [[&str; 4]; 2] = [["ns", "us", "ms", "s"], ["CPU-ns", "CPU-us", "CPU-ms", "CPU-s"]];
/// Values are below this in the unit that is chosen for a table, if possible.
const WIDE: f64 = 1e5;

/// How a table shows the values of a metric: durations in the unit in which they have three digits
/// (53.2 ms, not 0.053 s), all others as they are. The only place that decides so.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shown {
    /// The unit of the table; empty for counts.
    pub unit: &'static str,
    /// The metric's own unit, which says how exact its values are.
    own: &'static str,
    /// A value in the table's unit is one in its own unit times this.
    factor: f64,
}

impl Shown {
    /// The way for some values of a metric, which share a unit so that they can be compared: the
    /// largest one in which none of them is below 1.
    pub fn of(name: &str, own: &'static str, values: impl IntoIterator<Item = f64>) -> Self {
        let as_it_is = Self::as_it_is(own);
        let family = TIMES.iter().find(|units| units.contains(&own));
        // A name that tells the unit is believed: throttled_usec, run_ms.
        let told = name.contains("usec") || name.starts_with("run_ms");
        let Some(units) = family.filter(|_| !told) else {
            return as_it_is;
        };
        let place = units.iter().position(|unit| *unit == own).unwrap_or_default() as i32;
        let ways = (0..).zip(units).map(|(at, unit)| {
            let factor = 1000_f64.powi(place - at);
            Self { unit, own, factor }
        });
        let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
        for value in values.into_iter().map(f64::abs).filter(|value| *value > 0.0) {
            (least, most) = (least.min(value), most.max(value));
        }
        if most == 0.0 {
            return as_it_is;
        }
        let fits = |way: &Self| least * way.factor >= 1.0;
        let narrow = |way: &Self| most * way.factor < WIDE;
        let ways: Vec<Self> = ways.collect();
        let chosen = ways.iter().rfind(|way| fits(way)).unwrap_or(&ways[0]);
        let wider = || ways.iter().find(|way| narrow(way)).unwrap_or(&ways[3]);
        if narrow(chosen) { *chosen } else { *wider() }
    }

    /// Values in the metric's own unit.
    pub fn as_it_is(own: &'static str) -> Self {
        Self { unit: own, own, factor: 1.0 }
    }

    /// A value, without the unit.
    pub fn number(&self, value: f64) -> String {
        // What a histogram has kept has three digits in any unit: its own one tells.
        number(value * self.factor, self.own)
    }

    /// A published standard deviation: as it was published, unless the table has another unit.
    pub fn deviation(&self, sd: f64) -> String {
        if self.factor == 1.0 { sd.to_string() } else { self.number(sd) }
    }

    /// A value with its unit.
    pub fn with_unit(&self, value: f64) -> String {
        match self.unit {
            "" => self.number(value),
            unit => format!("{} {unit}", self.number(value)),
        }
    }

    /// A metric and the unit of its values, as a heading.
    pub fn heading(&self, name: &str) -> String {
        match self.unit {
            "" => name.to_string(),
            unit => format!("{name} [{unit}]"),
        }
    }
}

/// One value with the unit that fits it.
pub fn with_unit(name: &str, value: f64, unit: &'static str) -> String {
    Shown::of(name, unit, [value]).with_unit(value)
}

/// True for a value that is not zero but printed as `<0.001`.
pub fn is_tiny(value: f64) -> bool {
    value != 0.0 && value.abs() < TINY
}

/// A time with three digits and the unit that fits it.
pub fn time(ns: f64) -> String {
    let (value, unit) = match ns {
        ns if ns < 1e3 => return format!("{ns:.0} ns"),
        ns if ns < 1e6 => (ns * 1e-3, "us"),
        ns if ns < 1e9 => (ns * 1e-6, "ms"),
        ns => (ns * 1e-9, "s"),
    };
    format!("{} {unit}", number(value, "us"))
}

/// A value of 0.001 or more, rounded to three significant digits.
fn three_digits(value: f64) -> String {
    let magnitude = value.abs().log10().floor() as i32;
    let unit = 10_f64.powi(magnitude - 2);
    // 999.6 becomes 1000, which has a digit more and the same three of them that count.
    let rounded = (value / unit).round() * unit;
    let decimals = (2 - magnitude).max(0) as usize;
    match rounded.abs() {
        size if size >= 1e10 => format!("{rounded:.2e}"),
        size if size >= 1e7 => format!("{}M", three_digits(rounded / 1e6)),
        _ => format!("{rounded:.decimals$}"),
    }
}

/// A change in percent, with its sign; a factor if it is tenfold or more.
pub fn percent(change: f64) -> String {
    let rounded = |digits: usize| {
        let text = format!("{change:+.digits$}");
        // A change that rounds to nothing has no sign.
        match text.trim_start_matches(['+', '-']).parse::<f64>() {
            Ok(0.0) => text[1..].to_string(),
            _ => text,
        }
    };
    match change.abs() {
        size if size >= 1e7 => format!("x{:.0e}", 1.0 + change / 100.0),
        size if size >= 1000.0 => format!("x{:.0}", 1.0 + change / 100.0),
        size if size >= 100.0 => format!("{}%", rounded(1)),
        _ => format!("{}%", rounded(2)),
    }
}

/// A 95 % interval of changes in percent, without the percent signs: at most 14 columns wide as
/// long as the changes stay below a thousand.
pub fn interval([low, high]: [f64; 2]) -> String {
    let bare = |x: f64| match x.abs() {
        // Factors, as the change itself is one then.
        size if size >= 1000.0 => format!("x{:.0}", 1.0 + x / 100.0),
        size if size >= 100.0 => format!("{x:+.0}"),
        size if size >= 10.0 => format!("{x:+.1}"),
        _ => format!("{x:+.2}"),
    };
    format!("[{}, {}]", bare(low), bare(high))
}

/// Seeds as a short list: `1-5`, `1,2,4`.
pub fn seeds(seeds: &[u64]) -> String {
    let consecutive = seeds.windows(2).all(|w| w[1] == w[0] + 1);
    match seeds {
        [] => "none".to_string(),
        [one] => one.to_string(),
        [first, .., last] if consecutive => format!("{first}-{last}"),
        _ => seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(","),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stay_narrow() {
        let seen: Vec<String> = [0.0, 0.000_123, 0.0312, 3.1, 322.4412, 15534.2, 1.2e7, -9.5e10]
            .iter()
            .map(|v| number(*v, "s"))
            .collect();
        assert_eq!(seen.join(" "), "0 <0.001 0.031 3.10 322.44 15534 12.00M -95.00G");
        assert_eq!(number(1234.6, ""), "1235");
        assert_eq!(number(3e-6, "%"), "<0.001");
    }

    #[test]
    fn latencies_have_the_digits_that_were_measured() {
        let seen: Vec<String> =
            [0.0, 3e-6, 0.00123, 0.4649, 3.0, 42.55, 999.6, 6973.03, 1.2e6, 3.6e9]
                .iter()
                .map(|v| number(*v, "us"))
                .collect();
        assert_eq!(seen.join(" "), "0 <0.001 0.00123 0.465 3.00 42.5 1000 6970 1200000 3600M");
    }

    #[test]
    fn durations_have_the_unit_that_shows_three_digits() {
        let seen: Vec<String> = [0.0, 3e-10, 2.5e-8, 0.000_042, 0.0532, 0.9994, 1.0, 318.68, 9e4]
            .map(|seconds| with_unit("elapsed", seconds, "s"))
            .into();
        let expected = "0 s|0.300 ns|25.00 ns|42.00 us|53.20 ms|999.40 ms|1.00 s|318.68 s|90000 s";
        assert_eq!(seen.join("|"), expected);
        let seen: Vec<String> = [0.00123, 42.55, 999.6, 5030.0, 17_100.0, 3.6e9]
            .map(|us| with_unit("wakeup_latency_p99", us, "us"))
            .into();
        assert_eq!(seen.join("|"), "1.23 ns|42.5 us|1000 us|5.03 ms|17.1 ms|3600 s");
        assert_eq!(with_unit("idle_while_runnable", 0.002, "CPU-s"), "2.00 CPU-ms");
        assert_eq!(with_unit("throughput", 0.002, "1/s"), "0.0020 1/s");
        assert_eq!(with_unit("throttled_usec", 5030.0, "us"), "5030 us");
    }

    #[test]
    fn values_of_one_table_share_a_unit_in_which_the_smallest_can_be_read() {
        let unit = |values: &[f64]| Shown::of("elapsed", "s", values.iter().copied()).unit;
        assert_eq!(unit(&[0.0532, 2.0]), "ms");
        assert_eq!(unit(&[0.0, 2.0, 300.0]), "s");
        // Too far apart: the largest must not be cut off.
        assert_eq!(unit(&[1e-8, 300.0]), "s");
        assert_eq!(unit(&[1e-8, 30.0]), "ms");
        assert_eq!(unit(&[]), "s");
        assert_eq!(Shown::of("elapsed", "s", [0.05]).heading("elapsed"), "elapsed [ms]");
        let deviation = |value| Shown::of("elapsed", "s", [value]).deviation(0.697);
        assert_eq!([deviation(0.9), deviation(144.6)], ["697.00", "0.697"]);
    }

    #[test]
    fn changes_have_a_sign_unless_they_are_nothing() {
        assert_eq!(percent(-0.279), "-0.28%");
        assert_eq!(percent(0.0004), "0.00%");
        assert_eq!(percent(1234.5), "x13");
        assert_eq!(interval([800.0, 1234.5]), "[+800, x13]");
        assert_eq!(interval([-0.5, 12.34]), "[-0.50, +12.3]");
    }
}

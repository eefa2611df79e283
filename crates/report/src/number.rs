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
    fn changes_have_a_sign_unless_they_are_nothing() {
        assert_eq!(percent(-0.279), "-0.28%");
        assert_eq!(percent(0.0004), "0.00%");
        assert_eq!(percent(1234.5), "x13");
    }
}

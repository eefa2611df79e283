//! Times as people write them: `10s`, `1.5s`, `500ms`, `20us`, `300ns`.

const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9)];

/// The longest simulated time that a scenario may ask for: a day.
const NS_MAX: f64 = 86_400e9;

/// Nanoseconds of a time, or what is wrong with it.
///
/// # Errors
/// What is wrong with the text, in words.
pub fn parse_time(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '_' | '-' | '+')))
        .unwrap_or(text.len());
    let (number, unit) = (text[..digits].replace('_', ""), text[digits..].trim());
    let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
        return Err(match unit {
            "" => "a time needs a unit: ns, us, ms, s or min".to_string(),
            _ => format!("`{unit}` is no unit of time: write ns, us, ms, s or min"),
        });
    };
    let value: f64 = number.parse().map_err(|_| format!("`{number}` is not a number"))?;
    let ns = value * scale;
    if ns <= 0.0 {
        Err("the time must be positive".to_string())
    } else if ns > NS_MAX {
        Err("the time is above the limit of 86400s (one day)".to_string())
    } else if ns < 1.0 {
        Err("the time is shorter than 1ns".to_string())
    } else {
        Ok(ns.round() as u64)
    }
}

/// A regular expression for texts that look like times; whether they are in range is not told.
pub(crate) fn pattern() -> String {
    let units: Vec<&str> = UNITS.iter().map(|(name, _)| *name).collect();
    format!(r"^\s*[-+._0-9]+\s*({})\s*$", units.join("|"))
}

/// The JSON Schema of a time.
pub(crate) fn schema() -> serde_json::Value {
    serde_json::json!({ "type": "string", "pattern": pattern() })
}

/// A time in the largest unit of which it is at least one, with three decimals at most; exactly.
pub(crate) fn show_time(ns: u64) -> String {
    let fits = |(_, unit): &(&str, u64)| ns >= *unit && ns.is_multiple_of(unit / 1000);
    let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000)];
    match units.iter().find(|unit| fits(unit)) {
        Some((name, unit)) => format!("{}{name}", ns as f64 / *unit as f64),
        None => format!("{ns}ns"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_number_and_a_unit() {
        assert_eq!(parse_time("10s"), Ok(10_000_000_000));
        assert_eq!(parse_time("1.5 ms"), Ok(1_500_000));
        let shown = [1, 1_500_000, 9_100_000_000, 86_400_000_000_000, 1_234_567].map(show_time);
        assert_eq!(shown, ["1ns", "1.5ms", "9.1s", "86400s", "1234.567us"]);
        for bad in ["10x", "10", "", "s", "-3s", "1e9s", "--s", "99999999s", "0.1ns", "µs"] {
            assert!(parse_time(bad).is_err(), "{bad}");
        }
    }
}

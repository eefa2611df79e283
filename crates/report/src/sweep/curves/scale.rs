//! From values to pixels: linear, or logarithmic where values span more than a decade.

/// Values at this ratio and above are shown on a logarithmic axis.
const DECADE: f64 = 10.0;
/// Largest number of ticks of an axis.
const TICKS_MAX: usize = 7;

/// An axis: a range of values, and the pixels that show it.
pub struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: i32,
    to: i32,
}

impl Scale {
    /// An axis for these values between two pixels; it may become logarithmic if they are
    /// quantities.
    pub fn new(
        values: impl Iterator<Item = f64>,
        (from, to): (i32, i32),
        quantities: bool,
    ) -> Self {
        let finite = values.filter(|v| v.is_finite());
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (low, high) = finite.fold(ends, |(low, high), v| (v.min(low), v.max(high)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let log = quantities && low > 0.0 && high / low >= DECADE;
        let (low, high) = match high - low {
            // One value: it lies in the middle.
            0.0 => (low - 0.5 * low.abs().max(1e-9), high + 0.5 * high.abs().max(1e-9)),
            _ => (low, high),
        };
        Self { low, high, log, from, to }
    }

    /// The pixel of a value.
    pub fn pixel(&self, value: f64) -> i32 {
        let share = match self.log {
            true => (value.max(self.low) / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        };
        self.from + (share * f64::from(self.to - self.from)).round() as i32
    }

    /// Round values within the axis, with their labels.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let values = if self.log { self.log_ticks() } else { self.linear_ticks() };
        let inside = values.into_iter().filter(|v| self.low <= *v && *v <= self.high);
        inside.map(|v| (v, label(v))).collect()
    }

    fn linear_ticks(&self) -> Vec<f64> {
        let rough = (self.high - self.low) / (TICKS_MAX - 1) as f64;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0].map(|n| n * power).into_iter().find(|s| *s >= rough);
        let step = step.unwrap_or(10.0 * power);
        let first = (self.low / step).ceil();
        (0..=TICKS_MAX).map(|n| (first + n as f64) * step).collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.low.log10().floor() as i32)..=(self.high.log10().ceil() as i32);
        let few = (self.high / self.low).log10() <= 2.5;
        let steps: &[f64] = if few { &[1.0, 2.0, 5.0] } else { &[1.0] };
        let all: Vec<f64> =
            decades.flat_map(|power| steps.iter().map(move |n| n * 10_f64.powi(power))).collect();
        let stride = all.len().div_ceil(3 * TICKS_MAX);
        all.into_iter().step_by(stride.max(1)).collect()
    }
}

/// A round value in as few characters as it needs.
fn label(value: f64) -> String {
    let (value, suffix) = match value.abs() {
        size if size >= 1e9 => (value / 1e9, "G"),
        size if size >= 1e6 => (value / 1e6, "M"),
        size if size >= 1e4 => (value / 1e3, "k"),
        _ => (value, ""),
    };
    // Steps are computed in floating point: 0.30000000000000004 is 0.3.
    let text = format!("{value:.6}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    format!("{}{suffix}", if text == "-0" { "0" } else { text })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decade_makes_an_axis_logarithmic() {
        let scale = Scale::new([1.0, 10.0, 100.0].into_iter(), (0, 200), true);
        assert_eq!([1.0, 10.0, 100.0].map(|v| scale.pixel(v)), [0, 100, 200]);
        let labels: Vec<String> = scale.ticks().into_iter().map(|(_, label)| label).collect();
        assert_eq!(labels, ["1", "2", "5", "10", "20", "50", "100"]);
        let scale = Scale::new([0.0, 10.0, 100.0].into_iter(), (0, 200), true);
        assert_eq!([0.0, 10.0, 100.0].map(|v| scale.pixel(v)), [0, 20, 200]);
    }

    #[test]
    fn ticks_are_round_and_few() {
        for (low, high) in [(0.0, 1.0), (0.31, 0.32), (5.0, 1234.0), (-3.0, 7.0), (4e6, 4.1e6)] {
            let scale = Scale::new([low, high].into_iter(), (0, 100), false);
            let n = scale.ticks().len();
            assert!((3..=TICKS_MAX + 1).contains(&n), "{low} {high}: {n}");
        }
        let one = Scale::new([3.0].into_iter(), (0, 100), true);
        assert_eq!(one.pixel(3.0), 50);
    }
}

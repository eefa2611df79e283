//! An executor that makes numbers up, for tests of everything above the engine.
//!
//! The numbers depend on the variant's name and on the seed only; variants share the seed's part
//! of the noise, as paired runs do.

use crate::glue::machine_info;
use crate::hash::fingerprint;
use crate::output::{LlcUtilization, MetricValue, RunError, RunOutput};
use crate::registry::METRICS;
use crate::run::Executor;
use crate::run_spec::RunSpec;

/// Makes numbers up, the same ones every time.
pub struct MockExecutor;

impl Executor for MockExecutor {
    fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        progress(0.5);
        let seed = spec.seed.to_string();
        let metrics = METRICS
            .iter()
            .filter(|m| {
                let own = ["throughput", "refused", "bandwidth", "highest_load"]
                    .iter()
                    .any(|own| m.name.starts_with(own));
                !m.is_family() && !own
            })
            .map(|m| {
                let common = noise([m.name, &seed, ""]);
                let effect = noise([m.name, &spec.variant, &spec.at]);
                let own = noise([m.name, &spec.variant, &seed]);
                let size = if m.unit.is_empty() { 1e6 } else { 300.0 };
                let value = size * (1.0 + 0.01 * common + 0.004 * effect + 0.001 * own);
                let value = if m.unit.is_empty() { value.round() } else { value };
                MetricValue { name: m.name.into(), unit: m.unit, better: m.better, value }
            })
            .collect();
        Ok(RunOutput {
            metrics,
            utilization: Some(utilization(spec)),
            finished: true,
            ..RunOutput::default()
        })
    }
}

fn utilization(spec: &RunSpec) -> LlcUtilization {
    let share = |llc: usize, t: usize| {
        let wave = noise([&spec.variant, &llc.to_string(), &t.to_string()]) as f32;
        let ramp = if t < 100 { 0.95 } else { 0.95 - (t - 100) as f32 / 60.0 };
        (ramp + 0.04 * wave).clamp(0.0, 1.0)
    };
    let llcs = machine_info(&spec.machine).llcs;
    let shares = (0..llcs).map(|llc| (0..150).map(|t| share(llc, t)).collect()).collect();
    LlcUtilization { bucket_ns: 2_000_000_000, shares }
}

/// A number from -1 to 1.
fn noise(parts: [&str; 3]) -> f64 {
    let hash = u64::from_str_radix(&fingerprint(parts), 16).unwrap_or(0);
    let mixed = (hash ^ (hash >> 29)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
}

//! The metrics of a finished run: the table's rows, read in their order.

use crate::measured::{Measured, Recorder};
use crate::output::{MetricValue, RunOutput};
use crate::registry::metrics::{LEVELS, METRICS, MetricDef, Source, metric};
use sim_core::{Observer, Policy, Program, Simulation};

/// All metrics of a finished run, whatever else has watched it.
pub fn output<P: Policy, W: Program, O: Observer>(
    sim: &mut Simulation<P, W, (Recorder, O)>,
    finished: bool,
) -> RunOutput {
    let mut samples = std::mem::take(&mut sim.w.samples);
    samples.sort_unstable();
    let (w, recorder) = (&sim.w, &sim.observer.0);
    let (counted, operations) = (sim.policy.results(), sim.policy.operations());
    let measured = Measured { w, recorder, counted, operations, samples };
    let results = sim.program.results(w.now - w.measured_from);
    let metrics = read(METRICS, &measured, results);
    let utilization = Some(recorder.utilization(w));
    let longest_waits = sim.observer.0.longest_waits(&sim.w);
    RunOutput { metrics, utilization, longest_waits, finished }
}

/// The values of these rows. What the program measured itself comes where the first of its rows
/// stands, in the program's order.
pub(crate) fn read(
    rows: &[MetricDef],
    measured: &Measured<'_>,
    results: Vec<(&'static str, f64)>,
) -> Vec<MetricValue> {
    let mut results = Some(results);
    let mut values = Vec::new();
    let mut add = |name: &str, value| {
        let Some(row) = rows.iter().find(|row| row.covers(name)).or(metric(name)) else {
            panic!("a run tells `{name}`, which has no row in registry/metrics.rs");
        };
        let (unit, better) = (row.unit, row.better);
        values.push(MetricValue { name: name.to_string(), unit, better, value });
    };
    for together in rows.chunk_by(|a, b| a.is_by_level() && b.is_by_level()) {
        match together[0].source {
            Source::Search => {}
            Source::Program => {
                let results = results.take().into_iter().flatten();
                results.for_each(|(name, value)| add(name, value));
            }
            Source::Policy => {
                let mut counted = measured.counted.iter();
                let own = counted.find(|(name, _)| *name == together[0].name);
                add(together[0].name, own.map_or(0.0, |(_, value)| *value));
            }
            Source::Value(value) => {
                value(measured).into_iter().for_each(|value| add(together[0].name, value));
            }
            Source::Family(values) => values(measured, &mut |tail, value| {
                add(&format!("{}{tail}", together[0].name), value);
            }),
            Source::ByLevel(_) => by_level(together, measured, &mut add),
        }
    }
    values
}

/// What is counted by level of scheduling domains is told level by level.
fn by_level(rows: &[MetricDef], measured: &Measured<'_>, add: &mut dyn FnMut(&str, f64)) {
    for (level, name) in LEVELS.iter().enumerate() {
        for row in rows {
            if let Source::ByLevel(value) = row.source
                && let Some(value) = value(measured, level)
            {
                add(&format!("{}{name}", row.name), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim_core::{Config, Ns, World};
    use topology::Machine;

    #[test]
    fn recorded_times_become_metrics_in_microseconds() {
        let machine = Machine::regular(Default::default());
        let recorder = Recorder::new(&machine);
        let w = World::new(machine.into(), Config::default());
        let latencies = |samples: Vec<Ns>| {
            let (counted, operations) = (Vec::new(), Vec::new());
            let measured = Measured { w: &w, recorder: &recorder, counted, operations, samples };
            let row = metric("latency_p50").unwrap();
            read(std::slice::from_ref(row), &measured, Vec::new())
        };
        assert!(latencies(Vec::new()).is_empty());
        let found = latencies((1..=100).map(|us| us * 1000).collect());
        let found: Vec<_> = found.iter().map(|v| (v.name.as_str(), v.value)).collect();
        let expected = [
            ("mean", 50.5),
            ("p50", 50.0),
            ("p90", 90.0),
            ("p95", 95.0),
            ("p99", 99.0),
            ("p999", 100.0),
            ("max", 100.0),
        ];
        for ((name, value), (suffix, us)) in found.iter().zip(expected) {
            assert_eq!(*name, format!("latency_{suffix}"));
            assert!((value - us).abs() < 1e-9, "{name} {value}");
        }
        assert_eq!(found.len(), 7);
    }
}

//! Finding the highest load that keeps a condition: what operators compare.
//!
//! "20 % more requests per host" means at equal latency. For each variant and seed the search
//! bisects the ratio between a load that keeps the condition and one that does not. A run near the
//! limit says little, since its latency has its share of chance: such a load is run with further
//! seeds, the same ones for every variant, and their mean decides.

use crate::engine::SimulationExecutor;
use crate::find::{FOUND, Find};
use crate::output::{MetricValue, RunError, RunOutput};
use crate::registry::{Value, metric};
use crate::run::Executor;
use crate::run_spec::RunSpec;

/// A value this near to the limit, relative to it, is looked at more closely.
const NEAR: f64 = 0.25;

/// Runs of one load at most.
const RUNS_MAX: u64 = 5;

/// Distance between the seeds of the runs of one load: more than any experiment has.
const SEED_STEP: u64 = 1_000_003;

/// The engine that runs experiments, and searches where a scenario asks for it.
pub fn engine() -> Box<dyn Executor> {
    Box::new(Searching(SimulationExecutor))
}

/// Runs what searches nothing as it is, and looks for the highest load of the others.
struct Searching<E>(E);

impl<E: Executor> Executor for Searching<E> {
    fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        match &spec.find {
            None => self.0.run(spec, progress),
            Some(find) => Search { find, spec, executor: &self.0 }.run(progress),
        }
    }
}

struct Search<'a> {
    find: &'a Find,
    spec: &'a RunSpec,
    executor: &'a dyn Executor,
}

/// A load that was run.
struct Probe {
    load: f64,
    /// The mean of the condition's metric over its runs.
    mean: f64,
    /// Its first run.
    output: RunOutput,
}

impl Search<'_> {
    fn run(&self, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        let [low, high] = self.find.range;
        let mut good = self.probe(low)?;
        if !self.find.condition.holds(good.mean) {
            return Err(self.out_of_range(&good, "even the low end of its range breaks"));
        }
        let highest = self.probe(high)?;
        if self.find.condition.holds(highest.mean) {
            return Err(self.out_of_range(&highest, "the high end of its range still keeps"));
        }
        let mut bad = high;
        let all = (high / low).ln();
        while let Some(load) = self.between(good.load, bad) {
            progress(1.0 - (bad / good.load).ln() / all);
            let probe = self.probe(load)?;
            match self.find.condition.holds(probe.mean) {
                true => good = probe,
                false => bad = load,
            }
        }
        let def = metric(FOUND).expect("the registry has the row");
        let (name, unit, better) = (FOUND.to_string(), def.unit, def.better);
        let found = MetricValue { name, unit, better, value: good.load };
        good.output.metrics.insert(0, found);
        Ok(good.output)
    }

    /// The load to look at next; none if the two are near enough.
    fn between(&self, good: f64, bad: f64) -> Option<f64> {
        if bad / good <= 1.0 + self.find.precision {
            return None;
        }
        let middle = (good * bad).sqrt();
        let middle = if self.find.whole { middle.round() } else { middle };
        (good < middle && middle < bad).then_some(middle)
    }

    /// Runs a load, more than once if chance may decide.
    fn probe(&self, load: f64) -> Result<Probe, RunError> {
        let limit = self.find.condition.limit;
        let output = self.run_once(load, 0)?;
        let mut values = vec![self.value(load, &output)?];
        let is_near = (values[0] / limit - 1.0).abs() < NEAR;
        while is_near && (values.len() as u64) < RUNS_MAX && !is_clear(&values, limit) {
            let again = self.run_once(load, values.len() as u64)?;
            values.push(self.value(load, &again)?);
        }
        Ok(Probe { load, mean: mean(&values), output })
    }

    fn run_once(&self, load: f64, n: u64) -> Result<RunOutput, RunError> {
        let mut spec = self.spec.clone();
        let value = if self.find.whole { Value::Int(load as i64) } else { Value::Float(load) };
        spec.workload.set(&[(self.find.key, value)]);
        spec.seed = spec.seed.wrapping_add(n * SEED_STEP);
        self.executor.run(&spec, &|_| {})
    }

    fn value(&self, load: f64, output: &RunOutput) -> Result<f64, RunError> {
        let name = &self.find.condition.metric;
        let found = output.metrics.iter().find(|metric| metric.name == *name);
        let value = found.map(|metric| metric.value);
        value.ok_or_else(|| {
            let (kind, key) = (self.spec.workload.def.kind, self.find.key);
            RunError::Impossible(format!(
                "[find]: a run with {key} = {load} has no `{name}`: workload `{kind}` does not \
                 measure it, or nothing was done in {}; run longer, or begin `range` higher",
                self.spec.until
            ))
        })
    }

    fn out_of_range(&self, probe: &Probe, what: &str) -> RunError {
        let Find { key, condition, .. } = self.find;
        RunError::Impossible(format!(
            "[find] {key} = {}: {what} `{condition}`, it is {:.6}; choose another `range`",
            probe.load, probe.mean
        ))
    }
}

/// True if two standard errors do not reach the limit.
fn is_clear(values: &[f64], limit: f64) -> bool {
    let n = values.len() as f64;
    if values.len() < 2 {
        return false;
    }
    let mean = mean(values);
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean - limit).abs() > 2.0 * (variance / n).sqrt()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Silent, load_study_str};
    use std::sync::Mutex;

    /// A server whose latency grows with its load, with some chance in it.
    struct Server {
        noise: f64,
        runs: Mutex<Vec<(String, u64, f64)>>,
    }

    impl Server {
        fn new(noise: f64) -> Self {
            Self { noise, runs: Mutex::default() }
        }
    }

    impl Executor for Server {
        fn run(&self, spec: &RunSpec, _: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
            let load = spec.load().float("rate");
            let own = spec.load().float("service_ns");
            self.runs.lock().unwrap().push((spec.variant.clone(), spec.seed, load));
            // From 1 to infinity at a load of 1000, or of 1200 for the better variant.
            let capacity = if spec.variant == "better" { 1200.0 } else { 1000.0 };
            let chance = spec.seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
            let chance = chance as f64 / (1_u64 << 53) as f64 - 0.5;
            let value =
                own * 1e-3 / (1.0 - load / capacity).max(1e-6) * (1.0 + self.noise * chance);
            let (name, unit) = ("wakeup_latency_p99".to_string(), "us");
            let better = crate::Better::Lower;
            let metrics = vec![MetricValue { name, unit, better, value }];
            Ok(RunOutput { metrics, finished: true, ..RunOutput::default() })
        }
    }

    fn search(server: &Server, range: &str) -> Result<Vec<Vec<f64>>, String> {
        let text = format!(
            "policy = \"fifo\"\nworkload = {{ kind = \"mm-c\", service_ns = 1000 }}\n\
             run = {{ seeds = 3, until = \"1ms\" }}\nmachine = \"pack:1 l3:1 core:4 pu:1\"\n\
             variant = [{{ name = \"as it is\" }}, {{ name = \"better\" }}]\n\
             [find]\nrate = \"wakeup_latency_p99 <= 10 us\"\nrange = {range}\n"
        );
        let study = load_study_str("find.toml".as_ref(), text, &[]);
        let study = study.unwrap_or_else(|faults| panic!("{}", faults.render(false)));
        let searching = Searching(ByRef(server));
        let results = study.points[0].experiment.run(&searching, 2, &Silent);
        let results = results.map_err(|failure| failure.to_string())?;
        let found = |v: &crate::VariantRuns| v.values(FOUND).expect("every run has it");
        Ok(results.variants.iter().map(found).collect())
    }

    struct ByRef<'a>(&'a Server);

    impl Executor for ByRef<'_> {
        fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
            self.0.run(spec, progress)
        }
    }

    #[test]
    fn the_highest_load_is_found_within_the_precision() {
        // 1 / (1 - load / capacity) is 10 where the load is nine tenths of the capacity.
        let found = search(&Server::new(0.0), "[10, 1190]").unwrap();
        for (values, wanted) in found.iter().zip([900.0, 1080.0]) {
            assert!(values.iter().all(|v| (v / wanted - 1.0).abs() < 0.006), "{values:?}");
        }
    }

    #[test]
    fn a_load_near_the_limit_is_run_with_other_seeds_the_same_for_all_variants() {
        let server = Server::new(0.5);
        let found = search(&server, "[10, 1190]").unwrap();
        for (values, wanted) in found.iter().zip([900.0, 1080.0]) {
            assert!(values.iter().all(|v| (v / wanted - 1.0).abs() < 0.05), "{values:?}");
        }
        let runs = server.runs.lock().unwrap();
        let seeds = |variant: &str| {
            let seeds = runs.iter().filter(|(v, ..)| v == variant).map(|(_, seed, _)| *seed);
            seeds.collect::<std::collections::BTreeSet<_>>()
        };
        assert!(seeds("as it is").len() > 3);
        let few: Vec<u64> = seeds("better").intersection(&seeds("as it is")).copied().collect();
        assert!(few.len() > 3, "{few:?}");
    }

    #[test]
    fn an_end_of_the_range_that_decides_nothing_is_told() {
        let low = search(&Server::new(0.0), "[950, 2000]").unwrap_err();
        assert!(low.contains("rate = 950: even the low end of its range breaks"), "{low}");
        assert!(low.contains("wakeup_latency_p99 <= 10 us"), "{low}");
        let high = search(&Server::new(0.0), "[10, 500]").unwrap_err();
        assert!(high.contains("rate = 500: the high end of its range still keeps"), "{high}");
    }
}

//! From raw numbers to statements.
//!
//! Differences are paired: with the same seed every variant meets the same arrivals and service
//! times, so the interval is that of the differences seed by seed. They are in percent of the
//! baseline's mean, so that the change is that of the means. A verdict other than "same" needs an
//! interval that excludes zero, and a change that is not printed as 0.00 %. Without an interval
//! (one seed, or seeds that change nothing) it needs a change of at least 0.15 %.

use crate::agree::{Measured, PublishedChange};
use crate::expected::{Expected, expected};
use crate::replayed::Recorded;
use crate::stats;
use scenario::glue::{MachineInfo, machine_info};
use scenario::registry::metric;
use scenario::{
    Better, Experiment, LlcUtilization, Mechanism, Published, Results, Variant, VariantRuns,
};
use std::borrow::Cow;

/// Changes below this, in percent, are taken for the same where there is no interval.
pub(crate) const SAME_PCT: f64 = 0.15;

/// Changes below this, in percent, are nothing, whatever the interval: they are printed as 0.00 %.
const NOTHING_PCT: f64 = 0.005;

/// Everything there is to say about one experiment.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// Short name of the scenario.
    pub scenario: String,
    /// The point of a sweep, such as `clients=64`; empty outside of one.
    pub at: String,
    /// The scenario's title.
    pub title: String,
    /// Fingerprint of the input files.
    pub hash: String,
    /// The machine that was simulated.
    pub machine: MachineInfo,
    /// Kind of the workload, such as `netperf`.
    pub workload: &'static str,
    /// Fingerprint of what the tasks do.
    pub workload_hash: String,
    /// The workload comes to an end by itself.
    pub ends: bool,
    /// When runs ended: `done` or a time.
    pub until: String,
    /// The seeds, in the order of each metric's values.
    pub seeds: Vec<u64>,
    /// All variants, in the file's order.
    pub variants: Vec<VariantAnalysis>,
    /// What was recorded, if the workload is a recording.
    pub recorded: Option<Recorded>,
    /// What the scenario expects, and what came of it.
    pub expected: Vec<Expected>,
}

/// What the runs of one variant say.
#[derive(Clone, Debug)]
pub struct VariantAnalysis {
    /// The variant's name in the scenario.
    pub name: String,
    /// True for the one that the others are compared with.
    pub baseline: bool,
    /// Name of the scheduling policy.
    pub policy: &'static str,
    /// Kernel version whose rules apply.
    pub rules: Option<&'static str>,
    /// Feature toggles as stated.
    pub features: Vec<String>,
    /// Tunables as stated.
    pub tunables: Vec<(&'static str, scenario::Value)>,
    /// The commands that its sched_ext scheduler has, if not all.
    pub sched_ext: Vec<String>,
    /// Properties of the workload's workqueue as stated.
    pub workqueue: Vec<(&'static str, scenario::Value)>,
    /// How the kernel serves the workload, as stated.
    pub workload: Vec<(&'static str, scenario::Value)>,
    /// Runs that were cut off at a prescribed time before the workload came to its end.
    pub cut_off: usize,
    /// All metrics, in the order of the runs.
    pub metrics: Vec<Metric>,
    /// Changes from the baseline, one per metric that both have; empty for the baseline.
    pub deltas: Vec<(Cow<'static, str>, Delta)>,
    /// Its published values, beside the simulated ones.
    pub published: Vec<PublishedRow>,
    /// CPU use over time of the first seed.
    pub utilization: Option<LlcUtilization>,
}

impl VariantAnalysis {
    /// A metric by name; `None` if the runs do not measure it.
    pub fn metric(&self, name: &str) -> Option<&Metric> {
        self.metrics.iter().find(|m| m.name == name)
    }

    /// The change of a metric from the baseline; `None` for the baseline itself.
    pub fn delta(&self, name: &str) -> Option<&Delta> {
        self.deltas.iter().find(|(metric, _)| metric == name).map(|(_, delta)| delta)
    }

    /// The published value of a metric, if there is one.
    pub fn published(&self, name: &str) -> Option<&PublishedRow> {
        self.published.iter().find(|row| row.metric == name)
    }
}

/// A metric over all seeds.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name, as `schedlab list` shows it. Mostly that of the registry: a sweep has very many.
    pub name: Cow<'static, str>,
    /// Unit; empty for counts.
    pub unit: &'static str,
    /// Whether more of it is better, or less, or neither.
    pub better: Better,
    /// Mean over the seeds.
    pub mean: f64,
    /// Standard deviation over the seeds.
    pub sd: f64,
    /// 95 % interval of the mean; `None` with one seed.
    pub ci95: Option<[f64; 2]>,
    /// One value per seed.
    pub values: Vec<f64>,
}

/// A paired change from the baseline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Delta {
    /// Mean / baseline's mean - 1, in percent; `None` if the latter is zero and the former is not.
    pub pct: Option<f64>,
    /// 95 % interval of it; `None` with one seed, if the values differ but no seed changes them, or
    /// without a percentage.
    pub ci95: Option<[f64; 2]>,
    /// What the change amounts to.
    pub verdict: Verdict,
    /// True if an interval backs the verdict, and not the size of the change alone.
    pub by_interval: bool,
    /// Every seed gave the same value as in the baseline.
    pub identical: bool,
}

/// What a change amounts to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// A change in the good direction.
    Better,
    /// A change in the bad direction.
    Worse,
    /// More, of a metric that has no good direction.
    Higher,
    /// Less, of a metric that has no good direction.
    Lower,
    /// No change that the seeds can tell from chance, or none that is worth a number.
    Same,
}

impl Verdict {
    /// The word for it in all formats.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::Higher => "higher",
            Verdict::Lower => "lower",
            Verdict::Same => "same",
        }
    }

    /// What a change in that direction amounts to.
    pub(crate) fn of(change: f64, better: Better) -> Self {
        match (better, change > 0.0) {
            _ if change == 0.0 => Verdict::Same,
            (Better::Lower, true) | (Better::Higher, false) => Verdict::Worse,
            (Better::Lower, false) | (Better::Higher, true) => Verdict::Better,
            (Better::None, true) => Verdict::Higher,
            (Better::None, false) => Verdict::Lower,
        }
    }
}

/// A published value beside the simulated one.
#[derive(Clone, Debug)]
pub struct PublishedRow {
    /// Name of the metric.
    pub metric: String,
    /// The published value, in the metric's unit.
    pub value: f64,
    /// Its standard deviation, or that of one of `runs`, if known.
    pub sd: Option<f64>,
    /// How many runs it is the mean of, if `sd` is of one of them.
    pub runs: u32,
    /// Where it was published.
    pub source: String,
    /// True if a constant was fitted to it: it is shown, but counts for nothing.
    pub calibrated: bool,
    /// What is known about the mechanism behind it.
    pub mechanism: Mechanism,
    /// Published change from the published baseline; `None` for the baseline itself or if the
    /// baseline's value was not published.
    pub change: Option<PublishedChange>,
    /// Simulated mean; `None` if the runs do not measure the metric, or if it is the time that runs
    /// were cut off at.
    pub simulated: Option<f64>,
    /// Simulated change, in percent.
    pub simulated_delta_pct: Option<f64>,
    /// True if the two changes tell the same story; `None` if one of them is missing.
    pub agrees: Option<bool>,
}

impl PublishedRow {
    /// Published change from the published baseline, in percent.
    pub fn delta_pct(&self) -> Option<f64> {
        self.change.map(|change| change.pct)
    }

    /// Whether that change was told apart from zero; `None` if its error is not known.
    pub fn told_apart(&self) -> Option<bool> {
        self.change.and_then(PublishedChange::told_apart)
    }
}

impl Analysis {
    /// Analyzes the results of an experiment.
    pub fn new(experiment: &Experiment, results: &Results) -> Self {
        let base = experiment.baseline();
        let variant = |(idx, variant): (usize, &Variant)| {
            let baseline = (idx != base).then(|| &results.variants[base]);
            analyze(experiment, variant, &results.variants[idx], baseline)
        };
        let mut analysis = Self {
            scenario: experiment.name.clone(),
            at: experiment.at.clone(),
            title: experiment.title.clone(),
            hash: experiment.hash.clone(),
            machine: machine_info(&experiment.machine),
            workload: experiment.workload.def.kind,
            workload_hash: experiment.workload.fingerprint(),
            ends: experiment.workload.ends(),
            until: experiment.until.to_string(),
            seeds: experiment.seeds.clone(),
            variants: experiment.variants.iter().enumerate().map(variant).collect(),
            recorded: Recorded::of(experiment),
            expected: Vec::new(),
        };
        analysis.expected = expected(&analysis, &experiment.expect);
        analysis
    }

    /// The variant that the others are compared with.
    pub fn baseline(&self) -> Option<&VariantAnalysis> {
        self.variants.iter().find(|v| v.baseline)
    }

    /// True if each run ended with its work, and not at a prescribed time.
    pub fn all_finished(&self) -> bool {
        self.ends && self.variants.iter().all(|v| v.cut_off == 0)
    }

    /// True if the error of a published change is known.
    pub(crate) fn has_errors(&self) -> bool {
        self.variants.iter().flat_map(|v| &v.published).any(|p| p.told_apart().is_some())
    }

    /// Published changes that agree, and all that can be compared and were not calibrated on.
    pub fn agreement(&self) -> (usize, usize) {
        let rows = self.variants.iter().flat_map(|v| &v.published).filter(|p| !p.calibrated);
        let judged = rows.filter_map(|p| p.agrees);
        judged.fold((0, 0), |(yes, all), agrees| (yes + usize::from(agrees), all + 1))
    }
}

fn analyze(
    experiment: &Experiment,
    variant: &Variant,
    runs: &VariantRuns,
    baseline: Option<&VariantRuns>,
) -> VariantAnalysis {
    let metrics = metrics(runs);
    let n_cut_off = |runs: &VariantRuns| match experiment.workload.ends() {
        true => runs.runs.iter().filter(|run| !run.finished).count(),
        false => 0,
    };
    let cut_off = n_cut_off(runs);
    // A run that was cut off took the time that the scenario prescribes: that is no result.
    let any_cut_off = cut_off + baseline.map_or(0, n_cut_off) > 0;
    let compared: Vec<&Metric> =
        metrics.iter().filter(|m| m.name != "elapsed" || !any_cut_off).collect();
    let mut deltas: Vec<(Cow<'static, str>, Delta)> = baseline.map_or_else(Vec::new, |baseline| {
        let delta = |m: &&Metric| Some((m.name.clone(), delta(m, &baseline.values(&m.name)?)));
        compared.iter().filter_map(delta).collect()
    });
    deltas.shrink_to_fit();
    let rows = experiment.published.iter().filter(|p| p.variant == variant.name);
    let published = rows.map(|row| published_row(experiment, row, &compared, &deltas)).collect();
    VariantAnalysis {
        name: variant.name.clone(),
        baseline: baseline.is_none(),
        policy: variant.policy.name(),
        rules: variant.rules,
        features: variant.features.iter().map(ToString::to_string).collect(),
        tunables: variant.tunables.clone(),
        sched_ext: variant.sched_ext.clone(),
        workqueue: variant.workqueue.clone(),
        workload: variant.workload.clone(),
        cut_off,
        metrics,
        deltas,
        published,
        utilization: runs.runs.first().and_then(|run| run.utilization.clone()),
    }
}

/// The name of a metric; that of the registry, unless it is one of a family.
fn registered(name: &str) -> Cow<'static, str> {
    match metric(name) {
        Some(def) if def.name == name => Cow::Borrowed(def.name),
        _ => Cow::Owned(name.to_string()),
    }
}

/// The metrics that every run of the variant measured.
fn metrics(runs: &VariantRuns) -> Vec<Metric> {
    let first = runs.runs.first().map_or(&[][..], |run| &run.metrics);
    let metric = |m: &scenario::MetricValue| {
        let values = runs.values(&m.name)?;
        Some(Metric {
            name: registered(&m.name),
            unit: m.unit,
            better: m.better,
            mean: stats::mean(&values),
            sd: stats::sd(&values),
            ci95: stats::ci95(&values),
            values,
        })
    };
    let mut metrics: Vec<Metric> = first.iter().filter_map(metric).collect();
    // There may be very many points.
    metrics.shrink_to_fit();
    metrics
}

/// The paired change of a metric from the baseline's values of the same seeds.
fn delta(metric: &Metric, baseline: &[f64]) -> Delta {
    paired(&metric.values, baseline, metric.better)
}

/// The change of values from those of the same seeds.
pub(crate) fn paired(own: &[f64], baseline: &[f64], better: Better) -> Delta {
    let differences: Vec<f64> = own.iter().zip(baseline).map(|(own, base)| own - base).collect();
    change(own, baseline, better, stats::mean(&differences), stats::ci95(&differences))
}

/// The change of values from others that they have nothing in common with (Welch).
pub(crate) fn unpaired(own: &[f64], baseline: &[f64], better: Better) -> Delta {
    let difference = stats::mean(own) - stats::mean(baseline);
    change(own, baseline, better, difference, stats::welch95(own, baseline))
}

/// What a difference of the means, with its 95 % interval, amounts to.
fn change(
    own: &[f64],
    baseline: &[f64],
    better: Better,
    difference: f64,
    interval: Option<[f64; 2]>,
) -> Delta {
    let interval = interval.filter(|_| seeds_matter(own, baseline));
    // From 0 to 0 there is no change; from 0 to something there is no percentage.
    let base = stats::mean(baseline).abs();
    let percent = |x: f64| if x == 0.0 { 0.0 } else { x / base * 100.0 };
    let pct = (base != 0.0 || difference == 0.0).then(|| percent(difference));
    let ci95 = interval.map(|ends| ends.map(percent)).filter(|_| pct.is_some());
    let is_nothing = |limit: f64| pct.is_some_and(|pct| pct.abs() < limit);
    let same = match interval {
        Some([low, high]) => low <= 0.0 && high >= 0.0 || is_nothing(NOTHING_PCT),
        None => is_nothing(SAME_PCT),
    };
    let verdict = if same { Verdict::Same } else { Verdict::of(difference, better) };
    let identical = own == baseline;
    Delta { pct, ci95, verdict, by_interval: interval.is_some(), identical }
}

/// False if the values differ between the variants, but all seeds gave the same: the differences do
/// not vary, so an interval would have the width 0.
fn seeds_matter(own: &[f64], baseline: &[f64]) -> bool {
    let is_constant = |values: &[f64]| values.windows(2).all(|w| w[0] == w[1]);
    own == baseline || !is_constant(own) || !is_constant(baseline)
}

fn published_row(
    experiment: &Experiment,
    row: &Published,
    metrics: &[&Metric],
    deltas: &[(Cow<'static, str>, Delta)],
) -> PublishedRow {
    let baseline = &experiment.variants[experiment.baseline()].name;
    let base = experiment
        .published
        .iter()
        .find(|p| p.metric == row.metric && p.variant == *baseline && p.variant != row.variant);
    let measured = |p: &Published| Measured::new(p.value, p.sd, p.runs);
    let change = base.and_then(|base| PublishedChange::new(measured(base), measured(row)));
    let simulated_delta_pct =
        deltas.iter().find(|(name, _)| *name == row.metric).and_then(|(_, delta)| delta.pct);
    let simulated = metrics.iter().find(|m| m.name == row.metric).map(|m| m.mean);
    // Runs too short to finish anything have the value 0: equal zeros are no agreement.
    let measured_nothing = simulated == Some(0.0) && row.value != 0.0;
    let agrees = |(p, s): (PublishedChange, f64)| !measured_nothing && p.agrees(s);
    PublishedRow {
        metric: row.metric.clone(),
        value: row.value,
        sd: row.sd,
        runs: row.runs,
        source: row.source.clone(),
        calibrated: row.calibrated,
        mechanism: row.mechanism,
        change,
        simulated,
        simulated_delta_pct,
        agrees: change.zip(simulated_delta_pct).map(agrees),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use scenario::{MockExecutor, Silent};

    /// An analysis of made-up numbers.
    pub(crate) fn example(seeds: u64, variants: &[&str]) -> Analysis {
        let experiment = experiment(seeds, variants);
        let results = experiment.run(&MockExecutor, 1, &Silent).unwrap();
        Analysis::new(&experiment, &results)
    }

    pub(crate) fn experiment(seeds: u64, variants: &[&str]) -> Experiment {
        let variants: String =
            variants.iter().map(|name| format!("[[variant]]\nname = \"{name}\"\n")).collect();
        let text = format!(
            r#"
            title = "An example"
            policy = "cfs"
            workload = {{ kind = "kernel-build", work_seconds = 10 }}
            run = {{ seeds = {seeds} }}
            [machine]
            llcs_per_socket = 2
            cores_per_llc = 8
            latency = {{ llc_ns = 25, node_ns = 110 }}
            caches = {{ l1d_kib = 32, l2_kib = 1024, l3_kib = 32768, l3_hit_ns = 15, mem_ns = 105 }}
            {variants}
            [[published]]
            variant = "off"
            metric = "elapsed"
            value = 300
            source = "here"
            [[published]]
            variant = "on"
            metric = "elapsed"
            value = 298.5
            source = "here"
            "#
        );
        let known = |part: &&str| {
            !part.contains("variant = \"") || {
                let name = part.split('"').nth(1).unwrap_or_default();
                variants.contains(&format!("name = \"{name}\"\n"))
            }
        };
        let mut parts = text.split("[[published]]").map(str::trim_end);
        let head = parts.next().unwrap_or_default().to_string();
        let rows = parts.filter(known).map(|part| format!("\n[[published]]{part}"));
        let text = head + &rows.collect::<String>();
        scenario::load_str(std::path::Path::new("example.toml"), text)
            .unwrap_or_else(|faults| panic!("{}", faults.render(false)))
    }

    #[test]
    fn who_has_measured_nothing_agrees_with_nobody() {
        let mut experiment = experiment(1, &["off", "on"]);
        experiment.published[1].value = 300.1;
        let row = &experiment.published[1];
        let judged = |mean| {
            let (name, values) = ("elapsed".to_string(), vec![mean]);
            let (unit, better) = ("s", scenario::Better::Lower);
            let metric =
                Metric { name: name.into(), unit, better, mean, sd: 0.0, ci95: None, values };
            let deltas = [(metric.name.clone(), delta(&metric, &metric.values))];
            published_row(&experiment, row, &[&metric], &deltas).agrees
        };
        assert_eq!(judged(310.0), Some(true));
        assert_eq!(judged(0.0), Some(false));
    }

    #[test]
    fn the_time_that_a_run_was_given_is_no_result() {
        let experiment = experiment(2, &["off", "on"]);
        let mut results = experiment.run(&MockExecutor, 1, &Silent).unwrap();
        let judged = |results: &Results| {
            let analysis = Analysis::new(&experiment, results);
            let row = &analysis.variants[1].published[0];
            let headlines = crate::view::headlines(&analysis);
            let said =
                crate::view::remarks(&analysis).join("\n").contains("1 of 4 runs were cut off");
            let change = analysis.variants[1].delta("elapsed").is_some();
            let shown = (headlines[0].name.clone(), change);
            (row.simulated.is_some(), row.agrees.is_some(), shown, said)
        };
        assert_eq!(judged(&results), (true, true, ("elapsed".into(), true), false));
        results.variants[0].runs[1].finished = false;
        assert_eq!(judged(&results), (false, false, ("cpu_pct".into(), false), true));
    }

    fn metric(values: &[f64]) -> Metric {
        let (name, better) = (String::new(), Better::Lower);
        Metric {
            name: name.into(),
            unit: "s",
            better,
            mean: 0.0,
            sd: 0.0,
            ci95: None,
            values: values.into(),
        }
    }

    #[test]
    fn pairing_sees_a_small_change_under_much_common_noise() {
        let baseline = [300.0, 310.0, 290.0, 305.0, 295.0];
        let faster: Vec<f64> = baseline.iter().map(|b| b * 0.997).collect();
        let change = delta(&metric(&faster), &baseline);
        assert_eq!(change.verdict, Verdict::Better);
        assert!((change.pct.unwrap() + 0.3).abs() < 1e-9);
    }

    #[test]
    fn a_baseline_of_zero_has_no_percentage_but_a_verdict() {
        let change = delta(&metric(&[3.0, 4.0, 5.0]), &[0.0; 3]);
        assert_eq!((change.pct, change.verdict), (None, Verdict::Worse));
        let nothing = delta(&metric(&[0.0; 3]), &[0.0; 3]);
        assert_eq!((nothing.pct, nothing.verdict), (Some(0.0), Verdict::Same));
    }

    #[test]
    fn the_change_is_that_of_the_means() {
        let change = delta(&metric(&[5.0, 3.0, 3.0, 3.0, 4.0]), &[10.0, 3.0, 3.0, 5.0, 1.0]);
        assert!((change.pct.unwrap() - (3.6 / 4.4 - 1.0) * 100.0).abs() < 1e-9);
        assert_eq!(change.verdict, Verdict::Same);
        let equal_means = delta(&metric(&[2.0, 0.0, 0.0]), &[1.0, 0.0, 1.0]);
        assert_eq!((equal_means.pct, equal_means.identical), (Some(0.0), false));
        let from_zero = delta(&metric(&[3.0, 4.0, 5.0]), &[0.0, 4.0, 5.0]);
        assert!((from_zero.pct.unwrap() - 100.0 / 3.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_printed_as_nothing_is_nothing() {
        let change = delta(&metric(&[100.001, 100.0011, 100.001]), &[100.0; 3]);
        assert_eq!(change.verdict, Verdict::Same);
        assert!(change.ci95.unwrap()[0] > 0.0);
    }

    #[test]
    fn seeds_that_change_nothing_give_no_interval() {
        let change = delta(&metric(&[146.0; 3]), &[100.0; 3]);
        assert_eq!((change.ci95, change.verdict), (None, Verdict::Worse));
        assert_eq!(delta(&metric(&[100.1; 3]), &[100.0; 3]).verdict, Verdict::Same);
        assert_eq!(delta(&metric(&[100.0; 3]), &[100.0; 3]).ci95, Some([0.0, 0.0]));
    }

    #[test]
    fn one_seed_is_judged_by_size() {
        assert_eq!(delta(&metric(&[100.1]), &[100.0]).verdict, Verdict::Same);
        assert_eq!(delta(&metric(&[100.2]), &[100.0]).verdict, Verdict::Worse);
    }
}

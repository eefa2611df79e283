//! What the scripts of the page draw, beside the columns: one document for all scenarios.

use super::{Chapter, columns, series, title};
use crate::Outcome;
use crate::analysis::Analysis;
use crate::sweep::SweepAnalysis;
use crate::view::letter;
use scenario::glue;
use scenario::recorded::{Count, N_SIGNALS, Recorded, SIGNALS};
use serde::Serialize;

/// Points that a curve has at most: a screen shows no more.
const POINTS_MAX: usize = 400;

/// One scenario.
#[derive(Serialize)]
pub struct Data<'a> {
    idx: usize,
    title: &'a str,
    seed: u64,
    /// Per CPU: socket, node, LLC, core.
    cpus: Vec<[u32; 4]>,
    variants: Vec<Variant<'a>>,
    /// Of a sweep: its curves.
    curves: Vec<series::Curves<'a>>,
}

#[derive(Serialize)]
struct Variant<'a> {
    name: &'a str,
    letter: String,
    /// What was recorded of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    recorded: Option<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    measured_from_ns: u64,
    end_ns: u64,
    from_ns: u64,
    to_ns: u64,
    is_full: bool,
    /// Turns of each CPU in the columns.
    n_slices: Vec<usize>,
    n_tasks: usize,
    comms: Vec<&'a str>,
    rules: &'a [(&'static str, &'static str)],
    bucket_ns: u64,
    /// Mean number of tasks by bucket.
    waiting: Vec<f32>,
    wasted: Vec<f32>,
    /// Number of CPUs that were busy, on average.
    busy: Vec<f32>,
    wakeups: Distribution,
    /// Averages of the runqueues, which are in the columns.
    #[serde(skip_serializing_if = "Option::is_none")]
    signals: Option<Signals>,
}

#[derive(Serialize)]
struct Signals {
    names: [&'static str; N_SIGNALS],
    bucket_ns: u64,
    n_buckets: usize,
}

/// Of how many times a share is at most as long: `share[i]` of all are at most `ns[i]`.
#[derive(Serialize)]
struct Distribution {
    n: u64,
    ns: Vec<u64>,
    share: Vec<f64>,
}

/// What is drawn of a scenario.
pub fn of<'a>(chapter: &'a Chapter<'_>, idx: usize) -> Data<'a> {
    let (variants, curves) = match chapter.outcome {
        Outcome::One(analysis) => (variants(analysis, chapter.recorded), Vec::new()),
        Outcome::Sweep(sweep) => (names(sweep), series::of(sweep)),
    };
    let places = chapter.experiment.map(|e| glue::places(&e.machine));
    Data {
        idx,
        title: title(chapter.outcome),
        seed: chapter.seed,
        cpus: places.unwrap_or_default(),
        variants,
        curves,
    }
}

fn variants<'a>(analysis: &'a Analysis, recorded: &'a [Recorded]) -> Vec<Variant<'a>> {
    let variant = |(idx, v): (usize, &'a crate::VariantAnalysis)| Variant {
        name: &v.name,
        letter: letter(idx),
        recorded: recorded.get(idx).map(run),
    };
    analysis.variants.iter().enumerate().map(variant).collect()
}

fn names(sweep: &SweepAnalysis) -> Vec<Variant<'_>> {
    variants(sweep.first(), &[])
}

fn run(recorded: &Recorded) -> Run<'_> {
    let (timeline, over_time) = (&recorded.timeline, &recorded.over_time);
    let n_buckets = over_time.waiting_ns.len();
    let length = |bucket: usize| {
        let from = bucket as u64 * over_time.bucket_ns;
        over_time.bucket_ns.min(recorded.end_ns - from).max(1)
    };
    let mean = |bucket: usize, ns: u64| rounded(ns as f64 / length(bucket) as f64);
    let means = |row: &[u64]| row.iter().enumerate().map(|(b, ns)| mean(b, *ns)).collect();
    let busy = |bucket: usize| over_time.busy_ns.iter().map(|row| row[bucket]).sum();
    Run {
        measured_from_ns: recorded.measured_from_ns,
        end_ns: recorded.end_ns,
        from_ns: timeline.from_ns,
        to_ns: timeline.to_ns,
        is_full: timeline.is_full,
        n_slices: timeline.cpus.iter().map(Vec::len).collect(),
        n_tasks: timeline.tasks.len(),
        comms: columns::comms(&timeline.tasks),
        rules: &timeline.rules,
        bucket_ns: over_time.bucket_ns,
        waiting: means(&over_time.waiting_ns),
        wasted: means(&over_time.wasted_ns),
        busy: (0..n_buckets).map(|bucket| mean(bucket, busy(bucket))).collect(),
        wakeups: distribution(&recorded.wakeups),
        signals: recorded.signals.as_ref().map(|signals| Signals {
            names: SIGNALS,
            bucket_ns: signals.bucket_ns,
            n_buckets: signals.signals[0].first().map_or(0, Vec::len),
        }),
    }
}

/// Three decimals: a picture shows no more.
fn rounded(x: f64) -> f32 {
    ((x * 1000.0).round() / 1000.0) as f32
}

/// A distribution with points enough for a picture. The steps at the slow end, which are few and
/// matter most, are all there.
fn distribution(counts: &[Count]) -> Distribution {
    let n: u64 = counts.iter().map(|c| c.n).sum();
    let mut kept = Distribution { n, ns: Vec::new(), share: Vec::new() };
    let (mut seen, mut last) = (0, 0.0);
    for (idx, count) in counts.iter().enumerate() {
        seen += count.n;
        let share = seen as f64 / n as f64;
        // A step of the plot with a linear axis, or one of that of the tail.
        let step = (1.0 - last) * 6.0 / POINTS_MAX as f64;
        if share - last >= step || idx + 1 == counts.len() || idx == 0 {
            kept.ns.push(count.ns);
            kept.share.push(share);
            last = share;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_curve_keeps_its_ends_and_its_tail() {
        let counts: Vec<Count> = (1..=100_000).map(|ns| Count { ns, n: 1 }).collect();
        let curve = distribution(&counts);
        assert!((200..3 * POINTS_MAX).contains(&curve.ns.len()), "{}", curve.ns.len());
        assert_eq!((curve.n, curve.ns[0]), (100_000, 1));
        assert_eq!((curve.ns.last(), curve.share.last()), (Some(&100_000), Some(&1.0)));
        let of_tail = curve.share.iter().filter(|share| **share > 0.999).count();
        assert!(of_tail > 50, "{of_tail}");
        assert!(distribution(&[]).ns.is_empty());
    }
}

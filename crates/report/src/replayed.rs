//! A replay, or a model, beside its recording: what each command did then, and does now.
//!
//! On the machine that it was recorded on, the replay of the recorded kernel ought to give what was
//! recorded. How far it is from that tells how far its answers about other machines and policies
//! can be trusted.

use crate::analysis::{Analysis, VariantAnalysis};
use crate::number::{Shown, number, percent, with_unit};
use crate::pad;
use scenario::glue::{Command, Recording};
use scenario::{Experiment, Variant, WorkloadFile};
use std::fmt::Write;

/// What is told of a command: the beginnings of the metrics' names, heads of columns, units.
pub(crate) const COLUMNS: [(&str, &str, &str); 5] = [
    ("run_ms.", "run [ms]", "ms"),
    ("switches.", "switches", ""),
    ("wakeup_p50.", "wake-up p50", "us"),
    ("wakeup_p90.", "p90", "us"),
    ("wakeup_p99.", "p99 [us]", "us"),
];
/// A value that is further from the recorded one is remarked upon, in percent of it.
const FAR_PCT: f64 = 25.0;
/// A factor of the machine's costs that is nearer to 1 is not told.
const COSTS_NEAR: f64 = 0.1;
/// Differences of times to run below this are smaller than what recording itself costs, us.
const NEAR_US: f64 = 5.0;
/// Columns of a command's name, of whose values they are, and of each value.
const NAME: usize = 16;
const WHOSE: usize = 22;
const VALUE: usize = 12;

/// What was recorded of the commands that were measured.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// From the first event to the end of what was measured, s.
    pub elapsed_s: f64,
    /// Name and values (run time in ms, switches, p50, p90 and p99 of wake-ups in us) of each
    /// command, those first that ran longest.
    pub commands: Vec<(String, [Option<f64>; 5])>,
    /// True if it was recorded on the machine of the experiment.
    pub here: bool,
    /// True if what runs is a model of it, and no replay.
    pub is_model: bool,
    /// Events that were lost when it was recorded.
    pub lost_events: u64,
    /// Waits for answers that were added.
    pub answers_added: u64,
    /// False if its times are in microseconds.
    pub in_ns: bool,
    /// The end of `schedule()` took so many times as long as the machine's costs say.
    pub costs_factor: f64,
    /// From CPU to CPU, until a task was preempted, an interrupt took so long, us, and longer than
    /// the machine says.
    pub slow_ipi_us: Option<f64>,
    /// Ticks per second, if they are not as many as the machine's file says.
    pub other_hz: Option<OtherHz>,
}

/// Ticks per second of a recording, which are not those of its machine's file.
#[derive(Clone, Copy, Debug)]
pub struct OtherHz {
    /// Of the recording.
    pub recorded: u32,
    /// What the file says; `None` if that is a guess. In a replay the recorded rate stands then.
    pub file: Option<u32>,
}

impl OtherHz {
    /// `None` if somebody has said how many there are to be.
    fn of(recording: &Recording, experiment: &Experiment) -> Option<Self> {
        let is_said = |variant: &Variant| variant.tunables.iter().any(|(key, _)| *key == "hz");
        let (hz, machine) = (recording.paths.as_ref()?.hz?, &experiment.machine);
        if experiment.variants.iter().any(is_said) {
            return None;
        }
        Self::new(hz, machine.hz, machine.hz_is_a_guess())
    }

    fn new(recorded: u32, file: u32, is_a_guess: bool) -> Option<Self> {
        let file_says = (!is_a_guess).then_some(file);
        (recorded != file).then_some(Self { recorded, file: file_says })
    }
}

impl Recorded {
    /// The recording that the experiment's workload is made from, if it is one.
    pub(crate) fn of(experiment: &Experiment) -> Option<Self> {
        match experiment.workload.file.as_ref()? {
            WorkloadFile::Recording { recording, recorded_here } => {
                let other_hz = OtherHz::of(recording, experiment);
                Some(Self { other_hz, ..Self::recording(recording, *recorded_here) })
            }
            WorkloadFile::Service { fitted_to: Some(recording), .. } => {
                let other_hz = OtherHz::of(recording, experiment);
                Some(Self { is_model: true, other_hz, ..Self::recording(recording, true) })
            }
            _ => None,
        }
    }

    fn recording(recording: &Recording, here: bool) -> Self {
        let values = |command: &Command| {
            let waits = [50.0, 90.0, 99.0].map(|percentile| command.wait_us(percentile));
            let [p50, p90, p99] = waits;
            [Some(command.run_ns as f64 * 1e-6), Some(command.switches as f64), p50, p90, p99]
        };
        let command = |(name, command): &(u16, Command)| {
            (recording.names[usize::from(*name)].clone(), values(command))
        };
        let paths = recording.paths.as_ref();
        let slow_ipi = paths.filter(|paths| paths.ipi_is_slow);
        Self {
            elapsed_s: recording.elapsed_ns as f64 * 1e-9,
            commands: recording.commands.iter().map(command).collect(),
            here,
            is_model: false,
            lost_events: recording.lost_events,
            answers_added: recording.answers_added,
            in_ns: recording.in_ns,
            costs_factor: paths.map_or(1.0, |paths| paths.factor),
            slow_ipi_us: slow_ipi
                .map(|paths| (paths.costs.ipi_delivery_ns + paths.busy_ipi_ns) as f64 * 1e-3),
            other_hz: None,
        }
    }
}

/// A line of the table: whose values they are, and the values.
pub(crate) struct Row {
    pub command: String,
    pub whose: String,
    pub values: [Option<f64>; 5],
}

fn simulated(variant: &VariantAnalysis, command: &str) -> [Option<f64>; 5] {
    COLUMNS.map(|(metric, ..)| Some(variant.metric(&format!("{metric}{command}"))?.mean))
}

/// The commands that are told one by one: those of the recording, or of the service.
fn commands(analysis: &Analysis) -> Vec<&str> {
    if let Some(recorded) = &analysis.recorded {
        return recorded.commands.iter().map(|(name, _)| name.as_str()).collect();
    }
    let metrics = analysis.variants.first().map(|variant| &variant.metrics[..]).unwrap_or_default();
    metrics.iter().filter_map(|metric| metric.name.strip_prefix(COLUMNS[0].0)).collect()
}

/// The rows of the table, command by command.
pub(crate) fn rows(analysis: &Analysis) -> Vec<Row> {
    let recorded = analysis.recorded.as_ref().filter(|recorded| recorded.here);
    let mut rows = Vec::new();
    for command in commands(analysis) {
        let mut add = |whose: &str, values| {
            let (command, whose) = (command.to_string(), whose.to_string());
            rows.push(Row { command, whose, values });
        };
        let then = recorded.and_then(|r| r.commands.iter().find(|(name, _)| name == command));
        if let Some((_, values)) = then {
            add("recorded", *values);
        }
        for variant in &analysis.variants {
            add(&variant.name, simulated(variant, command));
        }
    }
    rows
}

/// The table for people; nothing for other workloads.
pub(crate) fn text(analysis: &Analysis) -> String {
    let mut out = String::new();
    let rows = rows(analysis);
    if rows.is_empty() {
        return out;
    }
    let head: String = COLUMNS.iter().map(|(_, head, _)| pad::right(head, VALUE)).collect();
    let _ = writeln!(out, " {}{}{head}", pad::left("command", NAME), pad::left("", WHOSE));
    let mut last = "";
    for row in &rows {
        let name = if row.command == last { "" } else { &row.command };
        last = &row.command;
        let cell = |(value, (.., unit)): (&Option<f64>, &(&str, &str, &str))| {
            pad::right(&value.map_or("-".to_string(), |value| number(value, unit)), VALUE)
        };
        let values: String = row.values.iter().zip(&COLUMNS).map(cell).collect();
        let name = pad::left(&pad::short(name, NAME - 1), NAME);
        let whose = pad::left(&pad::short(&row.whose, WHOSE - 1), WHOSE);
        let _ = writeln!(out, " {name}{whose}{values}");
    }
    out
}

/// What is to be said about the baseline's distance from the recording.
pub(crate) fn remarks(analysis: &Analysis) -> Vec<String> {
    let (Some(recorded), Some(baseline)) = (&analysis.recorded, analysis.baseline()) else {
        return Vec::new();
    };
    let mut remarks = losses(recorded);
    if !recorded.here {
        remarks.push(format!(
            "Recorded on another machine, where it took {}.",
            with_unit("elapsed", recorded.elapsed_s, "s")
        ));
        return remarks;
    }
    let now =
        if recorded.is_model { "in the model as its machine's file says" } else { "here, too" };
    if (recorded.costs_factor - 1.0).abs() > COSTS_NEAR {
        // Those that cannot be seen are not taken to be slower than there is room for.
        let up_to = if recorded.costs_factor > 1.0 { "up to " } else { "" };
        remarks.push(format!(
            "Kernel paths took {up_to}{} of the machine's costs when it was recorded; {now}.",
            number(recorded.costs_factor, "x")
        ));
    }
    if let Some(us) = recorded.slow_ipi_us {
        remarks.push(format!(
            "Interrupts took up to {} from CPU to CPU when it was recorded; {now}.",
            with_unit("ipi", us, "us")
        ));
    }
    if let Some(OtherHz { recorded, file }) = recorded.other_hz {
        let now = file.map_or(now.to_string(), |hz| format!("the machine's file says {hz}"));
        remarks.push(format!("{recorded} ticks came in a second when it was recorded; {now}."));
    }
    if recorded.is_model {
        remarks.extend(doubts(analysis, baseline));
    } else if let Some(elapsed) = baseline.metric("elapsed") {
        let off = (elapsed.mean / recorded.elapsed_s - 1.0) * 100.0;
        let shown = Shown::of("elapsed", "s", [recorded.elapsed_s, elapsed.mean]);
        remarks.push(format!(
            "Recorded: elapsed {}, simulated with {}: {} ({}).",
            shown.with_unit(recorded.elapsed_s),
            baseline.name,
            shown.with_unit(elapsed.mean),
            percent(off)
        ));
    }
    let far: Vec<String> =
        recorded.commands.iter().flat_map(|(name, then)| far_off(baseline, name, then)).collect();
    if !far.is_empty() {
        remarks.push(format!(
            "Further than a quarter from the recording, so trust changes of these the less: {}.",
            far.join(", ")
        ));
    }
    remarks
}

/// When the recorded machine is so busy, threads often find a message without having slept.
const BUSY: f64 = 0.75;

/// What a model does not know.
fn doubts(analysis: &Analysis, baseline: &VariantAnalysis) -> Option<String> {
    let cpus = analysis.machine.cpus as f64;
    let busy = baseline.metric("cpu_pct")?.mean / (100.0 * cpus);
    (busy > BUSY).then(|| {
        "This machine is busy. Messages that find their thread awake are in no recording: the \
         service may have had more of them than the model."
            .to_string()
    })
}

/// What the recording lacks.
fn losses(recorded: &Recorded) -> Vec<String> {
    let mut remarks = Vec::new();
    if recorded.lost_events > 0 {
        let n = recorded.lost_events;
        remarks.push(format!("{n} events were lost: what threads did around them is a guess."));
    }
    if recorded.answers_added > 0 {
        let n = recorded.answers_added;
        remarks.push(format!(
            "Waits for answers were added at {n} wake-ups at which the partner preempted its waker."
        ));
    }
    if !recorded.in_ns {
        remarks.push("The recording's times are in us: `perf script --ns` prints ns.".to_string());
    }
    remarks
}

/// What of a command is far from what was recorded.
fn far_off(baseline: &VariantAnalysis, name: &str, then: &[Option<f64>; 5]) -> Vec<String> {
    let now = simulated(baseline, name);
    let mut far = Vec::new();
    for ((then, now), (metric, _, unit)) in then.iter().zip(now).zip(COLUMNS) {
        let (Some(then), Some(now)) = (*then, now) else {
            continue;
        };
        let off = (now / then - 1.0) * 100.0;
        let tiny = unit == "us" && (now - then).abs() < NEAR_US;
        if off.abs() > FAR_PCT && !tiny {
            far.push(format!("{metric}{name} {}", percent(off)));
        }
    }
    far
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::example;
    use expect_test::expect;

    /// An analysis of two variants, as if its baseline's workload had been recorded.
    fn replay(here: bool) -> Analysis {
        let mut analysis = example(1, &["off", "on"]);
        let elapsed_s = analysis.baseline().unwrap().metric("elapsed").unwrap().mean;
        for variant in &mut analysis.variants {
            let template = variant.metrics[0].clone();
            for (metric, mean) in [("run_ms.make", 101.0), ("wakeup_p99.make", 90.0)] {
                variant.metrics.push(crate::Metric {
                    name: metric.to_string().into(),
                    mean,
                    ..template.clone()
                });
            }
        }
        let values = [Some(100.0), Some(12.0), None, None, Some(200.0)];
        analysis.recorded = Some(Recorded {
            elapsed_s,
            commands: vec![("make".to_string(), values)],
            here,
            is_model: false,
            lost_events: 3,
            answers_added: 0,
            in_ns: true,
            costs_factor: 0.5,
            slow_ipi_us: Some(11.9),
            other_hz: OtherHz::new(1000, 250, true),
        });
        analysis
    }

    /// The table behind a bar: `expect!` takes away what all lines begin with.
    fn table(here: bool) -> String {
        text(&replay(here)).lines().map(|line| format!("|{line}\n")).collect()
    }

    #[test]
    fn a_replay_stands_beside_its_recording() {
        expect![[r#"
            | command                                   run [ms]    switches wake-up p50         p90    p99 [us]
            | make            recorded                    100.00       12.00           -           -         200
            |                 off                         101.00           -           -           -        90.0
            |                 on                          101.00           -           -           -        90.0
        "#]].assert_eq(&table(true));
        expect![[r#"
            3 events were lost: what threads did around them is a guess.
            Kernel paths took 0.500 of the machine's costs when it was recorded; here, too.
            Interrupts took up to 11.9 us from CPU to CPU when it was recorded; here, too.
            1000 ticks came in a second when it was recorded; here, too.
            Recorded: elapsed 300.73 s, simulated with off: 300.73 s (0.00%).
            Further than a quarter from the recording, so trust changes of these the less: wakeup_p99.make -55.00%."#]]
        .assert_eq(&remarks(&replay(true)).join("\n"));
    }

    #[test]
    fn a_rate_of_ticks_that_somebody_has_said_stands() {
        let mut analysis = replay(true);
        let recorded = analysis.recorded.as_mut().unwrap();
        assert!(OtherHz::new(1000, 1000, false).is_none());
        recorded.other_hz = OtherHz::new(1000, 100, false);
        let said = "1000 ticks came in a second when it was recorded; the machine's file says 100.";
        assert!(remarks(&analysis).iter().any(|remark| remark == said));
    }

    #[test]
    fn on_another_machine_there_is_nothing_to_compare() {
        expect![[r#"
            | command                                   run [ms]    switches wake-up p50         p90    p99 [us]
            | make            off                         101.00           -           -           -        90.0
            |                 on                          101.00           -           -           -        90.0
        "#]].assert_eq(&table(false));
        expect![[r#"
            3 events were lost: what threads did around them is a guess.
            Recorded on another machine, where it took 300.73 s."#]]
        .assert_eq(&remarks(&replay(false)).join("\n"));
    }
}

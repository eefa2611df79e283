//! From a recording to a scenario with a model of the service in it: `schedlab fit`.
//!
//! A replay does what was recorded, and no more. A model has roles, rates and lengths instead, so
//! its load can be another one.

use crate::glue::service::{self, Gaps, Lengths, Pause, Role, Spec};
use crate::glue::{self, Machine, Recording};
use crate::replay::{Replay, quoted};
use crate::workload::WorkloadFile;
use crate::{Fault, Faults, Study, load_study_str};
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

/// A model, and what it was made from.
#[derive(Debug)]
pub struct Fit {
    /// The scenario, as the text of a file.
    pub scenario: String,
    recording: Arc<Recording>,
    /// The machine that it was recorded on, if the scenario is of that.
    machine: Option<String>,
}

impl Fit {
    /// The model of a recording, for a scenario file at `place`.
    ///
    /// # Errors
    /// The recording cannot be read, or there is nothing in it to make a model of.
    pub fn of(replay: &Replay<'_>, place: &Path) -> Result<Self, Faults> {
        let once = load_study_str(place, replay.scenario(place)?, &[])?;
        let first = once.points.into_iter().next().map(|point| point.experiment);
        let machine = first.as_ref().map(|experiment| file_of(&experiment.machine));
        let file = first.and_then(|experiment| experiment.workload.file);
        let Some(WorkloadFile::Recording { recording, recorded_here }) = file else {
            unreachable!("the scenario of a replay has a recording");
        };
        let Some(spec) = service::fit::fit(&recording) else {
            let name = replay.recording.display().to_string();
            let fault = Fault::of_file(name, "no thread of what was measured has worked");
            return Err(fault.help("--measure NAME,... says whose threads are meant").into());
        };
        let head = replay.head("a model of what was recorded", place)?;
        let scenario = head + &workload(&spec) + &run(&recording) + &replay.variants(place);
        Ok(Self { scenario, recording, machine: machine.filter(|_| recorded_here) })
    }

    /// Puts what was recorded beside what this study of the model's scenario gives, if it is of the
    /// same machine and load.
    pub fn compare(&self, study: &mut Study) {
        for point in &mut study.points {
            let here = self.machine.as_ref() == Some(&file_of(&point.experiment.machine));
            let workload = &mut point.experiment.workload;
            let same_load = workload.get("load").and_then(|load| load.float()) == Some(1.0);
            if let Some(WorkloadFile::Service { fitted_to, .. }) = &mut workload.file
                && here
                && same_load
            {
                *fitted_to = Some(Arc::clone(&self.recording));
            }
        }
    }
}

/// A machine as text, to compare it.
fn file_of(machine: &Machine) -> String {
    glue::machine_file(machine, "machine")
}

fn run(recording: &Recording) -> String {
    let ms = recording.elapsed_ns.div_ceil(1_000_000).max(1);
    format!("\n[run]\nseeds = 5\nuntil = \"{ms}ms\"\n")
}

fn workload(spec: &Spec) -> String {
    let mut text =
        "\n# Lengths are the means of thirteen classes: the shortest tenth, the next ones \
                    up to 90 %,\n# up to 95, 99 and 99.9 %, and the longest.\n\
                    [workload]\nkind = \"service\"\nload = 1.0\n"
            .to_string();
    for role in &spec.roles {
        add_role(&mut text, spec, role);
    }
    text
}

fn add_role(text: &mut String, spec: &Spec, role: &Role) {
    let mut line = |key: &str, value: String| {
        let _ = writeln!(text, "{key} = {value}");
    };
    line("\n[[workload.role]]\nname", quoted(&role.name));
    if role.comm != role.name {
        line("comm", quoted(&role.comm));
    }
    line("threads", role.threads.to_string());
    if role.processes != 1 {
        line("processes", role.processes.to_string());
    }
    if role.nice != 0 {
        line("nice", role.nice.to_string());
    }
    if role.session != 0 {
        line("session", role.session.to_string());
    }
    if role.background {
        line("background", "true".to_string());
    }
    line("work_us", lengths(&role.work));
    if role.busy > 0.0 {
        line("busy", short(role.busy, 4));
    }
    match &role.gaps {
        Some(Gaps::Poisson { per_s }) => line("arrivals_per_s", short(*per_s, 4)),
        Some(Gaps::Seen(gaps)) => line("arrival_gap_us", lengths(gaps)),
        None => {}
    }
    let pauses =
        [("sleep_us", "sleeps_per_turn", &role.timer), ("disk_us", "disks_per_turn", &role.disk)];
    for (length, per_turn, pause) in pauses {
        if let Some(Pause { per_turn: n, length: l }) = pause {
            line(length, lengths(l));
            line(per_turn, short(*n, 4));
        }
    }
    if role.yields_per_ms > 0.0 {
        line("yields_per_ms", short(role.yields_per_ms, 4));
    }
    if !role.wakes.is_empty() {
        line("wakes", format!("[\n{}]", wakes(spec, role)));
    }
}

fn wakes(spec: &Spec, role: &Role) -> String {
    let mut text = String::new();
    for wakes in &role.wakes {
        let to = quoted(&spec.roles[wakes.role as usize].name);
        // What circles in a loop must neither grow nor shrink: all digits count.
        let per_turn = short(wakes.per_turn, 12);
        let _ =
            write!(text, "    {{ role = {to}, per_turn = {per_turn}, at = {}", short(wakes.at, 2));
        for (key, is_so) in [("sync", wakes.sync), ("own", wakes.own)] {
            if is_so {
                let _ = write!(text, ", {key} = true");
            }
        }
        text.push_str(" },\n");
    }
    text
}

/// Lengths in us: one number if all are the same.
fn lengths(lengths: &Lengths) -> String {
    let means: Vec<String> = lengths.means().iter().map(|ns| short(ns * 1e-3, 4)).collect();
    match means.iter().all(|mean| *mean == means[0]) {
        true => means[0].clone(),
        false => format!("[{}]", means.join(", ")),
    }
}

/// A number with so many significant digits, without zeros at its end.
fn short(x: f64, digits: usize) -> String {
    if x == 0.0 {
        return "0".to_string();
    }
    let before = x.abs().log10().floor() as i32 + 1;
    let after = (digits as i32 - before).max(0) as usize;
    let text = format!("{x:.after$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_have_as_many_digits_as_are_asked_for() {
        let short = |x| short(x, 4);
        assert_eq!([0.0, 12.0, 0.12345, 123_456.0].map(short), ["0", "12", "0.1235", "123456"]);
        assert_eq!([0.000_123_46, 99.999, 1.5].map(short), ["0.0001235", "100", "1.5"]);
    }

    fn read(text: &str) -> Result<Spec, String> {
        let mut walk = input::Walk::default();
        let doc = input::parse(text).map_err(|faults| format!("{faults:?}"))?;
        let table = doc.get_ref().get("workload").and_then(|node| node.get_ref().as_table());
        let spec = table.and_then(|table| crate::parse::service::roles(&mut walk, table));
        spec.ok_or_else(|| format!("{:?}\n{text}", walk.faults))
    }

    fn lengths_of(us: f64) -> impl Strategy<Value = Lengths> {
        prop::collection::vec(0.0..us * 1e3, 13).prop_map(|mut means| {
            means.sort_unstable_by(f64::total_cmp);
            Lengths::new(means.try_into().unwrap())
        })
    }

    prop_compose! {
        fn any_role()(
            name in "[^\\p{Cc}]{0,20}[a-z]",
            numbers in (1u32..100, 0.0..50.0, -20i8..20, 0u16..65, any::<bool>(), 0.0..1e4),
            work in lengths_of(1e6),
            gaps in prop::option::of(lengths_of(1e7)),
            timer in prop::option::of((0.0..=1.0, lengths_of(1e5))),
            disk in prop::option::of((0.0..1e3, lengths_of(1e5))),
            wakes in prop::collection::vec((0.0..100.0, 0.0..=1.0, any::<[bool; 2]>()), 0..3),
        ) -> Role {
            let (threads, busy, nice, session, background, yields_per_ms) = numbers;
            let pause = |(per_turn, length)| Pause { per_turn, length };
            let wakes = wakes.into_iter().map(|(per_turn, at, [sync, own])| {
                service::Wakes { role: 0, per_turn, at, sync, own }
            });
            Role {
                comm: name.clone(),
                name,
                threads,
                processes: threads,
                nice,
                session,
                background,
                work,
                busy,
                gaps: gaps.map(Gaps::Seen),
                timer: timer.map(pause),
                disk: disk.map(pause),
                yields_per_ms,
                wakes: wakes.collect(),
            }
        }
    }

    proptest! {
        /// Numbers come back rounded; written once more they are the same text.
        #[test]
        fn what_is_written_can_be_read(role in any_role()) {
            let text = workload(&Spec { roles: vec![role] });
            let again = read(&text).map_err(TestCaseError::fail)?;
            prop_assert_eq!(workload(&again), text);
        }
    }
}

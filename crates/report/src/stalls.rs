//! Tasks that could run and did not for too long, in any run of an experiment.

use crate::number::time;
use scenario::{Executor, LongWait, N_LONGEST_WAITS, RunError, RunOutput, RunSpec};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Runs, and waits of a run, that are told at most.
const RUNS_TOLD: usize = 8;
const WAITS_TOLD: usize = 3;

/// Which run: scenario, point of a sweep, variant and seed.
type Run = (String, String, String, u64);

/// What is known of stalls so far; several executors may share it.
pub struct Stalls {
    /// A runnable task that waits longer than this has stalled, ns.
    limit_ns: u64,
    /// By run, so that the order in which runs end cannot show.
    found: Mutex<BTreeMap<Run, Vec<LongWait>>>,
}

impl Stalls {
    /// Waits that are longer than so many ns are stalls.
    pub fn new(limit_ns: u64) -> Self {
        Self { limit_ns, found: Mutex::default() }
    }

    /// An executor that looks at what another one runs.
    pub fn watch<'a>(&'a self, inner: &'a dyn Executor) -> Watching<'a> {
        Watching { inner, stalls: self }
    }

    fn look(&self, spec: &RunSpec, output: &RunOutput) {
        let longer = |wait: &&LongWait| wait.ns > self.limit_ns;
        let waits: Vec<LongWait> = output.longest_waits.iter().filter(longer).cloned().collect();
        if waits.is_empty() {
            return;
        }
        let of = (spec.scenario.clone(), spec.at.clone(), spec.variant.clone(), spec.seed);
        self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(of, waits);
    }

    /// A line for each that is told; none if no task has stalled.
    pub fn lines(&self) -> Vec<String> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = Vec::new();
        for ((scenario, at, variant, seed), waits) in found.iter().take(RUNS_TOLD) {
            let at = if at.is_empty() { String::new() } else { format!("{at}, ") };
            let run = format!("{scenario}: {at}variant `{variant}`, seed {seed}");
            lines
                .extend(waits.iter().take(WAITS_TOLD).map(|wait| format!("{run}: {}", told(wait))));
            let more = waits.len().saturating_sub(WAITS_TOLD);
            if more > 0 {
                let least = if waits.len() == N_LONGEST_WAITS { "at least " } else { "" };
                let limit = time(self.limit_ns as f64);
                lines.push(format!("{run}: {least}{more} more waits longer than {limit}"));
            }
        }
        let more = found.len().saturating_sub(RUNS_TOLD);
        if more > 0 {
            lines.push(format!("tasks have stalled in {more} more runs"));
        }
        lines
    }
}

fn told(wait: &LongWait) -> String {
    let (comm, pid) = &wait.task;
    let since = format!("{}.{:09} s", wait.at_ns / 1_000_000_000, wait.at_ns % 1_000_000_000);
    let ns = time(wait.ns as f64);
    let cpu = wait.cpu;
    let behind = match &wait.behind {
        Some((comm, pid)) => format!("behind {comm}:{pid}"),
        None => "though it idled".to_string(),
    };
    match wait.goes_on {
        true => format!("task {comm}:{pid} waits for CPU {cpu} since {since}: {ns}, {behind}"),
        false => format!("task {comm}:{pid} waited for CPU {cpu} from {since} on: {ns}, {behind}"),
    }
}

/// An executor that looks for stalls in what another one runs.
pub struct Watching<'a> {
    inner: &'a dyn Executor,
    stalls: &'a Stalls,
}

impl Executor for Watching<'_> {
    fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        let output = self.inner.run(spec, progress)?;
        self.stalls.look(spec, &output);
        Ok(output)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::experiment;
    use expect_test::expect;
    use scenario::{MockExecutor, Silent};

    /// The n-th variant's tasks wait for n seconds, and n of them.
    struct Waits;

    impl Executor for Waits {
        fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
            let n = spec.variant.parse::<u64>().unwrap();
            let wait = LongWait {
                at_ns: 1_000_000_500 + spec.seed,
                ns: n * 1_000_000_000,
                task: ("cc1".into(), 7),
                cpu: 3,
                behind: (n > 2).then(|| ("make".into(), 8)),
                goes_on: n == 2,
            };
            let longest_waits = vec![wait; n as usize];
            Ok(RunOutput { longest_waits, ..MockExecutor.run(spec, progress)? })
        }
    }

    #[test]
    fn tasks_that_waited_too_long_are_named_by_run() {
        let lines = |limit_ns| {
            let stalls = Stalls::new(limit_ns);
            let experiment = experiment(1, &["1", "2", "4"]);
            experiment.run(&stalls.watch(&Waits), 2, &Silent).unwrap();
            stalls.lines()
        };
        expect![[r#"
            example: variant `2`, seed 1: task cc1:7 waits for CPU 3 since 1.000000501 s: 2.00 s, though it idled
            example: variant `2`, seed 1: task cc1:7 waits for CPU 3 since 1.000000501 s: 2.00 s, though it idled
            example: variant `4`, seed 1: task cc1:7 waited for CPU 3 from 1.000000501 s on: 4.00 s, behind make:8
            example: variant `4`, seed 1: task cc1:7 waited for CPU 3 from 1.000000501 s on: 4.00 s, behind make:8
            example: variant `4`, seed 1: task cc1:7 waited for CPU 3 from 1.000000501 s on: 4.00 s, behind make:8
            example: variant `4`, seed 1: 1 more waits longer than 1.00 s"#]]
        .assert_eq(&lines(1_000_000_000).join("\n"));
        assert!(lines(4_000_000_000).is_empty());
    }
}

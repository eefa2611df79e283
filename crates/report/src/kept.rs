//! Finished runs, kept beside the results: if a sweep was stopped, running it again goes on where
//! it was.
//!
//! The name of a run's file is the fingerprint of all that decides its bytes: the program, the
//! machine, the policy, the workload and the seed. So after a new value in a sweep, another title
//! or more seeds only the new runs are made. After a change of the program all are made again.

use crate::out::{self, OutError};
use scenario::registry::metric;
use scenario::{Executor, LlcUtilization, LongWait, MetricValue, RunError, RunOutput, RunSpec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The folder of the runs within the output directory.
const FOLDER: &str = "runs";

/// An executor that runs only what is not kept yet, and keeps it.
pub struct Kept<'a> {
    inner: &'a dyn Executor,
    folder: PathBuf,
    /// Fingerprint of the program.
    program: String,
    /// Fingerprints of machines, by where they are: a sweep of machines has few of them, each
    /// shared by many runs.
    machines: Mutex<BTreeMap<usize, String>>,
}

impl<'a> Kept<'a> {
    /// Keeps runs below `dir`, which is made if it is missing. `program` is the fingerprint of the
    /// program that runs them.
    ///
    /// # Errors
    /// The directory cannot be made or written to.
    pub fn new(inner: &'a dyn Executor, dir: &Path, program: String) -> Result<Self, OutError> {
        let folder = dir.join(FOLDER);
        out::prepare(&folder)?;
        Ok(Self { inner, folder, program, machines: Mutex::default() })
    }

    fn path(&self, spec: &RunSpec) -> PathBuf {
        let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
        let machine = machines.entry(Arc::as_ptr(&spec.machine) as usize);
        let machine = machine.or_insert_with(|| spec.machine_fingerprint());
        self.folder.join(format!("{}.json", spec.fingerprint(&[&self.program, machine])))
    }
}

impl Executor for Kept<'_> {
    fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
        let path = self.path(spec);
        // What cannot be read is computed again: a file may be cut off by a crash of the system.
        if let Some(output) = std::fs::read_to_string(&path).ok().and_then(|text| read(&text)) {
            return Ok(output);
        }
        let output = self.inner.run(spec, progress)?;
        let kept = out::write_file(&path, &write(spec, &output));
        kept.map_err(|error| RunError::NotKept(error.to_string()))?;
        Ok(output)
    }
}

/// A run as it is kept.
#[derive(serde::Serialize, serde::Deserialize)]
struct Run {
    /// Scenario, point, variant and seed are for people that look into the folder. They are not
    /// read again.
    scenario: String,
    at: String,
    variant: String,
    seed: u64,
    finished: bool,
    /// The metrics, in the order of the run.
    metrics: Vec<(String, f64)>,
    utilization: Option<Utilization>,
    longest_waits: Vec<Wait>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Wait {
    at_ns: u64,
    ns: u64,
    task: (String, u32),
    cpu: u32,
    behind: Option<(String, u32)>,
    goes_on: bool,
}

impl From<&LongWait> for Wait {
    fn from(wait: &LongWait) -> Self {
        let LongWait { at_ns, ns, task, cpu, behind, goes_on } = wait.clone();
        Self { at_ns, ns, task, cpu, behind, goes_on }
    }
}

impl From<Wait> for LongWait {
    fn from(wait: Wait) -> Self {
        let Wait { at_ns, ns, task, cpu, behind, goes_on } = wait;
        Self { at_ns, ns, task, cpu, behind, goes_on }
    }
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Utilization {
    bucket_ns: u64,
    shares: Vec<Vec<f32>>,
}

fn write(spec: &RunSpec, output: &RunOutput) -> String {
    let run = Run {
        scenario: spec.scenario.clone(),
        at: spec.at.clone(),
        variant: spec.variant.clone(),
        seed: spec.seed,
        finished: output.finished,
        metrics: output.metrics.iter().map(|m| (m.name.clone(), m.value)).collect(),
        utilization: output
            .utilization
            .as_ref()
            .map(|u| Utilization { bucket_ns: u.bucket_ns, shares: u.shares.clone() }),
        longest_waits: output.longest_waits.iter().map(Wait::from).collect(),
    };
    serde_json::to_string(&run).unwrap_or_default() + "\n"
}

/// A run that was kept; `None` if the file is not whole.
fn read(text: &str) -> Option<RunOutput> {
    let run: Run = serde_json::from_str(text).ok()?;
    let value = |(name, value): (String, f64)| {
        let def = metric(&name)?;
        Some(MetricValue { name, unit: def.unit, better: def.better, value })
    };
    Some(RunOutput {
        metrics: run.metrics.into_iter().map(value).collect::<Option<_>>()?,
        utilization: run
            .utilization
            .map(|u| LlcUtilization { bucket_ns: u.bucket_ns, shares: u.shares }),
        longest_waits: run.longest_waits.into_iter().map(LongWait::from).collect(),
        finished: run.finished,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::tests::experiment;
    use scenario::{MockExecutor, Silent};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Variants that differ by more than their names.
    fn two(seeds: u64) -> scenario::Experiment {
        let mut two = experiment(seeds, &["off", "on"]);
        two.variants[1].features.push(scenario::Feature { name: "SWQUEUE", on: true });
        two
    }

    #[derive(Default)]
    struct Counting(AtomicUsize);

    impl Executor for Counting {
        fn run(&self, spec: &RunSpec, progress: &dyn Fn(f64)) -> Result<RunOutput, RunError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            MockExecutor.run(spec, progress)
        }
    }

    #[test]
    fn a_run_that_is_kept_is_not_computed_again() {
        let dir = tempfile::tempdir().unwrap();
        let counting = Counting::default();
        let run = |seeds: u64, program: &str| {
            let kept = Kept::new(&counting, dir.path(), program.into()).unwrap();
            let results = two(seeds).run(&kept, 2, &Silent).unwrap();
            (results, counting.0.swap(0, Ordering::Relaxed))
        };
        let fresh = two(3).run(&MockExecutor, 1, &Silent).unwrap();
        assert_eq!(run(3, "a"), (fresh.clone(), 6));
        assert_eq!(run(3, "a"), (fresh.clone(), 0), "all kept");
        assert_eq!(run(5, "a").1, 4, "two more seeds");
        assert_eq!(run(3, "b"), (fresh.clone(), 6), "another program");
        let one = std::fs::read_dir(dir.path().join(FOLDER)).unwrap().next().unwrap().unwrap();
        let text = std::fs::read_to_string(one.path()).unwrap();
        std::fs::write(one.path(), &text[..text.len() / 2]).unwrap();
        let (a, b) = (run(5, "a"), run(3, "b"));
        assert_eq!(a.1 + b.1, 1, "the one that was cut");
        assert_eq!(b.0, fresh);
    }

    #[test]
    fn what_is_read_is_what_was_written_to_the_bit() {
        let experiment = experiment(1, &["off"]);
        let spec = experiment.spec(&experiment.variants[0], 1);
        let mut output = MockExecutor.run(&spec, &|_| {}).unwrap();
        output.metrics[0].value = 0.1 + 0.2;
        output.utilization =
            Some(LlcUtilization { bucket_ns: 7, shares: vec![vec![0.1, 1.0 / 3.0]] });
        output.longest_waits = vec![LongWait {
            at_ns: 1,
            ns: u64::MAX,
            task: ("a \"b\"".into(), 7),
            cpu: 3,
            behind: None,
            goes_on: true,
        }];
        assert_eq!(read(&write(&spec, &output)), Some(output));
    }
}

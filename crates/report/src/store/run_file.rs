//! The file of a finished run: what the run gave as JSON, with the run's name and a digest.
//!
//! It holds nothing that is not decided by the name: neither scenario, variant nor time. So two
//! computers write the same bytes.

use scenario::registry::metric;
use scenario::{LlcUtilization, LongWait, MetricValue, RunOutput, digest};
use serde_json::value::RawValue;

/// The frame around a run.
#[derive(serde::Serialize, serde::Deserialize)]
struct Frame<'a> {
    name: &'a str,
    /// Digest of the run's text.
    digest: &'a str,
    #[serde(borrow)]
    run: &'a RawValue,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct Run {
    finished: bool,
    /// The metrics, in the order of the run.
    metrics: Vec<(String, Number)>,
    utilization: Option<Utilization>,
    longest_waits: Vec<Wait>,
}

/// A number, or its word if JSON has none for it.
#[derive(serde::Serialize, serde::Deserialize)]
#[serde(untagged)]
enum Number {
    Finite(f64),
    Word(String),
}

impl From<f64> for Number {
    fn from(x: f64) -> Self {
        if x.is_finite() { Self::Finite(x) } else { Self::Word(x.to_string()) }
    }
}

impl Number {
    fn value(&self) -> Option<f64> {
        match self {
            Self::Finite(x) => Some(*x),
            Self::Word(word) => word.parse().ok(),
        }
    }
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

/// A run that failed.
#[derive(serde::Serialize, serde::Deserialize)]
struct Failed {
    name: String,
    error: String,
}

/// The content of a run's file.
pub(super) fn write(name: &str, output: &RunOutput) -> String {
    let run = Run {
        finished: output.finished,
        metrics: output.metrics.iter().map(|m| (m.name.clone(), m.value.into())).collect(),
        utilization: output
            .utilization
            .as_ref()
            .map(|u| Utilization { bucket_ns: u.bucket_ns, shares: u.shares.clone() }),
        longest_waits: output.longest_waits.iter().map(Wait::from).collect(),
    };
    let run = serde_json::value::to_raw_value(&run).expect("its keys are text");
    let frame = Frame { name, digest: &digest([run.get()]), run: &run };
    serde_json::to_string(&frame).expect("its keys are text") + "\n"
}

/// What the run of that name gave, or what is wrong with its file.
pub(super) fn read(name: &str, bytes: &[u8]) -> Result<RunOutput, &'static str> {
    let cut = "it is not whole";
    let frame: Frame<'_> = serde_json::from_slice(bytes).map_err(|_| cut)?;
    if frame.name != name {
        return Err("it is the file of another run");
    }
    if digest([frame.run.get()]) != frame.digest {
        return Err("its digest is another one");
    }
    let run: Run = serde_json::from_str(frame.run.get()).map_err(|_| cut)?;
    let value = |(name, value): (String, Number)| {
        let def = metric(&name)?;
        Some(MetricValue { name, unit: def.unit, better: def.better, value: value.value()? })
    };
    let metrics: Option<_> = run.metrics.into_iter().map(value).collect();
    Ok(RunOutput {
        metrics: metrics.ok_or("it has a metric that there is not")?,
        utilization: run
            .utilization
            .map(|u| LlcUtilization { bucket_ns: u.bucket_ns, shares: u.shares }),
        longest_waits: run.longest_waits.into_iter().map(LongWait::from).collect(),
        finished: run.finished,
    })
}

/// The content of the file of a run that failed.
pub(super) fn write_failed(name: &str, error: &str) -> String {
    let failed = Failed { name: name.to_string(), error: error.to_string() };
    serde_json::to_string(&failed).expect("its keys are text") + "\n"
}

/// The message in the file of a run that failed; `None` if the file is not whole.
pub(super) fn read_failed(name: &str, bytes: &[u8]) -> Option<String> {
    let failed: Failed = serde_json::from_slice(bytes).ok()?;
    (failed.name == name).then_some(failed.error)
}

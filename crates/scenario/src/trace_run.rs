//! One run with a trace of all that happens, in files for other tools.

use crate::engine;
use crate::experiment::RunSpec;
use crate::run::{RunError, RunOutput, guarded};
use std::path::PathBuf;
use trace::export::{OutFile, PerfScript, Sink, Totals, TraceError, Tracer};

/// Which files to write. If none is named, perf script text goes to standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFiles {
    /// The text that `perf script --ns` prints.
    pub perf_script: Option<PathBuf>,
}

/// Why a run left no trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceFailure {
    /// A file cannot be made; nothing was run.
    #[error(transparent)]
    Target(TraceError),
    /// A file cannot be written.
    #[error(transparent)]
    Output(#[from] TraceError),
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
}

/// What a traced run gives besides its files.
#[derive(Debug)]
pub struct Traced {
    /// The metrics, the same as without a trace.
    pub output: RunOutput,
    /// Sums over the trace.
    pub totals: Totals,
}

impl RunSpec {
    /// Runs the simulation and writes its trace. Files appear if all goes well, and then all.
    ///
    /// # Errors
    /// The run fails, or a file cannot be written.
    pub fn trace(
        &self,
        files: &TraceFiles,
        progress: &dyn Fn(f64),
    ) -> Result<Traced, TraceFailure> {
        let mut tracer = Tracer::new(&self.machine, files.sinks().map_err(TraceFailure::Target)?);
        let run = guarded(|| engine::run_watched(self, &mut tracer, progress));
        match run {
            Ok(output) => Ok(Traced { output, totals: tracer.finish()? }),
            // The tracer says why it had enough.
            Err(RunError::Stopped) => Err(tracer
                .finish()
                .err()
                .map_or_else(|| TraceFailure::Run(RunError::Stopped), TraceFailure::Output)),
            Err(error) => Err(error.into()),
        }
    }
}

impl TraceFiles {
    fn sinks(&self) -> Result<Vec<Box<dyn Sink>>, TraceError> {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        if let Some(path) = &self.perf_script {
            sinks.push(Box::new(PerfScript::new(OutFile::create(path)?)));
        }
        if sinks.is_empty() {
            sinks.push(Box::new(PerfScript::new(OutFile::stdout())));
        }
        Ok(sinks)
    }
}

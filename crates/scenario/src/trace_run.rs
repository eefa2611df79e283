//! One run with a trace of all that happens, in files for other tools.

use crate::engine;
use crate::output::{RunError, RunOutput, guarded};
use crate::registry::Class;
use crate::run_spec::RunSpec;
use std::path::{Path, PathBuf};
use trace::export::{
    Origin, OutFile, PerfData, PerfScript, Perfetto, Sink, Totals, TraceDat, TraceError, Tracer,
};

/// Which files to write. If none is named, perf script text goes to standard output.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TraceFiles {
    /// The text that `perf script --ns` prints.
    pub perf_script: Option<PathBuf>,
    /// `perf.data`.
    pub perf_data: Option<PathBuf>,
    /// `trace.dat`.
    pub trace_dat: Option<PathBuf>,
    /// Perfetto's protobuf.
    pub perfetto: Option<PathBuf>,
    /// The Perfetto trace has the policy's signals, too.
    pub signals: bool,
}

impl TraceFiles {
    /// All that are named.
    pub fn named(&self) -> impl Iterator<Item = &Path> {
        let all = [&self.perf_script, &self.perf_data, &self.trace_dat, &self.perfetto];
        all.into_iter().filter_map(|path| path.as_deref())
    }
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
    /// True if the policy keeps PELT averages.
    pub fn has_signals(&self) -> bool {
        self.policy.0.class == Class::Fair
    }

    /// Runs the simulation and writes its trace. Files appear if all goes well, and then all.
    ///
    /// # Errors
    /// The run fails, or a file cannot be written.
    pub fn trace(
        &self,
        files: &TraceFiles,
        progress: &dyn Fn(f64),
    ) -> Result<Traced, TraceFailure> {
        let mut tracer =
            Tracer::new(&self.machine, files.sinks(&self.origin()).map_err(TraceFailure::Target)?);
        if files.signals {
            tracer = tracer.with_signals();
        }
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

impl RunSpec {
    fn origin(&self) -> Origin {
        let command = [
            "schedlab".to_string(),
            "trace".to_string(),
            format!("{}.toml", self.scenario),
            "--variant".to_string(),
            self.variant.clone(),
            "--seed".to_string(),
            self.seed.to_string(),
        ];
        Origin {
            machine: self.machine.name.clone(),
            n_cpus: self.machine.n_cpus() as u32,
            release: format!("{}.0-schedlab", self.rules.unwrap_or("6.18")),
            tool: concat!("schedlab ", env!("CARGO_PKG_VERSION")).to_string(),
            command: command.to_vec(),
        }
    }
}

impl TraceFiles {
    fn sinks(&self, origin: &Origin) -> Result<Vec<Box<dyn Sink>>, TraceError> {
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        if let Some(path) = &self.perf_script {
            sinks.push(Box::new(PerfScript::new(OutFile::create(path)?)));
        }
        if let Some(path) = &self.perf_data {
            let out = OutFile::create_seekable(path)?;
            sinks.push(Box::new(PerfData::new(out, origin.clone())?));
        }
        if let Some(path) = &self.trace_dat {
            let out = OutFile::create_seekable(path)?;
            sinks.push(Box::new(TraceDat::new(out, origin.clone())?));
        }
        if let Some(path) = &self.perfetto {
            sinks.push(Box::new(Perfetto::new(OutFile::create(path)?, origin)?));
        }
        if sinks.is_empty() {
            sinks.push(Box::new(PerfScript::new(OutFile::stdout())));
        }
        Ok(sinks)
    }
}

//! The report of a study: that of a single experiment, or that of a sweep.

use crate::out::{self, Fill, OutError};
use crate::sweep::{self, SweepAnalysis};
use crate::{Analysis, csv_table, deltas_svg, json, json_line, markdown, text, utilization_svg};
use scenario::{Results, Study};
use std::convert::Infallible;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The analysis of a study.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A single experiment.
    One(Box<Analysis>),
    /// The points of a sweep.
    Sweep(SweepAnalysis),
}

/// Files that a report may have besides its results. One that this report has not is left from
/// another report.
const PICTURES: [&str; 5] =
    ["deltas.svg", "utilization.svg", "curves.svg", "wakeup_latency.svg", "migrations.svg"];

impl Outcome {
    /// Analyzes the results of a study, one per point. `metrics` get a table in a sweep, if there
    /// are any.
    pub fn new(study: &Study, results: Vec<Results>, metrics: &[String]) -> Self {
        let results = results.into_iter().map(Ok::<Results, Infallible>);
        match Self::try_new(study, results, metrics) {
            Ok(outcome) => outcome,
            Err(never) => match never {},
        }
    }

    /// Analyzes the results of a study as they come, one per point. The results of a point are gone
    /// before those of the next one are asked for: there may be very many.
    ///
    /// # Errors
    /// The first one of the results.
    pub fn try_new<E>(
        study: &Study,
        mut results: impl Iterator<Item = Result<Results, E>>,
        metrics: &[String],
    ) -> Result<Self, E> {
        match study.only() {
            Some(experiment) if metrics.is_empty() => {
                let results = results.next().expect("a study has a point")?;
                Ok(Self::One(Box::new(Analysis::new(experiment, &results))))
            }
            _ => Ok(Self::Sweep(SweepAnalysis::try_new(study, results, metrics)?)),
        }
    }

    /// The analysis of each point.
    pub fn analyses(&self) -> Vec<&Analysis> {
        match self {
            Self::One(analysis) => vec![analysis],
            Self::Sweep(sweep) => sweep.points.iter().map(|point| &point.analysis).collect(),
        }
    }

    /// What the scenario expects and did not get, with its place and what was measured.
    pub fn unexpected(&self) -> Vec<String> {
        let all = self.analyses().into_iter().flat_map(|analysis| &analysis.expected);
        all.filter(|expected| !expected.holds).map(ToString::to_string).collect()
    }

    /// Tables for people, for a terminal of so many columns.
    pub fn text(&self, columns: usize) -> String {
        match self {
            Self::One(analysis) => text(analysis, columns),
            Self::Sweep(sweep) => sweep::text(sweep, columns),
        }
    }

    /// Tables for a pull request.
    pub fn markdown(&self) -> String {
        match self {
            Self::One(analysis) => markdown(analysis),
            Self::Sweep(sweep) => sweep::markdown(sweep),
        }
    }

    /// An indented JSON document.
    pub fn json(&self) -> String {
        match self {
            Self::One(analysis) => json(analysis),
            Self::Sweep(sweep) => sweep::json(sweep),
        }
    }

    /// Writes that document piece by piece: it may be long.
    fn write_json(&self, to: &mut dyn Write) -> std::io::Result<()> {
        match self {
            Self::One(analysis) => to.write_all(json(analysis).as_bytes()),
            Self::Sweep(sweep) => sweep::write_json(sweep, to),
        }
    }

    /// A JSON document on one line.
    pub fn json_line(&self) -> String {
        match self {
            Self::One(analysis) => json_line(analysis),
            Self::Sweep(sweep) => sweep::json_line(sweep),
        }
    }

    /// Writes `results.json`, `results.csv` and the plots into a directory; gives their paths. A
    /// plot that this study does not have is removed, since it would be an earlier one's.
    ///
    /// # Errors
    /// A file cannot be written; then none is.
    pub fn write(&self, dir: &Path) -> Result<Vec<PathBuf>, OutError> {
        let plots = match self {
            Self::One(analysis) => {
                [deltas_svg(analysis), utilization_svg(analysis), None, None, None]
            }
            Self::Sweep(sweep) => [None, None, sweep::curves::curves_svg(sweep), None, None],
        };
        let json: Fill<'_> = Box::new(|to| self.write_json(to));
        let csv: Fill<'_> = Box::new(|to| csv_table::write([self], to));
        let mut files = vec![("results.json", json), ("results.csv", csv)];
        let mut absent = Vec::new();
        for (name, svg) in PICTURES.into_iter().zip(&plots) {
            match svg {
                Some(svg) => files.push((name, out::text(svg))),
                None => absent.push(name),
            }
        }
        let written = out::write_all(dir, &files)?;
        for name in absent {
            out::remove(&dir.join(name))?;
        }
        Ok(written)
    }
}

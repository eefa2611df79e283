//! Handing units to Slurm: job arrays over a list of what is missing.
//!
//! A task of an array does some units of the list, as many as `units_per_task`. Whether a unit is
//! done is told by the store alone: a job that was lost, killed or submitted twice changes nothing,
//! and submitting again hands over what is missing then. Jobs are found by their name, which holds
//! the sweep's id.

use super::UnitsError;
use super::opened::Sweep;
use super::plan::Unit;
use crate::out;
use scenario::digest;
use std::hash::{BuildHasher, RandomState};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The folder of lists and of what jobs print, within that of the sweep.
const JOBS: &str = "jobs";

/// `MaxArraySize` if nobody has set it.
pub const MAX_ARRAY_SIZE: usize = 1001;

/// How units are handed over.
#[derive(Clone, Debug)]
pub struct Slurm {
    /// The program that does units, as compute nodes find it.
    pub program: PathBuf,
    /// Tasks of an array at most.
    pub tasks_max: usize,
    /// Units that a task does, one after the other.
    pub units_per_task: usize,
    /// `--partition` of sbatch.
    pub partition: Option<String>,
    /// `--time` of sbatch: the limit of a task.
    pub time: Option<String>,
}

/// What is to be submitted.
#[derive(Clone, Debug)]
pub struct Submission {
    /// The list of units, one name per line.
    pub list: PathBuf,
    names: String,
    /// The job arrays.
    pub arrays: Vec<JobArray>,
}

/// A job array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobArray {
    /// Arguments of sbatch.
    pub args: Vec<String>,
    /// The script of each task, which sbatch reads from its standard input.
    pub script: String,
}

impl Slurm {
    /// Plans the arrays for some units of a sweep; nothing is written yet.
    ///
    /// # Errors
    /// A path that a script cannot hold.
    pub fn arrays(&self, sweep: &Sweep, units: &[&Unit]) -> Result<Submission, UnitsError> {
        let mut names: Vec<&str> = units.iter().map(|unit| unit.unit.as_str()).collect();
        // Of two that submit the same units each begins elsewhere.
        let order = RandomState::new();
        names.sort_by_cached_key(|name| order.hash_one(name));
        let names: String = names.into_iter().map(|name| format!("{name}\n")).collect();
        let dir = std::path::absolute(sweep.dir());
        let dir = dir.map_err(|e| UnitsError::read(sweep.dir(), e))?;
        let jobs = dir.join(JOBS);
        let list = jobs.join(format!("{}.list", &digest([names.as_str()])[..8]));
        let n_tasks = units.len().div_ceil(self.units_per_task.max(1));
        let firsts = (0..n_tasks).step_by(self.tasks_max.max(1));
        let array = |first: usize| -> Result<JobArray, UnitsError> {
            let n = (n_tasks - first).min(self.tasks_max);
            Ok(JobArray {
                args: self.args(&sweep.id(), n, &jobs)?,
                script: self.script(&dir, &list, first)?,
            })
        };
        Ok(Submission { arrays: firsts.map(array).collect::<Result<_, _>>()?, list, names })
    }

    fn args(&self, id: &str, n_tasks: usize, jobs: &Path) -> Result<Vec<String>, UnitsError> {
        let mut args = vec![
            "--parsable".to_string(),
            format!("--job-name={}", job_name(id)),
            format!("--comment=schedlab sweep {id}"),
            format!("--array=0-{}", n_tasks - 1),
            "--ntasks=1".to_string(),
            "--cpus-per-task=1".to_string(),
            // One file for all tasks of an array.
            format!("--output={}", text(&jobs.join("%A.log"))?),
            "--open-mode=append".to_string(),
        ];
        args.extend(self.partition.iter().map(|name| format!("--partition={name}")));
        args.extend(self.time.iter().map(|time| format!("--time={time}")));
        Ok(args)
    }

    /// The script of the array whose first task has that index among all tasks.
    fn script(&self, dir: &Path, list: &Path, first: usize) -> Result<String, UnitsError> {
        let (program, dir, list) = (quoted(&self.program)?, quoted(dir)?, quoted(list)?);
        let n = self.units_per_task;
        Ok(format!(
            "#!/bin/sh\n\
             exec {program} sweep unit {dir} --list {list} \\\n    \
             --from $((({first} + SLURM_ARRAY_TASK_ID) * {n})) --count {n} --quiet\n"
        ))
    }
}

impl Submission {
    /// Submits the arrays; gives the ids of the jobs.
    ///
    /// # Errors
    /// The list cannot be written, or Slurm refuses.
    pub fn submit(&self) -> Result<Vec<String>, UnitsError> {
        let jobs = out::dir_of(&self.list);
        std::fs::create_dir_all(jobs).map_err(|e| UnitsError::write(jobs, e))?;
        out::write_file(&self.list, &self.names)?;
        let mut ids = Vec::new();
        for array in &self.arrays {
            let submitted = run("sbatch", &array.args, &array.script);
            let id = submitted.map_err(|error| match ids.len() {
                0 => error,
                n => UnitsError::Engine(format!(
                    "{error}; {n} of {} job arrays were submitted: submit again for what is \
                     missing, or take them back with --cancel",
                    self.arrays.len()
                )),
            })?;
            // With several clusters: ID;CLUSTER.
            ids.push(id.trim().split(';').next().unwrap_or_default().to_string());
        }
        Ok(ids)
    }
}

/// Cancels the jobs of a sweep, whoever of this user has submitted them.
///
/// # Errors
/// Slurm refuses.
pub fn cancel(sweep: &Sweep) -> Result<(), UnitsError> {
    run("scancel", &[format!("--name={}", job_name(&sweep.id()))], "").map(drop)
}

/// What the cluster's `MaxArraySize` is: tasks of an array are numbered from 0 to one below it.
///
/// # Errors
/// Slurm does not tell.
pub fn max_array_size() -> Result<usize, UnitsError> {
    let config = run("scontrol", &["show".to_string(), "config".to_string()], "")?;
    parse_max_array_size(&config)
        .ok_or_else(|| UnitsError::Engine("`scontrol show config` has no MaxArraySize".into()))
}

fn parse_max_array_size(config: &str) -> Option<usize> {
    let line = config.lines().find(|line| line.trim_start().starts_with("MaxArraySize"))?;
    line.split_once('=')?.1.trim().parse().ok().filter(|n| *n > 0)
}

fn job_name(id: &str) -> String {
    format!("schedlab-{id}")
}

/// Runs a program of Slurm, with that text as its standard input; gives what it prints.
fn run(program: &str, args: &[String], input: &str) -> Result<String, UnitsError> {
    let fault = |e| {
        UnitsError::Engine(format!(
            "cannot run {program}: {e}; is Slurm here? --dry-run prints what would be submitted"
        ))
    };
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fault)?;
    if let Some(mut stdin) = child.stdin.take() {
        // One that does not read says why not when it ends.
        let _ = stdin.write_all(input.as_bytes());
    }
    let output = child.wait_with_output().map_err(fault)?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(UnitsError::Engine(format!("{program}: {}", said.trim())))
}

fn text(path: &Path) -> Result<&str, UnitsError> {
    path.to_str().ok_or_else(|| UnitsError::NotText(path.to_path_buf()))
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> Result<String, UnitsError> {
    Ok(format!("'{}'", text(path)?.replace('\'', r"'\''")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_of_arrays_is_read_from_the_configuration() {
        let config = "MaxArrayTasks   = 7\nMaxArraySize            = 1001\nMaxDBDMsgs = 2\n";
        assert_eq!(parse_max_array_size(config), Some(1001));
        assert_eq!(parse_max_array_size("MaxArraySize = none"), None);
    }

    #[test]
    fn a_path_with_a_quote_is_one_word() {
        assert_eq!(quoted(Path::new("/a b/it's")).unwrap(), r"'/a b/it'\''s'");
    }
}

//! Finished runs in a folder that several processes and computers may share.
//!
//! A run is named by the digest of all that decides its bytes ([`Names`]), so whoever computes it
//! writes the same file. Three folders hold what is known:
//!
//! ```text
//! runs/NAME.json      what a run gave, with a digest of its own: a damaged file is noticed
//! failed/NAME.json    why it failed; it would fail again
//! alarms/NAME-X.json  the same run, computed again, gave other bytes
//! ```
//!
//! A file is written under another name, synced, and linked to its own: it is there as a whole or
//! not at all, and the first one stays.

mod names;
mod publish;
mod run_file;

pub use names::{Names, program};
pub(crate) use publish::{Published, publish};

use crate::out::{self, OutError};
use scenario::{RunOutput, digest};
use std::collections::{BTreeMap, HashSet};
use std::io::{Error, ErrorKind};
use std::path::{Path, PathBuf};

const RUNS: &str = "runs";
const FAILED: &str = "failed";
const ALARMS: &str = "alarms";
const EXTENSION: &str = ".json";

/// Why a store does not do what it should.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A folder cannot be used.
    #[error(transparent)]
    Folder(#[from] OutError),
    /// A file cannot be written.
    #[error("cannot write {}: {}", path.display(), words(.source))]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: Error,
    },
    /// A file or a folder cannot be read.
    #[error("cannot read {}: {}", path.display(), words(.source))]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: Error,
    },
    /// A file does not hold what was written to it.
    #[error("{} is damaged: {what}; {remedy}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
        /// What to do.
        remedy: &'static str,
    },
    /// The same run came to two results.
    #[error(
        "ALARM: one run has two results, {} and {}: a computer is faulty, or schedlab is; find out \
         which of them is right, and remove the other one and the alarm",
        there.display(), other.display()
    )]
    Differs {
        /// The first one.
        there: PathBuf,
        /// The other one.
        other: PathBuf,
    },
}

/// A remark of the system with the remedy, if one is known.
fn words(error: &Error) -> String {
    match error.kind() {
        ErrorKind::Unsupported => "its file system has no hard links".to_string(),
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            format!("{error}; make room and start again, nothing is lost")
        }
        _ => error.to_string(),
    }
}

/// The folder of a store.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
}

/// The names that a store knows.
#[derive(Default)]
pub struct Known {
    /// Runs that are done.
    pub done: HashSet<String>,
    /// Runs that have failed.
    pub failed: HashSet<String>,
    /// Files of other results, in order.
    pub alarms: Vec<PathBuf>,
}

impl Store {
    /// The store of a directory; nothing is written before [`Store::prepare`].
    pub fn new(dir: &Path) -> Self {
        Self { dir: dir.to_path_buf() }
    }

    /// Makes the folder of runs, and checks that it can be written to.
    ///
    /// # Errors
    /// The folder cannot be made or written to.
    pub fn prepare(&self) -> Result<(), StoreError> {
        Ok(out::prepare(&self.dir.join(RUNS))?)
    }

    /// Removes what writers have left behind that were killed long ago. It does no harm, so this is
    /// for who has the time.
    pub fn remove_remains(&self) {
        let _guard = out::writing();
        for folder in ["", RUNS, FAILED, ALARMS].map(|name| self.dir.join(name)) {
            if folder.is_dir() {
                publish::remove_remains(&folder);
            }
        }
    }

    /// The file of a run.
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(RUNS).join(format!("{name}{EXTENSION}"))
    }

    fn failed_path(&self, name: &str) -> PathBuf {
        self.dir.join(FAILED).join(format!("{name}{EXTENSION}"))
    }

    /// True if the run is there, in whatever state.
    pub fn has(&self, name: &str) -> bool {
        self.path(name).exists()
    }

    /// What a run gave; `None` if it is not there.
    ///
    /// # Errors
    /// The file is damaged, or cannot be read.
    pub fn get(&self, name: &str) -> Result<Option<RunOutput>, StoreError> {
        let path = self.path(name);
        let Some(bytes) = read(&path)? else {
            return Ok(None);
        };
        match run_file::read(name, &bytes) {
            Ok(output) => Ok(Some(output)),
            Err(what) => {
                let remedy = "`schedlab sweep run` sets it aside and computes it again";
                Err(StoreError::Damaged { path, what, remedy })
            }
        }
    }

    /// Keeps what a run gave. If somebody else was first with the same, that one stays.
    ///
    /// # Errors
    /// It cannot be written; or the run is there with another result, which is an alarm.
    pub fn put(&self, name: &str, output: &RunOutput) -> Result<(), StoreError> {
        let bytes = run_file::write(name, output);
        let path = self.path(name);
        let _guard = out::writing();
        let fault = |path: &Path, source| StoreError::Write { path: path.to_path_buf(), source };
        // Twice: a damaged file in its place is set aside.
        for _ in 0..2 {
            match publish(&path, bytes.as_bytes()).map_err(|e| fault(&path, e))? {
                Published::First | Published::Same => return Ok(()),
                Published::Other(there) if run_file::read(name, &there).is_err() => {
                    set_aside(&path).map_err(|e| fault(&path, e))?;
                }
                Published::Other(_) => break,
            }
        }
        let other = self.dir.join(ALARMS).join(format!("{name}-{}{EXTENSION}", short(&bytes)));
        std::fs::create_dir_all(self.dir.join(ALARMS)).map_err(|e| fault(&other, e))?;
        publish(&other, bytes.as_bytes()).map_err(|e| fault(&other, e))?;
        Err(StoreError::Differs { there: path, other })
    }

    /// Moves a damaged file out of the way, so that its run is computed again; gives its new path.
    ///
    /// # Errors
    /// It cannot be moved.
    pub fn set_aside(&self, name: &str) -> Result<PathBuf, StoreError> {
        let path = self.path(name);
        set_aside(&path).map_err(|source| StoreError::Write { path, source })
    }

    /// Keeps the message of a run that failed.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn put_failed(&self, name: &str, error: &str) -> Result<(), StoreError> {
        let path = self.failed_path(name);
        let text = run_file::write_failed(name, error);
        let _guard = out::writing();
        let folder = std::fs::create_dir_all(self.dir.join(FAILED));
        let published = folder.and_then(|()| publish(&path, text.as_bytes()));
        // The message that came first stays: both are of the same run.
        published.map(drop).map_err(|source| StoreError::Write { path, source })
    }

    /// Why a run has failed; `None` if it has not.
    ///
    /// # Errors
    /// The file is damaged, or cannot be read.
    pub fn failure(&self, name: &str) -> Result<Option<String>, StoreError> {
        let path = self.failed_path(name);
        let Some(bytes) = read(&path)? else {
            return Ok(None);
        };
        match run_file::read_failed(name, &bytes) {
            Some(error) => Ok(Some(error)),
            None => {
                let what = "it is no message of that run";
                let remedy = "`schedlab sweep run --retry-failed` computes it again";
                Err(StoreError::Damaged { path, what, remedy })
            }
        }
    }

    /// Forgets that a run has failed.
    ///
    /// # Errors
    /// The file cannot be removed.
    pub fn forget_failure(&self, name: &str) -> Result<(), StoreError> {
        Ok(out::remove(&self.failed_path(name))?)
    }

    /// The names of all runs that are known, without reading a file of them.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn known(&self) -> Result<Known, StoreError> {
        let names = |folder| -> Result<HashSet<String>, StoreError> {
            let names = files(&self.dir.join(folder))?.into_iter();
            Ok(names.filter_map(|name| name.strip_suffix(EXTENSION).map(String::from)).collect())
        };
        let mut alarms = files(&self.dir.join(ALARMS))?;
        alarms.retain(|name| name.ends_with(EXTENSION));
        alarms.sort();
        let alarms = alarms.iter().map(|name| self.dir.join(ALARMS).join(name)).collect();
        Ok(Known { done: names(RUNS)?, failed: names(FAILED)?, alarms })
    }

    /// The alarm of a file that [`Known::alarms`] names.
    pub fn alarm(&self, other: &Path) -> StoreError {
        let file = other.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let name = file.split('-').next().unwrap_or_default();
        StoreError::Differs { there: self.path(name), other: other.to_path_buf() }
    }

    /// The messages of runs that have failed, by name.
    ///
    /// # Errors
    /// A file is damaged, or cannot be read.
    pub fn failures<'a>(
        &self,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Result<BTreeMap<&'a str, String>, StoreError> {
        let with_message = |name: &'a String| -> Option<Result<(&'a str, String), StoreError>> {
            self.failure(name).map(|found| Some((name.as_str(), found?))).transpose()
        };
        names.into_iter().filter_map(with_message).collect()
    }
}

/// The content of a file; `None` if it is not there.
fn read(path: &Path) -> Result<Option<Vec<u8>>, StoreError> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(StoreError::Read { path: path.to_path_buf(), source }),
    }
}

/// The names in a folder that are text; none if it is not there.
fn files(folder: &Path) -> Result<Vec<String>, StoreError> {
    let fault = |source| StoreError::Read { path: folder.to_path_buf(), source };
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(fault(e)),
    };
    let mut names = Vec::new();
    for entry in entries {
        names.extend(entry.map_err(fault)?.file_name().into_string());
    }
    Ok(names)
}

/// Gives a damaged file a name that nobody reads.
fn set_aside(path: &Path) -> std::io::Result<PathBuf> {
    let aside = path.with_extension("damaged");
    match std::fs::rename(path, &aside) {
        // Somebody else has done it.
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(aside),
        done => done.map(|()| aside),
    }
}

/// The first digits of the digest of a text.
fn short(text: &str) -> String {
    digest([text])[..8].to_string()
}

#[cfg(test)]
mod tests;

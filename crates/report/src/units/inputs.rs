//! The files of a plan: copies, made while a scenario is read, and read in place of the originals.

use crate::out;
use scenario::{Disk, Files, digest_of_file};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// Longer files are recordings. Their content is a part of the names of their units, so it is not
/// looked at twice.
const CHECKED_BYTES_MAX: u64 = 1 << 20;

/// Copies each file that is opened, and has the copy read. So what is planned is what is kept, and
/// a pipe is read once.
pub(super) struct Copying {
    folder: PathBuf,
    /// Digests of the copies by the paths of the files; they are the names of the copies.
    copied: RefCell<BTreeMap<PathBuf, String>>,
}

impl Copying {
    pub fn to(folder: &Path) -> Self {
        Self { folder: folder.to_path_buf(), copied: RefCell::default() }
    }

    /// Digests of the copies by the paths of the files.
    pub fn copied(self) -> BTreeMap<PathBuf, String> {
        self.copied.into_inner()
    }

    fn copy(&self, path: &Path) -> Result<String> {
        let mut from = Disk.open(path)?;
        let staged = out::temporary(&self.folder)?;
        std::io::copy(&mut from, &mut staged.as_file())?;
        staged.as_file().sync_all()?;
        let digest = digest_of_file(staged.path())?;
        staged.persist(self.folder.join(&digest)).map_err(|e| e.error)?;
        Ok(digest)
    }
}

impl Files for Copying {
    fn open(&self, path: &Path) -> Result<File> {
        let known = self.copied.borrow().get(path).cloned();
        let digest = match known {
            Some(digest) => digest,
            None => self.copy(path)?,
        };
        let copy = self.folder.join(&digest);
        self.copied.borrow_mut().insert(path.to_path_buf(), digest);
        File::open(copy)
    }

    fn is_there(&self, path: &Path) -> bool {
        Disk.is_there(path)
    }

    fn is_regular(&self, path: &Path) -> bool {
        Disk.is_regular(path)
    }
}

/// The copies of a plan. There are no other files.
#[derive(Debug)]
pub(super) struct Inputs {
    folder: PathBuf,
    /// Digests by paths.
    names: BTreeMap<String, String>,
}

impl Inputs {
    pub fn new(folder: PathBuf, names: BTreeMap<String, String>) -> Self {
        Self { folder, names }
    }

    fn name(&self, path: &Path) -> Option<&String> {
        self.names.get(path.to_str()?)
    }
}

impl Files for Inputs {
    fn open(&self, path: &Path) -> Result<File> {
        let name = self.name(path).ok_or(ErrorKind::NotFound)?;
        let copy = self.folder.join(name);
        let damaged = |what: &str| Error::other(format!("its copy {} {what}", copy.display()));
        let file = File::open(&copy).map_err(|e| damaged(&format!("cannot be read: {e}")))?;
        let is_short = file.metadata()?.len() <= CHECKED_BYTES_MAX;
        if is_short && digest_of_file(&copy)? != *name {
            return Err(damaged("is damaged"));
        }
        Ok(file)
    }

    fn is_there(&self, path: &Path) -> bool {
        self.name(path).is_some()
    }

    fn is_regular(&self, path: &Path) -> bool {
        self.is_there(path)
    }
}

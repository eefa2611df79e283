//! A file appears as a whole or not at all, and whoever is first wins.
//!
//! The content is written to a file of another name in the same folder and synced; then that file
//! gets its own name, which fails if the name is taken; then the folder is synced, and the other
//! name removed. Wherever a writer is killed, the name is there with all of its content, or it is
//! not there. What may stay behind is the file of the other name, which nobody reads.

use crate::out;
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::path::Path;
use std::time::Duration;

/// How often a file is written if its temporary one vanishes.
const ATTEMPTS: usize = 3;

/// Temporary files that are older than this have no writer any more: writing one takes
/// milliseconds.
const REMAINS_AGE: Duration = Duration::from_secs(3600);

/// What came of publishing a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// It is there now.
    First,
    /// It was there, with the same content.
    Same,
    /// It was there, with this content.
    Other(Vec<u8>),
}

/// Publishes a file; what is there stays.
///
/// # Errors
/// It cannot be written, or what is there cannot be read.
pub(crate) fn publish(path: &Path, bytes: &[u8]) -> Result<Published> {
    let folder = out::dir_of(path);
    for _ in 0..ATTEMPTS {
        let staged = out::stage(folder, bytes)?;
        match std::fs::hard_link(staged.path(), path) {
            Ok(()) => {
                sync_folder(folder)?;
                // Its own name stays; if the other one cannot be removed, it does no harm.
                drop(staged);
                return Ok(Published::First);
            }
            // A server may have done it and lost its answer: then the content is the same.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => match std::fs::read(path) {
                Ok(there) if there == bytes => {
                    sync_folder(folder)?;
                    return Ok(Published::Same);
                }
                Ok(there) => return Ok(Published::Other(there)),
                // It has been removed in between.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            },
            // Somebody with a wrong clock has taken the temporary file for remains.
            Err(e) if e.kind() == ErrorKind::NotFound => {}
            // A file could be made in the folder, so it is its file system that refuses.
            Err(e) if e.kind() == ErrorKind::PermissionDenied => {
                return Err(ErrorKind::Unsupported.into());
            }
            Err(e) => return Err(e),
        }
    }
    Err(Error::other("its temporary file vanishes again and again"))
}

/// Has the names in a folder survive a crash of the system. Not all systems can open a folder.
fn sync_folder(folder: &Path) -> Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Removes temporary files of writers that were killed long ago. The time is that of the folder's
/// file system: clocks of computers may differ.
pub(super) fn remove_remains(folder: &Path) {
    let Some(now) = out::temporary(folder).ok().and_then(|file| changed(file.path())) else {
        return;
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_temporary = entry.file_name().to_str().is_some_and(out::is_temporary);
        let age = || now.duration_since(changed(&entry.path())?).ok();
        if is_temporary && age().is_some_and(|age| age > REMAINS_AGE) {
            // Somebody else may be doing the same.
            let _ = match entry.path().is_dir() {
                true => std::fs::remove_dir_all(entry.path()),
                false => std::fs::remove_file(entry.path()),
            };
        }
    }
}

fn changed(path: &Path) -> Option<std::time::SystemTime> {
    std::fs::metadata(path).ok()?.modified().ok()
}

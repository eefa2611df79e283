//! Files that appear whole or not at all, however long they take to write.
//!
//! A trace grows in a temporary file beside its target and replaces the target when the run has
//! ended well. A run that fails, a full disk, Ctrl-C or SIGTERM leave nothing behind. What is no
//! regular file (a pipe, `/dev/null`) is written in place.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

const BUFFER_BYTES: usize = 1 << 18;

/// Why a trace was not written.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    File {
        /// The file as the user named it.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The format goes back to fill in lengths, and the target is a pipe or a device.
    #[error("cannot write {path}: this format needs a regular file, not a pipe or device")]
    NotRegular {
        /// The target.
        path: PathBuf,
    },
    /// The reader of our standard output has closed it: it wants no more.
    #[error("standard output was closed")]
    ReaderGone,
}

/// Temporary files that are being written.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn unfinished() -> MutexGuard<'static, Vec<PathBuf>> {
    UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Removes all unfinished traces. A signal handler calls it, and ends the program while it holds
/// the guard that is returned: until then no file can get its final name.
pub fn abandon_unfinished() -> impl Drop {
    let mut paths = unfinished();
    for path in paths.drain(..) {
        // The program ends: there is no way to report a file that cannot be removed.
        let _ = std::fs::remove_file(path);
    }
    paths
}

enum Target {
    Replacing(NamedTempFile),
    InPlace(File),
    Stdout(io::Stdout),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Replacing(file) => file.as_file_mut().write(bytes),
            Self::InPlace(file) => file.write(bytes),
            Self::Stdout(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Replacing(file) => file.as_file_mut().flush(),
            Self::InPlace(file) => file.flush(),
            Self::Stdout(out) => out.flush(),
        }
    }
}

/// A trace file that is being written.
pub struct OutFile {
    path: PathBuf,
    target: BufWriter<Target>,
}

impl OutFile {
    /// A file that will stand at `path`; `-` is standard output.
    ///
    /// # Errors
    /// Its directory is missing or may not be written, or `path` is a directory.
    pub fn create(path: &Path) -> Result<Self, TraceError> {
        if path == Path::new("-") {
            return Ok(Self::stdout());
        }
        let fault = |source| TraceError::File { path: path.to_path_buf(), source };
        let target = match std::fs::metadata(path) {
            Ok(there) if there.is_dir() => return Err(fault(io::ErrorKind::IsADirectory.into())),
            // Only a directory can have such a name.
            Err(_) if path.as_os_str().as_encoded_bytes().ends_with(b"/") => {
                return Err(fault(io::ErrorKind::IsADirectory.into()));
            }
            Ok(there) if !there.is_file() => {
                Target::InPlace(File::options().write(true).open(path).map_err(fault)?)
            }
            _ => Target::Replacing(temporary(path).map_err(fault)?),
        };
        Ok(Self::buffered(path.to_path_buf(), target))
    }

    /// As [`OutFile::create`], for a format that goes back to fill in lengths.
    ///
    /// # Errors
    /// As for `create`, and if `path` is a pipe or device.
    pub fn create_seekable(path: &Path) -> Result<Self, TraceError> {
        let file = Self::create(path)?;
        match file.target.get_ref() {
            Target::Replacing(_) => Ok(file),
            _ => Err(TraceError::NotRegular { path: file.path.clone() }),
        }
    }

    /// Standard output.
    pub fn stdout() -> Self {
        Self::buffered(PathBuf::from("standard output"), Target::Stdout(io::stdout()))
    }

    fn buffered(path: PathBuf, target: Target) -> Self {
        Self { path, target: BufWriter::with_capacity(BUFFER_BYTES, target) }
    }

    /// An unnamed file beside this one, gone with the program.
    ///
    /// # Errors
    /// The directory may not be written.
    pub fn scratch(&self) -> Result<File, TraceError> {
        tempfile::tempfile_in(directory(&self.path)).map_err(|e| self.fault(e))
    }

    /// An error of the system as one of this file.
    pub fn fault(&self, source: io::Error) -> TraceError {
        match self.target.get_ref() {
            Target::Stdout(_) if source.kind() == io::ErrorKind::BrokenPipe => {
                TraceError::ReaderGone
            }
            _ => TraceError::File { path: self.path.clone(), source },
        }
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// The error of the system.
    pub fn put(&mut self, bytes: &[u8]) -> Result<(), TraceError> {
        self.target.write_all(bytes).map_err(|e| self.fault(e))
    }

    /// Goes to a place of a seekable file.
    ///
    /// # Errors
    /// The error of the system.
    pub fn seek(&mut self, to: u64) -> Result<(), TraceError> {
        let done = self.target.flush().and_then(|()| match self.target.get_mut() {
            Target::Replacing(file) => file.as_file_mut().seek(SeekFrom::Start(to)),
            _ => Err(io::ErrorKind::NotSeekable.into()),
        });
        done.map(drop).map_err(|e| self.fault(e))
    }

    /// Makes the complete file visible.
    ///
    /// # Errors
    /// The error of the system; the old file, if there was one, is then still there.
    pub fn publish(mut self) -> Result<(), TraceError> {
        self.target.flush().map_err(|e| self.fault(e))?;
        let path = self.path.clone();
        let fault = |source| TraceError::File { path: path.clone(), source };
        let (target, _) = self.target.into_parts();
        let Target::Replacing(file) = target else {
            return Ok(());
        };
        file.as_file().sync_all().map_err(fault)?;
        // Held over the renaming: a signal handler finds the file either unfinished or published.
        let mut unfinished = unfinished();
        let temporary = file.path().to_path_buf();
        file.persist(&path).map_err(|e| fault(e.error))?;
        unfinished.retain(|p| *p != temporary);
        Ok(())
    }
}

fn directory(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// A temporary file beside `path`, with the permissions that any new file gets.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".schedlab-");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // The default is 0600; with 0666 the user's umask decides, as for other new files.
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    // A missing directory is reported without the temporary file's name.
    std::fs::metadata(directory(path))?;
    let mut unfinished = unfinished();
    // Not with the name of the temporary file, which nobody asked for.
    let file = builder.tempfile_in(directory(path)).map_err(|e| io::Error::from(e.kind()))?;
    unfinished.push(file.path().to_path_buf());
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(dir: &Path) -> Vec<String> {
        let entries = std::fs::read_dir(dir).unwrap();
        entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_appears_when_it_is_complete() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        let mut file = OutFile::create_seekable(&path).unwrap();
        file.put(b"????, world").unwrap();
        assert!(!path.exists());
        file.seek(0).unwrap();
        file.put(b"Good").unwrap();
        file.publish().unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"Good, world");
        assert_eq!(names(dir.path()), ["trace"]);
    }

    #[test]
    fn an_abandoned_file_leaves_nothing_and_the_old_one_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("trace");
        std::fs::write(&path, "old").unwrap();
        let mut dropped = OutFile::create(&path).unwrap();
        dropped.put(b"new").unwrap();
        drop(dropped);
        assert_eq!(names(dir.path()), ["trace"]);
        assert_eq!(std::fs::read(&path).unwrap(), b"old");
    }

    #[test]
    fn places_that_cannot_be_written_are_named() {
        let dir = tempfile::tempdir().unwrap();
        let message = |path: &Path| OutFile::create(path).map(drop).unwrap_err().to_string();
        assert!(message(dir.path()).ends_with("is a directory"), "{}", message(dir.path()));
        let missing = dir.path().join("no/such");
        assert!(message(&missing).contains("no/such: "), "{}", message(&missing));
    }

    #[test]
    fn a_dash_is_standard_output() {
        assert!(matches!(
            OutFile::create(Path::new("-")).unwrap().target.get_ref(),
            Target::Stdout(_)
        ));
        let refused = OutFile::create_seekable(Path::new("-")).map(drop).unwrap_err();
        assert!(refused.to_string().contains("regular file"));
        assert!(!Path::new("-").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_in_place() {
        let null = Path::new("/dev/null");
        let mut file = OutFile::create(null).unwrap();
        file.put(b"away").unwrap();
        file.publish().unwrap();
        assert!(!std::fs::metadata(null).unwrap().is_file());
        let refused = OutFile::create_seekable(null).map(drop).unwrap_err();
        assert!(refused.to_string().contains("regular file"));
    }
}

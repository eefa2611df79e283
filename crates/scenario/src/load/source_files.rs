//! Where a scenario and the files that it names are read from: the disk, or copies of them.

use std::fs::File;
use std::io::{ErrorKind, Result};
use std::path::Path;

/// Files by their paths. What comes with the program is not asked for here.
pub trait Files {
    /// Opens a file.
    ///
    /// # Errors
    /// It is not there, or cannot be read.
    fn open(&self, path: &Path) -> Result<File>;

    /// True if there is such a file, which is no directory.
    fn is_there(&self, path: &Path) -> bool;

    /// True if it is neither a pipe nor a device, so that it can be looked at twice.
    fn is_regular(&self, path: &Path) -> bool;
}

/// The files of this computer.
pub struct Disk;

impl Files for Disk {
    /// A FIFO in a directory is refused, since nobody may ever write to it, and so are devices; a
    /// pipe that is there already, as /dev/stdin or a shell's `<(...)`, has no such name.
    fn open(&self, path: &Path) -> Result<File> {
        let kind = std::fs::metadata(path)?.file_type();
        if kind.is_dir() {
            return Err(ErrorKind::IsADirectory.into());
        }
        if !kind.is_file() && std::fs::canonicalize(path).is_ok() {
            return Err(std::io::Error::other("it is a device or a FIFO, not a file"));
        }
        File::open(path)
    }

    fn is_there(&self, path: &Path) -> bool {
        path.exists() && !path.is_dir()
    }

    fn is_regular(&self, path: &Path) -> bool {
        path.is_file()
    }
}

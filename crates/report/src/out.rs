//! Writing results to files: all of them or none, never half of one.
//!
//! Everything is put together in memory first, then written to temporary files beside the targets,
//! then renamed over them. A full disk is noticed before the first rename. [`uninterrupted`] lets
//! a signal handler wait for that short moment. Pipes and devices are written in place.

use scenario::glue;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

/// Why files could not be written.
#[derive(Debug, thiserror::Error)]
pub enum OutError {
    /// The directory cannot be made, or is not one.
    #[error("cannot use {dir} as output directory: {source}")]
    Directory {
        /// The directory.
        dir: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The directory of a file is missing.
    #[error("cannot write {path}: there is no directory {}", dir.display())]
    NoDirectory {
        /// The file.
        path: PathBuf,
        /// Its directory.
        dir: PathBuf,
    },
    /// A file is there already, and must not be replaced.
    #[error("{path} is there already: choose another name, or remove it")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("cannot write {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// Any number of writers, or one that ends the program.
static WRITING: RwLock<()> = RwLock::new(());

/// What temporary files are called, to begin with.
pub(crate) const TEMPORARY: &str = ".schedlab-";

/// Waits until no file is being written. A signal handler that takes it before it ends the program
/// leaves no temporary file behind.
pub fn uninterrupted() -> RwLockWriteGuard<'static, ()> {
    WRITING.write().unwrap_or_else(PoisonError::into_inner)
}

/// Held while files are written; not twice by one thread.
pub(crate) fn writing() -> RwLockReadGuard<'static, ()> {
    WRITING.read().unwrap_or_else(PoisonError::into_inner)
}

/// True for the name of a temporary file of this program.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.starts_with(TEMPORARY)
}

/// Makes the directory if it is missing, and checks that files can be made in it.
pub fn prepare(dir: &Path) -> Result<(), OutError> {
    let _guard = writing();
    let fault = |source| OutError::Directory { dir: dir.to_path_buf(), source };
    std::fs::create_dir_all(dir).map_err(|e| match e.kind() {
        std::io::ErrorKind::AlreadyExists => fault(std::io::ErrorKind::NotADirectory.into()),
        _ => fault(e),
    })?;
    temporary(dir).map(drop).map_err(fault)
}

/// Checks that a file can be made there, before hours are spent on what it shall hold.
///
/// # Errors
/// Its directory is missing, or cannot be written to.
pub fn check_file(path: &Path) -> Result<(), OutError> {
    let _guard = writing();
    let dir = dir_of(path);
    if !dir.is_dir() {
        return Err(OutError::NoDirectory { path: path.to_path_buf(), dir: dir.to_path_buf() });
    }
    let fault = |source| OutError::File { path: path.to_path_buf(), source };
    if path.is_dir() || ends_in_slash(path) {
        return Err(fault(std::io::ErrorKind::IsADirectory.into()));
    }
    if is_special(path) {
        return Ok(());
    }
    temporary(dir).map(drop).map_err(fault)
}

/// The directory that a file is in.
pub(crate) fn dir_of(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if !dir.as_os_str().is_empty() => dir,
        _ => Path::new("."),
    }
}

/// True for a name that only a directory can have.
fn ends_in_slash(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(b"/")
}

/// True for a pipe or a device, which is written in place: a file must not replace it.
fn is_special(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Removes a file, if it is there.
pub(crate) fn remove(path: &Path) -> Result<(), OutError> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(OutError::File { path: path.to_path_buf(), source })
        }
        _ => Ok(()),
    }
}

/// Writes one file, whole or not at all; a pipe or a device is written as it is.
pub fn write_file(path: &Path, content: &str) -> Result<(), OutError> {
    let dir = dir_of(path);
    let fault = |source| OutError::File { path: path.to_path_buf(), source };
    if is_special(path) {
        // Without the guard: a pipe may wait for its reader as long as it likes.
        let mut file = std::fs::File::options().write(true).open(path).map_err(fault)?;
        return file.write_all(content.as_bytes()).map_err(fault);
    }
    if ends_in_slash(path) {
        return Err(fault(std::io::ErrorKind::IsADirectory.into()));
    }
    let name = path.file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| fault(std::io::ErrorKind::InvalidFilename.into()))?;
    // The file's name in messages is the one that was asked for.
    write_all(dir, &[(name, text(content))]).map(drop).map_err(|error| match error {
        OutError::File { source, .. } => fault(source),
        other => other,
    })
}

/// Writes a text.
pub(crate) fn text(content: &str) -> Fill<'_> {
    Box::new(|to| to.write_all(content.as_bytes()))
}

/// Writes a file that is not there yet, whole or not at all.
///
/// # Errors
/// It is there, or cannot be written.
pub fn write_new(path: &Path, content: &str) -> Result<(), OutError> {
    let _guard = writing();
    let dir = dir_of(path);
    if !dir.is_dir() {
        return Err(OutError::NoDirectory { path: path.to_path_buf(), dir: dir.to_path_buf() });
    }
    let fault = |source| OutError::File { path: path.to_path_buf(), source };
    let staged = stage(dir, content.as_bytes()).map_err(fault)?;
    staged.persist_noclobber(path).map(drop).map_err(|e| match e.error.kind() {
        std::io::ErrorKind::AlreadyExists => OutError::Exists { path: path.to_path_buf() },
        _ => fault(e.error),
    })
}

/// Makes a directory that `fill` fills; it must not be there yet, or be empty.
pub fn write_dir(
    dir: &Path,
    fill: impl FnOnce(&Path) -> std::io::Result<()>,
) -> Result<(), OutError> {
    let _guard = writing();
    let fault = |source| OutError::Directory { dir: dir.to_path_buf(), source };
    let parent = dir.parent().filter(|dir| !dir.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o777));
    }
    let staged =
        builder.tempdir_in(parent.unwrap_or(Path::new("."))).map_err(|e| fault(unnamed(&e)))?;
    fill(staged.path()).map_err(|source| OutError::File { path: dir.to_path_buf(), source })?;
    // A rename replaces an empty directory and nothing else.
    std::fs::rename(staged.path(), dir).map_err(fault)?;
    let _ = staged.keep();
    Ok(())
}

/// Writes a machine as a tree like `/sys`; `stem` names the machine file in it.
pub fn write_sysfs(machine: &glue::Machine, stem: &str, dir: &Path) -> Result<(), OutError> {
    write_dir(dir, |root| {
        glue::export_sysfs(machine, stem, |path, entry| {
            let path = root.join(path);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            match entry {
                glue::Entry::File(text) => std::fs::write(path, text),
                glue::Entry::Link(target) => link(target, &path),
            }
        })
    })
}

#[cfg(unix)]
fn link(target: &str, path: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(target, path)
}

/// Tools look only for the name of the link.
#[cfg(not(unix))]
fn link(_: &str, path: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(path)
}

/// What writes the content of a file.
pub(crate) type Fill<'a> = Box<dyn Fn(&mut dyn Write) -> std::io::Result<()> + 'a>;

/// Writes several files, all or none.
pub(crate) fn write_all(dir: &Path, files: &[(&str, Fill<'_>)]) -> Result<Vec<PathBuf>, OutError> {
    let _guard = writing();
    let mut staged = Vec::new();
    for (name, fill) in files {
        let path = dir.join(name);
        if !dir.is_dir() {
            return Err(OutError::NoDirectory { path, dir: dir.to_path_buf() });
        }
        let file = stage_with(dir, fill)
            .map_err(|source| OutError::File { path: path.clone(), source })?;
        staged.push((path, file));
    }
    let mut written = Vec::new();
    for (path, file) in staged {
        let failed = |e: tempfile::PersistError| e.error;
        file.persist(&path)
            .map_err(failed)
            .map_err(|source| OutError::File { path: path.clone(), source })?;
        written.push(path);
    }
    Ok(written)
}

/// An error without the name of the temporary file, which nobody asked for.
fn unnamed(error: &std::io::Error) -> std::io::Error {
    error.kind().into()
}

/// A temporary file with the content.
pub(crate) fn stage(dir: &Path, content: &[u8]) -> std::io::Result<tempfile::NamedTempFile> {
    stage_with(dir, |to| to.write_all(content))
}

/// An empty temporary file, with the permissions that any new file gets.
pub(crate) fn temporary(dir: &Path) -> std::io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(TEMPORARY);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        builder.permissions(std::fs::Permissions::from_mode(0o666));
    }
    builder.tempfile_in(dir).map_err(|e| unnamed(&e))
}

/// A temporary file that is filled.
fn stage_with(
    dir: &Path,
    fill: impl Fn(&mut dyn Write) -> std::io::Result<()>,
) -> std::io::Result<tempfile::NamedTempFile> {
    let file = temporary(dir)?;
    // Not through `file` itself: its errors would name the temporary file, too.
    let mut writer = BufWriter::new(file.as_file());
    fill(&mut writer)?;
    writer.flush()?;
    drop(writer);
    file.as_file().sync_all()?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_replaced_whole_and_nothing_else_is_left() {
        let dir = tempfile::tempdir().unwrap();
        write_all(dir.path(), &[("a", text("one"))]).unwrap();
        write_all(dir.path(), &[("a", text("two")), ("b", text("three"))]).unwrap();
        let mut names: Vec<_> =
            std::fs::read_dir(dir.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(std::fs::read_to_string(dir.path().join("a")).unwrap(), "two");
    }

    #[test]
    fn a_directory_is_made_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("tree");
        write_dir(&target, |dir| std::fs::write(dir.join("a"), "one")).unwrap();
        assert_eq!(std::fs::read_to_string(target.join("a")).unwrap(), "one");
        assert!(write_dir(&target, |_| Ok(())).is_err());
        let full = || std::io::Error::other("the disk is full");
        assert!(write_dir(&dir.path().join("other"), |_| Err(full())).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_directory_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("machines");
        let said = write_file(&missing.join("a.toml"), "").unwrap_err().to_string();
        assert!(said.ends_with(&format!("there is no directory {}", missing.display())), "{said}");
    }

    #[test]
    fn a_file_is_no_directory() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        std::fs::write(&file, "").unwrap();
        assert!(prepare(&file).is_err());
    }
}

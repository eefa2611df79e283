//! Files that may be recordings: opened, and told by how they begin.

use super::source_files::Files;
use crate::glue::{ReadSeek, RecordingFile, RecordingFormat};
use crate::shipped;
use std::io::{Cursor, Result};
use std::path::Path;

/// Opens a recording, or one that comes with the program.
pub(crate) fn open_recording(
    files: &dyn Files,
    path: &Path,
) -> Result<RecordingFile<Box<dyn ReadSeek>>> {
    let file: Box<dyn ReadSeek> = match shipped::text(path) {
        Some(text) => Box::new(Cursor::new(text)),
        None => Box::new(files.open(path)?),
    };
    RecordingFile::new(file)
}

/// True if a file is a recording in perf's own format.
pub(crate) fn is_perf_data(files: &dyn Files, path: &Path) -> bool {
    recording_format(files, path) == RecordingFormat::PerfData
}

/// True if a file is a recording in a format of binary files.
pub(super) fn is_recording(files: &dyn Files, path: &Path) -> bool {
    recording_format(files, path) != RecordingFormat::Text
}

/// The format of a file, if it is a recording.
pub(crate) fn recording_format(files: &dyn Files, path: &Path) -> RecordingFormat {
    // Nobody may ever write to a FIFO: it would be waited for here.
    if !files.is_regular(path) {
        return RecordingFormat::Text;
    }
    // What cannot be opened is told where it is read.
    open_recording(files, path).map_or(RecordingFormat::Text, |file| file.format())
}

//! `schedlab init`: a scenario to begin with.

use crate::output::{Stop, remark};
use std::path::{Path, PathBuf};

/// Writes `NAME.toml`, which must not be there yet.
pub fn init(name: &Path) -> Result<(), Stop> {
    let file = file(name);
    let stem = file.file_stem().and_then(|stem| stem.to_str()).filter(|stem| is_plain(stem));
    let Some(stem) = stem else {
        let message = format!("`{}` is no name for a scenario", name.display());
        let hint = "letters, digits, `-`, `_` and `.` will do";
        return Err(Stop::BadInput(format!("{message}: {hint}")));
    };
    let text = scenario::shipped::template(stem);
    report::out::write_new(&file, &text).map_err(|e| Stop::BadInput(e.to_string()))?;
    remark(&format!("{0} is written; `schedlab {0}` runs it", file.display()));
    Ok(())
}

/// The file of that name; `my` and `my.toml` mean the same.
fn file(name: &Path) -> PathBuf {
    match name.extension() {
        Some(extension) if extension == "toml" => name.to_path_buf(),
        _ => PathBuf::from(format!("{}.toml", name.display())),
    }
}

/// True for names that need no quotes in a shell, nor in TOML.
fn is_plain(stem: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    !stem.starts_with(['-', '.']) && stem.chars().all(plain)
}

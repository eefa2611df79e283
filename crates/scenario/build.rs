//! Lists the files below `scenarios/`, so that the program has all of them inside.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// Folders of what is no scenario and no part of one: recordings to compare with.
const LEFT_OUT: &str = "recorded";

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let root = here.join("../../scenarios").canonicalize()?;
    println!("cargo::rerun-if-changed={}", root.display());
    let mut list = String::from("&[\n");
    for file in files(&root)? {
        let name = file.strip_prefix(&root).map_err(io::Error::other)?;
        let _ = writeln!(list, "    ({name:?}, include_str!({file:?})),");
    }
    list += "]\n";
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("shipped_files.rs"), list)
}

/// All files below a folder, in order of their paths.
fn files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match path.is_dir() {
            true if path.ends_with(LEFT_OUT) => {}
            true => found.extend(files(&path)?),
            false => found.push(path),
        }
    }
    found.sort_by_key(|file| file.with_extension(""));
    Ok(found)
}

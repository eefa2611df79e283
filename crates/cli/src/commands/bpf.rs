//! `schedlab bpf`: looks at BPF objects, and runs nothing.

use crate::args::Bpf;
use crate::output::{Stop, print};
use bpf::{Object, objects_in};
use scenario::inspect_object;
use std::path::{Path, PathBuf};

/// Does what was asked.
pub fn bpf(command: &Bpf) -> Result<(), Stop> {
    match command {
        Bpf::Inspect { files } => inspect_all(files),
    }
}

fn inspect_all(files: &[PathBuf]) -> Result<(), Stop> {
    let mut parts = Vec::new();
    for file in files {
        parts.extend(inspect_file(file, files.len() > 1)?);
    }
    print(&parts.join("\n"))
}

/// A text for each object in a file.
fn inspect_file(file: &Path, is_one_of_many: bool) -> Result<Vec<String>, Stop> {
    let shown = file.display();
    let bytes = std::fs::read(file)
        .map_err(|error| Stop::BadInput(format!("cannot read {shown}: {error}")))?;
    let objects = objects_in(&bytes);
    if objects.is_empty() {
        return Err(Stop::BadInput(format!("{shown} is no BPF object, and has none inside")));
    }
    let n = objects.len();
    let read = objects.into_iter().zip(1..).map(|(object, number)| {
        let object = Object::read(object).map_err(|e| Stop::BadInput(format!("{shown}: {e}")))?;
        let text = inspect_object(&object);
        Ok(match (is_one_of_many, n) {
            (false, 1) => text,
            (true, 1) => format!("{shown}\n\n{text}"),
            _ => format!("{shown}, object {number} of {n}\n\n{text}"),
        })
    });
    read.collect()
}

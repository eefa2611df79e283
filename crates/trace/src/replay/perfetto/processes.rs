//! Processes and threads as `/proc` had them (`process_tree.proto`).

use super::record::tid;
use super::wire::{Broken, Fields, Value};
use crate::replay::event::Named;
use crate::replay::ftrace::Names;
use std::collections::HashMap;

/// The longest name of a thread that the kernel has.
const COMM_BYTES: usize = 15;

/// Notes what a process tree says: the process of each thread, and its name, if none is known.
pub(super) fn note(
    message: &[u8],
    processes: &mut HashMap<u32, u32>,
    names: &mut Names,
) -> Result<(), &'static str> {
    let broken = |_| "its tree of processes is no sound protobuf";
    for field in Fields::of(message) {
        let (tid, process, comm) = match field.map_err(broken)? {
            (1, Value::Bytes(message)) => process(message).map_err(broken)?,
            (2, Value::Bytes(message)) => thread(message).map_err(broken)?,
            _ => continue,
        };
        let (tid, process) = (self::tid(tid)?, self::tid(process)?);
        processes.entry(tid).or_insert(process);
        if !comm.is_empty() {
            names.set_first(Named { comm, tid });
        }
    }
    Ok(())
}

type Entry<'a> = (i64, i64, &'a [u8]);

/// A process is its first thread. Its name is taken from its command line.
fn process(message: &[u8]) -> Result<Entry<'_>, Broken> {
    let (mut pid, mut comm) = (0, &b""[..]);
    for field in Fields::of(message) {
        match field? {
            (1, Value::Number(number)) => pid = number as i64,
            (3, Value::Bytes(word)) if comm.is_empty() => comm = base_name(word),
            _ => {}
        }
    }
    Ok((pid, pid, comm))
}

fn thread(message: &[u8]) -> Result<Entry<'_>, Broken> {
    let (mut tid, mut process, mut comm) = (0, 0, &b""[..]);
    for field in Fields::of(message) {
        match field? {
            (1, Value::Number(number)) => tid = number as i64,
            (2, Value::Bytes(name)) => comm = name,
            (3, Value::Number(number)) => process = number as i64,
            _ => {}
        }
    }
    Ok((tid, process, comm))
}

/// What `execve` makes of a program's path. Kernel threads have slashes in their names, and no
/// path begins otherwise.
fn base_name(word: &[u8]) -> &[u8] {
    let word = match word.strip_prefix(b"/") {
        Some(path) => path.rsplit(|byte| *byte == b'/').next().unwrap_or_default(),
        None => word,
    };
    &word[..word.len().min(COMM_BYTES)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_by_its_file() {
        let names = ["/usr/bin/make", "make", "kworker/0:1", "/bin/a-name-of-20-letters", ""];
        let short: Vec<_> = names.iter().map(|name| base_name(name.as_bytes())).collect();
        let expected = ["make", "make", "kworker/0:1", "a-name-of-20-le", ""];
        assert_eq!(short, expected.map(str::as_bytes));
    }
}

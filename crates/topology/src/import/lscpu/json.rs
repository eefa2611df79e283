//! `lscpu -J -e`: an array `cpus` with an object for each CPU.
//!
//! Values may be numbers, strings (before util-linux 2.37 all are) or `true`. lscpu 2.38 prints a
//! bare `-` for what it does not know, which is no JSON; it is read as nothing.

use super::row::Row;
use input::Fault;
use serde_json::value::RawValue;
use std::collections::BTreeMap;

pub(super) fn rows(text: &str) -> Result<Vec<Row<'_>>, Fault> {
    let clean = without_bare_dashes(text);
    let place = |raw: &RawValue| {
        // A raw value is a part of the text that was parsed.
        let start = raw.get().as_ptr() as usize - clean.as_ptr() as usize;
        start..start + raw.get().len()
    };
    let syntax = |e: serde_json::Error| broken(text, &e);
    let top: BTreeMap<String, &RawValue> = serde_json::from_str(&clean).map_err(syntax)?;
    let Some(cpus) = top.get("cpus") else {
        let is_summary = top.contains_key("lscpu");
        let message = match is_summary {
            true => "this is lscpu's summary: it does not tell which CPUs share what",
            false => "there is no list `cpus` in it",
        };
        let fault = Fault::whole(message);
        return Err(fault.help("write it with `lscpu -J -e`"));
    };
    let list: Result<Vec<&RawValue>, _> = serde_json::from_str(cpus.get());
    let list = list.map_err(|_| Fault::at(place(cpus), "`cpus` must be a list of objects"))?;
    let mut rows = Vec::new();
    for cpu in list {
        let span = place(cpu);
        let cells: Result<BTreeMap<String, &RawValue>, _> = serde_json::from_str(cpu.get());
        let cells = cells.map_err(|_| Fault::at(span.clone(), "a CPU must be an object"))?;
        let cells = cells.into_iter().map(|(column, raw)| {
            let value = place(raw);
            let quotes = usize::from(raw.get().starts_with('"'));
            let value = value.start + quotes..value.end - quotes;
            (column, text.get(value.clone()).unwrap_or_default(), value.start)
        });
        rows.push(Row::new(span, cells.collect::<Vec<_>>()));
    }
    Ok(rows)
}

/// The text with each ` -` that stands for a value replaced by `""`, which is as long.
fn without_bare_dashes(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut clean = String::with_capacity(text.len());
    let (mut in_string, mut escaped) = (false, false);
    let mut kept = 0;
    for (i, byte) in bytes.iter().enumerate() {
        match byte {
            b'"' if !escaped => in_string = !in_string,
            b'-' if !in_string && i > kept && bytes[i - 1] == b' ' => {
                let next = bytes.get(i + 1);
                if next.is_none_or(|b| matches!(b, b',' | b'}' | b'\n' | b'\r' | b' ')) {
                    clean.push_str(&text[kept..i - 1]);
                    clean.push_str("\"\"");
                    kept = i + 1;
                }
            }
            _ => {}
        }
        escaped = in_string && *byte == b'\\' && !escaped;
    }
    clean + &text[kept..]
}

fn broken(text: &str, error: &serde_json::Error) -> Fault {
    let line_start: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let at = (line_start + error.column().saturating_sub(1)).min(text.len());
    let message = match error.is_eof() {
        true => "the file is cut off: a list or an object is still open".to_owned(),
        false => {
            let words = error.to_string();
            let words = words.split(" at line ").next().unwrap_or_default();
            format!("this is no JSON: {words}")
        }
    };
    Fault::at(at..at, message)
}

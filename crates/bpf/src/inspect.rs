//! What an object has and wants, and what of that is known here: for people, as text.

use crate::core_relo;
use crate::native;
use crate::object::{Extern, Object};
use std::collections::BTreeSet;
use std::fmt::Write;

/// What the host supplies beside this crate, by name: empty if nobody is asked.
#[derive(Clone, Debug, Default)]
pub struct Known {
    /// Kfuncs and variables.
    pub names: BTreeSet<String>,
    /// Helpers.
    pub helpers: BTreeSet<u32>,
}

impl Known {
    fn has(&self, symbol: &Extern) -> bool {
        let name = crate::types::essential(&symbol.name);
        self.names.contains(name) || native::of_function(name).is_some()
    }

    fn has_helper(&self, number: u32) -> bool {
        self.helpers.contains(&number) || native::of_helper(number).is_some()
    }
}

/// A report on an object. What is not known, by this crate or the host, is marked with `-`;
/// a `?` stands behind names that may be missing.
pub fn inspect(object: &Object, known: &Known) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = write(&mut out, object, known);
    out
}

fn write(out: &mut String, object: &Object, known: &Known) -> std::fmt::Result {
    writeln!(out, "license: {}", object.license)?;
    writeln!(out, "\nprograms:")?;
    for (name, section) in object.programs() {
        writeln!(out, "  {name} ({section})")?;
    }
    for ops in &object.struct_ops {
        writeln!(out, "\noperations {} of type {}:", ops.name, ops.type_name)?;
        for member in &ops.members {
            match &member.program {
                Some(program) => writeln!(out, "  {} = {program}", member.name)?,
                None if member.bytes.iter().all(|byte| *byte == 0) => {}
                None if member.bytes.len() > 8 => {
                    writeln!(out, "  {} = {:?}", member.name, member.text())?;
                }
                None => writeln!(out, "  {} = {:#x}", member.name, member.number())?,
            }
        }
    }
    write_maps(out, object)?;
    if !object.helpers().is_empty() {
        writeln!(out, "\nhelpers:")?;
    }
    for number in object.helpers() {
        let mark = if known.has_helper(number) { ' ' } else { '-' };
        writeln!(out, "{mark} {} ({number})", native::helper_name(number))?;
    }
    for (title, functions) in [("functions", true), ("variables and options", false)] {
        let own = || object.externs().iter().filter(|e| e.is_function == functions);
        if own().next().is_some() {
            writeln!(out, "\n{title} of the kernel:")?;
        }
        for symbol in own() {
            let mark = if known.has(symbol) { ' ' } else { '-' };
            let weak = if symbol.is_weak { "?" } else { "" };
            writeln!(out, "{mark} {}{weak}", symbol.name)?;
        }
    }
    write_core(out, object)?;
    let is_unknown = |e: &&Extern| !known.has(e);
    let lacks_helper = object.helpers().iter().any(|helper| !known.has_helper(*helper));
    if lacks_helper || object.externs().iter().any(|e| is_unknown(&e)) {
        writeln!(out, "\n-: not known here; ?: a kernel may lack it")?;
    }
    Ok(())
}

fn write_maps(out: &mut String, object: &Object) -> std::fmt::Result {
    if !object.maps.is_empty() {
        writeln!(out, "\nmaps:")?;
    }
    for map in &object.maps {
        let sizes = format!("{} -> {} bytes", map.key_size, map.value_size);
        let n = map.max_entries;
        writeln!(out, "  {} {:?}, {sizes}, {n} entries", map.name, map.kind)?;
    }
    if object.sections().next().is_some() {
        writeln!(out, "\nvariables:")?;
    }
    for (name, kind, len) in object.sections() {
        writeln!(out, "  {name} {kind:?}, {len} bytes")?;
    }
    Ok(())
}

/// Each relocation against the kernel's types once.
fn write_core(out: &mut String, object: &Object) -> std::fmt::Result {
    let all = object.core.iter();
    let named = all.map(|r| core_relo::describe(&object.btf, r.type_id, &r.access, r.kind));
    let named: BTreeSet<String> = named.collect();
    if !named.is_empty() {
        writeln!(out, "\nof the kernel's types:")?;
    }
    named.iter().try_for_each(|name| writeln!(out, "  {name}"))
}

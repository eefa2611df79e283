//! Collapsed stacks: one line per call chain, `comm;function;...;function count`, the count in ns.
//! What `stackcollapse-perf.pl` and `inferno-collapse-perf` write and flame graphs are made of.

use scenario::Profile;
use std::fmt::Write;

/// The profile as collapsed stacks, in alphabetical order.
pub fn folded(profile: &Profile) -> String {
    let mut out = String::new();
    for stack in &profile.stacks {
        // A frame must not contain the separators of the format.
        out.extend(stack.comm.chars().map(|c| if c == ';' || c.is_whitespace() { '_' } else { c }));
        for function in &stack.functions {
            let _ = write!(out, ";{function}");
        }
        let _ = writeln!(out, " {}", stack.ns);
    }
    out
}

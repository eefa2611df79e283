//! Puts many mutants of cargo-mutants into the sources at once, each behind a switch, so that all
//! are compiled together, and a run of the tests chooses one by the variable `MUTANT`.
//!
//! `mutants-at-once MUTANTS.json < NUMBERS`, in a copy of the tree: MUTANTS.json is what `cargo
//! mutants --list --json` says, NUMBERS are those of the list that are wanted. What it writes has
//! comments `/*<7*/ … /*>7*/` around mutant 7, so that an error of the compiler has an owner.
//! Numbers of mutants that cannot be written behind a switch are printed.

mod places;

use std::collections::BTreeMap;
use std::ops::Range;

use places::Places;
use serde::Deserialize;

#[derive(Deserialize)]
struct Mutant {
    file: String,
    genre: String,
    replacement: String,
    span: Span,
}

#[derive(Deserialize)]
struct Span {
    start: Point,
    end: Point,
}

/// Both are counted from 1.
#[derive(Clone, Copy, Deserialize)]
pub struct Point {
    line: usize,
    column: usize,
}

/// One mutant in a file: what stands at `range` becomes `before`, the mutated text, `after`, the
/// text as it was, `end`.
struct Edit {
    number: usize,
    range: Range<usize>,
    /// The mutated text: parts of the file, with nothing or something between them.
    mutated: Mutated,
}

enum Mutated {
    /// The function returns this at once.
    Return(String),
    /// Operands with another operator, or none, in its place.
    Operator(Range<usize>, String),
    /// Another expression.
    Value(String),
    /// A match arm that never matches; whether it has a guard already.
    NoArm { guarded: bool },
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let list = std::env::args().nth(1).ok_or("which list of mutants?")?;
    let mutants: Vec<Mutant> = serde_json::from_str(&std::fs::read_to_string(list)?)?;
    let wanted = std::io::read_to_string(std::io::stdin())?;
    let mut files: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for number in wanted.split_whitespace() {
        let number: usize = number.parse()?;
        files.entry(&mutants[number].file).or_default().push(number);
    }
    for (file, numbers) in files {
        let text = std::fs::read_to_string(file)?;
        let places = Places::of(&text)?;
        let mut edits = Vec::new();
        for number in numbers {
            match edit(&places, number, &mutants[number]) {
                Some(edit) => edits.push(edit),
                None => println!("{number}"),
            }
        }
        // What comes before an expression, then the outer expression, then those in it.
        edits.sort_by_key(|edit| {
            let Range { start, end } = edit.range;
            (start, start != end, std::cmp::Reverse(end))
        });
        let edits: Vec<&Edit> = edits.iter().collect();
        std::fs::write(file, render(&text, 0..text.len(), &edits))?;
    }
    Ok(())
}

fn edit(places: &Places<'_>, number: usize, mutant: &Mutant) -> Option<Edit> {
    let at = places.offset(mutant.span.start);
    let span = at..places.offset(mutant.span.end);
    let replacement = mutant.replacement.clone();
    let (range, mutated) = match mutant.genre.as_str() {
        "FnValue" => (at..at, Mutated::Return(replacement)),
        "BinaryOperator" | "UnaryOperator" => {
            (places.operation(at)?, Mutated::Operator(span, replacement))
        }
        "MatchArmGuard" => (span, Mutated::Value(replacement)),
        "MatchArm" => {
            let (range, guarded) = places.guard(at)?;
            (range, Mutated::NoArm { guarded })
        }
        "StructField" => {
            let (range, default) = places.field(at)?;
            (range, Mutated::Value(default))
        }
        _ => return None,
    };
    Some(Edit { number, range, mutated })
}

/// The text at `range` with all `edits`, which lie in it.
fn render(text: &str, range: Range<usize>, edits: &[&Edit]) -> String {
    let mut out = String::new();
    let mut at = range.start;
    let mut rest = edits;
    while let Some(first) = rest.first() {
        let place = first.range.clone();
        // Those at the same place, then those in it.
        let same = rest.iter().take_while(|edit| edit.range == place).count();
        let inside = rest[same..].iter().take_while(|edit| edit.range.end <= place.end).count();
        out += &text[at..place.start];
        out += &switches(text, &rest[..same], &rest[same..same + inside]);
        at = place.end;
        rest = &rest[same + inside..];
    }
    out += &text[at..range.end];
    out
}

/// All mutants of one place.
fn switches(text: &str, edits: &[&Edit], inside: &[&Edit]) -> String {
    let place = edits[0].range.clone();
    let within = |range: Range<usize>| {
        let edits: Vec<&Edit> = inside
            .iter()
            .copied()
            .filter(|edit| edit.range.start >= range.start && edit.range.end <= range.end)
            .collect();
        render(text, range, &edits)
    };
    let mut is = within(place.clone());
    for edit in edits {
        let n = edit.number;
        let on = format!("crate::mutant({n})");
        let either = |mutated: &str| format!("(if {on} {{ {mutated} }} else {{ {is} }})");
        let switched = match &edit.mutated {
            Mutated::Return(value) => format!("if {on} {{ return {value}; }} {is}"),
            Mutated::Operator(operator, other) => {
                let (left, right) =
                    (within(place.start..operator.start), within(operator.end..place.end));
                either(&format!("{left}{other}{right}"))
            }
            Mutated::Value(value) => either(value),
            Mutated::NoArm { guarded: true } => format!("!{on} && ({is})"),
            Mutated::NoArm { guarded: false } => format!(" if !{on} {is}"),
        };
        is = format!("/*<{n}*/{switched}/*>{n}*/");
    }
    is
}

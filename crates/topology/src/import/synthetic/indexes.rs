//! `indexes=`: which numbers the parts of a level have.
//!
//! A list (`0,2,1,3`) gives them in order. Loops `step*count:step*count` count the numbers up
//! while they walk over the parts: the first loop takes `count` parts that are `step` apart, the
//! next one repeats that from a start `step` further, and so on; a loop over neighbors may be left
//! out at the end. Names of levels (`node:core`) are such loops, one round over the parts of each.

use super::parse::{Kind, Level, kind};
use crate::import::runs::{items, number};
use input::Fault;
use std::collections::BTreeSet;
use std::ops::Range;

/// The remedy where nothing better is known.
pub(super) const FORMS: &str =
    "a number for each part `0,2,1,3`, loops of step and count `2*4:1*2`, or levels `core:pack`";

#[derive(Debug)]
pub(super) struct Indexes {
    span: Range<usize>,
    form: Form,
}

#[derive(Debug)]
enum Form {
    List(Vec<u32>),
    Loops(Vec<Loop>),
    Levels(Vec<(Kind, Range<usize>)>),
}

#[derive(Clone, Copy, Debug)]
struct Loop {
    step: u64,
    count: u64,
}

impl Indexes {
    /// Reads the value that lies at a place.
    pub fn parse(text: &str, span: Range<usize>) -> Result<Self, Fault> {
        let form = Self::form(text, &span).map_err(|fault| fault.or_help(FORMS))?;
        Ok(Self { span, form })
    }

    fn form(text: &str, span: &Range<usize>) -> Result<Form, Fault> {
        let value = &text[span.clone()];
        let place = |at: usize, part: &str| span.start + at..span.start + at + part.len();
        Ok(if value.starts_with(|c: char| c.is_ascii_alphabetic()) {
            let levels = items(value, ':').into_iter().map(|(at, name)| {
                let unknown = || Fault::at(place(at, name), format!("`{name}` is no kind of part"));
                Ok((kind(name).ok_or_else(unknown)?, place(at, name)))
            });
            Form::Levels(levels.collect::<Result<_, _>>()?)
        } else if value.contains('*') {
            let loops = items(value, ':').into_iter().map(|(at, part)| {
                let (step, count) = part.split_once('*').unwrap_or((part, ""));
                let step = u64::from(number(step, &place(at, part))?);
                let count = u64::from(number(count, &place(at, part))?);
                if step == 0 || count == 0 {
                    return Err(Fault::at(place(at, part), "a loop of 0"));
                }
                Ok(Loop { step, count })
            });
            Form::Loops(loops.collect::<Result<_, _>>()?)
        } else {
            let list = items(value, ',').into_iter().map(|(at, n)| number(n, &place(at, n)));
            Form::List(list.collect::<Result<_, _>>()?)
        })
    }

    /// The number of each part of a level.
    pub fn numbers(
        &self,
        levels: &[Level],
        widths: &[u32],
        level: usize,
    ) -> Result<Vec<u32>, Fault> {
        let n_parts = widths[level];
        let numbers = match &self.form {
            Form::List(list) => self.check_list(list, n_parts),
            Form::Loops(loops) => self.count(loops.clone(), n_parts),
            Form::Levels(names) => level_loops(names, levels, widths, level)
                .and_then(|loops| self.count(loops, n_parts)),
        };
        numbers.map_err(|fault| fault.or_help(FORMS))
    }

    fn check_list(&self, list: &[u32], n_parts: u32) -> Result<Vec<u32>, Fault> {
        if list.len() != n_parts as usize {
            let message = format!("{} numbers for {n_parts} parts", list.len());
            return Err(Fault::at(self.span.clone(), message));
        }
        let mut known = BTreeSet::new();
        if let Some(twice) = list.iter().find(|n| !known.insert(**n)) {
            return Err(Fault::at(self.span.clone(), format!("{twice} is there twice")));
        }
        Ok(list.to_vec())
    }

    fn count(&self, mut loops: Vec<Loop>, n_parts: u32) -> Result<Vec<u32>, Fault> {
        let fault = |message: String| Err(Fault::at(self.span.clone(), message));
        let total = u64::from(n_parts);
        let counted = loops.iter().fold(1u64, |n, l| n.saturating_mul(l.count));
        let smallest = loops.iter().map(|l| l.step).min().unwrap_or(1);
        if counted != total {
            let is_last_missing = counted < total && smallest * counted == total;
            if !is_last_missing {
                return fault(format!("the loops number {counted} PUs of {total}"));
            }
            loops.push(Loop { step: 1, count: total / counted });
        }
        let mut numbers = vec![0u64; n_parts as usize];
        let mut stride = 1;
        for Loop { step, count } in loops {
            for (part, number) in numbers.iter_mut().enumerate() {
                *number += part as u64 / step % count * stride;
            }
            stride *= count;
        }
        let distinct: BTreeSet<u64> = numbers.iter().copied().collect();
        if distinct.len() < numbers.len() {
            return fault("the loops give a number twice".into());
        }
        Ok(numbers.into_iter().map(|n| n as u32).collect())
    }
}

/// One round over the parts of each named level within the next outer one named.
fn level_loops(
    names: &[(Kind, Range<usize>)],
    levels: &[Level],
    widths: &[u32],
    numbered: usize,
) -> Result<Vec<Loop>, Fault> {
    let mut depths = Vec::new();
    for (kind, span) in names {
        let depth = levels.iter().position(|level| level.kind == *kind);
        let depth = depth.filter(|depth| *depth <= numbered);
        depths.push(depth.ok_or_else(|| Fault::at(span.clone(), "there is no such level"))?);
    }
    let width = |depth: usize| u64::from(widths[depth]);
    let loops = depths.iter().map(|depth| {
        let outer = depths.iter().filter(|d| *d < depth).max().copied().unwrap_or(0);
        Loop { step: width(numbered) / width(*depth), count: width(*depth) / width(outer) }
    });
    Ok(loops.collect())
}

//! Switches and wake-ups that are written down in columns (`compact_sched`): each column has a
//! number of every event, times are differences, and names are numbers of a table. Who leaves a CPU
//! and who wakes are not written down: whoever came before.

use super::record::{Record, Task, Told, cpu, prio, tid, time};
use super::wire::{Fields, Value, add_numbers};
use super::words::{Word, Words};
use crate::replay::ftrace;

/// Numbers of the columns.
const SWITCH_AT: usize = 1;
const PREV_STATE: usize = 2;
const NEXT_PID: usize = 3;
const NEXT_PRIO: usize = 4;
const NAMES: u32 = 5;
const NEXT_NAME: usize = 6;
const WAKING_AT: usize = 7;
const PID: usize = 8;
const TARGET: usize = 9;
const PRIO: usize = 10;
const NAME: usize = 11;
const FLAGS: usize = 12;

/// A bundle's columns, kept to be used again.
#[derive(Default)]
pub(super) struct Columns {
    numbers: [Vec<u64>; 13],
    names: Vec<Word>,
}

impl Columns {
    /// Reads them.
    pub(super) fn read(&mut self, message: &[u8], words: &mut Words) -> Result<(), &'static str> {
        self.numbers.iter_mut().for_each(Vec::clear);
        self.names.clear();
        let broken = |_| "its columns of events are no sound protobuf";
        for field in Fields::of(message) {
            match field.map_err(broken)? {
                (NAMES, Value::Bytes(name)) => self.names.push(words.of(name)?),
                (i @ 1..13, value) => {
                    add_numbers(value, &mut self.numbers[i as usize]).map_err(broken)?;
                }
                _ => {}
            }
        }
        let n = |i: usize| self.numbers[i].len();
        let switches = [PREV_STATE, NEXT_PID, NEXT_PRIO, NEXT_NAME];
        let wakings = [PID, TARGET, PRIO, NAME];
        let alike = switches.into_iter().all(|i| n(i) == n(SWITCH_AT))
            && wakings.into_iter().all(|i| n(i) == n(WAKING_AT))
            && (n(FLAGS) == 0 || n(FLAGS) == n(WAKING_AT));
        if alike { Ok(()) } else { Err("its columns of events are not of one length") }
    }

    /// Calls `take` with each wake-up.
    pub(super) fn wakings(
        &self,
        on: u32,
        mut take: impl FnMut(Record),
    ) -> Result<(), &'static str> {
        let mut at = 0;
        for i in 0..self.numbers[WAKING_AT].len() {
            let number = |column: usize| self.numbers[column][i];
            at = after(at, number(WAKING_AT))?;
            let task = self.task(number(NAME), number(PID))?;
            let (prio, target) = (prio(number(PRIO) as i64), cpu(number(TARGET) as i64)?);
            let flags = self.numbers[FLAGS].get(i).map(|flags| *flags as u8);
            let told = Told::Waking { task, prio, target, flags };
            take(Record { at, cpu: on, tid: None, told });
        }
        Ok(())
    }

    /// Calls `take` with each switch.
    pub(super) fn switches(
        &self,
        on: u32,
        mut take: impl FnMut(Record),
    ) -> Result<(), &'static str> {
        let mut at = 0;
        for i in 0..self.numbers[SWITCH_AT].len() {
            let number = |column: usize| self.numbers[column][i];
            at = after(at, number(SWITCH_AT))?;
            let state = ftrace::left(number(PREV_STATE) as i64);
            let next = self.task(number(NEXT_NAME), number(NEXT_PID))?;
            let told = Told::SwitchTo { state, next, next_prio: prio(number(NEXT_PRIO) as i64) };
            take(Record { at, cpu: on, tid: None, told });
        }
        Ok(())
    }

    fn task(&self, name: u64, id: u64) -> Result<Task, &'static str> {
        let name = usize::try_from(name).ok().and_then(|name| self.names.get(name));
        let name = *name.ok_or("a name is not in its bundle's table")?;
        Ok(Task { name, tid: tid(id as i64)? })
    }
}

/// The time so long after another one.
fn after(at: u64, delta: u64) -> Result<u64, &'static str> {
    time(at.saturating_add(delta))
}

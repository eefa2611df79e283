//! Records of all CPUs in order of time; those of one instant in order of CPUs.
//!
//! Perfetto empties the kernel's buffers one after another, again and again, so bundles overlap. A
//! record's turn has come when no bundle behind has an earlier one, which the survey has seen.

use super::bundle::Reader;
use super::other_format;
use super::packets::{Packet, Packets};
use super::record::{Record, Told};
use super::survey::{Losses, Survey};
use super::words::Words;
use crate::replay::ReplayError;
use std::collections::BTreeMap;
use std::io::{Read, Seek};

/// Records that may wait for their turn: 1 GiB of them.
const PENDING_MAX: usize = (1 << 30) / size_of::<Record>();
/// So many more records are read before all are put into order again.
const ROUND: usize = 1 << 12;

/// The records that are left.
pub(super) struct Order<'a, R> {
    survey: &'a Survey,
    packets: Packets<R>,
    reader: Reader,
    /// Bundles with events that were read.
    bundles: usize,
    /// Records in order up to `ready`, those that were taken first.
    pending: Vec<Record>,
    taken: usize,
    ready: usize,
    losses: BTreeMap<u32, Losses>,
    is_over: bool,
}

impl<'a, R: Read + Seek> Order<'a, R> {
    pub(super) fn new(survey: &'a Survey, input: R) -> Result<Self, ReplayError> {
        Ok(Self {
            survey,
            packets: Packets::new(input)?,
            reader: Reader::default(),
            bundles: 0,
            pending: Vec::new(),
            taken: 0,
            ready: 0,
            losses: BTreeMap::new(),
            is_over: false,
        })
    }

    pub(super) fn words(&self) -> &Words {
        &self.reader.words
    }

    /// The next record; `None` after the last one.
    pub(super) fn next(&mut self) -> Result<Option<Record>, ReplayError> {
        while self.taken == self.ready {
            if self.is_over {
                return Ok(None);
            }
            self.read_round()?;
        }
        self.taken += 1;
        Ok(Some(self.pending[self.taken - 1]))
    }

    /// Reads until the turn of some records has come.
    fn read_round(&mut self) -> Result<(), ReplayError> {
        self.pending.drain(..self.taken);
        (self.taken, self.ready) = (0, 0);
        let mut until = 2 * self.pending.len() + ROUND;
        while self.read_bundle()? {
            if self.pending.len() > PENDING_MAX {
                let why = "more than 1 GiB of events would have to wait for their turn";
                return Err(other_format(why, "record for a shorter time"));
            }
            if self.pending.len() >= until {
                self.sort();
                let earliest = self.survey.earliest.get(self.bundles).copied();
                let earliest = earliest.unwrap_or(u64::MAX);
                self.ready = self.pending.partition_point(|record| record.at < earliest);
                if self.ready > 0 {
                    return Ok(());
                }
                until = 2 * self.pending.len();
            }
        }
        self.lost_at_the_end();
        self.sort();
        (self.ready, self.is_over) = (self.pending.len(), true);
        Ok(())
    }

    fn sort(&mut self) {
        self.pending.sort_by_key(|record| (record.at, record.cpu));
    }

    /// Reads the next bundle. False if there is none.
    fn read_bundle(&mut self) -> Result<bool, ReplayError> {
        loop {
            let message = match self.packets.next()? {
                None => return Ok(false),
                Some(Packet::Bundle(message)) => message,
                Some(_) => continue,
            };
            let first = self.pending.len();
            let read = self.reader.read(message, |record| self.pending.push(record));
            let bundle = read.map_err(|why| self.packets.damaged(why))?;
            self.bundles += usize::from(bundle.first.is_some());
            let losses = self.losses.entry(bundle.cpu).or_default();
            if losses.passes(&bundle) {
                losses.places += 1;
                let is_first = losses.places == 1;
                let n = self.lost_at(bundle.cpu, is_first);
                let at = bundle.first.unwrap_or(self.survey.end);
                let record = Record { at, cpu: bundle.cpu, tid: None, told: Told::Lost(n) };
                self.pending.insert(first, record);
            }
            return Ok(true);
        }
    }

    /// How many events count as lost at a place of a CPU: one, and at the first place all that
    /// were counted beyond.
    fn lost_at(&self, cpu: u32, is_first: bool) -> u64 {
        let all = self.survey.losses.get(&cpu).copied().unwrap_or_default();
        let beyond = all.events().saturating_sub(all.places);
        1 + if is_first { beyond } else { 0 }
    }

    /// What was counted as lost on CPUs where no bundle tells when.
    fn lost_at_the_end(&mut self) {
        let nowhere = self.survey.losses.iter().filter(|(_, losses)| losses.places == 0);
        let (at, tid) = (self.survey.end, None);
        let lost =
            nowhere.filter(|(cpu, losses)| losses.events() > 0 && **cpu < self.survey.n_cpus);
        self.pending.extend(lost.map(|(cpu, losses)| Record {
            at,
            cpu: *cpu,
            tid,
            told: Told::Lost(losses.events()),
        }));
    }
}

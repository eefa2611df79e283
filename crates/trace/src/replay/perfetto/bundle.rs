//! A bundle: events of one CPU, in their order.

use super::compact::Columns;
use super::ftrace_event::FtraceEvent;
use super::record::{Record, cpu, time};
use super::wire::{Fields, Value};
use super::words::Words;

/// What a bundle says beside its events.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Bundle {
    pub cpu: u32,
    /// Events were lost before its first one, or could not be read.
    pub lost: bool,
    /// When the last event of the CPU's bundle before it was.
    pub end_before: Option<u64>,
    /// When its own first and last events were, needed or not; the last is 0 if it has none.
    pub first: Option<u64>,
    pub end: u64,
}

/// Reads bundles.
#[derive(Default)]
pub(super) struct Reader {
    pub words: Words,
    columns: Columns,
}

impl Reader {
    /// Reads a bundle, and calls `take` with each event that is needed, in order but for the
    /// columns: events of one instant come as wake-ups, others, switches.
    pub(super) fn read(
        &mut self,
        message: &[u8],
        mut take: impl FnMut(Record),
    ) -> Result<Bundle, &'static str> {
        let mut bundle = Bundle::default();
        let mut columns = None;
        let broken = |_| "a bundle is no sound protobuf";
        for field in Fields::of(message) {
            match field.map_err(broken)? {
                (1, Value::Number(number)) => bundle.cpu = cpu(number as i64)?,
                (3, Value::Number(lost)) => bundle.lost |= lost != 0,
                (4, Value::Bytes(message)) => columns = Some(message),
                // What of the kernel's buffer Perfetto could not read.
                (8, Value::Bytes(_)) => bundle.lost = true,
                (10, Value::Number(at)) => bundle.end_before = (at != 0).then_some(at),
                _ => {}
            }
        }
        let cpu = bundle.cpu;
        if let Some(message) = columns {
            self.columns.read(message, &mut self.words)?;
            self.columns.wakings(cpu, |record| {
                bundle.spans(record.at);
                take(record);
            })?;
        }
        for field in Fields::of(message) {
            let (2, Value::Bytes(message)) = field.map_err(broken)? else { continue };
            let event = FtraceEvent::of(message)?;
            let at = time(event.at)?;
            bundle.spans(at);
            if let Some(told) = event.told(&mut self.words)? {
                take(Record { at, cpu, tid: Some(event.tid), told });
            }
        }
        if columns.is_some() {
            self.columns.switches(cpu, |record| {
                bundle.spans(record.at);
                take(record);
            })?;
        }
        Ok(bundle)
    }
}

impl Bundle {
    fn spans(&mut self, at: u64) {
        self.first = Some(self.first.map_or(at, |first| first.min(at)));
        self.end = self.end.max(at);
    }
}

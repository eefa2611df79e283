//! Where the fields of the scheduler's events are, as the recorded kernel says: the copies of
//! `/sys/kernel/tracing/events/*/format` in a recording.

use crate::replay::file_fields::FileFields;
use std::collections::HashMap;
use std::io::{Read, Seek};

/// The events that replay is made from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Switch,
    Waking,
    Wakeup,
    WakeupNew,
    Runtime,
    Fork,
}

/// Their names, and those of the fields that are needed, in the order of [`Layout::fields`].
const NEEDED: [(&str, Kind, &[&str]); 6] = [
    (
        "sched_switch",
        Kind::Switch,
        &["prev_comm", "prev_pid", "prev_prio", "prev_state", "next_comm", "next_pid", "next_prio"],
    ),
    ("sched_waking", Kind::Waking, WAKE),
    ("sched_wakeup", Kind::Wakeup, WAKE),
    ("sched_wakeup_new", Kind::WakeupNew, WAKE),
    ("sched_stat_runtime", Kind::Runtime, &["comm", "pid", "runtime"]),
    ("sched_process_fork", Kind::Fork, &["parent_comm", "parent_pid", "child_comm", "child_pid"]),
];
const WAKE: &[&str] = &["comm", "pid", "prio", "target_cpu"];

/// A field of an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::replay) struct Field {
    pub offset: usize,
    pub bytes: usize,
    /// Its contents are elsewhere: it tells where (`__data_loc`).
    is_pointer: bool,
}

impl Field {
    /// Its number, with its sign; `None` beyond the event's end.
    pub(super) fn number(self, event: &[u8]) -> Option<i64> {
        let bytes = event.get(self.offset..)?.get(..self.bytes)?;
        if bytes.is_empty() {
            return None;
        }
        let mut wide = [0; 8];
        wide.get_mut(..bytes.len())?.copy_from_slice(bytes);
        let shift = 64 - 8 * bytes.len() as u32;
        Some(i64::from_le_bytes(wide) << shift >> shift)
    }

    /// Its text, up to the first zero.
    pub(super) fn text(self, event: &[u8]) -> Option<&[u8]> {
        let (offset, bytes) = match self.is_pointer {
            true => {
                let place = self.number(event)? as u32;
                ((place & 0xffff) as usize, (place >> 16) as usize)
            }
            false => (self.offset, self.bytes),
        };
        let text = event.get(offset..)?.get(..bytes)?;
        text.split(|byte| *byte == 0).next()
    }
}

/// How an event lies in memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Layout {
    pub kind: Kind,
    /// The fields that are needed, in their order.
    pub fields: Vec<Field>,
}

/// The layouts of the events that are needed, by their number (`common_type`): the formats of all
/// systems, and before them how many systems there are.
pub(super) fn layouts<R: Read + Seek>(fields: &mut FileFields<R>) -> Option<HashMap<u16, Layout>> {
    let mut layouts = HashMap::new();
    for _ in 0..fields.u32()? {
        let is_sched = fields.text()? == b"sched";
        for _ in 0..fields.u32()? {
            if is_sched {
                let format = fields.block()?;
                layouts.extend(layout(std::str::from_utf8(&format).ok()?));
            } else {
                fields.skip_block()?;
            }
        }
    }
    Some(layouts)
}

/// An event's number and layout; `None` if it is not needed, or lacks a field.
fn layout(format: &str) -> Option<(u16, Layout)> {
    let value = |key: &str| format.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let name = value("name:")?;
    let (_, kind, names) = NEEDED.into_iter().find(|(needed, ..)| *needed == name)?;
    let id = value("ID:")?.parse().ok()?;
    let fields = names.iter().map(|name| field(format, name)).collect::<Option<_>>()?;
    Some((id, Layout { kind, fields }))
}

/// A field, from a line such as `field:pid_t pid; offset:24; size:4; signed:1;`.
pub(in crate::replay) fn field(format: &str, name: &str) -> Option<Field> {
    format.lines().find_map(|line| {
        let mut parts = line.trim().split(';').map(str::trim);
        let declaration = parts.next()?.strip_prefix("field:")?;
        let declared = declaration.split('[').next()?.rsplit(' ').next()?;
        // `char comm[16]`, and `__data_loc char[] comm`.
        let is_it = declared == name || declaration.ends_with(&format!(" {name}"));
        is_it.then_some(())?;
        let mut number = |key: &str| parts.next()?.strip_prefix(key)?.parse().ok();
        let (offset, bytes) = (number("offset:")?, number("size:")?);
        Some(Field { offset, bytes, is_pointer: declaration.starts_with("__data_loc") })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAKING: &str = "name: sched_waking\nID: 375\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n\
        \tfield:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:pid_t pid;\toffset:12;\tsize:4;\tsigned:1;\n\
        \tfield:int prio;\toffset:16;\tsize:4;\tsigned:1;\n\
        \tfield:int target_cpu;\toffset:20;\tsize:4;\tsigned:1;\n\n\
        print fmt: \"comm=%s\"\n";

    #[test]
    fn fields_are_where_the_kernel_says() {
        let (id, layout) = layout(WAKING).unwrap();
        assert_eq!((id, layout.kind), (375, Kind::Waking));
        let mut event = vec![0; 24];
        event.extend(b"worker\0\0");
        event[8..12].copy_from_slice(&(24u32 | 8 << 16).to_le_bytes());
        event[12..16].copy_from_slice(&4711u32.to_le_bytes());
        event[16..20].copy_from_slice(&(-1i32).to_le_bytes());
        let [comm, pid, prio, target] = layout.fields[..] else { panic!() };
        assert_eq!(comm.text(&event), Some(&b"worker"[..]));
        assert_eq!((pid.number(&event), prio.number(&event)), (Some(4711), Some(-1)));
        assert_eq!(target.number(&event[..22]), None);
        assert_eq!(comm.text(&event[..26]), None);
        let of = |bytes| Field { offset: 0, bytes, is_pointer: false }.number(&event);
        assert_eq!([of(0), of(9)], [None, None]);
    }

    #[test]
    fn an_event_without_a_needed_field_is_none() {
        assert_eq!(layout(&WAKING.replace("field:pid_t pid", "field:pid_t tid")), None);
        assert_eq!(layout(&WAKING.replace("sched_waking", "sched_moved")), None);
    }
}

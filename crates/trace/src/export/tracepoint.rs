//! The scheduler's tracepoints as binary records, and the text that describes them to tools.
//!
//! perf and trace-cmd take the offsets of fields from the `format` text that comes with a trace. So
//! the layout is free, and here it is plain: fixed arrays for names, no holes. The names, types and
//! printed forms of the fields are those of Linux 6.18.

use super::event::{Comm, Event, What};
use sim_core::Context;

/// One kind of event.
pub(super) struct Tracepoint {
    /// Its name below `sched:`.
    pub name: &'static str,
    /// `common_type`.
    pub id: u16,
    fields: &'static [Field],
    /// The format string and its arguments.
    print: &'static str,
}

struct Field {
    declaration: &'static str,
    bytes: u32,
    signed: bool,
}

const fn text(declaration: &'static str) -> Field {
    Field { declaration, bytes: 16, signed: false }
}

const fn int(declaration: &'static str) -> Field {
    Field { declaration, bytes: 4, signed: true }
}

/// Bytes before the first field: the ones that all events share.
const COMMON: &[Field] = &[
    Field { declaration: "unsigned short common_type", bytes: 2, signed: false },
    Field { declaration: "unsigned char common_flags", bytes: 1, signed: false },
    Field { declaration: "unsigned char common_preempt_count", bytes: 1, signed: false },
    int("int common_pid"),
];

const WOKEN: &[Field] =
    &[text("char comm[16]"), int("pid_t pid"), int("int prio"), int("int target_cpu")];
const PRINT_WOKEN: &str = "\"comm=%s pid=%d prio=%d target_cpu=%03d\", \
    REC->comm, REC->pid, REC->prio, REC->target_cpu";

/// All kinds, by [`index`].
pub(super) const TRACEPOINTS: [Tracepoint; 7] = [
    Tracepoint {
        name: "sched_switch",
        id: 310,
        fields: &[
            text("char prev_comm[16]"),
            int("pid_t prev_pid"),
            int("int prev_prio"),
            Field { declaration: "long prev_state", bytes: 8, signed: true },
            text("char next_comm[16]"),
            int("pid_t next_pid"),
            int("int next_prio"),
        ],
        print: "\"prev_comm=%s prev_pid=%d prev_prio=%d prev_state=%s%s ==> \
            next_comm=%s next_pid=%d next_prio=%d\", \
            REC->prev_comm, REC->prev_pid, REC->prev_prio, \
            (REC->prev_state & 0xff) ? __print_flags(REC->prev_state & 0xff, \"|\", \
            { 0x01, \"S\" }, { 0x02, \"D\" }, { 0x04, \"T\" }, { 0x08, \"t\" }, \
            { 0x10, \"X\" }, { 0x20, \"Z\" }, { 0x40, \"P\" }, { 0x80, \"I\" }) : \"R\", \
            REC->prev_state & 0x100 ? \"+\" : \"\", \
            REC->next_comm, REC->next_pid, REC->next_prio",
    },
    Tracepoint { name: "sched_waking", id: 311, fields: WOKEN, print: PRINT_WOKEN },
    Tracepoint { name: "sched_wakeup", id: 312, fields: WOKEN, print: PRINT_WOKEN },
    Tracepoint { name: "sched_wakeup_new", id: 313, fields: WOKEN, print: PRINT_WOKEN },
    Tracepoint {
        name: "sched_migrate_task",
        id: 314,
        fields: &[
            text("char comm[16]"),
            int("pid_t pid"),
            int("int prio"),
            int("int orig_cpu"),
            int("int dest_cpu"),
        ],
        print: "\"comm=%s pid=%d prio=%d orig_cpu=%d dest_cpu=%d\", \
            REC->comm, REC->pid, REC->prio, REC->orig_cpu, REC->dest_cpu",
    },
    Tracepoint {
        name: "sched_stat_runtime",
        id: 315,
        fields: &[
            text("char comm[16]"),
            int("pid_t pid"),
            // So that `runtime` lies at a multiple of 8.
            int("int pad"),
            Field { declaration: "u64 runtime", bytes: 8, signed: false },
        ],
        print: "\"comm=%s pid=%d runtime=%Lu [ns]\", \
            REC->comm, REC->pid, (unsigned long long)REC->runtime",
    },
    Tracepoint {
        name: "sched_process_fork",
        id: 316,
        fields: &[
            text("char parent_comm[16]"),
            int("pid_t parent_pid"),
            text("char child_comm[16]"),
            int("pid_t child_pid"),
        ],
        print: "\"comm=%s pid=%d child_comm=%s child_pid=%d\", \
            REC->parent_comm, REC->parent_pid, REC->child_comm, REC->child_pid",
    },
];

/// Which kind an event is, if it is a tracepoint.
pub(super) fn index(what: &What) -> Option<usize> {
    Some(match what {
        What::Switch { .. } => 0,
        What::Waking { .. } => 1,
        What::Wakeup { .. } => 2,
        What::WakeupNew { .. } => 3,
        What::Migrate { .. } => 4,
        What::StatRuntime { .. } => 5,
        What::Fork { .. } => 6,
        _ => return None,
    })
}

impl Tracepoint {
    /// The text of the kernel's `events/sched/NAME/format` file.
    pub(super) fn format(&self) -> String {
        let mut text = format!("name: {}\nID: {}\nformat:\n", self.name, self.id);
        let mut offset = 0;
        let mut list = |fields: &[Field]| {
            for f in fields {
                text += &format!(
                    "\tfield:{};\toffset:{offset};\tsize:{};\tsigned:{};\n",
                    f.declaration,
                    f.bytes,
                    u8::from(f.signed)
                );
                offset += f.bytes;
            }
            text += "\n";
        };
        list(COMMON);
        list(self.fields);
        text + "print fmt: " + self.print + "\n"
    }
}

/// TRACE_FLAG_IRQS_OFF: the scheduler works with interrupts off …
const FLAGS: u8 = 1;
/// … and holds a runqueue's lock.
const PREEMPT_COUNT: u8 = 2;
/// TRACE_FLAG_HARDIRQ and TRACE_FLAG_SOFTIRQ: on behalf of an interrupt.
const FLAG_HARDIRQ: u8 = 8;
const FLAG_SOFTIRQ: u8 = 0x10;

/// Appends an event's record as the format describes it; nothing if it is no tracepoint.
pub(super) fn encode(event: &Event, out: &mut Vec<u8>) {
    let Some(kind) = index(&event.what) else {
        return;
    };
    out.extend(TRACEPOINTS[kind].id.to_le_bytes());
    let by = match event.what {
        What::Waking { by: Context::Hardirq, .. } => FLAG_HARDIRQ,
        What::Waking { by: Context::Softirq, .. } => FLAG_SOFTIRQ,
        _ => 0,
    };
    out.extend([FLAGS | by, PREEMPT_COUNT]);
    put(out, event.current.pid.0);
    match &event.what {
        What::Switch { prev, state, next } => {
            name(out, &prev.comm);
            put(out, prev.pid.0);
            put(out, prev.prio as u32);
            out.extend(i64::from(state.bits()).to_le_bytes());
            name(out, &next.comm);
            put(out, next.pid.0);
            put(out, next.prio as u32);
        }
        What::Waking { task, target, .. }
        | What::Wakeup { task, target }
        | What::WakeupNew { task, target } => {
            name(out, &task.comm);
            put(out, task.pid.0);
            put(out, task.prio as u32);
            put(out, target.0);
        }
        What::Migrate { task, from, to } => {
            name(out, &task.comm);
            put(out, task.pid.0);
            put(out, task.prio as u32);
            put(out, from.0);
            put(out, to.0);
        }
        What::StatRuntime { task, ns } => {
            name(out, &task.comm);
            put(out, task.pid.0);
            put(out, 0);
            out.extend(ns.to_le_bytes());
        }
        What::Fork { parent, child } => {
            name(out, &parent.comm);
            put(out, parent.pid.0);
            name(out, &child.comm);
            put(out, child.pid.0);
        }
        _ => {}
    }
}

fn put(out: &mut Vec<u8>, number: u32) {
    out.extend(number.to_le_bytes());
}

fn name(out: &mut Vec<u8>, comm: &Comm) {
    out.extend(comm.bytes());
}

/// The description of all events that opens both perf's and trace-cmd's files, in this version of
/// its layout.
pub(super) fn description(version: &str) -> Vec<u8> {
    const PAGE: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
        \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
        \tfield: int overwrite;\toffset:8;\tsize:1;\tsigned:1;\n\
        \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";
    const ENTRY: &str = "# compressed entry header\n\ttype_len    :    5 bits\n\
        \ttime_delta  :   27 bits\n\tarray       :   32 bits\n\n\tpadding     : type == 29\n\
        \ttime_extend : type == 30\n\ttime_stamp : type == 31\n\tdata max type_len  == 28\n";
    let mut out = vec![0x17, 0x08, 0x44];
    out.extend(b"tracing");
    zero_ended(&mut out, version);
    // Little-endian, 8-byte longs, 4 KiB pages.
    out.extend([0, 8]);
    put(&mut out, 4096);
    for (name, text) in [("header_page", PAGE), ("header_event", ENTRY)] {
        zero_ended(&mut out, name);
        sized(&mut out, text);
    }
    // Ftrace's own formats: none. One system.
    put(&mut out, 0);
    put(&mut out, 1);
    zero_ended(&mut out, "sched");
    put(&mut out, TRACEPOINTS.len() as u32);
    for tracepoint in &TRACEPOINTS {
        sized(&mut out, &tracepoint.format());
    }
    // No kernel symbols, no printk strings.
    put(&mut out, 0);
    put(&mut out, 0);
    out
}

fn zero_ended(out: &mut Vec<u8>, text: &str) {
    out.extend(text.as_bytes());
    out.push(0);
}

fn sized(out: &mut Vec<u8>, text: &str) {
    out.extend((text.len() as u64).to_le_bytes());
    out.extend(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::event::{PrevState, Who};
    use expect_test::expect;
    use sim_core::Pid;
    use topology::CpuId;

    fn who(pid: u32) -> Who {
        Who { pid: Pid(pid), comm: Comm::new("cc1"), prio: 120 }
    }

    #[test]
    fn every_record_is_as_long_as_its_format_says() {
        let (task, target) = (who(7), CpuId(3));
        let all = [
            What::Switch { prev: task, state: PrevState::Preempted, next: who(8) },
            What::Waking { task, target, by: Context::Task },
            What::Wakeup { task, target },
            What::WakeupNew { task, target },
            What::Migrate { task, from: CpuId(1), to: target },
            What::StatRuntime { task, ns: 1 << 40 },
            What::Fork { parent: task, child: who(9) },
        ];
        for (i, what) in all.into_iter().enumerate() {
            let mut raw = Vec::new();
            encode(&Event { at: 0, cpu: CpuId(0), current: who(5), what }, &mut raw);
            let tracepoint = &TRACEPOINTS[i];
            let fields = COMMON.iter().chain(tracepoint.fields);
            let bytes: u32 = fields.map(|f| f.bytes).sum();
            assert_eq!(raw.len(), bytes as usize, "{}", tracepoint.name);
            assert_eq!(raw[..8], [tracepoint.id as u8, 1, FLAGS, PREEMPT_COUNT, 5, 0, 0, 0]);
        }
    }

    #[test]
    fn a_format_reads_like_the_kernels() {
        expect![[r#"
            name: sched_waking
            ID: 311
            format:
            	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
            	field:unsigned char common_flags;	offset:2;	size:1;	signed:0;
            	field:unsigned char common_preempt_count;	offset:3;	size:1;	signed:0;
            	field:int common_pid;	offset:4;	size:4;	signed:1;

            	field:char comm[16];	offset:8;	size:16;	signed:0;
            	field:pid_t pid;	offset:24;	size:4;	signed:1;
            	field:int prio;	offset:28;	size:4;	signed:1;
            	field:int target_cpu;	offset:32;	size:4;	signed:1;

            print fmt: "comm=%s pid=%d prio=%d target_cpu=%03d", REC->comm, REC->pid, REC->prio, REC->target_cpu
        "#]].assert_eq(&TRACEPOINTS[1].format());
    }
}

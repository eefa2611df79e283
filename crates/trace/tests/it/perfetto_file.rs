//! Perfetto traces made from the text of `perf script`, as Perfetto's recorder writes them: bundles
//! of CPUs that overlap in time, with events one by one or in columns, packed or not.

use miniz_oxide::deflate::compress_to_vec_zlib;
use prost::{Message, Oneof};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::collections::BTreeMap;

/// The messages, under the names of their `.proto` files.
#[derive(Clone, PartialEq, Message)]
pub struct Trace {
    #[prost(message, repeated, tag = "1")]
    pub packet: Vec<Packet>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Packet {
    #[prost(message, optional, tag = "1")]
    pub ftrace_events: Option<Bundle>,
    #[prost(message, optional, tag = "2")]
    pub process_tree: Option<ProcessTree>,
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    #[prost(bytes, optional, tag = "11")]
    pub track_event: Option<Vec<u8>>,
    #[prost(message, optional, tag = "34")]
    pub ftrace_stats: Option<Stats>,
    #[prost(message, optional, tag = "45")]
    pub system_info: Option<SystemInfo>,
    #[prost(bytes, optional, tag = "50")]
    pub compressed_packets: Option<Vec<u8>>,
    #[prost(bytes, optional, tag = "133")]
    pub zstd_compressed_packets: Option<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Bundle {
    #[prost(uint32, optional, tag = "1")]
    pub cpu: Option<u32>,
    #[prost(message, repeated, tag = "2")]
    pub event: Vec<FtraceEvent>,
    #[prost(bool, optional, tag = "3")]
    pub lost_events: Option<bool>,
    #[prost(message, optional, tag = "4")]
    pub compact_sched: Option<CompactSched>,
    #[prost(uint64, optional, tag = "10")]
    pub previous_bundle_end_timestamp: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CompactSched {
    #[prost(uint64, repeated, tag = "1")]
    pub switch_timestamp: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub switch_prev_state: Vec<i64>,
    #[prost(int32, repeated, tag = "3")]
    pub switch_next_pid: Vec<i32>,
    #[prost(int32, repeated, tag = "4")]
    pub switch_next_prio: Vec<i32>,
    #[prost(string, repeated, tag = "5")]
    pub intern_table: Vec<String>,
    #[prost(uint32, repeated, tag = "6")]
    pub switch_next_comm_index: Vec<u32>,
    #[prost(uint64, repeated, tag = "7")]
    pub waking_timestamp: Vec<u64>,
    #[prost(int32, repeated, tag = "8")]
    pub waking_pid: Vec<i32>,
    #[prost(int32, repeated, tag = "9")]
    pub waking_target_cpu: Vec<i32>,
    #[prost(int32, repeated, tag = "10")]
    pub waking_prio: Vec<i32>,
    #[prost(uint32, repeated, tag = "11")]
    pub waking_comm_index: Vec<u32>,
    #[prost(uint32, repeated, tag = "12")]
    pub waking_common_flags: Vec<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct FtraceEvent {
    #[prost(uint64, optional, tag = "1")]
    pub timestamp: Option<u64>,
    #[prost(uint32, optional, tag = "2")]
    pub pid: Option<u32>,
    #[prost(oneof = "Event", tags = "4, 13, 17, 20, 114, 235, 236, 239, 327")]
    pub event: Option<Event>,
}

#[derive(Clone, PartialEq, Oneof)]
pub enum Event {
    #[prost(message, tag = "4")]
    SchedSwitch(SchedSwitch),
    #[prost(bytes, tag = "13")]
    CpuIdle(Vec<u8>),
    #[prost(message, tag = "17")]
    SchedWakeup(Wake),
    #[prost(message, tag = "20")]
    SchedWaking(Wake),
    #[prost(message, tag = "114")]
    SchedWakeupNew(Wake),
    #[prost(message, tag = "235")]
    TaskNewtask(TaskNewtask),
    #[prost(message, tag = "236")]
    TaskRename(TaskRename),
    #[prost(message, tag = "239")]
    SchedProcessFork(Fork),
    #[prost(message, tag = "327")]
    Generic(Generic),
}

#[derive(Clone, PartialEq, Message)]
pub struct SchedSwitch {
    #[prost(string, optional, tag = "1")]
    pub prev_comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub prev_pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub prev_prio: Option<i32>,
    #[prost(int64, optional, tag = "4")]
    pub prev_state: Option<i64>,
    #[prost(string, optional, tag = "5")]
    pub next_comm: Option<String>,
    #[prost(int32, optional, tag = "6")]
    pub next_pid: Option<i32>,
    #[prost(int32, optional, tag = "7")]
    pub next_prio: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Wake {
    #[prost(string, optional, tag = "1")]
    pub comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub pid: Option<i32>,
    #[prost(int32, optional, tag = "3")]
    pub prio: Option<i32>,
    #[prost(int32, optional, tag = "5")]
    pub target_cpu: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskNewtask {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub comm: Option<String>,
    #[prost(uint64, optional, tag = "3")]
    pub clone_flags: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskRename {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub newcomm: Option<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Fork {
    #[prost(string, optional, tag = "1")]
    pub parent_comm: Option<String>,
    #[prost(int32, optional, tag = "2")]
    pub parent_pid: Option<i32>,
    #[prost(string, optional, tag = "3")]
    pub child_comm: Option<String>,
    #[prost(int32, optional, tag = "4")]
    pub child_pid: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Generic {
    #[prost(string, optional, tag = "1")]
    pub event_name: Option<String>,
    #[prost(message, repeated, tag = "2")]
    pub field: Vec<Field>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Field {
    #[prost(string, optional, tag = "1")]
    pub name: Option<String>,
    #[prost(string, optional, tag = "3")]
    pub str_value: Option<String>,
    #[prost(int64, optional, tag = "4")]
    pub int_value: Option<i64>,
    #[prost(uint64, optional, tag = "5")]
    pub uint_value: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ProcessTree {
    #[prost(message, repeated, tag = "1")]
    pub processes: Vec<Process>,
    #[prost(message, repeated, tag = "2")]
    pub threads: Vec<Thread>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Process {
    #[prost(int32, optional, tag = "1")]
    pub pid: Option<i32>,
    #[prost(string, repeated, tag = "3")]
    pub cmdline: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Thread {
    #[prost(int32, optional, tag = "1")]
    pub tid: Option<i32>,
    #[prost(string, optional, tag = "2")]
    pub name: Option<String>,
    #[prost(int32, optional, tag = "3")]
    pub tgid: Option<i32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Stats {
    #[prost(int32, optional, tag = "1")]
    pub phase: Option<i32>,
    #[prost(message, repeated, tag = "2")]
    pub cpu_stats: Vec<CpuStats>,
}

#[derive(Clone, PartialEq, Message)]
pub struct CpuStats {
    #[prost(uint64, optional, tag = "1")]
    pub cpu: Option<u64>,
    #[prost(uint64, optional, tag = "3")]
    pub overrun: Option<u64>,
    #[prost(uint64, optional, tag = "8")]
    pub dropped_events: Option<u64>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SystemInfo {
    #[prost(message, optional, tag = "1")]
    pub utsname: Option<Utsname>,
    #[prost(uint32, optional, tag = "8")]
    pub num_cpus: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Utsname {
    #[prost(string, optional, tag = "3")]
    pub release: Option<String>,
}

/// How packets are compressed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Packing {
    None,
    Zlib,
    Zstd,
}

/// An event of the text.
#[derive(Clone, Debug)]
pub struct Line<'a> {
    pub at: u64,
    pub cpu: u32,
    tid: u32,
    comm: &'a str,
    kind: &'a str,
    fields: &'a str,
    pub text: &'a str,
}

impl<'a> Line<'a> {
    fn of(text: &'a str) -> Self {
        let (head, rest) = text.split_once(": ").unwrap();
        let (task, place) = head.split_once(" [").unwrap();
        let (cpu, at) = place.split_once("] ").unwrap();
        let (s, ns) = at.trim().split_once('.').unwrap();
        let (comm, tid) = task.trim().rsplit_once(' ').unwrap();
        let (kind, fields) = rest.trim().split_once(": ").unwrap();
        let at = s.parse::<u64>().unwrap() * 1_000_000_000 + ns.parse::<u64>().unwrap();
        let kind = kind.strip_prefix("sched:").unwrap();
        let (cpu, tid) = (cpu.parse().unwrap(), tid.parse().unwrap());
        Self { at, cpu, tid, comm: comm.trim(), kind, fields, text }
    }

    /// What comes first if two events of a CPU have one time, as a reader of columns has to guess.
    fn rank(&self) -> u32 {
        match self.kind {
            "sched_waking" => 0,
            "sched_switch" => 2,
            _ => 1,
        }
    }

    fn text(&self, key: &str) -> String {
        let (_, value) = self.fields.split_once(key).unwrap();
        value.split(' ').next().unwrap().to_string()
    }

    fn number<N: std::str::FromStr>(&self, key: &str) -> N {
        self.text(key).parse().ok().unwrap()
    }

    /// `prev_state` as the kernel writes it down.
    fn state(&self) -> i64 {
        match self.text("prev_state=").as_str() {
            "R" => 0,
            "R+" => 0x100,
            letter => 1 << "SDTtXZPI".find(letter).unwrap(),
        }
    }

    fn wake(&self) -> Wake {
        Wake {
            comm: Some(self.text("comm=")),
            pid: Some(self.number("pid=")),
            prio: Some(self.number("prio=")),
            target_cpu: Some(self.number("target_cpu=")),
        }
    }

    fn event(&self) -> Event {
        match self.kind {
            "sched_switch" => Event::SchedSwitch(SchedSwitch {
                prev_comm: Some(self.text("prev_comm=")),
                prev_pid: Some(self.number("prev_pid=")),
                prev_prio: Some(self.number("prev_prio=")),
                prev_state: Some(self.state()),
                next_comm: Some(self.text("next_comm=")),
                next_pid: Some(self.number("next_pid=")),
                next_prio: Some(self.number("next_prio=")),
            }),
            "sched_waking" => Event::SchedWaking(self.wake()),
            "sched_wakeup" => Event::SchedWakeup(self.wake()),
            "sched_wakeup_new" => Event::SchedWakeupNew(self.wake()),
            "sched_process_fork" => Event::SchedProcessFork(Fork {
                parent_comm: Some(self.text("comm=")),
                parent_pid: Some(self.number(" pid=")),
                child_comm: Some(self.text("child_comm=")),
                child_pid: Some(self.number("child_pid=")),
            }),
            "sched_stat_runtime" => {
                let field = |name: &str| Field { name: Some(name.into()), ..Default::default() };
                let (comm, ns) = (Some(self.text("comm=")), Some(self.number("runtime=")));
                let fields = vec![
                    Field { str_value: comm, ..field("comm") },
                    Field { int_value: Some(self.number("pid=")), ..field("pid") },
                    Field { uint_value: ns, ..field("runtime") },
                ];
                Event::Generic(Generic { event_name: Some(self.kind.into()), field: fields })
            }
            // Events that no replay needs are in traces, too.
            _ => Event::CpuIdle(vec![0x08, 1]),
        }
    }
}

/// The events of a text in the order in which they can be read from a trace.
pub fn in_order(text: &str) -> Vec<Line<'_>> {
    let mut lines: Vec<_> = text.lines().map(Line::of).collect();
    lines.sort_by_key(|line| (line.at, line.cpu, line.rank()));
    lines
}

/// New names of current tasks that no event before told, each just before the line that has it,
/// but not before the CPU's event before.
fn renames(lines: &[Line<'_>]) -> BTreeMap<usize, FtraceEvent> {
    let (mut names, mut last) = (BTreeMap::new(), BTreeMap::new());
    let mut renames = BTreeMap::new();
    for (i, line) in lines.iter().enumerate() {
        let before = last.insert(line.cpu, line.at).unwrap_or(0);
        let known = names.insert(line.tid, line.comm.to_string());
        if line.tid != 0 && known.is_some_and(|known| known != line.comm) {
            let newcomm = Some(line.comm.to_string());
            let event = Event::TaskRename(TaskRename { pid: Some(line.tid as i32), newcomm });
            let (timestamp, pid) = (Some(before.max(line.at - 1)), Some(line.tid));
            renames.insert(i, FtraceEvent { timestamp, pid, event: Some(event) });
        }
        if line.kind == "sched_switch" {
            names.insert(line.number("next_pid="), line.text("next_comm="));
        }
    }
    renames
}

/// Adds an event to columns. False if it has no place there.
fn add(columns: &mut CompactSched, last: &mut [u64; 2], line: &Line<'_>) -> bool {
    let mut index = |name: String| {
        let known = columns.intern_table.iter().position(|known| *known == name);
        let index = known.unwrap_or(columns.intern_table.len());
        if known.is_none() {
            columns.intern_table.push(name);
        }
        index as u32
    };
    match line.kind {
        "sched_switch" => {
            let name = index(line.text("next_comm="));
            columns.switch_next_comm_index.push(name);
            columns.switch_timestamp.push(line.at - std::mem::replace(&mut last[0], line.at));
            columns.switch_prev_state.push(line.state());
            columns.switch_next_pid.push(line.number("next_pid="));
            columns.switch_next_prio.push(line.number("next_prio="));
        }
        "sched_waking" => {
            let name = index(line.text("comm="));
            columns.waking_comm_index.push(name);
            columns.waking_timestamp.push(line.at - std::mem::replace(&mut last[1], line.at));
            columns.waking_pid.push(line.number("pid="));
            columns.waking_prio.push(line.number("prio="));
            columns.waking_target_cpu.push(line.number("target_cpu="));
        }
        _ => return false,
    }
    true
}

/// The bundle of these events of a CPU.
fn bundle(lines: &[(Option<&FtraceEvent>, &Line<'_>)], in_columns: bool) -> Bundle {
    let mut bundle = Bundle { cpu: lines.first().map(|(_, line)| line.cpu), ..Bundle::default() };
    let (mut columns, mut last) = (CompactSched::default(), [0; 2]);
    for (rename, line) in lines {
        bundle.event.extend(rename.cloned());
        if !(in_columns && add(&mut columns, &mut last, line)) {
            let (timestamp, pid) = (Some(line.at), Some(line.tid));
            bundle.event.push(FtraceEvent { timestamp, pid, event: Some(line.event()) });
        }
    }
    bundle.compact_sched = in_columns.then_some(columns);
    bundle
}

/// The packets of a recording, with events in columns or one by one.
pub fn packets(lines: &[Line<'_>], in_columns: bool) -> Vec<Packet> {
    // Each CPU's buffer is emptied after a while of its own, and the CPUs come in turns.
    let mut rounds: BTreeMap<(usize, u32), Vec<_>> = BTreeMap::new();
    let renames = renames(lines);
    for (i, line) in lines.iter().enumerate() {
        let round = (i + 97 * line.cpu as usize) / 300;
        rounds.entry((round, u32::MAX - line.cpu)).or_default().push((renames.get(&i), line));
    }
    let bundles = rounds.values().map(|lines| bundle(lines, in_columns));
    bundles.map(|bundle| Packet { ftrace_events: Some(bundle), ..Packet::default() }).collect()
}

/// A file of packets.
pub fn file(packets: Vec<Packet>, packing: Packing) -> Vec<u8> {
    let pieces = packets.chunks(10).map(|piece| {
        let plain = Trace { packet: piece.to_vec() }.encode_to_vec();
        let mut packet = Packet::default();
        match packing {
            Packing::None => return plain,
            Packing::Zlib => packet.compressed_packets = Some(compress_to_vec_zlib(&plain, 6)),
            Packing::Zstd => {
                let packed = compress_to_vec(plain.as_slice(), CompressionLevel::Fastest);
                packet.zstd_compressed_packets = Some(packed);
            }
        }
        Trace { packet: vec![packet] }.encode_to_vec()
    });
    pieces.collect::<Vec<_>>().concat()
}

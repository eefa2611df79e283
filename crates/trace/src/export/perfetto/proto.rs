//! The messages of Perfetto's trace format that we write, under the names of its `.proto` files.
//!
//! `required` fields are always written, also when 0: that is what the kernel's records look like.

#![allow(missing_docs, reason = "the fields are named and documented by Perfetto")]

use prost::{Message, Oneof};

/// A piece of a trace.
#[derive(Clone, PartialEq, Message)]
pub struct TracePacket {
    /// When, ns; ftrace events have their own.
    #[prost(uint64, optional, tag = "8")]
    pub timestamp: Option<u64>,
    /// The number of its writer; there is one writer.
    #[prost(uint32, required, tag = "10")]
    pub trusted_packet_sequence_id: u32,
    /// Of which clock `timestamp` is.
    #[prost(uint32, optional, tag = "58")]
    pub timestamp_clock_id: Option<u32>,
    /// What is in it.
    #[prost(oneof = "Data", tags = "1, 2, 11, 45, 60")]
    pub data: Option<Data>,
}

/// What a packet holds.
#[derive(Clone, PartialEq, Oneof)]
pub enum Data {
    /// Kernel events of one CPU.
    #[prost(message, tag = "1")]
    FtraceEvents(FtraceEventBundle),
    /// Processes and their names.
    #[prost(message, tag = "2")]
    ProcessTree(ProcessTree),
    /// A value of a counter.
    #[prost(message, tag = "11")]
    TrackEvent(TrackEvent),
    /// The kernel.
    #[prost(message, tag = "45")]
    SystemInfo(SystemInfo),
    /// A counter's name.
    #[prost(message, tag = "60")]
    TrackDescriptor(TrackDescriptor),
}

/// Kernel events of one CPU, in order.
#[derive(Clone, PartialEq, Message)]
pub struct FtraceEventBundle {
    /// The CPU.
    #[prost(uint32, required, tag = "1")]
    pub cpu: u32,
    /// The events.
    #[prost(message, repeated, tag = "2")]
    pub event: Vec<FtraceEvent>,
}

/// A kernel event.
#[derive(Clone, PartialEq, Message)]
pub struct FtraceEvent {
    /// When, ns.
    #[prost(uint64, required, tag = "1")]
    pub timestamp: u64,
    /// Thread id of the current task.
    #[prost(uint32, required, tag = "2")]
    pub pid: u32,
    /// What happened.
    #[prost(oneof = "Event", tags = "4, 17, 20, 114, 235, 240, 491")]
    pub event: Option<Event>,
}

/// What happened.
#[derive(Clone, PartialEq, Oneof)]
pub enum Event {
    /// `sched_switch`
    #[prost(message, tag = "4")]
    SchedSwitch(SchedSwitch),
    /// `sched_wakeup`
    #[prost(message, tag = "17")]
    SchedWakeup(Wake),
    /// `sched_waking`
    #[prost(message, tag = "20")]
    SchedWaking(Wake),
    /// `sched_wakeup_new`
    #[prost(message, tag = "114")]
    SchedWakeupNew(Wake),
    /// `task_newtask`
    #[prost(message, tag = "235")]
    TaskNewtask(TaskNewtask),
    /// `sched_process_free`
    #[prost(message, tag = "240")]
    SchedProcessFree(SchedProcessFree),
    /// `sched_migrate_task`
    #[prost(message, tag = "491")]
    SchedMigrateTask(SchedMigrateTask),
}

/// `sched_switch`
#[derive(Clone, PartialEq, Message)]
pub struct SchedSwitch {
    #[prost(string, required, tag = "1")]
    pub prev_comm: String,
    #[prost(int32, required, tag = "2")]
    pub prev_pid: i32,
    #[prost(int32, required, tag = "3")]
    pub prev_prio: i32,
    #[prost(int64, required, tag = "4")]
    pub prev_state: i64,
    #[prost(string, required, tag = "5")]
    pub next_comm: String,
    #[prost(int32, required, tag = "6")]
    pub next_pid: i32,
    #[prost(int32, required, tag = "7")]
    pub next_prio: i32,
}

/// `sched_waking`, `sched_wakeup`, `sched_wakeup_new`
#[derive(Clone, PartialEq, Message)]
pub struct Wake {
    #[prost(string, required, tag = "1")]
    pub comm: String,
    #[prost(int32, required, tag = "2")]
    pub pid: i32,
    #[prost(int32, required, tag = "3")]
    pub prio: i32,
    #[prost(int32, required, tag = "4")]
    pub success: i32,
    #[prost(int32, required, tag = "5")]
    pub target_cpu: i32,
}

/// `task_newtask`: a fork, on the parent's CPU.
#[derive(Clone, PartialEq, Message)]
pub struct TaskNewtask {
    #[prost(int32, required, tag = "1")]
    pub pid: i32,
    #[prost(string, required, tag = "2")]
    pub comm: String,
    #[prost(uint64, required, tag = "3")]
    pub clone_flags: u64,
}

/// `sched_process_free`: the end of a task.
#[derive(Clone, PartialEq, Message)]
pub struct SchedProcessFree {
    #[prost(string, required, tag = "1")]
    pub comm: String,
    #[prost(int32, required, tag = "2")]
    pub pid: i32,
    #[prost(int32, required, tag = "3")]
    pub prio: i32,
}

/// `sched_migrate_task`
#[derive(Clone, PartialEq, Message)]
pub struct SchedMigrateTask {
    #[prost(string, required, tag = "1")]
    pub comm: String,
    #[prost(int32, required, tag = "2")]
    pub pid: i32,
    #[prost(int32, required, tag = "3")]
    pub prio: i32,
    #[prost(int32, required, tag = "4")]
    pub orig_cpu: i32,
    #[prost(int32, required, tag = "5")]
    pub dest_cpu: i32,
}

/// Processes that have a name from now on.
#[derive(Clone, PartialEq, Message)]
pub struct ProcessTree {
    /// The processes.
    #[prost(message, repeated, tag = "1")]
    pub processes: Vec<Process>,
}

/// A process.
#[derive(Clone, PartialEq, Message)]
pub struct Process {
    #[prost(int32, required, tag = "1")]
    pub pid: i32,
    /// The parent's pid; absent for tasks that were there from the beginning.
    #[prost(int32, optional, tag = "2")]
    pub ppid: Option<i32>,
    #[prost(string, repeated, tag = "3")]
    pub cmdline: Vec<String>,
}

/// The kernel and the machine.
#[derive(Clone, PartialEq, Message)]
pub struct SystemInfo {
    #[prost(message, optional, tag = "1")]
    pub utsname: Option<Utsname>,
    #[prost(uint32, required, tag = "8")]
    pub num_cpus: u32,
}

/// What `uname` says. The meaning of `prev_state` depends on the release.
#[derive(Clone, PartialEq, Message)]
pub struct Utsname {
    #[prost(string, required, tag = "1")]
    pub sysname: String,
    #[prost(string, required, tag = "2")]
    pub version: String,
    #[prost(string, required, tag = "3")]
    pub release: String,
    #[prost(string, required, tag = "4")]
    pub machine: String,
}

/// The name of a counter, or of a group of them.
#[derive(Clone, PartialEq, Message)]
pub struct TrackDescriptor {
    #[prost(uint64, required, tag = "1")]
    pub uuid: u64,
    #[prost(string, required, tag = "2")]
    pub name: String,
    #[prost(uint64, optional, tag = "5")]
    pub parent_uuid: Option<u64>,
    #[prost(message, optional, tag = "8")]
    pub counter: Option<CounterDescriptor>,
}

/// What a counter counts.
#[derive(Clone, PartialEq, Message)]
pub struct CounterDescriptor {
    #[prost(string, required, tag = "6")]
    pub unit_name: String,
}

/// A value of a counter.
#[derive(Clone, PartialEq, Message)]
pub struct TrackEvent {
    /// 4: a counter.
    #[prost(int32, required, tag = "9")]
    pub r#type: i32,
    #[prost(uint64, required, tag = "11")]
    pub track_uuid: u64,
    #[prost(int64, required, tag = "30")]
    pub counter_value: i64,
}

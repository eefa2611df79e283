//! Perfetto's traces as recordings: they say what the text of the same events says, whatever way
//! they are written down.

use crate::perfetto_file::{
    Bundle, CompactSched, CpuStats, Event, FtraceEvent, Line, Packet, Packing, Process,
    ProcessTree, SchedSwitch, Stats, SystemInfo, TaskNewtask, Thread, Utsname, file, in_order,
    packets,
};
use crate::support::{Traced, machine, small_build, small_machine, trace};
use proptest::prelude::*;
use std::io::Cursor;
use std::sync::LazyLock;
use topology::Machine;
use trace::replay::{Asked, Format, ReplayError, perfetto, trace_dat};
use workloads::micro::{PingPong, Short};
use workloads::replay::{Act, Recording};

fn read(file: &[u8], machine: &Machine) -> Recording {
    perfetto::read(Cursor::new(file), machine, Asked::default()).unwrap()
}

/// The text of these lines as a recording.
fn from_lines(lines: &[Line<'_>], machine: &Machine) -> Recording {
    let text: String = lines.iter().flat_map(|line| [line.text, "\n"]).collect();
    trace::replay::read(text.as_bytes(), machine, Asked::default()).unwrap()
}

#[test]
fn it_says_what_the_text_says() {
    let (small, machine) = (small_machine(), machine());
    for (machine, traced) in [
        (&machine, trace(machine.clone(), small_build(), u64::MAX)),
        (&machine, trace(machine.clone(), PingPong::new(3, 40_000, 500), u64::MAX)),
        (&small, trace(small.clone(), Short::new(9, 700_000, 500_000, 100, 1), u64::MAX)),
    ] {
        let text = traced.text();
        let lines = in_order(&text);
        let expected = from_lines(&lines, machine);
        for in_columns in [false, true] {
            for packing in [Packing::None, Packing::Zlib, Packing::Zstd] {
                let file = file(packets(&lines, in_columns), packing);
                assert_eq!(Format::of(&file[..Format::MAGIC_BYTES]), Format::Perfetto);
                assert!(read(&file, machine) == expected, "{in_columns} {packing:?}");
            }
        }
    }
}

/// A recording of `perf bench sched pipe` on a guest with two CPUs (Linux 6.18): perf's text of it,
/// written down by Google's protobuf library in columns, with zlib. Names of other programs are
/// changed.
const PIPE: &[u8] = include_bytes!("../recorded/pipe.pftrace");

/// perf counts 122 switches from threads of that name. At the first of them nobody has told the
/// thread's new name.
#[test]
fn what_a_foreign_library_wrote_is_read() {
    let recording = read(PIPE, &small_machine());
    let of = |wanted: &str| {
        let mut commands = recording.commands.iter();
        let found = commands.find(|(name, _)| recording.names[*name as usize] == wanted);
        found.map(|(_, command)| command.switches)
    };
    assert_eq!((of("sched-pipe"), of("other"), recording.lost_events), (Some(121), None, 0));
    assert_eq!(perfetto::cpus(Cursor::new(PIPE)).unwrap(), 2);
}

/// A thread sleeps three times for times of its own, and is woken while another one runs.
#[test]
fn columns_tell_who_woke() {
    let with_flags = |flags: Vec<u32>| {
        let columns = CompactSched {
            intern_table: vec!["a".into(), "b".into()],
            switch_timestamp: vec![1000, 99_000, 50_000, 250_000, 60_000, 440_000],
            switch_prev_state: vec![0, 1, 0, 1, 0, 1],
            switch_next_pid: vec![7, 8, 7, 8, 7, 8],
            switch_next_prio: vec![120; 6],
            switch_next_comm_index: vec![0, 1, 0, 1, 0, 1],
            waking_timestamp: vec![149_000, 310_000],
            waking_pid: vec![7; 2],
            waking_target_cpu: vec![0; 2],
            waking_prio: vec![120; 2],
            waking_comm_index: vec![0; 2],
            waking_common_flags: flags,
        };
        let compact_sched = Some(columns);
        let bundle = Bundle { cpu: Some(0), compact_sched, ..Bundle::default() };
        let packet = Packet { ftrace_events: Some(bundle), ..Packet::default() };
        let recording = read(&file(vec![packet], Packing::None), &small_machine());
        let acts = recording.threads.iter().flat_map(|thread| thread.acts.iter());
        acts.filter(|act| matches!(act, Act::Wake { .. })).count()
    };
    // Nobody knows, the current task, a hardware interrupt.
    assert_eq!([vec![], vec![0; 2], vec![8; 2]].map(with_flags), [2, 2, 0]);
}

/// What we write lacks charges, and tells of a fork by `task_newtask`.
#[test]
fn a_trace_of_our_own_is_replayed() {
    let machine = machine();
    let traced = trace(machine.clone(), PingPong::new(3, 40_000, 500), u64::MAX);
    let [ours, dat] =
        ["perfetto", "trace.dat"].map(|name| std::fs::read(traced.path(name)).unwrap());
    let dat = trace_dat::read(Cursor::new(dat), &machine, Asked::default()).unwrap();
    let ours = read(&ours, &machine);
    assert_eq!((&ours.names, ours.length_ns), (&dat.names, dat.length_ns));
    assert_eq!(ours.threads.len(), dat.threads.len());
    for ((name, ours), (as_name, dat)) in ours.commands.iter().zip(&dat.commands) {
        assert_eq!((name, ours.run_ns, ours.switches), (as_name, dat.run_ns, dat.switches));
    }
}

#[test]
fn it_names_as_many_cpus_as_its_machine_has() {
    let traced = trace(small_machine(), PingPong::new(1, 40_000, 20), u64::MAX);
    let lines = traced.text();
    let mut packets = packets(&in_order(&lines), false);
    let with = |packets: &[Packet]| file(packets.to_vec(), Packing::None);
    let cpus = |file: &[u8]| perfetto::cpus(Cursor::new(file)).unwrap();
    let text = trace::replay::cpus(lines.as_bytes()).unwrap();
    assert_eq!(cpus(&with(&packets)), text);
    let info = SystemInfo { num_cpus: Some(12), utsname: None };
    packets.insert(0, Packet { system_info: Some(info), ..Packet::default() });
    assert_eq!(cpus(&with(&packets)), 12);
}

fn plain(at: u64, pid: u32, event: Event) -> FtraceEvent {
    FtraceEvent { timestamp: Some(at), pid: Some(pid), event: Some(event) }
}

fn of_cpu(cpu: u32, event: Vec<FtraceEvent>) -> Packet {
    let bundle = Bundle { cpu: Some(cpu), event, ..Bundle::default() };
    Packet { ftrace_events: Some(bundle), ..Packet::default() }
}

fn switch(at: u64, prev: (&str, u32), next: (&str, u32)) -> FtraceEvent {
    let event = Event::SchedSwitch(SchedSwitch {
        prev_comm: Some(prev.0.into()),
        prev_pid: Some(prev.1 as i32),
        prev_prio: Some(120),
        prev_state: Some(1),
        next_comm: Some(next.0.into()),
        next_pid: Some(next.1 as i32),
        next_prio: Some(120),
    });
    plain(at, prev.1, event)
}

const IDLE: (&str, u32) = ("swapper/0", 0);

#[test]
fn processes_are_those_of_proc_and_of_forks() {
    let thread = |tid, tgid, name: &str| Thread {
        tid: Some(tid),
        tgid: Some(tgid),
        name: Some(name.into()),
    };
    let cmdline = vec!["/usr/sbin/served".to_string(), "-v".to_string()];
    let tree = ProcessTree {
        processes: vec![Process { pid: Some(100), cmdline }],
        threads: vec![thread(101, 100, "worker")],
    };
    let newtask = |pid, flags| {
        Event::TaskNewtask(TaskNewtask {
            pid: Some(pid),
            comm: Some("served".into()),
            clone_flags: Some(flags),
        })
    };
    // The first thread is never seen to come or go by name; it makes a thread and a process.
    let events = vec![
        plain(1000, 100, newtask(102, 0x10000)),
        plain(2000, 100, newtask(103, 17)),
        switch(3000, ("", 100), ("worker", 101)),
        switch(4000, ("worker", 101), ("served", 102)),
        switch(5000, ("served", 102), ("served", 103)),
        switch(6000, ("served", 103), IDLE),
    ];
    let tree = Packet { process_tree: Some(tree), ..Packet::default() };
    let recording = read(&file(vec![of_cpu(0, events), tree], Packing::None), &small_machine());
    let threads: Vec<_> =
        recording.threads.iter().map(|thread| (thread.tid, thread.process)).collect();
    assert_eq!(threads, [(100, 0), (102, 0), (103, 2), (101, 0)]);
}

/// Pairs of switches of one thread on CPU 0 from this time on, 1 us each.
fn stays(from: u64, n: u64) -> Vec<FtraceEvent> {
    let stay = |i| {
        let at = from + 2000 * i;
        [switch(at, IDLE, ("a", 7)), switch(at + 1000, ("a", 7), IDLE)]
    };
    (0..n).flat_map(stay).collect()
}

#[test]
fn what_was_lost_is_counted_once() {
    let lost =
        |packets: Vec<Packet>| read(&file(packets, Packing::None), &small_machine()).lost_events;
    let flagged = |from, n| {
        let mut packet = of_cpu(0, stays(from, n));
        packet.ftrace_events.as_mut().unwrap().lost_events = Some(true);
        packet
    };
    let behind_a_gap = |from, before| {
        let mut packet = of_cpu(0, stays(from, 2));
        let bundle = packet.ftrace_events.as_mut().unwrap();
        bundle.previous_bundle_end_timestamp = Some(before);
        packet
    };
    let stats = |phase, cpu, overrun| {
        let cpu_stats =
            vec![CpuStats { cpu: Some(cpu), overrun: Some(overrun), dropped_events: Some(1) }];
        let stats = Stats { phase: Some(phase), cpu_stats };
        Packet { ftrace_stats: Some(stats), ..Packet::default() }
    };
    let first = || of_cpu(0, stays(0, 2));
    assert_eq!(lost(vec![first(), of_cpu(0, stays(9000, 2))]), 0);
    assert_eq!(lost(vec![first(), flagged(9000, 2), flagged(20_000, 1)]), 2);
    // Its bundle before ended at 3000, and one that ended at 8000 is not there.
    assert_eq!(lost(vec![first(), behind_a_gap(9000, 3000)]), 0);
    assert_eq!(lost(vec![first(), behind_a_gap(9000, 8000)]), 1);
    // The kernel counted 40, of which none is from before.
    let counted = [stats(1, 0, 60), first(), flagged(9000, 2), stats(2, 0, 100)];
    assert_eq!(lost(counted.to_vec()), 40);
    // No bundle tells where.
    assert_eq!(lost(vec![stats(1, 0, 0), first(), stats(2, 0, 5)]), 5);
}

/// The first switch in columns does not tell who left.
#[test]
fn nobody_is_known_on_a_cpu_before_its_first_event() {
    let text = "\
        a 7 [000] 1.000000000: sched:sched_switch: prev_comm=a prev_pid=7 prev_prio=120 \
        prev_state=S ==> next_comm=b next_pid=8 next_prio=100\n\
        b 8 [000] 1.000400000: sched:sched_switch: prev_comm=b prev_pid=8 prev_prio=100 \
        prev_state=S ==> next_comm=swapper/0 next_pid=0 next_prio=120\n";
    let lines = in_order(text);
    let recording = read(&file(packets(&lines, true), Packing::None), &small_machine());
    assert_eq!((recording.names, recording.threads.len()), (vec!["b".to_string()], 1));
    assert_eq!(recording.threads[0].nice, -20);
}

/// A small file, and what may be wrong with it.
static SMALL: LazyLock<[Vec<u8>; 4]> = LazyLock::new(|| {
    let traced: Traced = trace(small_machine(), PingPong::new(2, 40_000, 60), u64::MAX);
    let text = traced.text();
    let lines = in_order(&text);
    let of = |in_columns, packing| file(packets(&lines, in_columns), packing);
    [
        of(false, Packing::None),
        of(true, Packing::None),
        of(false, Packing::Zlib),
        of(true, Packing::Zstd),
    ]
});

fn why(file: &[u8]) -> String {
    match perfetto::read(Cursor::new(file), &small_machine(), Asked::default()) {
        Ok(recording) => format!("{} threads", recording.threads.len()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_wrong_is_told() {
    let of = |packet: Packet| why(&file(vec![packet], Packing::None));
    let with = |change: fn(&mut Bundle)| {
        let mut bundle = Bundle { cpu: Some(1), event: stays(0, 1), ..Bundle::default() };
        change(&mut bundle);
        of(Packet { ftrace_events: Some(bundle), ..Packet::default() })
    };
    let columns = || CompactSched {
        switch_timestamp: vec![1000, 1000],
        switch_prev_state: vec![1, 1],
        switch_next_pid: vec![7, 0],
        switch_next_prio: vec![120, 120],
        intern_table: vec!["a".into()],
        switch_next_comm_index: vec![0, 0],
        ..Default::default()
    };
    let in_columns = |change: fn(&mut CompactSched)| {
        let mut columns = columns();
        change(&mut columns);
        let bundle = Bundle { compact_sched: Some(columns), ..Bundle::default() };
        of(Packet { ftrace_events: Some(bundle), ..Packet::default() })
    };
    let release = Utsname { release: Some("4.9.337".into()) };
    let system = SystemInfo { utsname: Some(release), num_cpus: None };
    let told = [
        why(&SMALL[0][..50]),
        why(&SMALL[0][..SMALL[0].len() - 1]),
        why(&[&SMALL[0][..], b"x"].concat()),
        why(&[&SMALL[0][..], &[0x0a, 1, 0x0b]].concat()),
        why(b"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        why(b"\n\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
        of(Packet { compressed_packets: Some(b"no zlib".to_vec()), ..Packet::default() }),
        of(Packet { zstd_compressed_packets: Some(b"no zstd".to_vec()), ..Packet::default() }),
        of(Packet { timestamp: Some(17), ..Packet::default() }),
        of(Packet { track_event: Some(vec![0x48, 4]), ..Packet::default() }),
        of(Packet { system_info: Some(system), ..Packet::default() }),
        with(|bundle| bundle.cpu = Some(8192)),
        with(|bundle| bundle.cpu = Some(99)),
        with(|bundle| bundle.event[0].timestamp = Some(1 << 62)),
        with(|bundle| bundle.event[0].pid = Some(5_000_000)),
        with(|bundle| bundle.event[0] = switch(0, IDLE, ("a", u32::MAX))),
        with(|bundle| bundle.event[1] = switch(1, ("a", 7), (&"a".repeat(256), 8))),
        in_columns(|columns| columns.switch_timestamp[1] = u64::MAX),
        in_columns(|columns| columns.switch_next_comm_index[1] = 1),
        in_columns(|columns| columns.switch_prev_state.truncate(1)),
        in_columns(|_| ()),
    ];
    expect_test::expect![[r#"
        this Perfetto trace is damaged at byte 46: it is cut off in a packet
        this Perfetto trace is damaged at byte 49148: it is cut off in a packet
        this Perfetto trace is damaged at byte 50278: no packet begins there
        this Perfetto trace is damaged at byte 50278: a packet is no sound protobuf
        this Perfetto trace is damaged at byte 0: it is cut off in a packet
        this Perfetto trace is damaged at byte 0: no packet begins there
        this Perfetto trace is damaged at byte 0: a compressed packet cannot be unpacked, or to more than 16 MiB
        this Perfetto trace is damaged at byte 0: a compressed packet cannot be unpacked, or to more than 16 MiB
        there are no events of the scheduler in this Perfetto trace; record them as docs/TRACE.md shows
        there are no events of the scheduler in this Perfetto trace, only what programs write down themselves; record them as docs/TRACE.md shows
        this Perfetto trace cannot be read here: Linux 4.9.337 recorded it; before 4.14 the states of tasks had other numbers
        this Perfetto trace is damaged at byte 0: a CPU is not below 8192
        event 1: the machine of the recording has no CPU 99, only 0 to 3
        this Perfetto trace is damaged at byte 0: a time is more than a century after 0
        this Perfetto trace is damaged at byte 0: a pid is above 4194304, or negative
        this Perfetto trace is damaged at byte 0: a pid is above 4194304, or negative
        event 2: a thread's name is longer than 255 bytes
        this Perfetto trace is damaged at byte 0: a time is more than a century after 0
        this Perfetto trace is damaged at byte 0: a name is not in its bundle's table
        this Perfetto trace is damaged at byte 0: its columns of events are not of one length
        1 threads"#]].assert_eq(&told.join("\n"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A damaged file is a fault or a recording, no panic, and takes no more memory than it has.
    #[test]
    fn no_damage_makes_the_reader_panic(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        end in any::<prop::sample::Index>(),
        cut in any::<bool>(),
        in_head in any::<bool>(),
        which in 0..4usize,
    ) {
        let mut file = SMALL[which].clone();
        for (at, byte) in changes {
            let n = if in_head { 400.min(file.len()) } else { file.len() };
            let at = at.index(n);
            file[at] = byte;
        }
        if cut {
            file.truncate(end.index(file.len()));
        }
        let read = perfetto::read(Cursor::new(&file), &small_machine(), Asked::default());
        let in_text = matches!(read.err(), Some(ReplayError::Line { .. }));
        prop_assert!(!in_text);
        let _ = perfetto::cpus(Cursor::new(&file));
    }
}

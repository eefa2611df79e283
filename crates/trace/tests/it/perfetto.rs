//! Perfetto traces, decoded again.

use crate::support::{Sums, Traced, machine, small_build, trace, trace_ext};
use prost::Message;
use std::collections::BTreeMap;
use trace::export::perfetto::proto::{Data, Event, TracePacket};

/// A whole file: `repeated TracePacket packet = 1`.
#[derive(Clone, PartialEq, Message)]
struct Trace {
    #[prost(message, repeated, tag = "1")]
    packet: Vec<TracePacket>,
}

fn packets(traced: &Traced) -> Vec<TracePacket> {
    let bytes = std::fs::read(traced.path("perfetto")).unwrap();
    Trace::decode(bytes.as_slice()).unwrap().packet
}

/// All kernel events, in order of time: (time, CPU, event).
fn events(packets: &[TracePacket]) -> Vec<(u64, u32, &Event)> {
    let mut all = Vec::new();
    for packet in packets {
        if let Some(Data::FtraceEvents(bundle)) = &packet.data {
            assert!(bundle.event.len() <= 256);
            let found = bundle.event.iter();
            all.extend(found.map(|e| (e.timestamp, bundle.cpu, e.event.as_ref().unwrap())));
        }
    }
    // Within a CPU they are in order; a stable sort keeps that.
    all.sort_by_key(|(at, ..)| *at);
    all
}

#[test]
fn the_sums_of_the_bundles_are_those_of_the_run() {
    let traced = trace(machine(), small_build(), u64::MAX);
    let packets = packets(&traced);
    let mut sums = Sums::default();
    let (mut born, mut gone) = (1, 0);
    for (now, cpu, event) in events(&packets) {
        sums.passes(now);
        match event {
            Event::SchedSwitch(s) => sums.switch(cpu, now, s.prev_pid as u32, s.next_pid as u32),
            Event::SchedWakeup(_) => sums.wakeups += 1,
            Event::SchedMigrateTask(_) => sums.migrations += 1,
            Event::TaskNewtask(_) => born += 1,
            Event::SchedProcessFree(_) => gone += 1,
            _ => {}
        }
    }
    assert_eq!(born, gone);
    sums.charged = traced.totals.charged_ns;
    sums.must_be_those_of(&traced);
}

#[test]
fn every_process_has_its_name_and_its_parent() {
    let traced = trace(machine(), small_build(), u64::MAX);
    let (mut names, mut parents) = (BTreeMap::new(), BTreeMap::new());
    for packet in packets(&traced) {
        if let Some(Data::ProcessTree(tree)) = packet.data {
            assert_eq!(packet.timestamp_clock_id, Some(6));
            for process in tree.processes {
                names.insert(process.pid, process.cmdline[0].clone());
                if let Some(parent) = process.ppid {
                    parents.insert(process.pid, parent);
                }
            }
        }
    }
    let count = |name: &str| names.values().filter(|n| *n == name).count();
    assert_eq!((count("cc1"), count("nm"), count("ar")), (60, 120, 6));
    for (pid, name) in names.iter().filter(|(_, name)| *name == "cc1") {
        assert_eq!(names[&parents[pid]], "gcc", "parent of {name} {pid}");
    }
}

#[test]
fn counters_return_to_rest() {
    counters_rest_after(&trace(machine(), small_build(), u64::MAX));
    trace_ext().for_each(|traced| counters_rest_after(&traced));
}

fn counters_rest_after(traced: &Traced) {
    let (mut tracks, mut values) = (BTreeMap::new(), BTreeMap::new());
    let (mut wasted_ns, mut wasted_since) = (0, (0, 0));
    for packet in packets(traced) {
        match packet.data {
            Some(Data::TrackDescriptor(track)) => {
                assert!(tracks.insert(track.uuid, track.name).is_none(), "{}", track.uuid);
            }
            Some(Data::TrackEvent(event)) => {
                values.insert(event.track_uuid, event.counter_value);
                if tracks[&event.track_uuid] == "Idle while runnable" {
                    let now = packet.timestamp.unwrap();
                    let (since, n) = wasted_since;
                    wasted_ns += u128::from(now - since) * n;
                    wasted_since = (now, event.counter_value as u128);
                }
            }
            _ => {}
        }
    }
    assert_eq!(tracks.len(), 18);
    assert!(values.len() == 17 && values.values().all(|v| *v == 0), "{values:?}");
    // The metric itself.
    assert_eq!(wasted_ns, traced.idle_while_runnable_ns);
}

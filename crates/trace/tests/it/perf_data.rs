//! perf.data, as another reader and, where it is installed, perf itself understand it.

use crate::support::{
    Sums, Traced, machine, output_of, small_build, small_machine, trace, trace_ext,
};
use linux_perf_data::linux_perf_event_reader::EventRecord;
use linux_perf_data::{AttributeDescription, PerfFileReader, PerfFileRecord};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use workloads::micro::Short;

const NAMES: [&str; 7] = [
    "sched:sched_switch",
    "sched:sched_waking",
    "sched:sched_wakeup",
    "sched:sched_wakeup_new",
    "sched:sched_migrate_task",
    "sched:sched_stat_runtime",
    "sched:sched_process_fork",
];

/// Reads the records; also which tasks were forked, and which have exited.
fn sums(traced: &Traced) -> (Sums, i64, BTreeMap<i32, String>) {
    let file = BufReader::new(File::open(traced.path("perf.data")).unwrap());
    let PerfFileReader { mut perf_file, mut record_iter } =
        PerfFileReader::parse_file(file).unwrap();
    let names = perf_file.event_attributes().iter().filter_map(AttributeDescription::name);
    assert_eq!(names.collect::<Vec<_>>(), NAMES);
    assert_eq!(perf_file.nr_cpus().unwrap().unwrap().nr_cpus_online, 16);
    assert_eq!(perf_file.cmdline().unwrap().unwrap(), ["schedlab", "trace", "small.toml"]);
    let (mut sums, mut alive, mut comms) = (Sums::default(), 0, BTreeMap::new());
    while let Some(record) = record_iter.next_record(&mut perf_file).unwrap() {
        let PerfFileRecord::EventRecord { attr_index, record } = record else {
            continue;
        };
        match record.parse().unwrap() {
            EventRecord::Sample(sample) => {
                let (now, cpu) = (sample.timestamp.unwrap(), sample.cpu.unwrap());
                let raw = sample.raw.unwrap().as_slice().into_owned();
                let int = |at: usize| u32::from_le_bytes(raw[at..at + 4].try_into().unwrap());
                assert_eq!(int(4) as i32, sample.pid.unwrap());
                sums.passes(now);
                match NAMES[attr_index] {
                    "sched:sched_switch" => sums.switch(cpu, now, int(24), int(56)),
                    "sched:sched_wakeup" => sums.wakeups += 1,
                    "sched:sched_migrate_task" => sums.migrations += 1,
                    "sched:sched_stat_runtime" => sums.charged += u64::from(int(32)),
                    _ => {}
                }
            }
            EventRecord::Fork(_) => alive += 1,
            EventRecord::Exit(_) => alive -= 1,
            EventRecord::Comm(comm) => {
                let name = String::from_utf8(comm.name.as_slice().into_owned()).unwrap();
                comms.insert(comm.pid, name);
            }
            _ => {}
        }
    }
    (sums, alive, comms)
}

#[test]
fn the_sums_of_the_records_are_those_of_the_run() {
    for traced in trace_ext().chain([trace(machine(), small_build(), u64::MAX)]) {
        let (sums, alive, comms) = sums(&traced);
        sums.must_be_those_of(&traced);
        // The first make was not forked, and all are gone at the end.
        assert_eq!(alive, -1);
        let count = |name: &str| comms.values().filter(|n| *n == name).count();
        assert_eq!((count("cc1"), count("nm"), count("ar")), (60, 120, 6));
    }
}

#[test]
fn perf_script_prints_our_text() {
    let traced = trace(small_machine(), Short::new(9, 700_000, 500_000, 30, 1), u64::MAX);
    let args = ["script", "--ns", "-i", "perf.data"];
    if let Some((text, warnings)) = output_of("perf", &args, traced.dir.path()) {
        assert_eq!(warnings, "");
        // Newer versions of perf give pids more room.
        let plain = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(plain(&text) == plain(&traced.text()), "{text}");
    }
}

#[test]
fn perf_sched_timehist_adds_up_to_the_same() {
    let traced = trace(machine(), small_build(), u64::MAX);
    let args = ["sched", "timehist", "-s", "-i", "perf.data"];
    if let Some((text, _)) = output_of("perf", &args, traced.dir.path()) {
        let value = |key: &str| {
            let line = text.lines().find(|line| line.contains(key)).unwrap();
            line.split(':').nth(1).unwrap().trim().to_string()
        };
        assert_eq!(value("Total number of context switches"), traced.totals.switches.to_string());
        let ms: f64 = value("Total run time (msec)").parse().unwrap();
        assert!((ms * 1e6 - traced.totals.run_time_ns as f64).abs() < 1e3, "{ms}");
    }
}

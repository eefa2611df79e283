//! perf.data as a recording: it says what its text says, and who had the CPU at each wake-up.

use crate::support::{Traced, machine, small_build, small_machine, trace};
use proptest::prelude::*;
use std::fs::File;
use std::io::Cursor;
use std::sync::LazyLock;
use topology::Machine;
use trace::replay::{Asked, ReplayError, perf_data};
use workloads::micro::{PingPong, Short};
use workloads::replay::{Act, Recording};

/// The kind of a sample's record.
const SAMPLE: u8 = 9;
/// What a record that ends a round of perf's begins with: its kind, and its size of 8 bytes.
const END_OF_ROUND: [u8; 8] = [68, 0, 0, 0, 0, 0, 8, 0];

fn from_data(traced: &Traced, machine: &Machine) -> Recording {
    let file = File::open(traced.path("perf.data")).unwrap();
    perf_data::read(file, machine, Asked::default()).unwrap()
}

fn from_text(traced: &Traced, machine: &Machine, timed: &[&str]) -> Recording {
    let asked = Asked { timed, ..Asked::default() };
    trace::replay::read(traced.text().as_bytes(), machine, asked).unwrap()
}

/// How many acts of each kind all threads have, and what they compute in all, ns.
fn sums(recording: &Recording) -> ([usize; 4], u64) {
    let acts = || recording.threads.iter().flat_map(|thread| thread.acts.iter());
    let count = |is: fn(&Act) -> bool| acts().filter(is).count();
    let counts = [
        count(|act| matches!(act, Act::Wake { .. })),
        count(|act| matches!(act, Act::Wait | Act::Answer)),
        count(|act| matches!(act, Act::Timer { .. } | Act::For(_))),
        count(|act| matches!(act, Act::Start(_))),
    ];
    let work = |act| match act {
        Act::Run(ns) | Act::InPath(ns) | Act::InCall(ns) => ns,
        _ => 0,
    };
    let run = acts().map(work).sum();
    (counts, run)
}

#[test]
fn it_says_what_its_text_says() {
    let machine = machine();
    for traced in [
        trace(machine.clone(), small_build(), u64::MAX),
        trace(machine.clone(), PingPong::new(3, 40_000, 500), u64::MAX),
    ] {
        let (data, text) = (from_data(&traced, &machine), from_text(&traced, &machine, &[]));
        assert_eq!(data.names, text.names);
        assert_eq!(data.commands, text.commands);
        assert_eq!((data.length_ns, data.elapsed_ns), (text.length_ns, text.elapsed_ns));
        let (data, text) = (sums(&data), sums(&text));
        assert_eq!(data.0[3], text.0[3]);
        let difference = data.1.abs_diff(text.1);
        assert!(difference * 200 < text.1, "{difference} ns of {}", text.1);
    }
}

/// The text needs to be told which threads have timers.
#[test]
fn timers_are_told_from_threads_without_any_hint() {
    let machine = small_machine();
    let traced = trace(machine.clone(), Short::new(9, 700_000, 500_000, 100, 1), u64::MAX);
    let (data, timed) = (from_data(&traced, &machine), from_text(&traced, &machine, &["short"]));
    let ([wakes, waits, timers, _], run) = sums(&data);
    assert_eq!(([wakes, waits, timers], run), ([0, 0, timed_sleeps(&timed)], sums(&timed).1));
    let ([_, guessed, ..], _) = sums(&from_text(&traced, &machine, &[]));
    assert!(guessed > 0, "the text alone tells as much");
}

fn timed_sleeps(recording: &Recording) -> usize {
    sums(recording).0[2]
}

/// The records of a file, and where they lie in it.
fn records(file: &[u8]) -> (usize, Vec<&[u8]>) {
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap()) as usize;
    let (start, bytes) = (number(40), number(48));
    let (mut rest, mut records) = (&file[start..start + bytes], Vec::new());
    while !rest.is_empty() {
        let size = usize::from(u16::from_le_bytes([rest[6], rest[7]]));
        let (record, after) = rest.split_at(size);
        records.push(record);
        rest = after;
    }
    (start, records)
}

/// When a sample was taken, ns; `None` for another record.
fn time(record: &[u8]) -> Option<u64> {
    (record[0] == SAMPLE).then(|| u64::from_le_bytes(record[32..40].try_into().unwrap()))
}

/// perf empties the buffers of the CPUs one after another: records of a round come in any order,
/// but what happened at one instant stays as it was.
#[test]
fn records_of_a_round_come_in_order() {
    let machine = small_machine();
    let traced = trace(machine.clone(), PingPong::new(2, 40_000, 200), u64::MAX);
    let file = std::fs::read(traced.path("perf.data")).unwrap();
    let (start, all) = records(&file);
    let (first, rest) = all.split_at(50);
    let instants: Vec<_> =
        rest.chunk_by(|a, b| time(b).is_none_or(|t| time(a) == Some(t))).collect();
    assert!(instants.len() > 500);
    let rounds = instants.chunks(77).flat_map(|round| {
        round.iter().rev().copied().flatten().copied().chain([END_OF_ROUND.as_slice()])
    });
    let data: Vec<u8> = first.iter().copied().chain(rounds).flatten().copied().collect();
    let old: usize = all.iter().map(|record| record.len()).sum();
    let more = (data.len() - old) as u64;
    let mut file = [&file[..start], &data, &file[start + old..]].concat();
    // What lies behind the records has moved, and the table there says where.
    let table = start + data.len();
    let places = (0..features(&file)).map(|i| table + 16 * i);
    for at in [48].into_iter().chain(places) {
        let number = u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
        file[at..at + 8].copy_from_slice(&(number + more).to_le_bytes());
    }
    let shuffled = perf_data::read(Cursor::new(file), &machine, Asked::default()).unwrap();
    assert!(shuffled == from_data(&traced, &machine), "they differ");
}

/// How many sections are named in a file's header.
fn features(file: &[u8]) -> usize {
    file[72..104].iter().map(|byte| byte.count_ones() as usize).sum()
}

#[test]
fn its_machine_is_not_told_if_its_header_does_not() {
    let traced = trace(small_machine(), PingPong::new(1, 40_000, 20), u64::MAX);
    let file = File::open(traced.path("perf.data")).unwrap();
    assert!(perf_data::machine("m", file).unwrap().is_none());
}

/// A small file, and what may be wrong with it.
static SMALL: LazyLock<Vec<u8>> = LazyLock::new(|| {
    let traced = trace(small_machine(), PingPong::new(2, 40_000, 60), u64::MAX);
    std::fs::read(traced.path("perf.data")).unwrap()
});

fn why(file: Vec<u8>) -> String {
    match perf_data::read(Cursor::new(file), &small_machine(), Asked::default()) {
        Ok(recording) => format!("{} threads", recording.threads.len()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_wrong_is_told() {
    let with = |at: usize, bytes: &[u8]| {
        let mut file = SMALL.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        why(file)
    };
    let cut = |n: usize| why(SMALL[..n].to_vec());
    let told = [
        cut(50),
        cut(SMALL.len() / 2),
        with(8, &[16, 0]),
        with(0, b"2ELIFREP"),
        with(24, &[0xff; 8]),
        with(16, &[0; 8]),
        // Without the section of formats.
        with(72, &[0]),
    ];
    expect_test::expect![[r#"
        this perf.data is damaged: it is cut off in its header
        this perf.data is damaged: a section of it lies beyond its end
        this perf.data cannot be read here: it was written into a pipe; `perf script --ns` prints it as text that can be replayed
        this perf.data cannot be read here: it does not begin with `PERFILE2`; `perf script --ns` prints it as text that can be replayed
        this perf.data is damaged: a section of it lies beyond its end
        this perf.data is damaged: it names no event
        there are no events of the scheduler in it; record with `perf sched record`"#]]
    .assert_eq(&told.join("\n"));
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
    ) {
        let mut file = SMALL.clone();
        for (at, byte) in changes {
            let n = if in_head { 400 } else { file.len() };
            let at = at.index(n);
            file[at] = byte;
        }
        if cut {
            file.truncate(end.index(file.len()));
        }
        let error = perf_data::read(Cursor::new(&file), &small_machine(), Asked::default()).err();
        let in_text = matches!(error, Some(ReplayError::Line { .. }));
        prop_assert!(!in_text);
        let _ = perf_data::cpus(Cursor::new(&file));
        let _ = perf_data::machine("m", Cursor::new(&file));
    }
}

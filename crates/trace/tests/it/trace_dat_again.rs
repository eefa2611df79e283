//! trace.dat as a recording: it says what the perf.data of the same run says, in both versions,
//! packed or not; and what trace-cmd recorded on a real kernel.

use crate::support::{Traced, machine, small_build, small_machine, trace};
use miniz_oxide::deflate::compress_to_vec_zlib;
use proptest::prelude::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use std::fs::File;
use std::io::Cursor;
use std::sync::LazyLock;
use topology::Machine;
use trace::replay::{Asked, ReplayError, perf_data, trace_dat};
use workloads::micro::{PingPong, Short};
use workloads::replay::{Act, Recording};

/// Recordings of `perf bench sched pipe` on a guest with two CPUs (Linux 6.18), by the kernel's
/// tracepoints and `trace-cmd extract`, without the formats, symbols and options that no reader of
/// them needs. The second one is of a buffer that was too small.
const PIPE: &[u8] = include_bytes!("../recorded/pipe.dat");
const LOST: &[u8] = include_bytes!("../recorded/lost.dat");

fn read(file: &[u8], machine: &Machine) -> Recording {
    trace_dat::read(Cursor::new(file), machine, Asked::default()).unwrap()
}

fn file(traced: &Traced) -> Vec<u8> {
    std::fs::read(traced.path("trace.dat")).unwrap()
}

/// What the acts of all threads are in sum: wake-ups, waits, sleeps, forks, and work in ns.
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
fn it_says_what_the_perf_data_says() {
    let (small, machine) = (small_machine(), machine());
    for (machine, traced, execs) in [
        (&machine, trace(machine.clone(), small_build(), u64::MAX), true),
        (&machine, trace(machine.clone(), PingPong::new(3, 40_000, 500), u64::MAX), false),
        (&small, trace(small.clone(), Short::new(9, 700_000, 500_000, 100, 1), u64::MAX), false),
    ] {
        let dat = read(&file(&traced), machine);
        let perf = File::open(traced.path("perf.data")).unwrap();
        let perf = perf_data::read(perf, machine, Asked::default()).unwrap();
        assert_eq!((dat.length_ns, dat.elapsed_ns), (perf.length_ns, perf.elapsed_ns));
        assert_eq!((&dat.names, &dat.commands), (&perf.names, &perf.commands));
        // A perf.data has a record of each new name, a trace.dat tells it with the next switch. The
        // work before and after a name is rounded by itself.
        let ((dat_acts, dat_run), (perf_acts, perf_run)) = (sums(&dat), sums(&perf));
        assert_eq!(dat_acts, perf_acts);
        assert!(dat_run.abs_diff(perf_run) <= dat_acts[3] as u64, "{dat_run} {perf_run} ns");
        assert!(execs || dat == perf, "they differ");
    }
}

#[test]
fn it_names_as_many_cpus_as_have_events() {
    let traced = trace(small_machine(), PingPong::new(1, 40_000, 20), u64::MAX);
    let [dat, perf] = ["trace.dat", "perf.data"].map(|name| traced.path(name));
    let dat = trace_dat::cpus(File::open(dat).unwrap()).unwrap();
    assert_eq!(dat, perf_data::cpus(File::open(perf).unwrap()).unwrap());
    assert_eq!(trace_dat::cpus(Cursor::new(PIPE)).unwrap(), 2);
}

/// The kinds of compression of version 7.
const PACKINGS: [&str; 3] = ["none", "zlib", "zstd"];

/// A piece with its sizes, packed; as it is if there is no compression.
fn packed(bytes: &[u8], packing: &str) -> Vec<u8> {
    let packed = match packing {
        "zlib" => compress_to_vec_zlib(bytes, 6),
        "zstd" => compress_to_vec(bytes, CompressionLevel::Fastest),
        _ => return bytes.to_vec(),
    };
    let sizes = [packed.len() as u32, bytes.len() as u32].map(u32::to_le_bytes);
    [&sizes.concat()[..], &packed].concat()
}

/// A section of version 7 with its head.
fn section(id: u16, bytes: &[u8], packing: &str) -> Vec<u8> {
    let bytes = packed(bytes, packing);
    let is_packed = u16::from(packing != "none");
    let mut section = [id.to_le_bytes(), is_packed.to_le_bytes(), [0, 0], [0, 0]].concat();
    section.extend((bytes.len() as u64).to_le_bytes());
    section.extend(bytes);
    section
}

fn option(id: u16, data: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), data].concat()
}

/// A file of version 6, as we write them, in version 7.
fn in_version_7(file: &[u8], packing: &str, clock: &str) -> Vec<u8> {
    let find = |what: &[u8]| file.windows(what.len()).position(|part| part == what).unwrap();
    let number = |at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let (info, systems, places) = (18, find(b"\x01\0\0\0sched\0"), find(b"flyrecord\0") + 10);
    let names = find(b"options  \0") - 4;
    let n_cpus = u32::from_le_bytes(file[names..names + 4].try_into().unwrap());
    let mut out =
        [b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0", packing.as_bytes(), b"\x001\0"].concat();
    let (options_at, mut places_of) = (out.len(), Vec::new());
    out.extend([0; 8]);
    // The formats end before the counts of symbols, of texts and of names.
    for (id, bytes) in [(16, &file[info..systems - 4]), (18, &file[systems..names])] {
        places_of.push(option(id, &(out.len() as u64).to_le_bytes()));
        out.extend(section(id, bytes, packing));
    }
    let mut buffer =
        [&(out.len() as u64).to_le_bytes()[..], b"\0", clock.as_bytes(), b"\0"].concat();
    buffer.extend([4096u32, n_cpus].map(u32::to_le_bytes).concat());
    let head = section(3, &[], packing);
    out.extend(&head[..16]);
    for cpu in 0..n_cpus {
        let place = places + 16 * cpu as usize;
        let (from, bytes) = (number(place) as usize, number(place + 8) as usize);
        let pages = file[from..from + bytes].chunks(4096 * 3);
        let pieces = pages.clone().flat_map(|pages| packed(pages, packing));
        let at = out.len() as u64;
        if packing != "none" {
            out.extend((pages.len() as u32).to_le_bytes());
        }
        out.extend(pieces);
        let bytes = out.len() as u64 - at;
        buffer.extend([&cpu.to_le_bytes()[..], &at.to_le_bytes(), &bytes.to_le_bytes()].concat());
    }
    // Two sections of options, the second of which is the first one in the file.
    let tsc = [2u32, 1, 0, 0].map(u32::to_le_bytes).concat();
    let second = [option(14, &tsc), option(3, &buffer), option(0, &[0; 8])].concat();
    let at = out.len() as u64;
    out.extend(section(0, &second, packing));
    let first = [places_of.concat(), option(0, &at.to_le_bytes())].concat();
    let at = out.len() as u64;
    out.extend(section(0, &first, packing));
    out[options_at..options_at + 8].copy_from_slice(&at.to_le_bytes());
    out
}

#[test]
fn version_7_says_the_same_packed_or_not() {
    let machine = small_machine();
    let traced = trace(machine.clone(), PingPong::new(3, 40_000, 500), u64::MAX);
    let version_6 = file(&traced);
    for packing in PACKINGS {
        // The second clock is counted in nanoseconds by an option, as if its ticks were ones.
        for clock in ["local", "x86-tsc"] {
            let version_7 = in_version_7(&version_6, packing, clock);
            assert!(read(&version_7, &machine) == read(&version_6, &machine), "{packing} {clock}");
        }
    }
}

/// `trace-cmd report` shows 25 wake-ups and two forks in the first one, and 19255 lost events in the
/// second.
#[test]
fn what_a_real_kernel_recorded_is_read() {
    let (pipe, lost) = (read(PIPE, &small_machine()), read(LOST, &small_machine()));
    let ([wakes, waits, timers, forks], _) = sums(&pipe);
    assert_eq!((wakes, waits, wakes + timers, forks), (22, 22, 25, 2));
    assert_eq!((pipe.threads.len(), pipe.length_ns, pipe.lost_events), (9, 17_162_402, 0));
    for recording in [&pipe, &lost] {
        assert!(
            ["perf", "sched-pipe"].iter().all(|name| recording.names.iter().any(|n| n == name))
        );
    }
    assert_eq!(lost.lost_events, 19_255);
}

/// A small file, and what may be wrong with it.
static SMALL: LazyLock<Vec<u8>> =
    LazyLock::new(|| file(&trace(small_machine(), PingPong::new(2, 40_000, 60), u64::MAX)));

fn why(file: &[u8]) -> String {
    match trace_dat::read(Cursor::new(file), &small_machine(), Asked::default()) {
        Ok(recording) => format!("{} threads", recording.threads.len()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn what_is_wrong_is_told() {
    let with = |at: usize, bytes: &[u8]| {
        let mut file = SMALL.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        why(&file)
    };
    let find = |what: &[u8]| SMALL.windows(what.len()).position(|part| part == what).unwrap();
    let (pages, clock) = (SMALL.len() / 4096 * 4096 - 4096, find(b"flyrecord\0"));
    let of_7 = |packing, clock| in_version_7(&SMALL, packing, clock);
    let told = [
        why(&SMALL[..50]),
        why(&SMALL[..5000]),
        why(&SMALL[..SMALL.len() - 4096]),
        with(0, b"PERFILE2"),
        with(10, b"5"),
        with(12, &[1]),
        with(14, &[8, 0]),
        with(clock, b"latency  "),
        with(clock + 18, &[0xff]),
        with(find(b"sched_switch"), b"sched_schwip"),
        with(pages + 8, &[0xff; 2]),
        with(pages + 16, &[0, 0, 0, 0, 0]),
        with(pages + 4096 - 4096 * 2, &[0xff; 8]),
        why(&of_7("lzma", "local")),
        why(&of_7("none", "counter")),
        why(&of_7("zstd", "local")[..3000]),
        with(find(b"flyrecord\0") + 10, &[0; 64]),
    ];
    expect_test::expect![[r#"
        this trace.dat is damaged: it is cut off in its header
        this trace.dat is damaged: it is cut off in its header
        this trace.dat is damaged: the pages of CPU 3 lie beyond its end
        this trace.dat cannot be read here: it does not begin as one; `trace-cmd record -e sched` writes one
        this trace.dat cannot be read here: its version is neither 6 nor 7; `trace-cmd convert --file-version 7` writes it as another one
        this trace.dat cannot be read here: a big-endian machine wrote it; `perf sched record` and `perf script --ns` make a text that can be read
        this trace.dat is damaged: it does not describe its pages
        this trace.dat cannot be read here: it holds the text of a latency tracer; record with `trace-cmd record -e sched`
        this trace.dat is damaged: page 5 of CPU 0: it says that more of it is used than it has
        there are no events of the scheduler in it; record with `trace-cmd record -e sched`
        this trace.dat is damaged: page 4 of CPU 3: it says that more of it is used than it has
        this trace.dat is damaged: page 4 of CPU 3: its last entry is longer than the page
        this trace.dat is damaged: page 3 of CPU 3: its time is more than a century after 0
        this trace.dat cannot be read here: it is compressed with `lzma`; `trace-cmd convert --file-version 6` writes it without compression
        this trace.dat cannot be read here: its clock `counter` does not count nanoseconds; record with `trace-cmd record -C mono -e sched`
        this trace.dat is damaged: a section of it lies beyond its end
        there are no events of the scheduler in it; record with `trace-cmd record -e sched`"#]].assert_eq(&told.join("\n"));
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
        which in 0..6usize,
    ) {
        static FILES: LazyLock<[Vec<u8>; 6]> = LazyLock::new(|| {
            let [none, zlib, zstd] = PACKINGS.map(|packing| in_version_7(&SMALL, packing, "local"));
            [SMALL.clone(), none, zlib, zstd, PIPE.to_vec(), LOST.to_vec()]
        });
        let mut file = FILES[which].clone();
        for (at, byte) in changes {
            let n = if in_head { 200 } else { file.len() };
            let at = at.index(n);
            file[at] = byte;
        }
        if cut {
            file.truncate(end.index(file.len()));
        }
        let read = trace_dat::read(Cursor::new(&file), &small_machine(), Asked::default());
        let in_text = matches!(read.err(), Some(ReplayError::Line { .. }));
        prop_assert!(!in_text);
        let _ = trace_dat::cpus(Cursor::new(&file));
    }
}

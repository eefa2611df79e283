//! trace.dat, as we read it ourselves and, where it is installed, trace-cmd does.

use crate::support::{Sums, Traced, machine, output_of, small_build, small_build_of, trace};

/// A place in the file.
struct Cursor<'a>(&'a [u8]);

impl<'a> Cursor<'a> {
    fn take(&mut self, n: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        taken
    }

    fn number(&mut self, bytes: usize) -> u64 {
        self.take(bytes).iter().rev().fold(0, |n, b| n << 8 | u64::from(*b))
    }

    fn text(&mut self) -> &'a str {
        let end = self.0.iter().position(|b| *b == 0).unwrap();
        std::str::from_utf8(&self.take(end + 1)[..end]).unwrap()
    }

    fn sized(&mut self) -> &'a str {
        let n = self.number(8) as usize;
        std::str::from_utf8(self.take(n)).unwrap()
    }
}

/// The names of all commands, and where each CPU's pages are.
fn head(file: &[u8]) -> (String, Vec<(usize, usize)>) {
    let mut at = Cursor(file);
    assert_eq!(at.take(10), b"\x17\x08\x44tracing");
    assert_eq!((at.text(), at.number(1), at.number(1), at.number(4)), ("6", 0, 8, 4096));
    for name in ["header_page", "header_event"] {
        assert_eq!(at.text(), name);
        at.sized();
    }
    assert_eq!((at.number(4), at.number(4), at.text(), at.number(4)), (0, 1, "sched", 7));
    for _ in 0..7 {
        assert!(at.sized().contains("\nprint fmt: \""));
    }
    assert_eq!((at.number(4), at.number(4)), (0, 0));
    let names = at.sized().to_string();
    let n_cpus = at.number(4) as usize;
    assert_eq!(at.text(), "options  ");
    assert_eq!(at.number(2), 5);
    let n = at.number(4) as usize;
    assert_eq!(at.take(n), b"Linux small 6.4.0-schedlab x86_64\0");
    assert_eq!((at.number(2), at.text()), (0, "flyrecord"));
    let places = (0..n_cpus).map(|_| (at.number(8) as usize, at.number(8) as usize));
    (names, places.collect())
}

/// The events of a page: time and payload.
fn events(page: &[u8]) -> Vec<(u64, &[u8])> {
    let mut at = Cursor(page);
    let (mut now, used) = (at.number(8), at.number(8) as usize);
    let mut at = Cursor(&at.0[..used]);
    let mut found = Vec::new();
    while !at.0.is_empty() {
        let word = at.number(4);
        let (kind, delta) = (word & 31, word >> 5);
        now += delta;
        match kind {
            30 => now += at.number(4) << 27,
            0 => {
                let n = at.number(4) as usize - 4;
                found.push((now, at.take(n)));
            }
            words => found.push((now, at.take(4 * words as usize))),
        }
    }
    found
}

fn sums(traced: &Traced) -> (Sums, String) {
    let file = std::fs::read(traced.path("trace.dat")).unwrap();
    let (names, places) = head(&file);
    let mut all = Vec::new();
    let mut end = 0;
    for (cpu, (at, bytes)) in places.into_iter().enumerate() {
        assert!(at % 4096 == 0 && bytes % 4096 == 0);
        end = at + bytes;
        let pages = file[at..end].chunks(4096);
        all.extend(pages.flat_map(events).map(|(now, raw)| (now, cpu as u32, raw)));
    }
    assert_eq!(end, file.len());
    // Within a CPU they are in order; a stable sort keeps that.
    all.sort_by_key(|(now, ..)| *now);
    let mut sums = Sums::default();
    for (now, cpu, raw) in all {
        let int = |at: usize| u32::from_le_bytes(raw[at..at + 4].try_into().unwrap());
        sums.passes(now);
        match int(0) & 0xffff {
            310 => sums.switch(cpu, now, int(24), int(56)),
            312 => sums.wakeups += 1,
            314 => sums.migrations += 1,
            315 => sums.charged += u64::from(int(32)),
            _ => {}
        }
    }
    (sums, names)
}

#[test]
fn the_sums_of_the_pages_are_those_of_the_run() {
    let traced = trace(machine(), small_build_of(5), u64::MAX);
    let (sums, names) = sums(&traced);
    sums.must_be_those_of(&traced);
    let count = |name: &str| names.lines().filter(|l| l.split(' ').nth(1) == Some(name)).count();
    assert_eq!((count("cc1"), count("nm"), count("ar")), (60, 120, 6));
    // The stopper of CPU 0 has pid 16, the others follow.
    let stoppers: Vec<_> = names.lines().filter(|l| l.contains(" migration/")).collect();
    let n_cpus = machine().n_cpus();
    let numbered = |l: &&str| (0..n_cpus).any(|cpu| *l == format!("{} migration/{cpu}", 16 + cpu));
    assert!(!stoppers.is_empty() && stoppers.iter().all(numbered), "{stoppers:?}");
}

#[test]
fn trace_cmd_report_prints_every_event() {
    let traced = trace(machine(), small_build(), u64::MAX);
    let args = ["report", "-N", "-i", "trace.dat"];
    // Without its plugins it prints as the formats say.
    if let Some((text, warnings)) = output_of("trace-cmd", &args, traced.dir.path()) {
        assert_eq!(warnings, "");
        let events = text.lines().filter(|line| line.contains(": sched_"));
        assert_eq!(events.count() as u64, traced.totals.events);
        // Its heads have microseconds and more marks; what follows is our text.
        let (first, other) = (traced.text(), text);
        let fields = |text: &str| -> Vec<String> {
            let mut all: Vec<_> =
                text.lines().filter_map(|l| l.split_once("comm=")).map(|(_, f)| f.into()).collect();
            all.sort();
            all
        };
        assert!(fields(&first) == fields(&other));
    }
}

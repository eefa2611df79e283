//! Cache lines that one CPU writes and others read: who wrote each last, and who has read it since.
//!
//! There is a line for each runqueue (`nr_running`, `curr`, `ttwu_pending`, the load: what searches
//! and balancing read of another CPU), one for what the CPUs of an LLC share (`sd_llc_shared`), and
//! those that a policy asks for ([`World::new_line`]). A write leaves the only copy with its CPU.
//! The first read from behind an LLC brings a copy there, at the distance of the writer; until the
//! next write all reads from behind that LLC are cheap. (A line of a policy's own is written so
//! often that it is read by cores: [`World::look_at_line`].) A writer whose line others have read
//! must call their copies back first.
//!
//! The first lines have the numbers of their CPUs, so sets of CPUs are sets of lines. A line that
//! is read over and over costs a bit test; one that was written costs as much as its write did.

use crate::Ns;
use crate::World;
use topology::{CpuId, CpuPlace, Distance, DomainId, Machine, PerCpu};

/// Lines of a runqueue that its part of `struct sg_lb_stats` comes from (v6.1, v6.12): the first
/// one with `nr_running`, that of `curr`, and that of the averages of `cfs`, which has a line of
/// its own. All are written at about the same time.
const STATS_LINES: u64 = 3;

/// What a CPU has read of other CPUs' lines in one go.
///
/// Processors read ahead: a loop over many lines waits for the farthest one in full, and for the
/// others only as far as there is no room for more reads in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Reads {
    /// Sum of the transfers, ns.
    sum_ns: Ns,
    /// The longest of them, ns.
    longest_ns: Ns,
}

impl Reads {
    /// Adds a transfer that takes so many ns.
    #[inline]
    fn add(&mut self, line_ns: Ns) {
        self.sum_ns += line_ns;
        self.longest_ns = self.longest_ns.max(line_ns);
    }

    /// The wait if each of them is so many lines, with so many reads in flight at a time, ns.
    #[inline]
    fn ns(&self, n_lines: u64, in_flight: u32) -> Ns {
        if self.sum_ns == 0 {
            return 0;
        }
        self.longest_ns + (n_lines * self.sum_ns - self.longest_ns) / Ns::from(in_flight.max(1))
    }
}

/// A line that a policy has asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LineId(u32);

/// A cache line.
#[derive(Clone, Copy)]
struct Line {
    /// The [`Lines::place`] of the CPU that wrote it last.
    writer: u64,
    /// The LLCs that have a copy, as bits; beyond 64 of them several share a bit.
    holders: u64,
    /// How far away the farthest CPU is that has read it since.
    farthest: u8,
}

/// The lines of all runqueues, then those of all LLCs, then those of the policy.
pub(crate) struct Lines {
    lines: Vec<Line>,
    /// By LLC: the lines of which it has a copy, as bits.
    copies: Vec<u64>,
    /// Words of `copies` per LLC.
    n_words: usize,
    n_llcs: usize,
    /// By CPU: socket, LLC, core and CPU, [`PLACE_BITS`] each, so that the first bits that differ
    /// tell how far two CPUs are apart.
    place: PerCpu<u64>,
    /// The lines of the policy.
    own: Vec<OwnLine>,
}

/// What else is known of a line that a policy has asked for. All CPUs write it again and again, so
/// that it matters which core has read it, and not only which LLC.
struct OwnLine {
    /// When the last of the transfers that are under way ends, ns.
    busy_until: Ns,
    /// By LLC: when its copy has come, ns.
    arrived: Vec<Ns>,
    /// When it was asked for last, but for the past, ns.
    asked: Ns,
    /// The cores that have read it since it was written last, as bits; not that of the writer.
    readers: Vec<u64>,
}

const PLACE_BITS: u32 = 16;

/// `Distance as usize` of two CPUs by their places.
#[inline]
fn apart(a: u64, b: u64) -> u8 {
    // No bit differs: 64 zeros, so 0.
    4 - ((a ^ b).leading_zeros() / PLACE_BITS) as u8
}

fn place_of(cpu: CpuId, place: &CpuPlace) -> u64 {
    let fields = [place.socket, place.llc, place.core, cpu.0];
    debug_assert!(fields.iter().all(|field| field >> PLACE_BITS == 0), "{place:?}");
    fields.iter().fold(0, |key, field| key << PLACE_BITS | u64::from(*field))
}

/// The LLC in the place of a CPU.
#[inline]
fn llc_of(place: u64) -> usize {
    (place >> (2 * PLACE_BITS) & 0xffff) as usize
}

impl Lines {
    /// Every line was written by its CPU, or the first of its LLC, and nobody has read it.
    pub fn new(machine: &Machine) -> Self {
        let cpus = machine.cpus.iter().enumerate();
        let place: PerCpu<u64> = cpus.map(|(c, p)| place_of(CpuId(c as u32), p)).collect();
        let firsts = machine.llcs.iter().map(|llc| llc.first().unwrap_or(CpuId(0)));
        let writers = place.iter().copied().chain(firsts.map(|cpu| place[cpu]));
        let at_rest = |writer| Line { writer, holders: 0, farthest: 0 };
        let lines: Vec<Line> = writers.map(at_rest).collect();
        let n_words = lines.len().div_ceil(64);
        let n_llcs = machine.llcs.len();
        Self { lines, copies: vec![0; n_llcs * n_words], n_words, n_llcs, place, own: Vec::new() }
    }

    /// One more line, at rest.
    fn add(&mut self, n_cores: usize) -> LineId {
        let line = self.lines.len();
        let writer = self.place[CpuId(0)];
        self.lines.push(Line { writer, holders: 0, farthest: 0 });
        let (arrived, readers) = (vec![0; self.n_llcs], vec![0; n_cores.div_ceil(64)]);
        self.own.push(OwnLine { busy_until: 0, arrived, asked: 0, readers });
        if line / 64 == self.n_words {
            // Each LLC's row of bits becomes longer.
            let rows = self.copies.chunks(self.n_words);
            self.copies = rows.flat_map(|row| row.iter().copied().chain([0])).collect();
            self.n_words += 1;
        }
        LineId(line as u32)
    }

    /// The index in `own` of a line of the policy's.
    #[inline]
    fn own_index(&self, line: LineId) -> usize {
        line.0 as usize - (self.lines.len() - self.own.len())
    }

    /// The line of what the CPUs of an LLC share.
    #[inline]
    fn of_llc(&self, llc: u32) -> usize {
        self.place.len() + llc as usize
    }

    /// `by` writes the line. How far away (`Distance as usize`) the farthest copy is that must be
    /// called back, if it had written the line last itself; if not, it waits for the line where it
    /// takes the lock.
    #[inline]
    fn write(&mut self, line: usize, by: CpuId) -> u8 {
        let by = self.place[by];
        let l = &mut self.lines[line];
        let was_own = std::mem::replace(&mut l.writer, by) == by;
        if l.holders == 0 {
            return 0;
        }
        let farthest = std::mem::take(&mut l.farthest);
        let holders = std::mem::take(&mut l.holders);
        self.drop_copies(line, holders);
        if was_own { farthest } else { 0 }
    }

    /// None of the LLCs of these bits has a copy of the line any more.
    #[inline]
    fn drop_copies(&mut self, line: usize, holders: u64) {
        let mut left = holders;
        while left != 0 {
            let mut llc = left.trailing_zeros() as usize;
            left &= left - 1;
            while llc < self.n_llcs {
                self.copies[llc * self.n_words + line / 64] &= !(1 << (line % 64));
                llc += 64;
            }
        }
    }

    /// Has the LLC of the CPU at this place a copy of the line?
    #[inline]
    fn has_copy(&self, line: usize, place: u64) -> bool {
        self.copies[llc_of(place) * self.n_words + line / 64] >> (line % 64) & 1 == 1
    }

    /// `by` reads the lines whose bits are set in `wanted`, the first 64 and so on. With `notes`
    /// unset the reads are only thought of.
    #[inline]
    fn read(
        &mut self,
        by: CpuId,
        wanted: impl Iterator<Item = (usize, u64)>,
        line_ns: &[Ns; 5],
        notes: bool,
        reads: &mut Reads,
    ) {
        let by = self.place[by];
        let llc = llc_of(by);
        let row = &mut self.copies[llc * self.n_words..][..self.n_words];
        for (word, wanted) in wanted {
            let mut left = wanted & !row[word];
            while left != 0 {
                let line = word * 64 + left.trailing_zeros() as usize;
                let bit = left & left.wrapping_neg();
                left ^= bit;
                let line = &mut self.lines[line];
                if line.writer == by {
                    continue;
                }
                let apart = apart(line.writer, by);
                reads.add(line_ns[usize::from(apart)]);
                if notes {
                    row[word] |= bit;
                    line.holders |= 1 << (llc % 64);
                    line.farthest = line.farthest.max(apart);
                }
            }
        }
    }
}

impl World {
    /// Has a policy asked for lines of its own?
    pub fn has_own_lines(&self) -> bool {
        !self.lines.own.is_empty()
    }

    /// The executing CPU writes the line of `cpu`'s runqueue; outside of all CPUs, that one does. A
    /// CPU that writes its own line once more is charged for the copies that it calls back.
    #[inline]
    pub(crate) fn write_rq_line(&mut self, cpu: CpuId) {
        let by = if self.this.idx() < self.cpus.len() { self.this } else { cpu };
        let farthest = self.lines.write(cpu.idx(), by);
        if farthest != 0 && self.this == cpu {
            self.charge(self.times.line_ns[usize::from(farthest)]);
        }
    }

    /// The executing CPU writes what the CPUs of an LLC share.
    #[inline]
    pub fn write_llc_line(&mut self, llc: u32) {
        if self.this.idx() < self.cpus.len() {
            self.lines.write(self.lines.of_llc(llc), self.this);
        }
    }

    /// The executing CPU reads the line of `cpu`'s runqueue, in one go with `reads`. With `notes`
    /// unset the read is only thought of, and can be repeated.
    #[inline]
    pub fn read_rq_line(&mut self, cpu: CpuId, reads: &mut Reads, notes: bool) {
        self.read_line(cpu.idx(), reads, notes);
    }

    /// The same for what the CPUs of an LLC share.
    #[inline]
    pub fn read_llc_line(&mut self, llc: u32, reads: &mut Reads, notes: bool) {
        self.read_line(self.lines.of_llc(llc), reads, notes);
    }

    #[inline]
    fn read_line(&mut self, line: usize, reads: &mut Reads, notes: bool) {
        let Some(&place) = self.lines.place.get(self.this.idx()) else {
            return;
        };
        // Most lines are there.
        if !self.lines.has_copy(line, place) && self.lines.lines[line].writer != place {
            let wanted = std::iter::once((line / 64, 1 << (line % 64)));
            self.lines.read(self.this, wanted, &self.times.line_ns, notes, reads);
        }
    }

    /// The executing CPU reads the lines of the runqueues of an LLC, those after `first` up to
    /// `last`, or around the end if that comes before.
    #[inline]
    pub fn read_llc_rqs(
        &mut self,
        llc: u32,
        first: CpuId,
        last: CpuId,
        reads: &mut Reads,
        notes: bool,
    ) {
        let words = self.machine.llcs[llc as usize].words().iter().enumerate();
        let wanted = words.map(|(word, cpus)| (word, cpus & between(word, first, last)));
        if self.this.idx() < self.cpus.len() {
            self.lines.read(self.this, wanted, &self.times.line_ns, notes, reads);
        }
    }

    /// The executing CPU reads what balancing wants to know of the CPUs of a domain, but for so
    /// many that are struck off (their lines were read just before): the time that takes, ns.
    pub fn read_domain(&mut self, domain: DomainId, n_removed: usize) -> Ns {
        let machine = &self.machine;
        let domain = &machine.domains.domains[domain];
        let mut reads = Reads::default();
        let words = domain.span.words().iter().copied().enumerate();
        self.lines.read(self.this, words, &self.times.line_ns, true, &mut reads);
        let n_cpus = (domain.cpus.len() - n_removed) as u64;
        n_cpus * machine.costs.lb_cpu_ns + reads.ns(STATS_LINES, machine.caches.mlp)
    }

    /// One read of `cpu`'s runqueue on its own: its wait is charged to the executing CPU, to which
    /// its own line comes with the lock.
    #[inline]
    pub fn look_at_rq(&mut self, cpu: CpuId) {
        if cpu != self.this {
            let mut reads = Reads::default();
            self.read_rq_line(cpu, &mut reads, true);
            self.charge(reads.sum_ns);
        }
    }

    /// A line of the policy's own. To be called before the run begins.
    pub fn new_line(&mut self) -> LineId {
        self.lines.add(self.machine.cores.len())
    }

    /// The executing CPU adds to a number in a line with an atomic instruction, for which the line
    /// has to come from the CPU that wrote it last, and all copies are called back. Several CPUs
    /// that do so at once are served one after the other, first come, first served.
    pub fn add_to_line(&mut self, line: LineId) {
        let this = self.this;
        if this.idx() >= self.cpus.len() {
            return;
        }
        let i = line.0 as usize;
        let before = self.lines.lines[i];
        let distance = apart(before.writer, self.lines.place[this]).max(before.farthest);
        self.lines.write(i, this);
        let ns = self.times.line_ns[usize::from(distance)] + self.machine.locks.fast_ns;
        let own = self.lines.own_index(line);
        self.lines.own[own].readers.fill(0);
        let wait_ns = self.take_turn_at_home(own, ns);
        self.counters.line_write_wait_ns += wait_ns;
        self.charge(wait_ns);
    }

    /// The executing CPU asks for a line of the policy's, whose home serves all that do one after
    /// the other; its own turn takes so long. The time until it is over, ns.
    fn take_turn_at_home(&mut self, own: usize, ns: Ns) -> Ns {
        let now = self.now;
        // What the path was charged before passes before.
        let at = now + self.cpus[self.this].carry;
        let own = &mut self.lines.own[own];
        // A tick that is replayed asks for it in the past. What was asked for since then did not
        // make it wait, and does not wait for it.
        if now < own.asked {
            return ns;
        }
        own.asked = now;
        own.busy_until = own.busy_until.max(at) + ns;
        own.busy_until - at
    }

    /// The executing CPU reads a number in a line of the policy's, and waits for it: once for each
    /// core and write. The first reader behind an LLC has it from the cache of the core that wrote
    /// it, in turn with additions and other such readers. Those after it have it from the LLC,
    /// once it is there.
    pub fn look_at_line(&mut self, line: LineId) {
        let this = self.this;
        let Some(&place) = self.lines.place.get(this.idx()) else {
            return;
        };
        let i = line.0 as usize;
        let apart_from_writer = apart(self.lines.lines[i].writer, place);
        let core = self.machine.cpus[this].core as usize;
        let own = self.lines.own_index(line);
        let readers = &mut self.lines.own[own].readers[core / 64];
        let bit = 1 << (core % 64);
        if apart_from_writer <= Distance::Smt as u8 || *readers & bit != 0 {
            return;
        }
        *readers |= bit;
        let at = self.now + self.cpus[this].carry;
        let wait_ns = if self.lines.has_copy(i, place) {
            let own = &self.lines.own[own];
            let there = if self.now < own.asked { 0 } else { own.arrived[llc_of(place)] };
            there.saturating_sub(at) + self.times.line_ns[Distance::Llc as usize]
        } else {
            let mut reads = Reads::default();
            self.read_line(i, &mut reads, true);
            let wait_ns = self.take_turn_at_home(own, reads.sum_ns);
            self.lines.own[own].arrived[llc_of(place)] = at + wait_ns;
            wait_ns
        };
        self.counters.line_read_wait_ns += wait_ns;
        self.charge(wait_ns);
    }

    /// Time of a search that has looked at so many CPUs and has read these lines, ns.
    #[inline]
    pub fn scan_ns(&self, n_cpus: u64, reads: &Reads) -> Ns {
        let machine = &self.machine;
        n_cpus * machine.costs.scan_cpu_ns + reads.ns(1, machine.caches.stream_mlp)
    }
}

/// Of the `word`th 64 CPUs those after `first`, up to `last`; around the end if that comes before.
#[inline]
fn between(word: usize, first: CpuId, last: CpuId) -> u64 {
    let up_to = |cpu: CpuId| match (word * 64 + 63).checked_sub(cpu.idx()) {
        None => !0,
        Some(above) => (!0_u64).checked_shr(above as u32).unwrap_or(0),
    };
    let (after, until) = (!up_to(first), up_to(last));
    if first < last { after & until } else { after | until }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Config;
    use proptest::prelude::*;
    use topology::RegularSpec;

    /// The obvious model: a line's story, of which all is looked at again each time.
    #[derive(Clone)]
    struct Story {
        writer: CpuId,
        readers: Vec<CpuId>,
    }

    fn machine(sockets: u32, llcs_per_socket: u32, cores_per_llc: u32) -> Machine {
        let spec = RegularSpec { sockets, llcs_per_socket, cores_per_llc, ..Default::default() };
        Machine::regular(spec)
    }

    fn farthest(machine: &Machine, story: &Story) -> Distance {
        let all = story.readers.iter().map(|r| (story.writer, *r));
        all.map(|(w, r)| machine.distance(w, r)).max().unwrap_or(Distance::Same)
    }

    proptest! {
        /// Who must fetch which line, and what a write calls back, follow from the story of the
        /// line; also with more LLCs and lines than a word has bits.
        #[test]
        fn lines_are_where_their_stories_say(
            many: bool,
            steps in prop::collection::vec((0u32..3, 0usize..1000, 0u32..1000), 1..200),
        ) {
            let machine = if many { machine(2, 40, 1) } else { machine(2, 2, 3) };
            let n_cpus = machine.n_cpus() as u32;
            let mut lines = Lines::new(&machine);
            let new = |writer| Story { writer, readers: Vec::new() };
            let cpus = (0..n_cpus).map(CpuId);
            let firsts = machine.llcs.iter().map(|llc| llc.first().unwrap());
            let mut stories: Vec<Story> = cpus.chain(firsts).map(new).collect();
            let line_ns = [0, 10, 200, 3000, 40_000];
            for (what, line, by) in steps {
                // Few lines, so that steps meet.
                let line = line * 31 % stories.len() / 20 * 20;
                let by = CpuId(by % n_cpus);
                let story = &mut stories[line];
                if what == 0 {
                    let own = story.writer == by;
                    let far = if own { farthest(&machine, story) } else { Distance::Same };
                    prop_assert_eq!(lines.write(line, by), far as u8);
                    *story = new(by);
                    continue;
                }
                let near = |r: &CpuId| machine.cpus[*r].llc == machine.cpus[by].llc;
                let must = story.writer != by && !story.readers.iter().any(near);
                let away = machine.distance(story.writer, by);
                let mut reads = Reads::default();
                let wanted = (line / 64, 1 << (line % 64));
                lines.read(by, std::iter::once(wanted), &line_ns, what == 1, &mut reads);
                prop_assert_eq!(reads.sum_ns, if must { line_ns[away as usize] } else { 0 });
                if must && what == 1 {
                    story.readers.push(by);
                }
            }
        }

        /// Between two CPUs, around the end if need be: one by one.
        #[test]
        fn a_range_of_cpus_is_cut_into_words(first in 0u32..200, last in 0u32..200) {
            let (first_cpu, last_cpu) = (CpuId(first), CpuId(last));
            let bit = |c: &u32| between(*c as usize / 64, first_cpu, last_cpu) >> (c % 64) & 1 == 1;
            let set: Vec<u32> = (0..200).filter(bit).collect();
            let is_in = |c: &u32| match first < last {
                true => *c > first && *c <= last,
                false => *c > first || *c <= last,
            };
            prop_assert_eq!(set, (0..200).filter(is_in).collect::<Vec<u32>>());
        }
    }

    #[test]
    fn the_farthest_line_is_waited_for_and_others_overlap() {
        let mut reads = Reads::default();
        assert_eq!(reads.ns(3, 5), 0);
        reads.add(100);
        assert_eq!((reads.ns(1, 5), reads.ns(3, 5)), (100, 100 + 200 / 5));
        (0..10).for_each(|_| reads.add(20));
        assert_eq!((reads.ns(1, 5), reads.ns(1, 1)), (100 + 200 / 5, 300));
    }

    #[test]
    fn a_cpu_pays_for_what_others_wrote_and_for_calling_its_own_line_back() {
        let machine = machine(2, 2, 2);
        let ns = machine.line.ns.map(Ns::from);
        let mut w = World::new(machine.into(), Config::default());
        let mut paid = |by: u32, what: &dyn Fn(&mut World)| {
            w.this = CpuId(by);
            what(&mut w);
            std::mem::take(&mut w.cpus[CpuId(by)].carry)
        };
        let look = |cpu| move |w: &mut World| w.look_at_rq(CpuId(cpu));
        let count = |n| move |w: &mut World| w.set_nr_running(CpuId(0), n);
        let [_, _, llc, _, socket] = ns;
        // CPU 1 is on another core behind the LLC of CPU 0, 9 beside it; 4 on the other socket.
        assert_eq!(paid(1, &look(0)), llc);
        assert_eq!([paid(1, &look(0)), paid(9, &look(0))], [0, 0], "a copy is there");
        assert_eq!(paid(4, &look(0)), socket);
        assert_eq!(paid(0, &count(1)), socket, "the farthest copy is called back");
        assert_eq!(paid(0, &count(2)), 0, "no copy is left");
        assert_eq!(paid(1, &look(0)), llc);
        assert_eq!(paid(4, &count(3)), 0, "it pays with the lock and the lines of its enqueue");
        assert_eq!([paid(4, &look(0)), paid(1, &look(0))], [0, socket]);
    }
    #[test]
    fn cpus_that_add_to_one_number_at_once_are_served_one_after_the_other() {
        let machine = machine(2, 2, 2);
        let fast = machine.locks.fast_ns;
        let ns = machine.line.ns.map(Ns::from);
        let [_, _, llc, _, socket] = ns;
        let mut w = World::new(machine.into(), Config::default());
        let lines = [0; 100].map(|_| w.new_line());
        let mut paid = |at: Ns, by: u32, line: usize, adds: bool| {
            (w.now, w.this) = (at, CpuId(by));
            if adds {
                w.add_to_line(lines[line])
            } else {
                w.look_at_line(lines[line])
            }
            std::mem::take(&mut w.cpus[CpuId(by)].carry)
        };
        assert_eq!(paid(0, 0, 99, true), fast, "the line is there");
        assert_eq!(paid(fast, 1, 99, true), fast + llc);
        assert_eq!(paid(fast, 4, 99, true), 2 * fast + llc + socket, "behind the one before");
        assert_eq!(paid(fast, 4, 98, true), fast + socket, "another line is not busy");
        let later = 10_000;
        assert_eq!([paid(later, 4, 99, false), paid(later, 0, 99, false)], [0, socket]);
        let after_0 = socket + llc;
        assert_eq!(paid(later, 1, 99, false), after_0, "the LLC waits for its copy");
        assert_eq!([paid(later, 9, 99, false), paid(later, 0, 99, false)], [0, 0], "per core");
        let later = 20_000;
        assert_eq!(paid(later, 4, 99, true), fast + socket, "the copies are called back");
        let again = fast + socket + socket;
        assert_eq!(paid(later, 0, 99, false), again, "the reader waits for the writer");
        assert_eq!(paid(later, 4, 99, true), again + fast + socket, "who waits for the reader");
    }

    #[test]
    fn what_is_behind_an_llc_waits_for_nobody_and_a_step_pays_once() {
        let machine = machine(3, 1, 4);
        let fast = machine.locks.fast_ns;
        let [_, _, llc, _, socket] = machine.line.ns.map(Ns::from);
        let mut w = World::new(machine.into(), Config::default());
        let line = w.new_line();
        let step = |w: &mut World, at: Ns, by: u32, what: &[bool]| {
            (w.now, w.this) = (at, CpuId(by));
            let ask = |adds: &bool| if *adds { w.add_to_line(line) } else { w.look_at_line(line) };
            what.iter().for_each(ask);
            std::mem::take(&mut w.cpus[CpuId(by)].carry)
        };
        let (add, look) = (true, false);
        assert_eq!(step(&mut w, 0, 0, &[add, add]), 2 * fast, "twice in one step");
        let at = 10_000;
        // The first CPUs of the other sockets; then a second one of each.
        assert_eq!(step(&mut w, at, 4, &[look]), socket);
        assert_eq!(step(&mut w, at, 8, &[look, look]), 2 * socket);
        assert_eq!(step(&mut w, at, 5, &[look]), socket + llc, "its LLC's copy came first");
        assert_eq!(step(&mut w, at, 9, &[look]), 2 * socket + llc);
        assert_eq!(step(&mut w, at + 2 * socket, 10, &[look]), llc);
        assert_eq!(step(&mut w, at - 1, 8, &[add]), fast + socket, "a replayed tick");
        assert_eq!(step(&mut w, at + 2 * socket, 4, &[add]), fast + socket, "and delays nobody");
    }

    #[test]
    fn waits_for_lines_of_the_policy_are_counted() {
        let mut w = World::new(machine(2, 2, 2).into(), Config::default());
        assert!(!w.has_own_lines());
        let line = w.new_line();
        assert!(w.has_own_lines());
        for cpu in [4, 0, 5] {
            w.this = CpuId(cpu);
            w.add_to_line(line);
            w.look_at_line(line);
        }
        let written: Ns = [4, 0, 5].map(|cpu| w.cpus[CpuId(cpu)].carry).into_iter().sum();
        assert_eq!((w.counters.line_write_wait_ns, w.counters.line_read_wait_ns), (written, 0));
        w.look_at_line(line);
        w.this = CpuId(1);
        w.look_at_line(line);
        assert_eq!(w.counters.line_read_wait_ns, w.cpus[CpuId(1)].carry);
        assert!(w.counters.line_read_wait_ns > 0 && w.counters.line_write_wait_ns == written);
    }
}

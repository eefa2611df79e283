//! Whether timers end a thread's sleeps, told by how alike the sleeps are.
//!
//! The text of `perf script` does not tell an interrupt from a wake-up by the thread that it hit.
//! But a timer fires on the CPU where its thread went to sleep. It fires after the same time, or in
//! the same rhythm, again and again, whatever thread runs there. Nanosleeps that were recorded on a
//! busy guest differ by 9 us (1 in 20 by more). Waits for a lock or for an answer differ by much of
//! their length.

use sim_core::Ns;

/// Spans are alike if they differ by no more than this, ns, or than 1/64 of them if that is less.
const ALIKE_NS: Ns = 10_000;
const ALIKE_PART: Ns = 64;
/// Shorter waits are alike by chance, ns.
const SHORTEST_NS: Ns = 200_000;
/// So many alike spans make a pattern.
const HABIT: u8 = 4;
/// No more alike spans are counted, so that a pattern that has become rare is soon forgotten.
const SEEN_MAX: u8 = 16;
/// If a pattern's sleeps ended so often beside another thread than the first, no thread ends them.
const OTHERS: u8 = 2;
/// If so many of the last eight sleeps are a pattern, or of a usual length, this one is, too.
const MOSTLY: u32 = 6;
/// A thread with a timer has so many times as many sleeps that end where they began.
const HERE_AT_LEAST: u32 = 3;
/// Habits that a thread may have at a time.
const HABITS: usize = 4;
/// A thread that is late for a period waits for one of the next: so many are tried.
const PERIODS: u64 = 4;

/// Stands for the thread that ran when a sleep ended if the CPU was idle.
pub(super) const NOBODY: u32 = u32::MAX;

/// Spans of time that are alike: lengths of sleeps, or gaps between their ends.
#[derive(Clone, Copy, Default)]
struct Span {
    /// The last one, ns.
    ns: Ns,
    seen: u8,
    /// The thread that ran when the first one ended, or [`NOBODY`].
    beside: u32,
    /// How many ended beside another thread.
    others: u8,
}

impl Span {
    /// By what factor it is in `ns`, give or take a little.
    fn times_in(&self, ns: Ns, multiples: u64) -> Option<u64> {
        let near = ALIKE_NS.min(ns / ALIKE_PART);
        (1..=multiples).find(|n| self.seen > 0 && ns.abs_diff(n * self.ns) <= near)
    }
}

/// The most frequent spans, as far as so few can tell (Misra and Gries 1982).
#[derive(Clone, Copy, Default)]
struct Spans {
    spans: [Span; HABITS],
    /// The place of the last one; `None` if it had none.
    last: Option<usize>,
}

impl Spans {
    /// Takes one more. `None` if it is no pattern, nor a multiple of one. Otherwise: true if the
    /// pattern goes on whatever thread runs.
    fn see(&mut self, ns: Ns, beside: u32, multiples: u64) -> Option<bool> {
        self.last = self.place_of(ns, beside, multiples);
        let span = &mut self.spans[self.last?];
        span.seen = SEEN_MAX.min(span.seen + 1);
        span.others = SEEN_MAX.min(span.others + u8::from(span.beside != beside));
        (span.seen >= HABIT).then_some(span.others >= OTHERS)
    }

    /// The place of a span: with those that it is like, or a free one. If there is neither, all
    /// patterns become a little rarer.
    fn place_of(&mut self, ns: Ns, beside: u32, multiples: u64) -> Option<usize> {
        if ns < SHORTEST_NS {
            return None;
        }
        let alike = (0..HABITS).find_map(|i| Some((i, self.spans[i].times_in(ns, multiples)?)));
        if let Some((i, times)) = alike {
            if times == 1 {
                self.spans[i].ns = ns;
            }
            return Some(i);
        }
        let free = self.spans.iter().position(|s| s.seen == 0);
        match free {
            Some(i) => self.spans[i] = Span { ns, beside, ..Span::default() },
            None => self.spans.iter_mut().for_each(|s| s.seen -= 1),
        }
        free
    }

    /// The last one does not count, nor do others of its kind.
    fn forget_last(&mut self) {
        if let Some(i) = self.last.take() {
            let span = &mut self.spans[i];
            span.seen = span.seen.saturating_sub(HABIT);
            span.others = span.others.saturating_sub(OTHERS);
        }
    }
}

/// What the end of a sleep looks like.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct End {
    /// The sleep was as long as others of the thread, or nearly all of its sleeps are alike.
    pub repeats: bool,
    /// A timer ended it: its pattern goes on whatever thread runs, or nearly all sleeps have one.
    pub is_timer: bool,
    /// It ended in the rhythm in which others of the thread ended.
    pub in_rhythm: bool,
}

/// How a thread's sleeps have ended so far.
#[derive(Clone, Copy, Default)]
pub(super) struct SleepPattern {
    lengths: Spans,
    gaps: Spans,
    last_end: Ns,
    /// Long sleeps that ended on the CPU where they began, and those that ended on another one:
    /// no timer ended those.
    here: u32,
    elsewhere: u32,
    /// One of its patterns has gone on whatever thread ran: it has a timer.
    several: bool,
    /// Since that is known: all sleeps, those that timers ended, and those as long as others.
    n: u32,
    n_timers: u32,
    n_repeat: u32,
    /// The last eight sleeps, a bit each: whether it was a pattern, and whether of a usual length.
    lately: u8,
    lengths_lately: u8,
}

impl SleepPattern {
    /// A sleep of this length ends at this instant, on the CPU where it began. The thread `beside`,
    /// or [`NOBODY`], runs there.
    pub(super) fn sleep_ends(&mut self, slept: Ns, at: Ns, beside: u32) -> End {
        let gap = at - std::mem::replace(&mut self.last_end, at);
        let length = self.lengths.see(slept, beside, 1);
        let rhythm = self.gaps.see(gap, beside, PERIODS);
        self.here += u32::from(slept >= SHORTEST_NS);
        // In a crowd that takes turns sleeps are alike by chance, but they end on any CPU.
        let mostly_here = self.here >= HERE_AT_LEAST * self.elsewhere;
        self.several |= mostly_here && (length == Some(true) || rhythm == Some(true));
        let like_a_timer = self.several && (length.is_some() || rhythm.is_some());
        self.lately = self.lately << 1 | u8::from(like_a_timer);
        self.lengths_lately = self.lengths_lately << 1 | u8::from(length.is_some());
        let mostly = slept >= SHORTEST_NS && self.lately.count_ones() >= MOSTLY;
        let repeats = length.is_some() || self.lengths_lately.count_ones() >= MOSTLY;
        let is_timer = like_a_timer || mostly;
        self.n += u32::from(self.several);
        self.n_timers += u32::from(is_timer);
        self.n_repeat += u32::from(repeats && self.several);
        End { repeats, is_timer, in_rhythm: rhythm.is_some() }
    }

    /// A sleep ends, and no timer ended it. `elsewhere`: because it ended on another CPU.
    pub(super) fn other_end(&mut self, slept: Ns, elsewhere: bool) {
        (self.lengths.last, self.gaps.last) = (None, None);
        self.elsewhere += u32::from(elsewhere && slept >= SHORTEST_NS);
    }

    /// The thread that ran at the end of the last sleep ended it, for certain. It may have ended
    /// those that are like it, too, so they do not count.
    pub(super) fn was_ended_by_a_thread(&mut self) {
        self.lengths.forget_last();
        self.gaps.forget_last();
    }

    /// True if a sleep of this length may still turn out to have been ended by a timer.
    pub(super) fn may_become_known(&self, slept: Ns) -> bool {
        slept >= SHORTEST_NS && !self.several
    }

    /// What the sleeps were that ended before the thread was known to have a timer. `None` if
    /// timers did not end nearly all of the later ones. Otherwise timers ended the first ones, too;
    /// true if most sleeps were of a usual length.
    pub(super) fn first_repeat(&self) -> Option<bool> {
        let nearly_all = self.n_timers >= u32::from(HABIT) && 4 * self.n_timers >= 3 * self.n;
        nearly_all.then_some(2 * self.n_repeat >= self.n)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Ns = 1_000_000;

    /// The ends of sleeps (`slept`, `ran before`, `beside`), one after another.
    fn ends(sleeps: impl IntoIterator<Item = (Ns, Ns, u32)>) -> Vec<End> {
        let (mut pattern, mut at) = (SleepPattern::default(), 0);
        let end = |(slept, ran, beside)| {
            at += slept + ran;
            pattern.sleep_ends(slept, at, beside)
        };
        sleeps.into_iter().map(end).collect()
    }

    /// An irregular number of ns below 10 000.
    fn noise(i: u64) -> Ns {
        i * 7919 % 9973
    }

    #[test]
    fn sleeps_as_long_as_ever_are_timers_whoever_runs() {
        let sleeps = |who: fn(u64) -> u32| {
            ends((0..9).map(|i| (MS + noise(i), 300_000 * (i % 5 + 1), who(i))))
        };
        let of = |ends: &[End]| ends.iter().map(|e| (e.repeats, e.is_timer)).collect::<Vec<_>>();
        let (not_yet, from_the_fourth) = ([(false, false); 3], [(true, true); 6]);
        assert_eq!(of(&sleeps(|i| i as u32 % 2)), [&not_yet[..], &from_the_fourth].concat());
        // With the same one always beside it, that one may have ended them.
        assert_eq!(of(&sleeps(|_| 7)), [&not_yet[..], &[(true, false); 6]].concat());
    }

    #[test]
    fn waits_of_other_lengths_are_no_timers() {
        let ran = |i| 300_000 + 89 * noise(i + 3) % 900_000;
        let waits = |i| (400_000 + 97 * noise(i) % 900_000, ran(i), i as u32 % 3);
        let n = ends((0..10_000).map(waits)).iter().filter(|e| e.is_timer).count();
        assert!(n < 200, "{n} of 10000");
        // Nor are short ones.
        let short = ends((0..50).map(|i| (100_000, ran(i), i as u32)));
        assert!(short.iter().all(|e| *e == End::default()), "{short:?}");
    }

    #[test]
    fn strays_at_the_beginning_are_forgotten() {
        let strays = [3, 7, 11].map(|ms| (ms * MS, 200_000, 1));
        let naps =
            (0..40).map(|i| ([500_000, 900_000][i % 2], 77_000 * (i as u64 % 7), i as u32 % 3));
        let ended = ends(strays.into_iter().chain(naps));
        assert!(ended[20..].iter().all(|e| e.repeats && e.is_timer), "{ended:?}");
    }

    #[test]
    fn who_sleeps_at_once_after_a_wake_up_has_woken() {
        let mut pattern = SleepPattern::default();
        for i in 1..50 {
            let end = pattern.sleep_ends(MS, i * 2 * MS, i as u32 % 3);
            assert_eq!((i, end.is_timer), (i, false));
            pattern.was_ended_by_a_thread();
        }
        // That is about the sleep that was looked at last, and once.
        for i in 50..60 {
            pattern.sleep_ends(MS, i * 2 * MS, i as u32 % 3);
            pattern.other_end(0, false);
            pattern.was_ended_by_a_thread();
        }
        assert!(!pattern.may_become_known(MS));
    }

    #[test]
    fn who_is_often_woken_from_elsewhere_has_no_timer() {
        let ends = |elsewhere: u64| {
            let mut pattern = SleepPattern::default();
            let mut end = |i: u64| {
                if i % 4 < elsewhere {
                    pattern.other_end(MS, true);
                    return false;
                }
                pattern.sleep_ends(MS, i * 2 * MS, i as u32 % 3).is_timer
            };
            (1..40).filter(|i| end(*i)).count()
        };
        assert_eq!([ends(0) > 30, ends(1) > 20, ends(2) > 0], [true, true, false]);
    }

    #[test]
    fn one_exception_makes_no_timer_of_a_thread_that_is_always_woken_by_the_same_one() {
        let pipe = ends((0..500).map(|i| (MS, MS, if i == 250 { 2 } else { 1 })));
        assert!(pipe.iter().all(|e| !e.is_timer));
    }

    #[test]
    fn a_nanosleep_that_ended_late_is_still_one() {
        let late = |i| if i % 10 == 9 { 60_000 } else { 0 };
        let ended = ends((0..60).map(|i| (MS + late(i), 77_000 * (i % 7), i as u32 % 3)));
        assert!(ended[8..].iter().all(|e| e.repeats && e.is_timer), "{ended:?}");
    }

    #[test]
    fn a_rhythm_is_a_timer_even_if_a_beat_is_missed() {
        let ran = |i: u64| (1 + i * 37 % 50) * 70_000;
        let period = |i: u64| if i % 5 == 4 { 12 * MS } else { 4 * MS };
        let beats = ends((0..20).map(|i| (period(i) - ran(i), ran(i), i as u32 % 2)));
        assert!(beats[6..].iter().all(|e| e.is_timer), "{beats:?}");
    }

    #[test]
    fn a_habit_outlives_other_waits_in_between() {
        let waits = (0..60).map(|i| match i % 3 {
            0 => (700_000, 50_000, i as u32 % 4),
            _ => (300_000 + i * i * 911, 90_000, 1),
        });
        let ended = ends(waits);
        assert!(ended.iter().skip(15).step_by(3).all(|e| e.is_timer), "{ended:?}");
    }
}

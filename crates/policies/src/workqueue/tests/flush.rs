//! The promise of a flush, told in the order of events: all that was queued before it began has
//! been executed when it ends.

use super::{Do, Event, MS, Rig, US, burst, items, run, starts, unbound};
use crate::workqueue::{Kind, Scope, WqSpec};
use sim_core::{Ns, Op};

/// Checks each flush of a run; the first broken promise, in words.
pub(super) fn check_flushes(rig: &Rig) -> Result<(), String> {
    let n = rig.items.len();
    let (mut queued, mut ended) = (vec![0; n], vec![0; n]);
    // By driver: how often each item is to have ended.
    let mut promised: Vec<Option<Vec<u32>>> = vec![None; rig.drivers.len()];
    for event in &rig.events {
        match *event {
            // Whose queueing ends late may be overtaken by the next one of the item.
            Event::Queued { work, nth } => {
                queued[work as usize] = nth.max(queued[work as usize]);
            }
            Event::Ended(work) => ended[work as usize] += 1,
            Event::FlushBegins { driver, of } => {
                let flushed = |work| of.is_none_or(|of| of as usize == work);
                let counts = (0..n).map(|work| if flushed(work) { queued[work] } else { 0 });
                promised[driver] = Some(counts.collect());
            }
            Event::FlushEnds { driver } => {
                let promised = promised[driver].take().ok_or("a flush ends that never began")?;
                if let Some(work) = (0..n).find(|work| ended[*work] < promised[*work]) {
                    let (promised, ended) = (promised[work], ended[work]);
                    return Err(format!(
                        "driver {driver}: item {work} queued {promised} times, ended {ended} times"
                    ));
                }
            }
        }
    }
    if queued != ended || promised.iter().any(Option::is_some) {
        return Err(format!("queued {queued:?}, ended {ended:?}, flushes left: {promised:?}"));
    }
    Ok(())
}

#[test]
fn a_flush_waits_for_what_was_queued_before_it_and_for_nothing_else() {
    let mut drive = burst(0, MS, 4);
    drive.1.extend([Do::FlushAll, Do::Flush(4), Do::Queue(4), Do::Flush(4)]);
    let late = vec![Do::Op(Op::Sleep(2 * MS)), Do::Queue(5)];
    let mut lengths = items(6, 3 * MS);
    lengths[5] = vec![Op::Kernel(100 * MS)];
    let sim = run(Rig::new(unbound(Scope::Cache), lengths, vec![drive, (6, late)]));
    let done = &sim.program.done[0];
    let log = starts(&sim);
    let ended = |work: u32| log.iter().find(|r| r.work == work).unwrap().to;
    let last = (0..4).map(ended).max().unwrap();
    assert!(done[5] >= last && done[5] < last + 100 * US, "{done:?} {log:?}");
    // Nothing to flush: at once.
    assert!(done[6] < done[5] + 10 * US, "{done:?}");
    assert!(done[8] >= ended(4) && done[8] < ended(4) + 100 * US, "{done:?} {log:?}");
}

/// A driver fills the only place of a pwq and queues one more item, which goes behind; one on
/// another CPU begins a flush after it has worked for `ns`. When the queueing was over, when the
/// flush began and ended, and the run.
fn flush_after(ns: Ns, cpus: (u32, u32)) -> (Ns, Ns, Ns, Rig) {
    let spec = WqSpec { max_active: 1, ..WqSpec::new("bound", Kind::Bound) };
    let queues = vec![Do::Queue(0), Do::Op(Op::Sleep(MS)), Do::Queue(1)];
    let flushes = vec![Do::Op(Op::Kernel(ns)), Do::FlushAll];
    let drivers = vec![(cpus.0, queues), (cpus.1, flushes)];
    let rig = run(Rig::new(spec, items(2, 5 * MS), drivers)).program;
    (rig.done[0][2], rig.done[1][0], rig.done[1][1], rig)
}

/// Whether a flush waits for an item that is queued at its instant, or a nanosecond after or
/// before.
fn waits_around_the_instant(cpus: (u32, u32)) -> [bool; 3] {
    let mut tie = MS;
    // A tick may lie between, so the instant is approached.
    for _ in 0..3 {
        let (queued, began, ..) = flush_after(tie, cpus);
        tie = tie + queued - began;
    }
    [tie - 1, tie, tie + 1].map(|ns| {
        let (queued, began, ended, rig) = flush_after(ns, cpus);
        assert_eq!(began + tie, queued + ns, "one instant in the middle run");
        assert_eq!(check_flushes(&rig), Ok(()));
        let item = rig.log.iter().find(|r| r.work == 1).expect("it is executed");
        ended >= item.to
    })
}

#[test]
fn of_a_queueing_and_a_flush_at_one_nanosecond_the_first_is_first() {
    // Here the flush is: it does not wait for what is queued after it began.
    assert_eq!(waits_around_the_instant((6, 0)), [false, false, true]);
    assert_eq!(waits_around_the_instant((0, 6)), [false, true, true]);
}

#[test]
fn a_flush_that_ends_early_is_found_out() {
    let mut rig = flush_after(2 * MS, (0, 6)).3;
    let is_end = |event: &Event| matches!(event, Event::FlushEnds { .. });
    let end = rig.events.iter().position(is_end).expect("the flush ends");
    // It has waited for the item that ended just before.
    assert!(matches!(rig.events[end - 1], Event::Ended(1)), "{:?}", rig.events);
    rig.events.swap(end - 1, end);
    let early = "driver 1: item 1 queued 1 times, ended 0 times";
    assert_eq!(check_flushes(&rig), Err(early.to_string()));
}

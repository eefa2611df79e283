//! Yields to another thread, which are switches, and to nobody, which only charges show.

use super::{machine, script};
use crate::replay::{Asked, read};
use workloads::replay::Act;

/// `a` and `b` yield to each other so often; then `b` sleeps, and `a` does this alone.
fn yields_of_a(to_each_other: u64, alone: &str) -> usize {
    let mut lines = String::from("0 0 switch swapper/0 R a/10\n");
    for i in 0..2 * to_each_other {
        let [from, to] = [["a/10", "b/11"], ["b/11", "a/10"]][i as usize % 2];
        let at = 3 * i + 3;
        lines += &format!("0 {at} runtime {from} 3\n0 {at} switch {from} R {to}\n");
    }
    let at = 6 * to_each_other;
    lines += &format!("0 {} switch a/10 R b/11\n", at + 3);
    lines += &format!("0 {} switch b/11 S a/10\n", at + 5);
    for line in alone.lines() {
        let (us, what) = line.trim().split_once(' ').unwrap();
        lines += &format!("0 {} {what}\n", at + us.parse::<u64>().unwrap());
    }
    let recording = read(script(&lines).as_bytes(), &machine(), Asked::default()).unwrap();
    let all = recording.threads[0].acts.iter().filter(|act| matches!(act, Act::Yield)).count();
    all - to_each_other as usize - 1
}

const CHARGES: &str = "8 runtime a/10 3
                       11 runtime a/10 3
                       14 runtime a/10 3
                       17 runtime a/10 3
                       17 switch a/10 S swapper/0";

#[test]
fn who_yields_to_nobody_is_charged_for_no_other_reason() {
    // The last charge is that of the dequeue.
    assert_eq!(yields_of_a(20, CHARGES), 3);
    // Who has hardly yielded reads its CPU time, perhaps.
    assert_eq!(yields_of_a(10, CHARGES), 0);
}

/// Newidle balance of a CPU that goes idle unseen may charge another task first.
#[test]
fn what_comes_between_a_dequeue_and_its_switch_tells_nothing() {
    let text = |next: &str| format!("8 runtime a/10 3\n11 runtime a/10 3\n{next}");
    assert_eq!(yields_of_a(20, &text("12 switch a/10 S swapper/0")), 1);
    assert_eq!(yields_of_a(20, &text("40 runtime b/11 3")), 1);
}

#[test]
fn ticks_and_wake_ups_charge_threads_as_well() {
    let tick = "4010 runtime a/10 4005
                4020 switch a/10 S swapper/0";
    assert_eq!(yields_of_a(20, tick), 0);
    // A period later there is another one, and 2 ms later there is none.
    let ticks = "4010 runtime a/10 4005
                 8010 runtime a/10 90
                 8020 runtime a/10 10
                 8021 switch a/10 S swapper/0";
    assert_eq!(yields_of_a(20, ticks), 0);
    let none = "4010 runtime a/10 4005
                6010 runtime a/10 90
                6020 runtime a/10 10
                6021 switch a/10 S swapper/0";
    assert_eq!(yields_of_a(20, none), 1);
    let wakes = "8 waking c/12 2
                 9 runtime a/10 4
                 12 waking c/12 2
                 13 runtime a/10 4
                 20 switch a/10 S swapper/0";
    assert_eq!(yields_of_a(20, wakes), 0);
}

//! Decay and averages at given instants.

use super::*;

const PERIOD: Ns = 1 << 20;

fn task() -> SchedAvg {
    SchedAvg::default()
}

/// Updates `avg` every `step` ns, `n` times after `start`; returns the instant reached.
fn run_steps(avg: &mut SchedAvg, start: Ns, step: Ns, n: u64, active: bool) -> Ns {
    for i in 1..=n {
        avg.update(start + i * step, Activity::task(active, active), 1024);
    }
    start + n * step
}

#[test]
fn decay_follows_the_table() {
    let small = [
        (0, 1023),
        (1, 1002),
        (2, 980),
        (4, 939),
        (8, 861),
        (16, 724),
        (31, 523),
        (32, 511),
        (33, 501),
        (64, 255),
        (96, 127),
        (128, 63),
        (320, 0),
    ];
    small.iter().for_each(|(n, v)| assert_eq!(decay(1024, *n), *v, "1024, {n}"));
    let max = [(1, 46718), (8, 40146), (16, 33758), (32, 23870), (64, 11934), (128, 2982)];
    max.iter().for_each(|(n, v)| assert_eq!(decay(47742, *n), *v, "47742, {n}"));
    assert_eq!(decay(u64::MAX, 2017), 0);
}

#[test]
fn an_always_running_task_saturates() {
    let periods = [1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 345];
    let util = [21, 43, 85, 163, 300, 512, 768, 896, 960, 1008, 1020, 1024];
    let load = [21, 43, 85, 162, 300, 512, 768, 896, 960, 1008, 1020, 1023];
    for (i, n) in periods.into_iter().enumerate() {
        let mut avg = task();
        run_steps(&mut avg, 0, PERIOD, n, true);
        assert_eq!((avg.util_avg, avg.load_avg), (util[i], load[i]), "{n} periods");
    }
}

#[test]
fn millisecond_updates_lose_a_little() {
    for (ms, util) in
        [(1, 0), (2, 41), (4, 81), (8, 156), (16, 288), (32, 495), (64, 751), (128, 951)]
    {
        let mut avg = task();
        run_steps(&mut avg, 0, 1_000_000, ms, true);
        assert_eq!(avg.util_avg, util, "{ms} ms");
    }
}

#[test]
fn one_update_after_a_long_run() {
    for (ms, util) in [(4, 81), (10, 191), (32, 495), (100, 894)] {
        let mut avg = task();
        run_steps(&mut avg, 0, ms * 1_000_000, 1, true);
        assert_eq!(avg.util_avg, util, "{ms} ms");
    }
}

#[test]
fn a_sleeping_task_decays() {
    let sleeps = [
        (1, 1002, 1001),
        (8, 861, 860),
        (16, 724, 723),
        (32, 512, 511),
        (64, 256, 255),
        (128, 64, 63),
        (320, 1, 0),
    ];
    for (n, saturated, almost) in sleeps {
        for (ran, expected) in [(345, saturated), (305, almost)] {
            let mut avg = task();
            let now = run_steps(&mut avg, 0, PERIOD, ran, true);
            run_steps(&mut avg, now, n * PERIOD, 1, false);
            assert_eq!(avg.util_avg, expected, "{ran} periods, then {n} asleep");
        }
    }
}

#[test]
fn updates_do_not_compose() {
    for (ms, stepwise, at_once, util) in
        [(20, 16217605, 16217088, 346), (1000, 48547180, 48545792, 1024)]
    {
        let (mut a, mut b) = (task(), task());
        run_steps(&mut a, 0, 4_000_000, ms / 4, true);
        run_steps(&mut b, 0, ms * 1_000_000, 1, true);
        assert_eq!((a.util_sum, b.util_sum), (stepwise, at_once));
        assert_eq!((a.util_avg, b.util_avg), (util, util));
    }
}

#[test]
fn half_load_swings_around_512() {
    let mut avg = task();
    let mut now = 0;
    for _ in 0..1000 {
        now = run_steps(&mut avg, now, PERIOD, 1, true);
        let on = avg.util_avg;
        now = run_steps(&mut avg, now, PERIOD, 1, false);
        if now > 900 * PERIOD {
            assert_eq!((on, avg.util_avg), (518, 506));
        }
    }
}

#[test]
fn moving_a_task_conserves_the_sum_of_averages() {
    let (mut a, mut b, mut se) = (task(), task(), task());
    se.last_update_time = DETACHED;
    (se.load_avg, se.util_avg, se.runnable_avg) = (1024, 512, 512);
    run_steps(&mut b, 0, 4_000_000, 9, true);
    a.attach(&mut se, 1024);
    let before = (a.load_avg + b.load_avg, a.util_avg + b.util_avg);
    for _ in 0..20 {
        a.detach(&mut se, 1024);
        assert_eq!(se.last_update_time, DETACHED);
        b.attach(&mut se, 1024);
        std::mem::swap(&mut a, &mut b);
    }
    assert!(before.0.abs_diff(a.load_avg + b.load_avg) <= 1);
    assert!(before.1.abs_diff(a.util_avg + b.util_avg) <= 1);
}

#[test]
fn a_new_task_gets_half_of_what_is_left() {
    let (mut rq, mut se) = (task(), task());
    se.post_init(&rq, 1024);
    assert_eq!((se.util_avg, se.runnable_avg), (512, 512));
    // Up to v6.9 the weight is scaled, so that what is left decides; then the load does.
    let vectors = [(600, 2048, 212, 212), (100, 300, 462, 340), (300, 2864, 362, 107)];
    for (util, load, scaled, plain) in vectors {
        (rq.util_avg, rq.load_avg) = (util, load);
        se.post_init(&rq, 1024 << 10);
        assert_eq!(se.util_avg, scaled);
        se.post_init(&rq, 1024);
        assert_eq!(se.util_avg, plain);
    }
    (rq.util_avg, rq.load_avg) = (1024, 2048);
    let mut full = task();
    full.post_init(&rq, 1024);
    assert_eq!(full.util_avg, 0);
}

//! Shares and lags of tasks that never sleep.

use super::*;

/// Nice levels and slices (0: the base slice) of two to eight tasks.
fn random_set(random: &mut Random) -> Vec<SchedAttr> {
    let n = 2 + random.below(7);
    let slices = [0, 0, 1_000_000, 10_000_000];
    let mut attr = || SchedAttr {
        nice: random.below(21) as i8 - 10,
        slice_ns: slices[random.below(4) as usize],
        ..SchedAttr::default()
    };
    (0..n).map(|_| attr()).collect()
}

/// The longest slice of all, with that of the first request, and a tick, ns.
fn longest_turn(rig: &Rig<Eevdf>, tasks: &[TaskId], tick: u64) -> u64 {
    let slices = tasks.iter().map(|p| rig.f.tasks[*p].ext.slice);
    slices.fold(rig.f.tunables.base_slice_ns, u64::max) + tick
}

/// Lags stay within the longest turn, and so do shares over any time, twice.
fn check_set(rules: Rules, hz: u32, set: &[SchedAttr]) {
    let nices: Vec<i8> = set.iter().map(|attr| attr.nice).collect();
    let (mut rig, tasks) = hogs(rules, hz, &nices);
    for (p, attr) in tasks.iter().zip(set) {
        rig.f.set_scheduler(&mut rig.w, *p, *attr);
    }
    let tick = 1_000_000_000 / u64::from(hz);
    let longest = longest_turn(&rig, &tasks, tick) as i128;
    let weights: Vec<i128> = tasks.iter().map(|p| rig.f.tasks[*p].weight.into()).collect();
    let total: i128 = weights.iter().sum();
    for at in (1..=400 * MS / tick).map(|n| n * tick) {
        rig.run(at);
        rig.w.update_rq_clock(ROOT.cpu);
        rig.f.charge_curr(&mut rig.w, ROOT);
        let v = rig.f.avg_vruntime(ROOT);
        for (p, weight) in tasks.iter().zip(&weights) {
            let se = &rig.f.tasks[*p];
            let lag = i128::from(v.wrapping_sub(se.vruntime) as i64) * weight / 1024;
            // Virtual time is whole ns.
            assert!(lag.abs() <= longest + weight, "lag {lag} {rules:?} {hz} Hz {set:?} at {at}");
            let off = i128::from(se.sum_exec_runtime) - i128::from(at) * weight / total;
            assert!(
                off.abs() <= 2 * longest,
                "service off by {off} {rules:?} {hz} Hz {set:?} at {at}"
            );
        }
    }
}

#[test]
fn lags_and_shares_stay_within_a_turn() {
    let mut random = Random::new(1);
    for _ in 0..60 {
        let set = random_set(&mut random);
        for rules in ALL_RULES {
            check_set(rules, [250, 1000][random.below(2) as usize], &set);
        }
    }
}

//! What a CPU asks of NO_HZ idle balancing before it idles.

use super::Rig;
use crate::fair::balance::nohz::NEWILB;
use sim_core::{MaskId, Policy};
use topology::CpuId;

/// The gates of `nohz_newidle_balance` (6.12), each at its edge.
#[test]
fn before_a_long_idle_period_a_cpu_asks_for_the_update_of_blocked_load() {
    let cpu = CpuId(2);
    let asks = |avg_idle_ns, has_blocked, jiffies_left| {
        let mut rig = Rig::desktop();
        rig.fair.rqs[cpu].avg_idle = avg_idle_ns;
        let nohz = &mut rig.fair.balance.nohz;
        (nohz.has_blocked, nohz.next_blocked) = (has_blocked, rig.w.jiffies() + jiffies_left);
        rig.fair.nohz_newidle_balance(&rig.w, cpu);
        rig.fair.balance.paths[cpu].ilb.pending == NEWILB
    };
    // `sysctl_sched_migration_cost` is 500 us.
    assert!(asks(500_000, true, 0));
    assert!(!asks(499_999, true, 0));
    assert!(!asks(500_000, false, 0));
    assert!(!asks(500_000, true, 1));
}

/// `kick_ilb` puts `nohz.next_balance` off by a jiffy, so that of all CPUs at one edge of the tick
/// one kicks.
#[test]
fn after_a_kick_for_balance_no_cpu_kicks_in_this_jiffy() {
    let mut rig = Rig::desktop();
    rig.queued(0, 1, MaskId::ALL);
    rig.running(0, MaskId::ALL);
    rig.w.now = 112_000_000;
    rig.fair.balance_tick(&mut rig.w, CpuId(0));
    rig.fair.policy_timer(&mut rig.w);
    let jiffies = rig.w.jiffies();
    assert_ne!(rig.fair.balance.paths[CpuId(1)].ilb.pending, 0);
    assert_eq!(rig.fair.balance.nohz.next_balance, jiffies + 1);
}

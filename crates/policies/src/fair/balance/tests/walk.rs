//! The walk of nohz-idle balance leaps over the CPUs that it has nothing to do for.

use super::*;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The twin asks each CPU.
    #[test]
    fn a_leap_ends_where_a_walk_would(
        shape in test_support::shapes(),
        busy in any::<[u64; 4]>(),
        ticking in any::<[u64; 4]>(),
    ) {
        let mut rig = Rig::new(shape.machine(), Features::default());
        let n = rig.w.cpus.len() as u32;
        let has = |set: [u64; 4], cpu: u32| set[cpu as usize / 64 % 4] >> (cpu % 64) & 1 == 1;
        for cpu in 0..n {
            if has(busy, cpu) {
                rig.running(cpu, MaskId::ALL);
            }
            if !has(ticking, cpu) {
                rig.fair.rqs[CpuId(cpu)].nohz_idle = true;
                rig.fair.balance.nohz.idle_cpus_mask.insert(CpuId(cpu));
            }
        }
        for target in 0..n {
            for n_left in 0..=n {
                let wanted = |i: &u32| rig.fair.ilb_wants(&rig.w, CpuId((target + i) % n));
                let walked = (0..n_left).take_while(|i| !wanted(i)).count() as u32;
                prop_assert_eq!(rig.fair.ilb_skips(&rig.w, CpuId(target), n_left), walked);
            }
        }
    }
}

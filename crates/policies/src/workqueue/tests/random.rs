//! Random workqueues, items and drivers: each item runs exactly once per queueing, never
//! beside itself; nothing is lost, no flush returns early or never, strict workers stay at home.

use super::flush::check_flushes;
use super::{Do, MS, Rig, run};
use crate::workqueue::{ActivePer, Affinity, Kind, Scope, WqSpec};
use proptest::prelude::*;
use sim_core::Op;

fn affinities() -> impl Strategy<Value = Affinity> {
    let scopes = prop_oneof![
        Just(Scope::Cpu),
        Just(Scope::Smt),
        Just(Scope::Cache),
        Just(Scope::CacheShard(2)),
        Just(Scope::Numa),
        Just(Scope::System),
    ];
    (scopes, any::<bool>(), any::<bool>()).prop_map(|(scope, strict, localize)| Affinity {
        scope,
        strict,
        localize,
    })
}

fn specs() -> impl Strategy<Value = WqSpec> {
    let kinds = prop_oneof![1 => Just(Kind::Bound), 3 => affinities().prop_map(Kind::Unbound)];
    let counts = prop_oneof![Just(ActivePer::Cpu), Just(ActivePer::Node)];
    let all = (kinds, 1u32..4, counts, any::<bool>());
    all.prop_map(|(kind, max_active, active_per, cpu_intensive)| WqSpec {
        max_active,
        active_per,
        cpu_intensive,
        ..WqSpec::new("random", kind)
    })
}

fn ops() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (1u64..400_000).prop_map(Op::Kernel),
        1 => (1u64..30_000_000).prop_map(Op::Kernel),
        1 => (1u64..300_000).prop_map(Op::Sleep),
    ]
}

fn actions(items: u32, changes: bool) -> impl Strategy<Value = Do> {
    prop_oneof![
        8 => (0..items).prop_map(Do::Queue),
        2 => (0..items).prop_map(Do::Flush),
        1 => Just(Do::FlushAll),
        4 => (1u64..500_000).prop_map(|ns| Do::Op(Op::Sleep(ns))),
        2 => (1u64..50_000).prop_map(|ns| Do::Op(Op::Run(ns))),
        u32::from(changes) => affinities().prop_map(Do::Change),
    ]
}

fn rigs() -> impl Strategy<Value = Rig> {
    (specs(), 1u32..8).prop_flat_map(|(spec, n)| {
        let changes = matches!(spec.kind, Kind::Unbound(_));
        let items = prop::collection::vec(prop::collection::vec(ops(), 1..4), n as usize);
        let script = |changes| prop::collection::vec(actions(n, changes), 1..30);
        // One driver at most writes to sysfs: the kernel has a mutex for that.
        let first = (0u32..24, script(changes)).prop_map(|d| vec![d]);
        let others = prop::collection::vec((0u32..24, script(false)), 0..4);
        (Just(spec), items, first, others).prop_map(|(spec, items, first, others)| {
            Rig::new(spec, items, first.into_iter().chain(others).collect())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn each_queueing_is_one_execution_and_each_flush_waits_for_all(rig in rigs()) {
        let sim = run(rig);
        let rig = &sim.program;
        for (driver, (_, script)) in rig.drivers.iter().enumerate() {
            prop_assert_eq!(rig.done[driver].len(), script.len(), "driver {} hangs", driver);
        }
        prop_assert!(rig.open.iter().all(Option::is_none), "an item never ends");
        prop_assert_eq!(rig.log.len(), rig.accepted.len());
        let flushes = check_flushes(rig);
        prop_assert!(flushes.is_ok(), "{flushes:?} of {:?}", rig.events);
        let last = rig.log.iter().map(|r| r.to).max().unwrap_or(0);
        prop_assert!(last < 900 * MS, "the run was cut off");
    }
}

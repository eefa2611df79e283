//! What the layer counts, as a program reads it (`scx_bpf_events`): `events.c`.

use super::{MS, hogs, load, machines, object};
use policies::ext::bpf::Bpf;
use policies::ext::{Events, Ext, Rules, Tunables};
use sim_core::{Config, NoObserver, Op, Program, Simulation, StopReason, TaskAttr, World};
use test_support::Scripts;
use topology::{CpuId, CpuSet};

/// What the object tells at its n-th `stopping`, in its own words, and what the layer knows.
fn told(n: u64, fault: u64, program: impl Program) -> (String, Events) {
    let machine = machines()[0].clone();
    let mut object = object("events");
    object.set_int("n_told", n).unwrap();
    object.set_int("fault", fault).unwrap();
    let scheduler = load(&object, Rules::V6_18, &machine).unwrap();
    let mut world = World::new(machine.into(), Config::default());
    world.mask(CpuSet::of(8, [CpuId(2), CpuId(3)]));
    let policy = Ext::new(Bpf::new(&scheduler), Rules::V6_18, Tunables::default());
    let mut sim = Simulation::new(world, policy, program, NoObserver);
    let StopReason::GivenUp(why) = sim.run_until(4000 * MS) else {
        panic!("the object tells nothing");
    };
    (why, sim.policy.events())
}

/// Tasks that may use two CPUs, and sleep.
fn few_cpus() -> Scripts {
    let nap: [Op; 2] = [Op::Run(MS), Op::Sleep(MS)];
    let allowed = sim_core::MaskId(1);
    let task = || (TaskAttr { allowed, ..TaskAttr::default() }, nap.repeat(30));
    Scripts((0..2).map(|_| task()).collect())
}

/// A task that is alone runs on when its slice is over, with a new one from the layer. The first it
/// gets as the object has no `enqueue`.
#[test]
fn slices_that_the_layer_gives_are_counted() {
    let (why, events) = told(1, 0, hogs(1));
    let kept = events.dispatch_keep_last;
    assert!(kept >= 3, "{events:?}");
    let refilled = kept + 1;
    assert_eq!(events, Events { refill_slice_dfl: refilled, dispatch_keep_last: kept, ..NONE });
    let said = format!("refilled {refilled}, kept {kept}, fell back 0, bypassed 0, of 1");
    assert!(why.ends_with(&said), "{why}");
}

/// A choice that the task may not use falls back to another CPU, and is counted, but for the two
/// forks.
#[test]
fn wake_ups_that_fall_back_are_counted() {
    let (why, events) = told(20, 1, few_cpus());
    assert!(why.ends_with("refilled 20, kept 0, fell back 18, bypassed 0, of 20"), "{why}");
    assert_eq!(events, Events { refill_slice_dfl: 20, select_cpu_fallback: 18, ..NONE });
    let (_, events) = told(20, 0, few_cpus());
    assert_eq!(events.select_cpu_fallback, 0);
}

const NONE: Events = Events {
    select_cpu_fallback: 0,
    dispatch_keep_last: 0,
    enq_skip_exiting: 0,
    refill_slice_dfl: 0,
};

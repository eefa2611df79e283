//! The built-in choice of a CPU, rule by rule.

use super::*;
use proptest::prelude::*;
use sim_core::{Config, MaskId, TaskAttr};
use topology::{Machine, RegularSpec};

/// Two sockets of two LLCs of two cores of two threads: CPUs 0 to 7 are the cores' first threads,
/// 0 and 1 an LLC, 0 to 3 a socket; CPU 8 + c is the sibling of CPU c.
struct Rig {
    w: World,
    masks: IdleMasks,
    task: TaskId,
}

impl Rig {
    /// All CPUs are busy but these.
    fn idle(cpus: &[u32]) -> Self {
        let machine = Machine::regular(RegularSpec {
            sockets: 2,
            llcs_per_socket: 2,
            cores_per_llc: 2,
            threads_per_core: 2,
            ..RegularSpec::default()
        });
        let mut w = World::new(machine.into(), Config::default());
        let task = w.new_task(TaskAttr::default());
        let mut masks = IdleMasks::new(&w, Rules::default());
        for cpu in (0..16).filter(|cpu| !cpus.contains(cpu)) {
            masks.update(&mut w, CpuId(cpu), false);
        }
        Self { w, masks, task }
    }

    fn allow(&mut self, cpus: &[u32]) -> MaskId {
        let mask = self.w.mask(CpuSet::of(16, cpus.iter().copied().map(CpuId)));
        self.w.tasks[self.task].attr.allowed = mask;
        mask
    }

    /// Where the task goes that was on `prev`, woken on CPU 2 whose local queue is empty.
    fn choose(&mut self, rules: Rules, prev: u32, sync: bool) -> (u32, Why) {
        self.w.this = CpuId(2);
        let wake = Wake { sync, fork: false };
        self.masks.rules = rules;
        let (w, p) = (&mut self.w, self.task);
        let (cpu, why) = self.masks.select_cpu_dfl(w, p, CpuId(prev), wake, true);
        (cpu.0, why)
    }
}

const BOTH: [Rules; 2] = [Rules::V6_12, Rules::V6_18];

#[test]
fn claiming_one_thread_takes_its_core_off_the_mask_of_cores() {
    let mut rig = Rig::idle(&[3, 11]);
    assert!(rig.masks.cores.contains(CpuId(3)) && rig.masks.cores.contains(CpuId(11)));
    assert!(rig.masks.claim(&mut rig.w, CpuId(11)));
    assert!(!rig.masks.claim(&mut rig.w, CpuId(11)), "once");
    assert!(!rig.masks.cores.contains(CpuId(3)) && rig.masks.is_idle(CpuId(3)));
    // Its sibling announces itself again: half of the core still is claimed.
    rig.masks.update(&mut rig.w, CpuId(3), true);
    assert!(!rig.masks.cores.contains(CpuId(3)));
    rig.masks.update(&mut rig.w, CpuId(11), true);
    assert!(rig.masks.cores.contains(CpuId(3)));
}

#[test]
fn the_previous_cpu_is_taken_if_its_whole_core_idles() {
    for rules in BOTH {
        assert_eq!(Rig::idle(&[0, 8, 5, 13]).choose(rules, 5, false), (5, Why::Idle));
    }
}

#[test]
fn a_whole_core_anywhere_comes_before_half_of_the_previous_one() {
    for rules in BOTH {
        let (cpu, why) = Rig::idle(&[5, 0, 8]).choose(rules, 5, false);
        assert!((cpu == 0 || cpu == 8) && why == Why::Idle, "{rules:?}: {cpu}");
    }
}

#[test]
fn half_of_the_previous_core_comes_before_other_halves() {
    for rules in BOTH {
        assert_eq!(Rig::idle(&[0, 1, 4, 5, 15]).choose(rules, 5, false), (5, Why::Idle));
    }
}

#[test]
fn who_finds_no_idle_cpu_stays() {
    for rules in BOTH {
        assert_eq!(Rig::idle(&[]).choose(rules, 5, false), (5, Why::Prev));
        let mut rig = Rig::idle(&[0, 8]);
        rig.allow(&[4, 5]);
        assert_eq!(rig.choose(rules, 5, false), (5, Why::Prev), "idle CPUs that are not allowed");
    }
}

/// The search starts behind the CPU found last, so that work spreads.
#[test]
fn idle_cpus_are_found_in_turn() {
    let mut rig = Rig::idle(&[0, 3, 6]);
    let found: Vec<u32> = (0..3).map(|_| rig.choose(Rules::V6_12, 5, false).0).collect();
    assert_eq!(found, [0, 3, 6]);
    rig.masks.update(&mut rig.w, CpuId(3), true);
    rig.masks.update(&mut rig.w, CpuId(0), true);
    assert_eq!(rig.choose(Rules::V6_12, 5, false), (0, Why::Idle));
}

/// 6.18 looks near the previous CPU first, 6.12 does not.
#[test]
fn near_cpus_come_first_since_6_18() {
    // The LLC of CPU 5 has CPU 4, its socket CPU 7, the other socket CPU 0.
    let halves = |rules, idle: &[u32]| Rig::idle(idle).choose(rules, 5, false).0;
    assert_eq!(halves(Rules::V6_18, &[0, 4, 7]), 4);
    assert_eq!(halves(Rules::V6_18, &[0, 7]), 7);
    assert_eq!(halves(Rules::V6_18, &[0]), 0);
    assert_eq!(halves(Rules::V6_12, &[0, 4, 7]), 0);
    // The same for whole cores, and a whole core far away before half of one nearby.
    assert_eq!(halves(Rules::V6_18, &[0, 8, 4, 12, 7, 15]), 4);
    assert_eq!(halves(Rules::V6_18, &[0, 8, 7, 15, 4]), 7);
    assert_eq!(halves(Rules::V6_12, &[0, 8, 4, 12, 7, 15]), 0);
}

/// The waker, CPU 2, is busy and will sleep soon.
#[test]
fn a_sync_wake_up_goes_to_the_waker_if_some_cpu_idles() {
    for rules in BOTH {
        assert_eq!(Rig::idle(&[0, 8]).choose(rules, 5, true), (2, Why::Waker));
        assert_eq!(Rig::idle(&[]).choose(rules, 5, true), (5, Why::Prev), "the machine is full");
        let mut rig = Rig::idle(&[5, 0]);
        rig.allow(&[4, 5]);
        assert_eq!(rig.choose(rules, 5, true), (5, Why::Idle), "not allowed at the waker");
        let mut rig = Rig::idle(&[0]);
        rig.w.this = CpuId(2);
        let wake = Wake { sync: true, fork: false };
        rig.masks.rules = rules;
        let (cpu, _) = rig.masks.select_cpu_dfl(&mut rig.w, rig.task, CpuId(5), wake, false);
        assert_eq!(cpu, CpuId(0), "somebody waits at the waker already");
    }
}

#[test]
fn a_sync_wake_up_stays_at_an_idle_previous_cpu_of_the_wakers_llc_since_6_18() {
    assert_eq!(Rig::idle(&[3, 0]).choose(Rules::V6_18, 3, true), (3, Why::Idle));
    assert_eq!(Rig::idle(&[3, 0]).choose(Rules::V6_12, 3, true), (2, Why::Waker));
    assert_eq!(Rig::idle(&[5, 0]).choose(Rules::V6_18, 5, true), (2, Why::Waker), "another LLC");
}

/// The second look: of the CPUs that fit, one of the LLC first.
#[test]
fn the_second_look_begins_nearby() {
    let mut rig = Rig::idle(&[0, 4, 13, 7]);
    rig.w.this = CpuId(2);
    let near = |rig: &mut Rig, not: u32| {
        rig.masks.pick_near(&mut rig.w, rig.task, CpuId(5), |_, cpu| cpu != CpuId(not))
    };
    assert_eq!(near(&mut rig, 13), Some(CpuId(4)));
    assert_eq!(near(&mut rig, 16), Some(CpuId(13)));
    assert_eq!(near(&mut rig, 7), Some(CpuId(0)));
    assert_eq!(near(&mut rig, 7), None);
}

proptest! {
    #[test]
    fn the_next_common_cpu_is_the_first_behind(
        bits in prop::collection::vec(0u8..8, 130),
        after in 0u32..130,
    ) {
        let set = |bit: u8| {
            let cpus = (0..130u32).filter(|c| bits[*c as usize] >> bit & 1 == 1);
            CpuSet::of(130, cpus.map(CpuId))
        };
        let sets = [set(0), set(1), set(2)];
        let mut around = (after + 1..130).chain(0..=after).map(CpuId);
        let slow = around.find(|c| sets.iter().all(|s| s.contains(*c)));
        let found = next_common([&sets[0], &sets[1], &sets[2]], 130, CpuId(after));
        prop_assert_eq!(found, slow);
    }
}

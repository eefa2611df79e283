//! The built-in choice of a CPU, rule by rule.

use super::select::Question;
use super::*;
use crate::ext::types::{Wake, Why};
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
        Self::new(cpus, false)
    }

    /// The same with masks for each socket, which is a node.
    fn per_node(cpus: &[u32]) -> Self {
        Self::new(cpus, true)
    }

    fn new(cpus: &[u32], per_node: bool) -> Self {
        let machine = Machine::regular(RegularSpec {
            sockets: 2,
            llcs_per_socket: 2,
            cores_per_llc: 2,
            threads_per_core: 2,
            ..RegularSpec::default()
        });
        let mut w = World::new(machine.into(), Config::default());
        let task = w.new_task(TaskAttr::default());
        let mut masks = IdleMasks::new(&w, Rules::default(), per_node);
        for cpu in (0..16).filter(|cpu| !cpus.contains(cpu)) {
            masks.update(&mut w, CpuId(cpu), false);
        }
        // The search in turn begins with CPU 0.
        w.this = CpuId(2);
        w.note_distributed(CpuId(15));
        Self { w, masks, task }
    }

    fn allow(&mut self, cpus: &[u32]) -> MaskId {
        let mask = self.w.mask(CpuSet::of(16, cpus.iter().copied().map(CpuId)));
        self.w.tasks[self.task].attr.allowed = mask;
        mask
    }

    /// Where the task goes that was on `prev`, woken on CPU 2 whose local queue is empty.
    fn choose(&mut self, rules: Rules, prev: u32, sync: bool) -> (u32, Why) {
        self.masks.rules = rules;
        let question = Question { wake: Wake { sync, fork: false }, ..self.question(prev) };
        self.ask(question)
    }

    fn question(&self, prev: u32) -> Question<'static> {
        Question {
            prev: CpuId(prev),
            wake: Wake::default(),
            local_is_empty: true,
            allowed: Allowed::Task(self.task),
            pick: Pick::default(),
        }
    }

    fn ask(&mut self, question: Question<'_>) -> (u32, Why) {
        self.w.this = CpuId(2);
        let (cpu, why) = self.masks.select_cpu_dfl(&mut self.w, question);
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
    // All searches of a CPU have one counter (`distribute_cpu_mask_prev`).
    rig.w.note_distributed(CpuId(1));
    rig.masks.update(&mut rig.w, CpuId(0), true);
    assert_eq!(rig.choose(Rules::V6_12, 5, false), (3, Why::Idle));
}

/// 6.12 claims an idle previous CPU also if the task may no longer run there.
#[test]
fn a_forbidden_previous_cpu_is_claimed_up_to_6_12() {
    let choose = |rules| {
        let mut rig = Rig::idle(&[5, 0]);
        rig.allow(&[0]);
        let (cpu, _) = rig.choose(rules, 5, false);
        (cpu, rig.masks.is_idle(CpuId(5)))
    };
    assert_eq!(choose(Rules::V6_12), (5, false));
    assert_eq!(choose(Rules::V6_18), (0, true));
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
        let wake = Wake { sync: true, fork: false };
        rig.masks.rules = rules;
        let waits = Question { wake, local_is_empty: false, ..rig.question(5) };
        assert_eq!(rig.ask(waits).0, 0, "somebody waits at the waker already");
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

/// Without SMT any idle CPU is a whole core (`pick_idle_cpu_in_node`).
#[test]
fn a_machine_without_smt_has_whole_cores_only() {
    let spec = RegularSpec { threads_per_core: 1, ..RegularSpec::default() };
    let mut w = World::new(Machine::regular(spec).into(), Config::default());
    let task = w.new_task(TaskAttr::default());
    let mut masks = IdleMasks::new(&w, Rules::default(), false);
    masks.update(&mut w, CpuId(0), false);
    let core = Pick { core: true, ..Pick::default() };
    assert_eq!(masks.pick(&mut w, Allowed::Task(task), None, core), Some(CpuId(1)));
}

/// With masks per node the search begins in the node of the previous CPU, after its LLC.
#[test]
fn masks_per_node_are_searched_from_the_own_node_on() {
    let choose = |idle: &[u32], prev| Rig::per_node(idle).choose(Rules::V6_18, prev, false).0;
    assert_eq!(choose(&[0, 4, 7], 5), 4);
    assert_eq!(choose(&[0, 7], 5), 7);
    assert_eq!(choose(&[0], 5), 0);
    // A whole core of the other node before half of one in the own.
    assert_eq!(choose(&[0, 8, 7], 5), 0);
    assert_eq!(choose(&[0, 8, 7, 15], 5), 7);
}

/// `SCX_PICK_IDLE_IN_NODE`, `SCX_PICK_IDLE_CORE` and a set of CPUs narrow the search.
#[test]
fn a_search_with_flags_goes_no_further() {
    let in_node = Pick { in_node: true, ..Pick::default() };
    let core = Pick { core: true, ..Pick::default() };
    let ask = |idle: &[u32], pick| {
        let mut rig = Rig::per_node(idle);
        let question = Question { pick, ..rig.question(5) };
        rig.ask(question)
    };
    assert_eq!(ask(&[0, 8], in_node), (5, Why::Prev));
    assert_eq!(ask(&[0, 8, 7], in_node), (7, Why::Idle));
    assert_eq!(ask(&[0, 5, 7], core), (5, Why::Prev), "halves only, its own among them");
    assert_eq!(ask(&[0, 8, 7], core).1, Why::Idle, "a core of the other node");
    let mut rig = Rig::per_node(&[4, 5, 6, 0]);
    let among = CpuSet::of(16, [CpuId(6), CpuId(0)]);
    let question = Question { allowed: Allowed::Set(&among), ..rig.question(5) };
    assert_eq!(rig.ask(question), (6, Why::Idle));
    assert_eq!(rig.ask(question), (0, Why::Idle));
    assert_eq!(rig.ask(question), (5, Why::Prev), "it idles, but is not among them");
}

/// A SYNC wake-up looks for idle CPUs in the waker's node only; the waker is CPU 2.
#[test]
fn a_sync_wake_up_asks_for_room_in_the_wakers_node() {
    let sync = Wake { sync: true, fork: false };
    let ask = |idle: &[u32], pick| {
        let mut rig = Rig::per_node(idle);
        let question = Question { wake: sync, pick, ..rig.question(5) };
        rig.ask(question)
    };
    assert_eq!(ask(&[1], Pick::default()), (2, Why::Waker));
    assert_eq!(ask(&[4], Pick::default()), (4, Why::Idle), "room in the other node only");
    let in_node = Pick { in_node: true, ..Pick::default() };
    assert_eq!(ask(&[1], in_node), (5, Why::Prev), "the waker is in another node than prev");
}

/// The other nodes come in the order of their distance, of equals the lowest first.
#[test]
fn the_nearest_node_with_an_idle_cpu_is_found() {
    #[rustfmt::skip]
    let numa_distance = Some(vec![
        10, 30, 20, 20,
        30, 10, 20, 12,
        20, 20, 10, 40,
        20, 12, 40, 10,
    ]);
    let spec = RegularSpec {
        sockets: 4,
        cores_per_llc: 1,
        threads_per_core: 1,
        numa_distance,
        ..RegularSpec::default()
    };
    let machine = Machine::regular(spec);
    assert_eq!(rounds(&machine), [[0, 2, 3, 1], [1, 3, 2, 0], [2, 0, 1, 3], [3, 1, 0, 2]]);
    let mut w = World::new(machine.into(), Config::default());
    let task = w.new_task(TaskAttr::default());
    let mut masks = IdleMasks::new(&w, Rules::V6_18, true);
    let mut find = |node| masks.pick(&mut w, Allowed::Task(task), Some(node), Pick::default());
    let found: Vec<_> = (0..5).map(|_| find(1)).collect();
    assert_eq!(found, [Some(CpuId(1)), Some(CpuId(3)), Some(CpuId(2)), Some(CpuId(0)), None]);
}

/// A node's masks are lines of its own: what the CPUs of another node do does not take them away.
#[test]
fn masks_per_node_stay_in_their_node() {
    let owners = |mut rig: Rig| {
        for cpu in [0, 4] {
            rig.w.this = CpuId(cpu);
            rig.masks.update(&mut rig.w, CpuId(cpu), true);
        }
        rig.masks.lines
    };
    let of = |cpu| [Some(CpuId(cpu)); 2];
    assert_eq!(owners(Rig::idle(&[])), [of(4)]);
    assert_eq!(owners(Rig::per_node(&[])), [of(0), of(4)]);
}

/// The second look goes from node to node.
#[test]
fn the_second_look_goes_through_the_masks_of_all_nodes() {
    let mut rig = Rig::per_node(&[0, 4, 13, 7]);
    rig.w.this = CpuId(2);
    let found: Vec<_> =
        (0..5).map(|_| rig.masks.pick_near(&mut rig.w, rig.task, CpuId(5), |_, _| true)).collect();
    let cpus = [13, 4, 7, 0].map(|cpu| Some(CpuId(cpu)));
    assert_eq!(found, [cpus[0], cpus[1], cpus[2], cpus[3], None]);
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

//! Flags of insertions: who comes first, and who comes at once.

use super::{MS, load, object};
use policies::ext::bpf::Bpf;
use policies::ext::{Ext, Rules, Tunables};
use sim_core::{Config, NoObserver, Op, Program, ProgramCx, TaskAttr, TaskId};
use test_support::{free_machine, simulate};

const ENQ_HEAD: u64 = 1 << 4;
const ENQ_PREEMPT: u64 = 1 << 32;

/// Three hogs, and a task that sleeps for 5 ms and runs for one.
#[derive(Default)]
struct Front {
    sleeps: u32,
    runs: bool,
}

impl Program for Front {
    fn start(&mut self, cx: &mut ProgramCx<'_>) {
        for name in ["front", "hog", "hog", "hog"] {
            let comm = cx.comm(name);
            cx.start_task(TaskAttr { comm, ..TaskAttr::default() });
        }
    }

    fn next(&mut self, _cx: &mut ProgramCx<'_>, task: TaskId) -> Op {
        if task != TaskId(0) {
            return Op::Run(10_000 * MS);
        }
        self.runs = !self.runs;
        if self.runs {
            return Op::Run(MS);
        }
        self.sleeps += 1;
        Op::Sleep(5 * MS)
    }
}

/// On one CPU, with slices of 20 ms: at the end of the queue it waits for three of them, at its head
/// for what is left of one, and with `SCX_ENQ_PREEMPT` for none.
#[test]
fn flags_of_an_insertion_say_who_comes_first() {
    for rules in [Rules::V6_12, Rules::V6_18] {
        let sleeps = [0, ENQ_HEAD, ENQ_PREEMPT].map(|flags| {
            let machine = free_machine(1);
            let mut object = object("front");
            object.set_int("flags", flags).unwrap();
            let scheduler = load(&object, rules, &machine).unwrap();
            let policy = Ext::new(Bpf::new(&scheduler), rules, Tunables::default());
            let mut sim =
                simulate(machine, Config::default(), policy, Front::default(), NoObserver);
            sim.run_until(6000 * MS);
            sim.program.sleeps
        });
        // Rounds of 6 + (60 - 5), 20 and 6 ms, and up to a tick more for each slice.
        let expected = [6000 / 66, 6000 / 21, 6000 / 6];
        for (sleeps, expected) in sleeps.iter().zip(expected) {
            assert!(sleeps.abs_diff(expected) <= expected / 5, "{sleeps} of {expected}");
        }
    }
}

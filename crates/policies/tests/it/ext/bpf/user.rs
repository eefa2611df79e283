//! Schedulers with halves in user space: `user.c` decides nothing by itself.

use super::{MS, end, machines, object};
use policies::ext::bpf::{Again, Bpf, Hands, Refused, Scheduler, Settings, UserHalf, UserHalfDef};
use policies::ext::{Ext, Rules, Tunables};
use sim_core::{Config, NoObserver, Ns, StopReason};
use test_support::simulate;
use topology::{CpuSet, Machine};
use workloads::micro::Short;

/// A queue by arrival, kept in user space.
struct Queue {
    period_ns: Ns,
    n: u64,
}

impl UserHalf for Queue {
    fn start(&mut self, hands: &mut Hands<'_, '_>) -> Again {
        let whole = CpuSet::full(hands.machine().n_cpus());
        hands.set_mask("seen_cpus", &whole)?;
        let first = hands.get("seen_cpus")?;
        assert_eq!(first, whole.words()[0]);
        assert!(hands.set("seen_cpu", 1).is_err(), "there is no such variable");
        assert!(hands.put(0, &[1]).is_err(), "nothing is there");
        Ok(Some(self.period_ns))
    }

    fn step(&mut self, hands: &mut Hands<'_, '_>) -> Again {
        let memory = hands.memory();
        let (from, to) = (memory.map("waiting").unwrap(), memory.map("decided").unwrap());
        let before = self.n;
        while let Some(pid) = hands.memory().ring_take(from) {
            assert!(hands.memory().ring_put(to, &pid), "the ring is full");
            self.n += 1;
        }
        hands.set("n_seen", self.n)?;
        hands.spend(100 * (self.n - before));
        for cpu in 0..hands.machine().n_cpus() as u64 {
            if self.n > before {
                let back = hands.call("wake", &[("mark", 7), ("cpu", cpu)], Some("n_back"))?;
                assert!(back <= hands.get("n_seen")?);
            }
        }
        Ok(Some(self.period_ns))
    }
}

const fn queue(make: fn() -> Box<dyn UserHalf>) -> UserHalfDef {
    UserHalfDef { name: "queue", help: "", programs: &["wake"], make }
}

static SOON: UserHalfDef = queue(|| Box::new(Queue { period_ns: 20_000, n: 0 }));
static LATE: UserHalfDef = queue(|| Box::new(Queue { period_ns: 2 * MS, n: 0 }));
static WRONG: UserHalfDef = queue(|| Box::new(Wrong));
static MISSING: UserHalfDef =
    UserHalfDef { name: "missing", help: "", programs: &["wakes"], make: || Box::new(Wrong) };

/// It calls with an argument that is refused.
struct Wrong;

impl UserHalf for Wrong {
    fn start(&mut self, hands: &mut Hands<'_, '_>) -> Again {
        hands.call("wake", &[("mark", 8)], None).map(|_| None)
    }
}

fn load(machine: &Machine, user: &[&'static UserHalfDef]) -> Result<Scheduler, Refused> {
    let n_cpus = machine.n_cpus() as u32;
    let settings = Settings { rules: Rules::V6_18, n_cpus, ps_per_insn: 0, flags: 0 };
    Scheduler::load_with_user(&object("user"), settings, &[], user)
}

fn run(machine: &Machine, user: &'static UserHalfDef) -> String {
    end(&load(machine, &[user]).unwrap(), machine, Short::new(40, 300_000, 100_000, 20, 1))
}

#[test]
fn a_queue_may_be_in_user_space() {
    for machine in machines() {
        assert_eq!(run(&machine, &SOON), "Done");
        assert_eq!(run(&machine, &LATE), "Done");
    }
}

/// The later user space looks, the longer tasks wait; without it all of them do.
#[test]
fn tasks_wait_for_user_space() {
    let machine = &machines()[0];
    let took = |def: &'static UserHalfDef| {
        let ops = Bpf::new(&load(machine, &[def]).unwrap());
        let policy = Ext::new(ops, Rules::V6_18, Tunables::default());
        let program = Short::new(4, 300_000, 100_000, 20, 1);
        let mut sim = simulate(machine.clone(), Config::default(), policy, program, NoObserver);
        assert_eq!(sim.run_until(400 * MS), StopReason::Done);
        sim.w.now
    };
    let (soon, late) = (took(&SOON), took(&LATE));
    // 20 turns of 0.4 ms; a turn waits half a period on average, and a whole one if it beats it.
    assert!((8 * MS..12 * MS).contains(&soon), "{soon}");
    assert!((30 * MS..50 * MS).contains(&late), "{late}");
    let alone = load(machine, &[]).unwrap();
    let why = end(&alone, machine, Short::new(4, 300_000, 100_000, 20, 1));
    assert!(why.contains("runnable task stall: "), "{why}");
}

#[test]
fn what_user_space_cannot_do_is_told() {
    let machine = &machines()[0];
    let why = run(machine, &WRONG);
    assert!(why.contains("the user half `queue`: wake failed with error -22"), "{why}");
    let refused = load(machine, &[&MISSING]).err().map(|refused| refused.to_string());
    assert_eq!(refused.unwrap(), "it has no program `wakes` in a section `syscall`");
}

//! The objects beside the tests, as schedulers.

use policies::ext::bpf::{Bpf, Object, Scheduler, Settings};
use policies::ext::{Ext, Partial, Rules, Tunables};
use policies::fair::{Eevdf, GroupSpec};
use test_support::eevdf;
use topology::Machine;

/// An object with some of its variables set, and flags of its loader.
#[derive(Clone, Copy)]
pub struct Loaded {
    pub name: &'static str,
    pub set: &'static [(&'static str, u64)],
    pub flags: u64,
    pub rules: Rules,
}

impl Loaded {
    pub fn new(name: &'static str, rules: Rules) -> Self {
        Self { name, set: &[], flags: 0, rules }
    }

    fn load(self, machine: &Machine) -> Bpf {
        let path = format!("{}/tests/objects/{}.bpf.o", env!("CARGO_MANIFEST_DIR"), self.name);
        let mut object = Object::read(&std::fs::read(path).unwrap()).unwrap();
        for (name, value) in self.set {
            object.set_int(name, *value).unwrap();
        }
        let n_cpus = machine.n_cpus() as u32;
        let settings = Settings { rules: self.rules, n_cpus, ps_per_insn: 300, flags: self.flags };
        Bpf::new(&Scheduler::load(&object, settings, &[]).unwrap())
    }

    /// The scheduler of all tasks.
    pub fn all(self, machine: &Machine, groups: &[GroupSpec]) -> Ext<Bpf> {
        let tunables = Tunables { slice_ns: 3_000_000 };
        Ext::new(self.load(machine), self.rules, tunables).with_groups(groups)
    }

    /// The scheduler of some tasks, beside EEVDF.
    pub fn some(self, machine: &Machine) -> Partial<Eevdf, Bpf> {
        let rules = match self.rules {
            Rules::V6_12 => policies::fair::Rules::V6_12,
            Rules::V6_18 => policies::fair::Rules::V6_18,
        };
        let fair = eevdf(rules, 0, machine.n_cpus());
        Partial::new(fair, self.all(machine, &[]), vec!["front".to_string()])
    }
}

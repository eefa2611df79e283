//! Scheduler features and tunables, by the names the kernel gives them.
//!
//! Features are the words of `/sys/kernel/debug/sched/features`: `NAME` turns one on, `NO_NAME`
//! off. Tunables are the files beside it, with the unit in the name. Those of the fair class have
//! their lines in `policies::fair::features`; here are the others.

use super::key::Class;
use input::{Fallback, KeyDef, Kind};
use policies::fair::Rules;
pub use policies::fair::features::FeatureDef;
use policies::fair::features::{Features, Range, TUNABLES as FAIR, Unstated, index, kernels};

/// Kernels whose fair class is modeled, the oldest first: 6.18 is its stable tree as of 6.18.33.
pub const KERNELS: [&str; Rules::NAMES.len()] = Rules::NAMES;

/// All features of the fair class.
pub const FEATURES: &[FeatureDef] = Features::ALL;

/// One tunable.
#[derive(Clone, Copy, Debug)]
pub struct TunableDef {
    /// Name, range, default and help.
    pub key: KeyDef,
    /// The kernels whose fair class has it.
    exists: [bool; KERNELS.len()],
    /// True if policies of the sched_ext shape have it.
    ext: bool,
}

impl TunableDef {
    /// True if the kernel's fair class has it.
    pub fn exists(&self, rules: Option<&str>) -> bool {
        self.exists[index(rules)]
    }

    /// True if a policy of the class may have it, whatever its rules.
    pub fn belongs_to(&self, class: Class) -> bool {
        match class {
            Class::Fair => self.exists.contains(&true),
            Class::Ext => self.ext,
            Class::Alone => false,
        }
    }

    /// The kernels whose fair class has it, in words; empty if all have.
    pub fn kernels(&self) -> String {
        kernels(|k| self.exists[k])
    }

    /// Who has it, in words.
    pub fn owners(&self) -> String {
        match (self.belongs_to(Class::Fair), self.ext) {
            (false, _) => "sched_ext".to_string(),
            (true, true) => String::new(),
            (true, false) => format!("fair {}", self.kernels()).trim_end().to_string(),
        }
    }
}

/// Tunables that more than the fair class has, or not the fair class.
const OTHERS: &[TunableDef] = &[
    everywhere(KeyDef {
        name: "hz",
        kind: Kind::Int { min: 24, max: 1200 },
        unit: "Hz",
        default: Fallback::Words("the machine's"),
        help: "timer interrupts per second (CONFIG_HZ)",
    }),
    everywhere(KeyDef {
        name: "timer_slack_ns",
        kind: Kind::Int { min: 0, max: 1_000_000_000 },
        unit: "ns",
        default: Fallback::Int(50_000),
        help: "how late a sleeping task's timer may fire",
    }),
    of_ext(KeyDef {
        name: "slice_dfl_ns",
        kind: Kind::Int { min: 1000, max: 1_000_000_000 },
        unit: "ns",
        default: Fallback::Int(20_000_000),
        help: "what a task may run at once (SCX_SLICE_DFL)",
    }),
    of_ext(KeyDef {
        name: "recheck",
        kind: Kind::Bool,
        unit: "",
        default: Fallback::Bool(true),
        help: "look again for idle CPUs when a task is queued; false: as scx_simple (our name)",
    }),
];

const fn everywhere(key: KeyDef) -> TunableDef {
    TunableDef { key, exists: [true; KERNELS.len()], ext: true }
}

const fn of_ext(key: KeyDef) -> TunableDef {
    TunableDef { key, exists: [false; KERNELS.len()], ext: true }
}

const fn of_fair(def: &policies::fair::features::TunableDef) -> TunableDef {
    let (kind, default) = match (def.range, def.default) {
        (Range::Int { min, max }, Unstated::Int(n)) => (Kind::Int { min, max }, Fallback::Int(n)),
        (Range::Int { min, max }, Unstated::Words(w)) => {
            (Kind::Int { min, max }, Fallback::Words(w))
        }
        (Range::Switch, Unstated::Int(n)) => (Kind::Bool, Fallback::Bool(n == 1)),
        (Range::Switch, Unstated::Words(w)) => (Kind::Bool, Fallback::Words(w)),
    };
    let key = KeyDef { name: def.name, kind, unit: def.unit, default, help: def.help };
    TunableDef { key, exists: def.exists, ext: false }
}

/// All tunables.
pub const TUNABLES: &[TunableDef] = &{
    let mut all = [OTHERS[0]; FAIR.len() + OTHERS.len()];
    let mut i = 0;
    while i < all.len() {
        all[i] = if i < FAIR.len() { of_fair(&FAIR[i]) } else { OTHERS[i - FAIR.len()] };
        i += 1;
    }
    all
};

/// The row of a feature, by its kernel name without `NO_`.
pub fn feature(name: &str) -> Option<&'static FeatureDef> {
    FEATURES.iter().find(|f| f.name == name)
}

/// The row of a tunable.
pub fn tunable(name: &str) -> Option<&'static TunableDef> {
    TUNABLES.iter().find(|t| t.key.name == name)
}

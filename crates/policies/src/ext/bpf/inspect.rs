//! What people are told of an object: what is in it, and whether it can be a scheduler here.

use super::calls::CALLS;
use super::kernel::kernel;
use super::load::{Scheduler, Settings};
use super::refused::Refused;
use crate::ext::Rules;
use ::bpf::{Known, Object};
use std::fmt::Write;

/// Any number of CPUs will do.
const N_CPUS: u32 = 8;

/// A report on an object. Marked are names that no kernel of ours has; behind it stands, for a
/// scheduler, which kernels take it.
pub fn inspect(object: &Object) -> String {
    let mut out = ::bpf::inspect(object, &known());
    let loads = [Rules::V6_18, Rules::V6_12].map(|rules| (rules, load(object, rules)));
    if loads.iter().any(|(_, load)| matches!(load, Err(Refused::NoScheduler))) {
        return out;
    }
    // Writing to a string does not fail.
    let _ = writeln!(out, "\nas a scheduler:");
    for (rules, load) in loads {
        let rules = match rules {
            Rules::V6_12 => "6.12",
            Rules::V6_18 => "6.18",
        };
        let said = match load {
            Ok(_) => "runs".to_string(),
            Err(why) => format!("refused: {why}").replace('\n', "\n  "),
        };
        let _ = writeln!(out, "  {rules}: {said}");
    }
    out
}

fn load(object: &Object, rules: Rules) -> Result<Scheduler, Refused> {
    let settings = Settings { rules, n_cpus: N_CPUS, ps_per_insn: 0, flags: 0 };
    Scheduler::load(object, settings, &[])
}

/// What the kernels of this model have by name.
fn known() -> Known {
    let is_function = |row: &&super::calls::Row| row.helper.is_none();
    let functions = CALLS.iter().filter(is_function).map(|row| row.name.to_string());
    let kernel = kernel(Rules::V6_18);
    let options = kernel.config.into_keys().chain(kernel.variables.into_keys());
    Known {
        names: functions.chain(options).collect(),
        helpers: CALLS.iter().filter_map(|row| row.helper).collect(),
    }
}

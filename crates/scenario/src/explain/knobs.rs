//! Which of the features and tunables that change a rule are worth a word to whoever runs a
//! variant: those that it can have, and has not set so already.

use crate::registry::{self, Class, Value};
use crate::run_spec::RunSpec;

/// Tunables beside rules, and the value at which they have no more to give.
const SPENT: [(&str, i64); 2] = [("migration_cost_ns", 0), ("newidle_ratio", 1024)];

/// Of the words with commas between, those that would change something in this run.
pub(crate) fn left(spec: &RunSpec, knob: &str) -> String {
    let words = knob.split(", ").filter(|word| is_left(spec, word));
    words.collect::<Vec<_>>().join(", ")
}

fn is_left(spec: &RunSpec, word: &str) -> bool {
    let class = spec.policy.0.class;
    if let Some(tunable) = registry::tunable(word) {
        let kernel_has = class != Class::Fair || tunable.exists(spec.rules);
        let spent = SPENT.iter().find(|(name, _)| *name == word).map(|(_, value)| *value);
        let now = spec.tunable(word).and_then(Value::int);
        return tunable.belongs_to(class) && kernel_has && (now.is_none() || now != spent);
    }
    let (on, name) = match word.strip_prefix("NO_") {
        Some(name) => (false, name),
        None => (true, word),
    };
    let default = registry::feature(name).and_then(|feature| feature.default(spec.rules));
    class == Class::Fair && default.is_some() && spec.feature(name) != on
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn check(policy: &str, variant: &str, knob: &str, expected: &str) {
        let text = format!(
            r#"
            policy   = "{policy}"
            run      = {{ seeds = 1, until = "1s" }}
            machine  = "pack:1 core:4 pu:1"
            workload = {{ kind = "spinners", tasks = 1 }}
            [[variant]]
            name = "x"
            {variant}
            "#
        );
        let experiment = crate::load_str(Path::new("x.toml"), text)
            .unwrap_or_else(|faults| panic!("{}", faults.render(false)));
        let spec = experiment.spec(&experiment.variants[0], 1);
        assert_eq!(left(&spec, knob), expected, "{policy} {variant} {knob}");
    }

    #[test]
    fn a_feature_that_is_so_already_is_not_suggested() {
        check("cfs", "", "SIS_NODE", "SIS_NODE");
        check("cfs", "features = [\"SIS_NODE\"]", "SIS_NODE", "");
        check("cfs", "features = [\"NO_SIS_NODE\"]", "SIS_NODE", "SIS_NODE");
        check("cfs", "", "NO_SIS_UTIL", "NO_SIS_UTIL");
        check("cfs", "features = [\"NO_SIS_UTIL\"]", "NO_SIS_UTIL", "");
        check("cfs", "", "NO_SIS_PROP", "");
        check("cfs", "", "", "");
    }

    #[test]
    fn a_feature_that_is_not_there_is_not_suggested() {
        check("fifo", "", "NO_TTWU_QUEUE", "");
        check("fcfs", "", "SIS_NODE, migration_cost_ns", "");
        check("cfs", "", "NO_NI_RANDOM, base_slice_ns", "");
        check("eevdf", "rules = \"6.12\"", "NO_START_DEBIT, latency_ns", "");
    }

    #[test]
    fn a_tunable_that_has_no_more_to_give_is_not_suggested() {
        check("cfs", "", "migration_cost_ns", "migration_cost_ns");
        check(
            "cfs",
            "tunables = { migration_cost_ns = 9 }",
            "migration_cost_ns",
            "migration_cost_ns",
        );
        check("cfs", "tunables = { migration_cost_ns = 0 }", "migration_cost_ns", "");
        let ratio = "tunables = { newidle_ratio = 1024 }";
        check("eevdf", "", "NO_NI_RANDOM, newidle_ratio", "NO_NI_RANDOM, newidle_ratio");
        check("eevdf", ratio, "NO_NI_RANDOM, newidle_ratio", "NO_NI_RANDOM");
        assert!(SPENT.iter().all(|(name, _)| registry::tunable(name).is_some()));
    }
}

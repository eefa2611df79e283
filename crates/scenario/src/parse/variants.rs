//! The `[[variant]]` tables: names, the one baseline, policies, features, tunables.

use super::bpf::Objects;
use super::policy::{PolicyChoice, policy_choice};
use super::{partial, workload, workqueue};
use crate::experiment::Variant;
use crate::registry::{
    self, Class, FEATURES, TUNABLES, TunableDef, VARIANT, Value, WorkloadDef, names, nearest,
};
use crate::run_spec::{Feature, PolicyKind};
use input::{Fault, Node, Walk, did_you_mean};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// Reads all variants. The names come apart, with those of variants that have other faults; they
/// are empty if a name itself is at fault, so that nobody complains about its users too.
pub(super) fn variants(
    walk: &mut Walk,
    list: Option<Node<'_>>,
    outer: PolicyChoice,
    workload: Option<&'static WorkloadDef>,
    objects: &mut Objects<'_>,
) -> (Vec<Variant>, Vec<String>) {
    let Some(list) = list else {
        return (Vec::new(), Vec::new());
    };
    let mut seen = Seen { workload, ..Seen::default() };
    let mut variants = Vec::new();
    let faults_before = walk.faults.len();
    let tables = walk.tables(list, "variant").unwrap_or_default();
    if tables.is_empty() && walk.faults.len() == faults_before {
        walk.fault(Fault::at(list.span(), "there is no variant to run"));
    }
    for (node, table) in tables {
        variants.extend(variant(walk, node, table, outer, (&mut seen, objects)));
    }
    if seen.baseline.is_none()
        && let Some(first) = variants.first_mut()
    {
        first.baseline = true;
    }
    if seen.name_faults {
        seen.names.clear();
    }
    (variants, seen.names)
}

/// What the variants so far have used up.
#[derive(Default)]
struct Seen {
    names: Vec<String>,
    name_faults: bool,
    baseline: Option<String>,
    policy_missing: bool,
    /// The workload, for what only some of them have.
    workload: Option<&'static WorkloadDef>,
}

fn variant<'a>(
    walk: &mut Walk,
    node: Node<'a>,
    table: &'a DeTable<'a>,
    outer: PolicyChoice,
    (seen, objects): (&mut Seen, &mut Objects<'_>),
) -> Option<Variant> {
    walk.check_keys("[[variant]]", table, &names(VARIANT));
    let name = name(walk, node.span(), table, seen);
    seen.name_faults |= name.is_none();
    let choice = policy_choice(walk, table, outer, objects);
    if !choice.stated && !seen.policy_missing {
        seen.policy_missing = true;
        walk.fault(
            Fault::at(node.span(), "this variant has no policy")
                .help("write `policy = \"cfs\"` at the top for all variants, or in each of them"),
        );
    }
    let features = table.get("features").map_or_else(Vec::new, |n| features(walk, n, choice));
    let tunables = table.get("tunables").map_or_else(Vec::new, |n| tunables(walk, n, choice));
    let sched_ext = partial::commands(walk, node, table, choice, objects);
    let queue = table.get("workqueue");
    let queue = queue.map_or_else(Vec::new, |n| workqueue::workqueue(walk, n, seen.workload));
    let served = table.get("workload");
    let served = served.map_or_else(Vec::new, |n| workload::of_variant(walk, n, seen.workload));
    let baseline = baseline(walk, table, name.as_deref(), seen);
    let (name, policy) = (name?, choice.kind?);
    let rules = choice.rules;
    Some(Variant {
        name,
        baseline,
        policy,
        bpf: choice.bpf.map(|number| objects.policies[number].clone()),
        rules,
        features,
        tunables,
        sched_ext,
        workqueue: queue,
        workload: served,
    })
}

fn name<'a>(
    walk: &mut Walk,
    place: Range<usize>,
    table: &'a DeTable<'a>,
    seen: &mut Seen,
) -> Option<String> {
    let node = walk.required("this variant", place, table, &names(VARIANT), "name")?;
    let name = walk.name(node, "name")?.to_string();
    if seen.names.contains(&name) {
        walk.fault(
            Fault::at(node.span(), format!("two variants are named `{name}`"))
                .label("the second one")
                .help("results are told apart by name: give each variant its own"),
        );
        seen.name_faults = true;
    }
    seen.names.push(name.clone());
    Some(name)
}

fn baseline(walk: &mut Walk, table: &DeTable<'_>, name: Option<&str>, seen: &mut Seen) -> bool {
    let Some(node) = table.get("baseline") else {
        return false;
    };
    let here = walk.switch(node, "baseline") == Some(true);
    if here && let Some(first) = &seen.baseline {
        walk.fault(
            Fault::at(node.span(), "more than one variant is the baseline")
                .label(format!("`{first}` is one already"))
                .help("remove one: every variant is compared with a single baseline"),
        );
    } else if here {
        seen.baseline = Some(name.unwrap_or("an unnamed variant").to_string());
    }
    here
}

fn features(walk: &mut Walk, list: Node<'_>, choice: PolicyChoice) -> Vec<Feature> {
    let nodes = walk.array(list, "features").unwrap_or_default();
    if let (Some(policy), false) = (choice.kind, nodes.is_empty())
        && policy.0.class != Class::Fair
    {
        let message = format!("policy `{}` has no features", policy.name());
        walk.fault(Fault::at(list.span(), message).help("remove them"));
        return Vec::new();
    }
    let mut features: Vec<Feature> = Vec::new();
    for node in nodes {
        let Some(feature) = feature(walk, node, choice) else {
            continue;
        };
        match features.iter().find(|f| f.name == feature.name) {
            Some(earlier) => {
                let message = match earlier.on == feature.on {
                    true => format!("feature `{feature}` is given twice"),
                    false => format!("features `{earlier}` and `{feature}` contradict each other"),
                };
                walk.fault(Fault::at(node.span(), message).help("keep one of the two"));
            }
            None => {
                only_one_shared_queue(walk, node, &features, feature);
                features.push(feature);
            }
        }
    }
    parts_without_the_whole(walk, list, &features, choice);
    features
}

/// Features that only change what another one does, which is off.
const PARTS: [(&str, &str); 3] =
    [("SWQ_FLAGS", "SWQUEUE"), ("SWQUEUE_STEAL", "SWQUEUE"), ("SIS_NODE_TOPOEXT", "SIS_NODE")];

fn parts_without_the_whole(
    walk: &mut Walk,
    list: Node<'_>,
    features: &[Feature],
    choice: PolicyChoice,
) {
    let stated = |name| features.iter().find(|f| f.name == name).map(|f| f.on);
    for (part, whole) in PARTS {
        let default = registry::feature(whole).and_then(|def| def.default(choice.rules));
        let is_off = !stated(whole).or(default).unwrap_or(false);
        if stated(part) == Some(true) && is_off {
            let message = format!("feature `{part}` does nothing without `{whole}`");
            let help = match stated(whole) {
                Some(_) => format!("write \"{whole}\" in place of \"NO_{whole}\""),
                None => format!("add \"{whole}\" to the list"),
            };
            walk.fault(Fault::at(list.span(), message).help(help));
        }
    }
}

/// SHARED_RUNQ took the place of SWQUEUE.
fn only_one_shared_queue(walk: &mut Walk, node: Node<'_>, earlier: &[Feature], feature: Feature) {
    let is_one = |f: &Feature| f.on && ["SWQUEUE", "SHARED_RUNQ"].contains(&f.name);
    if let Some(other) = earlier.iter().find(|f| is_one(f))
        && is_one(&feature)
    {
        let message = format!("features `{other}` and `{feature}` exclude each other");
        walk.fault(
            Fault::at(node.span(), message).label("one shared queue per CPU").help(
                "keep one of the two: SWQUEUE is the first version of what became SHARED_RUNQ",
            ),
        );
    }
}

fn feature_word<'a>(walk: &mut Walk, node: Node<'a>) -> Option<&'a str> {
    if let DeValue::String(word) = node.get_ref() {
        return Some(word);
    }
    walk.fault(Fault::at(node.span(), "a feature is a name in quotes").help("such as \"SWQUEUE\""));
    None
}

fn feature(walk: &mut Walk, node: Node<'_>, choice: PolicyChoice) -> Option<Feature> {
    let word = feature_word(walk, node)?;
    let (on, bare) = match word.strip_prefix("NO_") {
        Some(bare) => (false, bare),
        None => (true, word),
    };
    if let Some(def) = registry::feature(bare) {
        if choice.kind.is_some() && def.default(choice.rules).is_none() {
            not_in_kernel(walk, node.span(), &format!("feature `{bare}`"), choice, &def.kernels());
        }
        return Some(Feature { name: def.name, on });
    }
    let upper = word.to_ascii_uppercase();
    let (no, bare) = match upper.strip_prefix("NO_") {
        Some(bare) => ("NO_", bare),
        None => ("", upper.as_str()),
    };
    let help = match nearest(bare, FEATURES.iter().map(|f| f.name)) {
        Some(name) => format!("did you mean `{no}{name}`?"),
        None => "`schedlab list features` prints all of them".to_string(),
    };
    walk.fault(
        Fault::at(node.span(), format!("unknown feature `{word}`"))
            .label("no feature has this name")
            .help(help),
    );
    None
}

/// A feature or tunable that other kernels have.
fn not_in_kernel(
    walk: &mut Walk,
    place: Range<usize>,
    what: &str,
    choice: PolicyChoice,
    kernels: &str,
) {
    let (policy, rules) = (choice.kind.map_or("", PolicyKind::name), choice.rules.unwrap_or("?"));
    let message = format!("policy `{policy}` with the rules of {rules} has no {what}");
    walk.fault(
        Fault::at(place, message).label(format!("in kernels: {kernels}")).help(
            "remove it, or choose other rules: `cfs` is 6.4 and earlier, `eevdf` 6.6 and later",
        ),
    );
}

fn tunables(walk: &mut Walk, node: Node<'_>, choice: PolicyChoice) -> Vec<(&'static str, Value)> {
    let Some(table) = walk.table(node, "tunables") else {
        return Vec::new();
    };
    if let (Some(policy), false) = (choice.kind, table.is_empty())
        && policy.0.class == Class::Alone
    {
        let message = format!("policy `{}` has no tunables", policy.name());
        walk.fault(Fault::at(node.span(), message).help("remove them"));
        return Vec::new();
    }
    let mut values = Vec::new();
    for (key, node) in table {
        let name: &str = key.get_ref();
        let Some(def) = registry::tunable(name) else {
            walk.fault(
                Fault::at(key.span(), format!("unknown tunable `{name}`"))
                    .label("no tunable has this name")
                    .help(did_you_mean(name, tunables_of(choice))),
            );
            continue;
        };
        match choice.kind {
            Some(policy) if !def.belongs_to(policy.0.class) => {
                let message = format!("policy `{}` has no tunable `{name}`", policy.name());
                let known: Vec<&str> = tunables_of(choice).collect();
                let help = format!("it has: {}", known.join(", "));
                walk.fault(Fault::at(key.span(), message).label("another policy's").help(help));
            }
            Some(policy) if policy.0.class == Class::Fair && !def.exists(choice.rules) => {
                let what = format!("tunable `{name}`");
                not_in_kernel(walk, key.span(), &what, choice, &def.kernels());
            }
            _ => {}
        }
        let value = walk.value(node, &def.key);
        values.extend(value.map(|value| (def.key.name, value)));
    }
    values
}

/// The names of the tunables that a policy has with its rules; of all if it is not known.
fn tunables_of(choice: PolicyChoice) -> impl Iterator<Item = &'static str> {
    let has = move |t: &&TunableDef| match choice.kind {
        Some(policy) if policy.0.class == Class::Fair => t.exists(choice.rules),
        Some(policy) => t.belongs_to(policy.0.class),
        None => true,
    };
    TUNABLES.iter().filter(has).map(|t| t.key.name)
}

//! `policy` and `rules`, which the scenario says for all variants, or a variant for itself.

use super::bpf::Objects;
use crate::registry;
use crate::run_spec::PolicyKind;
use input::{Fault, Node, Walk, did_you_mean};
use toml::de::DeTable;

/// Policy and rules as far as one table states them.
#[derive(Clone, Copy, Default)]
pub(super) struct PolicyChoice {
    /// The policy; `None` if it is missing or misspelled.
    pub kind: Option<PolicyKind>,
    /// True if the key is there, right or wrong.
    pub stated: bool,
    /// Kernel version whose rules apply.
    pub rules: Option<&'static str>,
    /// The number of its scheduler in [`Objects`], if it is a BPF object.
    pub bpf: Option<usize>,
}

/// Reads `policy` and `rules` of a table; what it does not say is taken from `outer`.
pub(super) fn policy_choice(
    walk: &mut Walk,
    table: &DeTable<'_>,
    outer: PolicyChoice,
    objects: &mut Objects<'_>,
) -> PolicyChoice {
    let mut choice = outer;
    if let Some(node) = table.get("policy") {
        let stated = PolicyChoice { stated: true, ..PolicyChoice::default() };
        choice = match node.get_ref().as_table() {
            Some(_) => {
                let bpf = objects.policy(walk, node);
                let kind = bpf.and_then(|_| registry::policy(registry::OF_OBJECTS)).map(PolicyKind);
                PolicyChoice { kind, bpf, ..stated }
            }
            None => PolicyChoice { kind: policy(walk, node), ..stated },
        };
        choice.rules = choice.kind.and_then(|p| p.0.rules.first().copied());
    }
    if let Some(node) = table.get("rules") {
        choice.rules = rules(walk, node, choice.kind).or(choice.rules);
    }
    if let Some(node) = table.get("policy").or(table.get("rules")) {
        objects.check(walk, node, choice);
    }
    choice
}

fn policy(walk: &mut Walk, node: Node<'_>) -> Option<PolicyKind> {
    let name = walk.text(node, "policy")?;
    if name == registry::OF_OBJECTS {
        let fault = Fault::at(node.span(), "the policy `bpf` needs an object");
        walk.fault(fault.help("name it: policy = { bpf = \"FILE.bpf.o\" }"));
        return None;
    }
    let found = registry::policy(name).map(PolicyKind);
    if found.is_none() {
        walk.fault(
            Fault::at(node.span(), format!("unknown policy `{name}`"))
                .label("no policy has this name")
                .help(did_you_mean(name, registry::POLICIES.iter().map(|p| p.name))),
        );
    }
    found
}

fn rules(walk: &mut Walk, node: Node<'_>, policy: Option<PolicyKind>) -> Option<&'static str> {
    let text = walk.text(node, "rules")?;
    let policy = policy?.0;
    let found = policy.rules.iter().find(|r| **r == text).copied();
    if found.is_none() {
        let message = format!("policy `{}` has no rules of kernel `{text}`", policy.name);
        let help = match policy.rules {
            [] => format!("leave `rules` out: `{}` is no kernel's policy", policy.name),
            known => format!("known: {}", known.join(", ")),
        };
        walk.fault(Fault::at(node.span(), message).help(help));
    }
    found
}

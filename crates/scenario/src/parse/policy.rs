//! `policy` and `rules`, which the scenario says for all variants, or a variant for itself.

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
}

/// Reads `policy` and `rules` of a table; what it does not say is taken from `outer`.
pub(super) fn policy_choice(
    walk: &mut Walk,
    table: &DeTable<'_>,
    outer: PolicyChoice,
) -> PolicyChoice {
    let mut choice = outer;
    if let Some(node) = table.get("policy") {
        choice = PolicyChoice { kind: policy(walk, node), stated: true, rules: None };
        choice.rules = choice.kind.and_then(|p| p.0.rules.first().copied());
    }
    if let Some(node) = table.get("rules") {
        choice.rules = rules(walk, node, choice.kind).or(choice.rules);
    }
    choice
}

fn policy(walk: &mut Walk, node: Node<'_>) -> Option<PolicyKind> {
    let name = walk.text(node, "policy")?;
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

//! `sched_ext`: which commands a sched_ext scheduler has, if not all.

use super::bpf::Objects;
use super::policy::PolicyChoice;
use crate::registry::Class;
use input::{Fault, Node, Walk};
use toml::de::DeTable;

/// Reads `sched_ext` of a variant; empty: the policy has all tasks.
pub(super) fn commands(
    walk: &mut Walk,
    variant: Node<'_>,
    table: &DeTable<'_>,
    choice: PolicyChoice,
    objects: &Objects<'_>,
) -> Vec<String> {
    let Some(list) = table.get("sched_ext") else {
        let policy = choice.bpf.map(|number| &objects.policies[number]);
        if policy.is_some_and(|policy| policy.switches_partially()) {
            let message = "this scheduler has SCX_OPS_SWITCH_PARTIAL, and no task asks for it";
            let help = "name commands that run under SCHED_EXT: sched_ext = [\"make\"]";
            walk.fault(Fault::at(variant.span(), message).help(help));
        }
        return Vec::new();
    };
    if let Some(policy) = choice.kind
        && policy.0.class != Class::Ext
    {
        let message = format!("policy `{}` is no sched_ext scheduler", policy.name());
        walk.fault(Fault::at(list.span(), message).help("remove `sched_ext`"));
        return Vec::new();
    }
    let Some(nodes) = walk.array(list, "sched_ext") else {
        return Vec::new();
    };
    if nodes.is_empty() {
        let message = "`sched_ext` names no command";
        let help = "name some, or leave it out: then the scheduler has all tasks";
        walk.fault(Fault::at(list.span(), message).help(help));
    }
    let names = nodes.iter().filter_map(|node| walk.name(node, "sched_ext"));
    names.map(str::to_string).collect()
}

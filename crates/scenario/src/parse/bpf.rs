//! The table of a policy that is a BPF object.

use super::policy::PolicyChoice;
use crate::bpf_policy::{BpfPolicy, ObjectFiles};
use crate::registry::{BPF_POLICY, names};
use input::{Fault, Node, Walk, did_you_mean};
use policies::ext::bpf::{
    Arg, Fill, FillError, Refused, SetError, Start, USER_HALVES, Value, Word, flags,
};
use std::sync::Arc;
use toml::de::{DeTable, DeValue};
use topology::Machine;

/// Elements that an array may be given.
const ELEMENTS_MAX: i64 = 1 << 20;
/// ns per instruction beyond which it is taken for a slip.
const NS_PER_INSN_MAX: f64 = 1e6;

/// Objects that scenarios name, and the schedulers that they are made into.
pub(crate) struct Objects<'a> {
    pub files: &'a ObjectFiles,
    /// The machine, if it is known.
    pub machine: Option<Arc<Machine>>,
    /// By their numbers in [`PolicyChoice::bpf`].
    pub policies: Vec<Arc<BpfPolicy>>,
}

impl Objects<'_> {
    /// Reads the table of a policy; the number of its scheduler.
    pub(super) fn policy(&mut self, walk: &mut Walk, node: Node<'_>) -> Option<usize> {
        let table = node.get_ref().as_table()?;
        let known = names(BPF_POLICY);
        walk.check_keys("this policy", table, &known);
        let file = walk.required("this policy", node.span(), table, &known, "bpf")?;
        // A file that cannot be read is a fault already.
        let file = self.files.get(walk.text(file, "bpf")?)?;
        let mut policy = BpfPolicy::new(file);
        let faults = walk.faults.len();
        resize(walk, table, &mut policy);
        for key in ["rodata", "bss"] {
            self.set(walk, table, key, &mut policy);
        }
        set_flags(walk, table, &mut policy);
        set_start(walk, table, &mut policy);
        set_user(walk, table, &mut policy);
        if let Some(node) = table.get("ns_per_insn")
            && let Some(ns) = walk.number(node, "ns_per_insn")
        {
            match (0.0..=NS_PER_INSN_MAX).contains(&ns) {
                true => policy.set_ns_per_insn(ns),
                false => {
                    let bounds = [0.0, NS_PER_INSN_MAX];
                    let span = node.span();
                    walk.fault(Fault::out_of_range(span, "ns_per_insn", ns < 0.0, bounds, "ns"));
                }
            }
        }
        if walk.faults.len() > faults {
            return None;
        }
        self.policies.push(Arc::new(policy));
        Some(self.policies.len() - 1)
    }

    /// Variables that programs only read, or those that they may write.
    fn set(&self, walk: &mut Walk, table: &DeTable<'_>, key: &str, policy: &mut BpfPolicy) {
        let Some(variables) = table.get(key).and_then(|node| walk.table(node, key)) else {
            return;
        };
        for (path, node) in variables {
            let path: &str = path.get_ref();
            let Some(value) = value(walk, path, node) else {
                continue;
            };
            if policy.is_writable(path).is_some_and(|is_writable| is_writable != (key == "bss")) {
                let (other, what) = match key {
                    "bss" => ("rodata", "is only read by its programs"),
                    _ => ("bss", "may be written by its programs"),
                };
                let fault = Fault::at(node.span(), format!("`{path}` {what}"));
                walk.fault(fault.help(format!("write it under `{other}`")));
                continue;
            }
            let fill = Fill { path: path.to_string(), value };
            match policy.set(fill, self.machine.as_deref()) {
                Ok(()) => {}
                Err(FillError::Set(why)) => refuse(walk, node, path, policy, &why),
                Err(why) => walk.fault(Fault::at(node.span(), why.to_string())),
            }
        }
    }

    /// What the kernel lacks that is to load it, or this model.
    pub(super) fn check(&self, walk: &mut Walk, node: Node<'_>, choice: PolicyChoice) {
        let Some(policy) = choice.bpf.map(|number| &self.policies[number]) else {
            return;
        };
        // Without a machine there is a fault already.
        let Some(machine) = &self.machine else {
            return;
        };
        if let Err(refused) = policy.load(choice.rules, machine) {
            let rules = choice.rules.unwrap_or_default();
            let text = refused.to_string();
            let help = match &refused {
                Refused::Load(_)
                    if rules != "6.12" && policy.load(Some("6.12"), machine).is_ok() =>
                {
                    "kernel 6.12 has it: add `rules = \"6.12\"`".to_string()
                }
                _ => "docs/BPF.md lists what is there".to_string(),
            };
            let message = format!("this object cannot be loaded into {rules}: {text}");
            walk.fault(Fault::at(node.span(), message).help(help));
        }
    }
}

/// A number, a list of them, or what the machine says.
fn value(walk: &mut Walk, name: &str, node: Node<'_>) -> Option<Value> {
    match node.get_ref() {
        DeValue::Boolean(on) => Some(Value::Number((*on).into())),
        DeValue::String(word) => {
            let found = Word::ALL.iter().find(|(known, _)| known == word);
            if found.is_none() {
                let help = did_you_mean(word, Word::ALL.iter().map(|(word, _)| *word));
                let message = format!("`{name}` cannot be `{word}`");
                walk.fault(Fault::at(node.span(), message).help(help));
            }
            found.map(|(_, word)| Value::Word(*word))
        }
        DeValue::Array(list) => {
            let numbers = list.iter().map(|node| walk.int(node, name, i64::MIN..=i64::MAX, ""));
            numbers.collect::<Option<_>>().map(Value::List)
        }
        _ => walk.int(node, name, i64::MIN..=i64::MAX, "").map(Value::Number),
    }
}

fn set_flags(walk: &mut Walk, table: &DeTable<'_>, policy: &mut BpfPolicy) {
    let Some(list) = table.get("flags").and_then(|node| walk.array(node, "flags")) else {
        return;
    };
    let mut all = 0;
    for node in list {
        let Some(name) = walk.text(node, "flags") else {
            continue;
        };
        match flags().find(|(known, _)| *known == name) {
            Some((_, flag)) => all |= flag,
            None => {
                let help = did_you_mean(name, flags().map(|(known, _)| known));
                walk.fault(Fault::at(node.span(), format!("unknown flag `{name}`")).help(help));
            }
        }
    }
    policy.set_flags(all);
}

/// Halves in user space, `["scx-arena"]`.
fn set_user(walk: &mut Walk, table: &DeTable<'_>, policy: &mut BpfPolicy) {
    let list = table.get("user").and_then(|node| walk.array(node, "user"));
    for node in list.into_iter().flatten() {
        let Some(name) = walk.text(node, "user") else {
            continue;
        };
        match USER_HALVES.iter().find(|def| def.name == name) {
            Some(def) => policy.add_user(def),
            None => {
                let help = did_you_mean(name, USER_HALVES.iter().map(|def| def.name));
                let message = format!("no half in user space is called `{name}`");
                walk.fault(Fault::at(node.span(), message).help(help));
            }
        }
    }
}

/// Calls before the start, `{ call = "enable_cpu", args = { cpu = "cpu" } }`.
fn set_start(walk: &mut Walk, table: &DeTable<'_>, policy: &mut BpfPolicy) {
    let Some(list) = table.get("start").and_then(|node| walk.array(node, "start")) else {
        return;
    };
    let known = ["call", "args"];
    for node in list {
        let Some(table) = walk.table(node, "start") else {
            continue;
        };
        walk.check_keys("this call", table, &known);
        let call = walk.required("this call", node.span(), table, &known, "call");
        let Some(call) = call.and_then(|node| walk.text(node, "call")) else {
            continue;
        };
        let fields = table.get("args").and_then(|node| walk.table(node, "args"));
        let fields = fields.into_iter().flatten().filter_map(|(key, node)| {
            Some((key.get_ref().to_string(), argument(walk, key.get_ref(), node)?))
        });
        let args = fields.collect();
        policy.add_start(Start { call: call.to_string(), args });
    }
}

/// A number, or what differs between the calls for the CPUs.
fn argument(walk: &mut Walk, name: &str, node: Node<'_>) -> Option<Arg> {
    let words = || Arg::WORDS.iter().map(|(word, _)| *word);
    match node.get_ref() {
        DeValue::Boolean(on) => Some(Arg::Number(i64::from(*on))),
        DeValue::String(word) => {
            let found = Arg::WORDS.iter().find(|(known, _)| known == word).map(|(_, arg)| *arg);
            if found.is_none() {
                let help = did_you_mean(word, words());
                let message = format!("`{name}` cannot be `{word}`");
                walk.fault(Fault::at(node.span(), message).help(help));
            }
            found
        }
        _ => walk.int(node, name, i64::MIN..=i64::MAX, "").map(Arg::Number),
    }
}

fn resize(walk: &mut Walk, table: &DeTable<'_>, policy: &mut BpfPolicy) {
    let Some(arrays) = table.get("resize").and_then(|node| walk.table(node, "resize")) else {
        return;
    };
    for (key, node) in arrays {
        let name: &str = key.get_ref();
        if let Some(n) = walk.int(node, name, 1..=ELEMENTS_MAX, "elements")
            && let Err(why) = policy.resize(name, n as u32)
        {
            refuse(walk, node, name, policy, &why);
        }
    }
}

fn refuse(walk: &mut Walk, node: Node<'_>, name: &str, policy: &BpfPolicy, why: &SetError) {
    let fault = Fault::at(node.span(), why.to_string());
    let fault = match why {
        SetError::Unknown(_) => fault.help(did_you_mean(name, policy.variables())),
        _ => fault,
    };
    walk.fault(fault);
}

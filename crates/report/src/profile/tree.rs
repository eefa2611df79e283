//! The call graph from the outermost callers down, drawn as `perf report -g caller` draws it.

use super::View;
use scenario::Profile;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Calls with less than this share are left out, as perf does, %.
const LEAST: f64 = 0.5;
/// A call that takes all of its caller's time but 1 in so many parts is drawn as its continuation.
const NEARLY_ALL: u64 = 50;

/// A function, or a command, with the time of all that it calls.
#[derive(Default)]
pub(super) struct Node<'a> {
    /// Its time, that of its calls included, ns.
    pub ns: u64,
    calls: BTreeMap<&'a str, Node<'a>>,
}

impl<'a> Node<'a> {
    /// All commands together.
    pub fn of(profile: &'a Profile) -> Self {
        let mut root = Node::default();
        for stack in &profile.stacks {
            let mut functions = vec![stack.comm.as_str()];
            functions.extend(&stack.functions);
            root.add(&functions, stack.ns);
        }
        root
    }

    fn add(&mut self, functions: &[&'a str], ns: u64) {
        self.ns += ns;
        if let Some((first, rest)) = functions.split_first() {
            self.calls.entry(first).or_default().add(rest, ns);
        }
    }

    /// Called functions by name.
    pub fn by_name(&self) -> impl Iterator<Item = (&'a str, &Node<'a>)> {
        self.calls.iter().map(|(name, node)| (*name, node))
    }

    /// Called functions, the dearest first.
    fn sorted(&self) -> Vec<(&'a str, &Node<'a>)> {
        let mut calls: Vec<_> = self.calls.iter().map(|(name, node)| (*name, node)).collect();
        calls.sort_by(|a, b| b.1.ns.cmp(&a.1.ns).then(a.0.cmp(b.0)));
        calls
    }
}

/// The call graph of all commands together.
pub(super) fn tree(view: &View<'_>) -> String {
    let root = Node::of(view.profile);
    let mut out = String::new();
    for (comm, node) in root.sorted() {
        if view.share(node.ns) >= LEAST {
            let _ = writeln!(out, "{:>7.2}%  {comm}", view.share(node.ns));
            calls(&mut out, view, node, "          ");
        }
    }
    out
}

/// A function that takes nearly all of its caller's time stands below it without a share.
fn calls(out: &mut String, view: &View<'_>, node: &Node<'_>, indent: &str) {
    let shown: Vec<_> =
        node.sorted().into_iter().filter(|(_, n)| view.share(n.ns) >= LEAST).collect();
    if let [(name, only)] = shown[..]
        && node.ns - only.ns <= node.ns / NEARLY_ALL
    {
        let _ = writeln!(out, "{indent}{name}");
        return calls(out, view, only, indent);
    }
    let own = node.ns - node.calls.values().map(|call| call.ns).sum::<u64>();
    if !shown.is_empty() && view.share(own) >= LEAST {
        let _ = writeln!(out, "{indent}|--{:.2}%--(itself)", view.share(own));
    }
    let n = shown.len();
    for (i, (name, call)) in shown.into_iter().enumerate() {
        let _ = writeln!(out, "{indent}|--{:.2}%--{name}", view.share(call.ns));
        let bar = if i + 1 < n { '|' } else { ' ' };
        calls(out, view, call, &format!("{indent}{bar}         "));
    }
}

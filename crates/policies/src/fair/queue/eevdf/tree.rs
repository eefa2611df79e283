//! The waiting tasks of all runqueues: one balanced search tree each, in one arena by `TaskId`.
//!
//! A tree is ordered by (deadline, order of arrival). Each node knows the smallest vruntime of its
//! subtree, so the first task in the order that is eligible is found on one way down, and the
//! smallest and largest slice. Linux augments its red-black trees in the same way; AVL trees are
//! shorter to write down and as deep. Entities of task groups are in an arena of their own.

use crate::fair::state::groups::{FIRST_ENTITY, is_group};
use sim_core::{PerTask, TaskId};

/// What a tree knows of a waiting task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Waiting {
    pub deadline: u64,
    pub vruntime: u64,
    pub slice: u64,
}

/// Of a subtree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes {
    pub min_vruntime: u64,
    pub min_slice: u64,
    pub max_slice: u64,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    own: Waiting,
    /// Order of arrival.
    seq: u64,
    all: Extremes,
    left: TaskId,
    right: TaskId,
    height: u8,
}

const NO_NODE: Node = Node {
    own: Waiting { deadline: 0, vruntime: 0, slice: 0 },
    seq: 0,
    all: Extremes { min_vruntime: u64::MAX, min_slice: u64::MAX, max_slice: 0 },
    left: TaskId::NONE,
    right: TaskId::NONE,
    height: 0,
};

/// See the module's documentation. A tree is named by its root, [`TaskId::NONE`] if it is empty.
#[derive(Clone, Debug, Default)]
pub struct Trees<const GROUPS: bool> {
    tasks: PerTask<Node>,
    groups: Vec<Node>,
    seq: u64,
}

impl<const GROUPS: bool> Trees<GROUPS> {
    /// Makes room for a task.
    pub(super) fn make_room(&mut self, p: TaskId) {
        self.tasks.cover(p, || NO_NODE);
    }

    /// Makes room for so many entities of groups.
    pub(super) fn make_room_for_groups(&mut self, n: usize) {
        self.groups = vec![NO_NODE; n];
    }

    #[inline]
    fn node(&self, p: TaskId) -> &Node {
        if GROUPS && is_group(p) {
            return &self.groups[(p.0 - FIRST_ENTITY) as usize];
        }
        &self.tasks[p]
    }

    #[inline]
    fn node_mut(&mut self, p: TaskId) -> &mut Node {
        if GROUPS && is_group(p) {
            return &mut self.groups[(p.0 - FIRST_ENTITY) as usize];
        }
        &mut self.tasks[p]
    }

    /// Puts `p` behind all of the same deadline; the result is the new root.
    #[inline]
    pub(super) fn insert(&mut self, root: TaskId, p: TaskId, own: Waiting) -> TaskId {
        self.seq += 1;
        let v = own.vruntime;
        let slice = own.slice;
        let all = Extremes { min_vruntime: v, min_slice: slice, max_slice: slice };
        *self.node_mut(p) = Node { own, seq: self.seq, all, height: 1, ..NO_NODE };
        self.insert_below(root, p)
    }

    /// Takes `p`, which is in this tree, out; the result is the new root.
    #[inline]
    pub(super) fn remove(&mut self, root: TaskId, p: TaskId) -> TaskId {
        if root == p {
            return self.join(p);
        }
        let (n, q) = (self.node(root), self.node(p));
        if q.key() < n.key() {
            let left = self.remove(n.left, p);
            self.node_mut(root).left = left;
        } else {
            let right = self.remove(n.right, p);
            self.node_mut(root).right = right;
        }
        self.balance(root)
    }

    /// The slice of `p`, which is in this tree, is another one.
    pub(super) fn set_slice(&mut self, root: TaskId, p: TaskId, slice: u64) {
        if root == p {
            self.node_mut(p).own.slice = slice;
        } else {
            let n = self.node(root);
            let below = if self.node(p).key() < n.key() { n.left } else { n.right };
            self.set_slice(below, p, slice);
        }
        self.update(root);
    }

    /// The extremes of a tree, if it is not empty.
    #[inline]
    pub(super) fn extremes(&self, root: TaskId) -> Option<&Extremes> {
        root.is_task().then(|| &self.node(root).all)
    }

    /// The first task in the order whose vruntime is at most `limit`.
    #[inline]
    pub(super) fn first_up_to(&self, root: TaskId, limit: u64) -> Option<TaskId> {
        let mut at = root;
        while at.is_task() {
            let n = self.node(at);
            // An eligible task on the left has the earlier deadline.
            if n.left.is_task() && self.node(n.left).all.min_vruntime <= limit {
                at = n.left;
            } else if n.own.vruntime <= limit {
                return Some(at);
            } else {
                at = n.right;
            }
        }
        None
    }

    /// All tasks of a tree in its order.
    pub(super) fn in_order(&self, root: TaskId, out: &mut Vec<TaskId>) {
        if root.is_task() {
            let n = *self.node(root);
            self.in_order(n.left, out);
            out.push(root);
            self.in_order(n.right, out);
        }
    }

    fn insert_below(&mut self, root: TaskId, p: TaskId) -> TaskId {
        if !root.is_task() {
            return p;
        }
        let (n, q) = (self.node(root), self.node(p));
        if q.key() < n.key() {
            let left = self.insert_below(n.left, p);
            self.node_mut(root).left = left;
        } else {
            let right = self.insert_below(n.right, p);
            self.node_mut(root).right = right;
        }
        self.balance(root)
    }

    /// The tree without its root `p`.
    fn join(&mut self, p: TaskId) -> TaskId {
        let Node { left, right, .. } = *self.node(p);
        if !left.is_task() {
            return right;
        }
        if !right.is_task() {
            return left;
        }
        // The next task in the order takes the place of `p`.
        let mut first = right;
        while self.node(first).left.is_task() {
            first = self.node(first).left;
        }
        let right = self.remove(right, first);
        let node = self.node_mut(first);
        (node.left, node.right) = (left, right);
        self.balance(first)
    }

    #[inline]
    fn height(&self, p: TaskId) -> u8 {
        if p.is_task() { self.node(p).height } else { 0 }
    }

    /// Brings a node whose subtrees differ in height by at most two into shape.
    fn balance(&mut self, p: TaskId) -> TaskId {
        let Node { left, right, .. } = *self.node(p);
        let (l, r) = (self.height(left), self.height(right));
        if l > r + 1 {
            let Node { left: outer, right: inner, .. } = *self.node(left);
            if self.height(inner) > self.height(outer) {
                // A double rotation: the inner grandchild is the higher one.
                let left = self.rotate_left(left);
                self.node_mut(p).left = left;
            }
            return self.rotate_right(p);
        }
        if r > l + 1 {
            let Node { left: inner, right: outer, .. } = *self.node(right);
            if self.height(inner) > self.height(outer) {
                let right = self.rotate_right(right);
                self.node_mut(p).right = right;
            }
            return self.rotate_left(p);
        }
        self.update(p);
        p
    }

    fn rotate_left(&mut self, p: TaskId) -> TaskId {
        let up = self.node(p).right;
        let inner = std::mem::replace(&mut self.node_mut(up).left, p);
        self.node_mut(p).right = inner;
        self.update(p);
        self.update(up);
        up
    }

    fn rotate_right(&mut self, p: TaskId) -> TaskId {
        let up = self.node(p).left;
        let inner = std::mem::replace(&mut self.node_mut(up).right, p);
        self.node_mut(p).left = inner;
        self.update(p);
        self.update(up);
        up
    }

    /// Height and extremes of a node from those of its children.
    fn update(&mut self, p: TaskId) {
        let n = *self.node(p);
        let mut all = Extremes {
            min_vruntime: n.own.vruntime,
            min_slice: n.own.slice,
            max_slice: n.own.slice,
        };
        let mut height = 0;
        for child in [n.left, n.right] {
            if child.is_task() {
                let c = self.node(child);
                all.min_vruntime = all.min_vruntime.min(c.all.min_vruntime);
                all.min_slice = all.min_slice.min(c.all.min_slice);
                all.max_slice = all.max_slice.max(c.all.max_slice);
                height = height.max(c.height);
            }
        }
        let n = self.node_mut(p);
        (n.all, n.height) = (all, height + 1);
    }
}

impl Node {
    #[inline]
    fn key(&self) -> (u64, u64) {
        (self.own.deadline, self.seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The same as a sorted list.
    #[derive(Default)]
    struct List(Vec<(u64, TaskId, Waiting)>);

    impl List {
        fn insert(&mut self, p: TaskId, own: Waiting) {
            let at = self.0.iter().filter(|(deadline, ..)| *deadline <= own.deadline).count();
            self.0.insert(at, (own.deadline, p, own));
        }

        fn first_up_to(&self, limit: u64) -> Option<TaskId> {
            self.0.iter().find(|(.., own)| own.vruntime <= limit).map(|(_, p, _)| *p)
        }
    }

    fn next(state: &mut u64) -> u64 {
        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        *state >> 11
    }

    fn check(trees: &Trees<false>, root: TaskId, list: &List) {
        let mut order = Vec::new();
        trees.in_order(root, &mut order);
        let expected: Vec<TaskId> = list.0.iter().map(|(_, p, _)| *p).collect();
        assert_eq!(order, expected);
        let all = |f: fn(&Waiting) -> u64| list.0.iter().map(move |(.., own)| f(own));
        if let Some(e) = trees.extremes(root) {
            assert_eq!(Some(e.min_vruntime), all(|own| own.vruntime).min());
            assert_eq!(Some(e.min_slice), all(|own| own.slice).min());
            assert_eq!(Some(e.max_slice), all(|own| own.slice).max());
        }
        for limit in 0..12 {
            assert_eq!(trees.first_up_to(root, limit), list.first_up_to(limit));
        }
        // An AVL tree is less than 1.45 times as deep as a perfect one.
        let perfect = (list.0.len() + 2).ilog2() as f64 + 1.0;
        assert!(f64::from(trees.height(root)) <= 1.45 * perfect);
    }

    #[test]
    fn a_tree_is_a_sorted_list() {
        let mut trees = Trees::<false>::default();
        let mut root = TaskId::NONE;
        let mut list = List::default();
        let n = 60;
        trees.make_room(TaskId(n));
        let mut state = 88172645463325252;
        for _ in 0..20_000 {
            let r = next(&mut state);
            let p = TaskId((r % u64::from(n)) as u32);
            if let Some(at) = list.0.iter().position(|(_, q, _)| *q == p) {
                list.0.remove(at);
                root = trees.remove(root, p);
            } else {
                let own = Waiting {
                    deadline: (r >> 8) % 20,
                    vruntime: (r >> 16) % 10,
                    slice: (r >> 24) % 7,
                };
                list.insert(p, own);
                root = trees.insert(root, p, own);
            }
            check(&trees, root, &list);
        }
    }
}

//! The order of a dispatch queue: first come, first served, or by vtime.
//!
//! A task is on at most one queue, so both orders are threaded through one dense array of nodes:
//! a list, or a treap, whose shape depends on the tasks' keys and on nothing random. Finding the
//! first entry that a CPU may take walks in order from the head, past those that it may not.

use sim_core::{PerTask, TaskId, stir};

/// The order of a queue; fixed while it has tasks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// First come, first served.
    Fifo,
    /// Smallest vtime first; equal ones in the order of arrival.
    Vtime,
}

/// A task's place in whatever queue it is on.
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// The task before it, or its left child.
    a: TaskId,
    /// The task behind it, or its right child.
    b: TaskId,
    parent: TaskId,
    /// The vtime by which it was inserted.
    key: u64,
    /// Its number among all insertions.
    seq: u64,
}

impl Default for Node {
    fn default() -> Self {
        let none = TaskId::NONE;
        Self { a: none, b: none, parent: none, key: 0, seq: 0 }
    }
}

impl Node {
    /// The heap order of the treap: the insertion's number, stirred.
    fn priority(&self) -> u64 {
        stir(self.seq)
    }

    /// Its number among all insertions.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// Wrap-safe, as vtimes are compared in the kernel.
    fn is_before(&self, other: &Node) -> bool {
        match self.key.wrapping_sub(other.key) as i64 {
            0 => self.seq < other.seq,
            ahead => ahead < 0,
        }
    }
}

/// A queue of tasks, each a [`Node`] in an array by [`TaskId`].
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    order: Order,
    /// The first task, or the root.
    head: TaskId,
    /// The last task of a list.
    tail: TaskId,
    len: u32,
}

impl Queue {
    /// An empty queue.
    pub fn new(order: Order) -> Self {
        Self { order, head: TaskId::NONE, tail: TaskId::NONE, len: 0 }
    }

    /// Its order.
    pub fn order(&self) -> Order {
        self.order
    }

    /// Gives an empty queue another order; false if it has another one and is not empty.
    pub fn set_order(&mut self, order: Order) -> bool {
        if self.is_empty() {
            self.order = order;
        }
        self.order == order
    }

    /// Number of tasks.
    pub fn len(&self) -> u32 {
        self.len
    }

    /// True if no task is on it.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Puts a task last, or where its key belongs; `seq` grows with each insertion anywhere.
    pub fn push(&mut self, nodes: &mut PerTask<Node>, p: TaskId, key: u64, seq: u64) {
        nodes[p] = Node { key, seq, ..Node::default() };
        self.len += 1;
        match self.order {
            Order::Fifo => self.link_behind(nodes, p, self.tail),
            Order::Vtime => self.insert(nodes, p),
        }
    }

    /// Puts a task first. Queues by vtime have no such end.
    pub fn push_front(&mut self, nodes: &mut PerTask<Node>, p: TaskId, seq: u64) {
        debug_assert_eq!(self.order, Order::Fifo);
        nodes[p] = Node { seq, ..Node::default() };
        self.len += 1;
        self.link_behind(nodes, p, TaskId::NONE);
    }

    /// Takes a task off the queue that it is on.
    pub fn remove(&mut self, nodes: &mut PerTask<Node>, p: TaskId) {
        debug_assert!(self.len > 0);
        self.len -= 1;
        match self.order {
            Order::Fifo => self.unlink(nodes, p),
            Order::Vtime => self.cut(nodes, p),
        }
    }

    /// The first task.
    pub fn first(&self, nodes: &PerTask<Node>) -> Option<TaskId> {
        let first = match self.order {
            Order::Fifo => self.head,
            Order::Vtime => outermost(nodes, self.head, |node| node.a),
        };
        first.is_task().then_some(first)
    }

    /// The last task.
    pub fn last(&self, nodes: &PerTask<Node>) -> Option<TaskId> {
        let last = match self.order {
            Order::Fifo => self.tail,
            Order::Vtime => outermost(nodes, self.head, |node| node.b),
        };
        last.is_task().then_some(last)
    }

    /// The task behind one that is on the queue.
    pub fn next(&self, nodes: &PerTask<Node>, p: TaskId) -> Option<TaskId> {
        self.neighbor(nodes, p, |node| node.b, |node| node.a)
    }

    /// The task before one that is on the queue.
    pub fn prev(&self, nodes: &PerTask<Node>, p: TaskId) -> Option<TaskId> {
        self.neighbor(nodes, p, |node| node.a, |node| node.b)
    }

    /// The next task in the direction of `ahead`; `back` is the other one.
    fn neighbor(
        &self,
        nodes: &PerTask<Node>,
        p: TaskId,
        ahead: impl Fn(&Node) -> TaskId,
        back: impl Fn(&Node) -> TaskId,
    ) -> Option<TaskId> {
        let mut next = ahead(&nodes[p]);
        if self.order == Order::Vtime {
            if next.is_task() {
                next = outermost(nodes, next, back);
            } else {
                // No subtree there: up to the first ancestor that `p` is on the other side of.
                let mut child = p;
                next = nodes[p].parent;
                while next.is_task() && ahead(&nodes[next]) == child {
                    (child, next) = (next, nodes[next].parent);
                }
            }
        }
        next.is_task().then_some(next)
    }

    // --- a list ---

    /// Links `p` behind `prev`, or first.
    fn link_behind(&mut self, nodes: &mut PerTask<Node>, p: TaskId, prev: TaskId) {
        let next = if prev.is_task() { nodes[prev].b } else { self.head };
        (nodes[p].a, nodes[p].b) = (prev, next);
        *self.after(nodes, prev) = p;
        *self.before(nodes, next) = p;
    }

    fn unlink(&mut self, nodes: &mut PerTask<Node>, p: TaskId) {
        let Node { a: prev, b: next, .. } = nodes[p];
        *self.after(nodes, prev) = next;
        *self.before(nodes, next) = prev;
    }

    /// The link to the task behind `p`; behind none is the first.
    fn after<'a>(&'a mut self, nodes: &'a mut PerTask<Node>, p: TaskId) -> &'a mut TaskId {
        if p.is_task() { &mut nodes[p].b } else { &mut self.head }
    }

    fn before<'a>(&'a mut self, nodes: &'a mut PerTask<Node>, p: TaskId) -> &'a mut TaskId {
        if p.is_task() { &mut nodes[p].a } else { &mut self.tail }
    }

    // --- a treap ---

    fn insert(&mut self, nodes: &mut PerTask<Node>, p: TaskId) {
        let mut parent = TaskId::NONE;
        let mut at = self.head;
        let mut left = false;
        while at.is_task() {
            left = nodes[p].is_before(&nodes[at]);
            parent = at;
            at = if left { nodes[at].a } else { nodes[at].b };
        }
        nodes[p].parent = parent;
        match (parent.is_task(), left) {
            (false, _) => self.head = p,
            (true, true) => nodes[parent].a = p,
            (true, false) => nodes[parent].b = p,
        }
        while nodes[p].parent.is_task() {
            let parent = nodes[p].parent;
            // The heap order bounds the depth, whatever the order of the keys.
            if nodes[parent].priority() >= nodes[p].priority() {
                break;
            }
            self.rotate_up(nodes, p);
        }
    }

    /// Rotates the task down until it is a leaf, and cuts it off.
    fn cut(&mut self, nodes: &mut PerTask<Node>, p: TaskId) {
        loop {
            let Node { a, b, parent, .. } = nodes[p];
            let up = match (a.is_task(), b.is_task()) {
                (false, false) => {
                    self.replace_child(nodes, parent, p, TaskId::NONE);
                    return;
                }
                (true, false) => a,
                (false, true) => b,
                (true, true) if nodes[a].priority() > nodes[b].priority() => a,
                (true, true) => b,
            };
            self.rotate_up(nodes, up);
        }
    }

    /// Makes `p` the parent of its parent.
    fn rotate_up(&mut self, nodes: &mut PerTask<Node>, p: TaskId) {
        let parent = nodes[p].parent;
        let above = nodes[parent].parent;
        let inner = if nodes[parent].a == p {
            let inner = std::mem::replace(&mut nodes[p].b, parent);
            nodes[parent].a = inner;
            inner
        } else {
            let inner = std::mem::replace(&mut nodes[p].a, parent);
            nodes[parent].b = inner;
            inner
        };
        if inner.is_task() {
            nodes[inner].parent = parent;
        }
        nodes[parent].parent = p;
        nodes[p].parent = above;
        self.replace_child(nodes, above, parent, p);
    }

    fn replace_child(
        &mut self,
        nodes: &mut PerTask<Node>,
        parent: TaskId,
        old: TaskId,
        new: TaskId,
    ) {
        if !parent.is_task() {
            self.head = new;
        } else if nodes[parent].a == old {
            nodes[parent].a = new;
        } else {
            nodes[parent].b = new;
        }
    }
}

/// The end of a tree on one side.
fn outermost(nodes: &PerTask<Node>, root: TaskId, side: impl Fn(&Node) -> TaskId) -> TaskId {
    let mut at = root;
    while at.is_task() && side(&nodes[at]).is_task() {
        at = side(&nodes[at]);
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_node_knows_the_number_of_its_insertion() {
        let mut nodes = PerTask::filled(Node::default(), 2);
        let mut queue = Queue::new(Order::Fifo);
        queue.push(&mut nodes, TaskId(0), 0, 7);
        queue.push_front(&mut nodes, TaskId(1), 9);
        assert_eq!([0, 1].map(|p| nodes[TaskId(p)].seq()), [7, 9]);
    }

    fn in_order(queue: &Queue, nodes: &PerTask<Node>) -> Vec<TaskId> {
        let first = queue.first(nodes);
        std::iter::successors(first, |p| queue.next(nodes, *p)).collect()
    }

    proptest! {
        /// The slow twin: a sorted vector.
        #[test]
        fn a_queue_keeps_its_order(
            order in prop_oneof![Just(Order::Fifo), Just(Order::Vtime)],
            steps in prop::collection::vec((0u32..24, 0u64..6, any::<bool>()), 1..200),
        ) {
            let mut nodes = PerTask::filled(Node::default(), 24);
            let mut queue = Queue::new(order);
            let mut twin: Vec<(u64, TaskId)> = Vec::new();
            for (seq, (p, key, front)) in steps.into_iter().enumerate() {
                let p = TaskId(p);
                // Near the wrap, where a plain comparison would be wrong.
                let key = u64::MAX - 2 + key % 3;
                let rank = |k: u64| k.wrapping_sub(u64::MAX - 2);
                if let Some(at) = twin.iter().position(|(_, q)| *q == p) {
                    queue.remove(&mut nodes, p);
                    twin.remove(at);
                } else if order == Order::Fifo && front {
                    queue.push_front(&mut nodes, p, seq as u64);
                    twin.insert(0, (0, p));
                } else {
                    queue.push(&mut nodes, p, key, seq as u64);
                    let at = match order {
                        Order::Fifo => twin.len(),
                        Order::Vtime => twin.partition_point(|(k, _)| rank(*k) <= rank(key)),
                    };
                    twin.insert(at, (key, p));
                }
                let expected: Vec<TaskId> = twin.iter().map(|(_, p)| *p).collect();
                prop_assert_eq!(in_order(&queue, &nodes), &expected[..]);
                let last = queue.last(&nodes);
                let back = std::iter::successors(last, |p| queue.prev(&nodes, *p));
                let mut back: Vec<TaskId> = back.collect();
                back.reverse();
                prop_assert_eq!(back, expected);
                prop_assert_eq!(queue.len() as usize, twin.len());
            }
        }
    }

    #[test]
    fn a_treap_of_sorted_keys_is_not_deep() {
        let n = 4096;
        let mut nodes = PerTask::filled(Node::default(), n);
        let mut queue = Queue::new(Order::Vtime);
        for i in 0..n as u32 {
            queue.push(&mut nodes, TaskId(i), u64::from(i), u64::from(i));
        }
        let depth = |mut p: TaskId| {
            let mut depth = 0;
            while nodes[p].parent.is_task() {
                (p, depth) = (nodes[p].parent, depth + 1);
            }
            depth
        };
        let deepest = (0..n as u32).map(|i| depth(TaskId(i))).max();
        assert!(deepest < Some(50), "{deepest:?}");
    }
}

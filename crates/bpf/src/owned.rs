//! Objects that programs allocate (`bpf_obj_new`), and the trees and lists that they are in.
//!
//! A tree is kept as its nodes in order, and looked at as the balanced binary tree that halving
//! gives; so `first`, the order of equals (a new node goes behind them) and the number of
//! comparisons of an insertion are those of a balanced tree. The shape need not be the kernel's:
//! there it depends on the history of rotations.

use crate::map::{MapId, SpecialField, SpecialKind};
use crate::memory::{Memory, OutOfMemory, address, offset_of, region_of};
use std::collections::{BTreeMap, VecDeque};

/// Size and special fields of a type that can be allocated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layout {
    pub size: u32,
    pub special: Vec<SpecialField>,
}

/// The key of the pool of `struct bpf_cpumask`; others have the number of their type.
pub(crate) const CPUMASK: u32 = u32::MAX;

#[derive(Clone, Debug)]
struct Pool {
    stride: u32,
    special: Vec<SpecialField>,
    /// References by slot; 0: free.
    refs: Vec<u32>,
    free: Vec<u32>,
}

/// Everything that programs have allocated.
#[derive(Clone, Debug, Default)]
pub(crate) struct Owned {
    /// By type of the object, for `bpf_obj_new`.
    pub layouts: BTreeMap<u32, Layout>,
    regions: BTreeMap<u32, u32>,
    /// By region.
    pools: BTreeMap<u32, Pool>,
    /// Nodes in order, by the address of the tree's root or list's head.
    rows: BTreeMap<u64, VecDeque<u64>>,
    /// In which of these a node is.
    homes: BTreeMap<u64, u64>,
}

/// Which end of a list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum End {
    Front,
    Back,
}

impl Memory {
    /// A new object of a type with one reference, all zeros; 0 if the type is not known.
    pub(crate) fn allocate(&mut self, kind: u32) -> Result<u64, OutOfMemory> {
        let Some(region) = self.pool(kind)? else {
            return Ok(0);
        };
        let reused = self.owned.pools.get_mut(&region).and_then(|pool| pool.free.pop());
        let stride = self.owned.pools[&region].stride;
        let offset = match reused {
            Some(slot) => slot * stride,
            None => self.grow(region, stride as usize)?,
        };
        if let Some(pool) = self.owned.pools.get_mut(&region) {
            pool.refs.resize(pool.refs.len().max((offset / stride) as usize + 1), 0);
            pool.refs[(offset / stride) as usize] = 1;
        }
        self.regions[region as usize].bytes[offset as usize..][..stride as usize].fill(0);
        Ok(address(region, offset))
    }

    /// The region of a type's objects.
    fn pool(&mut self, kind: u32) -> Result<Option<u32>, OutOfMemory> {
        if let Some(region) = self.owned.regions.get(&kind) {
            return Ok(Some(*region));
        }
        let cpumask = Layout { size: self.n_cpus.div_ceil(64) * 8, special: Vec::new() };
        let known = self.owned.layouts.get(&kind).cloned();
        let Some(layout) = known.or_else(|| (kind == CPUMASK).then_some(cpumask)) else {
            return Ok(None);
        };
        let stride = layout.size.max(1).checked_next_multiple_of(8).ok_or(OutOfMemory)?;
        let region = self.add(Vec::new(), true)?;
        let pool = Pool { stride, special: layout.special, refs: Vec::new(), free: Vec::new() };
        self.owned.pools.insert(region, pool);
        self.owned.regions.insert(kind, region);
        Ok(Some(region))
    }

    /// The references of the object in which an address is.
    fn refs(&mut self, object: u64) -> Option<&mut u32> {
        let pool = self.owned.pools.get_mut(&region_of(object))?;
        let slot = offset_of(object) / pool.stride;
        pool.refs.get_mut(slot as usize).filter(|refs| **refs > 0)
    }

    /// One reference more; false if there is no such object.
    pub(crate) fn acquire(&mut self, object: u64) -> bool {
        match self.refs(object) {
            Some(refs) => {
                *refs = refs.saturating_add(1);
                true
            }
            None => false,
        }
    }

    /// One reference less. The last one takes the object along, and what its fields hold.
    pub(crate) fn release(&mut self, object: u64) {
        let mut to_go = vec![object];
        while let Some(object) = to_go.pop() {
            let Some(refs) = self.refs(object) else {
                continue;
            };
            *refs -= 1;
            if *refs > 0 {
                continue;
            }
            let region = region_of(object);
            let Some(pool) = self.owned.pools.get_mut(&region) else {
                continue;
            };
            let slot = offset_of(object) / pool.stride;
            pool.free.push(slot);
            let start = address(region, slot * pool.stride);
            for field in pool.special.clone() {
                self.take_held(start + u64::from(field.offset), field.kind, &mut to_go);
            }
        }
    }

    /// What a special field holds, is let go of.
    pub(crate) fn release_field(&mut self, field: u64, kind: SpecialKind) {
        let mut held = Vec::new();
        self.take_held(field, kind, &mut held);
        held.into_iter().for_each(|object| self.release(object));
    }

    fn take_held(&mut self, field: u64, kind: SpecialKind, held: &mut Vec<u64>) {
        match kind {
            SpecialKind::Kptr => {
                if let Some(place) = self.bytes_mut(field, 8) {
                    let bytes: [u8; 8] =
                        std::mem::take(place.first_chunk_mut().unwrap_or(&mut [0; 8]));
                    held.push(u64::from_le_bytes(bytes));
                }
            }
            SpecialKind::RbRoot | SpecialKind::ListHead => {
                let nodes = self.owned.rows.remove(&field).unwrap_or_default();
                for node in nodes {
                    self.owned.homes.remove(&node);
                    held.push(node);
                }
            }
            SpecialKind::Timer => self.timers.forget(field),
            SpecialKind::SpinLock | SpecialKind::Other => {}
        }
    }

    /// Is a node in a tree or list?
    pub(crate) fn is_linked(&self, node: u64) -> bool {
        self.owned.homes.contains_key(&node)
    }

    /// How many nodes a tree or list has.
    pub(crate) fn row_len(&self, root: u64) -> usize {
        self.owned.rows.get(&root).map_or(0, VecDeque::len)
    }

    /// The node at a place.
    pub(crate) fn row_at(&self, root: u64, at: usize) -> Option<u64> {
        self.owned.rows.get(&root)?.get(at).copied()
    }

    /// Puts a node before the one at a place.
    pub(crate) fn row_insert(
        &mut self,
        root: u64,
        at: usize,
        node: u64,
    ) -> Result<(), OutOfMemory> {
        self.take(32)?;
        let row = self.owned.rows.entry(root).or_default();
        row.insert(at.min(row.len()), node);
        self.owned.homes.insert(node, root);
        Ok(())
    }

    /// Takes a node out; false if it is not in there.
    pub(crate) fn row_remove(&mut self, root: u64, node: u64) -> bool {
        if self.owned.homes.get(&node) != Some(&root) {
            return false;
        }
        self.owned.homes.remove(&node);
        self.give_back(32);
        let Some(row) = self.owned.rows.get_mut(&root) else {
            return false;
        };
        // Mostly the first one is taken.
        match row.iter().position(|n| *n == node) {
            Some(at) => row.remove(at).is_some(),
            None => false,
        }
    }

    /// Takes the node at an end out of a list.
    pub(crate) fn row_pop(&mut self, root: u64, end: End) -> Option<u64> {
        let row = self.owned.rows.get_mut(&root)?;
        let node = match end {
            End::Front => row.pop_front(),
            End::Back => row.pop_back(),
        }?;
        self.owned.homes.remove(&node);
        self.give_back(32);
        Some(node)
    }

    /// A node's children in the tree that halving gives: left and right; `None` twice if the node
    /// is in no tree.
    pub(crate) fn row_children(&self, node: u64) -> [Option<u64>; 2] {
        let Some(row) = self.owned.homes.get(&node).and_then(|root| self.owned.rows.get(root))
        else {
            return [None, None];
        };
        let Some(at) = row.iter().position(|n| *n == node) else {
            return [None, None];
        };
        let (mut low, mut high) = (0_usize, row.len());
        loop {
            let middle = low.midpoint(high);
            match at.cmp(&middle) {
                std::cmp::Ordering::Less => high = middle,
                std::cmp::Ordering::Greater => low = middle + 1,
                std::cmp::Ordering::Equal => {
                    let node_in =
                        |low: usize, high: usize| (low < high).then(|| row[low.midpoint(high)]);
                    return [node_in(low, middle), node_in(middle + 1, high)];
                }
            }
        }
    }

    /// The map in which a value is.
    pub(crate) fn map_of_value(&self, value: u64) -> Option<MapId> {
        let at = self.maps.iter().position(|map| map.values == region_of(value))?;
        Some(MapId(at as u32))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: u64 = 1;

    fn with_nodes(n: u64) -> Memory {
        let mut memory = Memory::new(1, 1 << 20);
        for i in 0..n {
            memory.row_insert(ROOT, i as usize, 100 + i).expect("there is room");
        }
        memory
    }

    /// The nodes below and including `node`, left ones first, and how deep they are.
    fn walk(memory: &Memory, node: Option<u64>, depth: u32, seen: &mut Vec<(u64, u32)>) {
        if let Some(node) = node {
            let [left, right] = memory.row_children(node);
            walk(memory, left, depth + 1, seen);
            seen.push((node, depth));
            walk(memory, right, depth + 1, seen);
        }
    }

    #[test]
    fn children_make_a_balanced_tree_of_the_row() {
        for n in 0..70_u64 {
            let memory = with_nodes(n);
            let root = memory.row_at(ROOT, memory.row_len(ROOT) / 2);
            let mut seen = Vec::new();
            walk(&memory, root, 1, &mut seen);
            let nodes: Vec<u64> = seen.iter().map(|(node, _)| *node).collect();
            assert_eq!(nodes, (100..100 + n).collect::<Vec<_>>());
            let depth = seen.iter().map(|(_, depth)| *depth).max().unwrap_or(0);
            assert_eq!(depth, u64::BITS - n.leading_zeros(), "{n} nodes");
        }
    }

    #[test]
    fn a_node_is_in_one_row_at_a_time() {
        let mut memory = with_nodes(5);
        assert!(memory.is_linked(102) && !memory.is_linked(105));
        assert!(!memory.row_remove(2, 102), "it is in another one");
        assert!(memory.row_remove(ROOT, 102) && !memory.row_remove(ROOT, 102));
        assert_eq!(memory.row_children(102), [None, None]);
        assert_eq!(memory.row_pop(ROOT, End::Back), Some(104));
        assert_eq!(memory.row_pop(ROOT, End::Front), Some(100));
        assert_eq!(memory.row_len(ROOT), 2);
    }

    #[test]
    fn the_last_reference_frees_what_an_object_holds() {
        let mut memory = Memory::new(1, 1 << 20);
        let kptr = SpecialField { offset: 8, size: 8, kind: SpecialKind::Kptr };
        memory.owned.layouts.insert(7, Layout { size: 20, special: vec![kptr] });
        let [a, b] = [7, 7].map(|kind| memory.allocate(kind).expect("there is room"));
        assert_eq!(b - a, 24);
        memory.bytes_mut(a + 8, 8).expect("it is there").copy_from_slice(&b.to_le_bytes());
        assert!(memory.acquire(a));
        memory.release(a);
        assert!(memory.acquire(b), "a still holds it");
        memory.release(b);
        memory.release(a);
        assert!(!memory.acquire(a) && !memory.acquire(b));
        let again = [7, 7].map(|kind| memory.allocate(kind).expect("there is room"));
        assert!(again.contains(&a) && again.contains(&b), "their places are used again");
        assert_eq!(memory.bytes(a + 8, 8), Some(&[0; 8][..]));
        assert_eq!(memory.allocate(8), Ok(0), "a type that is not known");
    }
}

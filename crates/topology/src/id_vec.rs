//! Dense arrays whose index is an id: `rqs[cpu]`, and never another kind of id or a bare number.

use crate::CpuId;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut, Index, IndexMut};

/// An id that numbers things densely from 0.
pub trait DenseId: Copy {
    /// The id as an index into dense arrays.
    fn index(self) -> usize;

    /// The id of what stands at an index.
    ///
    /// # Panics
    /// The index does not fit into the id.
    fn from_index(index: usize) -> Self;
}

impl DenseId for CpuId {
    #[inline]
    fn index(self) -> usize {
        self.0 as usize
    }

    fn from_index(index: usize) -> Self {
        Self(u32::try_from(index).expect("a machine has fewer CPUs than 2^32"))
    }
}

/// A vector with one element per id; otherwise a slice (`len`, `iter`, `fill`, …).
pub struct IdVec<I, T> {
    items: Vec<T>,
    ids: PhantomData<fn(I)>,
}

/// One element per CPU.
pub type PerCpu<T> = IdVec<CpuId, T>;

impl<I: DenseId, T> IdVec<I, T> {
    /// An empty vector.
    pub const fn new() -> Self {
        Self { items: Vec::new(), ids: PhantomData }
    }

    /// As many elements as there are ids, all alike.
    pub fn filled(value: T, n_ids: usize) -> Self
    where
        T: Clone,
    {
        Self::from(vec![value; n_ids])
    }

    /// Adds an element and returns its id.
    pub fn push(&mut self, value: T) -> I {
        let id = I::from_index(self.items.len());
        self.items.push(value);
        id
    }

    /// Makes the vector long enough for an id; new elements come from `make`.
    pub fn cover(&mut self, id: I, make: impl FnMut() -> T) {
        if self.items.len() <= id.index() {
            self.items.resize_with(id.index() + 1, make);
        }
    }

    /// Removes all elements.
    pub fn clear(&mut self) {
        self.items.clear();
    }

    /// All ids, in their order.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + ExactSizeIterator + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// All elements with their ids.
    pub fn entries(&self) -> impl Iterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(index, item)| (I::from_index(index), item))
    }

    /// The element of an id, if there is one.
    pub fn at(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The element of an id, if there is one.
    pub fn at_mut(&mut self, id: I) -> Option<&mut T> {
        self.items.get_mut(id.index())
    }
}

impl<I: DenseId, T> Index<I> for IdVec<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: DenseId, T> IndexMut<I> for IdVec<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I, T> Deref for IdVec<I, T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.items
    }
}

impl<I, T> DerefMut for IdVec<I, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.items
    }
}

impl<I, T> From<Vec<T>> for IdVec<I, T> {
    fn from(items: Vec<T>) -> Self {
        Self { items, ids: PhantomData }
    }
}

impl<I, T> FromIterator<T> for IdVec<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self::from(items.into_iter().collect::<Vec<T>>())
    }
}

impl<'a, I, T> IntoIterator for &'a IdVec<I, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter()
    }
}

impl<'a, I, T> IntoIterator for &'a mut IdVec<I, T> {
    type Item = &'a mut T;
    type IntoIter = std::slice::IterMut<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.items.iter_mut()
    }
}

// By hand, since a derive would ask the same of the id, which is never stored.
impl<I, T> Default for IdVec<I, T> {
    fn default() -> Self {
        Self::from(Vec::new())
    }
}

impl<I, T: Clone> Clone for IdVec<I, T> {
    fn clone(&self) -> Self {
        Self::from(self.items.clone())
    }
}

impl<I, T: PartialEq> PartialEq for IdVec<I, T> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<I, T: Eq> Eq for IdVec<I, T> {}

impl<I, T: std::fmt::Debug> std::fmt::Debug for IdVec<I, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.items.fmt(f)
    }
}

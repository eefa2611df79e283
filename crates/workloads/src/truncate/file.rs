//! The files: which entries are shadows, which are pages, which are gone.
//!
//! Reclaim takes the oldest pages first (the inactive list is a queue for pages that were read
//! once), so over all files, in the order in which they were written, there is one border: entries
//! before it are shadows, those behind it are pages. Truncation begins at the oldest file, too.

use super::{Batch, Round, VECTOR};

/// All files, as positions in one row of entries, the oldest first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files {
    files: u64,
    /// Entries of each file.
    pages: u64,
    /// Entries before it are gone, or in the vector that is being removed.
    taken: u64,
    /// Entries before it are no pages any more.
    border: u64,
    /// The file that is being deleted.
    current: u64,
}

/// The entries that one look-up of truncation has found.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(super) struct Vector {
    pub shadows: u32,
    pub pages: u32,
}

impl Vector {
    /// What is to be removed under the next hold of the lock. Pages come together, and before
    /// the batch of shadow entries; single shadow entries are removed while pages are locked.
    pub fn next_round(&mut self, batch: Batch) -> Option<Round> {
        if self.pages > 0 && (batch == Batch::Pagevec || self.shadows == 0) {
            let entries = std::mem::take(&mut self.pages);
            return Some(Round { entries, pages: true });
        }
        let most = if batch == Batch::Entry { 1 } else { VECTOR };
        let entries = self.shadows.min(most);
        self.shadows -= entries;
        (entries > 0).then_some(Round { entries, pages: false })
    }
}

impl Files {
    /// So many files with so many entries each; the last `cached` of all entries are pages.
    pub fn new(files: u32, pages: u32, cached: u64) -> Self {
        let (files, pages) = (u64::from(files), u64::from(pages));
        let border = (files * pages).saturating_sub(cached);
        Self { files, pages, taken: 0, border, current: 0 }
    }

    /// The file that is being deleted, or the number of files.
    pub fn current(&self) -> u32 {
        self.current as u32
    }

    /// True if no file is left.
    pub fn all_gone(&self) -> bool {
        self.current == self.files
    }

    /// Takes the next entries of the current file; none if it is empty.
    pub fn next_vector(&mut self) -> Option<Vector> {
        let end = (self.current + 1) * self.pages;
        let entries = (end - self.taken).min(u64::from(VECTOR));
        if entries == 0 {
            return None;
        }
        let shadows = self.border.saturating_sub(self.taken).min(entries);
        self.taken += entries;
        // Reclaim does not look at what truncation has locked.
        self.border = self.border.max(self.taken);
        Some(Vector { shadows: shadows as u32, pages: (entries - shadows) as u32 })
    }

    /// Goes on to the next file; the current one must be empty.
    pub fn next_file(&mut self) {
        debug_assert_eq!(self.taken, (self.current + 1) * self.pages, "entries are left");
        self.current += 1;
    }

    /// Reclaims the oldest page; the file it belongs to, or none if there is no page.
    pub fn reclaim(&mut self) -> Option<u32> {
        if self.border == self.files * self.pages {
            return None;
        }
        let file = self.border / self.pages;
        self.border += 1;
        Some(file as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rounds(mut vector: Vector, batch: Batch) -> Vec<(u32, bool)> {
        std::iter::from_fn(|| vector.next_round(batch)).map(|r| (r.entries, r.pages)).collect()
    }

    #[test]
    fn shadows_are_removed_one_by_one_or_together_and_pages_always_together() {
        let vector = Vector { shadows: 3, pages: 11 };
        let entry = [(1, false), (1, false), (1, false), (11, true)];
        assert_eq!(rounds(vector, Batch::Entry), entry);
        assert_eq!(rounds(vector, Batch::Pagevec), [(11, true), (3, false)]);
        assert_eq!(rounds(Vector::default(), Batch::Entry), []);
    }

    #[test]
    fn the_oldest_files_are_shadows_and_one_file_may_be_both() {
        // 3 files of 20 entries; 25 pages are in memory.
        let mut files = Files::new(3, 20, 25);
        let mut found = Vec::new();
        while !files.all_gone() {
            while let Some(v) = files.next_vector() {
                found.push((files.current(), v.shadows, v.pages));
            }
            files.next_file();
        }
        let expected = [(0, 14, 0), (0, 6, 0), (1, 14, 0), (1, 1, 5), (2, 0, 14), (2, 0, 6)];
        assert_eq!(found, expected);
    }

    proptest! {
        /// However truncation and reclaim take turns, each entry is removed once, reclaim takes a
        /// page only once, and none of a vector that truncation has taken.
        #[test]
        fn every_entry_is_removed_once(
            (n, pages, cached) in (1u32..6, 1u32..60, 0u64..400),
            turns in prop::collection::vec(any::<bool>(), 0..400),
        ) {
            let mut files = Files::new(n, pages, cached);
            let at_first = u64::from(n) * u64::from(pages) - files.border;
            let (mut shadows, mut removed, mut reclaimed) = (0u64, 0u64, 0u64);
            let mut turns = turns.into_iter().chain(std::iter::repeat(true));
            while !files.all_gone() {
                if turns.next() == Some(false) {
                    let from = files.taken / u64::from(pages);
                    if let Some(file) = files.reclaim() {
                        prop_assert!(u64::from(file) >= from);
                        reclaimed += 1;
                    }
                } else if let Some(v) = files.next_vector() {
                    prop_assert!((1..=VECTOR).contains(&(v.shadows + v.pages)));
                    shadows += u64::from(v.shadows);
                    removed += u64::from(v.pages);
                } else {
                    files.next_file();
                }
            }
            prop_assert_eq!(shadows + removed, u64::from(n) * u64::from(pages));
            prop_assert_eq!(removed + reclaimed, at_first);
        }
    }
}

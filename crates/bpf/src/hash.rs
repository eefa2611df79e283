//! The index of a hash map: from a key to a slot. The keys themselves are in a region.

const NONE: u32 = u32::MAX;

/// Chains of slots with the same hash.
#[derive(Clone, Debug)]
pub(crate) struct Hash {
    /// The first slot of each chain; their number is a power of two.
    buckets: Vec<u32>,
    next: Vec<u32>,
    used: Vec<bool>,
    free: Vec<u32>,
    n: u32,
    /// Only of LRU maps: was the slot used since it was last looked at? As in the kernel, the
    /// order is approximate.
    seen: Option<Vec<bool>>,
    hand: u32,
}

/// FNV-1a
fn hash_of(key: &[u8]) -> usize {
    let mix = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    let hash = key.iter().fold(0xcbf2_9ce4_8422_2325, mix);
    (hash ^ hash >> 32) as usize
}

fn key_of(keys: &[u8], size: usize, slot: u32) -> &[u8] {
    &keys[slot as usize * size..][..size]
}

impl Hash {
    pub fn new(is_lru: bool) -> Self {
        Self {
            buckets: vec![NONE; 16],
            next: Vec::new(),
            used: Vec::new(),
            free: Vec::new(),
            n: 0,
            seen: is_lru.then(Vec::new),
            hand: 0,
        }
    }

    pub fn len(&self) -> u32 {
        self.n
    }

    fn bucket(&self, key: &[u8]) -> usize {
        hash_of(key) & (self.buckets.len() - 1)
    }

    pub fn find(&self, keys: &[u8], key: &[u8]) -> Option<u32> {
        let mut slot = self.buckets[self.bucket(key)];
        while slot != NONE {
            if key_of(keys, key.len(), slot) == key {
                return Some(slot);
            }
            slot = self.next[slot as usize];
        }
        None
    }

    /// The slot was used.
    pub fn touch(&mut self, slot: u32) {
        if let Some(seen) = &mut self.seen {
            seen[slot as usize] = true;
        }
    }

    /// The slot to give away when there is no other; `None` if this is no LRU map. A hand goes
    /// around, and a slot that was used since the hand's last visit is spared once.
    pub fn oldest(&mut self) -> Option<u32> {
        let seen = self.seen.as_mut()?;
        let n = self.used.len() as u32;
        for _ in 0..2 * n {
            let slot = self.hand % n;
            self.hand = slot + 1;
            let was_seen = std::mem::take(&mut seen[slot as usize]);
            if self.used[slot as usize] && !was_seen {
                return Some(slot);
            }
        }
        None
    }

    pub fn take_free(&mut self) -> Option<u32> {
        self.free.pop()
    }

    pub fn add_slot(&mut self) -> u32 {
        self.next.push(NONE);
        self.used.push(false);
        if let Some(seen) = &mut self.seen {
            seen.push(false);
        }
        self.next.len() as u32 - 1
    }

    pub fn link(&mut self, keys: &[u8], key: &[u8], slot: u32) {
        if self.n as usize >= self.buckets.len() {
            self.widen(keys, key.len());
        }
        let bucket = self.bucket(key);
        self.next[slot as usize] = self.buckets[bucket];
        self.buckets[bucket] = slot;
        self.used[slot as usize] = true;
        self.n += 1;
    }

    fn widen(&mut self, keys: &[u8], size: usize) {
        self.buckets = vec![NONE; self.buckets.len() * 2];
        for slot in 0..self.used.len() as u32 {
            if self.used[slot as usize] {
                let bucket = self.bucket(key_of(keys, size, slot));
                self.next[slot as usize] = self.buckets[bucket];
                self.buckets[bucket] = slot;
            }
        }
    }

    pub fn unlink(&mut self, keys: &[u8], size: usize, slot: u32) {
        let bucket = self.bucket(key_of(keys, size, slot));
        let mut at = self.buckets[bucket];
        if at == slot {
            self.buckets[bucket] = self.next[slot as usize];
        }
        while at != NONE {
            let next = self.next[at as usize];
            if next == slot {
                self.next[at as usize] = self.next[slot as usize];
            }
            at = next;
        }
        self.used[slot as usize] = false;
        if let Some(seen) = &mut self.seen {
            seen[slot as usize] = false;
        }
        self.free.push(slot);
        self.n -= 1;
    }

    /// The first used slot from `from` on.
    pub fn next_used(&self, from: u32) -> Option<u32> {
        (from..self.used.len() as u32).find(|slot| self.used[*slot as usize])
    }
}

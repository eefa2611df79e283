//! Maps against slow and obvious ones: random operations from outside.

use bpf::map::{MapDef, MapKind};
use bpf::{Memory, OutOfMemory};
use proptest::prelude::*;
use std::collections::BTreeMap;

fn def(kind: MapKind, max_entries: u32) -> MapDef {
    MapDef {
        name: "map".to_string(),
        kind,
        key_size: 4,
        value_size: 8,
        max_entries,
        flags: 0,
        numa_node: 0,
        extra: 0,
        special: Vec::new(),
        inner: None,
        values: Vec::new(),
    }
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Update(u32, u64),
    Delete(u32),
    Lookup(u32),
}

fn op() -> impl Strategy<Value = Op> {
    let key = 0_u32..60;
    prop_oneof![
        3 => (key.clone(), any::<u64>()).prop_map(|(key, value)| Op::Update(key, value)),
        2 => key.clone().prop_map(Op::Delete),
        1 => key.prop_map(Op::Lookup),
    ]
}

const MAX: u32 = 40;

proptest! {
    #[test]
    fn a_hash_map_is_a_map(ops in proptest::collection::vec(op(), 1..300)) {
        let mut memory = Memory::new(2, 1 << 20);
        let map = memory.add_map(def(MapKind::Hash, MAX)).unwrap();
        let mut model = BTreeMap::new();
        let mut places = BTreeMap::new();
        for op in ops {
            match op {
                Op::Update(key, value) => {
                    let fits = model.len() < MAX as usize || model.contains_key(&key);
                    let result = memory.update(map, &key.to_le_bytes(), &value.to_le_bytes(), 0);
                    prop_assert_eq!(result, if fits { 0 } else { -7 });
                    if fits {
                        model.insert(key, value);
                    }
                }
                Op::Delete(key) => {
                    let expected = if model.remove(&key).is_some() { 0 } else { -2 };
                    prop_assert_eq!(memory.delete(map, &key.to_le_bytes()), expected);
                    places.remove(&key);
                }
                Op::Lookup(key) => {
                    let at = memory.lookup(map, &key.to_le_bytes(), 0);
                    prop_assert_eq!(at.is_some(), model.contains_key(&key));
                    if let Some(at) = at {
                        // A value stays where it is as long as it exists.
                        prop_assert_eq!(*places.entry(key).or_insert(at), at);
                        prop_assert_eq!(memory.bytes(at, 8).unwrap(), model[&key].to_le_bytes());
                    }
                }
            }
            let mut keys = memory.keys(map);
            keys.sort_by_key(|key| u32::from_le_bytes(key[..].try_into().unwrap()));
            let expected: Vec<Vec<u8>> = model.keys().map(|k| k.to_le_bytes().to_vec()).collect();
            prop_assert_eq!(keys, expected);
        }
    }

    /// A map that forgets never has more than it may, never refuses, and forgets nothing as long
    /// as there is room.
    #[test]
    fn an_lru_map_forgets_only_when_it_is_full(ops in proptest::collection::vec(op(), 1..300)) {
        let mut memory = Memory::new(2, 1 << 20);
        let map = memory.add_map(def(MapKind::LruHash, MAX)).unwrap();
        let mut model = BTreeMap::new();
        for op in ops {
            match op {
                Op::Update(key, value) => {
                    let value = value.to_le_bytes();
                    let before: Vec<Vec<u8>> = memory.keys(map);
                    prop_assert_eq!(memory.update(map, &key.to_le_bytes(), &value, 0), 0);
                    let gone = before.iter().filter(|key| !memory.keys(map).contains(key)).count();
                    let is_new = !before.contains(&key.to_le_bytes().to_vec());
                    prop_assert_eq!(gone, usize::from(is_new && before.len() == MAX as usize));
                    model.insert(key, value);
                }
                Op::Delete(key) => {
                    memory.delete(map, &key.to_le_bytes());
                }
                Op::Lookup(key) => {
                    if let Some(at) = memory.lookup(map, &key.to_le_bytes(), 0) {
                        prop_assert_eq!(memory.bytes(at, 8).unwrap(), model[&key]);
                    }
                }
            }
            prop_assert!(memory.keys(map).len() <= MAX as usize);
        }
    }
}

proptest! {
    /// Records come out as they went in, and there is room for as many bytes as there should be.
    #[test]
    fn a_ring_is_a_queue_of_records(
        ops in proptest::collection::vec((any::<bool>(), 0_usize..700, any::<u8>()), 1..200),
    ) {
        let mut memory = Memory::new(1, 1 << 20);
        let map = memory.add_map(def(MapKind::UserRingBuf, 4096)).unwrap();
        let mut model = std::collections::VecDeque::new();
        let mut used = 0;
        for (is_put, len, byte) in ops {
            if is_put {
                let record = vec![byte; len];
                let room = (len + 8).div_ceil(8) * 8;
                let fits = used + room <= 4096;
                prop_assert_eq!(memory.ring_put(map, &record), fits);
                if fits {
                    used += room;
                    model.push_back(record);
                }
            } else {
                let expected: Option<Vec<u8>> = model.pop_front();
                used -= expected.as_ref().map_or(0, |record| (record.len() + 8).div_ceil(8) * 8);
                prop_assert_eq!(memory.ring_take(map), expected);
            }
        }
    }
}

#[test]
fn a_map_larger_than_the_memory_is_refused() {
    let mut memory = Memory::new(2, 1000);
    assert_eq!(memory.add_map(def(MapKind::Array, 200)), Err(OutOfMemory));
    assert_eq!(memory.add_map(def(MapKind::PercpuArray, 100)), Err(OutOfMemory));
    assert!(memory.add_map(def(MapKind::Array, 100)).is_ok());
    assert_eq!(memory.add_map(def(MapKind::Array, u32::MAX)), Err(OutOfMemory));
}

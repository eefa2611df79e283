//! Small CPUID dumps: AMD's older leaves, and the leaf that Intel and newer AMD have.

use super::{counts, shown_tree};
use expect_test::expect;
use std::fmt::Write;
use topology::import::{self, MemTree};

/// Registers that hold a text.
fn letters(text: &str) -> Vec<u32> {
    let bytes: Vec<u8> = text.bytes().collect();
    let word = |c: &[u8]| c.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
    bytes.chunks(4).map(word).collect()
}

/// The leaf of a cache: type (1 data, 3 unified), level, how many ids share it, KiB.
fn cache(leaf: u32, subleaf: u32, kind: u32, level: u32, sharing: u32, kib: u32) -> String {
    let (ways, line) = (8, 64);
    let sets = kib * 1024 / ways / line;
    let eax = (sharing - 1) << 14 | level << 5 | kind;
    let ebx = (ways - 1) << 22 | (line - 1);
    format!("5 {leaf:x} 0 {subleaf:x} 0 => {eax:x} {ebx:x} {:x} 0\n", sets - 1)
}

/// Two packages of two CCXs of three cores with two threads; APIC ids leave room for four cores.
fn amd() -> MemTree {
    let mut tree = MemTree::default();
    for cpu in 0..24u32 {
        let (thread, core) = (cpu / 12, cpu % 12);
        let (package, ccx) = (core / 6, core / 3 % 2);
        let apic = package << 4 | ccx << 3 | (core % 3) << 1 | thread;
        let mut text = String::from("# mask e[abcd]x => e[abcd]x\n");
        text += "1 0 0 0 0 => 10 68747541 444d4163 69746e65\n1 1 0 0 0 => a20f10 0 0 0\n";
        for (i, words) in letters(&format!("{:<48}", "AMD Small")).chunks(4).enumerate() {
            let words: Vec<String> = words.iter().map(|w| format!("{w:x}")).collect();
            writeln!(text, "1 8000000{} 0 0 0 => {}", i + 2, words.join(" ")).expect("a String");
        }
        writeln!(text, "1 80000008 0 0 0 => 3030 0 {:x} 0", 4 << 12 | 11).expect("a String");
        text += &cache(0x8000_001d, 0, 1, 1, 2, 32);
        text += &cache(0x8000_001d, 1, 2, 1, 2, 32);
        text += &cache(0x8000_001d, 2, 3, 2, 2, 512);
        text += &cache(0x8000_001d, 3, 3, 3, 6, 16384);
        text += "5 8000001d 0 4 0 => 0 0 0 0\n";
        writeln!(text, "1 8000001e 0 0 0 => {apic:x} 100 {package:x} 0").expect("a String");
        tree.files.insert(format!("pu{cpu}"), text);
    }
    tree.files.insert("hwloc-cpuid-info".into(), "Architecture: x86\n".into());
    tree
}

/// One package of two cores with two threads, siblings beside each other.
fn intel() -> MemTree {
    let mut tree = MemTree::default();
    for apic in 0..4u32 {
        let mut text = String::from("1 0 0 0 0 => 16 756e6547 6c65746e 49656e69\n");
        writeln!(text, "5 b 0 0 0 => 1 2 100 {apic:x}").expect("a String");
        writeln!(text, "5 b 0 1 0 => 4 4 201 {apic:x}").expect("a String");
        text += "5 b 0 2 0 => 0 0 2 0\n";
        text += &cache(4, 0, 1, 1, 2, 48);
        text += &cache(4, 1, 3, 2, 2, 2048);
        text += &cache(4, 2, 3, 3, 16, 8192);
        tree.files.insert(format!("pu{apic}"), text);
    }
    tree
}

#[test]
fn apic_ids_are_cut_into_parts() {
    let machine = import::cpuid("test", &amd()).expect("the dump is sound").machine;
    assert_eq!(counts(&machine), "24 CPUs, 12 cores, 4 LLCs, 1 nodes, 2 sockets");
    assert_eq!(machine.llcs[1].to_string(), "3-5,15-17");
    assert_eq!((machine.caches.l2_kib, machine.caches.l3_kib), (512, 16384));
    assert_eq!((machine.title.as_str(), machine.reclaim_distance), ("2 x AMD Small", 32));
    let machine = import::cpuid("test", &intel()).expect("the dump is sound").machine;
    assert_eq!(counts(&machine), "4 CPUs, 2 cores, 1 LLCs, 1 nodes, 1 sockets");
    assert_eq!(machine.cores[0].to_string(), "0-1");
    assert_eq!((machine.caches.l1d_kib, machine.caches.l3_kib), (48, 8192));
}

#[test]
fn faults_name_the_file() {
    let mut tree = intel();
    tree.files.insert("pu1".into(), "5 b 0 x 0 => 1 2 100 1\n".into());
    tree.files.insert("pu2".into(), "1 0 0 0 0 => 16 756e6547\n".into());
    tree.files.insert("pu3".into(), "1 0 0 0 0 => 16 756e6547 6c65746e 49656e69\n".into());
    tree.files.insert("pu4".into(), "# nothing\n".into());
    let shown = shown_tree(import::cpuid("test", &tree));
    expect![[r#"
        pu1: 1 | x | `x` is no register in hexadecimal | -
        pu2: 1 | 1 0 0 0 0 => 16 756e6547 | 7 numbers; `mask eax ebx ecx edx => eax ebx ecx edx` are 9 | -
        pu3: neither leaf 0x1f nor leaf 0xb tells where this CPU is | -
        pu4: there is no leaf in it | -"#]]
    .assert_eq(&shown);
    let shown = shown_tree(import::cpuid("test", &MemTree::default()));
    expect!["pu0: no such file: there is no CPU in this directory | `hwloc-gather-cpuid DIR` writes a file puN for each CPU"]
        .assert_eq(&shown);
}

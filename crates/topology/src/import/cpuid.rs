//! What the CPUID instruction says on each CPU, as `hwloc-gather-cpuid` collects it: a directory
//! with a file `puN` for each CPU.
//!
//! The APIC id of a CPU is cut into core, die and package by the widths that leaves 0x1f or 0xb
//! give (Intel, and AMD since Zen 3), or leaves 0x80000008 and 0x8000001e (AMD before). Caches are
//! shared by as many ids as leaf 4 (0x8000001d on AMD) says. NUMA nodes are the firmware's matter:
//! CPUID does not know them.

mod leaves;

use super::defaults::{CLOCK_MHZ, Maker, clock_of_model};
use super::found::{Conflict, Found, FoundCpu};
use super::runs::OS_CPU_MAX;
use super::{FileTree, Imported};
use input::{Fault, Source};
use leaves::{Leaves, Registers};

/// Types of levels in leaves 0xb and 0x1f.
const LEVEL_SMT: u32 = 1;
const LEVEL_DIE: u32 = 5;

/// Makes a machine from the files of a directory.
///
/// # Errors
/// The faults of the files.
pub fn cpuid(name: &str, tree: &impl FileTree) -> Result<Imported, Vec<Fault>> {
    let mut found = Found { what: "a CPUID dump", ..Found::default() };
    let mut faults = Vec::new();
    for cpu in numbers(tree) {
        match read(tree, cpu) {
            Ok(leaves) => {
                if found.cpus.is_empty() {
                    describe(&leaves, &mut found);
                }
                match place(cpu, &leaves) {
                    Ok(place) => found.cpus.push(place),
                    Err(why) => faults.push(Fault::of_file(file(cpu), why)),
                }
            }
            Err(fault) => faults.push(fault),
        }
    }
    if found.cpus.is_empty() && faults.is_empty() {
        let fault = Fault::of_file("pu0", "no such file: there is no CPU in this directory");
        faults.push(fault.help("`hwloc-gather-cpuid DIR` writes a file puN for each CPU"));
    }
    faults.truncate(20);
    if !faults.is_empty() {
        return Err(faults);
    }
    found.remarks.push("CPUID knows no NUMA nodes: all CPUs are in one".into());
    found
        .machine(name)
        .map_err(|Conflict { cpu, message }| vec![Fault::of_file(file(cpu), message)])
}

fn file(cpu: u32) -> String {
    format!("pu{cpu}")
}

/// The numbers of the files, in order.
fn numbers(tree: &impl FileTree) -> Vec<u32> {
    let number = |name: &String| {
        let digits = name.strip_prefix("pu")?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse().ok())?
    };
    let names = tree.names("");
    let mut numbers: Vec<u32> =
        names.iter().filter_map(number).filter(|n| *n <= OS_CPU_MAX).collect();
    numbers.sort_unstable();
    numbers
}

fn read(tree: &impl FileTree, cpu: u32) -> Result<Leaves, Fault> {
    let text = match tree.text(&file(cpu)) {
        Ok(text) => text.unwrap_or_default(),
        Err(why) => return Err(Fault::of_file(file(cpu), format!("cannot read it: {why}"))),
    };
    Leaves::parse(&text).map_err(|fault| fault.of(&Source::new(file(cpu), text)))
}

/// What all CPUs have in common.
fn describe(leaves: &Leaves, found: &mut Found) {
    found.maker = Maker::new(&leaves.vendor(), leaves.family());
    found.model = leaves.brand();
    // Bit 31 of ECX is reserved on hardware; hypervisors set it for their guests.
    found.is_guest = leaves.get(1, 0).is_some_and(|r| r.ecx >> 31 & 1 == 1);
    let clock = found.model.as_deref().and_then(clock_of_model);
    let clock = clock.and_then(|mhz| u32::try_from(mhz).ok());
    let clock = clock.filter(|mhz| CLOCK_MHZ.contains(mhz));
    found.clock = clock.map(|mhz| (mhz, "the base clock in the model's name"));
    for cache in caches(leaves) {
        match cache.level {
            1 => found.l1d_kib = Some(cache.kib),
            2 => found.l2_kib = Some(cache.kib),
            _ => {}
        }
    }
    let last = last_level(leaves);
    found.llc_kib = last.map(|cache| cache.kib);
}

/// Where a CPU is. Ids are APIC ids without the bits of the parts inside.
fn place(cpu: u32, leaves: &Leaves) -> Result<FoundCpu, &'static str> {
    let levels = match levels(leaves) {
        Some(levels) => levels,
        None if leaves.is_amd() => amd_levels(leaves).ok_or("no leaf tells where this CPU is")?,
        None => return Err("neither leaf 0x1f nor leaf 0xb tells where this CPU is"),
    };
    let Levels { apic, core, die, package } = levels;
    let id = |shift: u32| u64::from(apic.checked_shr(shift).unwrap_or(0));
    let llc = last_level(leaves).map(|cache| id(cache.shared_bits));
    let (core, socket) = (id(core), id(package));
    Ok(FoundCpu { os: cpu, core, llc, die: die.map(id), node: 0, socket })
}

/// An APIC id, and how many of its low bits are inside of each part.
struct Levels {
    apic: u32,
    core: u32,
    die: Option<u32>,
    package: u32,
}

/// Leaves 0x1f and 0xb: each subleaf has the width of the level above.
fn levels(leaves: &Leaves) -> Option<Levels> {
    for leaf in [0x1f, 0xb] {
        let mut found: Option<Levels> = None;
        for subleaf in 0..8 {
            let Some(r) = leaves.get(leaf, subleaf) else {
                break;
            };
            let (kind, width) = (r.ecx >> 8 & 0xff, r.eax & 0x1f);
            if kind == 0 || r.ebx & 0xffff == 0 {
                break;
            }
            let empty = || Levels { apic: r.edx, core: 0, die: None, package: 0 };
            let levels = found.get_or_insert_with(empty);
            // The width of a level cuts off the ids inside the part above it.
            levels.package = width;
            // Core, module, tile: the topmost of them says where ids inside the die end.
            match kind {
                LEVEL_SMT => levels.core = width,
                kind if kind < LEVEL_DIE => levels.die = Some(width),
                _ => {}
            }
        }
        if found.is_some() {
            return found;
        }
    }
    None
}

/// AMD's older leaves: threads per core, and the width of all ids in a package.
fn amd_levels(leaves: &Leaves) -> Option<Levels> {
    let extended = leaves.get(0x8000_001e, 0)?;
    let sizes = leaves.get(0x8000_0008, 0)?;
    let threads = (extended.ebx >> 8 & 0xff) + 1;
    let package = match sizes.ecx >> 12 & 0xf {
        // No width is given: it follows from the number of threads, as on older parts.
        0 => bits((sizes.ecx & 0xff) + 1),
        width => width,
    };
    Some(Levels { apic: extended.eax, core: bits(threads), die: None, package })
}

/// The number of bits that tell `n` things apart.
fn bits(n: u32) -> u32 {
    n.next_power_of_two().trailing_zeros()
}

/// A cache that holds data.
struct Cache {
    level: u32,
    kib: u32,
    /// Low bits of the APIC ids that share it.
    shared_bits: u32,
}

fn last_level(leaves: &Leaves) -> Option<Cache> {
    caches(leaves).into_iter().filter(|cache| cache.level >= 2).max_by_key(|cache| cache.level)
}

/// Leaf 4, on AMD 0x8000001d, which look the same.
fn caches(leaves: &Leaves) -> Vec<Cache> {
    let leaf = if leaves.is_amd() { 0x8000_001d } else { 4 };
    let subleaves = (0..16).map_while(|subleaf| leaves.get(leaf, subleaf));
    let caches = subleaves.take_while(|r| r.eax & 0x1f != 0);
    // Type 0 ends the list; type 2 is an instruction cache.
    caches.filter(|r| r.eax & 0x1f != 2).filter_map(|r| cache(&r)).collect()
}

fn cache(r: &Registers) -> Option<Cache> {
    let ways = u64::from(r.ebx >> 22) + 1;
    let partitions = u64::from(r.ebx >> 12 & 0x3ff) + 1;
    let line = u64::from(r.ebx & 0xfff) + 1;
    let sets = u64::from(r.ecx) + 1;
    let kib = u32::try_from(ways * partitions * line * sets / 1024).ok();
    Some(Cache {
        level: r.eax >> 5 & 7,
        kib: kib.filter(|kib| (1..=16 * 1024 * 1024).contains(kib))?,
        shared_bits: bits((r.eax >> 14 & 0xfff) + 1),
    })
}

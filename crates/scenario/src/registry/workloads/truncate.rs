//! mmtests' sparsetruncate.

use super::keys::{SPREAD, count, ns};
use crate::workload::{Excess, Load, WorkloadDef, fits};
use input::Fallback::{Float, Int, Required, Word};
use input::{Fallback, KeyDef, Kind};
use sim_core::Program;
use workloads::truncate::{Batch, Config, PAGE_BYTES, Truncate};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    ends: |_| true,
    limits: &[entries, page_work, memory],
    kernel_keys: KERNEL_KEYS,
    ..WorkloadDef::new(
        "truncate",
        "mmtests' sparsetruncate: files are deleted, the oldest have lost their pages",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("files", 1_000_000, Required, "files that are deleted"),
    count("pages", 1_048_576, Int(1024), "pages of each, all read once"),
    percent("data_pct", Float(200.0), "data of all files, share of the machine's memory"),
    percent("cache_pct", Float(97.0), "what the page cache holds, share of that memory"),
    work("entry_work", 268.0, "removing a shadow entry, without the lock"),
    work("alone_work", 25.0, "what an entry with a lock of its own takes more, without the lock"),
    work("page_work", 931.0, "removing a page, without the lock"),
    number("page_locked", 6.1, "locked instructions for a page, without the tree_lock"),
    number("page_irqs", 0.21, "sections with interrupts off for a page, without the tree_lock"),
    work("file_work", 13_323.0, "the rest of deleting a file"),
    KeyDef {
        name: "instruction_ns",
        kind: Kind::Float { min: 1e-3, max: 1e3 },
        unit: "ns",
        default: Required,
        help: "time of an instruction of these on this machine (docs/CALIBRATION.md)",
    },
    ns("between_ns", 1000, "user time between two files"),
    KeyDef { default: Float(0.015), help: "coefficient of variation of a file's costs", ..SPREAD },
    KeyDef {
        name: "reclaimers",
        kind: Kind::Int { min: 0, max: 1024 },
        unit: "",
        default: Int(0),
        help: "kernel threads that reclaim beside it until no page is left",
    },
];

const KERNEL_KEYS: &[KeyDef] = &[KeyDef {
    name: "batch",
    kind: Kind::Word(&["entry", "pagevec"]),
    unit: "",
    default: Word("pagevec"),
    help: "one tree_lock for each shadow entry (up to 4.14), or for each 14 (4.15)",
}];

const fn percent(name: &'static str, default: Fallback, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Float { min: 0.1, max: 1e6 }, unit: "%", default, help }
}

const fn number(name: &'static str, default: f64, help: &'static str) -> KeyDef {
    let kind = Kind::Float { min: 0.0, max: 1e3 };
    KeyDef { name, kind, unit: "", default: Float(default), help }
}

/// Work that was counted with the rules of Linux 4.14 and 4.15, a file's rest on 6.1
/// (docs/CALIBRATION.md).
const fn work(name: &'static str, default: f64, help: &'static str) -> KeyDef {
    let kind = Kind::Float { min: 0.1, max: 1e9 };
    KeyDef { name, kind, unit: "instructions", default: Float(default), help }
}

fn build(load: &Load<'_>) -> Box<dyn Program> {
    let ns = |key| load.float("instruction_ns") * load.float(key);
    Box::new(Truncate::new(Config {
        files: load.count("files"),
        pages: load.count("pages"),
        data_pct: load.float("data_pct"),
        cache_pct: load.float("cache_pct"),
        batch: Batch::by_name(&load.word("batch")).expect("the key lists them"),
        entry_ns: ns("entry_work"),
        alone_ns: ns("alone_work"),
        page_ns: ns("page_work"),
        page_locked: load.float("page_locked"),
        page_irqs: load.float("page_irqs"),
        file_ns: ns("file_work"),
        between_ns: load.int("between_ns"),
        spread: load.float("spread"),
        reclaimers: load.count("reclaimers"),
        seed: load.seed,
    }))
}

/// Entries of all files that are simulated at most: some minutes.
const ENTRIES_MAX: u64 = 1_000_000_000;

fn entries(load: &Load<'_>) -> Option<Excess> {
    let (files, pages) = (load.maybe_int("files")?, load.int("pages"));
    let most = ENTRIES_MAX / pages;
    (files > most).then(|| {
        let message = format!(
            "{files} files of {pages} pages have {} entries; at most {ENTRIES_MAX} are simulated",
            files * pages
        );
        Excess::new("files", message).label(format!("of this size: at most {most}"))
    })
}

/// A page costs what a shadow entry costs, and more.
fn page_work(load: &Load<'_>) -> Option<Excess> {
    (load.float("entry_work") > load.float("page_work")).then(|| {
        Excess::new("page_work", "a page takes less than a shadow entry".to_string())
            .label("it is removed in the same way, and freed besides".to_string())
            .help("`page_work` must not be less than `entry_work`")
    })
}

/// The part of each file that the page cache is to hold.
fn memory(load: &Load<'_>) -> Option<Excess> {
    let share = load.float("cache_pct") / load.float("data_pct");
    let bytes = PAGE_BYTES * load.int("pages");
    fits(load, "files", "files", (bytes as f64 * share.min(1.0)).round() as u64)
}

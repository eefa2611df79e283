//! fio on dm-crypt.

use super::keys::{count, ns, rate, switch};
use crate::registry::workqueue::{active_per, affinity, changes, max_active};
use crate::workload::{Excess, Load, WorkloadDef, few_in_flight, fits};
use input::Fallback::{Float, Int, Required};
use input::{KeyDef, Kind};
use policies::workqueue::MAX_ACTIVE;
use sim_core::Program;
use workloads::dm_crypt::{Config, DmCrypt};

pub(super) const ROW: WorkloadDef = WorkloadDef {
    workqueue: true,
    limits: &[memory, requests],
    ..WorkloadDef::new(
        "dm-crypt",
        "fio on an encrypted SSD: issuers, kcryptd's workqueue, one thread that writes",
        KEYS,
        build,
    )
};

const KEYS: &[KeyDef] = &[
    count("numjobs", 65_536, Required, "processes that issue"),
    count("iodepth", 4096, Int(64), "requests that each keeps in flight"),
    count("bs_kib", 1024, Int(32), "size of a request, KiB"),
    KeyDef {
        name: "read_pct",
        kind: Kind::Float { min: 0.0, max: 100.0 },
        unit: "%",
        default: Float(50.0),
        help: "share of reads",
    },
    KeyDef {
        name: "nice",
        kind: Kind::Int { min: -20, max: 19 },
        unit: "",
        default: Int(0),
        help: "fio's nice level of the issuers",
    },
    switch("hash_writes", true, "what is written is hashed (verify=sha512)"),
    switch("hash_reads", true, "… and what is read; fio does not if it also writes"),
    rate("hash_mb_s", Required, "hashing, per CPU at full speed (docs/CALIBRATION.md)"),
    rate("crypt_mb_s", Required, "en- and decrypting, likewise, dm-crypt's work included"),
    rate("generate_mb_s", Float(3000.0), "filling a buffer to be written"),
    ns("ssd_read_ns", 90_000, "mean time of the SSD for a read"),
    ns("ssd_write_ns", 30_000, "mean time of the SSD for a write into its cache"),
    count("ssd_parallel", 65_536, Int(16), "requests that the SSD works on at a time"),
];

fn build(load: &Load<'_>) -> Box<dyn Program> {
    Box::new(DmCrypt::new(Config {
        numjobs: load.count("numjobs"),
        iodepth: load.count("iodepth"),
        bs_kib: load.count("bs_kib"),
        read_pct: load.float("read_pct"),
        nice: load.int("nice") as i8,
        hash_writes: load.on("hash_writes"),
        hash_reads: load.on("hash_reads"),
        hash_mb_s: load.float("hash_mb_s"),
        crypt_mb_s: load.float("crypt_mb_s"),
        generate_mb_s: load.float("generate_mb_s"),
        ssd_read_ns: load.int("ssd_read_ns"),
        ssd_write_ns: load.int("ssd_write_ns"),
        ssd_parallel: load.count("ssd_parallel"),
        affinity: affinity(load),
        // As dm-crypt asks for: one per online CPU.
        max_active: max_active(load, (load.n_cpus() as u32).min(MAX_ACTIVE)),
        active_per: active_per(load),
        changes: changes(load),
        seed: load.seed,
    }))
}

fn memory(load: &Load<'_>) -> Option<Excess> {
    let bytes_each = Config::bytes_per_job(load.int("iodepth"), load.int("bs_kib"));
    fits(load, "numjobs", "issuers", bytes_each)
}

fn requests(load: &Load<'_>) -> Option<Excess> {
    few_in_flight(load, "iodepth", load.maybe_int("numjobs")?)
}

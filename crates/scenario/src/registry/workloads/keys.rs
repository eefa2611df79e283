//! Keys that several kinds of workloads have, and shapes of keys.

use input::Fallback::{Bool, Float, Int, Words};
use input::{Fallback, KeyDef, Kind};

/// How many there are.
pub(super) const fn count(
    name: &'static str,
    max: i64,
    default: Fallback,
    help: &'static str,
) -> KeyDef {
    KeyDef { name, kind: Kind::Int { min: 1, max }, unit: "", default, help }
}

/// A time, at most an hour.
pub(super) const fn ns(name: &'static str, default: i64, help: &'static str) -> KeyDef {
    let kind = Kind::Int { min: 1, max: 3_600_000_000_000 };
    KeyDef { name, kind, unit: "ns", default: Int(default), help }
}

/// A long time.
pub(super) const fn seconds(
    name: &'static str,
    (min, max): (f64, f64),
    default: Fallback,
    help: &'static str,
) -> KeyDef {
    KeyDef { name, kind: Kind::Float { min, max }, unit: "s", default, help }
}

/// Yes or no.
pub(super) const fn switch(name: &'static str, on: bool, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Bool, unit: "", default: Bool(on), help }
}

/// A rate of bytes.
pub(super) const fn rate(name: &'static str, default: Fallback, help: &'static str) -> KeyDef {
    KeyDef { name, kind: Kind::Float { min: 0.1, max: 1e6 }, unit: "MB/s", default, help }
}

/// How much pieces of work differ.
pub(super) const SPREAD: KeyDef = KeyDef {
    name: "spread",
    kind: Kind::Float { min: 0.0, max: 1.0 },
    unit: "",
    default: Float(0.1),
    help: "coefficient of variation of each piece of that work",
};

/// A time in microseconds, as the tools take them; at most an hour.
pub(super) const fn us(name: &'static str, min: i64, default: i64, help: &'static str) -> KeyDef {
    let kind = Kind::Int { min, max: 3_600_000_000 };
    KeyDef { name, kind, unit: "us", default: Int(default), help }
}

/// What one way over loopback takes; it is measured for each machine (docs/CALIBRATION.md).
pub(super) const fn service_ns(help: &'static str) -> KeyDef {
    KeyDef { default: Fallback::Required, ..ns("service_ns", 1, help) }
}

/// What it takes to write a message, and to read it.
pub(super) const fn message_ns(default: &'static str) -> KeyDef {
    KeyDef {
        name: "message_ns",
        kind: Kind::Int { min: 1, max: 3_600_000_000_000 },
        unit: "ns",
        default: Words(default),
        help: "CPU work to write a message of any size, and to read it, at full speed",
    }
}

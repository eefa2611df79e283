//! Tests of the BPF crate.

mod asm;
mod speed;
mod twin;
mod vectors;

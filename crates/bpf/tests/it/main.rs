//! Tests of the BPF crate.

mod asm;
mod lab;
mod objects;
mod speed;
mod twin;
mod vectors;

//! Tests of the BPF crate.

mod asm;
mod damage;
mod inspection;
mod lab;
mod models;
mod objects;
mod speed;
mod twin;
mod vectors;

//! Tests of the topology crate from outside: real machines and random ones.

mod machines;
mod random;

//! Tests of the topology crate from outside: real machines and random ones.

mod imported;
mod machines;
mod random;
mod written;

//! The real binary: exit codes, messages, files.

mod bad_input;
mod lab;
mod results;
mod trace;

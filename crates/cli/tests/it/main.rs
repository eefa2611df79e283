//! The real binary: exit codes, messages, files.

mod bad_input;
mod bpf;
mod compare;
mod expect;
mod explain;
mod fidelity;
mod files;
mod lab;
mod latency;
mod machines;
mod profile;
mod reference;
mod replay;
mod report;
mod results;
mod rt_app;
mod schedstat;
mod shipped;
mod signals;
mod sweep;
mod topology;
mod trace;
mod units;
mod whole;
mod wide;
mod wq;

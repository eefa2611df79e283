//! Traces of simulated runs, in every format.

mod perf_script;
mod support;

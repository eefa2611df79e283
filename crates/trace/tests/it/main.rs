//! Traces of simulated runs, in every format.

mod perf_data;
mod perf_data_again;
mod perf_script;
mod perfetto;
mod perfetto_again;
mod perfetto_file;
mod replay;
mod support;
mod trace_dat;
mod trace_dat_again;

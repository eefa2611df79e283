//! Workloads in whole simulations: rates and times that are known.

mod build;
mod cyclictest;
mod dm_crypt;
mod fuse;
mod hackbench;
mod measurement;
mod netperf;
mod perf_bench;
mod replay;
mod rt_app;
mod schbench;
mod schbench_old;
mod service;
mod service_fit;
mod stress_ng;
mod tbench;
mod truncate;
mod web;

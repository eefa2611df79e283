//! Load balancing: periodic, nohz-idle and newidle balance, active push, the fork/exec
//! path.
//!
//! A balance pass takes time and locks, so each is a small state machine that the mechanism
//! resumes: every call reads the world anew and answers with the next `Step`. The machines nest
//! as the kernel's functions do: `newidle` and `periodic` (which `nohz` runs on behalf of others)
//! walk the domains and run `load_balance` (in `pass`, with `stats`, `decide` and `detach`). The
//! stages of each live in the path of the CPU that *executes* the pass; no path ever holds two
//! runqueue locks.
//!
//! Left out: misfit tasks, asymmetric packing and capacity, NUMA locality of memory.
//! Follows kernel/sched/fair.c of v6.4.

mod active;
mod decide;
mod detach;
mod newidle;
mod nohz;
mod pass;
mod periodic;
mod slow_path;
mod softirq;
mod stats;
#[cfg(test)]
mod tests;

pub use decide::nr_idle_scan;
